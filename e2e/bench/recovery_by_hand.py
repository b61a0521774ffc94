"""A lost majority recovered by a script, as fast as possible: the least time that the operator's recovery can take.

The quorum is the one from plain manifests. The script does the same as the operator, with the same programs, without a
record of it and without a second look: it stops what is left, copies the last disk, rewrites its log, starts all three,
and adds the two newcomers. Both sides read the disk before the time begins, as a person does who then approves.
"""

import asyncio
import contextlib
import json
import time

from bench.by_hand import Endpoints, leader_view
from bench.floor import CLUSTER_ID
from harness.shell import Json, get, items, kubectl, run, wait_until
from kafka_quorum.errors import KafkaError
from kafka_quorum.model.ids import ClusterID
from kafka_quorum.model.quorum import AddVoter, Listener
from kafka_quorum.wire.admin import KafkaControllers
from kraftlog.disk import read_look, to_json
from kraftlog.rewrite import plan_of

_POLL_S = 0.1
_TIMEOUT_S = 180.0
_ADD_TIMEOUT_MS = 1_000
_SURVIVOR, _LOST = 0, (1, 2)
_DIRECTORY = "log"
_COPY = "copy-of-the-last-disk"
_STATEFUL_SET = "statefulset/quorum"


def lose(namespace: str) -> None:
    """Lose two of three disks at once, with their claims; the pods that come again wait for the script."""
    kubectl("-n", namespace, "patch", "configmap", "quorum", "--type=merge", "-p", '{"data":{"mode":"none"}}')
    claims, pods = [f"data-quorum-{each}" for each in _LOST], [f"quorum-{each}" for each in _LOST]
    kubectl("-n", namespace, "delete", "pvc", *claims, "--wait=false")
    kubectl("-n", namespace, "delete", "pod", *pods, "--force", "--grace-period=0")


def plan(namespace: str, image: str) -> str:
    """What the last disk shows, as a plan: the part before the approval."""
    pod = _work(namespace, "look", image, ("look", f"/data/{_DIRECTORY}"))
    text = kubectl("-n", namespace, "logs", pod)
    kubectl("-n", namespace, "delete", "pod", pod, "--force", "--grace-period=0")
    return to_json(plan_of(read_look(text.strip())))


def recover(namespace: str, image: str, plan_text: str, endpoints: Endpoints) -> float:
    """Recover the quorum; seconds until a leader shows three caught-up voters."""
    began_s = time.monotonic()
    kubectl("-n", namespace, "scale", _STATEFUL_SET, "--replicas=0")
    wait_until("no controller runs", lambda: not items(namespace, "pods", "-l", "app=quorum"), _TIMEOUT_S)
    _claim(namespace, _COPY)
    script = (
        f"set -eu; python -m kraftlog.disk copy /data/{_DIRECTORY} /copy/{_DIRECTORY}; "
        f"exec python -m kraftlog.disk rewrite /data/{_DIRECTORY} --plan '{plan_text}'"
    )
    _work(namespace, "rewrite", image, script, copy=True)
    kubectl("-n", namespace, "patch", "configmap", "quorum", "--type=merge", "-p", '{"data":{"mode":"observer"}}')
    kubectl("-n", namespace, "scale", _STATEFUL_SET, "--replicas=3")
    asyncio.run(_until_three_voters(endpoints))
    return time.monotonic() - began_s


async def _until_three_voters(endpoints: Endpoints) -> None:
    """Add each newcomer that is caught up, until all three are caught-up voters."""
    controllers, deadline_s = KafkaControllers(), time.monotonic() + _TIMEOUT_S
    try:
        while time.monotonic() < deadline_s:
            found = await leader_view(controllers, await asyncio.to_thread(lambda: list(endpoints())))
            if found is not None:
                where, seen = found
                if len(seen.voters) == 1 + len(_LOST) and seen.voters <= seen.shown:
                    return
                for key in sorted(seen.observers & seen.shown):
                    listeners = (Listener(name="CONTROLLER", host=f"quorum-{key.node_id}.quorum", port=9093),)
                    request = AddVoter(
                        cluster_id=ClusterID(CLUSTER_ID), voter=key, listeners=listeners, timeout_ms=_ADD_TIMEOUT_MS
                    )
                    with contextlib.suppress(KafkaError):
                        await controllers.add_voter(where, request)
            await asyncio.sleep(_POLL_S)
        raise AssertionError(f"no three caught-up voters after {_TIMEOUT_S:.0f} s")
    finally:
        await controllers.close()


def _work(namespace: str, name: str, image: str, what: tuple[str, ...] | str, *, copy: bool = False) -> str:
    """Run a pod on the last disk to its end; its name."""
    command = ["sh", "-c", what] if isinstance(what, str) else ["python", "-m", "kraftlog.disk", *what]
    volumes: list[Json] = [_volume("data", f"data-quorum-{_SURVIVOR}")]
    volumes += [_volume("copy", _COPY)] if copy else []
    container: Json = {
        "name": name,
        "image": image,
        "command": command,
        "imagePullPolicy": "IfNotPresent",
        "volumeMounts": [{"name": volume["name"], "mountPath": f"/{volume['name']}"} for volume in volumes],
    }
    spec: Json = {
        "restartPolicy": "Never",
        "securityContext": {"runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000},
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
        "volumes": volumes,
    }
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    kubectl("-n", namespace, "create", "-f", "-", stdin=json.dumps(body))

    def ended() -> bool:
        phase = get(namespace, "pod", name).get("status", {}).get("phase")
        assert phase != "Failed", run("kubectl", "-n", namespace, "logs", name)
        return bool(phase == "Succeeded")

    wait_until(f"{name} has ended", ended, _TIMEOUT_S)
    return name


def _volume(name: str, claim: str) -> Json:
    return {"name": name, "persistentVolumeClaim": {"claimName": claim}}


def _claim(namespace: str, name: str) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}
    kubectl("-n", namespace, "create", "-f", "-", stdin=json.dumps(body))
