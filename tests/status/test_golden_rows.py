"""What `kubectl get kq -o wide` shows in a dozen situations, in one file that can be read and edited as a whole.

`python -m tests.status.test_golden_rows` writes the file again.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from tests.model.values import SILENT, at_rest, desired, key, nothing, pod, running, runtime, started, view, with_pod
from tests.status.contradictions import contradictions
from tests.status.passes import FAULT, done, failed

from kafka_quorum.act.narrate import narrate
from kafka_quorum.model.identity import with_disk_lost
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.pods import Waiting
from kafka_quorum.status.build import build
from kafka_quorum.status.finding import Pass
from kafka_quorum.status.refused import refused
from kit.kube.protocol import Json

GOLDEN: Final = Path(__file__).with_name("golden_rows.txt")
_NOW: Final = "2026-01-01T00:00:00Z"
_PULLING: Final = Waiting(reason="ImagePullBackOff", message="no such image: apache/kafka:4.4.00", last_exit=None)
_LAGGING: Final = Known(value=view([key(3000), key(3001), key(3002)], behind=[key(3002)]))


def unschedulable() -> Observed:
    """No Kubernetes node has room for any of the three."""
    why = "0/3 nodes are available: 3 Insufficient memory"
    waiting = Waiting(reason="", message="", last_exit=None)
    pods = tuple(
        pod(started(), each, container=waiting, scheduled=False, unschedulable=why, gate="") for each in started().nodes
    )
    return at_rest(started(), pods=pods, quorum=SILENT)


def held() -> Pass:
    """A roll that stopped."""
    passed = done()
    text = "Did not restart controller 3001: controller 3000 does not start from revision demo-2. Correct the spec"
    wait = Wait(severity=Severity.HELD, reason="RollHeld", message=text, node_id=NodeID(3000))
    return replace(passed, plan=replace(passed.plan, waits=(wait,)))


def situations() -> Iterator[tuple[str, Json]]:
    """Each situation by name, with its status."""
    lost = with_disk_lost(running(), NodeID(3001), new_claim=False)
    passes: dict[str, Pass] = {
        "new": done(nothing()),
        "starting": done(at_rest(started(), quorum=SILENT)),
        "no room": done(unschedulable()),
        "at rest": done(),
        "even": done(at_rest(), desired(replicas=4)),
        "scaling down": done(at_rest(), desired(replicas=1)),
        "rolling": done(at_rest(), desired(runtime=runtime(heap="1Gi"))),
        "roll held": held(),
        "voter down": done(at_rest(quorum=_LAGGING)),
        "image gone": done(with_pod(at_rest(), 3001, container=_PULLING, gate="False")),
        "no leader": done(at_rest(quorum=SILENT)),
        "disk lost, no leader": done(at_rest(lost, quorum=SILENT)),
        "paused": done(at_rest(), desired(paused=True)),
        "invalid later": done(faults=(FAULT,)),
        "refused by the API server": failed(done(nothing()), unknown=False),
        "record unreadable": done(
            replace(at_rest(), record=None, record_fault="ConfigMap alpha-identity cannot be understood")
        ),
    }
    before = build(done(), {}, generation=1, now=_NOW)
    for name, scene in passes.items():
        told = (replace(one, message=narrate(one.action)[1]) if one.done else one for one in scene.outcomes)
        of = replace(scene, outcomes=tuple(told))
        old = before if of.observed.record is not None and of.observed.record.had_leader else {}
        yield name, build(of, old, generation=1, now=_NOW)
    yield "never valid", refused({}, (FAULT,), name="alpha", generation=1, now=_NOW)


def rendered() -> str:
    """Each situation: its name, READY, VOTERS and DOING, then the message."""
    lines = []
    for name, status in situations():
        row = next(one["status"] for one in status["conditions"] if one["type"] == "Ready")
        lines.append(f"{name}: READY {row}  VOTERS {status['quorum']['summary']}  DOING {status['doing']}")
        lines.append(f"    {status['message']}")
    return "\n".join(lines) + "\n"


def test_rows_are_as_they_were_read() -> None:
    """Every row equals the golden file, so a change of words changes the file."""
    assert rendered() == GOLDEN.read_text()


def test_no_row_contradicts_itself() -> None:
    """The status of every situation is free of contradictions."""
    assert {name: found for name, status in situations() if (found := contradictions(status))} == {}


if __name__ == "__main__":
    GOLDEN.write_text(rendered())
