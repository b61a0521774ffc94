"""Another listener of the controllers: what begins the change, the gates between its stages, and the way back."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import pytest
from tests.model.values import NAMESPACE, at_rest, desired, looks, pod, revision, running, runtime, situation, view
from tests.plan.reading import planned, wait

from kafka_quorum.model.actions import DecideRecord, RecordChange
from kafka_quorum.model.contract import Match, StoredContract
from kafka_quorum.model.desired import ControllerListener, Desired, OtherListener, Protocol, Runtime
from kafka_quorum.model.identity import IdentityRecord, with_migration
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.migration import LISTENERS, ListenerChange, MigrationKind, Reached
from kafka_quorum.model.names import all_advertised
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.permit import Verdict
from kafka_quorum.model.plan import Severity
from kafka_quorum.model.registered import BrokerSeen
from kafka_quorum.plan.facts.contract import LISTENER_NAMES, due_contract
from kafka_quorum.plan.guards.rule7_listeners import may_drop_listener, may_prefer, may_return, may_send_brokers
from kafka_quorum.plan.migrations.engine import migrations

OLD: Final = ControllerListener(name="CONTROLLER", port=9093)
NEW: Final = ControllerListener(name="OTHER", port=9193)
CHANGE: Final = ListenerChange(old=OLD, new=NEW)
BOTH, BROKERS, PREFER, ONLY = (stage.name for stage in LISTENERS.stages)
MADE: Final = {
    BOTH: runtime(other=OtherListener(listener=NEW)),
    BROKERS: runtime(other=OtherListener(listener=NEW)),
    PREFER: runtime(other=OtherListener(listener=NEW, preferred=True)),
    ONLY: runtime(listener=NEW),
}
"""What the controllers are made from in each stage."""


def asks(listener: ControllerListener = NEW) -> Desired:
    """A quorum that is asked for this listener."""
    return desired(runtime=runtime(listener=listener))


def recorded(stage: str) -> IdentityRecord:
    """The record of a quorum in this stage, made from it."""
    made = runtime()
    reached = Reached(
        kind=MigrationKind.LISTENERS, stage=stage, release=made.release, image=made.image, listeners=CHANGE
    )
    record = with_migration(running(), reached)
    return replace(record, applied_revision=revision(MADE[stage]).name)


def look_at(stage: str, *, voters: Iterable[Runtime] | None = None, **changes: Any) -> Observed:  # noqa: ANN401 - a look
    """A quorum at rest in this stage, with its contract, whose voter set has the listeners of these runtimes."""
    record, made = recorded(stage), revision(MADE[stage])
    seen = view(record.initial)
    rows = zip(record.node_ids, voters or [MADE[stage]] * 3, strict=True)
    listeners = tuple((id_, all_advertised(NAMESPACE, desired().member(id_), each)) for id_, each in rows)
    seen = replace(seen, answer=replace(seen.answer, listeners=listeners))
    at = replace(at_rest(record, revisions=(made,)), quorum=Known(value=seen), memory=looks(seen))
    due = due_contract(situation(asks(), at), None, may_go_down=False)
    at = replace(at, contract=Known(value=StoredContract(contract=due)), brokers=Known(value=()))
    return replace(at, **changes)


def broker(running_: dict[str, str | None], *, fenced: bool | None = False) -> BrokerSeen:
    """A registered broker with these settings."""
    return BrokerSeen(node_id=NodeID(1), settings=Known(value=running_), fenced=fenced)


def conforming(look: Observed) -> dict[str, str | None]:
    """The settings that the contract of a look requires."""
    assert isinstance(look.contract, Known)
    assert look.contract.value is not None
    rows = look.contract.value.contract.settings
    return {each.key: None if each.match is Match.UNSET else each.value for each in rows}


def moved(look: Observed, spec: Desired) -> DecideRecord:
    """The write that the migration asks for."""
    write = migrations(situation(spec, look)).exclusive
    assert isinstance(write, DecideRecord)
    return write


def refused(verdict: Verdict, *mentioned: object) -> None:
    """The guard refuses, and mentions these."""
    assert not verdict.allowed
    assert all(str(each) in verdict.reason for each in mentioned), verdict.reason


def test_it_begins_when_another_listener_is_asked_for() -> None:
    """A listener with another name and port begins the change: the record has both, and the controllers get both."""
    plain = at_rest()
    due = due_contract(situation(desired(), plain), None, may_go_down=False)
    look = replace(plain, contract=Known(value=StoredContract(contract=due)), brokers=Known(value=()))
    write = moved(look, asks())
    assert write.change is RecordChange.BEGIN_LISTENERS
    assert write.record.migration is not None
    assert (write.record.migration.stage, write.record.migration.listeners) == (BOTH, CHANGE)
    assert situation(asks(), replace(look, record=write.record), write.record).runtime == MADE[BOTH]


@pytest.mark.parametrize(
    ("listener", "mentioned"),
    [
        (replace(NEW, name="CONTROLLER"), "another name and another port"),
        (replace(NEW, port=9093), "another name and another port"),
        (replace(OLD, protocol=Protocol.SSL), "another name and another port"),
        (replace(NEW, protocol=Protocol.SSL), "certificates"),
    ],
)
def test_it_does_not_begin(listener: ControllerListener, mentioned: str) -> None:
    """A name or a port that is taken is for a person; certificates that are not made yet need time only."""
    due = due_contract(situation(desired(), at_rest()), None, may_go_down=False)
    look = replace(at_rest(), contract=Known(value=StoredContract(contract=due)), brokers=Known(value=()))
    part = migrations(situation(asks(listener), look))
    assert part.exclusive is None
    assert mentioned in part.waits[0].message
    assert (part.waits[0].severity is Severity.HELD) == (mentioned != "certificates")


def test_a_static_quorum_keeps_its_listener() -> None:
    """A static quorum has to become dynamic first, and the sentence says how."""
    record = replace(running(), static=True, applied_revision=revision(runtime(static_voters=running().node_ids)).name)
    look = at_rest(record, revisions=(revision(runtime(static_voters=record.node_ids)),))
    said = planned(look, asks())
    assert "kraft.version" in wait(said, "MigrationHeld").message


def test_a_spec_that_leaves_the_protocol_open_changes_nothing() -> None:
    """The protocol that a new quorum would get is none that is asked for."""
    spec = replace(desired(runtime=runtime(listener=replace(OLD, protocol=Protocol.SSL))), says_protocol=False)
    assert migrations(situation(spec, at_rest())).waits == ()


def test_brokers_are_sent_when_every_voter_has_both() -> None:
    """Brokers are told to change when the voter set has both listeners of every voter. Not told is not there."""
    assert moved(look_at(BOTH), asks()).change is RecordChange.BROKERS_TO_LISTENER
    behind = look_at(BOTH, voters=(MADE[BOTH], runtime(), MADE[BOTH]))
    refused(may_send_brokers(situation(asks(), behind), CHANGE), "3001 (OTHER)")
    quorum = behind.quorum
    assert isinstance(quorum, Known)
    silent = replace(
        behind, quorum=Known(value=replace(quorum.value, answer=replace(quorum.value.answer, listeners=())))
    )
    refused(may_send_brokers(situation(asks(), silent), CHANGE), 3000, 3001, 3002)


def test_brokers_restart_once() -> None:
    """In the first stage brokers keep what they have; then the new listener is the only one that they may name."""
    first, second = look_at(BOTH), look_at(BROKERS)
    plain = due_contract(situation(desired(), at_rest()), None, may_go_down=False)
    stored = Known(value=StoredContract(contract=plain))
    kept = due_contract(situation(asks(), replace(first, contract=stored)), plain, may_go_down=False)
    assert kept.revision == plain.revision
    moved_on = due_contract(situation(asks(), replace(second, contract=stored)), plain, may_go_down=False)
    assert moved_on.revision == plain.revision + 1
    names = moved_on.setting(LISTENER_NAMES)
    assert names is not None
    assert (names.value, names.match) == ("OTHER", Match.EQUALS)
    assert all(address.endswith(":9193") for address in moved_on.controllers)


@pytest.mark.parametrize(
    ("change", "fenced", "mentioned"),
    [
        ({}, True, "fenced"),
        ({}, None, "not known"),
        ({LISTENER_NAMES: "CONTROLLER,OTHER"}, False, LISTENER_NAMES),
        ({"controller.quorum.bootstrap.servers": "alpha-3000.alpha-controllers.kafka.svc:9093"}, False, "bootstrap"),
    ],
)
def test_a_broker_holds_the_change(change: dict[str, str], fenced: bool | None, mentioned: str) -> None:  # noqa: FBT001 - a row
    """A broker that may use the earlier listener, or is fenced, or may be, keeps it: in both stages that rely on it."""
    for stage, gate in ((BROKERS, may_prefer), (PREFER, may_drop_listener)):
        look = look_at(stage)
        if stage == BROKERS:
            plain = due_contract(situation(desired(), at_rest()), None, may_go_down=False)
            stored = Known(value=StoredContract(contract=plain))
            due = due_contract(situation(asks(), replace(look, contract=stored)), plain, may_go_down=False)
            look = replace(look, contract=Known(value=StoredContract(contract=due)))
            well = replace(look, brokers=Known(value=(broker(conforming(look)),)))
            assert gate(situation(asks(), well), CHANGE).allowed
            settings: dict[str, str | None] = {**conforming(look), **change}
            held = replace(look, brokers=Known(value=(broker(settings, fenced=fenced),)))
            refused(gate(situation(asks(), held), CHANGE), mentioned)
        unknown = replace(look, brokers=Unknown(reason="nobody was asked"))
        refused(gate(situation(asks(), unknown), CHANGE), "nobody was asked")


@pytest.mark.parametrize(
    ("stage", "change", "to"),
    [
        (BOTH, RecordChange.BROKERS_TO_LISTENER, BROKERS),
        (BROKERS, RecordChange.PREFER_LISTENER, PREFER),
        (PREFER, RecordChange.DROP_LISTENER, ONLY),
        (ONLY, RecordChange.LISTENERS_CHANGED, None),
    ],
)
def test_each_stage_leads_to_the_next(stage: str, change: RecordChange, to: str | None) -> None:
    """With every gate open a stage leads to the next; at the end the record has the new listener, and no migration."""
    write = moved(look_at(stage), asks())
    assert write.change is change
    assert (write.record.migration.stage if write.record.migration else None) == to
    assert write.record.listener == (NEW if to is None else None)


@pytest.mark.parametrize(("stage", "to"), [(BOTH, None), (BROKERS, BOTH), (PREFER, BROKERS), (ONLY, PREFER)])
def test_the_way_back_goes_stage_by_stage(stage: str, to: str | None) -> None:
    """With the earlier listener in the spec again, each stage goes back to the one before; the first one ends it."""
    write = moved(look_at(stage), asks(OLD))
    assert write.change is RecordChange.RETURN_TO_LISTENER
    assert (write.record.migration.stage if write.record.migration else None) == to


def test_no_listener_is_dropped_on_the_way_back_that_a_controller_uses() -> None:
    """Back from Prefer, the first two stages wait until no controller reaches the others by the new listener."""
    preferring = revision(MADE[PREFER])
    for stage, index in ((BOTH, 0), (BROKERS, 1)):
        look = look_at(stage)
        assert may_return(situation(asks(OLD), look), CHANGE, index).allowed
        pods = tuple(
            pod(recorded(stage), node, revision=preferring.name) if node.node_id == NodeID(3001) else each
            for node, each in zip(recorded(stage).nodes, look.pods, strict=True)
        )
        still = replace(look, pods=pods, revisions=(*look.revisions, preferring))
        refused(may_return(situation(asks(OLD), still), CHANGE, index), 3001, "OTHER")
        unknown = replace(still, revisions=look.revisions)
        refused(may_return(situation(asks(OLD), unknown), CHANGE, index), 3001)
        part = migrations(situation(asks(OLD), still))
        assert part.exclusive is None
        assert part.waits


def test_a_third_listener_leads_back_first() -> None:
    """A spec that names another listener in the middle leads back, and not to it directly."""
    third = ControllerListener(name="THIRD", port=9293)
    write = moved(look_at(BROKERS), asks(third))
    assert write.change is RecordChange.RETURN_TO_LISTENER


def test_back_from_a_new_listener_that_does_not_work() -> None:
    """The first controller that prefers the new listener lags. All have both, so the way back is open."""
    before, preferring = revision(MADE[BROKERS], 1), revision(MADE[PREFER], 2)
    plain = recorded(PREFER)
    nodes = tuple(replace(one, revision=preferring.name) if one.node_id == 3001 else one for one in plain.nodes)
    record = replace(plain, nodes=nodes, applied_revision=before.name)
    names = (preferring.name if one.node_id == 3001 else before.name for one in nodes)
    pods = tuple(pod(record, one, revision=name) for one, name in zip(nodes, names, strict=True))
    look = look_at(PREFER)
    assert isinstance(look.quorum, Known)
    quorum = look.quorum.value
    caught_up = frozenset(key for key in quorum.caught_up if key.node_id != 3001)
    lagging = Known(value=replace(quorum, caught_up=caught_up))
    look = replace(look, record=record, revisions=(before, preferring), pods=pods, quorum=lagging)
    assert may_return(situation(asks(OLD), look, record), CHANGE, 2).allowed
    unknown = replace(look, revisions=(before,))
    refused(may_return(situation(asks(OLD), unknown, record), CHANGE, 2), 3001)
    alone = revision(MADE[ONLY], 2)
    without = replace(look, revisions=(before, alone), pods=(replace(pods[0], revision=alone.name), *pods[1:]))
    refused(may_return(situation(asks(OLD), without, record), CHANGE, 2), 3000)
