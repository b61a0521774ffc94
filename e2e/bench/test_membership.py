"""`make bench`: the cost of a lost disk and of a change of controllers, each with its least possible time."""

import statistics
import time
from functools import partial

import pytest

from bench import by_hand, floor, starts
from bench.figures import Figures
from bench.spaces import space
from bench.test_bench import SPEC
from harness.broker import KAFKA_IMAGE
from harness.quorum import Quorum
from harness.shell import items, kubectl, succeed, wait_until
from harness.writer import Account, Writer
from kafka_quorum.model.quorum import Endpoint
from testbed.config import SOURCE

pytestmark = [pytest.mark.e2e, pytest.mark.bench, pytest.mark.timeout(3600)]

_INTERVAL_S = 0.05
_IDS = range(3000, 3010)
_LABELS = "kafkaquorum.io/quorum=q,kafkaquorum.io/role=controller"


def ready_quorum(spaces: list[str]) -> Quorum:
    """A quorum of three in a separate namespace."""
    quorum = Quorum(namespace=space(spaces), name="q")
    quorum.apply(SPEC)
    quorum.wait_ready()
    return quorum


def plain_quorum(spaces: list[str], *, fresh_names: bool = False) -> str:
    """The namespace of the same quorum from plain manifests."""
    namespace = space(spaces)
    floor.apply_floor(namespace, fresh_names=fresh_names)
    floor.seconds_until_done(namespace, "app=quorum", floor.ordinal, time.monotonic())
    by_hand.prepare(namespace)
    return namespace


def chosen(round_: int, active: int, node_ids: list[int]) -> int:
    """The controller whose disk is lost: every third time the active one, else a follower."""
    followers = [node_id for node_id in sorted(node_ids) if node_id != active]
    return active if round_ % 3 == 2 else followers[round_ % 2]


def cured_unattended(quorum: Quorum, round_: int) -> dict[str, float]:
    """Times of one replacement by the operator."""

    def endpoints() -> list[Endpoint]:
        return floor.endpoints_of(items(quorum.namespace, "pods", "-l", _LABELS), floor.labelled)

    node_id = chosen(round_, by_hand.leader(endpoints), [*quorum.pods()])
    row = quorum.controller(node_id)
    started_s = time.monotonic()
    by_hand.lose_disk(quorum.namespace, row["claimName"], row["podName"])
    marks = by_hand.seconds_until_cured(endpoints, node_id, started_s, by_hand=False)
    quorum.wait_ready()
    return marks | {"ready": time.monotonic() - started_s}


def cured_by_hand(namespace: str, round_: int) -> dict[str, float]:
    """Times of one replacement by the script."""
    endpoints = by_hand.plain_endpoints(namespace)
    node_id = chosen(round_, by_hand.leader(endpoints), [0, 1, 2])
    started_s = time.monotonic()
    by_hand.lose_disk(namespace, f"data-quorum-{node_id}", f"quorum-{node_id}")
    marks = by_hand.seconds_until_cured(endpoints, node_id, started_s, by_hand=True)
    kubectl("-n", namespace, "rollout", "status", "statefulset/quorum", "--timeout=120s", timeout_s=130)
    return marks


def cured_with_the_same_starts(namespace: str, round_: int) -> dict[str, float]:
    """Times of one replacement by the script that makes the same pods as the operator, one after the other."""
    endpoints = by_hand.plain_endpoints(namespace)
    node_id = chosen(round_, by_hand.leader(endpoints), [*starts.NODE_IDS])
    started_s = time.monotonic()
    by_hand.lose_disk(namespace, f"data-quorum-{node_id}", f"quorum-{node_id}")
    starts.replace_disk(namespace, node_id)
    marks = by_hand.seconds_until_cured(endpoints, node_id, started_s, by_hand=True)
    kubectl(
        "-n", namespace, "wait", "pods", "-l", "app=quorum", "--for=condition=Ready", "--timeout=120s", timeout_s=130
    )
    return marks


def test_lost_disk_to_full_voter(figures: Figures, spaces: list[str], pytestconfig: pytest.Config) -> None:
    """Four quorums lose the same disk in turn: one disk is replaced by the operator, three by a script.

    One of the three has the manifests as they are, where Java remembers for ten or thirty seconds that a controller
    could not be reached. The others have the operator's setting for that, so that only the work is compared. The last
    one has the operator's starts of pods, too: what remains is the operator's own.
    """
    quorum, plain, fresh = ready_quorum(spaces), plain_quorum(spaces), plain_quorum(spaces, fresh_names=True)
    same = space(spaces)
    starts.bootstrap(same)
    floor.seconds_until_done(same, "app=quorum", floor.ordinal, time.monotonic())
    by_hand.prepare(same)
    cures = {
        "hand": partial(cured_by_hand, plain),
        "fresh": partial(cured_by_hand, fresh),
        "same": partial(cured_with_the_same_starts, same),
        "operator": partial(cured_unattended, quorum),
    }
    sides, rows = [*cures], list[tuple[float, ...]]()
    for number in range(int(pytestconfig.getoption("cures"))):
        turn = number % len(sides)
        marks = {side: cures[side](number) for side in (*sides[turn:], *sides[:turn])}
        done_s = [marks[side]["done"] for side in sides]
        rows.append((number + 1, *done_s, *(done_s[3] / other_s for other_s in done_s[:3])))
        print(f"lost disk {rows[-1]}", flush=True)
    columns = list(zip(*(row[1:5] for row in rows), strict=True))
    medians, worst = [statistics.median(column) for column in columns], [max(column) for column in columns]
    figures.add(
        "lost_disk",
        "From a lost disk to a full voter again, in seconds (goal: ratio at most 1.3, and under 60)",
        ("", "by hand", "names looked up anew", "the same starts", "operator", "ratio", "to the 2nd", "to the 3rd"),
        [
            *rows,
            ("median", *medians, *(medians[3] / other_s for other_s in medians[:3])),
            ("worst", *worst, *(worst[3] / other_s for other_s in worst[:3])),
        ],
        by_hand_s=columns[0],
        by_hand_fresh_names_s=columns[1],
        same_starts_s=columns[2],
        operator_s=columns[3],
        ratio=medians[3] / medians[0],
        ratio_fresh_names=medians[3] / medians[1],
        ratio_same_starts=medians[3] / medians[2],
    )


def test_longest_gap_between_writes(figures: Figures, spaces: list[str], pytestconfig: pytest.Config) -> None:
    """A client writes all the time: a graceful stop of the active controller, and a change 3→5→3 that removes it."""
    quorum = ready_quorum(spaces)
    succeed("python3", str(SOURCE), "load", KAFKA_IMAGE, "--all-nodes", timeout_s=240)
    rows: list[tuple[int, float, float, float, float]] = []
    with Writer(quorum, _IDS, interval_s=_INTERVAL_S) as writer:
        for number in range(int(pytestconfig.getoption("changes"))):
            stop_s = gap_of_a_graceful_stop(quorum, writer.account)
            grow_s, shrink_s = gaps_of_a_change(quorum, writer.account)
            rows.append((number + 1, stop_s, grow_s, shrink_s, max(grow_s, shrink_s) / stop_s))
            print(f"gaps {rows[-1]}", flush=True)
        account = writer.finish()
    assert not account.lost
    stops, changes = [row[1] for row in rows], [max(row[2], row[3]) for row in rows]
    medians = [statistics.median(column) for column in zip(*(row[1:4] for row in rows), strict=True)]
    ratio = statistics.median(changes) / statistics.median(stops)
    figures.add(
        "gaps",
        f"Longest time without an acknowledged write, in seconds (goal: ratio at most 1.5)\n  {account}",
        ("", "active one stopped", "3→5", "5→3, active one removed", "ratio"),
        [*rows, ("median", *medians, ratio)],
        graceful_stop_s=stops,
        change_s=changes,
        ratio=ratio,
        acknowledged=len(account.acknowledged),
        unanswered=len(account.unanswered),
        lost=len(account.lost),
    )


def gap_of_a_graceful_stop(quorum: Quorum, account: Account) -> float:
    """The pod of the active controller is deleted, like by a person; until the quorum is ready again."""
    active = leader(quorum)
    old = quorum.pods()[active]["metadata"]
    began_s = time.monotonic()
    quorum.delete_pod(old["name"])

    def back() -> bool:
        pod = quorum.pods().get(active)
        return pod is not None and pod["metadata"]["uid"] != old["uid"]

    wait_until("its pod is made again", back, 90)
    quorum.wait_ready()
    return account.longest_gap_s(began_s, account.last_s)


def gaps_of_a_change(quorum: Quorum, account: Account) -> tuple[float, float]:
    """Two controllers are added; then the active one and another one are removed."""
    present = sorted(quorum.pods())
    free = [node_id for node_id in _IDS if node_id not in present][:2]
    began_s = time.monotonic()
    choose(quorum, [*present, *free])
    grown_s = time.monotonic()
    active = leader(quorum)
    others = [node_id for node_id in sorted(quorum.pods()) if node_id != active]
    choose(quorum, others[1:])
    return account.longest_gap_s(began_s, grown_s), account.longest_gap_s(grown_s, account.last_s)


def choose(quorum: Quorum, node_ids: list[int]) -> None:
    """Request exactly these controllers; returns when the quorum is ready with them."""
    quorum.patch({"controllers": {"replicas": len(node_ids), "nodeIDs": sorted(node_ids)}})
    quorum.wait_ready(180)


def leader(quorum: Quorum) -> int:
    """The node id of the active controller."""
    return int(wait_until("a leader answers", quorum.describe, 60).leader_id)
