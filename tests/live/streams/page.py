"""docs/streams-measured.md from `measured.json`: `python -m tests.live.streams.page`. A test compares them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.live.streams.agreement import STRICTER, offline, reasons, refused, running
from tests.live.streams.matrix import UPGRADE_FROM
from tests.live.streams.measured import Measured, Release, Row, load
from tests.live.streams.releases import parsed
from tests.live.streams.ways import WORKS, WRONG

FILE: Final = Path(__file__).resolve().parents[3] / "docs" / "streams-measured.md"
_REASON: Final = 110
_TOP: Final = """# Streams applications, measured

Made from `tests/live/streams/measured.json` by `python -m tests.live.streams.page`. `make streams-matrix` measures each
row again, with real releases of Kafka Streams and real brokers on loopback: three instances count records by key into
a store, and are fed all the time. In the end each count is compared with what was produced. `make test` measures a
share.

| way | is |
|---|---|
| one | one instance after the other gets the new release, each after a gate |
| two | the same with `upgrade.from`, and then again without it |
| turned | the first half of `two`, and then back to the old release |
| late | `two` until one instance is left in the second half, then back over `upgrade.from` |
| bridge | `two` to a release between them, and then `one` |
| offline | all instances stop; when the group is empty, they start with the new release |
| stale | offline, with an instance whose local state is older than the changelog, as after any move of a task |
| …, wiped | each instance starts with an empty state directory when its line of releases changes (of a bridge: first) |

*Versions* are those of the subscription that each member uses and supports: with the old release, between the two
bounces, and after. *The operator* is what it does with these brokers; "stricter" has its reason [below](#stricter).

## Found here

- **Counts are lost without a word between 2.5 and 2.6.** Up to 2.5 a store's checkpoint file has the next offset to
  restore, and from 2.6 on the last one that is in the store. So a release from 2.6 on that reads a checkpoint of one
  before begins one record too late. If that is beyond the changelog's end, it throws the store away and restores it; if
  a rebalance comes at that moment, its stream thread ends. If it is not, one record of each store is skipped. With an
  empty state directory no count was lost, in any pair. Kafka's upgrade guide does not say this.
- The way back to a release with an older RocksDB fails on its files, and from 4.3 on the `offsets` column family.
- 4.0 and 4.1 accept a configuration with `upgrade.from` up to `2.3`, and fail while the client is made.
- The versions that members use and support do not show whether a second bounce is done: with `upgrade.from` of `2.3`
  and later they are those of the new release already. Up to `1.1` they are those of the old one until then.
- An application of 0.10.0 begins at the end of its input unless `auto.offset.reset` says otherwise.

## Pairs

| from → to | broker | way | result | versions | the operator |
|---|---|---|---|---|---|
"""
_STRICTER: Final = """
## Stricter

Where the operator does not do what worked here.

| reason | source | pairs |
|---|---|---|
"""
_RELEASES: Final = """
## Releases

The version of the subscription that one instance sends, and what happens to each value of `upgrade.from`: it is
accepted, refused by the configuration, or the client fails while it is made. Some releases ignore the setting.

| release | version | accepts | fails with |
|---|---|---|---|
"""


def page(measured: Measured) -> str:
    """The whole page."""
    rows = sorted(measured.pairs, key=lambda row: (parsed(row.pair.broker), parsed(row.pair.old), parsed(row.pair.new)))
    pairs = "".join(f"| {' | '.join(_pair(row))} |\n" for row in rows)
    stricter = "".join(f"| {' | '.join(each)} |\n" for each in _stricter(rows))
    text = _TOP + pairs + _STRICTER + stricter
    if measured.releases:
        found = sorted(measured.releases, key=lambda each: parsed(each.version))
        text += _RELEASES + "".join(f"| {' | '.join(_release(each))} |\n" for each in found)
    return text


def _pair(row: Row) -> tuple[str, ...]:
    pair = row.pair
    over = f" over {pair.over}" if pair.over else ""
    way = pair.way + over + (f" `{pair.upgrade_from}`" if pair.upgrade_from else "") + (", wiped" if pair.wiped else "")
    protocol = " (streams protocol)" if pair.protocol != "classic" else ""
    return f"{pair.old} → {pair.new}{protocol}", pair.broker, way, result(row), _versions(row), _operator(row)


def result(row: Row) -> str:
    """What happened, for a cell."""
    runs = sum(row.runs.values())
    if row.outcome == WORKS:
        return "works" if runs == 1 else f"works, {runs} times"
    parts = [f"{outcome} {count} of {runs}" if runs > 1 else outcome for outcome, count in sorted(row.runs.items())]
    if WRONG in row.runs:
        parts.append(f"lost {max(row.lost)}" + (f", doubled {max(row.doubled)}" if max(row.doubled) else ""))
    text = f"**{'; '.join(parts)}**"
    if row.reason:
        text += f": {_plain(row.reason)}"
    if row.died:
        text += f"; died: {', '.join(sorted(row.died))}"
    return text


def _plain(reason: str) -> str:
    """An exception without its package, cut, harmless in a table."""
    name, colon, rest = re.sub(r"\bcase-\d+\b", "case", reason).partition(": ")
    short = (name.rpartition(".")[2] + colon + rest).replace("|", "/").replace("`", "'")
    return f"`{short if len(short) <= _REASON else short[: _REASON - 1] + '…'}`"


def _versions(row: Row) -> str:
    return " → ".join(_once(each) for each in (row.before, row.between, row.after) if each)


def _once(versions: list[list[int]]) -> str:
    distinct = sorted({(used, supported) for used, supported in versions})
    return ", ".join(str(used) if used == supported else f"{used}/{supported}" for used, supported in distinct)


def _operator(row: Row) -> str:
    now, stopped = running(row.pair), offline(row.pair)
    said = str(now) if now is not None else f"only {stopped}" if stopped is not None else "refuses"
    return f"{said} (stricter)" if refused(row) else said


def _stricter(rows: list[Row]) -> Iterator[tuple[str, ...]]:
    for rule in STRICTER:
        pairs = [str(row.pair) for row in rows if refused(row) and rule in reasons(row)]
        if pairs:
            yield rule.text, rule.source, "<br>".join(each.replace("->", "→") for each in pairs)


def _release(each: Release) -> tuple[str, ...]:
    return each.version, str(each.subscription), _accepted(each.upgrade_from), _failing(each.upgrade_from)


def _accepted(values: dict[str, str]) -> str:
    accepted = [value for value in UPGRADE_FROM if values[value] == "accepted"]
    if not accepted:
        return "ignores it" if set(values.values()) == {"ignored"} else "nothing"
    return _ranges(accepted)


def _failing(values: dict[str, str]) -> str:
    return _ranges([value for value in UPGRADE_FROM if values[value] == "fails"])


def _ranges(values: list[str]) -> str:
    """Neighbours of the list of all values as `0.10.0 … 2.3`."""
    runs: list[list[str]] = []
    for value in values:
        at = UPGRADE_FROM.index(value)
        if runs and UPGRADE_FROM[at - 1] == runs[-1][-1]:
            runs[-1].append(value)
        else:
            runs.append([value])
    return ", ".join(run[0] if len(run) == 1 else f"{run[0]} … {run[-1]}" for run in runs)


if __name__ == "__main__":
    FILE.write_text(page(load()))
