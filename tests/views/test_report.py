"""The HTML report as a file: whole, self-contained, escaped, the same for the same plan, and small for large plans."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from packer import parse
from packer.compare import Saving
from packer.explain import explain
from packer.model import Launch, Notice, Plan, Policy, Problem, Skipped, SkipReason, Status
from packer.plan import digest
from packer.render import explanation_text, plan_table
from packer.report import report_html
from tests.views.samples import Sample, large_sample, make_offering, make_pod, rich_sample

VOID = {"meta", "link", "input", "br", "hr"}
SELF_CLOSING = {"rect", "line", "path", "circle"}


class Reader(HTMLParser):
    """Checks that tags nest, and keeps what tests ask about."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in SELF_CLOSING
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture
def page() -> str:
    sample = rich_sample()
    return report_html(sample.problem, sample.plan, version="1.2.3")


def test_tags_nest_and_ids_are_unique(page: str) -> None:
    # A browser mends broken markup in its own way; assistive technology may not.
    reader = read(page)
    ids = [attributes["id"] for _, attributes in reader.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert page.startswith("<!doctype html>")


def test_every_reference_leads_somewhere_in_the_page(page: str) -> None:
    # Links, labels and aria references to nothing are dead ends for people who navigate by them.
    reader = read(page)
    ids = {attributes["id"] for _, attributes in reader.tags if "id" in attributes}
    for tag, attributes in reader.tags:
        for name in ("href", "for", "aria-labelledby", "aria-controls"):
            value = attributes.get(name)
            if value is not None and tag != "link":
                assert value.removeprefix("#") in ids, (tag, name, value)


def test_nothing_is_loaded_from_elsewhere(page: str) -> None:
    # One file: it must open on an aeroplane, and tell nobody that it was opened.
    assert "http://" not in page
    assert "https://" not in page
    assert not re.search(r"@import|url\((?!#)", page)
    assert not [
        attributes
        for tag, attributes in read(page).tags
        if tag in ("img", "iframe", "object") or "src" in attributes or "style" in attributes
    ]


def test_policy_allows_exactly_the_pages_own_style_and_script(page: str) -> None:
    # Should a name ever slip through as markup, the policy keeps it from running.
    policy = next(attributes["content"] for tag, attributes in read(page).tags if attributes.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert content is not None
        assert f"{tag}-src 'sha256-{b64encode(sha256(content.group(1).encode()).digest()).decode()}'" in policy


def test_hostile_names_stay_text() -> None:
    # Names come from dumps that anybody can write.
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\"'&"
    pod = make_pod(evil, 100, 1, owner=evil)
    offering = make_offering(evil, 1000, 2000, 4, zone=evil)
    plan = Plan(
        Status.FEASIBLE,
        (Launch(evil, offering.key, 1000, (pod.key,)),),
        (),
        (),
        (Skipped(evil, SkipReason.GATED, evil),),
        (Notice(evil, evil),),
        1000,
        1000,
        1000,
    )
    page = report_html(Problem((pod,), (), (offering,)), plan, title=evil)
    assert page.count("<script") == 1
    assert "<img" not in page
    assert "\x1b" not in page
    read(page)


def test_secrets_of_a_dump_appear_nowhere() -> None:
    # Dumps carry passwords in env and annotations; a report is mailed around.
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "n", "annotations": {"note": "hunter2-annotation"}, "labels": {"app": "hunter2-label"}},
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "hunter2-image",
                    "args": ["hunter2-args"],
                    "env": [{"name": "PASSWORD", "value": "hunter2-env"}],
                    "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
                }
            ]
        },
    }
    raw = parse.read_objects([json.dumps(pod).encode()])
    offering = make_offering("c4", 100_000, 4000, 8)
    problem = parse.build_problem(raw, (offering,), Policy())
    plan = Plan(Status.FEASIBLE, (Launch("n-1", offering.key, 100_000, ("n/p",)),), (), (), (), (), 100_000, 100_000, 0)
    views = (report_html(problem, plan), plan_table(problem, plan, wide=True), explanation_text(explain(problem, plan, "n/p")))
    assert all("n/p" in view and "hunter2" not in view for view in views)


def test_same_plan_gives_the_same_bytes() -> None:
    # Reports are compared and archived; nothing in them may depend on a clock or on the order of a set.
    first, second = rich_sample(), rich_sample()
    shuffled = replace(second.problem, pods=second.problem.pods[::-1], offerings=second.problem.offerings[::-1])
    assert report_html(first.problem, first.plan) == report_html(shuffled, second.plan)


def test_figures_of_the_plan_are_all_there(page: str) -> None:
    # What a reader looks for first: cost, how good it is, who was left out, why, and the digest to cite.
    text = " ".join(read(page).text)
    for wanted in ("$1.6112/h", "$1,176/month", "within 0.6 % of the least possible", "$1.6022/h", "17 of 21 pods placed"):
        assert wanted in text
    for wanted in (
        "batch/huge: 3 pods",
        "nvidia.com/gpu at most 1 of 8",
        "Gated: 1 pod",
        "PriceUnusable",
        "3 × m7.xlarge".replace("3 × ", "3 × "),
    ):
        assert wanted in text
    assert digest(rich_sample().plan) in text
    assert "1.2.3" in text


def test_saving_names_its_yardstick() -> None:
    # A saving without "against what" is an advertisement.
    sample = rich_sample()
    page = report_html(sample.problem, sample.plan, saving=Saving("the nodes that run now", 2_000_000, 1_611_200))
    assert "19.4 %" in page
    assert "against the nodes that run now, $2.0000/h" in page


def test_optimal_plan_says_so() -> None:
    sample = rich_sample()
    plan = replace(sample.plan, lower_bound_microusd_per_hour=sample.plan.objective_microusd_per_hour, status=Status.OPTIMAL)
    assert "the least possible, proven" in report_html(sample.problem, plan)


def test_empty_plan_gives_a_page() -> None:
    # Nothing waits, nothing is bought: a scheduled report must not fail on a quiet day.
    page = report_html(Problem((), (), ()), Plan(Status.OPTIMAL, (), (), (), (), (), 0, 0, 0))
    assert "No pod waits for a place" in page
    read(page)


def test_hundred_thousand_pods_stay_below_ten_megabytes() -> None:
    # Equal nodes share a card and a row; pod names are the bulk and are kept once.
    sample: Sample = large_sample()
    page = report_html(sample.problem, sample.plan)
    assert len(page.encode()) < 10_000_000
    assert page.count('class="panel fill"') <= 24
