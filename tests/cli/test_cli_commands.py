"""Each command as a user runs it, on small input with a catalog of its own: what it prints, and its exit code."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from packer import record
from packer.check import Code, Violation
from packer.config import SETTINGS

Run = Callable[..., Any]

CATALOG = """
- {instance_type: small, zone: z-a, capacity_type: on-demand, price: "0.10", resources: {cpu: "2", memory: 4Gi, pods: "10"}}
- {instance_type: large, zone: z-a, capacity_type: on-demand, price: "0.18", resources: {cpu: "4", memory: 8Gi, pods: "10"}}
"""


def pod(name: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": "registry.example/app:1",
        "env": [{"name": "TOKEN", "value": "s3cret"}],
        "resources": {"requests": {"cpu": cpu}},
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop"}, "spec": {"containers": [container], **spec}}


def node(name: str, cpu: str = "4", instance_type: str = "large") -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": name, "node.kubernetes.io/instance-type": instance_type, "topology.kubernetes.io/zone": "z-a"}
    status = {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "10"}, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status}


def dump(*items: dict[str, Any]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)})


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAYPLAN_BUDGET", "1")
    monkeypatch.setenv("BAYPLAN_CATALOG", str(tmp_path / "catalog.yaml"))
    (tmp_path / "catalog.yaml").write_text(CATALOG)
    (tmp_path / "pods.json").write_text(dump(pod("a"), pod("b"), pod("c")))
    (tmp_path / "stuck.json").write_text(dump(pod("a"), pod("huge", "64")))


def test_what_kubectl_prints_can_be_piped_in(run: Run) -> None:
    """kubectl get pods,nodes -A -o json | packer solve -f - is the whole of getting started."""
    code, out, _ = run("solve", "-f", "-", "-o", "json", stdin=dump(pod("a"), pod("b"), node("n1")))
    plan = json.loads(out)
    assert code == 0
    assert {placement["pod"]: placement["node"] for placement in plan["placements"]} == {"shop/a": "n1", "shop/b": "n1"}
    assert plan["costPerHour"] == "0.000000"


def test_exit_code_1_says_that_a_pod_has_no_place(run: Run) -> None:
    """A script must be able to tell without reading the plan."""
    code, out, _ = run("solve", "-f", "stuck.json", "-o", "json")
    plan = json.loads(out)
    assert code == 1
    assert [item["pod"] for item in plan["unplaced"]] == ["shop/huge"]
    assert [launch["instanceType"] for launch in plan["launches"]] == ["small"]


def test_every_form_shows_the_same_plan(run: Run) -> None:
    """A table for people, JSON for programs, a page for meetings: one truth."""
    forms = {form: run("solve", "-f", "pods.json", "-o", form) for form in ("table", "wide", "json", "yaml", "html")}
    assert {code for code, _, _ in forms.values()} == {0}
    plan, same = json.loads(forms["json"].out), yaml.safe_load(forms["yaml"].out)
    for seconds in (*plan["stages"], *same["stages"]):
        del seconds["seconds"]
    assert plan == same
    assert plan["costPerHour"] == "0.180000"
    assert [form for form in ("table", "wide", "html") if "0.18" not in forms[form].out or "large" not in forms[form].out] == []
    assert forms["html"].out.lower().startswith("<!doctype html>")


def test_files_folders_and_streams_add_up(run: Run, tmp_path: Path) -> None:
    """Dumps often come in parts."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "b.yaml").write_text(yaml.safe_dump(pod("b")))
    (folder / "c.json").write_text(json.dumps(pod("c")))
    (folder / "README").write_text("no input")
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(pod("a")))
    code, out, _ = run("solve", "-f", "a.yaml", "-f", "folder", "-f", "-", "-o", "json", stdin=json.dumps(pod("d")))
    assert code == 0
    assert sorted(name for launch in json.loads(out)["launches"] for name in launch["pods"]) == ["shop/a", "shop/b", "shop/c", "shop/d"]


def test_settings_of_file_and_environment_count(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `packer config` shows must be what the solver gets."""
    (tmp_path / "bayplan.yaml").write_text("seed: 7\noutput: json\n")
    assert json.loads(run("solve", "-f", "pods.json").out)["seed"] == 7
    monkeypatch.setenv("BAYPLAN_SEED", "8")
    assert json.loads(run("solve", "-f", "pods.json").out)["seed"] == 8
    assert json.loads(run("solve", "-f", "pods.json", "--seed", "9").out)["seed"] == 9


def test_a_plan_that_breaks_a_rule_is_never_printed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever bug the solver has, the judge stands between it and the user."""
    broken = Violation(Code.POD_MISSING, "pod is in no list", "shop/a")
    monkeypatch.setattr("packer.cli.planning.check_plan", lambda problem, plan: (broken,))
    code, out, err = run("solve", "-f", "pods.json")
    assert (code, out) == (3, "")
    assert [word for word in ("PodMissing", "shop/a", "pod is in no list", "bug", "report") if word not in err] == []
    assert "Traceback" not in err


def test_a_deadline_marks_the_plan_that_it_cut(run: Run) -> None:
    """A plan that depends on the machine's speed must say so."""
    cut = json.loads(run("solve", "-f", "pods.json", "-o", "json", "--deadline", "0.000001").out)
    assert cut["truncated"] is True
    assert json.loads(run("solve", "-f", "pods.json", "-o", "json").out)["truncated"] is False


def test_a_recorded_decision_replays_to_the_same_digest(run: Run, tmp_path: Path) -> None:
    """A decision that cannot be taken again cannot be argued about."""
    plan = json.loads(run("solve", "-f", "stuck.json", "--record", "decision.gz", "-o", "json").out)
    code, out, _ = run("replay", "decision.gz", "-o", "json")
    facts = json.loads(out)
    assert code == 0
    assert facts["same"] is True
    assert facts["replayed"]["digest"] == plan["digest"]
    assert b"s3cret" not in (tmp_path / "decision.gz").read_bytes()


def test_a_replay_that_differs_says_so(run: Run, tmp_path: Path) -> None:
    """Other prices, other plan: exit code 1 and both digests."""
    run("solve", "-f", "pods.json", "--record", "decision.gz")
    decision = record.load((tmp_path / "decision.gz").read_bytes())
    offerings = tuple(offering for offering in decision.problem.offerings if offering.key.instance_type == "small")
    from dataclasses import replace

    other = replace(decision, problem=replace(decision.problem, offerings=offerings), program="0.0.1")
    (tmp_path / "other.gz").write_bytes(record.dump(other))
    code, out, _ = run("replay", "other.gz")
    assert code == 1
    assert len(set(re.findall(r"sha256:[0-9a-f]{64}", out))) == 2
    assert "another version" in out


def test_a_plan_made_before_can_be_shown_checked_and_explained(run: Run, tmp_path: Path) -> None:
    """Solving again for each view would cost time, and trust."""
    printed = run("solve", "-f", "pods.json", "--record", "decision.gz", "-o", "json").out
    (tmp_path / "plan.json").write_text(printed)
    for plan in (["decision.gz"], ["plan.json", "-f", "pods.json"]):
        assert json.loads(run("show", *plan, "-o", "json").out)["digest"] == json.loads(printed)["digest"]
        assert json.loads(run("check", *plan, "-o", "json").out) == {"valid": True, "violations": []}
        assert run("explain", "shop/a", "--plan", *plan).code == 0
    assert "leave -f out" in run("show", "decision.gz", "-f", "pods.json").err


def test_check_names_every_broken_rule(run: Run, tmp_path: Path) -> None:
    """A plan from elsewhere, or edited by hand, is judged and not believed."""
    plan = json.loads(run("solve", "-f", "pods.json", "-o", "json").out)
    lost = plan["launches"][0]["pods"].pop()
    plan["launches"][0]["pricePerHour"] = "0.010000"
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    code, out, _ = run("check", "plan.json", "-f", "pods.json", "-o", "json")
    found = {(item["code"], item["subject"]) for item in json.loads(out)["violations"]}
    assert code == 1
    assert ("PodMissing", lost) in found
    assert "PriceDiffers" in {code for code, _ in found}
    assert "PodMissing" in run("check", "plan.json", "-f", "pods.json").out
    assert "packer check" in run("show", "plan.json", "-f", "pods.json").err


def test_check_proves_the_bound_again(run: Run, tmp_path: Path) -> None:
    """The bound is a claim like any other; one that is too high is found out."""
    (tmp_path / "many.json").write_text(dump(*(pod(f"p{i}", f"{700 + 100 * (i % 5)}m") for i in range(70))))
    plan = json.loads(run("solve", "-f", "many.json", "-o", "json").out)
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    code, out, _ = run("check", "plan.json", "-f", "many.json", "--bound", "-o", "json")
    assert (code, json.loads(out)["bound"]["holds"]) == (0, True)
    plan["lowerBoundPerHour"] = plan["objectivePerHour"]
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    code, out, _ = run("check", "plan.json", "-f", "many.json", "--bound", "-o", "json")
    assert (code, json.loads(out)["bound"]["holds"]) == (1, False)


def test_explain_answers_for_placed_and_unplaced_pods(run: Run) -> None:
    """Exit code 1 means that the pod has no place, as for solve."""
    assert run("explain", "shop/a", "-f", "stuck.json").code == 0
    code, out, _ = run("explain", "huge", "-f", "stuck.json")
    assert code == 1
    assert "64" in out
    assert json.loads(run("explain", "huge", "-f", "stuck.json", "-o", "json").out)["outcome"] == "unplaced"


def test_compare_tells_two_plans_apart(run: Run, tmp_path: Path) -> None:
    """0 for the same plan, 1 for a difference, as diff does."""
    (tmp_path / "one.json").write_text(run("solve", "-f", "pods.json", "-o", "json").out)
    (tmp_path / "two.json").write_text(run("solve", "-f", "stuck.json", "-o", "json").out)
    assert run("compare", "one.json", "one.json").code == 0
    code, out, _ = run("compare", "one.json", "two.json", "-o", "json")
    assert code == 1
    assert json.loads(out)["costPerHour"] == {"before": "0.180000", "after": "0.100000", "change": "-0.080000"}


def test_compare_says_what_a_repack_would_save(run: Run, tmp_path: Path) -> None:
    """Two large nodes with one small pod each are worth one small node."""
    running = [pod(name, nodeName=where) for name, where in (("a", "n1"), ("b", "n2"))]
    (tmp_path / "cluster.json").write_text(dump(*running, node("n1"), node("n2")))
    code, out, _ = run("compare", "-f", "cluster.json", "-o", "json")
    assert code == 1
    assert json.loads(out)["costPerHour"] == {"now": "0.360000", "repacked": "0.100000"}
    assert "Repacked" in run("compare", "-f", "cluster.json").out
    assert "0.26" in run("compare", "-f", "cluster.json", "-o", "html").out
    repack = run("solve", "-f", "cluster.json", "--repack", "-o", "json").out
    (tmp_path / "repack.json").write_text(repack)
    assert json.loads(run("compare", "repack.json", "-f", "cluster.json", "-o", "json").out)["savedPerHour"] == "0.260000"


def test_nothing_that_runs_is_nothing_to_repack(run: Run) -> None:
    """A dump of pods alone is the likely slip; the mend is the command."""
    code, _, err = run("compare", "-f", "pods.json")
    assert code == 2
    assert "kubectl get pods,nodes" in err


def test_a_scrubbed_dump_holds_no_secret_and_plans_the_same(run: Run, tmp_path: Path) -> None:
    """Otherwise nobody could send us theirs."""
    scrubbed = run("scrub", "-f", "stuck.json").out
    (tmp_path / "safe.json").write_text(scrubbed)
    assert "s3cret" not in scrubbed
    digests = {json.loads(run("solve", "-f", file, "-o", "json").out)["digest"] for file in ("stuck.json", "safe.json")}
    assert len(digests) == 1


def test_reports_hold_no_secret(run: Run) -> None:
    """Dumps carry tokens in env; a page that is mailed round must not."""
    assert [form for form in ("html", "json", "wide") if "s3cret" in run("solve", "-f", "pods.json", "-o", form).out] == []


def test_config_shows_every_setting_and_its_origin(run: Run) -> None:
    """The answer to "why did it do that?" often is a setting."""
    rows = {row["setting"]: row for row in json.loads(run("config", "-o", "json").out)}
    assert set(rows) == set(SETTINGS)
    assert rows["budget"]["origin"] == "environment BAYPLAN_BUDGET"
    assert run("config", "budget").out.splitlines()[1].startswith("budget")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_name_the_program(run: Run, shell: str) -> None:
    """One line in a shell's start file, for either name."""
    assert "_PACKER_COMPLETE" in run("completion", shell).out
    assert "_BAYPLAN_COMPLETE" in run("completion", shell, "--name", "bayplan").out


def test_benchmarks_without_a_checkout_say_where_they_are(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wheel leaves perf out on purpose."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, _, err = run("bench")
    assert code == 3
    assert "make bench" in err


@pytest.mark.parametrize(
    ("argument", "name"), [("kubectl-bayplan", "kubectl bayplan"), ("/x/bayplan", "bayplan"), ("/x/packer/__main__.py", "python -m packer")]
)
def test_the_program_answers_to_the_name_it_was_called_by(run: Run, monkeypatch: pytest.MonkeyPatch, argument: str, name: str) -> None:
    """A mend that names another program would not work."""
    monkeypatch.setattr("packer.cli.sys.argv", [argument])
    from packer.cli import program

    assert program() == name
