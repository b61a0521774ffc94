"""The list of rules is complete: it has the documentation's numbers, the simulation's rules and the mutants'."""

import re
from pathlib import Path

import pytest
from tests.simulation.model.world import World
from tests.simulation.mutants import ALL
from tests.simulation.rules.book import RULES
from tests.simulation.rules.invariants import BY_KNOWLEDGE, Checker

SAFETY = Path(__file__).resolve().parents[3] / "docs" / "safety.md"


def test_the_documented_rules_are_in_the_book() -> None:
    """Each number of docs/safety.md is a rule, and no other number is."""
    documented = set(re.findall(r"^\| (\d+) \|", SAFETY.read_text(), re.MULTILINE))
    assert len(documented) == 14
    assert documented == {name for name in RULES if name.isdigit()}


def test_a_word_belongs_to_a_number() -> None:
    """A rule with a word after its number belongs to the rule of that number."""
    assert {name.partition(",")[0] for name in RULES if "," in name} <= set(RULES)


def test_rules_by_knowledge_and_of_mutants_are_in_the_book() -> None:
    """`live` is no rule: such a mutant leaves a quorum that does not reach its ending."""
    assert set(RULES) >= BY_KNOWLEDGE
    assert {one.rule for one in ALL} - {"live"} <= set(RULES)


def test_no_rule_beside_the_book() -> None:
    """The simulation cannot break a rule that is not in the book."""
    checker = Checker(World())
    with pytest.raises(ValueError, match="no rule '99'"):
        checker.fail("99", "text")
    checker.fail("2", "text")
    assert [violation.rule for violation in checker.violations] == ["2"]
