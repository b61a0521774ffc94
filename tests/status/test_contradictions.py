"""The check of statuses finds each known contradiction, and none in a consistent status."""

from collections.abc import Callable

import pytest
from tests.status.contradictions import contradictions
from tests.status.passes import done

from kafka_quorum.status.build import build
from kit.kube.protocol import Json


def at_rest_status() -> Json:
    """The status of a quorum at rest."""
    return build(done(), {}, generation=3, now="2026-01-01T00:00:00Z")


def condition(kind: str, truth: str, reason: str, message: str = "a sentence") -> Callable[[Json], None]:
    """Changes one condition."""

    def change(status: Json) -> None:
        row = next(row for row in status["conditions"] if row["type"] == kind)
        row |= {"status": truth, "reason": reason, "message": message}

    return change


def field(name: str, value: object) -> Callable[[Json], None]:
    """Changes one field."""

    def change(status: Json) -> None:
        status[name] = value

    return change


def test_quorum_at_rest_contradicts_nothing() -> None:
    """The status of a quorum at rest is consistent for its own generation, and not for another one."""
    assert contradictions(at_rest_status(), generation=3) == []
    assert contradictions(at_rest_status(), generation=4)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (condition("Available", "False", "NotStarted"), "Ready, but not Available"),
        (condition("Degraded", "True", "ActionFailed"), "Ready, but Degraded"),
        (condition("Degraded", "Unknown", "Paused"), "Ready, but Degraded"),
        (condition("Ready", "False", "Rolling"), "Done, but not Ready"),
        (condition("Progressing", "True", "Rolling"), "but Progressing"),
        (condition("SpecAccepted", "False", "InvalidSpec"), "the spec is refused"),
        (condition("FeaturesSettled", "True", "Settled", "Unknown(reason='x')"), "speaks Python"),
        (condition("OddVoterCount", "False", "Even"), "of 3 committed voters"),
        (condition("Ready", "True", "AllVotersCaughtUp", "two\nlines"), "cannot be shown"),
        (condition("Ready", "Maybe", "AllVotersCaughtUp"), "Ready is 'Maybe'"),
        (field("conditions", []), "the conditions are []"),
        (field("doing", "Rolling"), "Ready, doing Rolling"),
        (field("doing", ""), "an empty row"),
        (field("doing", "CannotLook"), "cannot look, but conditions say that it did"),
        (field("quorum", {"summary": "2/3", "voters": 3, "healthyVoters": 2, "leaderID": 1}), "Ready with 2/3 voters"),
        (field("quorum", {"summary": "?/3", "voters": 3}), "no leader is named"),
        (
            field("waits", [{"reason": "LostDisk", "severity": "Degraded", "message": "x"}]),
            "not Degraded, but waits for ['LostDisk']",
        ),
    ],
)
def test_each_contradiction_is_noticed(change: Callable[[Json], None], said: str) -> None:
    """A status with one wrong change is refused, and the message names the contradiction."""
    status = at_rest_status()
    change(status)
    assert any(said in text for text in contradictions(status)), contradictions(status)
