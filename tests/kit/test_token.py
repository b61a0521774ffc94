"""The disruption token: one holder at a time, given back by its holder only, and never taken over what was not seen."""

import contextlib

import pytest
from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.kubernetes.api import ModelKube
from tests.simulation.model.kubernetes.kube_model import KubeModel

from kit.errors import KubeAlreadyExists, KubeConflict, KubeError, KubeNotFound, KubeUnavailable
from kit.kube.protocol import LEASES, Json, ResourceType
from kit.token import ABSENT, give_back, read, take, token_from

SPACE, NAME, QUORUM, POOL = "kafka", "alpha-disruption", "quorum/alpha", "pool/hot"


def store() -> tuple[ModelKube, VirtualClock]:
    """An API server without a Lease."""
    clock = VirtualClock()
    return ModelKube(KubeModel(clock)), clock


async def test_a_lease_that_does_not_exist_is_free() -> None:
    """Nobody has the token before its first holder made the Lease."""
    kube, _ = store()
    assert await read(kube, SPACE, NAME) == ABSENT
    assert ABSENT.free


async def test_taken_and_given_back() -> None:
    """The token is held from the take to the giving back, with the time of the take, and can be taken again."""
    kube, clock = store()
    await take(kube, clock, SPACE, NAME, holder=QUORUM, seen=ABSENT, metadata={"labels": {"of": "alpha"}})
    held = await read(kube, SPACE, NAME)
    assert (held.holder, held.free, held.since[:2]) == (QUORUM, False, "20")
    await give_back(kube, SPACE, NAME, holder=QUORUM, seen=held)
    freed = await read(kube, SPACE, NAME)
    assert (freed.holder, freed.free, freed.since) == ("", True, "")
    await take(kube, clock, SPACE, NAME, holder=POOL, seen=freed)
    lease = await kube.get(LEASES, SPACE, NAME)
    assert lease is not None
    assert (token_from(lease).holder, lease["spec"]["leaseTransitions"]) == (POOL, 1)
    assert lease["metadata"]["labels"] == {"of": "alpha"}


async def test_of_two_takers_one_is_refused() -> None:
    """Two that saw the token free at the same moment do not both get it, whether the Lease existed or not."""
    kube, clock = store()
    await take(kube, clock, SPACE, NAME, holder=POOL, seen=ABSENT)
    with pytest.raises(KubeAlreadyExists):
        await take(kube, clock, SPACE, NAME, holder=QUORUM, seen=ABSENT)
    await give_back(kube, SPACE, NAME, holder=POOL, seen=await read(kube, SPACE, NAME))
    free = await read(kube, SPACE, NAME)
    await take(kube, clock, SPACE, NAME, holder=POOL, seen=free)
    with pytest.raises(KubeConflict):
        await take(kube, clock, SPACE, NAME, holder=QUORUM, seen=free)
    assert (await read(kube, SPACE, NAME)).holder == POOL


async def test_a_token_of_another_is_neither_taken_nor_given_back() -> None:
    """Only its holder gives the token back, and nobody takes it before that."""
    kube, clock = store()
    await take(kube, clock, SPACE, NAME, holder=POOL, seen=ABSENT)
    held = await read(kube, SPACE, NAME)
    with pytest.raises(ValueError, match="pool/hot holds the token"):
        await take(kube, clock, SPACE, NAME, holder=QUORUM, seen=held)
    await give_back(kube, SPACE, NAME, holder=QUORUM, seen=held)
    assert await read(kube, SPACE, NAME) == held


async def test_taken_twice_by_one_holder() -> None:
    """A take whose answer was lost is repeated without harm: it is still the first one."""
    kube, clock = store()
    await take(kube, clock, SPACE, NAME, holder=QUORUM, seen=ABSENT)
    held = await read(kube, SPACE, NAME)
    await take(kube, clock, SPACE, NAME, holder=QUORUM, seen=held)
    assert await read(kube, SPACE, NAME) == held


@pytest.mark.parametrize("late", [0, 1], ids=["the first write", "the second write"])
async def test_a_token_is_not_freed_late_under_its_next_use(late: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever write of giving it back has its effect late: a token that was taken, or kept, since is not freed."""
    kube, clock = store()
    await take(kube, clock, SPACE, NAME, holder=QUORUM, seen=ABSENT)
    written, replace = list[Json](), kube.replace

    async def unheard(resource: ResourceType, namespace: str, body: Json) -> Json:
        written.append(body)
        if len(written) > late:
            raise KubeUnavailable("no answer")
        return await replace(resource, namespace, body)

    with monkeypatch.context() as patched:
        patched.setattr(kube, "replace", unheard)
        with pytest.raises(KubeUnavailable):
            await give_back(kube, SPACE, NAME, holder=QUORUM, seen=await read(kube, SPACE, NAME))
    seen = await read(kube, SPACE, NAME)
    assert (seen.holder, seen.ends) == (QUORUM, bool(late))
    await take(kube, clock, SPACE, NAME, holder=QUORUM, seen=seen)
    with contextlib.suppress(KubeConflict):
        await kube.replace(LEASES, SPACE, written[-1])
    assert (await read(kube, SPACE, NAME)).holder == QUORUM


async def test_a_token_that_ends_is_taken_again_or_given_back() -> None:
    """Half given back it is still its holder's: nobody else takes it, and its holder goes either way."""
    kube, clock = store()
    await take(kube, clock, SPACE, NAME, holder=QUORUM, seen=ABSENT)
    lease = await kube.get(LEASES, SPACE, NAME)
    assert lease is not None
    await kube.replace(LEASES, SPACE, {**lease, "spec": {**lease["spec"], "leaseDurationSeconds": 1}})
    ending = await read(kube, SPACE, NAME)
    assert (ending.holder, ending.free, ending.ends) == (QUORUM, False, True)
    with pytest.raises(ValueError, match="holds the token"):
        await take(kube, clock, SPACE, NAME, holder=POOL, seen=ending)
    await take(kube, clock, SPACE, NAME, holder=QUORUM, seen=ending)
    assert not (await read(kube, SPACE, NAME)).ends
    with pytest.raises(KubeConflict):
        await give_back(kube, SPACE, NAME, holder=QUORUM, seen=ending)
    await give_back(kube, SPACE, NAME, holder=QUORUM, seen=await read(kube, SPACE, NAME))
    freed = await read(kube, SPACE, NAME)
    assert (freed.free, freed.ends) == (True, False)
    lease = await kube.get(LEASES, SPACE, NAME)
    assert lease is not None
    assert lease["spec"]["leaseTransitions"] == 0


async def test_a_deleted_lease_is_not_written_over() -> None:
    """A Lease that was deleted since it was seen is not given back: the next look sees that it is free."""
    kube, clock = store()
    await take(kube, clock, SPACE, NAME, holder=QUORUM, seen=ABSENT)
    held = await read(kube, SPACE, NAME)
    lease = await kube.get(LEASES, SPACE, NAME)
    assert lease is not None
    await kube.delete(LEASES, SPACE, NAME, uid=lease["metadata"]["uid"])
    with pytest.raises((KubeNotFound, KubeConflict)) as gone:
        await give_back(kube, SPACE, NAME, holder=QUORUM, seen=held)
    assert isinstance(gone.value, KubeError)
    assert (await read(kube, SPACE, NAME)).free


def test_a_lease_of_another_form_is_read() -> None:
    """A Lease whose spec was removed or edited is read as far as possible, and its text cannot break a line."""
    item = {"metadata": {"resourceVersion": "7"}, "spec": None}
    assert token_from(item).free
    odd = {"metadata": {"resourceVersion": "7"}, "spec": {"holderIdentity": "pool/x\nnext line" * 100}}
    assert "\n" not in token_from(odd).holder
    assert len(token_from(odd).holder) <= 300
