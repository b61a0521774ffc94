"""Operators are killed, wait for the lease, or act at the same time: the result is the same, and no write is lost."""

import random
import time

import pytest

from demo import NAMESPACE
from harness import operator
from harness.quorum import Quorum
from harness.shell import holds_for, kubectl, wait_until
from scenarios.conftest import Write
from scenarios.expectations import assert_nothing_lost, assert_one_quorum, assert_removed, assert_untouched
from scenarios.test_scaling import ALL, FIVE, exactly, leader, scale
from scenarios.test_wiped_disk import lose_disk, wait_cured

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(900)]


def test_killed_throughout_a_three_to_five_to_three(ready: Quorum, writing: Write, randomly_seed: int) -> None:
    """With a kill at a random moment after each take-over both targets are reached, and no staying pod restarts."""
    dice = random.Random(randomly_seed)  # noqa: S311 - moments of crashes, not cryptography
    writer, running, kills = writing(ready), ready.running(), 0
    began_s = time.monotonic()
    for target in (FIVE, None):
        wanted = target or {*sorted(FIVE - {leader(ready)})[1:]}
        ready.patch(exactly(wanted))
        while not _reached(ready, wanted):
            operator.wait_acting()
            time.sleep(dice.uniform(0.0, 3.0))  # this is no wait for a state: the moment of the crash varies
            operator.crash()
            kills += 1
            assert time.monotonic() < began_s + 600, f"{wanted} not reached after {kills} kills"
        ready.wait_ready(120)
        assert_untouched(ready, running, set(running) & wanted)
        running = ready.running()
    print(f"seed {randomly_seed}: killed {kills} times in {time.monotonic() - began_s:.0f} s")
    assert kills >= 2
    assert_removed(ready, FIVE - wanted)
    assert_one_quorum(ready, initial=ALL, voters=wanted)
    assert_nothing_lost(writer)


def _reached(quorum: Quorum, wanted: set[int]) -> bool:
    return {int(key.partition("-")[0]) for key in quorum.voters()} == wanted


def test_two_operators_at_once(quorum: Quorum, serving: str, writing: Write) -> None:
    """Two operators with separate leases make one quorum; no staying pod restarts, and no write is lost."""
    with operator.second(serving):
        quorum.apply()
        quorum.wait_ready(180)
        assert_one_quorum(quorum, initial=ALL, voters=ALL)
        running, writer = quorum.running(), writing(quorum)
        scale(quorum, 5)
        quorum.wait_ready(180)
        assert_untouched(quorum, running, ALL)
        lost = lose_disk(quorum, 3001)
        wait_cured(quorum, lost)
        running = quorum.running()
        staying = {*sorted(FIVE - {leader(quorum)})[1:]}
        quorum.patch(exactly(staying))
        quorum.wait_ready(180)
        assert_untouched(quorum, running, staying)
        assert_removed(quorum, FIVE - staying)
        assert_one_quorum(quorum, initial=ALL, voters=staying)
        assert len({note for reason, note in quorum.events() if reason == "IdentityMade"}) == 1
        assert_nothing_lost(writer)
    quorum.wait_ready()


def test_another_replica_stands_by(ready: Quorum) -> None:
    """Of two replicas one holds the lease; after its end the other one acts, and the quorum stays."""
    running = ready.running()
    try:
        operator.start()
        wait_until("two operators are there, and no third", lambda: len(operator.pods()) == 2, 60)
        first = operator.wait_acting()["metadata"]["name"]
        (other,) = (pod["metadata"]["name"] for pod in operator.pods() if pod["metadata"]["name"] != first)
        holds_for("the lease stays", lambda: operator.holder() == first, 8)
        kubectl("-n", NAMESPACE, "delete", "pod", first, "--force", "--grace-period=0", "--wait=false")
        wait_until("another one holds the lease", lambda: operator.holder() not in ("", first), 60)
        assert operator.holder() == other
        ready.delete_pod(ready.pods()[3000]["metadata"]["name"])
        wait_until("the pod is made again", lambda: ready.running().get(3000, running[3000]) != running[3000], 60)
        ready.wait_ready()
    finally:
        operator.wait_ready()
    assert_untouched(ready, running, {3001, 3002})
