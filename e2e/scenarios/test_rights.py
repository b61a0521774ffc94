"""An operator without a right: the status stops claiming what nobody has seen, and recovers with the right."""

import copy
import json
from collections.abc import Iterator

import pytest

from demo import RELEASE
from harness.quorum import Quorum
from harness.shell import Json, holds_for, kubectl, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(420)]

_NOTICED_S = 150.0
"""Three passes that end in errors, with the pauses between them."""


def rights() -> Json:
    """The operator's role for the objects of quorums."""
    found: Json = json.loads(kubectl("get", "clusterrole", RELEASE, "-o", "json"))
    return found


@pytest.fixture
def role() -> Iterator[Json]:
    """The role; afterwards it has its rules again."""
    before = rights()
    yield copy.deepcopy(before)
    give(before["rules"])


def give(rules: list[Json]) -> None:
    """Give the operator these rights."""
    kubectl("patch", "clusterrole", RELEASE, "--type=merge", "-p", json.dumps({"rules": rules}))


def test_without_the_right_to_list_claims(ready: Quorum, role: Json) -> None:
    """Without a right nothing is claimed any more, and nothing is touched; with it, all is as before."""
    running, looked = ready.running(), ready.status()["lastLook"]
    without = [rule for rule in role["rules"] if "persistentvolumeclaims" not in rule.get("resources", [])]
    assert len(without) < len(role["rules"])
    give(without)
    ready.wait_condition("Degraded", "True", "CannotLook", timeout_s=_NOTICED_S)
    for type_ in ("Ready", "Available", "Progressing"):
        assert (ready.condition(type_)["status"], ready.condition(type_)["reason"]) == ("Unknown", "CannotLook"), type_
    assert "persistentvolumeclaims" in ready.condition("Ready")["message"]
    assert "CannotLook" in {reason for reason, _ in ready.events()}
    last = ready.status()["lastLook"]
    assert last >= looked
    ready.patch({"controllers": {"replicas": 5}})
    holds_for("no look, and no act", lambda: (ready.status()["lastLook"], ready.running()) == (last, running), 20)
    ready.patch({"controllers": {"replicas": 3}})
    give(role["rules"])
    ready.wait_ready()
    wait_until("a later look", lambda: ready.status()["lastLook"] > last, 90)
    assert ready.condition("Degraded")["status"] == "False"
    assert ready.running() == running
