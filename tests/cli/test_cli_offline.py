"""Which offline prices are used: flags first, then what the nodes say, then the default, each time said aloud."""

from __future__ import annotations

from typing import Any

import pytest

from packer.cli.offline import offline_catalog
from packer.config import effective
from packer.errors import UsageError
from packer.parse.objects import RawInput
from packer.parse.schema import Metadata, NodeObject, NodeSpec


def node(provider_id: str = "", region: str = "", **labels: str) -> NodeObject:
    found = {key.replace("__", "/"): value for key, value in labels.items()} | ({"topology.kubernetes.io/region": region} if region else {})
    return NodeObject(metadata=Metadata(name="n", labels=found), spec=NodeSpec(provider_id=provider_id or None))


@pytest.mark.parametrize(
    ("nodes", "flags", "place", "words"),
    [
        ([], {}, ("aws", "us-east-1"), ["default"]),
        ([], {"region": "us-central1"}, ("gcp", "us-central1"), []),
        ([], {"provider": "azure"}, ("azure", "eastus"), []),
        ([], {"provider": "gcp", "region": "europe-west1"}, ("gcp", "europe-west1"), []),
        ([node("aws:///eu-west-1a/i-1", "eu-west-1")], {}, ("aws", "eu-west-1"), ["nodes"]),
        ([node("gce://p/z/n", "europe-west1")], {}, ("gcp", "europe-west1"), ["nodes"]),
        ([node("", "us-west-2")], {}, ("aws", "us-west-2"), ["nodes"]),
        (
            [node("aws:///x", "us-west-2"), node("aws:///x", "us-east-1"), node("aws:///x", "us-west-2")],
            {},
            ("aws", "us-west-2"),
            ["nodes"],
        ),
        ([node("aws:///x", "us-west-2")], {"region": "us-east-1"}, ("aws", "us-east-1"), []),
        ([node("aws:///x", "us-west-2")], {"provider": "gcp"}, ("gcp", "us-central1"), []),
        ([node("aws:///x", "ap-south-1")], {}, ("aws", "us-east-1"), ["lacks aws ap-south-1", "--catalog"]),
        ([node("kind://docker/kind/n")], {}, ("aws", "us-east-1"), ["default"]),
    ],
)
def test_the_place_is_found_and_said(nodes: list[NodeObject], flags: dict[str, Any], place: tuple[str, str], words: list[str]) -> None:
    """Prices of the wrong region would be wrong in silence otherwise."""
    said: list[str] = []
    offerings, _ = offline_catalog(RawInput(nodes=nodes), effective(flags, environ={}), said.append)
    assert {(offering.key.provider, offering.key.region) for offering in offerings} == {place}
    text = "\n".join(said)
    assert [word for word in (*words, *place, "days old") if word not in text] == []


def test_a_place_that_the_catalog_lacks_is_an_error() -> None:
    """Planning with other prices than those asked for would be worse."""
    with pytest.raises(UsageError, match="us-east-9"):
        offline_catalog(RawInput(), effective({"provider": "aws", "region": "us-east-9"}, environ={}), lambda _: None)
