"""The controllers' listener changed online, beside brokers of others whose owner reads only the published page.

A client writes metadata and records all the time, and the operator is killed at random.
"""

import random
from collections.abc import Callable
from functools import partial
from typing import Final

import pytest

from harness import operator
from harness.clients import Clients
from harness.gaps import WRITE, Meter, longest
from harness.owner import Owner
from harness.quorum import Quorum
from harness.shell import Json, wait_until
from scenarios.rolls import operator_killed_at_random
from scenarios.test_trust import served

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(4800)]

PLAIN: Final[Json] = {"name": "CONTROLLER", "port": 9093, "protocol": "PLAINTEXT"}
SSL: Final[Json] = {"name": "SECURE", "port": 9193, "protocol": "SSL"}
SASL: Final[Json] = {"name": "USERS", "port": 9293, "protocol": "SASL_SSL"}
_STOPS: Final = 9
"""As often as the leader changes in three changes of a listener: the longest of as many is compared."""
_LEAST_S: Final = 0.2
"""Shorter times without an answer are no gaps."""
_CHANGED_TIMEOUT_S: Final = 1200.0
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
        texts = quorum.properties().values()
        only = f"listeners={listener['name']}://:{listener['port']}\n"
        return len(texts) == 3 and all(only in text for text in texts) and not stage(quorum)

    wait_until(f"only listener {listener['name']} is left", alone, _CHANGED_TIMEOUT_S, poll_s=1.0)
    quorum.wait_ready(180)


def stop_active(quorum: Quorum) -> None:
    """Delete the pod of the active controller, and wait until it is back: the graceful stop that a roll makes."""
    answer = quorum.describe()
    assert answer is not None
    old = quorum.pods()[int(answer.leader_id)]["metadata"]
    quorum.delete_pod(old["name"])

    def again() -> bool:
        pod = quorum.pods().get(int(answer.leader_id))
        return pod is not None and pod["metadata"]["uid"] != old["uid"]

    wait_until("its pod is made again", again, 90)
    quorum.wait_ready(120)


def stop_broker(owner: Owner, node_id: int) -> None:
    """Stop a broker as its owner does to follow the page, and wait until all of them serve."""
    owner.shut_down(node_id)
    wait_until("every broker serves", lambda: not any(one.fault for one in owner.brokers().values()), 180)


def measured(meter: Meter, owner: Owner, act: Callable[[], None]) -> tuple[float, float]:
    """The longest gaps of changes of metadata while this is done: beside no stop of a broker, and beside one."""
    lane = meter.lanes[WRITE]
    known, stopped = len(lane.gaps), len(owner.stops)
    act()
    return longest(lane.gaps[known:], owner.stops[stopped:])


def test_listeners_change_beside_brokers_of_others(
    quorum: Quorum, client_image: str, serving: str, randomly_seed: int
) -> None:
    """PLAINTEXT to SSL to SASL_SSL and half-way back: no acknowledged record is lost, and metadata is written on."""
    assert serving
    owner = Owner(namespace=quorum.namespace, quorum=quorum.name)
    access = {"bootstrapServers": owner.bootstrap().split(",")}
    quorum.apply({"controllers": {"listeners": [PLAIN]}, "brokerAccess": access})
    quorum.wait_ready()
    with owner, Clients(namespace=quorum.namespace, bootstrap=owner.bootstrap(), image=client_image) as clients:
        with Meter({"bootstrap.servers": owner.bootstrap()}, least_s=_LEAST_S) as meter:
            stops = [measured(meter, owner, lambda: stop_active(quorum))[0] for _ in range(_STOPS)]
            brokers = [measured(meter, owner, partial(stop_broker, owner, each))[1] for each in owner.node_ids]
            with operator_killed_at_random(random.Random(randomly_seed), 15, 60):  # noqa: S311 - moments of crashes
                changes = [
                    measured(meter, owner, lambda: _changed(quorum, SSL)),
                    measured(meter, owner, lambda: _changed(quorum, SASL)),
                    measured(meter, owner, lambda: _half_way_back(quorum)),
                ]
        pairs = [("the active controller", stops, 0), ("a broker", brokers, 1)]
        for what, stopped, kind in pairs:
            gap_s, stop_s = max(pair[kind] for pair in changes), max(_LEAST_S, *stopped)
            figures = f"graceful stop of {what} {stop_s:.2f} s, {_CHANGE} {gap_s:.2f} s: {gap_s / stop_s:.2f} times"
            print(f"longest gap of metadata: {figures} (goal {_GOAL})", flush=True)
        assert len(served(quorum)) == 3
        assert not clients.finish().faults
    operator.wait_ready()


def _changed(quorum: Quorum, listener: Json) -> None:
    asks(quorum, listener)
    wait_changed(quorum, listener)


def _half_way_back(quorum: Quorum) -> None:
    """Ask for PLAINTEXT again, take it back once the brokers follow, and end with SASL_SSL as before."""
    asks(quorum, PLAIN)
    wait_until("the brokers follow", lambda: stage(quorum) in {"Brokers", "Prefer"}, _CHANGED_TIMEOUT_S)
    asks(quorum, SASL)
    wait_changed(quorum, SASL)
