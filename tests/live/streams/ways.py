"""One release replaced by another, in one of the ways that people use, and what became of the counts.

`one`: one instance after another gets the new release. `two`: the same with `upgrade.from`, and then again without.
`turned`: the first bounce of `two`, and then one back to the old release. `late`: `two` until one instance is left in
the second bounce, then back over `upgrade.from`. `bridge`: `two` to a release between them, and then one bounce.
`offline`: all instances stop, and the new release starts when the group is empty. `stale`: offline, with an instance
whose local state is older than the changelog. In each of them an instance's local state can be deleted before it first
starts with another release; in `bridge` only before the release between them.
"""

import contextlib
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.live.streams.application import PARTITIONS, STREAMS, Application, Instance
from tests.live.streams.broker import Broker
from tests.live.streams.feed import Difference, compare, counts
from tests.live.streams.gate import Failure, GateFailedError, deaths, members_of, pass_gate
from tests.live.streams.releases import Streams
from tests.live.streams.waiting import until
from tests.live.waiting import NeverHappenedError

WAYS: Final = ("one", "two", "turned", "late", "bridge", "offline", "stale")
WORKS: Final = "works"
FAILS: Final = "fails"
WRONG: Final = "wrong counts"
_EMPTY_S: Final = 30.0
_CONSUMED_S: Final = 60.0
_BURST: Final = 3000


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is measured; `wiped` deletes local state, `config` is of the new release only, `over` of a bridge only."""

    old: Streams
    new: Streams
    way: str
    upgrade_from: str | None = None
    wiped: bool = False
    over: Streams | None = None
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
            _bounce(application, case, case.new, upgrade_from=case.upgrade_from, wipe=case.wiped)
        case "two":
            _bounce(application, case, case.new, upgrade_from=case.upgrade_from, wipe=case.wiped)
            result.between = application.group().versions()
            _bounce(application, case, case.new)
        case "turned":
            _bounce(application, case, case.new, upgrade_from=case.upgrade_from, wipe=case.wiped)
            result.between = application.group().versions()
            _bounce(application, case, case.old, wipe=case.wiped)
        case "late":
            _bounce(application, case, case.new, upgrade_from=case.upgrade_from, wipe=case.wiped)
            _bounce(application, case, case.new, leave=1)
            result.between = application.group().versions()
            _bounce(application, case, case.new, upgrade_from=case.upgrade_from, leave=1)
            _bounce(application, case, case.old, wipe=case.wiped)
        case "bridge":
            assert case.over is not None
            _bounce(application, case, case.over, upgrade_from=case.upgrade_from, wipe=case.wiped)
            _bounce(application, case, case.over)
            result.between = application.group().versions()
            _bounce(application, case, case.new)
        case "offline":
            _offline(application, case)
        case "stale":
            _stale(application, case)
        case _:
            raise ValueError(f"{case.way} is none of {WAYS}")


def _bounce(
    application: Application,
    case: Case,
    release: Streams,
    *,
    upgrade_from: str | None = None,
    wipe: bool = False,
    leave: int = 0,
) -> None:
    """One instance at a time, the last one first as a StatefulSet does, each behind a gate (GateFailedError).

    The first `leave` instances are left as they are.
    """
    for each in reversed(application.instances[leave:]):
        old_ids = members_of(application, each)
        each.stop()
        if wipe:
            shutil.rmtree(each.state_dir)
        config = case.config if release is case.new else {}
        application.start(each, release, upgrade_from=upgrade_from, **config)
        pass_gate(application, 3, each, old_ids)


def _stop_all(instances: list[Instance]) -> None:
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


def _offline(application: Application, case: Case) -> None:
    _stop_all(application.instances)
    _empty(application)
    application.streams_protocol = case.config.get("group.protocol") == STREAMS
    for each in application.instances:
        if case.wiped:
            shutil.rmtree(each.state_dir)
        application.start(each, case.new, upgrade_from=case.upgrade_from, **case.config)
    pass_gate(application, 3, None, set())


def _stale(application: Application, case: Case) -> None:
    """The first instance stops, the others count new keys, and then it alone starts with the new release.

    So its tasks restore from where its own state ends, as after any rebalance that moved a task away and back. No key
    of that part of the changelog comes again before the end.
    """
    assert application.feed is not None
    first, *others = application.instances
    application.feed.pause()
    first.stop()
    application.feed.burst(_BURST)
    _consumed(application)
    _stop_all(others)
    _empty(application)
    application.feed.resume()
    if case.wiped:
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

    with contextlib.suppress(NeverHappenedError):
        until("used = supported", equal, deadline_s=6.0)
    return seen


def _difference(application: Application) -> Difference:
    """Stops the feed, waits until everything is counted, and compares (GateFailedError)."""
    assert application.feed is not None
    application.feed.finish()
    _consumed(application)
    return compare(application.feed.produced, counts(application.broker.bootstrap, application.output, PARTITIONS))


def _consumed(application: Application) -> None:
    """Waits until the committed offsets are the ends of the input (GateFailedError)."""
    offsets = application.offsets
    assert offsets is not None

    def consumed() -> bool | None:
        return True if offsets.committed() == offsets.ends() else None

    try:
        until("everything consumed", consumed, deadline_s=_CONSUMED_S)
    except NeverHappenedError as error:
        raise GateFailedError(deaths(application) or Failure(reason=str(error), died=())) from None
