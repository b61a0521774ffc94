"""What an operator takes for true is held against the model: each rule breaks on a false look, and on that alone."""

from types import SimpleNamespace
from typing import cast

from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kafka.releases import METADATA, levels_of
from tests.simulation.model.world import World
from tests.simulation.rules.committed_rules import COMMITTED, DONE, CommittedRules
from tests.simulation.rules.glances import Glances
from tests.simulation.tests.quorums import CLUSTER, Quorum, key

from kafka_quorum.model.actions import FinishOperation
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.operation import FeatureOperation
from kafka_quorum.model.plan import Plan
from kafka_quorum.model.quorum import FeatureStep

STEP = FeatureStep(name=METADATA, level=28)


def scene() -> tuple[Quorum, CommittedRules, list[str]]:
    """A quorum of three, its rules, and the rules that were broken."""
    world, broken = World(), list[str]()
    quorum = Quorum()
    quorum.kraft, quorum.clock = world.kraft, world.clock
    quorum.voters(1, 2, 3)
    quorum.pass_time(5)
    return quorum, CommittedRules(world, Glances(world), lambda rule, _: broken.append(rule)), broken


def seen(leader: Process, *, committed: bool, step: FeatureStep | None = None) -> Observed:
    """A look at this leader."""
    answer = SimpleNamespace(leader_id=leader.meta.node_id, leader_epoch=leader.disk.epoch)
    view = SimpleNamespace(answer=answer, voters=leader.voters, committed=committed, static=False)
    operation = None if step is None else FeatureOperation(id="1", step=step, holder="", started_at="")
    status = SimpleNamespace(feature_operation=operation)
    return cast("Observed", SimpleNamespace(quorum=Known(value=view), status=status))


def done() -> Plan:
    """A pass that closes the step as completed."""
    finish = FinishOperation(id="1", reason="Completed", message="")
    return cast("Plan", SimpleNamespace(actions=(finish,)))


def test_an_uncommitted_voter_set_is_not_taken_for_committed() -> None:
    """Once the others fetch again it may be."""
    quorum, rules, broken = scene()
    leader = quorum.leader
    rules.saw("kafka", "demo", seen(leader, committed=True))
    assert broken == []
    for process in quorum.processes.values():
        process.frozen = process is not leader
    quorum.kraft.append_voters(leader, leader.voters - {key(3)} | {key(4)})
    rules.saw("kafka", "demo", seen(leader, committed=False))
    assert broken == []
    rules.saw("kafka", "demo", seen(leader, committed=True))
    assert broken == [COMMITTED]
    for process in quorum.processes.values():
        process.frozen = False
    quorum.pass_time(1)
    rules.saw("kafka", "demo", seen(leader, committed=True))
    assert broken == [COMMITTED]


def test_a_step_is_done_when_the_leader_reports_it() -> None:
    """What the log says is not enough, nor what another controller reports."""
    quorum, rules, broken = scene()
    leader = quorum.leader
    leader.told = leader.committed
    quorum.kraft.append_levels(leader, levels_of({METADATA: STEP.level}))
    assert quorum.kraft.levels_of(CLUSTER) == levels_of({METADATA: STEP.level})
    rules.saw("kafka", "demo", seen(leader, committed=True, step=STEP))
    rules.planned(done())
    assert broken == [DONE]
    leader.told = None
    rules.saw("kafka", "demo", seen(leader, committed=True, step=STEP))
    rules.planned(done())
    assert broken == [DONE]
