"""What every test run shares: which tests need more than Python, and a closing line that says what was left out and how to run it.

A test that needs more says so: ``@pytest.mark.needs("go")``. ``make test`` leaves it out; ``make test-all`` (or CI=true) runs it, and
there a skip is a failure: a missing tool must be seen, not passed over.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

NEEDS = {
    "go": "the Go toolchain",
    "chromium": "headless Chromium",
    "control-plane": "a built Kubernetes control plane",
    "ray": "Ray",
    "torch": "torch (5.4 GB installed)",
    "slow": "some minutes more",
}
ALL = os.environ.get("BAYPLAN_TEST_ALL") == "1" or os.environ.get("CI") == "true"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        wanted = [need for mark in item.iter_markers("needs") for need in mark.args]
        unknown = set(wanted) - set(NEEDS)
        if unknown or (not wanted and item.get_closest_marker("needs")):
            raise pytest.UsageError(f"{item.nodeid}: needs {sorted(unknown)}; known: {', '.join(NEEDS)}")
        if wanted and not ALL:
            item.add_marker(pytest.mark.skip(reason="needs " + " and ".join(NEEDS[need] for need in wanted)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):  # type: ignore[no-untyped-def]
    """In a full run a skip fails, with the reason that it gave."""
    report = yield
    if ALL and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome, report.longrepr = "failed", f"{item.nodeid}: skipped in a full run: {reason}"
    return report


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """The last line: counts, what each skip needs, and the command that runs it."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or config.option.collectonly or hasattr(config, "workerinput"):
        return
    stats = reporter.stats
    passed, failed = len(stats.get("passed", ())), len(stats.get("failed", ())) + len(stats.get("error", ()))
    reasons = Counter(_reason(report) for report in stats.get("skipped", ()))
    line = f"{passed} passed" + (f", {failed} failed" if failed or ALL else "")
    if not ALL:
        line += f", {sum(reasons.values())} skipped"
    if reasons:
        line += " (" + "; ".join(f"{count} {reason}" for reason, count in sorted(reasons.items())) + "): make test-all runs them"
    reporter.write_line(line)


def _reason(report: pytest.TestReport) -> str:
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")
