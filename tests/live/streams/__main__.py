"""Measures the matrix, or what is named of it, and compares each result with `measured.json`.

`python -m tests.live.streams` is `make streams-matrix`. `--record` adds the results to the file instead, `--missing`
leaves out what the file has, `--only TEXT` keeps pairs whose line contains the text, `--runs N` repeats each pair, and
`--keep DIRECTORY` keeps logs and state there.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.live.jars import ensure_kafka
from tests.live.streams.matrix import RELEASES, SHARE, SHARE_RELEASES, pairs
from tests.live.streams.measured import Measured, difference, load
from tests.live.streams.page import FILE, page
from tests.live.streams.probing import probe
from tests.live.streams.releases import ensure_streams
from tests.live.streams.running import Brokers, brokers
from tests.live.streams.ways import Result


def main() -> int:
    """Returns 1 if a result differs from the file."""
    options = _options()
    if options.what == "fetch":
        _fetch()
        return 0
    measured = load()
    with tempfile.TemporaryDirectory() as temporary, brokers(Path(options.keep or temporary)) as started:
        wrong = _pairs(options, measured, started) if options.what in {"pairs", "all"} else 0
        wrong += _releases(options, measured, started) if options.what in {"releases", "all"} else 0
    if options.record:
        FILE.write_text(page(measured))
    _say(f"{wrong} differ from {'nothing' if options.record else 'measured.json'}")
    return 1 if wrong else 0


def _fetch() -> None:
    """What the share of `make test` needs, so that no test waits for it."""
    for pair in SHARE:
        ensure_kafka(pair.broker)
    for version in sorted({*(version for pair in SHARE for version in (pair.old, pair.new)), *SHARE_RELEASES}):
        ensure_streams(version)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.live.streams")
    parser.add_argument("what", nargs="?", choices=("all", "pairs", "releases", "fetch"), default="all")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    return parser.parse_args()


def _pairs(options: argparse.Namespace, measured: Measured, started: Brokers) -> int:
    chosen = [pair for pair in pairs() if options.only in str(pair)]
    if options.missing:
        chosen = [pair for pair in chosen if measured.row(pair) is None]
    wrong, began_s = 0, time.monotonic()
    for index, pair in enumerate(chosen * options.runs, 1):
        result = started.measure(pair)
        differs = "" if options.record else difference(measured.row(pair), result)
        wrong += bool(differs)
        spent_s = time.monotonic() - began_s
        _say(f"[{index}/{len(chosen) * options.runs} {spent_s:5.0f} s] {pair}: {_said(result)}")
        if differs:
            _say(f"    DIFFERS: {differs}")
        if options.record:
            measured.add(pair, result)
            measured.save()
    return wrong


def _said(result: Result) -> str:
    counts = f", lost {result.lost}, doubled {result.doubled}" if result.lost or result.doubled else ""
    died = f"; died: {', '.join(result.died)}" if result.died else ""
    reason = f" ({result.reason[:160]})" if result.reason else ""
    return f"{result.outcome}{counts}{reason}{died} after {result.seconds:g} s"


def _releases(options: argparse.Namespace, measured: Measured, started: Brokers) -> int:
    chosen = [each for each in RELEASES if options.only in each]
    if options.missing:
        chosen = [each for each in chosen if measured.release(each) is None]
    wrong = 0
    for version in chosen:
        fresh = probe(started, version)
        known = measured.release(version)
        differs = not options.record and (
            known is None or (known.subscription, known.upgrade_from) != (fresh.subscription, fresh.upgrade_from)
        )
        wrong += differs
        _say(f"{version}: version {fresh.subscription}, {fresh.upgrade_from}{' DIFFERS' if differs else ''}")
        if options.record:
            measured.put(fresh)
            measured.save()
    return wrong


if __name__ == "__main__":
    sys.exit(main())
