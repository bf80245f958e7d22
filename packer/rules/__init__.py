"""kube-scheduler's filters (v1.36) as plain functions of values, and a State that answers "why not here?" for whole plans.

Each function names the plugin or package it follows. Nothing here rounds, prices or decides.
"""

from packer.rules.fit import devices_suffice, fits, port_reason, ports_clash, shortage
from packer.rules.kinds import node_eligible_for_spread, spread_counts_pod
from packer.rules.labels import (
    matches,
    node_affinity_holds,
    node_labels_ok,
    requirement_text,
    selector_matches,
    selector_text,
    taint_reason,
    term_holds,
    term_matches,
    tolerates,
    untolerated,
)
from packer.rules.nodes import (
    NodeLike,
    NodeState,
    NodeView,
    affinity_and_taint_reasons,
    daemon_overhead,
    daemons_for,
    existing_view,
    new_node_labels,
    new_view,
    static_reasons,
)
from packer.rules.state import State
from packer.rules.topology import Event

__all__ = [
    "Event",
    "NodeLike",
    "NodeState",
    "NodeView",
    "State",
    "affinity_and_taint_reasons",
    "daemon_overhead",
    "daemons_for",
    "devices_suffice",
    "existing_view",
    "fits",
    "matches",
    "new_node_labels",
    "new_view",
    "node_affinity_holds",
    "node_eligible_for_spread",
    "node_labels_ok",
    "port_reason",
    "ports_clash",
    "requirement_text",
    "selector_matches",
    "selector_text",
    "shortage",
    "spread_counts_pod",
    "static_reasons",
    "taint_reason",
    "term_holds",
    "term_matches",
    "tolerates",
    "untolerated",
]
