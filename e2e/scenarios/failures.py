"""What a scenario does to a Ready quorum of three: each act makes one failure, and restores the quorum at its end."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from harness import nodes
from harness.quorum import GROUP, Quorum
from harness.refused import POD_SPECS
from harness.shell import Json, get, kubectl, run, wait_until
from scenarios.test_lost_nodes import a_controller
from scenarios.test_wiped_disk import lose_disk
from scenarios.test_words import annotate

GONE: Final = "none-of-this-name"
_HOLD, _REPLACE = f"{GROUP}/hold", f"{GROUP}/replace"
_CURED_TIMEOUT_S: Final = 120.0
_LATER: Final[Json] = {"id": "x", "type": "Novelty", "target": "3000", "holder": "later", "journal": {"step": 3}}


@contextmanager
def patched(quorum: Quorum, wrong: Json, right: Json) -> Iterator[None]:
    """While this lasts the spec has `wrong` merged into it."""
    quorum.patch(wrong)
    try:
        yield
    finally:
        quorum.patch(right)


@contextmanager
def annotated(quorum: Quorum, name: str, value: str) -> Iterator[None]:
    """While this lasts the resource has this annotation."""
    annotate(quorum, f"{name}={value}")
    try:
        yield
    finally:
        annotate(quorum, f"{name}-")


def invalid(quorum: Quorum) -> AbstractContextManager[None]:
    """A setting that only the operator refuses."""
    key = "controller.quorum.fetch.timeout.ms"
    return patched(quorum, {"kafka": {"config": {key: "2s"}}}, {"kafka": {"config": {key: None}}})


def unpullable(quorum: Quorum) -> AbstractContextManager[None]:
    """An image that cannot be pulled: the roll stops at its first controller."""
    return patched(quorum, {"kafka": {"image": f"testbed/kafka:{GONE}"}}, {"kafka": {"image": ""}})


def refused_by_the_server(quorum: Quorum) -> AbstractContextManager[None]:
    """A pod that the API server refuses: no controller is stopped for it."""
    wrong: Json = {"controllers": {"template": {"spec": POD_SPECS["priority-class"]}}}
    return patched(quorum, wrong, {"controllers": {"template": {"spec": None}}})


def older(quorum: Quorum) -> AbstractContextManager[None]:
    """A release that cannot read the finalized levels: no pod is touched."""
    return patched(quorum, {"kafka": {"version": "4.1.2"}}, {"kafka": {"version": "4.4.0"}})


def paused(quorum: Quorum) -> AbstractContextManager[None]:
    """A person has paused the quorum."""
    return patched(quorum, {"paused": True}, {"paused": False})


@contextmanager
def without_a_place(quorum: Quorum) -> Iterator[None]:
    """The Kubernetes node of a disk is cordoned, and the pod there was deleted."""
    pod = quorum.pods()[3002]
    node = pod["spec"]["nodeName"]
    kubectl("cordon", node)
    try:
        quorum.delete_pod(pod["metadata"]["name"])
        yield
    finally:
        kubectl("uncordon", node)


@contextmanager
def over_its_quota(quorum: Quorum) -> Iterator[None]:
    """The namespace admits no further pod, and one was deleted."""
    where = ("-n", quorum.namespace)
    kubectl(*where, "create", "quota", "none", "--hard=pods=0")
    try:
        wait_until("the quota counts", lambda: get(quorum.namespace, "quota", "none").get("status", {}).get("hard"), 60)
        quorum.delete_pod(quorum.controller(3001)["podName"])
        yield
    finally:
        kubectl(*where, "delete", "quota", "none")


@contextmanager
def held(quorum: Quorum) -> Iterator[None]:
    """A person holds a controller whose pod is gone: it is not created."""
    with annotated(quorum, _HOLD, "3001"):
        wait_until("the hold is reported", lambda: _waits_for(quorum, "Holding", "HeldBack"), 60)
        quorum.delete_pod(quorum.controller(3001)["podName"])
        yield


def refused_replacement(quorum: Quorum) -> AbstractContextManager[None]:
    """A disk is to be given up, and the word does not name it."""
    return annotated(quorum, _REPLACE, "3001")


@contextmanager
def frozen(quorum: Quorum) -> Iterator[None]:
    """A controller that runs, and does not fetch."""
    with nodes.frozen(quorum.pods()[3002]):
        yield


@contextmanager
def wiped(quorum: Quorum) -> Iterator[None]:
    """An emptied disk, which the policy does not give up; at the end it does."""
    quorum.patch({"controllers": {"replacement": {"lostDisk": "Manual"}}})
    lost = lose_disk(quorum, 3001)
    yield
    quorum.patch({"controllers": {"replacement": {"lostDisk": "Automatic"}}})
    _wait_replaced(quorum, lost)


@contextmanager
def deleted_claim(quorum: Quorum) -> Iterator[None]:
    """A claim that was deleted under a running pod; at the end the pod goes, and the disk is replaced."""
    row = quorum.controller(3002)
    quorum.delete_claim(row["claimName"])
    yield
    quorum.delete_pod(row["podName"])
    _wait_replaced(quorum, f"3002-{row['directoryID']}")


def lost_node(quorum: Quorum) -> AbstractContextManager[None]:
    """A Kubernetes node without power, on which no operator runs."""
    _, node = a_controller(quorum, active=False)
    return nodes.powered_off(node)


@contextmanager
def foreign_object(quorum: Quorum) -> Iterator[None]:
    """A config map with the labels of the quorum, which others made."""
    where = ("-n", quorum.namespace)
    kubectl(*where, "create", "configmap", "stranger", "--from-literal=a=b")
    kubectl(*where, "label", "configmap", "stranger", f"{GROUP}/quorum={quorum.name}", f"{GROUP}/role=config")
    try:
        yield
    finally:
        run("kubectl", *where, "delete", "configmap", "stranger")


@contextmanager
def later_operation(quorum: Quorum) -> Iterator[None]:
    """An operation that a later version of the operator has begun."""
    quorum.patch_status({"operation": _LATER})
    try:
        yield
    finally:
        quorum.patch_status({"operation": None})


@contextmanager
def broken_record(quorum: Quorum) -> Iterator[None]:
    """The record of the identity cannot be read."""
    name = f"{quorum.name}-identity"
    kept = get(quorum.namespace, "configmap", name)["data"]["record.json"]
    _write_record(quorum, name, kept[: len(kept) // 2])
    try:
        yield
    finally:
        _write_record(quorum, name, kept)


def _write_record(quorum: Quorum, name: str, text: str) -> None:
    patch = json.dumps({"data": {"record.json": text}})
    kubectl("-n", quorum.namespace, "patch", "configmap", name, "--type=merge", "-p", patch)


def _waits_for(quorum: Quorum, *reasons: str) -> bool:
    return any(row["reason"] in reasons for row in quorum.status().get("waits") or ())


def _wait_replaced(quorum: Quorum, lost: str) -> None:
    """Wait until the controller of a lost disk is a voter on another one."""
    node_id = lost.partition("-")[0]

    def replaced() -> bool:
        own = [key for key in quorum.voters() if key.startswith(f"{node_id}-")]
        return bool(own) and lost not in own

    wait_until(f"controller {node_id} is a voter on another disk", replaced, _CURED_TIMEOUT_S)
