"""Changes that must wait: each reports the reason, and the reverted spec leaves everything as it was before."""

import re
import subprocess
from collections import Counter

import pytest

from harness import nodes, operator
from harness.broker import Broker
from harness.quorum import Quorum
from harness.shell import get, holds_for, kubectl, run, wait_until
from scenarios.conftest import WAYS_IN, Write
from scenarios.expectations import assert_nothing_lost, assert_one_quorum, assert_untouched
from scenarios.test_scaling import ALL, exactly, leader, scale

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(420)]

_ATTEMPTS = 6


def test_a_removal_that_would_leave_no_live_majority(ready: Quorum, writing: Write) -> None:
    """While one of three controllers is frozen, no healthy controller is removed, and the reason is reported."""
    running, voters, writer = ready.running(), ready.voters(), writing(ready)
    active = leader(ready)
    frozen, spared = sorted(ALL - {active})
    with nodes.frozen(ready.pods()[frozen]):
        wait_until("it is missed", lambda: ready.controller(frozen).get("caughtUp") is False, 60)
        ready.patch(exactly({active, frozen}))

        def said() -> bool:
            return re.search(rf"{spared}-.*\b1\b.*\b2\b", ready.condition("Progressing")["message"]) is not None

        wait_until("the reason is told", said, 30)
        holds_for("nobody is removed", lambda: ready.voters() == voters and said(), 8)
        assert "operation" not in ready.status()
        ready.patch(exactly(ALL))
        wait_until("nothing is left of it", lambda: f"{spared}-" not in ready.condition("Progressing")["message"], 30)
    ready.wait_ready()
    assert ready.voters() == voters
    assert "RemoveVoterBegun" not in {reason for reason, _ in ready.events()}
    assert_untouched(ready, running, ALL)
    assert_one_quorum(ready, initial=ALL, voters=ALL)
    assert_nothing_lost(writer)


def test_an_id_in_use_elsewhere(ready: Quorum, writing: Write) -> None:
    """While a broker uses the next node id, no disk is formatted with that id; after the broker stops, one is."""
    writer, running = writing(ready), ready.running()
    other = Broker(quorum=ready, node_id=3003, controllers=tuple(WAYS_IN))
    other.start()
    try:

        def fetching() -> str | None:
            return next((key for key in ready.observers() if key.startswith("3003-")), None)

        key = wait_until("it fetches", fetching, 60)
        scale(ready, 4)

        def said() -> bool:
            return key in ready.condition("Progressing").get("message", "")

        wait_until("the reason is told", said, 60)
        holds_for("nothing is formatted", lambda: said() and not ready.pods("formatter"), 8)
        assert len(ready.voters()) == 3
    finally:
        other.stop()
    ready.wait_ready(180)
    assert len(ready.voters()) == 4
    assert_untouched(ready, running, ALL)
    assert_nothing_lost(writer)


def test_a_drain_during_a_change_waits_for_its_end(ready: Quorum, writing: Write) -> None:
    """While a voter change is open, no voter may be evicted. After the change the drain succeeds."""
    writer, voters_before = writing(ready), len(ready.voters())
    held = freeze_within_a_change(ready)
    places = {node_id: pod["spec"]["nodeName"] for node_id, pod in ready.pods().items()}
    crowd = Counter(places.values())  # if a node has two voters, only the first one can be evicted
    node_id, node = min((node_id, node) for node_id, node in places.items() if crowd[node] == 1)
    pod = ready.pods()[node_id]
    drain = ("kubectl", "drain", node, f"--pod-selector=kafkaquorum.io/quorum={ready.name}", "--ignore-daemonsets")
    try:
        code, output, errors = run(*drain, "--delete-emptydir-data", "--timeout=15s")
        assert code != 0, output
        assert "disruption budget" in errors
        assert ready.running()[node_id][0] == pod["metadata"]["uid"]
        assert len(ready.voters()) in {voters_before, voters_before + 1}
        nodes.signal_container(held, "SIGCONT")
        kubectl(*drain[1:], "--delete-emptydir-data", "--timeout=120s", timeout_s=130)
        assert "operation" not in ready.status()
    finally:
        nodes.signal_container(held, "SIGCONT")
        kubectl("uncordon", node)
    ready.wait_ready(180)
    assert_nothing_lost(writer)


def freeze_within_a_change(quorum: Quorum) -> dict[str, object]:
    """Stop the operator's process while a voter change is open and the budget holds all voters; returns its pod.

    A change is open only for a moment, so it is begun again until that moment is hit.
    """
    pod = operator.wait_acting()
    for attempt in range(_ATTEMPTS):
        budget = f"{quorum.name}-voters"
        columns = "custom-columns=N:.spec.minAvailable"
        look = ("kubectl", "-n", quorum.namespace, "get", "pdb", budget, "-w", "--no-headers", "-o", columns)
        voters = len(quorum.voters())
        with subprocess.Popen(look, stdout=subprocess.PIPE, text=True) as watch:
            assert watch.stdout is not None
            scale(quorum, 3 if attempt % 2 else 4)
            for line in watch.stdout:
                if line.strip() == str(voters):
                    break
            nodes.signal_container(pod, "SIGSTOP")
            watch.terminate()
        if quorum.status().get("operation") and held_budget(quorum) >= len(quorum.voters()):
            print(f"the change was open at attempt {attempt + 1}: {quorum.status()['operation']['type']}")
            return pod
        nodes.signal_container(pod, "SIGCONT")
        quorum.wait_ready(180)
    pytest.fail("no open change was met")


def held_budget(quorum: Quorum) -> int:
    """The number of voters that the disruption budget requires."""
    return int(get(quorum.namespace, "pdb", f"{quorum.name}-voters")["spec"]["minAvailable"])
