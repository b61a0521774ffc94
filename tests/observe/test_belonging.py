"""Whose objects with our labels are: by the names that we make and by who controls them."""

from typing import Any

import pytest
from tests.model.values import NAME, NAMESPACE
from tests.observe.kubernetes import claim, owned, pod
from tests.observe.test_gather import api_server, snapshot

from kafka_quorum.model import names
from kafka_quorum.observe.belonging import is_claim, is_config, is_pod
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, PODS

REPLICA_SET = [{"kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": True}]


def named(item: dict[str, Any], name: str, **changes: object) -> dict[str, Any]:
    """The same object under another name."""
    metadata = item["metadata"] | {"name": name, "uid": f"uid-of-{name}"} | changes
    return {**item, "metadata": metadata}


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("alpha-3000-g1", True),
        ("alpha-3000-g12", True),
        ("alpha-3000-g0", False),
        ("alpha-03000-g1", False),
        ("alpha-3000-g1-restored", False),
        ("alpha-3000", False),
        ("data-alpha-3000-g1", False),
        ("beta-3000-g1", False),
        ("alpha-3000-g99999999999", False),
        ("alpha-3000-g1\n", False),
    ],
)
def test_claim_names(name: str, *, ours: bool) -> None:
    """A claim is ours by the name that a node id and a generation make, whatever its labels."""
    assert is_claim(named(claim(), name, labels=None), NAME) is ours


@pytest.mark.parametrize(
    ("role", "name", "ours"),
    [
        ("controller", "alpha-3000-g1", True),
        ("controller", "alpha-3000-g1-format", False),
        ("controller", "alpha-3001-g1", False),
        ("controller", "web-5d9c-x7k2p", False),
        ("formatter", "alpha-3000-g1-format", True),
        ("formatter", "alpha-3000-g1", False),
    ],
)
def test_pod_names(role: str, name: str, *, ours: bool) -> None:
    """A pod is ours by the name that its role and its node id make."""
    assert is_pod(named(pod(role), name), NAME) is ours


def test_another_controller() -> None:
    """Whatever something else controls is that one's, under any name."""
    assert not is_claim(named(claim(), "alpha-3000-g1", ownerReferences=REPLICA_SET), NAME)
    assert not is_pod(named(pod(), "alpha-3000-g1", ownerReferences=REPLICA_SET), NAME)
    assert is_pod(named(pod(), "alpha-3000-g1", ownerReferences=owned()), NAME)
    assert not is_config({"metadata": {"name": "alpha-config-0123456789", "ownerReferences": REPLICA_SET}}, NAME)
    assert is_config({"metadata": {"name": "alpha-config-0123456789"}}, NAME)
    assert not is_config({"metadata": {"name": "alpha-config-mine"}}, NAME)


async def test_strangers_are_named_and_not_seen() -> None:
    """A look has only what is ours; what carries our labels besides is named, and nothing else."""
    kube = api_server()
    before = await snapshot(kube)
    labels = {names.LABEL_QUORUM: NAME}
    kube.put(CLAIMS, named(claim(), "somebodys"))
    kube.put(PODS, named(pod(), "web-1", ownerReferences=REPLICA_SET))
    config = {"name": "settings", "namespace": NAMESPACE, "labels": {**labels, names.LABEL_ROLE: "config"}}
    kube.put(CONFIG_MAPS, {"kind": "ConfigMap", "metadata": config})
    taken = await snapshot(kube)
    assert (taken.claims, taken.pods, taken.support) == (before.claims, before.pods, before.support)
    found = {(stranger.name, stranger.identified) for stranger in taken.strangers} - {
        (stranger.name, stranger.identified) for stranger in before.strangers
    }
    assert found == {("somebodys", True), ("web-1", True), ("settings", False)}
