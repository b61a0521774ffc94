"""What was given up comes back in the middle of a recovery; and a quorum that has only a broker's copy of its log."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from harness import nodes, operator
from harness.brokers import Brokers
from harness.quorum import Quorum
from harness.recovery import approve, digest, digests, lose, proposed, stage, wait_recovered
from harness.shell import Json, holds_for, kubectl, wait_until
from harness.writer import Writer
from scenarios.conftest import WAYS_IN, Write
from scenarios.expectations import assert_nothing_lost

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(900)]

ALL = {3000, 3001, 3002}
_STAGE_TIMEOUT_S = 180.0
_PATH = "log"
"""The directory of a broker's logs on its volume."""


@contextmanager
def operators_beside(quorum: Quorum, node_id: int) -> Iterator[None]:
    """While this lasts the operator runs only on the Kubernetes node of this controller."""
    kept = quorum.pods()[node_id]["spec"]["nodeName"]
    others = {pod["spec"]["nodeName"] for number, pod in quorum.pods().items() if number != node_id}
    with ExitStack() as stack:
        for node in others:
            kubectl("cordon", node)
            stack.callback(kubectl, "uncordon", node)
        operator.stop()
        operator.start()
        assert {pod["spec"]["nodeName"] for pod in operator.pods()} == {kept}
        yield


def best_of(plan: Json) -> Json:
    """The log that the quorum would continue with."""
    (best,) = (row for row in plan["disks"] if row.get("best"))
    found: Json = best
    return found


@pytest.mark.parametrize("returns_at", ["Stop", "Copy", "Retire", "Rewrite", "Start", "the end"])
def test_the_old_majority_returns(quorum: Quorum, writing: Write, returns_at: str) -> None:
    """Two machines of three are off, and given up by a person; they return at a stage of the recovery, or after it.

    Before disks are given up, they end the recovery: all old voters are there again. After that no old replica becomes
    a voter again. There is one quorum, and every record that was announced is on each disk.
    """
    quorum.apply()
    quorum.wait_ready()
    writer, cluster = writing(quorum), quorum.record()["cluster_id"]
    writer.wait_acknowledged()
    lost, before = {3001, 3002}, quorum.voters()
    machines = {quorum.pods()[node_id]["spec"]["nodeName"] for node_id in lost}
    old = {f"{row['nodeID']}-{row['directoryID']}" for row in quorum.status()["controllers"] if row["nodeID"] in lost}
    with operators_beside(quorum, 3000), ExitStack() as machines_off:
        for machine in sorted(machines):
            machines_off.enter_context(nodes.powered_off(machine))
        waits = "the verdict waits for machines"
        quorum.wait_condition("Degraded", "True", timeout_s=90)
        quorum.patch({"recovery": {"inspect": True}})
        verdicts = ("MajorityMayReturn", "BetterDiskMayReturn")
        wait_until(waits, lambda: (quorum.status().get("recovery") or {}).get("verdict") in verdicts, 120)
        assert not quorum.status()["recovery"].get("plan")
        plan = proposed(quorum, {"without": sorted(lost)})
        best = best_of(plan)
        announced = digest(quorum.namespace, best["claimName"], best["endOffset"])
        approve(quorum, plan["plan"])
        if returns_at == "the end":
            wait_until("the survivor leads alone", lambda: bool(quorum.voters()), _STAGE_TIMEOUT_S)
        else:
            wait_until(f"stage {returns_at}", lambda: stage(quorum) == returns_at, _STAGE_TIMEOUT_S)
    quorum.wait_ready(300)
    if returns_at in ("Stop", "Copy") and quorum.voters() == before:
        print(f"the machines that returned at {returns_at} ended the recovery")
        assert not quorum.record().get("recovery_epoch")
        assert_nothing_lost(writer)
        return
    wait_recovered(quorum, 60)
    assert not old & quorum.voters()
    assert len(quorum.voters()) == 3
    assert quorum.cluster_ids() == {cluster}
    assert digests(quorum, best["endOffset"]) == {announced}
    voters, running = quorum.voters(), quorum.running()
    holds_for("the old ones stay out", lambda: quorum.voters() == voters and quorum.running() == running, 15)
    if plan["verdict"] == "NoLossUpToWatermark":
        assert_nothing_lost(writer)


def test_a_better_disk_returns_before_the_approval(quorum: Quorum) -> None:
    """A plan without a machine counts no more when that machine is back: its disk can be read, and makes a majority."""
    quorum.apply()
    quorum.wait_ready()
    before = quorum.voters()
    machine = quorum.pods()[3002]["spec"]["nodeName"]
    with operators_beside(quorum, 3000):
        with nodes.powered_off(machine):
            lose(quorum, (3001,), claims=True)
            plan = proposed(quorum, {"without": [3002]})
        approve(quorum, plan["plan"])
    quorum.wait_ready(240)
    kept = {key for key in before if not key.startswith("3001-")}
    assert before & quorum.voters() == kept
    assert not quorum.record().get("recovery")
    assert (quorum.status().get("recovery") or {}).get("epoch", 0) == 0


def test_all_disks_are_lost_and_a_broker_has_a_copy(quorum: Quorum, kafka_everywhere: None) -> None:  # noqa: ARG001
    """Every disk of a controller is gone; the quorum continues from a broker's log, and the brokers go on.

    Each controller has every record of that log, byte for byte, and every acknowledged write is there.
    """
    quorum.apply()
    quorum.wait_ready()
    cluster = quorum.record()["cluster_id"]
    brokers = Brokers(quorum, WAYS_IN, node_ids=(1, 2))
    brokers.start()
    with Writer(quorum, WAYS_IN, brokers=brokers) as writer:
        writer.wait_acknowledged(20)
        writer.pause()
        caught_up(quorum, {1, 2})
        lose(quorum, sorted(ALL), claims=True)
        stopped, claim = 1, "data-broker-1"
        brokers.shut_down(stopped)
        allows = f"kafkaquorum.io/used-by=KafkaQuorum/{quorum.name}"
        kubectl("-n", quorum.namespace, "annotate", "pvc", claim, allows)
        seed = {"claimName": claim, "path": _PATH}
        plan = proposed(quorum, {"seeds": [seed]})
        assert plan["verdict"] in ("NoLossUpToWatermark", "ProvenLoss")
        best = best_of(plan)
        assert best["claimName"] == claim
        announced = digest(quorum.namespace, claim, best["endOffset"], _PATH)
        approve(quorum, plan["plan"])
        wait_recovered(quorum)
        assert quorum.record()["cluster_id"] == cluster
        assert quorum.cluster_ids() == {cluster}
        assert {key.partition("-")[0] for key in quorum.voters()} == {str(node_id) for node_id in ALL}
        assert digests(quorum, best["endOffset"]) == {announced}
        brokers.start_again(stopped)
        writer.resume()
        assert_nothing_lost(writer)
    brokers.stop()


def caught_up(quorum: Quorum, broker_ids: set[int]) -> None:
    """Wait until brokers have everything that the quorum has committed now."""
    answer = quorum.describe()
    assert answer is not None
    end = answer.high_watermark

    def have() -> bool:
        now = quorum.describe()
        rows = [] if now is None else [row for row in now.observers if int(row.key.node_id) in broker_ids]
        return len(rows) == len(broker_ids) and all(row.log_end_offset >= end for row in rows)

    wait_until(f"brokers {sorted(broker_ids)} have the log up to {end}", have, 60)
