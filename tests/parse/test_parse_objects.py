"""Reading files: every form that kubectl, jq and people produce, and errors that say what, where and how to mend it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from packer import parse
from packer.errors import EnvironmentProblem, InputError
from packer.parse.objects import Source
from tests.parse.build import as_list, container, node, obj, pod

TWO = [pod("a"), pod("b")]
FORMS = {
    "list": as_list(TWO),
    "indented": json.dumps({"kind": "List", "apiVersion": "v1", "items": TWO}, indent=4).encode(),
    "podlist without kinds": json.dumps(
        {"kind": "PodList", "apiVersion": "v1", "items": [{key: one[key] for key in ("metadata", "spec", "status")} for one in TWO]}
    ).encode(),
    "ndjson": b"\n".join(json.dumps(one).encode() for one in TWO),
    "concatenated": b"".join(json.dumps(one, indent=2).encode() for one in TWO),
    "bare array": json.dumps(TWO).encode(),
    "list of lists": json.dumps({"kind": "List", "items": [{"kind": "List", "items": [TWO[0]]}, TWO[1]]}).encode(),
    "yaml documents": yaml.safe_dump_all(TWO).encode(),
    "yaml list": yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": TWO}).encode(),
    "yaml with empty documents": b"---\n---\n" + yaml.safe_dump_all(TWO).encode() + b"---\n",
    "flow yaml": b"{kind: List, items: " + json.dumps(TWO).encode() + b"}",
    "byte order mark": b"\xef\xbb\xbf" + as_list(TWO),
    "powershell's utf-16": as_list(TWO).decode().encode("utf-16"),
    "case file": yaml.safe_dump({"id": 1, "kind": "packer", "input": {"pods": TWO, "catalog": []}}).encode(),
    "case file as json": json.dumps({"id": 1, "kind": "packer", "input": {"pods": TWO, "catalog": []}}).encode(),
    "input of a case": yaml.safe_dump({"pods": TWO, "existing_nodes": None}).encode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_pods_in_every_form(form: str) -> None:
    """kubectl, jq, PowerShell and editors each have their own habits."""
    raw = parse.read_objects([FORMS[form]])
    assert [one.key for one in raw.pods] == ["default/a", "default/b"]
    assert raw.pods[0].spec is raw.pods[1].spec


def test_sources_merge_and_order_has_no_say(tmp_path: Path) -> None:
    """``-f`` is repeatable."""
    (tmp_path / "pods.json").write_bytes(as_list(TWO))
    (tmp_path / "nodes.yaml").write_text(yaml.safe_dump(node("n-1")))
    paths = [tmp_path / "pods.json", tmp_path / "nodes.yaml"]
    both = parse.load(paths)
    assert (len(both.pods), len(both.nodes)) == (2, 1)
    assert sorted(one.key for one in parse.load(paths[::-1]).pods) == sorted(one.key for one in both.pods)


def test_of_one_object_in_two_sources_the_newest_counts() -> None:
    """A second dump must not double the cluster, whichever comes first."""
    old = pod("web", meta={"creationTimestamp": "2026-01-01T00:00:00Z", "resourceVersion": "9"})
    new = pod("web", meta={"creationTimestamp": "2026-01-01T00:00:00Z", "resourceVersion": "10"}, containers=[container(cpu="2")])
    for order in ([old, new], [new, old]):
        (found,) = parse.load([as_list([one]) for one in order]).pods
        assert found.spec.requests == {"cpu": 2000}


def test_unknown_kinds_and_fields_are_passed_over() -> None:
    """``kubectl get all`` has Services, and next year's pods have fields of next year."""
    other = obj("v1", "Service", "svc", spec={"ports": [{"port": 80}]})
    volcano = obj("batch.volcano.sh/v1alpha1", "Job", "train", spec={"tasks": 7, "template": "no template at all"})
    strange = pod("odd", someday={"x": [1]}, containers=[{**container(cpu="1"), "novel": 5}])
    raw = parse.read_objects([as_list([other, volcano, strange])])
    assert [one.name for one in raw.pods] == ["odd"]
    assert raw.workloads == []


def test_null_means_absent() -> None:
    """The API server's own clients write creationTimestamp: null."""
    nulls = dict.fromkeys(("nodeSelector", "affinity", "tolerations", "volumes", "initContainers", "overhead", "nodeName"))
    found = parse.pod({"metadata": {"name": "x", "labels": None, "creationTimestamp": None}, "spec": nulls, "status": None})
    assert (found.key, found.spec.requests) == ("default/x", {})


WRONG = [
    (
        pod("x", containers=[{"name": "m", "resources": {"requests": {"cpu": ["1"]}}}]),
        r"Pod default/x .*spec\.containers\[0\]\.resources\.requests",
    ),
    (pod("x", containers={"name": "m"}), r"Pod default/x .*spec\.containers: expected array, got object"),
    (pod("x", hostNetwork="yes"), r"spec\.hostNetwork: expected bool, got str"),
    (pod("x", meta={"labels": {"a": 1}}), r"metadata\.labels.*expected str, got int"),
    (pod("x", nodeSelector=["a"]), r"spec\.nodeSelector: expected object, got array"),
    (pod("x", tolerations=[{"key": "a", "operator": "Equals"}]), r"Pod default/x: spec\.tolerations\[0\]: 'Equals'"),
    (pod("x", containers=[container(cpu="1K")]), r"Pod default/x: spec\.containers\[0\]\.resources\.requests\.cpu: '1K'"),
    (pod("x", overhead={"cpu": "x"}), r"Pod default/x: spec\.overhead\.cpu: 'x'"),
    (node("n", taints=[{"key": "a", "effect": "NoWay"}]), r"Node n: spec\.taints\[0\]: 'NoWay'"),
    (node("n", allocatable={"cpu": "many"}), r"Node n: status\.allocatable\.cpu: 'many'"),
    (obj("apps/v1", "Deployment", "web", spec={"replicas": "3"}), r"Deployment web .*spec\.replicas: expected int, got str"),
    ({"apiVersion": "v1", "kind": "Pod", "spec": {}}, r"a Pod without metadata\.name"),
    ({"spec": {}}, r"without a kind"),
    (pod("x", topologySpreadConstraints=[{"maxSkew": 0, "topologyKey": "z"}]), r"spec\.topologySpreadConstraints\[0\]"),
    (pod("x", topologySpreadConstraints=[{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "Never"}]), r"whenUnsatisfiable: 'Never'"),
    (
        pod("x", affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": {}}]}}),
        r"podAffinity\.required.*\[0\]: topologyKey is empty",
    ),
]


@pytest.mark.parametrize(("body", "pattern"), WRONG, ids=range(len(WRONG)))
@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_wrong_type_names_the_object_and_the_path(body: dict[str, object], pattern: str, form: str) -> None:
    """One bad object among a hundred thousand must be found at once; both decoders say the same."""
    text = as_list([pod("fine"), body]) if form == "json" else yaml.safe_dump_all([pod("fine"), body]).encode()
    with pytest.raises(InputError, match=pattern) as found:
        parse.load([text])
    assert found.value.mend
    assert found.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        (b"", "it is empty"),
        (b" \n ", "it is empty"),
        (b"---\n", "no documents"),
        (as_list(TWO)[:-20], "cut short"),
        (b'{"kind": "List", "items": 5}', "items: expected array"),
        (b'{"kind": 5}', "kind: expected str"),
        (b"[1, 2]", r"expected object, got int"),
        (b"hello", "expected an object, got 'hello'"),
        (b"a: [1", "not YAML.*|.*line 1"),
        (b"a: b: c", "line 1, column 5"),
        (b"\xff\xfe\x00", "not text"),
        (b"k: \xe9", "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b"a: &a [*a]", "."),
        (b"input: {pods: 5}", r"input\.pods: expected a list"),
        (b"input: {catalog: [5]}", r"input\.catalog\[0\]"),
    ],
)
def test_text_that_is_no_input(text: bytes, pattern: str) -> None:
    """Each way of being wrong has a message of its own; none is a traceback."""
    with pytest.raises(InputError, match=pattern):
        parse.load([text])


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """The environment's fault, so another exit code."""
    with pytest.raises(EnvironmentProblem, match="nowhere"):
        parse.read_objects([tmp_path / "nowhere"])


def test_errors_call_a_source_by_its_name() -> None:
    """With several -f, the file matters."""
    with pytest.raises(InputError, match=r"dump\.json: items\[1\]"):
        parse.read_objects([Source("dump.json", as_list([pod("a"), pod("b", hostNetwork=1)]))])


def test_yaml_values_keep_the_meaning_that_kubernetes_gives_them() -> None:
    """Timestamps and clock times are text in goyaml; PyYAML would make dates and 750 of them."""
    text = """
    apiVersion: v1
    kind: Pod
    metadata: {name: x, creationTimestamp: 2026-01-02T03:04:05Z, labels: {from: 12:30, day: 2026-01-02}}
    spec: {containers: [{name: m, resources: {requests: {cpu: 0.5, memory: 1e9, example.com/dev: 2, ephemeral-storage: 010}}}]}
    """
    (found,) = parse.load([text.encode()]).pods
    assert found.created_at == "2026-01-02T03:04:05Z"
    assert found.labels == {"from": "12:30", "day": "2026-01-02"}
    assert found.spec.requests == {"cpu": 500, "memory": 10**9, "example.com/dev": 2, "ephemeral-storage": 8}


JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(
    [
        "containers",
        "initContainers",
        "nodeSelector",
        "affinity",
        "tolerations",
        "topologySpreadConstraints",
        "volumes",
        "overhead",
        "priority",
        "schedulingGates",
        "nodeName",
        "resources",
        "resourceClaims",
        "schedulerName",
        "hostNetwork",
    ]
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_garbage_gives_input_errors_only(data: bytes) -> None:
    """Whatever is piped in, the program says what is wrong with it."""
    try:
        parse.load([data])
    except InputError:
        pass


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(FIELDS, JSONISH, max_size=3), st.sampled_from(["json", "yaml"]))
def test_pods_with_garbage_inside_are_read_or_refused_and_never_lost(spec: dict[str, object], form: str) -> None:
    """A pod that is read is waiting, skipped or on a node; there is no fourth place."""
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": spec}
    try:
        raw = parse.read_objects([json.dumps(body).encode() if form == "json" else yaml.safe_dump(body).encode()])
        found = parse.build_problem(raw)
    except InputError:
        return
    assert len(found.pods) + len(found.skipped) + sum(notice.reason == "NodeUnknown" for notice in found.notices) == 1


def test_generated_names_are_counted_not_drawn() -> None:
    """kubectl create accepts generateName; the plan must be the same tomorrow."""
    bodies = [pod("", meta={"name": None, "generateName": "run-"}) for _ in range(2)]
    assert [one.name for one in parse.read_objects([as_list(bodies)]).pods] == ["run-0", "run-1"]


def test_standard_input_is_called_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    """kubectl get -o json | packer solve -f -"""

    class Stdin:
        buffer = __import__("io").BytesIO(as_list(TWO))

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert len(parse.read_objects(["-"]).pods) == 2
