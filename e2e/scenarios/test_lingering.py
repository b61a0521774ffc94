"""What a kubelet does with a pod that is being deleted, when its machine had no power meanwhile.

The operator formats a disk anew beside such a pod (guard `1-format-newcomer`), because nothing starts in it again.
"""

import json
from collections.abc import Callable

import pytest

from harness import nodes
from harness.broker import KAFKA_IMAGE
from harness.shell import Json, get, holds_for, kubectl, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(480)]

_STARTS = "starts"


def lingering(namespace: str) -> Json:
    """A pod that notes each start of a container on its claim, and stays in the API while its finalizer does."""
    secure = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}

    def container(name: str, then: str) -> Json:
        return {
            "name": name,
            "image": KAFKA_IMAGE,
            "command": ["sh", "-c", f"echo {name} >> /data/{_STARTS}; {then}"],
            "securityContext": secure,
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        }

    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "lingering", "namespace": namespace, "finalizers": ["kafkaquorum.io/test"]},
        "spec": {
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 1000,
                "fsGroup": 1000,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "terminationGracePeriodSeconds": 300,
            "initContainers": [container("first", "true")],
            "containers": [container("second", "trap : TERM; while true; do sleep 1; done")],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "lingering"}}],
        },
    }


def claim(namespace: str) -> Json:
    """A claim of the default storage class."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "lingering", "namespace": namespace},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}},
    }


def test_a_kubelet_starts_nothing_in_a_pod_that_is_being_deleted(namespaces: Callable[[], str]) -> None:
    """Its machine loses power, the pod is deleted, the machine comes back: no container of it starts again.

    Without the deletion the same machine starts them again, so the notes would show it.
    """
    namespace = namespaces()
    for body in (claim(namespace), lingering(namespace)):
        kubectl("-n", namespace, "create", "-f", "-", stdin=json.dumps(body))
    kubectl("-n", namespace, "wait", "pod/lingering", "--for=jsonpath={.status.phase}=Running", "--timeout=120s")
    node, path = nodes.volume_of(namespace, "lingering")

    def starts() -> list[str]:
        return nodes.on_node(node, "cat", f"{path}/{_STARTS}").split()

    try:
        assert starts() == ["first", "second"]
        with nodes.powered_off(node):
            pass
        wait_until("its containers run again", lambda: len(starts()) == 4, 180)
        with nodes.powered_off(node):
            kubectl("-n", namespace, "delete", "pod", "lingering", "--wait=false")
            assert "deletionTimestamp" in get(namespace, "pod", "lingering")["metadata"]
        holds_for("nothing starts in it", lambda: len(starts()) == 4, 90)
        assert "deletionTimestamp" in get(namespace, "pod", "lingering")["metadata"]
    finally:
        bare = '{"metadata": {"finalizers": null}}'
        kubectl("-n", namespace, "patch", "pod", "lingering", "--type=merge", "-p", bare)
