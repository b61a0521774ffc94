"""The volumes of a static quorum, which has nothing else left, are adopted on real Kubernetes, and become dynamic."""

import pytest

from harness.quorum import Quorum
from harness.shell import kubectl, wait_until
from scenarios.expectations import assert_one_quorum

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(420)]

ALL = {3000, 3001, 3002}
_OURS = "kafkaquorum.io/"
_CLUSTER = "-GxYTuLWqRhmb7dK0aQ2Sw"
"""Every 64th cluster that a broker with ZooKeeper made has an id that looks like an option."""


def leave_only_claims(quorum: Quorum) -> None:
    """Only the claims stay, with two labels and without annotations of the operator."""
    where = ("-n", quorum.namespace)
    quorum.delete()
    wait_until("the pods are gone with it", lambda: not quorum.pods(), 90)
    selector = f"{_OURS}quorum={quorum.name}"
    kubectl(*where, "delete", "configmaps,controllerrevisions", "-l", selector)
    for name, claim in quorum.claims().items():
        words = [f"{key}-" for key in claim["metadata"]["annotations"] if key.startswith(_OURS)]
        kubectl(*where, "annotate", "pvc", name, *words)


def test_volumes_of_a_static_quorum_are_taken_over(quorum: Quorum) -> None:
    """With one claim missing nothing is done; with all claims the same disks run, and the quorum becomes dynamic."""
    quorum.apply({"bootstrap": {"mode": "Static"}, "clusterID": _CLUSTER})
    quorum.wait_ready()
    cluster_id, before = quorum.record()["cluster_id"], quorum.disks()
    assert cluster_id == _CLUSTER
    leave_only_claims(quorum)
    where = ("-n", quorum.namespace, "label", "pvc", f"{quorum.name}-3002-g1")
    kubectl(*where, f"{_OURS}quorum-")

    node_ids = sorted(ALL)
    adopted = {"bootstrap": {"mode": "Adopt"}, "clusterID": cluster_id, "controllers": {"nodeIDs": node_ids}}
    quorum.apply(adopted)
    waits = quorum.wait_condition("Progressing", "False", "AdoptWaits", 60)
    assert f"{quorum.name}-3002-g1" in waits["message"]
    assert not quorum.pods()
    assert not quorum.pods("formatter")

    kubectl(*where, f"{_OURS}quorum={quorum.name}")
    quorum.wait_ready()
    assert quorum.disks() == before
    assert quorum.status()["quorum"]["type"] == "Static"

    quorum.patch({"kafka": {"features": {"soakSeconds": 1, "levels": [{"name": "kraft.version", "level": 1}]}}})
    wait_until("it is dynamic", lambda: quorum.status()["quorum"]["type"] == "Dynamic", 120)
    quorum.wait_ready()
    assert quorum.disks() == before
    assert_one_quorum(quorum, initial=ALL, voters=ALL)
