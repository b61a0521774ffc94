"""Every blocker of the preflight, by its real cause: a real ZooKeeper, real brokers of 3.9.2, a quorum in a dry run.

`PREFLIGHT` chooses cases by parts of their names, separated by commas; without it, every code must be named.
"""

import os
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from kazoo.exceptions import KazooException

import kafka_quorum.plan.facts.preflight as rules
from harness.quorum import Quorum
from harness.shell import Json, wait_until
from scenarios.preflight_cases import CASES, Case, Said
from scenarios.preflight_world import World, preflight_world

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(3600)]

_NAMED_TIMEOUT_S = 120.0
_PASSED_TIMEOUT_S = 120.0


@pytest.fixture
def world(quorum: Quorum, namespaces: Callable[[], str], older_kafka: None) -> Iterator[World]:  # noqa: ARG001 - an order
    """The small cluster, and the quorum in a dry run beside it."""
    with preflight_world(quorum, namespaces()) as made:
        yield made


def codes() -> frozenset[str]:
    """Every code that the source of the preflight has."""
    text = Path(rules.__file__).read_text(encoding="utf-8")
    return frozenset(re.findall(r'(?:\bcode=|\bone\(\s*)"([A-Za-z]+)"', text))


def test_every_blocker(world: World) -> None:
    """Each cause is named with its code, object, finding and way out, and nothing else; then the list is empty."""
    wait_passed(world.quorum)
    took_s: dict[str, float] = {}
    seen: set[str] = set()
    wrong: list[str] = []
    for case in chosen():
        began_s = time.monotonic()
        try:
            rows = named(world, case)
        except (AssertionError, KafkaException, KazooException, OSError) as error:
            wrong.append(f"{case.name}: {error}")
            print(f"WRONG {wrong[-1]}", flush=True)
        else:
            seen |= {row["code"] for row in rows}
        wait_passed(world.quorum)
        took_s[case.name] = time.monotonic() - began_s
        print(f"{case.name}: {took_s[case.name]:.1f} s, and the list is empty", flush=True)
    assert not wrong, "\n".join(wrong)
    assert seen == {code for case in chosen() for code in case.named}
    assert len(chosen()) < len(CASES) or seen == codes()


def chosen() -> tuple[Case, ...]:
    """All cases, or those of which `PREFLIGHT` has a part of the name or a code."""
    parts = [part.strip() for part in os.environ.get("PREFLIGHT", "").split(",") if part.strip()]
    return tuple(case for case in CASES if not parts or any(part in case.name or part in case.named for part in parts))


def named(world: World, case: Case) -> list[Json]:
    """Make the cause, wait for exactly its blockers, print them, and remove the cause."""
    began_s = time.monotonic()
    with case.cause(world) as beside:
        made_s = time.monotonic() - began_s
        quorum = beside or world.quorum
        last: list[Json] = []

        def as_expected() -> list[Json] | None:
            last[:] = (quorum.status().get("preflight") or {}).get("blockers") or []
            return last if not wrong_with(last, case) else None

        try:
            rows = wait_until("exactly the blockers", as_expected, _NAMED_TIMEOUT_S)
        except AssertionError:
            raise AssertionError(f"{wrong_with(last, case)}; the preflight has {last}") from None
        print(
            f"{case.name}: made in {made_s:.1f} s, named after {time.monotonic() - began_s - made_s:.1f} s", flush=True
        )
        for row in rows:
            print(f"  {row['code']}\t{row['object']}: {row['found']}. {row['wayOut']}", flush=True)
        return list(rows)


def wrong_with(rows: list[Json], case: Case) -> str:
    """What is missing, too much, or said in another way; empty if all is as the case expects."""
    found: dict[str, list[Json]] = defaultdict(list)
    for row in rows:
        found[row["code"]].append(row)
    if set(found) != set(case.named):
        return f"not named: {sorted(set(case.named) - set(found))}, too much: {sorted(set(found) - set(case.named))}"
    unlike = [row for code, said in case.named.items() for row in found[code] if not says(row, said)]
    return f"said otherwise: {unlike}" if unlike else ""


def says(row: Json, said: Said) -> bool:
    """Whether a blocker says what it must."""
    texts = ((said.object, row["object"]), (said.found, row["found"]), (said.way_out, row["wayOut"]))
    return bool(row.get("unknown")) is said.unknown and all(re.search(pattern, text) for pattern, text in texts)


def wait_passed(quorum: Quorum) -> None:
    """Wait until nothing is in the way."""

    def passed() -> Json | None:
        found: Json = quorum.status().get("preflight") or {}
        return found if found.get("passed") is True and not found.get("blockers") else None

    try:
        wait_until("the preflight passes", passed, _PASSED_TIMEOUT_S)
    except AssertionError:
        raise AssertionError(f"the preflight does not pass: {quorum.status().get('preflight')}") from None
