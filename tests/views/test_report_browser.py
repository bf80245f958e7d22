"""The HTML report in a real browser: keyboard, screen reader, colours, sizes, search and sorting; pictures are kept to look at."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from packer.model import Launch, Plan, Problem, Status
from packer.report import report_html
from tests.views.browser import SHIFT, Browser
from tests.views.samples import large_sample, make_offering, make_pod, rich_sample

pytestmark = pytest.mark.needs("chromium")

PICTURES = Path(__file__).parents[2] / ".cache" / "screenshots"
CONTRAST = """
(() => {
  const parse = (text) => { const m = text.match(/[\\d.]+/g).map(Number); return { rgb: m.slice(0, 3), a: m.length > 3 ? m[3] : 1 }; };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.a === 1) return colour.rgb;
    }
    return [255, 255, 255];
  };
  const bad = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    const box = parent.getBoundingClientRect();
    if (!walker.currentNode.textContent.trim() || !box.width || ["SCRIPT", "STYLE", "title"].includes(parent.tagName)) continue;
    const style = getComputedStyle(parent);
    const inSvg = parent.namespaceURI.endsWith("svg");
    const ink = light(parse(inSvg ? style.fill : style.color).rgb);
    const paper = light(ground(inSvg ? parent.closest("svg").parentElement : parent));
    const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    if (ratio < 4.5) bad.push([walker.currentNode.textContent.trim().slice(0, 40), ratio.toFixed(2)]);
  }
  return bad;
})()
"""
FOCUSED = """
(() => {
  const at = document.activeElement, style = getComputedStyle(at), box = at.getBoundingClientRect();
  const words = at.getAttribute("aria-label") || at.textContent.trim().slice(0, 60) || at.id;
  const seen = box.bottom > 0 && box.top < innerHeight;
  const tag = at.tagName.toLowerCase();
  return { tag, words, outline: style.outlineStyle, width: parseFloat(style.outlineWidth), top: box.top + scrollY, seen };
})()
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as running:
        yield running


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sample = rich_sample()
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report_html(sample.problem, sample.plan, version="test"), encoding="utf-8")
    return path


def errors(browser: Browser) -> list[Any]:
    return [event for event in browser.events if event.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]


@pytest.mark.parametrize("width", [320, 360, 768, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_fits_its_window_and_its_text_stands_out(browser: Browser, report: Path, width: int, scheme: str) -> None:
    # WCAG 1.4.3 (contrast 4.5:1) and 1.4.10 (reflow): no sideways scrolling of the page, in both schemes.
    browser.open(report, width=width, prefers_color_scheme=scheme)
    assert errors(browser) == []
    assert browser.js("document.documentElement.scrollWidth") <= width
    assert browser.js(CONTRAST) == []
    PICTURES.mkdir(parents=True, exist_ok=True)
    browser.screenshot(PICTURES / f"report-{scheme}-{width}.png")


def test_opening_the_page_asks_nothing_of_any_network(browser: Browser, report: Path) -> None:
    # The policy would stop it; nothing should even try.
    browser.open(report)
    asked = [event["params"]["request"]["url"] for event in browser.events if event.get("method") == "Network.requestWillBeSent"]
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def test_first_tab_stop_skips_to_the_report(browser: Browser, report: Path) -> None:
    # People without a mouse should not have to walk through the navigation each time.
    browser.open(report, prefers_reduced_motion="reduce")
    browser.press("Tab")
    assert browser.js("document.activeElement.className") == "skip"
    assert browser.js("document.activeElement.getBoundingClientRect().top") >= 0
    browser.press("Enter")
    assert browser.js("document.activeElement.id") == "report"


def test_every_control_is_reached_in_reading_order_with_a_visible_focus(browser: Browser, report: Path) -> None:
    # WCAG 2.4.3 and 2.4.7: the tab order follows the page, and one always sees where one is.
    browser.open(report, prefers_reduced_motion="reduce")
    wanted = browser.js("document.querySelectorAll('a[href], button, input, summary, [tabindex=\"0\"]').length")
    hidden = browser.js(
        "[...document.querySelectorAll('a[href], button, input, summary, [tabindex=\"0\"]')].filter((e) => !e.checkVisibility()).length"
    )
    stops = []
    for _ in range(wanted - hidden):
        browser.press("Tab")
        stops.append(browser.js(FOCUSED))
    assert all(stop["outline"] != "none" and stop["width"] >= 2 and stop["seen"] for stop in stops), stops
    in_main = [stop["top"] for stop in stops if stop["tag"] in ("summary", "input")]
    assert in_main == sorted(in_main)
    browser.press("Tab", SHIFT)
    assert browser.js("document.activeElement !== document.body")


def test_theme_button_works_from_the_keyboard_and_says_its_state(browser: Browser, report: Path) -> None:
    browser.open(report, prefers_color_scheme="light")
    browser.js("document.getElementById('theme').focus()")
    assert browser.js("document.activeElement.getAttribute('aria-pressed')") == "false"
    browser.press("Enter")
    assert browser.js("document.activeElement.getAttribute('aria-pressed')") == "true"
    assert browser.js("getComputedStyle(document.body).backgroundColor") == "rgb(15, 21, 27)"
    assert browser.js(CONTRAST) == []
    browser.press("Enter")
    assert browser.js("document.documentElement.dataset.theme") == "light"


def test_screen_reader_finds_landmarks_headings_and_names(browser: Browser, report: Path) -> None:
    # Everything that a screen reader announces must say what it is; headings step down one level at a time.
    browser.open(report)
    tree = browser.accessibility_tree()
    roles = [node["role"]["value"] for node in tree]
    for landmark in ("banner", "navigation", "main", "contentinfo"):
        assert roles.count(landmark) == 1, landmark
    for node in tree:
        if node["role"]["value"] in ("button", "link", "searchbox", "image", "img", "region", "table", "navigation"):
            assert node.get("name", {}).get("value"), node
    levels = [
        next(one["value"]["value"] for one in node["properties"] if one["name"] == "level")
        for node in tree
        if node["role"]["value"] == "heading"
    ]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(levels))
    names = [node["name"]["value"] for node in tree if node["role"]["value"] in ("image", "img")]
    assert any(name.startswith("cpu: 94 % used, 3700m of 3920m. daemons: 100m, shop/web") for name in names), names


def test_search_finds_a_pod_and_says_how_many_rows_are_left(browser: Browser, report: Path) -> None:
    # "Where did my pod go?" is the first question that a table of nodes gets.
    browser.open(report)
    browser.js("document.getElementById('search-nodes').focus()")
    for letter in "web-7d9f6c5b4-00003":
        browser.press(letter)
    browser.js("new Promise((done) => setTimeout(done, 50))")
    assert browser.js("[...document.querySelectorAll('#node-table tbody tr')].filter((row) => !row.hidden).length") == 1
    assert browser.js("document.getElementById('search-count').textContent") == "1 row found"
    assert browser.js("document.getElementById('search-count').getAttribute('role')") == "status"


def test_columns_sort_both_ways_and_say_so(browser: Browser, report: Path) -> None:
    browser.open(report)
    browser.js("[...document.querySelectorAll('.sorter')].find((one) => one.textContent === 'cpu').focus()")
    values = "[...document.querySelectorAll('#node-table tbody tr')].map((row) => Number(row.cells[5].dataset.value))"
    browser.press("Enter")
    falling = browser.js(values)
    assert falling == sorted(falling, reverse=True)
    assert browser.js("document.activeElement.parentNode.getAttribute('aria-sort')") == "descending"
    browser.press("Enter")
    assert browser.js(values) == sorted(falling)
    assert browser.js("document.querySelectorAll('[aria-sort]').length") == 1


def test_plot_can_be_read_by_work(browser: Browser, report: Path) -> None:
    # Seconds belong to one machine; work is the same on all.
    browser.open(report)
    assert browser.js("document.querySelector('[data-plot=time]').checkVisibility()") is True
    browser.js("document.querySelector('[data-axis=work]').click()")
    assert browser.js("document.querySelector('[data-plot=work]').checkVisibility()") is True
    assert browser.js("document.querySelector('[data-plot=time]').checkVisibility()") is False
    assert browser.js("document.querySelector('[data-axis=work]').getAttribute('aria-pressed')") == "true"


def test_print_is_black_on_white_without_controls(browser: Browser, report: Path) -> None:
    # Capacity reviews happen on paper, too, also for people whose screen is dark.
    browser.open(report, prefers_color_scheme="dark")
    browser.send("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert browser.js("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.js("document.querySelector('nav').checkVisibility()") is False
    assert browser.js("document.getElementById('theme').checkVisibility()") is False
    assert browser.js(CONTRAST) == []
    browser.screenshot(PICTURES / "report-print.png")


def test_reduced_motion_is_honoured(browser: Browser, report: Path) -> None:
    browser.open(report, prefers_reduced_motion="reduce")
    assert browser.js("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    assert browser.js("getComputedStyle(document.querySelector('.skip')).transitionDuration") in ("0s", "")


def test_everything_can_be_read_without_script(browser: Browser, report: Path) -> None:
    # Mail programs and strict browsers run no script: figures, bars, tables and names are all in the markup.
    browser.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(report)
        document = browser.send("DOM.getDocument", depth=0)["root"]["nodeId"]
        rows = browser.send("DOM.querySelectorAll", nodeId=document, selector="#node-table tbody tr:not([hidden])")["nodeIds"]
        controls = browser.send("DOM.querySelectorAll", nodeId=document, selector="button:not([hidden]):not(.switch button)")["nodeIds"]
    finally:
        browser.send("Emulation.setScriptExecutionDisabled", value=False)
    assert len(rows) == 4
    assert controls == []


def test_hostile_names_do_not_run(browser: Browser, tmp_path: Path) -> None:
    # Twice held: escaped, and refused by the page's own policy.
    evil = "<img src=x onerror=window.pwned=1><script>window.pwned=2</script>"
    pod, offering = make_pod(evil, 100, 1, owner=evil), make_offering(evil, 1000, 2000, 4)
    plan = Plan(Status.FEASIBLE, (Launch(evil, offering.key, 1000, (pod.key,)),), (), (), (), (), 1000, 1000, 1000)
    path = tmp_path / "evil.html"
    path.write_text(report_html(Problem((pod,), (), (offering,)), plan), encoding="utf-8")
    browser.open(path)
    assert browser.js("window.pwned === undefined")
    assert browser.js("document.images.length") == 0
    assert evil in browser.js("document.querySelector('#nodes').textContent")
    browser.js("var tag = document.createElement('script'); tag.textContent = 'window.pwned = 3'; document.body.append(tag)")
    assert browser.js("window.pwned === undefined")


def test_hundred_thousand_pods_open_and_search(browser: Browser, tmp_path: Path) -> None:
    # The table shows its first rows and keeps the others for the search.
    sample = large_sample()
    path = tmp_path / "large.html"
    path.write_text(report_html(sample.problem, sample.plan), encoding="utf-8")
    browser.open(path)
    shown = "[...document.querySelectorAll('#node-table tbody tr')].filter((row) => !row.hidden).length"
    assert browser.js(shown) == 100
    browser.js("var box = document.getElementById('search-nodes'); box.value = '099999'; box.dispatchEvent(new Event('input'))")
    browser.js("new Promise((done) => setTimeout(done, 300))")
    assert browser.js(shown) == 1
    browser.screenshot(PICTURES / "report-large.png", whole=False)
