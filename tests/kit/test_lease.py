"""The lease: one holder acts, another acquires it only after it has lapsed, and a lapsed lease is not held."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from tests import virtual_time
from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.kubernetes.api import ModelKube
from tests.simulation.model.kubernetes.kube_model import KubeModel

from kit.errors import KubeUnavailable
from kit.kube.protocol import LEASES, Json, ResourceType
from kit.lease import DURATION_S, MARGIN_S, RENEW_EVERY_S, Lease

HELD_S = DURATION_S - MARGIN_S


class SharedClock:
    """The clock of one machine, moved by the test. The clock of another machine has another zero."""

    def __init__(self, zero_s: float = 0.0) -> None:
        """Starts at this second."""
        self.seconds = zero_s

    def now(self) -> datetime:
        """A wall clock that agrees with no other machine's, because stamps must not be compared."""
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        """The second that the test has set."""
        return self.seconds


class LeaseStore(ModelKube):
    """The simulation's API server, which may be down, and to which another operator may write first."""

    def __init__(self) -> None:
        """Starts without a lease."""
        super().__init__(KubeModel(VirtualClock()))
        self.down = self.loses = False
        self.fault: Exception | None = None
        self.before_write = self.nothing

    async def get(self, resource: ResourceType, namespace: str, name: str) -> Json | None:
        """The lease as it is stored."""
        self._answer()
        return await super().get(resource, namespace, name)

    async def create(self, resource: ResourceType, namespace: str, body: Json, *, dry_run: bool = False) -> Json:
        """Creates the lease, after `before_write`."""
        self._answer()
        self.before_write()
        return await super().create(resource, namespace, body, dry_run=dry_run)

    async def replace(self, resource: ResourceType, namespace: str, body: Json) -> Json:
        """Replaces the lease, after `before_write`; the answer may be lost."""
        self._answer()
        self.before_write()
        replaced = await super().replace(resource, namespace, body)
        if self.loses:
            raise KubeUnavailable("the answer is lost")
        return replaced

    def nothing(self) -> None:
        """No other write comes first."""

    def store(self, body: Json) -> None:
        """Writes the lease as another operator, with the next version."""
        metadata = {name: value for name, value in body["metadata"].items() if name != "resourceVersion"}
        self.model.seed((LEASES.plural, "ns", "op"), {**body, "metadata": metadata})

    @property
    def item(self) -> Json:
        """The lease."""
        found = self.model.get(LEASES, "ns", "op")
        assert found is not None
        return found

    @property
    def holder(self) -> str:
        """The holder of the lease."""
        return str(self.item["spec"]["holderIdentity"])

    def _answer(self) -> None:
        if self.down:
            raise KubeUnavailable("no answer")
        if self.fault is not None:
            raise self.fault


def lease_of(store: LeaseStore, clock: SharedClock, holder: str) -> Lease:
    """The lease as one operator uses it."""
    return Lease(store, clock, namespace="ns", name="op", holder=holder)


async def test_nothing_is_held_before_the_first_answer() -> None:
    """An operator does not hold the lease before its first attempt."""
    assert not lease_of(LeaseStore(), SharedClock(), "a").held()


async def test_first_one_acts_and_the_second_stands_by() -> None:
    """The operator that creates the lease holds it; the other one does not."""
    store = LeaseStore()
    first, second = lease_of(store, SharedClock(), "a"), lease_of(store, SharedClock(1000), "b")
    await first.step()
    await second.step()
    assert (first.held(), second.held(), store.holder) == (True, False, "a")


async def test_it_lapses_by_the_holders_own_clock_before_it_can_be_taken() -> None:
    """Without an answer, the holder stops acting a margin before the end of its duration."""
    store, clock = LeaseStore(), SharedClock()
    lease = lease_of(store, clock, "a")
    await lease.step()
    store.down = True
    clock.seconds = HELD_S - 0.1
    await lease.step()
    assert lease.held()
    clock.seconds = HELD_S
    assert not lease.held()


async def test_a_lease_that_does_not_change_is_taken_over() -> None:
    """Another's lease is acquired if it did not change for its whole duration by our own clock, and not before."""
    store, clock = LeaseStore(), SharedClock(500)
    await lease_of(store, SharedClock(), "a").step()
    second = lease_of(store, clock, "b")
    await second.step()
    clock.seconds += DURATION_S
    await second.step()
    assert not second.held()
    clock.seconds += 0.1
    await second.step()
    assert (second.held(), store.holder) == (True, "b")
    assert store.item["spec"]["leaseTransitions"] == 1


async def test_a_renewed_lease_is_not_taken_over() -> None:
    """While its holder renews it, no other operator acquires it."""
    store, clock, other = LeaseStore(), SharedClock(), SharedClock(77)
    first, second = lease_of(store, clock, "a"), lease_of(store, other, "b")
    for _ in range(20):
        await first.step()
        await second.step()
        assert (first.held(), second.held()) == (True, False)
        clock.seconds += HELD_S / 2
        other.seconds += HELD_S / 2


async def test_two_never_hold_it_at_once() -> None:
    """After the holder's last renewal, its lease lapses before another operator acquires it."""
    store, clock = LeaseStore(), SharedClock()
    first, second = lease_of(store, clock, "a"), lease_of(store, clock, "b")
    await first.step()
    for _ in range(40):
        clock.seconds += 1
        await second.step()
        assert not (first.held() and second.held())
    assert second.held()


async def test_released_lease_is_free_at_once() -> None:
    """An operator that stops in an orderly way releases the lease, and another one acquires it at once."""
    store = LeaseStore()
    first, second = lease_of(store, SharedClock(), "a"), lease_of(store, SharedClock(), "b")
    await first.step()
    await first.release()
    await second.step()
    assert (first.held(), second.held()) == (False, True)


async def test_release_leaves_another_holders_lease() -> None:
    """An operator that is not the holder any more does not release the lease."""
    store, clock = LeaseStore(), SharedClock()
    first = lease_of(store, clock, "a")
    await first.step()
    store.store({**store.item, "spec": {**store.item["spec"], "holderIdentity": "b"}})
    await first.release()
    assert store.holder == "b"


async def test_a_restarted_process_of_the_same_name_goes_on() -> None:
    """A container that is restarted in its pod holds the lease at once."""
    store = LeaseStore()
    await lease_of(store, SharedClock(), "a").step()
    again = lease_of(store, SharedClock(), "a")
    await again.step()
    assert again.held()


@pytest.mark.parametrize("first_write", [True, False], ids=["create", "replace"])
async def test_of_two_at_the_same_moment_one_gets_it(first_write: bool) -> None:  # noqa: FBT001 - a table's column
    """If two operators see the same free lease, only one gets it, by compare-and-swap."""
    store = LeaseStore()
    if not first_write:
        before = lease_of(store, SharedClock(), "z")
        await before.step()
        await before.release()
    late = lease_of(store, SharedClock(), "b")

    def another_is_faster() -> None:
        store.before_write = store.nothing
        body = {"metadata": {"name": "op", "namespace": "ns"}, "spec": {"holderIdentity": "a"}}
        store.store(body)

    store.before_write = another_is_faster
    await late.step()
    assert (late.held(), store.holder) == (False, "a")


@pytest.mark.parametrize(
    "spec",
    [
        None,
        "text",
        {"holderIdentity": None, "leaseDurationSeconds": None, "leaseTransitions": None},
        {"holderIdentity": "", "leaseTransitions": "many", "leaseDurationSeconds": "long"},
    ],
)
async def test_a_lease_that_was_emptied_is_acquired(spec: object) -> None:
    """A lease without a holder is free, whatever else it contains."""
    store = LeaseStore()
    store.store({"metadata": {"name": "op", "namespace": "ns"}, "spec": spec})
    lease = lease_of(store, SharedClock(), "a")
    await lease.step()
    assert (lease.held(), store.holder) == (True, "a")


@pytest.mark.parametrize("duration", [2**31 - 1, 0, -5, None, "x"])
async def test_an_edited_duration_is_not_waited_for_without_end(duration: object) -> None:
    """Another's lease is acquired within two minutes after its last change, whatever duration it contains."""
    store, clock = LeaseStore(), SharedClock()
    spec = {"holderIdentity": "gone", "leaseDurationSeconds": duration}
    store.store({"metadata": {"name": "op", "namespace": "ns"}, "spec": spec})
    lease = lease_of(store, clock, "a")
    await lease.step()
    assert not lease.held()
    clock.seconds += 121
    await lease.step()
    assert lease.held()


@pytest.mark.parametrize("duration", [1, 0, -5, True])
async def test_an_edited_duration_lets_no_two_act(duration: object) -> None:
    """A lease whose duration was shortened is still not acquired while its holder acts."""
    store, clock = LeaseStore(), SharedClock()
    holder, other = lease_of(store, clock, "a"), lease_of(store, clock, "b")
    await holder.step()
    lease = await store.get(LEASES, "ns", "op")
    assert lease is not None
    store.store({**lease, "spec": {**lease["spec"], "leaseDurationSeconds": duration}})
    await other.step()
    for _ in range(int(DURATION_S)):
        clock.seconds += 1
        await other.step()
        assert not (holder.held() and other.held())
    clock.seconds += 2
    await other.step()
    assert other.held()


async def kept(store: LeaseStore, clock: SharedClock, rounds: int) -> tuple[Lease, list[float], list[int]]:
    """This many attempts: the lease, the pauses after them, and the attempts that acquired it."""
    lease, acquired, pauses = lease_of(store, clock, "a"), [], []
    for number in range(rounds):
        pauses.append(await lease.round(lambda number=number: acquired.append(number)))  # type: ignore[misc]
        clock.seconds += pauses[-1]
    return lease, pauses, acquired


@pytest.mark.parametrize("fault", [KeyError("spec"), TypeError(), ValueError("x"), RuntimeError("loop"), OSError(5)])
async def test_no_error_ends_the_attempts(fault: Exception) -> None:
    """After an unexpected error the next attempt follows, and succeeds when it can."""
    store, clock = LeaseStore(), SharedClock()
    store.fault = fault
    lease, pauses, acquired = await kept(store, clock, 3)
    assert (lease.held(), acquired, pauses) == (False, [], [2.0, 2.0, 2.0])
    assert lease.attempt_age_s == 2.0
    store.fault = None
    assert await lease.round(lambda: acquired.append(9)) == 5.0
    assert (lease.held(), acquired, lease.attempt_age_s) == (True, [9], 0.0)


async def test_a_lease_that_lapsed_and_was_nobody_elses_continues_the_term() -> None:
    """Another operator may have acted only if the lease was seen without this holder, also if an answer was lost."""
    store, clock, other = LeaseStore(), SharedClock(), SharedClock(77)
    first, second = lease_of(store, clock, "a"), lease_of(store, other, "b")
    terms: list[bool] = []

    async def after(seconds: float) -> None:
        clock.seconds += seconds
        other.seconds += seconds
        await first.round(lambda: terms.append(first.succeeds))

    await after(0.0)
    await after(HELD_S + 1)
    assert terms == [True, False]
    await second.round(lambda: None)
    other.seconds += DURATION_S + 0.1
    await second.round(lambda: None)
    assert store.holder == "b"
    await second.release()
    await after(HELD_S + 1)
    assert (terms, store.holder) == ([True, False, True], "a")
    store.store({**store.item, "spec": {**store.item["spec"], "holderIdentity": ""}})
    store.loses = True
    await after(HELD_S + 1)
    assert (first.held(), store.holder) == (False, "a")
    store.loses = False
    await after(1.0)
    assert terms == [True, False, True, True]


async def test_another_one_that_held_it_between_two_renewals_begins_a_term() -> None:
    """A person freed the lease, and another operator held and released it: what is remembered may be out of date."""
    store, clock, other = LeaseStore(), SharedClock(), SharedClock(77)
    first, second = lease_of(store, clock, "a"), lease_of(store, other, "b")
    terms: list[bool] = []
    for freed in (False, False, True, False):
        if freed:
            store.store({**store.item, "spec": {**store.item["spec"], "holderIdentity": ""}})
            await second.step()
            assert second.held()
            await second.release()
        await first.round(lambda: terms.append(first.succeeds))
        assert first.held()
    assert terms == [True, True]


async def test_an_attempt_that_hangs_shows_in_its_age() -> None:
    """The age of the last attempt grows while no attempt ends, and the probe reads it."""
    store, clock = LeaseStore(), SharedClock()
    lease = lease_of(store, clock, "a")
    await lease.step()
    clock.seconds += 77
    assert lease.attempt_age_s == 77


@pytest.mark.parametrize("fault", [KubeUnavailable("no answer"), KeyError("spec"), OSError(5)])
async def test_a_release_that_fails_ends_nothing(fault: Exception) -> None:
    """If the release fails, the stop continues, and the operator does not hold the lease any more."""
    store = LeaseStore()
    lease = lease_of(store, SharedClock(), "a")
    await lease.step()
    store.fault = fault
    await lease.release()
    assert not lease.held()


async def test_a_lease_that_lapsed_is_released_too() -> None:
    """A holder that could not renew in time, and stops, still releases the lease."""
    store, clock = LeaseStore(), SharedClock()
    lease = lease_of(store, clock, "a")
    await lease.step()
    clock.seconds += DURATION_S
    assert not lease.held()
    await lease.release()
    assert store.holder == ""


def test_a_renewal_that_hangs_is_given_up() -> None:
    """If the API server never answers, only the attempt ends, at its deadline."""

    class Hanging(LeaseStore):
        async def get(self, resource: ResourceType, namespace: str, name: str) -> Json | None:
            await asyncio.sleep(3600)
            return await LeaseStore.get(self, resource, namespace, name)

    async def step() -> float:
        lease = lease_of(Hanging(), SharedClock(), "a")
        await lease.step()
        return asyncio.get_running_loop().time()

    assert virtual_time.run(step()) <= 1000.0 + RENEW_EVERY_S + 0.1


@pytest.mark.parametrize("count", [2**31 - 1, 2**40, -3, True])
async def test_an_edited_count_of_transitions_keeps_no_operator_out(count: object) -> None:
    """The count of transitions stays within the 32 bits of its field, because the API server refuses more."""
    store = LeaseStore()
    spec = {"holderIdentity": "", "leaseTransitions": count}
    store.store({"metadata": {"name": "op", "namespace": "ns"}, "spec": spec})
    lease = lease_of(store, SharedClock(), "a")
    await lease.step()
    assert lease.held()
    assert 0 <= store.item["spec"]["leaseTransitions"] < 2**31
