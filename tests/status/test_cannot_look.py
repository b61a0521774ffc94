"""After CannotLook the status claims nothing that needs a look."""

from typing import Any

from tests.status.contradictions import contradictions

from kafka_quorum.status.cannot_look import REASON, blinded

OLD: dict[str, Any] = {
    "lastLook": "2026-01-01T00:00:00Z",
    "clusterID": "x",
    "quorum": {"voters": 3, "healthyVoters": 3, "leaderID": 3000, "failureTolerance": 1, "summary": "3/3"},
    "conditions": [
        {"type": "Ready", "status": "True", "reason": "AllVotersCaughtUp", "lastTransitionTime": "t0"},
        {"type": "Available", "status": "True", "reason": "MajorityCaughtUp", "lastTransitionTime": "t0"},
        {"type": "Degraded", "status": "False", "reason": "Healthy", "lastTransitionTime": "t0"},
        {
            "type": "SpecAccepted",
            "status": "True",
            "reason": "Valid",
            "message": "the spec is valid",
            "observedGeneration": 4,
            "lastTransitionTime": "t0",
        },
    ],
}


def conditions(status: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Status and reason by type."""
    return {row["type"]: (row["status"], row["reason"]) for row in status["conditions"]}


def test_a_healthy_status_does_not_stand() -> None:
    """Ready and Available become Unknown and Degraded True; SpecAccepted and the identity stay."""
    new = blinded(OLD, "rights are missing", generation=4, now="t1")
    assert conditions(new) == {
        "Ready": ("Unknown", REASON),
        "Available": ("Unknown", REASON),
        "Degraded": ("True", REASON),
        "SpecAccepted": ("True", "Valid"),
        "Progressing": ("Unknown", REASON),
        "FeaturesSettled": ("Unknown", REASON),
        "OddVoterCount": ("Unknown", REASON),
    }
    assert contradictions(new, generation=4) == []
    assert new["quorum"] == {"voters": 3, "summary": "?/3", "unknownSince": "t1"}
    assert new["doing"] == REASON
    assert (new["clusterID"], new["lastLook"]) == ("x", "2026-01-01T00:00:00Z")
    assert "rights are missing" in next(row for row in new["conditions"] if row["type"] == "Ready")["message"]


def test_a_refused_spec_stays_refused_and_is_not_what_to_read_first() -> None:
    """SpecAccepted stays, because it needs no look, and DOING reports that the rest is unknown."""
    rows = [row for row in OLD["conditions"] if row["type"] != "SpecAccepted"]
    refused = OLD["conditions"][-1] | {"status": "False", "reason": "InvalidSpec", "message": "a fault"}
    new = blinded({**OLD, "conditions": [*rows, refused]}, "rights are missing", generation=4, now="t1")
    assert conditions(new)["SpecAccepted"] == ("False", "InvalidSpec")
    assert conditions(new)["Progressing"] == ("Unknown", REASON)
    assert new["doing"] == REASON
    assert contradictions(new, generation=4) == []


def test_it_is_said_of_a_resource_without_a_status() -> None:
    """A resource without a status gets CannotLook too."""
    new = blinded({}, "why", generation=1, now="t")
    assert conditions(new)["Ready"] == ("Unknown", REASON)
    assert contradictions(new, generation=1) == []


def test_saying_it_again_changes_nothing() -> None:
    """The same error again does not change the status, so nothing is written."""
    once = blinded(OLD, "why", generation=4, now="t1")
    assert blinded(once, "why", generation=4, now="t2") == once
