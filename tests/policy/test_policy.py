"""Policies: ordered rules, alternatives as a union, and errors that name the path and the nearest right key."""

from __future__ import annotations

import dataclasses
import json

import pytest

from packer import parse
from packer.errors import UsageError
from packer.model import (
    CAPACITY_TYPE,
    CATEGORY,
    DEFAULT_RULE,
    FAMILY,
    GENERATION,
    GPU_MEMORY,
    GPU_MODEL,
    ZONE,
    Limits,
    Offering,
    OfferingKey,
    Operator,
    Pod,
    PodSpec,
    Policy,
    Requirement,
    Why,
)
from packer.policy import FRIENDLY, allowed, load_policy, rule_for, why_not
from tests.parse.build import as_list, offer, pod

TRAINING = """
apiVersion: bayplan.io/v1alpha1
kind: NodePolicy
metadata: {name: default}
spec:
  rules:
  - name: training
    match: {matchLabels: {team: ml}}
    alternatives:
    - name: spot
      requirements:
        capacity-type: spot
        gpu-model: {notIn: [M60]}
      maxPricePerHour: 40
    - name: fallback
      requirements: {capacity-type: on-demand}
      penaltyPerHour: 0.5
"""


def offering(price: int = 1, burstable: bool = False, fractional: bool = False, **labels: str) -> Offering:
    named = {FRIENDLY[key.replace("_", "-")]: value for key, value in labels.items()}
    key = OfferingKey("aws", "r", "z", "x1.large", labels.get("capacity_type", "on-demand"))
    return Offering(key, price * 1_000_000, {}, named, burstable=burstable, fractional_gpu=fractional)


def some_pod(namespace: str = "default", priority: int = 0, **labels: str) -> Pod:
    return Pod(namespace, "p", "u", PodSpec({}), labels, priority)


def alternative(text: str) -> str:
    return f"rules: [{{alternatives: [{text}]}}]"


# --- matching -----------------------------------------------------------------------------------------------------------------


def test_training_on_spot_never_m60_at_most_40_dollars_else_on_demand_at_a_penalty() -> None:
    """The sentence that a platform team writes first."""
    policy = load_policy(TRAINING)
    rule = rule_for(policy, some_pod(team="ml"))
    assert rule.name == "training"
    assert allowed(rule, offering(39, capacity_type="spot", gpu_model="nvidia-t4")) == ((0, 0),)
    assert allowed(rule, offering(41, capacity_type="spot", gpu_model="nvidia-t4")) == ()
    assert allowed(rule, offering(41, capacity_type="on-demand", gpu_model="nvidia-t4")) == ((1, 500_000),)


def test_models_of_a_policy_are_spelled_as_the_catalog_spells_them() -> None:
    """M60 excludes nvidia-m60 once the catalog is known."""
    items = as_list([pod("p", meta={"labels": {"team": "ml"}})])
    rows = [offer(model, gpu_model=model, capacity_type="spot") for model in ("nvidia-m60", "nvidia-t4")]
    offerings, _ = parse.read_catalog(json.dumps(rows))
    problem = parse.build_problem(parse.read_objects([items]), offerings, load_policy(TRAINING))
    rule = rule_for(problem.policy, problem.pods[0])
    assert {one.key.instance_type: bool(allowed(rule, one)) for one in problem.offerings} == {"nvidia-m60": False, "nvidia-t4": True}


@pytest.mark.parametrize(
    ("match", "who", "matches"),
    [
        ("{}", some_pod(), True),
        ("{matchLabels: {a: x}}", some_pod(a="x"), True),
        ("{matchLabels: {a: x}}", some_pod(a="y"), False),
        ("{matchExpressions: [{key: a, operator: NotIn, values: [x]}]}", some_pod(), True),
        ("{matchExpressions: [{key: a, operator: Exists}]}", some_pod(), False),
        ("{namespaces: [ml, web]}", some_pod("ml"), True),
        ("{namespaces: ml}", some_pod("web"), False),
        ("{priority: {atLeast: 10}}", some_pod(priority=10), True),
        ("{priority: {atLeast: 10}}", some_pod(priority=9), False),
        ("{priority: {atMost: -1}}", some_pod(priority=-1), True),
        ("{matchLabels: {a: x}, namespaces: [ml]}", some_pod("web", a="x"), False),
    ],
)
def test_all_conditions_of_a_rule_must_hold(match: str, who: Pod, matches: bool) -> None:
    """A rule without conditions matches every pod."""
    policy = load_policy(f"rules: [{{name: one, match: {match}, alternatives: [{{name: any}}]}}]")
    assert (rule_for(policy, who).name == "one") is matches


def test_the_first_rule_that_matches_decides_and_else_the_default() -> None:
    """Later rules are not looked at, even where the first allows nothing."""
    policy = load_policy(
        "rules: [{name: a, match: {namespaces: [x]}, alternatives: [{}]}, {name: b, match: {namespaces: [x, y]}, alternatives: [{}]}]"
    )
    assert [rule_for(policy, some_pod(name)).name for name in ("x", "y", "z")] == ["a", "b", "default"]
    assert rule_for(policy, some_pod("z")) is DEFAULT_RULE


# --- requirements -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "requirements"),
    [
        ("family: c5", {Requirement(FAMILY, Operator.IN, ("c5",))}),
        ("family: [m5, c5]", {Requirement(FAMILY, Operator.IN, ("c5", "m5"))}),
        ("category: {notIn: [t, m]}", {Requirement(CATEGORY, Operator.NOT_IN, ("m", "t"))}),
        ("generation: {gt: 4, lt: 8}", {Requirement(GENERATION, Operator.GT, ("4",)), Requirement(GENERATION, Operator.LT, ("8",))}),
        (
            "generation: {atLeast: 5, atMost: 7}",
            {Requirement(GENERATION, Operator.GT, ("4",)), Requirement(GENERATION, Operator.LT, ("8",))},
        ),
        ("generation: 5", {Requirement(GENERATION, Operator.IN, ("5",))}),
        ("gpu-memory: {atLeast: 16Gi}", {Requirement(GPU_MEMORY, Operator.GT, ("16383",))}),
        ("gpu-memory: {gt: 16Gi}", {Requirement(GPU_MEMORY, Operator.GT, ("16384",))}),
        ("gpu-memory: {lt: 24Gi}", {Requirement(GPU_MEMORY, Operator.LT, ("24576",))}),
        ("gpu-memory: {atMost: 24Gi}", {Requirement(GPU_MEMORY, Operator.LT, ("24577",))}),
        ("gpu-memory: {atLeast: 24G}", {Requirement(GPU_MEMORY, Operator.GT, ("22887",))}),
        ("gpu-memory: {lt: 24G}", {Requirement(GPU_MEMORY, Operator.LT, ("22888",))}),
        ("gpu-memory: [16Gi]", {Requirement(GPU_MEMORY, Operator.IN, ("16384",))}),
        ("gpu-model: {exists: true}", {Requirement(GPU_MODEL, Operator.EXISTS)}),
        ("gpu-model: {exists: false}", {Requirement(GPU_MODEL, Operator.DOES_NOT_EXIST)}),
        ("capacity-type: [SPOT, on_demand]", {Requirement(CAPACITY_TYPE, Operator.IN, ("on-demand", "spot"))}),
        ("zone: {notIn: z-a}", {Requirement(ZONE, Operator.NOT_IN, ("z-a",))}),
        ("example.com/pool: blue", {Requirement("example.com/pool", Operator.IN, ("blue",))}),
        ("'label:pool': blue", {Requirement("pool", Operator.IN, ("blue",))}),
    ],
)
def test_requirements_in_friendly_words(text: str, requirements: set[Requirement]) -> None:
    """A value or a list is ``in``; operators of one key must all hold; quantities where memory is meant."""
    policy = load_policy(alternative(f"{{requirements: {{{text}}}}}"))
    assert set(policy.rules[0].alternatives[0].requirements) == requirements


def test_alternatives_are_a_union_in_order() -> None:
    """An offering may be had under several; the solver takes the least penalty."""
    policy = load_policy("rules: [{alternatives: [{penaltyPerHour: 2}, {requirements: {family: c5}}, {penaltyPerHour: 1}]}]")
    assert allowed(policy.rules[0], offering(family="c5")) == ((0, 2_000_000), (1, 0), (2, 1_000_000))
    assert allowed(policy.rules[0], offering(family="m5")) == ((0, 2_000_000), (2, 1_000_000))


def test_burstable_and_fractional_are_out_by_default_and_in_by_policy() -> None:
    """They look cheap because they are less than they say."""
    rule = load_policy(alternative("{allow: [burstable, fractional-gpu]}")).rules[0]
    for odd in (offering(burstable=True), offering(fractional=True)):
        assert allowed(DEFAULT_RULE, odd) == ()
        assert allowed(rule, odd) == ((0, 0),)
    assert allowed(DEFAULT_RULE, offering()) == ((0, 0),)


@pytest.mark.parametrize(
    ("what", "code", "words"),
    [
        (offering(41, capacity_type="spot"), Why.MAX_PRICE, "$40.000000"),
        (offering(1, capacity_type="reserved"), Why.POLICY, "capacity-type"),
        (offering(1, burstable=True, capacity_type="on-demand"), Why.POLICY, "burstable"),
        (offering(1, fractional=True, capacity_type="on-demand"), Why.POLICY, "slices"),
    ],
)
def test_why_an_offering_is_refused(what: Offering, code: Why, words: str) -> None:
    """Price is the reason only where nothing else is wrong; the words name rule and alternative."""
    reason = why_not(load_policy(TRAINING).rules[0], what)
    assert reason is not None
    assert reason.code is code
    assert words in reason.message
    assert "rule training" in reason.message


def test_nothing_is_said_of_an_offering_that_is_allowed() -> None:
    """why_not and allowed agree."""
    assert why_not(load_policy(TRAINING).rules[0], offering(1, capacity_type="spot")) is None


# --- the rest of the file -----------------------------------------------------------------------------------------------------


def test_limits_fees_and_times() -> None:
    """Money in dollars, times in seconds or as Go writes them, resources as quantities."""
    policy = load_policy(
        """
        nodeFeePerHour: 0.005
        horizon: 12h
        defaultRestartCost: 5m
        limits: {costPerHour: $100, nodes: 50, resources: {cpu: "1000", memory: 4Ti, nvidia.com/gpu: 16}}
        rules: [{name: r, alternatives: [{limits: {nodes: 3}}]}]
        """
    )
    assert (policy.node_fee_microusd_per_hour, policy.horizon_s, policy.default_restart_cost_s) == (5000, 43_200, 300)
    assert policy.limits == Limits(100_000_000, 50, {"cpu": 1_000_000, "memory": 4 << 40, "nvidia.com/gpu": 16})
    assert policy.rules[0].alternatives[0].limits == Limits(nodes=3)


@pytest.mark.parametrize("text", ["", "{}", "rules: []", "rules:", "apiVersion: bayplan.io/v1alpha1\nkind: NodePolicy\nspec: {}"])
def test_an_empty_policy_is_the_default(text: str) -> None:
    """Nothing said, nothing changed."""
    assert load_policy(text) == Policy()


def test_names_are_counted_where_none_is_given() -> None:
    """Reasons speak of them."""
    rule = load_policy("rules: [{alternatives: [{}, {name: x}]}]").rules[0]
    assert (rule.name, [one.name for one in rule.alternatives]) == ("rule-0", ["alternative-0", "x"])


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("ruels: []", r"policy\.ruels: unknown key, did you mean 'rules'\?"),
        ("spec: {rules: []}", r"policy\.apiVersion: None is not bayplan\.io/v1alpha1"),
        ("apiVersion: bayplan.io/v1alpha1\nkind: NodePool\nspec: {}", r"policy\.kind: 'NodePool'"),
        ("apiVersion: bayplan.io/v1alpha1\nkind: NodePolicy\nspec: {rule: []}", r"policy\.spec\.rule: unknown key, did you mean 'rules'"),
        ("rules: {}", r"policy\.rules: expected a list"),
        ("rules: [5]", r"policy\.rules\[0\]: expected a mapping, got 5"),
        ("rules: [{name: a}]", r"policy\.rules\[0\]\.alternatives: rule 'a' has none"),
        ("rules: [{name: a, alternatives: [{}]}, {name: a, alternatives: [{}]}]", r"two rules are called 'a'"),
        (
            "rules: [{match: {matchlabels: {}}, alternatives: [{}]}]",
            r"rules\[0\]\.match\.matchlabels: unknown key, did you mean 'matchLabels'",
        ),
        ("rules: [{match: {matchLabels: {a: 1}}, alternatives: [{}]}]", r"matchLabels\.a: 1 is not text; put it in quotes"),
        ("rules: [{match: {matchExpressions: [{key: a, operator: Inn}]}, alternatives: [{}]}]", r"operator: 'Inn'.*did you mean 'In'"),
        ("rules: [{match: {matchExpressions: [{key: a, operator: In}]}, alternatives: [{}]}]", r"values: In takes at least one"),
        ("rules: [{match: {matchExpressions: [{operator: Exists}]}, alternatives: [{}]}]", r"\.key: it is missing"),
        ("rules: [{match: {priority: {atleast: 1}}, alternatives: [{}]}]", r"priority\.atleast: unknown key, did you mean 'atLeast'"),
        ("rules: [{match: {priority: {atLeast: high}}, alternatives: [{}]}]", r"priority\.atLeast: 'high' is not a whole number"),
        (alternative("{penaltyPerHr: 1}"), r"alternatives\[0\]\.penaltyPerHr: unknown key, did you mean 'penaltyPerHour'"),
        (alternative("{penaltyPerHour: -1}"), r"penaltyPerHour: -1 is not an amount"),
        (alternative("{maxPricePerHour: cheap}"), r"maxPricePerHour: 'cheap'"),
        (alternative("{allow: [burstabel]}"), r"allow: 'burstabel'.*did you mean 'burstable'"),
        (alternative("{requirements: {genration: 5}}"), r"requirements\.genration: unknown key, did you mean 'generation'"),
        (alternative("{requirements: {pool: blue}}"), r"requirements\.pool: unknown key.*label:NAME"),
        (alternative("{requirements: {family: {isIn: [a]}}}"), r"family\.isIn: unknown key"),
        (alternative("{requirements: {family: {}}}"), r"family: it is empty"),
        (alternative("{requirements: {family: {in: []}}}"), r"family\.in: it is empty"),
        (alternative("{requirements: {family: true}}"), r"family: True is not text"),
        (alternative("{requirements: {capacity-type: sport}}"), r"capacity-type: 'sport'.*did you mean 'spot'"),
        (alternative("{requirements: {generation: {gt: new}}}"), r"generation\.gt: 'new' is not a whole number"),
        (alternative("{requirements: {generation: {gt: 4.5}}}"), r"generation\.gt: 4\.5"),
        (alternative("{requirements: {gpu-memory: {atLeast: big}}}"), r"gpu-memory\.atLeast: 'big'"),
        (alternative("{requirements: {gpu-model: {exists: maybe}}}"), r"gpu-model\.exists: 'maybe' is neither"),
        ("limits: {cpu: 5}", r"policy\.limits\.cpu: unknown key"),
        ("limits: {nodes: -1}", r"policy\.limits\.nodes: it must not be negative"),
        ("limits: {resources: {cpu: lots}}", r"limits\.resources\.cpu: 'lots'"),
        ("horizon: 0", r"policy\.horizon: it must be more than 0"),
        ("horizon: soon", r"policy\.horizon: 'soon' is not a duration"),
        ("[]", r"policy: expected a mapping"),
        ("{", r"policy is not YAML"),
    ],
)
def test_every_mistake_is_named_with_its_path(text: str, pattern: str) -> None:
    """A policy that is silently half understood buys the wrong machines."""
    with pytest.raises(UsageError, match=pattern) as found:
        load_policy(text)
    assert found.value.exit_code == 2


def test_a_policy_survives_being_copied() -> None:
    """Frozen values: replacing one field leaves the rest alone."""
    policy = load_policy(TRAINING)
    assert dataclasses.replace(policy, horizon_s=1).rules is policy.rules
