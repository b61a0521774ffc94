"""One Secret in which a person wrote another generation: it is held alone, and no other leaf follows it."""

from dataclasses import replace

import pytest
from tests.model.certificates import LEAF_S, everything, judged, leaf_seen, material, recorded, secured, with_leaf
from tests.model.values import IDS, NAME, NOW_S, revision
from tests.observe.test_gather import api_server, healthy, look, snapshot

from kafka_quorum.model.actions import ComposeLeaf
from kafka_quorum.model.believed import AHEAD_MAX, believed
from kafka_quorum.model.certified import holders
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import OPERATOR, Material, controller
from kafka_quorum.model.names import GENERATION_MAX
from kafka_quorum.observe import gather
from kafka_quorum.plan.part import Part
from kafka_quorum.plan.security.certificates import certificates
from kafka_quorum.plan.security.shared import HELD

RECORD = recorded()
SECOND, THIRD = controller(IDS[1]), controller(IDS[2])
LATE_S = NOW_S + LEAF_S - 60


async def seen(found: Material, made: int = 1) -> Material:
    """These leafs in a look at a quorum whose controllers were made for this generation."""
    runtime = secured(certificates=made)
    taken = replace(await snapshot(api_server()), record=recorded(runtime), revisions=(revision(runtime),))
    judged_ = gather.observed(taken, await look(taken, healthy()), found).material
    assert judged_ is not None
    return judged_


def written(part: Part) -> dict[str, int]:
    """The generation that each Secret gets."""
    return {str(one.holder): one.generation for one in part.actions if isinstance(one, ComposeLeaf)}


@pytest.mark.parametrize("number", [GENERATION_MAX, GENERATION_MAX - 1, 2 + AHEAD_MAX])
async def test_a_number_far_above_the_others_is_held_alone(number: int) -> None:
    """The sentence names the Secret and the way out; the others stay, and are renewed as ever."""
    found = await seen(with_leaf(material(RECORD), SECOND, leaf_seen(SECOND, generation=number)))
    part = certificates(judged(found))
    assert written(part) == {}
    ((reason, message),) = [(one.reason, one.message) for one in part.waits]
    assert reason == HELD
    assert f"key generation of Secret {SECOND.secret(NAME)} is {number}" in message
    assert "write 1 there, or delete the Secret" in message
    renewed = written(certificates(judged(found, now_s=LATE_S)))
    assert renewed == {str(one): 2 for one in holders(RECORD) if one != SECOND}


async def test_several_altered_secrets_do_not_prove_each_other() -> None:
    """Whatever number two of them share, what the others have counts."""
    found = with_leaf(material(RECORD), SECOND, leaf_seen(SECOND, generation=GENERATION_MAX))
    found = await seen(with_leaf(found, OPERATOR, leaf_seen(OPERATOR, generation=GENERATION_MAX)))
    assert [isinstance(found.leaf(each), Unknown) for each in (SECOND, OPERATOR, THIRD)] == [True, True, False]
    assert written(certificates(judged(found))) == {}


async def test_generations_that_are_ahead_for_a_reason_are_believed() -> None:
    """Renewals that controllers have not followed yet, and all that is left after the others were lost."""
    found = material(RECORD)
    for holder in holders(RECORD):
        found = with_leaf(found, holder, leaf_seen(holder, generation=40, files=everything()))
    assert await seen(found) == found
    found = with_leaf(found, SECOND, None)
    assert (await seen(found)).leaf(SECOND) == Known(value=None)
    high = with_leaf(material(RECORD), SECOND, leaf_seen(SECOND, generation=GENERATION_MAX - 1))
    assert await seen(high, made=GENERATION_MAX - 1) == high


async def test_without_any_other_number_that_of_all_secrets_is_believed() -> None:
    """If no revision says what controllers are made for, the lowest generation of a Secret counts, however high."""
    far = 2 * AHEAD_MAX
    found = material(RECORD)
    for holder in holders(RECORD):
        found = with_leaf(found, holder, leaf_seen(holder, generation=far, files=everything()))
    assert believed(found, NAME, 0) == found
    high = believed(with_leaf(found, SECOND, leaf_seen(SECOND, generation=2 * far)), NAME, 0)
    assert [isinstance(high.leaf(each), Unknown) for each in (SECOND, THIRD)] == [True, False]


async def test_no_look_at_certificates_stays_none() -> None:
    """A quorum without TLS has no generation."""
    taken = await snapshot(api_server())
    assert gather.observed(taken, await look(taken, healthy())).material is None
