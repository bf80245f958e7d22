"""Marks that keep a pod where it is, in every tongue that users already speak."""

from __future__ import annotations

import pytest

from packer.parse.contract import asks_to_stay


@pytest.mark.parametrize(
    ("labels", "annotations", "stays"),
    [
        ({}, {}, False),
        ({"bayplan.io/do-not-disrupt": "true"}, {}, True),
        ({}, {"bayplan.io/do-not-disrupt": "true"}, True),
        ({}, {"karpenter.sh/do-not-disrupt": "true"}, True),
        ({}, {"karpenter.sh/do-not-evict": "true"}, True),
        ({}, {"karpenter.sh/do-not-disrupt": "false"}, False),
        ({}, {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}, True),
        ({}, {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}, False),
    ],
)
def test_marks_that_keep_a_pod(labels: dict[str, str], annotations: dict[str, str], stays: bool) -> None:
    """Each is read as its owner means it; none means that the pod may move."""
    assert asks_to_stay(labels, annotations) is stays
