"""One release replaced by another, in one of the ways that people use, and what became of the counts.

`one`: one instance after another gets the new release. `two`: the same with `upgrade.from`, and then again without.
`offline`: all instances stop, and the new release starts when the group is empty. `offline-wiped`: the same, with the
local state deleted. `stale`: offline, with an instance whose local state is older than the changelog; `stale-wiped`.
"""

import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.live.streams.application import Application, Instance
from tests.live.streams.broker import Broker
from tests.live.streams.feed import KEYS, Difference, compare, counts
from tests.live.streams.application import PARTITIONS
from tests.live.streams.gate import Failure, GateFailedError, members_of, pass_gate
from tests.live.streams.releases import Streams
from tests.live.streams.waiting import until
from tests.live.waiting import NeverHappenedError

WAYS: Final = ("one", "two", "offline", "offline-wiped", "stale", "stale-wiped")
WORKS: Final = "works"
FAILS: Final = "fails"
WRONG: Final = "wrong counts"
_EMPTY_S: Final = 30.0
_CONSUMED_S: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is measured; `config` of the new release only."""

    old: Streams
    new: Streams
    way: str
    upgrade_from: str | None = None
    config: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Result:
    """What happened. Versions are [used, supported] of each member, at rest with the old release, mixed, and after."""

    outcome: str
    reason: str = ""
    died: tuple[str, ...] = ()
    lost: int = 0
    doubled: int = 0
    before: list[list[int]] = field(default_factory=list)
    between: list[list[int]] = field(default_factory=list)
    after: list[list[int]] = field(default_factory=list)
    seconds: float = 0.0


def measure(broker: Broker, case: Case, name: str, directory: Path) -> Result:
    """Does it (AssertionError if even the old release does not work)."""
    application = Application(broker=broker, name=name, home=directory / name)
    began_s = time.monotonic()
    application.open()
    result = Result(outcome=FAILS)
    try:
        for each in application.instances:
            application.start(each, case.old)
        try:
            pass_gate(application, 3, None, set())
        except GateFailedError as error:
            result.reason = f"the old release does not work: {error}"
            result.died = error.failure.died
            return result
        result.before = application.group().versions()
        try:
            _change(application, case, result)
            result.after = _versions_at_rest(application)
            difference = _difference(application)
        except GateFailedError as error:
            result.reason, result.died = error.failure.reason, error.failure.died
            return result
        result.lost, result.doubled = difference.lost, difference.doubled
        result.outcome = WORKS if difference.exact else WRONG
        return result
    finally:
        result.seconds = round(time.monotonic() - began_s, 1)
        application.close()


def _change(application: Application, case: Case, result: Result) -> None:
    match case.way:
        case "one":
            _bounce(application, case, case.upgrade_from)
        case "two":
            _bounce(application, case, case.upgrade_from)
            result.between = application.group().versions()
            _bounce(application, case, None)
        case "offline" | "offline-wiped":
            _offline(application, case, wipe=case.way == "offline-wiped")
        case "stale" | "stale-wiped":
            _stale(application, case, wipe=case.way == "stale-wiped")
        case _:
            raise ValueError(f"{case.way} is none of {WAYS}")


def _bounce(application: Application, case: Case, upgrade_from: str | None) -> None:
    """One instance at a time, each behind a gate (GateFailedError)."""
    for each in reversed(application.instances):
        old_ids = members_of(application, each)
        each.stop()
        application.start(each, case.new, upgrade_from=upgrade_from, **case.config)
        pass_gate(application, 3, each, old_ids)


def _stop_all(application: Application, instances: list[Instance]) -> None:
    """Ends them at the same time."""
    for each in instances:
        if each.process is not None:
            each.process.terminate()
    for each in instances:
        each.stop()


def _empty(application: Application) -> None:
    def empty() -> bool | None:
        return True if application.group().state.upper() in {"EMPTY", "DEAD"} else None

    until("an empty group", empty, deadline_s=_EMPTY_S)


def _offline(application: Application, case: Case, *, wipe: bool) -> None:
    _stop_all(application, application.instances)
    _empty(application)
    for each in application.instances:
        if wipe:
            shutil.rmtree(each.state_dir)
        application.start(each, case.new, upgrade_from=case.upgrade_from, **case.config)
    pass_gate(application, 3, None, set())


def _stale(application: Application, case: Case, *, wipe: bool) -> None:
    """The first instance stops, and the others go on counting; then it alone starts with the new release.

    So all of its tasks restore from where its own state ends, which an ordinary rebalance does too.
    """
    first, *others = application.instances
    old_ids = members_of(application, first)
    first.stop()
    pass_gate(application, 2, None, old_ids)
    _stop_all(application, others)
    _empty(application)
    if wipe:
        shutil.rmtree(first.state_dir)
    application.start(first, case.new, upgrade_from=case.upgrade_from, **case.config)
    pass_gate(application, 1, first, set())


def _versions_at_rest(application: Application) -> list[list[int]]:
    """The versions once every member uses what it supports, or after some seconds."""
    seen: list[list[int]] = []

    def equal() -> bool | None:
        nonlocal seen
        seen = application.group().versions()
        return True if seen and all(used == supported > 0 for used, supported in seen) else None

    try:
        until("used = supported", equal, deadline_s=6.0)
    except NeverHappenedError:
        pass
    return seen


def _difference(application: Application) -> Difference:
    """Stops the feed, waits until everything is counted, and compares (GateFailedError)."""
    assert application.feed is not None
    assert application.offsets is not None
    application.feed.send(f"k{index}" for index in range(KEYS))
    application.feed.stop()
    offsets = application.offsets

    def consumed() -> bool | None:
        return True if offsets.committed() == offsets.ends() else None

    try:
        until("everything consumed", consumed, deadline_s=_CONSUMED_S)
    except NeverHappenedError as error:
        raise GateFailedError(Failure(reason=str(error), died=())) from None
    return compare(application.feed.produced, counts(application.broker.bootstrap, application.output, PARTITIONS))
