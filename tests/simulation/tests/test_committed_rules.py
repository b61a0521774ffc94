"""The operator's view is compared with the model: each rule breaks on a false look, and only then."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kafka.releases import METADATA, levels_of
from tests.simulation.model.world import World
from tests.simulation.rules.committed_rules import COMMITTED, DONE, GIVEN_UP, CommittedRules
from tests.simulation.rules.glances import Glances
from tests.simulation.tests.quorums import CLUSTER, Quorum, key

from kafka_quorum.model.actions import DecideRecord, FinishOperation, RecordChange
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
    """A look that shows an uncommitted voter set as committed breaks a rule; after new fetches it may be committed."""
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


def gives_up(looked: Observed, node_id: int, rule: str = "2-retire-disk", change: str = "DISK_LOST") -> Plan:
    """A pass that gives up the disk of a controller by this look."""
    before = SimpleNamespace(nodes=tuple(SimpleNamespace(key=key(one)) for one in (1, 2, 3)))
    after = SimpleNamespace(nodes=tuple(one for one in before.nodes if one.key != key(node_id)))
    permit = cast("Any", SimpleNamespace(rule=rule))
    write = DecideRecord(record=cast("Any", after), change=RecordChange[change], message="", permit=permit)
    situation = SimpleNamespace(observed=looked, record=before)
    return cast("Plan", SimpleNamespace(actions=(write,), situation=situation))


def test_no_voter_is_given_up_by_a_look_at_an_uncommitted_voter_set() -> None:
    """A look that showed an uncommitted voter set decides nothing about its voters, whatever came after it."""
    quorum, rules, broken = scene()
    leader = quorum.leader
    before = seen(leader, committed=True)
    rules.saw("kafka", "demo", before)
    for process in quorum.processes.values():
        process.frozen = process is not leader
    quorum.kraft.append_voters(leader, leader.voters | {key(4)})
    rules.planned(gives_up(before, 3))
    assert broken == []
    looked = seen(leader, committed=False)
    rules.saw("kafka", "demo", looked)
    rules.planned(gives_up(looked, 5))
    rules.planned(gives_up(looked, 3, "4-drop-node", "NODES_REMOVED"))
    assert broken == []
    rules.planned(gives_up(looked, 3))
    assert broken == [GIVEN_UP]


@pytest.mark.parametrize(
    ("away", "node_id", "broken"), [((), 3, []), ((1,), 3, [GIVEN_UP]), ((1,), 4, []), ((1, 2, 3), 4, [GIVEN_UP])]
)
def test_no_disk_is_given_up_without_a_majority_of_the_others(
    away: tuple[int, ...], node_id: int, broken: list[str]
) -> None:
    """A disk is given up only with a leader, and that of a voter only if the others are a caught-up majority of all."""
    quorum, rules, told = scene()
    for one in quorum.processes.values():
        one.frozen = one.meta.node_id in away
    for _ in range(24):
        quorum.pass_time(0.5)
        rules._glances.look()
    directory = key(node_id).directory_id
    assert directory is not None
    rules.retired(CLUSTER, {directory})
    assert told == broken


def test_a_step_is_done_when_the_leader_reports_it() -> None:
    """A step is done only when the leader itself reports the level; the committed log is not enough."""
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
