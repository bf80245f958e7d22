"""The HTML report: one file that needs nothing else, for browsers, paper and screen readers.

It shows names, counts and amounts only. It cannot leak env or annotations, since the model that it reads has neither. The page's
Content-Security-Policy allows its own style and script by hash and nothing else: no request leaves it, and no text of a dump can run.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

from packer.compare import Saving
from packer.model import Plan, Problem
from packer.plan import digest
from packer.report import sections, tables
from packer.report.charts import patterns
from packer.report.fill import fill
from packer.report.markup import Html, el, join
from packer.report.progress import progress
from packer.summary import summarize
from packer.words import count


def report_html(problem: Problem, plan: Plan, *, saving: Saving | None = None, title: str = "Bayplan report", version: str = "") -> str:
    """The whole page. Deterministic: no clock, no random ids. ``saving`` adds a card that compares with what it names."""
    summary = summarize(problem, plan)
    parts = [
        sections.headline(summary),
        sections.cards(summary, plan, saving),
        sections.unplaced(problem, plan),
        fill(summary),
        tables.cost_by_type(summary),
        progress(plan),
        tables.every_node(summary),
        sections.skipped(plan),
        sections.warnings(plan),
        sections.glossary(),
    ]
    script, style = _asset("script.js"), _asset("style.css")
    body = join(
        [
            el("a", "Skip to the report", href="#report", class_="skip"),
            patterns(),
            _top_bar(title, [part for part in parts if part]),
            el("main", *parts, id="report", tabindex=-1),
            _footer(plan, problem, version),
            el("script", Html(script)),
        ]
    )
    head = join(
        [
            el("meta", charset="utf-8"),
            el("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
            el("meta", name="viewport", content="width=device-width, initial-scale=1"),
            el("meta", name="color-scheme", content="light dark"),
            el("meta", name="referrer", content="no-referrer"),
            el("link", rel="icon", href="data:,"),
            el("title", title),
            el("style", Html(style)),
        ]
    )
    return f"<!doctype html>\n{el('html', el('head', head), el('body', body), lang='en')}\n"


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; style-src 'sha256-{_hash(style)}'; script-src 'sha256-{_hash(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(content: str) -> str:
    return b64encode(sha256(content.encode()).digest()).decode()


def _asset(name: str) -> str:
    return files("packer.report").joinpath(name).read_text(encoding="utf-8")


def _top_bar(title: str, parts: list[Html]) -> Html:
    links = [(anchor, name) for anchor, name in sections.ANCHORS if any(f'id="{anchor}"' in part for part in parts)]
    nav = el("nav", el("ul", *(el("li", el("a", name, href=f"#{anchor}")) for anchor, name in links)), aria_label="Sections")
    toggle = el(
        "button",
        "Dark",
        type="button",
        id="theme",
        class_="button",
        aria_pressed="false",
        hidden=True,
        title="Switch between light and dark",
    )
    return el("header", el("div", el("p", title, class_="brand"), nav, toggle, class_="topbar"), class_="top")


def _footer(plan: Plan, problem: Problem, version: str) -> Html:
    facts = [
        f"{count(len(problem.pods), 'pod')}, {count(len(problem.nodes), 'node')} and {count(len(problem.offerings), 'offering')} read",
        f"status {plan.status.value}{', truncated by a deadline' if plan.truncated else ''}",
        f"seed {plan.seed}",
        *([f"bayplan {version}"] if version else []),
    ]
    return el("footer", el("p", " · ".join(facts)), el("p", "Digest ", el("code", digest(plan))))
