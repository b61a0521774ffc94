"""The disruption token is read where an act depends on it, and not in a quorum at rest."""

from dataclasses import replace

import pytest
from tests.kit.kube.recording import RecordingKube
from tests.model.values import at_rest, desired, key
from tests.plan.beside import DUAL, RETURN, STOP, At, look_at, wanted

from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.situation import Situation
from kafka_quorum.observe.gather import token


@pytest.mark.parametrize(("at", "read"), [(RETURN, True), (STOP, True), (DUAL, False)])
async def test_the_token_is_read(at: At, *, read: bool) -> None:
    """The controllers may stop only if no pool has it: that must be known, also after an operator that had it not."""
    look = look_at(at)
    record = look.record
    assert record is not None
    look = replace(look, memory=replace(look.memory, holder=""), token=Unknown(reason="it was not read"))
    found = await token(RecordingKube(), Situation(desired=wanted(), observed=look, record=record))
    assert isinstance(found, Known) == read


@pytest.mark.parametrize(("target", "read"), [(key(3001), True), (key(3001, 2), False), (None, False)])
async def test_the_token_is_read_for_a_disk_that_is_given_up(target: ReplicaKey | None, *, read: bool) -> None:
    """While a person gives up the present disk of a controller, it must be known who has the token."""
    look = at_rest(memory=replace(at_rest().memory, holder=""))
    assert look.record is not None
    found = await token(RecordingKube(), Situation(desired=desired(give_up=target), observed=look, record=look.record))
    assert isinstance(found, Known) == read
