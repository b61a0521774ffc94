"""`explain`: the rule, the evidence and what unblocks each wait."""

import re
from pathlib import Path

import pytest
from tests.kubectl_kq import advice
from tests.kubectl_kq.worlds import NOW, listed, look, pool, saying, wait

from kubectl_kq import rules
from kubectl_kq.explain import explain_page
from kubectl_kq.render import as_text, data
from kubectl_kq.sources import Source

SAFETY = (Path(advice.ROOT) / "docs" / "safety.md").read_text()


def test_the_advice_is_that_of_the_pages() -> None:
    """`reasons.json` has what docs/operations.md and docs/pools.md say now: `python -m tests.kubectl_kq.advice`."""
    assert advice.STORED.read_text() == advice.text()
    assert len(rules.known(rules.QUORUM)) > 60
    assert len(rules.known(rules.POOL)) > 25


@pytest.mark.parametrize("kind", [rules.QUORUM, rules.POOL])
def test_the_rules_are_those_of_the_documentation(kind: str) -> None:
    """Every rule that is named is a row of docs/safety.md, and every reason with a rule is documented."""
    numbered = {int(number) for number in re.findall(r"^\| (\d+) \|", SAFETY, flags=re.MULTILINE)}
    assert set(rules.RULES) <= numbered
    assert set(rules.RULE_OF[kind]) <= rules.known(kind)
    assert set(rules.RULE_OF[kind].values()) <= set(rules.RULES)


@pytest.mark.parametrize("reason", sorted(rules.known(rules.QUORUM)))
def test_every_reason_is_explained(reason: str) -> None:
    """A wait of every documented reason has its sentence, its age, and what unblocks it."""
    item = saying({"waits": [wait(reason, "Held", "the operator's own sentence", 3001)]})
    (row,) = data(explain_page(look({Source.QUORUM: item}), NOW))["waits"]
    assert row["message"] == "the operator's own sentence"
    assert row["since"]["age"] == "1m30s ago"
    assert row["unblocks"]
    assert "does not know the reason" not in row["unblocks"]
    assert "controller 3001: Leader, caught up, pod demo-3001-g1, on Kubernetes node worker-2" in row["evidence"]


def test_a_voter_change_shows_the_voters() -> None:
    """The evidence of a wait about voters has the voters, the leader, and who is not caught up."""
    item = saying({"waits": [wait("AddingVoter", "Progress", "Waiting for voter 3002")]})
    item["status"]["controllers"][2]["caughtUp"] = False
    (row,) = data(explain_page(look({Source.QUORUM: item}), NOW))["waits"]
    assert row["rule"].startswith("4, one voter change at a time")
    assert row["evidence"] == "voters 3/3, leader 3001; voters that are not caught up: 3002"


def test_a_reason_of_a_later_version_is_shown() -> None:
    """A reason that this version does not know keeps its sentence, and the plugin says that it does not know it."""
    item = saying({"waits": [wait("Novelty", "Held", "Waiting for something new", 9)]})
    (row,) = data(explain_page(look({Source.QUORUM: item}), NOW))["waits"]
    assert row["rule"] is None
    assert row["evidence"] == "controller 9: no row in the status"
    assert "does not know the reason" in row["unblocks"]


def test_conditions_that_are_not_well_are_explained() -> None:
    """Conditions that are well are left out; of the others the sentence and the advice are shown."""
    assert data(explain_page(look(), NOW))["conditions"] == []
    item = saying(Degraded=("True", "VotersLag", "voter 3002 lags"), OddVoterCount=("False", "Even", "two voters"))
    rows = data(explain_page(look({Source.QUORUM: item}), NOW))["conditions"]
    assert [row["type"] for row in rows] == ["Degraded"]
    assert rows[0]["unblocks"] == "look at their pods and nodes"


def test_levels_and_brokers_in_the_way_are_named() -> None:
    """A level that something blocks, and a broker that does not follow the contract, are rows."""
    blocked = {"name": "metadata.version", "finalized": 30, "wanted": 33, "blockedBy": "broker 4"}
    settled = {"name": "kraft.version", "finalized": 1}
    brokers = [{"nodeID": 4, "conforms": "Unknown", "reason": "it does not answer"}, {"nodeID": 5, "conforms": "True"}]
    item = saying({"features": [blocked, settled], "brokers": brokers})
    found = data(explain_page(look({Source.QUORUM: item}), NOW))
    assert [row["blockedBy"] for row in found["features"]] == ["broker 4"]
    assert [row["nodeID"] for row in found["brokers"]] == [4]


def test_waits_of_pools_are_explained() -> None:
    """A wait of a pool has the rule and the advice of pools."""
    held = pool()
    held["status"]["waits"] = [wait("BrokerNotEmpty", "Held", "broker 5 has partitions", 5)]
    (row,) = data(explain_page(look({Source.POOLS: listed(held)}), NOW))["poolWaits"]
    assert row["rule"].startswith("10, ")
    assert row["unblocks"].startswith("move them")
    assert row["nodeIDs"] == [5]


def test_nothing_to_explain_is_said() -> None:
    """A quorum that is well waits for nothing."""
    assert "The quorum waits for nothing." in as_text(explain_page(look(), NOW))
