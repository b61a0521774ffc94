"""The disruption token is read where an act depends on it, and not in a quorum at rest."""

import math
from dataclasses import replace

import pytest
from tests.kit.kube.recording import RecordingKube
from tests.model.values import at_rest, desired, key
from tests.plan.beside import DUAL, RETURN, STOP, At, look_at, wanted

from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.situation import Situation
from kafka_quorum.observe.gather import LATE_S, token
from kit.errors import KubeUnavailable
from kit.kube.protocol import LEASES
from kit.token import Token


@pytest.mark.parametrize(("at", "read"), [(RETURN, True), (STOP, True), (DUAL, False)])
async def test_the_token_is_read(at: At, *, read: bool) -> None:
    """The controllers may stop only if no pool has it: that must be known, also after an operator that had it not."""
    look = look_at(at)
    record = look.record
    assert record is not None
    look = replace(look, memory=replace(look.memory, holder=""), token=Unknown(reason="it was not read"))
    found, _ = await token(RecordingKube(), Situation(desired=wanted(), observed=look, record=record), math.inf)
    assert isinstance(found, Known) == read


@pytest.mark.parametrize(("target", "read"), [(key(3001), True), (key(3001, 2), False), (None, False)])
async def test_the_token_is_read_for_a_disk_that_is_given_up(target: ReplicaKey | None, *, read: bool) -> None:
    """While a person gives up the present disk of a controller, it must be known who has the token."""
    look = at_rest(memory=replace(at_rest().memory, holder=""))
    assert look.record is not None
    at = Situation(desired=desired(give_up=target), observed=look, record=look.record)
    found, _ = await token(RecordingKube(), at, math.inf)
    assert isinstance(found, Known) == read


async def asked(holder: str | None, due_s: float, kube: RecordingKube | None = None) -> tuple[Knowable[Token], float]:
    """The token, and when it is due, of a quorum at rest that remembers this."""
    look = at_rest(memory=replace(at_rest().memory, holder=holder))
    assert look.record is not None
    return await token(kube or RecordingKube(), Situation(desired=desired(), observed=look, record=look.record), due_s)


NOW_S = at_rest().looked_at_s


async def test_the_token_is_read_once_more_after_a_while() -> None:
    """A request to take it that got no answer may have its effect when nothing is to be stopped any more."""
    found, due_s = await asked(None, math.inf)
    assert (isinstance(found, Known), due_s) == (True, NOW_S + LATE_S)
    for due_s in (NOW_S + 0.1, math.inf):
        assert await asked("", due_s) == (Unknown(reason="it was not read"), due_s)
    found, due_s = await asked("", NOW_S)
    assert (isinstance(found, Known), due_s) == (True, math.inf)


async def test_a_token_that_cannot_be_read_stays_due() -> None:
    """Until an answer comes."""
    kube = RecordingKube(errors={("get", LEASES.plural): KubeUnavailable("no answer")})
    found, due_s = await asked("", NOW_S, kube)
    assert (isinstance(found, Unknown), due_s) == (True, NOW_S)


async def test_a_look_without_a_record_leaves_the_token_due() -> None:
    """A person has deleted it, and it is rebuilt."""
    assert await token(RecordingKube(), None, 7.0) == (Unknown(reason="it was not read"), 7.0)
