"""Contradictions of a status: each is named once it is there, and a consistent status has none."""

import copy
from typing import Any

import pytest

from storm.contradictions import contradictions

Json = dict[str, Any]


def condition(type_: str, status: str, reason: str = "Word") -> Json:
    """One condition."""
    return {"type": type_, "status": status, "reason": reason, "message": "A sentence.", "observedGeneration": 2}


def good() -> Json:
    """A resource whose status contradicts nothing."""
    conditions = [
        condition("Ready", "True"),
        condition("Available", "True"),
        condition("Progressing", "False", "Done"),
        condition("Degraded", "False"),
        condition("FeaturesSettled", "True"),
        condition("SpecAccepted", "True"),
    ]
    rows = [{"nodeID": 3000, "role": "Leader", "caughtUp": True}, {"nodeID": 3001, "role": "Voter", "caughtUp": True}]
    quorum = {"leaderID": 3000, "voters": 2, "healthyVoters": 2}
    return {
        "metadata": {"generation": 2},
        "spec": {"controllers": {"replicas": 2}},
        "status": {"conditions": conditions, "controllers": rows, "quorum": quorum},
    }


def changed(**conditions: str) -> Json:
    """The good resource with other statuses of some conditions; `_` behind the name is for the reason."""
    body = good()
    for row in body["status"]["conditions"]:
        row["status"] = conditions.get(row["type"], row["status"])
        row["reason"] = conditions.get(f"{row['type']}_", row["reason"])
    return body


def test_a_consistent_status_has_none() -> None:
    """Neither has a resource that the operator has not seen yet."""
    assert contradictions(good()) == ()
    assert contradictions({"metadata": {}, "spec": {}}) == ()
    waiting = changed(Ready="False", Progressing="True", Progressing_="Rolling", Degraded="True")
    assert contradictions(waiting) == ()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (changed(Available="Unknown", FeaturesSettled="Unknown"), "Ready=True beside Available"),
        (changed(Degraded="True"), "Ready=True beside Degraded=True"),
        (changed(SpecAccepted="False"), "Ready=True beside SpecAccepted=False"),
        (changed(Ready="False"), "DOING is Done beside READY"),
        (changed(Ready="False", Available="Unknown", Progressing_="Waiting"), "FeaturesSettled=True beside Available"),
        (changed(Progressing="True"), "Progressing=True with the reason Done"),
        (changed(Degraded_="two words"), "Degraded has the reason"),
        (changed(Degraded="Perhaps"), "Degraded has the status"),
    ],
)
def test_conditions_that_contradict_each_other_are_named(body: Json, said: str) -> None:
    """Each pair that cannot both be true."""
    assert any(said in text for text in contradictions(body)), contradictions(body)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("status", "quorum", "leaderID"), None, "without a leader"),
        (("status", "quorum", "healthyVoters"), 1, "with 1 of 2 voters healthy"),
        (("spec", "controllers", "replicas"), 3, "with 2 voters where the spec asks for 3"),
        (("status", "operation"), {"id": "x"}, "an open operation"),
        (("status", "staleReplicas"), [{"kind": "Voter"}], "a stale voter"),
        (("status", "waits"), [{"severity": "Degraded"}], "a wait of severity Degraded"),
        (("status", "controllers", 1, "role"), "Observer", "controller 3001 as Observer"),
        (("status", "controllers", 1, "caughtUp"), False, "caughtUp=False"),
        (("status", "controllers", 1, "role"), "Leader", "two controllers are the leader"),
        (("status", "quorum", "leaderID"), 3001, "quorum.leaderID is 3001"),
        (("status", "conditions", 0, "message"), "KeyError('x')", "in its message"),
        (("status", "conditions", 0, "message"), "two\nlines", "in its message"),
        (("status", "conditions", 0, "message"), "", "has no message"),
        (("status", "conditions", 0, "observedGeneration"), 3, "there is only 2"),
        (("status", "conditions", 0, "type"), "Available", "there twice"),
        (("status", "conditions", 0, "type"), "Other", "no condition Ready"),
    ],
)
def test_fields_that_contradict_a_condition_are_named(path: tuple[str | int, ...], value: object, said: str) -> None:
    """What Ready promises holds in the rows beside it, and each row is well formed."""
    body = copy.deepcopy(good())
    place: Any = body
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    assert any(said in text for text in contradictions(body)), contradictions(body)
