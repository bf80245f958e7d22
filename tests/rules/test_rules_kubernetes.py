"""kube-scheduler's rules one by one, each where people commonly get it wrong. Sources are named in packer/rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from packer import rules
from packer.model import (
    CPU,
    HOSTNAME,
    MEMORY,
    PODS,
    UNSCHEDULABLE_TAINT,
    ZONE,
    Daemon,
    Effect,
    HostPort,
    Node,
    NodeTerm,
    Offering,
    OfferingKey,
    Operator,
    Pod,
    PodAffinityTerm,
    PodSpec,
    Requirement,
    Selector,
    SpreadConstraint,
    Taint,
    Toleration,
    Why,
)
from packer.rules import State

ROOM = {CPU: 4000, MEMORY: 8, PODS: 10}
APP_A = Selector((Requirement("app", Operator.IN, ("a",)),))


def pod(name: str = "p", labels: dict[str, str] | None = None, namespace: str = "default", terminating: bool = False, **spec: Any) -> Pod:
    return Pod(
        namespace, name, "", PodSpec(**{"requests": {}, **spec}), {"app": "a"} if labels is None else labels, terminating=terminating
    )


def node(name: str, zone: str | None = "z", *running: Pod, **changes: Any) -> Node:
    labels = {HOSTNAME: name} | ({ZONE: zone} if zone else {})
    free = {**ROOM, PODS: ROOM[PODS] - len(running)}
    return replace(Node(name, labels, (), ROOM, free, running), **changes)


def offering(**changes: Any) -> Offering:
    return replace(Offering(OfferingKey("cloud", "here", "z", "m", "on-demand"), 100, ROOM, {ZONE: "z"}), **changes)


def codes(state: State, which: Pod, where: str) -> set[Why]:
    return {reason.code for reason in state.why_not(which, where)}


@pytest.mark.parametrize(
    "operator, values, labels, holds",
    [
        ("In", ("a",), {"k": "a"}, True),
        ("In", ("a",), {}, False),
        ("NotIn", ("a",), {}, True),  # an absent key is not among the values
        ("NotIn", ("a",), {"k": "a"}, False),
        ("Exists", (), {"k": ""}, True),
        ("DoesNotExist", (), {"k": ""}, False),
        ("Gt", ("5",), {"k": "6"}, True),
        ("Gt", ("5",), {"k": "5"}, False),
        ("Lt", ("5",), {"k": "-6"}, True),
        ("Gt", ("5",), {}, False),
        ("Lt", ("5",), {}, False),  # neither less nor greater
        ("Gt", ("5",), {"k": "6.5"}, False),
        ("Gt", ("5",), {"k": "1_0"}, False),  # Python would read 10
        ("Gt", ("5",), {"k": "\u0667"}, False),  # a digit elsewhere, not in Go
        ("Gt", ("5",), {"k": "9223372036854775808"}, False),  # past int64
        ("Gt", ("9007199254740992",), {"k": "9007199254740993"}, True),  # past what a float can tell apart
    ],
)
def test_expressions(operator: str, values: tuple[str, ...], labels: dict[str, str], holds: bool) -> None:
    """labels.Requirement.Matches."""
    assert rules.matches(Requirement("k", Operator(operator), values), labels) is holds


def test_missing_selector_matches_nothing_and_empty_one_everything() -> None:
    """LabelSelectorAsSelector: nil is labels.Nothing()."""
    assert not rules.selector_matches(None, {"app": "a"})
    assert rules.selector_matches(Selector(), {})


def test_terms_are_alternatives_and_an_empty_term_matches_nothing() -> None:
    """nodeSelectorTerms are ORed; a term with neither expressions nor fields selects no node; no terms at all select none either."""
    here = NodeTerm((Requirement(ZONE, Operator.IN, ("z",)),))
    for terms, refused in (((NodeTerm(), here), False), ((NodeTerm(),), True), ((), True), (None, False)):
        found = rules.node_labels_ok(PodSpec({}, node_terms=terms), {ZONE: "z"}, "n")
        assert (found is not None) is refused, terms


def test_name_of_a_node_to_come_is_unknown() -> None:
    """metadata.name In can only mean a node that stands; NotIn holds for every new one."""
    for operator, expected in ((Operator.IN, True), (Operator.NOT_IN, False)):
        spec = PodSpec({}, node_terms=(NodeTerm((), (Requirement("metadata.name", operator, ("n",)),)),))
        assert (rules.node_labels_ok(spec, {}, None) is not None) is expected
        assert (rules.node_labels_ok(spec, {}, "n") is None) is expected


@pytest.mark.parametrize(
    "toleration, covered",
    [
        (Toleration("team", "Equal", "x", "NoSchedule"), True),
        (Toleration("team", "", "x"), True),  # no operator means Equal, no effect every effect
        (Toleration("team", "Equal", "y"), False),
        (Toleration("team", "Exists"), True),
        (Toleration("", "Exists"), True),  # no key means every key
        (Toleration("team", "Exists", "", "NoExecute"), False),
        (Toleration("team", "Gt", "1"), False),  # behind a gate that is off
    ],
)
def test_tolerations(toleration: Toleration, covered: bool) -> None:
    """Toleration.ToleratesTaint."""
    assert rules.tolerates((toleration,), Taint("team", "x", Effect.NO_SCHEDULE)) is covered


def test_prefer_no_schedule_and_cordon() -> None:
    """PreferNoSchedule never filters; a cordoned node does, unless its taint is tolerated (NodeUnschedulable)."""
    soft, cordon = Taint("k", "", Effect.PREFER_NO_SCHEDULE), Taint(UNSCHEDULABLE_TAINT, "", Effect.NO_SCHEDULE)
    assert rules.untolerated(PodSpec({}), (soft, cordon)) == (cordon,)
    assert rules.untolerated(PodSpec({}, tolerations=(Toleration(UNSCHEDULABLE_TAINT, "Exists"),)), (cordon,)) == ()


@pytest.mark.parametrize(
    "first, second, clash",
    [
        (("0.0.0.0", "TCP", 80), ("10.0.0.1", "TCP", 80), True),
        (("10.0.0.1", "TCP", 80), ("10.0.0.2", "TCP", 80), False),
        (("10.0.0.1", "TCP", 80), ("10.0.0.1", "UDP", 80), False),
        (("", "", 80), ("10.0.0.1", "TCP", 80), True),  # empty means 0.0.0.0 and TCP
        (("0.0.0.0", "TCP", 0), ("0.0.0.0", "TCP", 0), False),  # port 0 is no host port
        (("::", "TCP", 80), ("10.0.0.1", "TCP", 80), False),  # only 0.0.0.0 is a wildcard
    ],
)
def test_host_ports(first: tuple[str, str, int], second: tuple[str, str, int], clash: bool) -> None:
    """HostPortInfo.CheckConflict."""
    assert rules.ports_clash(HostPort(*first), HostPort(*second)) is clash
    assert rules.ports_clash(HostPort(*second), HostPort(*first)) is clash


def test_every_shortage_is_named_with_its_numbers() -> None:
    """NodeResourcesFit returns all shortages, not the first."""
    found = rules.fits({CPU: 500, MEMORY: 9, "vendor/x": 1}, {CPU: 400, MEMORY: 8, PODS: 0})
    assert [(r.code, r.message) for r in found] == [
        (Why.INSUFFICIENT_PODS, "pods: requested 1, free 0"),
        (Why.INSUFFICIENT_CPU, "cpu: requested 500m, free 400m"),
        (Why.INSUFFICIENT_MEMORY, "memory: requested 9, free 8"),
        (Why.INSUFFICIENT_RESOURCE, "vendor/x: requested 1, free 0"),
    ]


def test_overcommitted_node_refuses_only_who_asks() -> None:
    """Free may be negative; a pod that asks for nothing needs only its slot."""
    assert rules.fits({}, {CPU: -500, PODS: 1}) == ()
    assert rules.fits({CPU: 0}, {CPU: -500, PODS: 1}) == ()


def test_unlisted_volume_limit_is_no_limit() -> None:
    """NodeVolumeLimits: attachable-volumes-* counts only where the node lists it, also after pods were placed."""
    heavy = {"attachable-volumes-csi": 30}
    assert rules.fits(heavy, {PODS: 1}) == ()
    state = State([node("n")])
    state.place(pod("q", requests=heavy), "n")
    assert codes(state, pod(requests=heavy), "n") == set()


@pytest.mark.parametrize(
    "requests, devices, fits",
    [
        ((6, 6), 2, True),
        ((6, 6, 6), 2, False),  # the sum would fit
        ((20, 6, 4), 3, True),
        ((20, 6, 5), 3, False),
        ((15,), 3, False),  # neither a share nor whole devices
        ((5, 5, 4, 4, 2), 2, True),
        ((7, 6, 5, 5, 4, 3), 3, True),  # largest first into the fullest: 7+3, 6+4, 5+5
        ((4, 4, 4, 6, 6, 6), 3, True),
        ((), 0, True),
    ],
)
def test_shares_of_devices(requests: tuple[int, ...], devices: int, fits: bool) -> None:
    """A share sits on one device of 10, larger requests take whole ones: small bin packing, exact."""
    assert rules.devices_suffice(requests, devices, 10) is fits


def test_new_node_has_its_own_hostname_and_its_daemons() -> None:
    """Daemons that accept the node take room, a slot and ports each; those that do not, nothing."""
    agent = Daemon("kube-system", "agent", PodSpec({CPU: 100}, host_ports=(HostPort("0.0.0.0", "TCP", 9100),)))
    picky = Daemon("kube-system", "picky", PodSpec({CPU: 100}, selector=(Requirement("gpu", Operator.EXISTS),)))
    named = Daemon("kube-system", "named", PodSpec({CPU: 10}, selector=(Requirement(HOSTNAME, Operator.EXISTS),)))
    view = rules.new_view(offering(), (agent, picky, named))
    assert view.free == {CPU: 3890, MEMORY: 8, PODS: 8}
    assert {r.code for r in rules.static_reasons(pod(host_ports=(HostPort("10.0.0.1", "TCP", 9100),)), view)} == {Why.HOST_PORT}


def test_daemon_stays_off_tainted_nodes_it_does_not_tolerate() -> None:
    """The daemon controller looks at NoSchedule and NoExecute, not at PreferNoSchedule."""
    agent = Daemon("kube-system", "agent", PodSpec({CPU: 100}))
    assert rules.daemons_for({}, (Taint("k", "", Effect.NO_EXECUTE),), (agent,)) == ()
    assert rules.daemons_for({}, (Taint("k", "", Effect.PREFER_NO_SCHEDULE),), (agent,)) == (agent,)


def spread(key: str = ZONE, skew: int = 1, **changes: Any) -> SpreadConstraint:
    return replace(SpreadConstraint(key, skew, APP_A), **changes)


def test_spread_is_against_the_emptiest_domain_that_exists() -> None:
    """A zone without nodes is no domain, however many the catalog knows."""
    state = State([node("n", "z-a", pod("r"))])
    assert codes(state, pod(spread=(spread(),)), "n") == set()
    state = State([node("n", "z-a", pod("r")), node("m", "z-b")])
    assert codes(state, pod(spread=(spread(),)), "n") == {Why.TOPOLOGY_SPREAD}
    assert codes(state, pod(spread=(spread(),)), "m") == set()


def test_hostname_spread_of_two_and_two_is_right_but_one_more_is_not() -> None:
    """The skew is against the least node, so two nodes may hold two each at maxSkew 1; a third node in the cluster changes that."""
    waiting = [pod(f"p{i}", spread=(spread(HOSTNAME),)) for i in range(5)]
    state = State([node("n"), node("m")])
    for i, where in enumerate(("n", "m", "n", "m")):
        assert codes(state, waiting[i], where) == set()
        state.place(waiting[i], where)
    state = State([node("n"), node("m"), node("k")])
    for i, where in enumerate(("n", "m")):
        state.place(waiting[i], where)
    assert codes(state, waiting[4], "n") == {Why.TOPOLOGY_SPREAD}


def test_skew_that_is_broken_already_forbids_only_making_it_worse() -> None:
    """Five to none: the emptier zone takes pods, the fuller one does not."""
    state = State([node("n", "z-a", *(pod(f"r{i}") for i in range(5))), node("m", "z-b")])
    assert codes(state, pod(spread=(spread(),)), "m") == set()
    assert codes(state, pod(spread=(spread(),)), "n") == {Why.TOPOLOGY_SPREAD}


def test_min_domains_makes_the_minimum_zero() -> None:
    """With fewer domains than minDomains each domain holds at most maxSkew."""
    state = State([node("n", "z-a", pod("r")), node("m", "z-b", pod("s"))])
    assert codes(state, pod(spread=(spread(min_domains=2),)), "n") == set()
    assert codes(state, pod(spread=(spread(min_domains=3),)), "n") == {Why.TOPOLOGY_SPREAD}


def test_terminating_pods_do_not_count_for_spread_but_for_affinity() -> None:
    """countPodsMatchSelector passes them over; InterPodAffinity does not."""
    leaving = pod("r", terminating=True)
    state = State([node("n", "z-a", leaving), node("m", "z-b")])
    assert codes(state, pod(spread=(spread(),)), "n") == set()
    near, apart = PodAffinityTerm(ZONE, APP_A), PodAffinityTerm(ZONE, APP_A)
    assert codes(state, pod(labels={}, affinity=(near,)), "n") == set()
    assert codes(state, pod(labels={}, anti_affinity=(apart,)), "n") == {Why.POD_ANTI_AFFINITY}


def test_only_pods_of_the_own_namespace_count_for_spread() -> None:
    state = State([node("n", "z-a", pod("r", namespace="other")), node("m", "z-b")])
    assert codes(state, pod(spread=(spread(),)), "n") == set()


def test_empty_spread_selector_counts_nobody() -> None:
    """countPodsMatchSelector returns 0 for an empty selector, though it matches the pod itself."""
    state = State([node("n", "z-a", pod("r"), pod("s")), node("m", "z-b")])
    assert codes(state, pod(spread=(spread(selector=Selector()),)), "n") == set()
    assert codes(state, pod(spread=(spread(selector=None),)), "n") == set()


def test_pod_that_its_own_selector_misses_adds_nothing_to_the_skew() -> None:
    """selfMatchNum is 0: beside one counted pod there is room for any number of such pods at maxSkew 1."""
    state = State([node("n", "z-a", pod("r")), node("m", "z-b")])
    assert codes(state, pod(labels={}, spread=(spread(),)), "n") == set()


def test_nodes_the_pod_may_not_use_are_no_domains() -> None:
    """nodeAffinityPolicy Honor is the default, nodeTaintsPolicy Ignore is."""
    tainted = node("m", "z-b", taints=(Taint("k", "", Effect.NO_SCHEDULE),))
    state = State([node("n", "z-a", pod("r")), tainted])
    assert Why.TOPOLOGY_SPREAD in codes(state, pod(spread=(spread(),)), "n")
    assert codes(state, pod(spread=(spread(honor_node_taints=True),)), "n") == set()
    in_a = (Requirement(ZONE, Operator.IN, ("z-a",)),)
    assert codes(state, pod(selector=in_a, spread=(spread(),)), "n") == set()
    assert codes(state, pod(selector=in_a, spread=(spread(honor_node_affinity=False),)), "n") == {Why.TOPOLOGY_SPREAD}


def test_node_that_lacks_one_topology_key_counts_for_no_constraint() -> None:
    """nodeLabelsMatchSpreadConstraints asks for all keys of all hard constraints, and the pod cannot go there itself."""
    state = State([node("n", "z-a", pod("r")), node("m", "z-b", labels={ZONE: "z-b"})])
    both = (spread(), spread(HOSTNAME, 5))
    assert codes(state, pod(spread=both), "n") == set()
    assert codes(state, pod(spread=(spread(),)), "n") == {Why.TOPOLOGY_SPREAD}
    assert codes(state, pod(spread=both), "m") == {Why.TOPOLOGY_SPREAD}


def test_soft_spread_never_filters() -> None:
    state = State([node("n", "z-a", pod("r")), node("m", "z-b")])
    assert codes(state, pod(spread=(spread(hard=False),)), "n") == set()


def test_first_of_a_group_may_start_anywhere_and_the_rest_must_follow() -> None:
    """The self-match rule of InterPodAffinity: only while no pod anywhere matches, and only for a pod that matches itself."""
    near = (PodAffinityTerm(ZONE, APP_A),)
    state = State([node("n", "z-a"), node("m", "z-b"), node("k", None)])
    first = pod("p", affinity=near)
    assert codes(state, first, "k") == {Why.POD_AFFINITY}  # the node has no zone at all
    assert codes(state, pod("x", labels={}, affinity=near), "n") == {Why.POD_AFFINITY}
    state.place(first, "n")
    assert codes(state, pod("q", affinity=near), "n") == set()
    assert codes(state, pod("q", affinity=near), "m") == {Why.POD_AFFINITY}


def test_one_pod_must_match_all_affinity_terms() -> None:
    """podMatchesAllAffinityTerms: two pods that match one term each do not make up for it."""
    web = Selector((Requirement("tier", Operator.IN, ("web",)),))
    terms = (PodAffinityTerm(ZONE, APP_A), PodAffinityTerm(ZONE, web))
    half = State([node("n", "z", pod("r"), pod("s", {"tier": "web"}))])
    assert codes(half, pod(labels={}, affinity=terms), "n") == {Why.POD_AFFINITY}
    whole = State([node("n", "z", pod("r", {"app": "a", "tier": "web"}))])
    assert codes(whole, pod(labels={}, affinity=terms), "n") == set()


def test_namespaces_of_terms() -> None:
    """None means the pod's own; an empty namespaceSelector means all."""
    state = State([node("n", "z", pod("r", namespace="other"))])
    for term, near in (
        (PodAffinityTerm(ZONE, APP_A), False),
        (PodAffinityTerm(ZONE, APP_A, ("other",)), True),
        (PodAffinityTerm(ZONE, APP_A, (), all_namespaces=True), True),
    ):
        assert (codes(state, pod(labels={}, affinity=(term,)), "n") == set()) is near
        assert (codes(state, pod(labels={}, anti_affinity=(term,)), "n") == {Why.POD_ANTI_AFFINITY}) is near


def test_anti_affinity_works_both_ways_but_not_without_the_key() -> None:
    """A running pod's own anti-affinity refuses newcomers; on a node without the topology key no term can be violated."""
    hermit = pod("h", labels={}, anti_affinity=(PodAffinityTerm(ZONE, APP_A),))
    state = State([node("n", "z-a", hermit), node("m", "z-a"), node("k", None)])
    assert codes(state, pod(), "n") == {Why.POD_ANTI_AFFINITY}
    assert codes(state, pod(), "m") == {Why.POD_ANTI_AFFINITY}
    assert codes(state, pod(), "k") == set()


def test_removing_a_pod_gives_back_all_it_held() -> None:
    """Room, port, claim and counts: after a removal the node answers as before."""
    state = State([node("n", "z-a"), node("m", "z-b")])
    greedy = pod(
        requests={CPU: 4000},
        host_ports=(HostPort("0.0.0.0", "TCP", 80),),
        exclusive_claims=("default/c",),
        anti_affinity=(PodAffinityTerm(ZONE, APP_A),),
    )
    other = pod(
        "q", requests={CPU: 1}, host_ports=greedy.spec.host_ports, exclusive_claims=greedy.spec.exclusive_claims, spread=(spread(),)
    )
    assert codes(state, other, "n") == set()
    state.place(greedy, "n")
    held = {Why.INSUFFICIENT_CPU, Why.HOST_PORT, Why.EXCLUSIVE_CLAIM, Why.TOPOLOGY_SPREAD, Why.POD_ANTI_AFFINITY}
    assert codes(state, other, "n") == held
    state.remove(greedy, "n")
    assert codes(state, other, "n") == set()


def test_removal_lowers_the_minimum_again() -> None:
    """The least count must follow a removal down, not only additions up."""
    first = pod("r", spread=(spread(),))
    state = State([node("n", "z-a", pod("s")), node("m", "z-b")])
    state.place(first, "m")
    assert codes(state, pod("q", spread=(spread(),)), "n") == set()
    state.remove(first, "m")
    assert codes(state, pod("q", spread=(spread(),)), "n") == {Why.TOPOLOGY_SPREAD}


def test_withdrawn_node_leaves_no_domain_behind() -> None:
    """A trial launch in an empty zone makes a domain with no pods; taken back, the old minimum holds again."""
    agent = Daemon("default", "agent", PodSpec({CPU: 1}), {"app": "a"})
    state = State([node("n", "z-a", pod("r"))], (agent,))
    waiting = pod(spread=(spread(),))
    assert codes(state, waiting, "n") == set()
    state.launch("new", offering(labels={ZONE: "z-b"}))
    state.place(pod("s"), "n")
    assert codes(state, waiting, "n") == {Why.TOPOLOGY_SPREAD}
    state.place(pod("t"), "new")
    with pytest.raises(ValueError, match="without pods"):
        state.withdraw("new")
    state.remove(pod("t"), "new")
    state.withdraw("new")
    assert codes(state, waiting, "n") == set()
    state.launch("new", offering(labels={ZONE: "z-b"}))


def test_a_pod_cannot_be_placed_twice_nor_a_node_added_twice() -> None:
    """Such a call is a bug of the caller, not a refusal."""
    state = State([node("n")])
    state.place(pod(), "n")
    with pytest.raises(ValueError, match="already"):
        state.place(pod(), "n")
    with pytest.raises(ValueError, match="two nodes"):
        state.launch("n", offering())
