"""The recovery of a quorum as a person does it, and the logs on the disks before and after it."""

import hashlib
import json
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from harness import nodes
from harness.quorum import Quorum
from harness.shell import Json, kubectl, wait_until
from kraftlog.disk.files import LOG_DIR
from kraftlog.disk.looking import log_files, valid_batches

_PROPOSED_TIMEOUT_S = 120.0
_RECOVERED_TIMEOUT_S = 240.0
_COPY_TIMEOUT_S = 60.0


def lose(quorum: Quorum, node_ids: Iterable[int], *, claims: bool) -> None:
    """Lose the disks of these controllers at once: their claims, or only what is on them."""
    rows = [quorum.controller(node_id) for node_id in node_ids]
    for row in rows:
        if claims:
            quorum.delete_claim(row["claimName"])
        else:
            quorum.wipe(row["claimName"])
    names = [row["podName"] for row in rows]
    kubectl("-n", quorum.namespace, "delete", "pod", *names, "--force", "--grace-period=0", timeout_s=90)


def proposed(quorum: Quorum, request: Json | None = None, timeout_s: float = _PROPOSED_TIMEOUT_S) -> Json:
    """Request a look at the disks, with `request` in it; the proposal, when there is one."""
    quorum.wait_condition("Degraded", "True", timeout_s=timeout_s)
    quorum.patch({"recovery": {"inspect": True} | (request or {})})

    def shown() -> Json | None:
        found: Json = quorum.status().get("recovery") or {}
        return found if found.get("plan") else None

    return wait_until("a plan is proposed", shown, timeout_s)


def approve(quorum: Quorum, plan: str) -> None:
    """Approve a plan, and whatever its verdict says is lost."""
    quorum.patch({"recovery": {"plan": plan, "acceptLoss": True}})


def stage(quorum: Quorum) -> str:
    """The stage of the open recovery in the identity record; empty without one."""
    journal: Json = quorum.record().get("recovery") or {}
    return str(journal.get("stage") or "")


def wait_recovered(quorum: Quorum, timeout_s: float = _RECOVERED_TIMEOUT_S) -> None:
    """Wait until the recovery has ended, and every controller is a voter.

    A plan that was approved a moment too early, while a log still grew, leads back: the next one is approved as well.
    """

    def ended() -> bool:
        found: Json = quorum.status().get("recovery") or {}
        asked = quorum.resource()["spec"].get("recovery", {}).get("plan")
        if found.get("stage") in ("Proposed", "Abandoned") and found.get("plan") not in (None, asked):
            print(f"plan {asked} led back, and plan {found['plan']} is approved")
            approve(quorum, found["plan"])
        return bool(found.get("stage") == "Recovered")

    wait_until("the recovery has ended", ended, timeout_s)
    quorum.wait_ready(timeout_s)


def copies(quorum: Quorum) -> set[str]:
    """The claims with copies."""
    return {name for name in quorum.claims() if "-copy-" in name}


def present_claims(quorum: Quorum) -> dict[int, str]:
    """The claim of each controller, from the status."""
    return {row["nodeID"]: row["claimName"] for row in quorum.status()["controllers"]}


def digest(namespace: str, claim: str, end_offset: int, directory: str = "kraft") -> tuple[int, str]:
    """The first offset of the metadata log on a claim, and the sum of all its batches below an end offset.

    Each replica of a quorum has the same, byte for byte. The log may be that of a running controller.
    """
    node, path = nodes.volume_of(namespace, claim)
    source = f"{path}/{directory}" if directory else path
    with tempfile.TemporaryDirectory() as place:
        command = ("docker", "exec", node, "tar", "-C", source, "-cf", "-", LOG_DIR)
        packed = subprocess.run(command, capture_output=True, timeout=_COPY_TIMEOUT_S, check=False)
        # 1: tar saw a file grow, which is what logs do.
        assert packed.returncode in (0, 1), packed.stderr.decode(errors="replace")
        subprocess.run(("tar", "-C", place, "-xf", "-"), input=packed.stdout, timeout=_COPY_TIMEOUT_S, check=True)
        log_dir = Path(place) / LOG_DIR
        bases = log_files(log_dir).bases
        summed, last = hashlib.sha256(), -1
        for batch in valid_batches(log_dir, bases):
            if batch.last_offset < end_offset:
                last = batch.last_offset
                summed.update(repr((batch.base_offset, batch.leader_epoch, batch.control, batch.body)).encode())
    assert last == end_offset - 1, f"{claim}: the batches below {end_offset} end at {last}"
    return bases[0], summed.hexdigest()


def digests(quorum: Quorum, end_offset: int) -> set[tuple[int, str]]:
    """What the present disks of all controllers have below an end offset: one value if they are the same."""
    claims = present_claims(quorum)
    wanted = f"all controllers have the records below {end_offset}"

    def all_there() -> bool:
        answer = quorum.describe()
        return answer is not None and all(row.log_end_offset >= end_offset for row in answer.voters)

    wait_until(wanted, all_there, 60)
    return {digest(quorum.namespace, claim, end_offset) for claim in claims.values()}


def request_only_inspection(quorum: Quorum, annotations: Json) -> None:
    """Annotate the resource, and take the approval back."""
    body = {"metadata": {"annotations": annotations}, "spec": {"recovery": {"inspect": False, "plan": ""}}}
    kubectl("-n", quorum.namespace, "patch", "kq", quorum.name, "--type=merge", "-p", json.dumps(body))
