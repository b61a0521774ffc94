"""The blows of a storm, each as a function: it strikes, and may return its undoing.

All of them happen to a cluster or are acts of a person; none uses any of the operator's code.
"""

import json
import sys
from collections.abc import Callable
from typing import Final, TypeAlias

from demo import NAMESPACE
from harness import nodes
from harness.quorum import GROUP
from harness.shell import CommandFailed, Json, kubectl, run, succeed, wait_until
from storm.rounds import Blow, Kind
from storm.stage import NoVictim, Stage
from testbed.config import SOURCE

Undo: TypeAlias = Callable[[], None]
Strike: TypeAlias = Callable[[Stage, Blow], Undo | None]

CONTROL_PLANE: Final = "testbed-control-plane"
_REPLACED_TIMEOUT_S: Final = 130.0
_FORCED: Final = ("--force", "--grace-period=0", "--wait=false")


def strike(stage: Stage, blow: Blow) -> Undo | None:
    """Strike one blow; `NoVictim` if it has nothing to hit. Returns the end of a blow that lasts."""
    return _STRIKES[blow.kind](stage, blow)


# --- acts of a person ----------------------------------------------------------------------------------------------


def _scale(stage: Stage, blow: Blow) -> None:
    stage.quorum.patch({"controllers": {"replicas": blow.replicas, "nodeIDs": None}})


def _node_ids(stage: Stage, blow: Blow) -> None:
    stage.quorum.patch({"controllers": {"replicas": len(blow.node_ids), "nodeIDs": list(blow.node_ids)}})


def _change(stage: Stage, blow: Blow) -> None:
    assert blow.patch is not None
    stage.quorum.patch(blow.patch)


def _bad_spec(stage: Stage, blow: Blow) -> Undo | None:
    fault = blow.fault
    assert fault is not None
    try:
        stage.quorum.patch(fault.wrong)
    except CommandFailed as error:
        stage.say(f"refused at the door: {str(error)[-200:]}")
        return None
    return lambda: stage.quorum.patch(fault.right)


def _orphan(stage: Stage, _: Blow) -> None:
    """Delete the resource and leave all its objects; apply it again as it was."""
    quorum = stage.quorum
    found = quorum.resource()
    body = {key: found[key] for key in ("apiVersion", "kind", "spec")}
    where = ("-n", quorum.namespace)
    kubectl(*where, "delete", "kq", quorum.name, "--cascade=orphan")
    body["metadata"] = {"name": quorum.name, "namespace": quorum.namespace}
    kubectl("apply", "-f", "-", stdin=json.dumps(body))


def _object(stage: Stage, blow: Blow) -> None:
    """Delete the Service, the disruption budget, or the configuration that pods mount."""
    selector = f"{GROUP}/quorum={stage.quorum.name}"
    where = ("-n", stage.quorum.namespace)
    found = kubectl(*where, "get", "service,pdb,configmap", "-l", selector, "-o", "name").split()
    ours = sorted(name for name in found if not name.endswith("-identity"))
    if not ours:
        raise NoVictim("there is no object to delete")
    name = ours[int(blow.pick * len(ours)) % len(ours)]
    stage.say(f"deleted: {name}")
    kubectl(*where, "delete", name)


def _record(stage: Stage, _: Blow) -> None:
    name = f"{stage.quorum.name}-identity"
    kubectl("-n", stage.quorum.namespace, "delete", "configmap", name, "--ignore-not-found")


# --- disks --------------------------------------------------------------------------------------------------------


def _wipe(stage: Stage, blow: Blow) -> None:
    row = stage.claimed(blow)
    stage.say(f"controller {row['nodeID']} loses {row['directoryID']}")
    stage.quorum.wipe(row["claimName"])
    _delete_pod(stage, row["podName"])


def _wipe_running(stage: Stage, blow: Blow) -> None:
    row = stage.claimed(blow)
    pod = stage.quorum.pods()[row["nodeID"]]
    stage.say(f"controller {row['nodeID']} loses {row['directoryID']}")
    stage.quorum.wipe(row["claimName"])
    nodes.kill_sandbox(pod)


def _claim(stage: Stage, blow: Blow) -> None:
    row = stage.claimed(blow)
    stage.say(f"controller {row['nodeID']} loses {row['claimName']}")
    stage.quorum.delete_claim(row["claimName"])
    _delete_pod(stage, row["podName"])


# --- pods ---------------------------------------------------------------------------------------------------------


def _delete_pod(stage: Stage, name: str, *options: str) -> None:
    where = ("-n", stage.quorum.namespace)
    kubectl(*where, "delete", "pod", name, "--ignore-not-found", *(options or ("--wait=false",)))


def _pod(stage: Stage, blow: Blow) -> None:
    _delete_pod(stage, stage.quorum.pods()[stage.victim(blow)]["metadata"]["name"])


def _pod_forced(stage: Stage, blow: Blow) -> None:
    _delete_pod(stage, stage.quorum.pods()[stage.victim(blow)]["metadata"]["name"], *_FORCED)


def _container(stage: Stage, blow: Blow) -> None:
    nodes.kill_container(stage.quorum.pods()[stage.victim(blow)])


def _sandbox(stage: Stage, blow: Blow) -> None:
    nodes.kill_sandbox(stage.quorum.pods()[stage.victim(blow)])


def _all(stage: Stage, _: Blow) -> None:
    for pod in stage.quorum.pods().values():
        if pod["spec"].get("nodeName") not in stage.off:
            nodes.kill_container(pod)


def _frozen(stage: Stage, blow: Blow) -> Undo:
    pod = stage.quorum.pods()[stage.victim(blow)]
    nodes.signal_container(pod, "SIGSTOP")
    return lambda: nodes.signal_container(pod, "SIGCONT")


# --- Kubernetes nodes ---------------------------------------------------------------------------------------------


def _power_off(stage: Stage, node: str) -> Undo:
    stage.say(f"{node} loses its power")
    nodes.power_off(node)
    stage.off.add(node)

    def undo() -> None:
        nodes.power_on(node)
        stage.off.discard(node)

    return undo


def _node_off(stage: Stage, blow: Blow) -> Undo:
    return _power_off(stage, stage.worker(blow))


def _node_lost(stage: Stage, blow: Blow) -> Undo:
    """Off until its controller runs elsewhere; if that is impossible, off for the longest waiting time."""
    node = stage.worker(blow, alone=True)
    before = {row["nodeID"]: row.get("directoryID") for row in stage.quorum.status().get("controllers", [])}
    on = (node_id for node_id, pod in stage.quorum.pods().items() if pod["spec"].get("nodeName") == node)
    there = next(on, None)
    if there is None:
        raise NoVictim(f"the controller on {node} has just left it")
    back = _power_off(stage, node)

    def replaced() -> bool:
        rows = {row["nodeID"]: row.get("directoryID") for row in stage.quorum.status().get("controllers", [])}
        return rows.get(there) != before.get(there)

    def undo() -> None:
        try:
            wait_until(f"controller {there} is on another disk", replaced, _REPLACED_TIMEOUT_S, poll_s=1.0)
            stage.say(f"controller {there} was given up on {node}")
        except AssertionError as error:
            stage.say(f"not given up: {error}")
        finally:
            back()

    return undo


def _cut_off(stage: Stage, node: str, *peers: str) -> Undo:
    stage.say(f"{node} is cut off from {' '.join(peers) or 'everything'}")
    chosen = [argument for peer in peers for argument in ("--peer", peer)]
    succeed(sys.executable, str(SOURCE), "node-partition", node, *chosen)
    stage.off.add(node)

    def undo() -> None:
        succeed(sys.executable, str(SOURCE), "node-heal", node)
        stage.off.discard(node)

    return undo


def _cut(stage: Stage, blow: Blow) -> Undo:
    return _cut_off(stage, stage.worker(blow))


def _cut_api(stage: Stage, blow: Blow) -> Undo:
    return _cut_off(stage, stage.worker(blow), CONTROL_PLANE)


# --- the operator -------------------------------------------------------------------------------------------------


def _crash(pod: Json) -> None:
    """Kill the process, and get a new pod at once, without the kubelet's back-off."""
    nodes.kill_container(pod)
    run("kubectl", "-n", NAMESPACE, "delete", "pod", pod["metadata"]["name"], *_FORCED)


def _operator(stage: Stage, blow: Blow) -> None:
    for pod in stage.operators(blow):
        _crash(pod)


def _operators(stage: Stage, blow: Blow) -> None:
    for pod in stage.operators(blow, every=True):
        _crash(pod)


def _operator_stop(stage: Stage, blow: Blow) -> None:
    for pod in stage.operators(blow):
        run("kubectl", "-n", NAMESPACE, "delete", "pod", pod["metadata"]["name"], "--wait=false")


def _operator_frozen(stage: Stage, blow: Blow) -> Undo:
    (pod,) = stage.operators(blow)
    nodes.signal_container(pod, "SIGSTOP")
    return lambda: nodes.signal_container(pod, "SIGCONT")


_STRIKES: Final[dict[Kind, Strike]] = {
    Kind.SCALE: _scale,
    Kind.NODE_IDS: _node_ids,
    Kind.CHANGE: _change,
    Kind.BAD_SPEC: _bad_spec,
    Kind.REFUSED_POD: _bad_spec,
    Kind.WIPE: _wipe,
    Kind.WIPE_RUNNING: _wipe_running,
    Kind.CLAIM: _claim,
    Kind.POD: _pod,
    Kind.POD_FORCED: _pod_forced,
    Kind.CONTAINER: _container,
    Kind.SANDBOX: _sandbox,
    Kind.ALL: _all,
    Kind.FROZEN: _frozen,
    Kind.NODE_OFF: _node_off,
    Kind.NODE_LOST: _node_lost,
    Kind.CUT: _cut,
    Kind.CUT_API: _cut_api,
    Kind.OPERATOR: _operator,
    Kind.OPERATORS: _operators,
    Kind.OPERATOR_STOP: _operator_stop,
    Kind.OPERATOR_FROZEN: _operator_frozen,
    Kind.OBJECT: _object,
    Kind.RECORD: _record,
    Kind.ORPHAN: _orphan,
}
