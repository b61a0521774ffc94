"""Ghosts: which registrations are removed, when, and how."""

from dataclasses import replace

import pytest
from tests.golden.facts import facts
from tests.model.values import SILENT, desired, key, running, saying, situation, speaking, started, stepping, view
from tests.plan.reading import every, only, planned, verdict

from kafka_quorum.api.features import METADATA
from kafka_quorum.model.actions import CureGhost
from kafka_quorum.model.desired import FeatureLevel
from kafka_quorum.model.identity import FormerNode
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.memory import StepCheck
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.quorum import FeatureStep, NodeVersions
from kafka_quorum.plan.releases.ghosts import ghosts_in_the_way, other_ghosts

FORMER = tuple(FormerNode(node_id=NodeID(node_id), generation=1, retired=()) for node_id in (3003, 3004))
RECORD = replace(running(), former=FORMER)
RAISE = FeatureStep(name=METADATA, level=28)
OF_4_1 = replace(saying(), finalized=saying("4.1.2").finalized)
WANTED = desired(features=(FeatureLevel(name=METADATA, level=33),))


def registered(*node_ids: int, said: NodeVersions | None = None) -> Observed:
    """Three controllers at rest; these controllers are registered in addition."""
    ids = tuple(map(NodeID, (3000, 3001, 3002, *node_ids)))
    return speaking(RECORD, said, registered=Known(value=ids))


def refused(words: str, look: Observed | None = None) -> Observed:
    """The active controller of three, at 4.1, refuses the next step in these words."""
    check = StepCheck(allowed=False, words=words)
    return replace(look or registered(3003, said=OF_4_1), checks=((RAISE, Known(value=check)),))


def test_forgotten_when_seen() -> None:
    """From metadata.version 4.4 on every ghost is unregistered, even if it blocks nothing."""
    cure = only(planned(registered(3003)), CureGhost)
    assert (cure.node_id, cure.supported, cure.leader.node_id, cure.judged_at_s) == (3003, (), 3000, 50.0)
    assert facts(cure.message) == facts(3003, 3003)
    assert verdict(planned(registered(3003)), "7-cure-ghost").allowed


def test_one_at_a_time() -> None:
    """If two removed controllers are registered, one is unregistered in each pass."""
    assert only(planned(registered(3003, 3004)), CureGhost).node_id == 3003
    assert only(planned(registered(3004)), CureGhost).node_id == 3004


def test_nobody_is_a_ghost_of_oneself() -> None:
    """A controller of the record is no ghost."""
    assert planned(registered()).actions == ()


def test_stranger_hides_no_ghost() -> None:
    """A registration that is not ours is left alone, and a removed controller is still registered again."""
    assert planned(registered(2000)).actions == ()
    assert not verdict(planned(registered(2000)), "7-cure-ghost").allowed
    assert only(planned(registered(2000, 3004)), CureGhost).node_id == 3004


@pytest.mark.parametrize(("level", "forgets"), [(32, False), (33, True)])
def test_since_when_kafka_forgets(level: int, *, forgets: bool) -> None:
    """Below metadata.version 33 a ghost that blocks nothing is left alone."""
    said = planned(registered(3003, said=saying(metadata_version=level)))
    assert bool(every(said, CureGhost)) is forgets


def test_registered_anew_when_in_the_way() -> None:
    """Below that level, a ghost that a refusal names is registered again with the ranges of the active controller."""
    cure = only(planned(refused("Controller 3003 only supports versions 7-27"), WANTED), CureGhost)
    assert (cure.node_id, cure.supported) == (3003, OF_4_1.supported)
    (listener,) = cure.listeners
    assert (listener.name, listener.host, listener.port) == (
        "CONTROLLER",
        "alpha-3003.alpha-controllers.kafka.svc",
        9093,
    )
    assert facts(cure.message) == facts(3003, 3003)


@pytest.mark.parametrize(
    ("words", "cured"),
    [
        ("Invalid update version 28. Controller 3003 only supports versions 7-27", True),
        ("controller 3003 only supports versions 7-27", True),
        ("Broker 3003 only supports versions 7-27", False),
        ("Controller 3001 only supports versions 7-27", False),
        ("Controller 4000 only supports versions 7-27", False),
        ("no leader", False),
    ],
)
def test_who_is_named(words: str, *, cured: bool) -> None:
    """Only a controller of ours that a refusal names is registered again; a broker never is."""
    assert bool(every(planned(refused(words), WANTED), CureGhost)) is cured


def test_only_refusals_name_ghosts() -> None:
    """An allowed or unanswered step names no ghost."""
    words = "Controller 3003 only supports versions 7-27"
    look = registered(3003, said=OF_4_1)
    allowed = replace(look, checks=((RAISE, Known(value=StepCheck(allowed=True, words=words))),))
    assert ghosts_in_the_way(situation(desired=WANTED, observed=allowed, record=RECORD)).exclusive is None
    silent = replace(look, checks=((RAISE, Unknown(reason=words)),))
    assert ghosts_in_the_way(situation(desired=WANTED, observed=silent, record=RECORD)).exclusive is None


def test_ranges_must_be_known() -> None:
    """While the ranges of the active controller are unknown, no ghost is registered again."""
    look = refused("Controller 3003 only supports versions 7-27")
    versions = tuple((of, Unknown(reason="busy") if of == 3000 else said) for of, said in look.versions)
    assert (
        ghosts_in_the_way(situation(desired=WANTED, observed=replace(look, versions=versions), record=RECORD)).exclusive
        is None
    )


def test_nobody_to_ask() -> None:
    """Nothing is registered again without a leader, its pod, a list of registrations, or before the barrier."""
    look = registered(3003)
    assert (
        other_ghosts(situation(desired=desired(), observed=replace(look, quorum=SILENT), record=RECORD)).exclusive
        is None
    )
    assert (
        other_ghosts(situation(desired=desired(), observed=replace(look, pods=look.pods[1:]), record=RECORD)).exclusive
        is None
    )
    forming = replace(started(), phase=replace(RECORD).phase.FORMATTING)
    assert other_ghosts(situation(desired=desired(), observed=look, record=forming)).exclusive is None
    unknown = replace(look, registered=Unknown(reason="the leader was not asked"))
    assert other_ghosts(situation(desired=desired(), observed=unknown, record=RECORD)).exclusive is None


def test_living_ghost_is_told_of() -> None:
    """A replica that fetches is not registered again, even if the record lists it as removed; the guard refuses."""
    look = registered(3003)
    seen = replace(look, quorum=Known(value=view((key(3000), key(3001), key(3002)), (key(3003),))))
    part = other_ghosts(situation(desired=desired(), observed=seen, record=RECORD))
    assert part.exclusive is None
    assert not verdict(part, "7-cure-ghost").allowed


def test_not_beside_an_open_step() -> None:
    """Nothing is registered again while a step is open, or while the spec is invalid."""
    look = registered(3003)
    opened = replace(look, status=replace(look.status, open=stepping(METADATA, 34)))
    assert every(planned(opened), CureGhost) == []
    assert planned(look, repair_only=True).actions == ()
