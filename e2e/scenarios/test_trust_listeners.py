"""The controllers' listener and authority changed online, beside brokers of others and beside a pool.

The owner of the others reads only the published page. Clients write metadata and records all the time, and the operator
is killed at random.
"""

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import pytest

from harness import operator
from harness.clients import Clients
from harness.gaps import WRITE, Meter, longest
from harness.owner import Owner
from harness.pool import Pool
from harness.quorum import Quorum
from harness.shell import Json, wait_until
from harness.stopping import Stopping
from scenarios.authorities import change_authority
from scenarios.pools import SMALL, Kafka, assert_nothing_lost
from scenarios.rolls import operator_killed_at_random
from scenarios.test_trust import served

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(4800)]

PLAIN: Final[Json] = {"name": "CONTROLLER", "port": 9093, "protocol": "PLAINTEXT"}
SSL: Final[Json] = {"name": "SECURE", "port": 9193, "protocol": "SSL"}
SASL: Final[Json] = {"name": "USERS", "port": 9293, "protocol": "SASL_SSL"}
_STOPS: Final = 12
"""As often as the leader changes in three changes of a listener and one of the authority: as many are compared."""
_ROUNDS: Final = 4
"""As often as each broker stops meanwhile."""
_LEAST_S: Final = 0.2
"""Shorter times without an answer are no gaps."""
_CHANGED_TIMEOUT_S: Final = 1200.0
_POLL_S: Final = 5.0
"""Each look runs kubectl: more of them take the processor from what is measured."""
_GOAL: Final = 1.5
_CHANGE: Final = "another listener"


def asks(quorum: Quorum, listener: Json) -> None:
    """Ask for this listener."""
    quorum.patch({"controllers": {"listeners": [listener]}})


def stage(quorum: Quorum) -> str:
    """The stage of the migration; empty without one."""
    return str((quorum.status().get("migration") or {}).get("name", ""))


def wait_changed(quorum: Quorum, listener: Json) -> None:
    """Wait until every controller has this listener alone, and the quorum is ready."""

    def alone() -> bool:
        if stage(quorum):
            return False
        texts = quorum.properties().values()
        only = f"listeners={listener['name']}://:{listener['port']}\n"
        return len(texts) == 3 and all(only in text for text in texts)

    wait_until(f"only listener {listener['name']} is left", alone, _CHANGED_TIMEOUT_S, poll_s=_POLL_S)
    quorum.wait_ready(180)


def stop_active(quorum: Quorum) -> None:
    """Delete the pod of the active controller, and wait until it is back: the graceful stop that a roll makes."""
    active = int(wait_until("the active controller is known", lambda: quorum.status()["quorum"].get("leaderID"), 60))
    old = quorum.pods()[active]["metadata"]
    quorum.delete_pod(old["name"])

    def again() -> bool:
        pod = quorum.pods().get(active)
        return pod is not None and pod["metadata"]["uid"] != old["uid"]

    wait_until("its pod is made again", again, 180)
    quorum.wait_ready(120)


def stop_broker(owner: Owner, node_id: int) -> None:
    """Stop a broker as its owner does to follow the page, and wait until all of them serve."""
    owner.shut_down(node_id)
    wait_until("every broker serves", lambda: not any(one.fault for one in owner.brokers().values()), 180)


def measured(meter: Meter, stops: list[tuple[float, float]], act: Callable[[], None]) -> tuple[float, float]:
    """The longest gaps of changes of metadata while this is done: beside no stop of a broker, and beside one."""
    lane = meter.lanes[WRITE]
    known, stopped = len(lane.gaps), len(stops)
    act()
    return longest(lane.gaps[known:], stops[stopped:])


def changes_measured(
    quorum: Quorum, bootstrap: str, stops: list[tuple[float, float]], brokers: Sequence[Callable[[], None]], seed: int
) -> None:
    """PLAINTEXT to SSL, another authority, SASL_SSL and half-way back, the operator killed at random.

    Prints the longest gaps beside those of graceful stops; `brokers` stop one broker each. The operator is killed
    during both, because its start takes processor time from everything else. The active controller stops as often with
    the first listener as with the last one, because a connection with TLS takes longer.
    """
    killed = operator_killed_at_random(random.Random(seed), 15, 60)  # noqa: S311 - moments of crashes
    with Meter({"bootstrap.servers": bootstrap}, least_s=_LEAST_S) as meter, killed:
        active = [measured(meter, stops, lambda: stop_active(quorum)) for _ in range(_STOPS)]
        stopped = [measured(meter, stops, each) for _ in range(_ROUNDS) for each in brokers]
        changes = [
            measured(meter, stops, lambda: _changed(quorum, SSL)),
            measured(meter, stops, lambda: change_authority(quorum, _CHANGED_TIMEOUT_S)),
            measured(meter, stops, lambda: _changed(quorum, SASL)),
            measured(meter, stops, lambda: _half_way_back(quorum)),
        ]
        secured = [measured(meter, stops, lambda: stop_active(quorum)) for _ in range(_STOPS)]
    print("the longest gap of each change, without and beside stops of brokers:", changes, flush=True)
    beside = (
        ("the active controller with PLAINTEXT", active, 0),
        ("the active controller with SASL_SSL", secured, 0),
        ("a broker", stopped, 1),
    )
    for what, stop, kind in beside:
        gap_s, stop_s = max(pair[kind] for pair in changes), max(_LEAST_S, *(pair[kind] for pair in stop))
        figures = f"graceful stop of {what} {stop_s:.2f} s, {_CHANGE} {gap_s:.2f} s: {gap_s / stop_s:.2f} times"
        print(f"longest gap of metadata: {figures} (goal {_GOAL})", flush=True)
    assert len(served(quorum)) == 3


def test_listeners_change_beside_brokers_of_others(
    quorum: Quorum, client_image: str, serving: str, randomly_seed: int
) -> None:
    """Their owner follows the page, and no acknowledged record is lost; metadata is written on."""
    assert serving
    owner = Owner(namespace=quorum.namespace, quorum=quorum.name)
    access = {"bootstrapServers": owner.bootstrap().split(",")}
    quorum.apply({"controllers": {"listeners": [PLAIN]}, "brokerAccess": access})
    quorum.wait_ready()
    with owner, Clients(namespace=quorum.namespace, bootstrap=owner.bootstrap(), image=client_image) as clients:
        brokers = [partial(stop_broker, owner, each) for each in owner.node_ids]
        changes_measured(quorum, owner.bootstrap(), owner.stops, brokers, randomly_seed)
        assert not clients.finish().faults
    operator.wait_ready()


def test_listeners_change_beside_a_pool(
    quorum: Quorum, pools: Callable[[str], Pool], client_image: str, serving: str, randomly_seed: int
) -> None:
    """Brokers of a pool follow by themselves, and no acknowledged record is lost; metadata is written on."""
    assert serving
    kafka = Kafka(quorum=quorum, pools=[pools("brokers")], image=client_image)
    quorum.apply({"controllers": SMALL["controllers"] | {"listeners": [PLAIN]}})
    kafka.pool.apply()
    kafka.wait_ready()
    with Stopping(kafka.pool) as stopping, kafka.clients() as users:
        brokers = [partial(_stop_of_pool, kafka.pool, each) for each in sorted(kafka.pool.pods())]
        changes_measured(quorum, kafka.pool.bootstrap, stopping.stops, brokers, randomly_seed)
        kafka.wait_ready()
        assert_nothing_lost(users)
    operator.wait_ready()


def _stop_of_pool(pool: Pool, node_id: int) -> None:
    pool.delete_pod(node_id)
    pool.wait_ready()


def _changed(quorum: Quorum, listener: Json) -> None:
    asks(quorum, listener)
    wait_changed(quorum, listener)


def _half_way_back(quorum: Quorum) -> None:
    """Ask for PLAINTEXT again, take it back once the brokers follow, and end with SASL_SSL as before."""
    asks(quorum, PLAIN)
    wait_until("the brokers follow", lambda: stage(quorum) in {"Brokers", "Prefer"}, _CHANGED_TIMEOUT_S, poll_s=2.0)
    asks(quorum, SASL)
    wait_changed(quorum, SASL)
