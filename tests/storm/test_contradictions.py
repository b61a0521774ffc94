"""Contradictions of a resource: the rules of every status, and those about spec and rows, each named once."""

from typing import Any

import pytest

from storm.contradictions import contradictions

Json = dict[str, Any]
CONDITIONS = {
    "Ready": ("True", "AllVotersCaughtUp"),
    "Available": ("True", "MajorityCaughtUp"),
    "Progressing": ("False", "Done"),
    "Degraded": ("False", "Healthy"),
    "FeaturesSettled": ("True", "Settled"),
    "SpecAccepted": ("True", "Valid"),
    "OddVoterCount": ("True", "Odd"),
}


def good() -> Json:
    """A resource without contradictions."""
    conditions = [
        {"type": type_, "status": status, "reason": reason, "message": "A sentence.", "observedGeneration": 2}
        for type_, (status, reason) in CONDITIONS.items()
    ]
    controllers = [{"nodeID": number, "role": "Voter", "caughtUp": True} for number in (3000, 3001, 3002)]
    controllers[0]["role"] = "Leader"
    voters = [{"nodeID": number, "directoryID": "d"} for number in (3000, 3001, 3002)]
    quorum = {"leaderID": 3000, "voters": 3, "healthyVoters": 3, "summary": "3/3", "committedVoters": voters}
    status = {"conditions": conditions, "controllers": controllers, "quorum": quorum}
    status |= {"observedGeneration": 2, "doing": "Done", "message": "A sentence."}
    return {"metadata": {"generation": 2}, "spec": {"controllers": {"replicas": 3}}, "status": status}


def test_a_consistent_status_has_none() -> None:
    """A consistent resource has none, nor has one without a status, or with a spec that has just changed."""
    assert contradictions(good()) == ()
    assert contradictions({"metadata": {}, "spec": {}}) == ()
    changed = good() | {"metadata": {"generation": 3}, "spec": {"controllers": {"replicas": 5}}}
    assert contradictions(changed) == ()


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("spec", "controllers", "replicas"), 5, "other voters than the spec asks for: 3, not 5"),
        (("status", "staleReplicas"), [{"kind": "Voter"}], "a stale voter"),
        (("status", "controllers", 1, "role"), "Observer", "no caught-up voter"),
        (("status", "controllers", 1, "caughtUp"), False, "no caught-up voter"),
        (("status", "controllers", 1, "role"), "Leader", "two controllers are the leader"),
        (("status", "quorum", "leaderID"), 3001, "quorum.leaderID is 3001"),
        (("metadata", "generation"), 1, "a generation that does not exist: 2 of 1"),
        (("status", "conditions", 3, "status"), "True", "Ready, but Degraded"),
        (("status", "conditions", 1, "status"), "Unknown", "Ready, but not Available"),
        (("status", "conditions", 0, "status"), "False", "Done, but not Ready"),
        (("status", "conditions", 0, "message"), "KeyError('x')", "speaks Python"),
    ],
)
def test_a_contradiction_is_named(path: tuple[str | int, ...], value: object, said: str) -> None:
    """A contradiction is named between conditions, conditions and rows, or status and spec."""
    body = good()
    place: Any = body
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert any(said in text for text in contradictions(body)), contradictions(body)
