"""The limits of a drain are set before its moves, and forgotten after they are removed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.brokers.looks import LEADER, at, ran
from tests.brokers.values import CONTRACT, desired, record
from tests.clocks import MovingClock
from tests.kit.kube.recording import RecordingKube

from kafka_brokers.act.execute import Context, Executor
from kafka_brokers.model.actions import Action, EndThrottle, MovePartitions
from kafka_brokers.model.disks import Throttle
from kafka_brokers.model.permit import MoveReplicas
from kafka_brokers.model.plan import Outcome, Plan
from kafka_brokers.resources.stored import record_from, record_object
from kafka_quorum.errors import KafkaRefused
from kafka_quorum.model.brokers import ConfigChange, Move
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.permit import Permit
from kafka_quorum.model.quorum import Endpoint
from kit.errors import Fault
from kit.kube.protocol import CONFIG_MAPS

RATE = (ConfigChange(name="leader.replication.throttled.rate", value="2048"),)
LISTED = (ConfigChange(name="leader.replication.throttled.replicas", value="0:2"),)
PERMIT: Permit[MoveReplicas] = Permit(rule=MoveReplicas.id, reason="r")
MOVE = MovePartitions(
    leader=LEADER,
    node_id=NodeID(2),
    moves=(Move(at=at("t-0"), replicas=(NodeID(3),)),),
    rates=((NodeID(2), RATE),),
    limited=(("t", LISTED),),
    message="m",
    permit=PERMIT,
    judged_at_s=100.0,
)
LIMITED = replace(
    ran(record(), desired()), throttle=Throttle(bytes_per_s=2048, brokers=(NodeID(2),), topics=("t", "u"))
)


class Asked:
    """Brokers that note what they are asked to change, and refuse what `refuses` names."""

    def __init__(self, refuses: str = "", name: str = "INVALID_CONFIG") -> None:
        """Nothing was asked yet."""
        self.asked: list[str] = []
        self._refuses, self._name = refuses, name

    def _note(self, what: str) -> None:
        self.asked.append(what)
        if what == self._refuses:
            raise KafkaRefused(
                "no",
                code=1,
                name=self._name,
                server_message="",
                fault=Fault.THEIRS,
                retry_safe=True,
                outcome_unknown=False,
            )

    async def alter_broker_config(self, _: Endpoint, node_id: NodeID, changes: Sequence[ConfigChange]) -> None:
        """Note a broker's settings."""
        self._note(f"broker {node_id} {changes[0].value}")

    async def alter_topic_config(self, _: Endpoint, topic: str, changes: Sequence[ConfigChange]) -> None:
        """Note a topic's settings."""
        self._note(f"topic {topic} {changes[0].value}")

    async def reassign(self, _: Endpoint, moves: Sequence[Move]) -> dict[Any, str]:
        """Note moves."""
        self._note(f"moves {len(moves)}")
        return {}


async def carried_out(action: Action, brokers: Asked, kube: RecordingKube, *, age_s: float = 0.0) -> Outcome:
    """The outcome of one action whose look is this old."""
    edge: Any = brokers
    executor = Executor(kube, edge, MovingClock(100.0 + age_s), look_max_age_s=2.0, may_act=lambda: True)
    context = Context(
        desired=desired(), record=LIMITED, contract=CONTRACT, spec={}, accepted="", pull_policy="IfNotPresent"
    )
    (outcome,) = await executor.execute(Plan(actions=(action,), waits=(), verdicts=(), requeue_s=1.0), context)
    return outcome


async def test_moves_begin_after_their_limits() -> None:
    """Rates, then topics, then the moves."""
    brokers = Asked()
    assert (await carried_out(MOVE, brokers, RecordingKube())).done
    assert brokers.asked == ["broker 2 2048", "topic t 0:2", "moves 1"]


async def test_nothing_moves_without_its_limits() -> None:
    """A limit that is refused, or a look that is too old, keeps the moves from beginning."""
    brokers = Asked("topic t 0:2")
    assert not (await carried_out(MOVE, brokers, RecordingKube())).done
    assert brokers.asked[-1] == "topic t 0:2"
    late = Asked()
    outcome = await carried_out(MOVE, late, RecordingKube(), age_s=2.5)
    assert (outcome.held, late.asked) == (True, [])


def stored() -> RecordingKube:
    """An API server with the record."""
    kube = RecordingKube()
    kube.put(CONFIG_MAPS, record_object(desired(), replace(LIMITED, resource_version="")))
    return kube


def end_of(kube: RecordingKube) -> EndThrottle:
    """The end of the limits of the stored record."""
    item = kube.objects[CONFIG_MAPS.plural, "payments-broker-disks"]
    present = record_from(item)
    return EndThrottle(leader=LEADER, brokers=(NodeID(2),), topics=("t", "u"), record=replace(present, throttle=None))


async def test_limits_are_forgotten_after_they_are_removed() -> None:
    """A topic that is gone has none; the record is written last."""
    kube, brokers = stored(), Asked("topic t None", "UNKNOWN_TOPIC_OR_PARTITION")
    assert (await carried_out(end_of(kube), brokers, kube)).done
    assert brokers.asked == ["broker 2 None", "topic t None", "topic u None"]
    assert record_from(kube.objects[CONFIG_MAPS.plural, "payments-broker-disks"]).throttle is None


async def test_limits_that_are_not_removed_are_not_forgotten() -> None:
    """Any other refusal keeps them in the record, for the next attempt."""
    kube, brokers = stored(), Asked("topic t None")
    assert not (await carried_out(end_of(kube), brokers, kube)).done
    assert record_from(kube.objects[CONFIG_MAPS.plural, "payments-broker-disks"]).throttle == LIMITED.throttle
