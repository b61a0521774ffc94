"""Which objects with our labels are ours: by the names that we give, and by what controls them."""

from typing import Any

import pytest
from tests.golden.facts import mentions
from tests.model.values import NAME, NAMESPACE, revision
from tests.observe.kubernetes import claim, owned, pod
from tests.observe.test_gather import api_server, snapshot

from kafka_quorum.model import names
from kafka_quorum.observe.belonging import is_claim, is_config, is_pod, is_revision
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, PODS, REVISIONS

REPLICA_SET = [{"kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": True}]


def named(item: dict[str, Any], name: str, **changes: object) -> dict[str, Any]:
    """The same object under another name, with these changes of its metadata."""
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
    """A claim is ours if a node id and a generation give its name, whatever its labels are."""
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
    """A pod is ours if its role and its node id give its name."""
    assert is_pod(named(pod(role), name), NAME) is ours


def test_another_controller() -> None:
    """An object that another controller owns is not ours, under any name."""
    assert not is_claim(named(claim(), "alpha-3000-g1", ownerReferences=REPLICA_SET), NAME)
    assert not is_pod(named(pod(), "alpha-3000-g1", ownerReferences=REPLICA_SET), NAME)
    assert is_pod(named(pod(), "alpha-3000-g1", ownerReferences=owned()), NAME)
    assert not is_config({"metadata": {"name": "alpha-config-0123456789", "ownerReferences": REPLICA_SET}}, NAME)
    assert is_config({"metadata": {"name": "alpha-config-0123456789"}}, NAME)
    assert not is_config({"metadata": {"name": "alpha-config-mine"}}, NAME)


async def test_a_revision_that_something_else_controls_is_read_and_kept() -> None:
    """Pods may be made from a ControllerRevision that another controller adopted; it is never a candidate to delete."""
    kube = api_server()
    before = await snapshot(kube)
    kube.objects["controllerrevisions", revision().name]["metadata"]["ownerReferences"] = REPLICA_SET
    taken = await snapshot(kube)
    assert taken.revisions == before.revisions
    assert {one.kind for one in before.support} - {one.kind for one in taken.support} == {"ControllerRevision"}
    assert taken.strangers == before.strangers


def test_revision_names() -> None:
    """A ControllerRevision is ours if it has the name of a runtime."""
    assert is_revision({"metadata": {"name": "alpha-0123456789"}}, NAME)
    assert not is_revision({"metadata": {"name": "alpha-mine"}}, NAME)


async def test_strangers_are_named_and_not_seen() -> None:
    """A look has only objects of ours; other objects with our labels are listed as strangers."""
    kube = api_server()
    before = await snapshot(kube)
    labels = {names.LABEL_QUORUM: NAME}
    kube.put(CLAIMS, named(claim(), "somebodys"))
    kube.put(PODS, named(pod(), "web-1", ownerReferences=REPLICA_SET))
    config = {"name": "settings", "namespace": NAMESPACE, "labels": {**labels, names.LABEL_ROLE: "config"}}
    kube.put(CONFIG_MAPS, {"kind": "ConfigMap", "metadata": config})
    kube.put(REVISIONS, named(kube.objects["controllerrevisions", revision().name], "copied"))
    taken = await snapshot(kube)
    assert (taken.claims, taken.pods, taken.support) == (before.claims, before.pods, before.support)
    assert taken.revisions == before.revisions
    found = {(stranger.name, stranger.identified) for stranger in taken.strangers} - {
        (stranger.name, stranger.identified) for stranger in before.strangers
    }
    assert found == {("somebodys", True), ("web-1", True), ("settings", False), ("copied", False)}


async def test_an_identity_that_something_else_controls_is_not_used() -> None:
    """An identity ConfigMap with another controller is reported, and never written over its owner reference."""
    kube = api_server()
    kube.objects["configmaps", names.record_name(NAME)]["metadata"]["ownerReferences"] = REPLICA_SET
    taken = await snapshot(kube)
    assert taken.record is None
    assert mentions(taken.record_fault, names.record_name(NAME), "ownerReferences")
