"""The commands of `quorum-history`: from metadata logs and observations to tables, answers and a report.

`ingest` runs in this process, or as Spark tasks if a master is named. The commands that compute tables run on Spark,
embedded (`local[*]`) or unchanged under `spark-submit`.
"""

import argparse
import json
import re
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from kraftlog import KraftLogError, SchemaError
from kraftlog.errors import quoted
from kraftlog.places import hint, is_url, join
from quorum_history import demo, jobs, report
from quorum_history.at import at, differences, text_of, text_of_differences
from quorum_history.concerns import clusters_of, names_of
from quorum_history.executor import Executor, OnSpark, Threads
from quorum_history.files import NoLogsError, find_files
from quorum_history.ingest import Request, ingest
from quorum_history.observations import MAX_GAP_S
from quorum_history.progress import Progress
from quorum_history.replicas import cluster_log
from quorum_history.retention import keep, prune
from quorum_history.session import NoJavaError, brief_session, session, submitted
from quorum_history.source import OptionError, checked_options
from quorum_history.state import StateError
from quorum_history.store import BusyError, Store
from quorum_history.summary import Summary, lines_of_losses
from quorum_history.tables import TIMELINE_TYPES
from quorum_history.verify import VerifyError, verify

DONE, FAILED, MISUSED, DAMAGED = 0, 1, 2, 3
_CODES = """exit codes: 0, done; 1, could not be done, or `verify` found a difference; 2, a wrong request; 3, done,
but something that ingest read for the first time, or that `at` or `downgrade` read, is damaged, missing or no
observation, or a table fails a check of its quality"""
_SHOWN = 20
_DAYS_MAX = 36_500
_RAISED = re.compile(r"^(?:[a-zA-Z_]+\.)*[A-Z]\w*: (.+)$", re.MULTILINE)  # the end of a traceback
_DERIVED = (
    "faults", "voter_sets", "voter_changes", "leaders", "feature_levels", "downgrade_losses", "spans", "availability",
    "leader_changes", "lag_percentiles", "recoveries", "stale_voters", "upgrade_readiness", "rejected_lines",
    "last_looks", "downgrade_analysed", "service_levels", "changes_compared", "downgrade_verdicts", "log_readiness",
    "lag_drift", "voter_churn",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    try:
        chosen = _parser().parse_args(arguments)
        run: Callable[[argparse.Namespace], int] = chosen.run
        return run(chosen)
    except (OptionError, SchemaError) as error:
        return _complain(error, MISUSED)
    except (NoLogsError, NoJavaError, BusyError, StateError, jobs.JobError, VerifyError, KraftLogError) as error:
        return _complain(error, FAILED)
    except OSError as error:
        return _complain(f"{error}{hint(error)}", FAILED)
    except PySparkException as error:
        return _complain(_essence(str(error)), FAILED)


def _essence(text: str) -> str:
    """The line with the reason: for a failed Python task its last one, for any other error the first."""
    raised = _RAISED.findall(text)
    return raised[-1] if raised else text.strip().split("\n", 1)[0]


def _complain(about: object, code: int) -> int:
    print(f"quorum-history: {quoted(str(about))}", file=sys.stderr)  # noqa: T201 -- a command prints its errors
    return code


def _say(text: str) -> None:
    print(quoted(text), flush=True)  # noqa: T201 -- a command prints its answers


def _day(text: str) -> date:
    """A day of the command line; argparse prints the error."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a day: write it as 2026-01-31") from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="quorum-history", description="What happened to Kafka's KRaft quorums.", epilog=_CODES
    )
    parser.add_argument("--master", help="Spark's master; default: what spark-submit chose, else none or local[*]")
    commands = parser.add_subparsers(dest="command", required=True)

    reading = commands.add_parser("ingest", help="append what is new in metadata logs and observations")
    reading.add_argument("--logs", metavar="PATHS", help="directories, globs, files or URLs, comma-separated")
    reading.add_argument("--observations", metavar="PATHS", help="the same, of files of JSON lines")
    reading.add_argument("--all-types", action="store_true", help="every record, not only what the timelines need")
    reading.add_argument("--high-watermarks", default="{}", metavar="JSON", help="cluster to the offset not to pass")
    reading.add_argument(
        "--continuous", type=float, metavar="SECONDS", help="go on until interrupted, at this interval"
    )
    _target(reading, _ingest)

    fewer = commands.add_parser("prune", help="remove old observations from the tables")
    fewer.add_argument("--before", type=_day, required=True, metavar="DAY", help="what is older (UTC)")
    _target(fewer, _prune)

    timeline = commands.add_parser("timeline", help="voter sets, leaders, features, registrations as tables")
    _format(_target(timeline, _timeline))

    observe = commands.add_parser("observe", help="availability, lag, recovery and the rest as tables")
    observe.add_argument(
        "--max-gap-s", type=int, default=MAX_GAP_S, help="what one look speaks for; default %(default)s"
    )
    _format(_target(observe, _observe))

    downgrade = commands.add_parser("downgrade", help="what a lossy downgrade of metadata.version would lose")
    downgrade.add_argument("--logs", metavar="PATHS", required=True)
    _format(_target(downgrade, _downgrade))

    state = commands.add_parser("at", help="a cluster's metadata at an offset, or what changed between two offsets")
    state.add_argument("--logs", metavar="PATHS", required=True)
    state.add_argument("--cluster", metavar="ID", help="which cluster, where there are logs of several: --cluster=ID")
    state.add_argument("--offset", type=int, metavar="N", help="the last record that counts; default: the log's last")
    state.add_argument("--against", type=int, metavar="M", help="show only what differs from the state at this offset")
    state.add_argument("-o", "--output", choices=("text", "json"), default="text", help="default: text")
    state.set_defaults(run=_at)

    page = commands.add_parser("report", help="one page about all of it, with pictures")
    page.add_argument("--output", required=True, metavar="FOLDER", help="the directory or URL for index.html")
    page.add_argument("--pages", action="store_true", help="a page for each cluster besides, linked from the first")
    page.add_argument(
        "--quorum", action="append", default=[], metavar="NAME", help="namespace/name or cluster id to show"
    )
    page.add_argument("--since", type=_day, metavar="DAY", help="leave out what ended before (UTC)")
    page.add_argument("--until", type=_day, metavar="DAY", help="leave out what began after (UTC)")
    _target(page, _report)

    _refresh_parser(commands.add_parser("refresh", help="ingest, all tables and the page, as a schedule runs them"))

    sample = commands.add_parser("demo", help="make sample logs and observations, and their tables and page")
    sample.add_argument("--output", type=Path, required=True, metavar="DIR", help="a new directory for all of it")
    sample.set_defaults(run=_demo)

    check = commands.add_parser("verify", help="compare a decode with kafka-dump-log")
    check.add_argument("files", nargs="+", metavar="FILE", help="paths or URLs")
    check.add_argument("--kafka-home", type=Path, required=True, help="a Kafka installation, with libs/")
    check.set_defaults(run=_verify)
    return parser


def _refresh_parser(parser: argparse.ArgumentParser) -> None:
    """The options of the commands that it runs, as far as a schedule needs them; the others have their defaults."""
    parser.add_argument("--logs", metavar="PATHS", help="as for ingest; the tables of timeline and downgrade follow")
    parser.add_argument("--observations", metavar="PATHS", help="as for ingest; the tables of observe follow")
    parser.add_argument("--max-gap-s", type=int, default=MAX_GAP_S, help="as for observe")
    parser.add_argument("--output", required=True, metavar="FOLDER", help="the directory or URL for index.html")
    parser.add_argument("--pages", action="store_true", help="as for report")
    parser.add_argument("--keep-days", type=int, metavar="N", help="remove older observations from the tables")
    parser.set_defaults(all_types=False, high_watermarks="{}", continuous=None, quorum=[], since=None, until=None)
    _format(_target(parser, _refresh))


def _target(parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
    parser.add_argument("--target", type=Store, required=True, help="the directory or URL of the tables")
    parser.set_defaults(run=run)
    return parser


def _format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("parquet", "delta"), default="parquet", help="default: parquet")


# --- ingest -----------------------------------------------------------------------------------------------------------


def _ingest(chosen: argparse.Namespace) -> int:
    if not chosen.logs and not chosen.observations:
        raise OptionError("ingest: name --logs, --observations or both")
    if chosen.continuous is not None and not 0 < chosen.continuous < threading.TIMEOUT_MAX:
        raise OptionError(f"--continuous: {chosen.continuous} is no number of seconds to wait between two looks")
    options = {"path": chosen.logs or chosen.observations, "highWatermarks": chosen.high_watermarks}
    if not chosen.all_types:
        options["types"] = ",".join(TIMELINE_TYPES)
    request = Request(logs=chosen.logs, observations=chosen.observations, options=checked_options(options))
    if chosen.logs and chosen.continuous is None:
        find_files(chosen.logs)
    with chosen.target.locked():
        executor = OnSpark(session(chosen.master)) if chosen.master or submitted() else Threads()
        if chosen.continuous is None:
            return _told(ingest(chosen.target, request, executor))
        return _continuously(chosen.target, request, executor, chosen.continuous)


def _continuously(store: Store, request: Request, executor: Executor, every_s: float) -> int:
    """Repeat until a signal; any error ends it. A log may still be missing at first."""
    code = DONE
    with _ending_on_signals():
        try:
            while True:
                try:
                    summary = ingest(store, request, executor)
                    if summary.worth_telling:
                        code = max(code, _told(summary))
                except NoLogsError as error:
                    _complain(f"{error}; waiting for one", DONE)
                time.sleep(every_s)
        except KeyboardInterrupt:
            return code


@contextmanager
def _ending_on_signals() -> Iterator[None]:
    """SIGTERM ends the loop as an interrupt does; between commits, nothing is lost."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _told(summary: Summary) -> int:
    """Print what was done and what is wrong; returns the exit code."""
    for line in summary.lines(_SHOWN):
        _say(line)
    return DAMAGED if summary.newly_damaged or summary.failed else DONE


def _prune(chosen: argparse.Namespace) -> int:
    with chosen.target.locked():
        removed = prune(chosen.target, report.at_midnight(chosen.before))
    _say(f"removed observations: {removed:,}")
    return DONE


# --- tables -----------------------------------------------------------------------------------------------------------


def _write(chosen: argparse.Namespace, tables: dict[str, DataFrame]) -> int:
    with Progress("tables", len(tables)) as progress:
        jobs.write_tables(tables, chosen.target, jobs.table_format(chosen.format), progress.step)
    _say(f"{len(tables)} tables in {chosen.target.place}: {', '.join(sorted(tables))}")
    wrong = [each for each in jobs.checked(chosen.target) if not each.passed]
    for each in wrong:
        _complain(each, DAMAGED)
    return DAMAGED if wrong else DONE


def _timeline(chosen: argparse.Namespace) -> int:
    jobs.table_format(chosen.format)
    return _write(chosen, jobs.timeline_tables(brief_session(chosen.master), chosen.target))


def _observe(chosen: argparse.Namespace) -> int:
    jobs.table_format(chosen.format)
    if chosen.max_gap_s <= 0:
        raise OptionError(f"--max-gap-s: {chosen.max_gap_s} is no positive number of seconds")
    return _write(chosen, jobs.observation_tables(brief_session(chosen.master), chosen.target, chosen.max_gap_s))


def _downgrade(chosen: argparse.Namespace) -> int:
    code, damaged = _losses(chosen)
    return max(code, DAMAGED if damaged else DONE)


def _losses(chosen: argparse.Namespace) -> tuple[int, bool]:
    """Write the tables of `downgrade` and print what is wrong: the exit code without it, and whether there is any."""
    jobs.table_format(chosen.format)
    find_files(chosen.logs)
    found = jobs.replayed(brief_session(chosen.master), chosen.logs)
    code, damaged = _write(chosen, jobs.losses_as_tables(found)), jobs.faults_of(found)
    for line in lines_of_losses(damaged, _SHOWN):
        _say(line)
    return code, bool(damaged)


def _at(chosen: argparse.Namespace) -> int:
    files = find_files(chosen.logs)
    clusters = sorted({file.cluster for file in files})
    if chosen.cluster is None and len(clusters) > 1:
        raise OptionError(f"--cluster: there are logs of {len(clusters)} clusters: {', '.join(clusters[:_SHOWN])}")
    if chosen.cluster not in (None, *clusters):
        raise OptionError(f"--cluster: no log of {chosen.cluster} is there, but of {', '.join(clusters[:_SHOWN])}")
    wanted = chosen.cluster or clusters[0]
    log = cluster_log(wanted, [file for file in files if file.cluster == wanted])
    found = at(log, chosen.offset)
    before = None if chosen.against is None else at(log, chosen.against)
    if chosen.output == "json":
        shown = found.as_json()
        if before is not None:
            differing = [each.as_json() for each in differences(before.image, found.image)]
            shown = {**shown, "against": before.offset, "differences": differing}
            del shown["state"]
        print(json.dumps(shown, indent=2))  # noqa: T201 -- a command prints its answers
    else:
        for line in text_of(found) if before is None else text_of_differences(before, found):
            _say(line)
    faults = dict.fromkeys((*found.faults, *(before.faults if before else ())))
    for fault in faults:
        _complain(fault, DAMAGED)
    return DAMAGED if faults else DONE


def _report(chosen: argparse.Namespace) -> int:
    tables: dict[str, list[dict[str, Any]]] = {}
    with Progress("tables", len(_DERIVED)) as progress:
        for name in _DERIVED:
            rows = jobs.derived(chosen.target, name)
            if rows is not None:
                tables[name] = sorted(jobs.complete(name, rows), key=_order)
            progress.step(name)
    if not tables:
        raise jobs.JobError(f"{chosen.target.place} holds no tables: run timeline, observe or downgrade first")
    since = report.at_midnight(chosen.since) if chosen.since else None
    until = report.at_midnight(chosen.until) + timedelta(days=1) if chosen.until else None
    known = {*clusters_of(tables), *names_of(tables).values()}
    if missing := [name for name in chosen.quorum if name not in known]:
        raise OptionError(f"--quorum: {', '.join(missing)}: no such quorum or cluster in {chosen.target.place}")
    shown = report.between(tables, since, until)
    with _folder(chosen.output) as folder:
        page = report.write(shown, folder, quorums=chosen.quorum, pages=chosen.pages, chosen=(since, until))
    _say(join(chosen.output, page.name))
    return DONE


@contextmanager
def _folder(place: str) -> Iterator[Path]:
    """A folder to write files into; if `place` is in an object store, the files are stored there afterwards."""
    if not is_url(place):
        yield Path(place)
        return
    store = Store(place)
    with tempfile.TemporaryDirectory(prefix="quorum-history-") as folder:
        yield Path(folder)
        for file in sorted(Path(folder).iterdir()):
            store.write(file.read_bytes(), file.name)


def _order(row: dict[str, Any]) -> tuple[str, ...]:
    """Rows in a fixed order: clusters and quorums first, then by offset or time."""
    names = ("cluster", "namespace", "name", "kind", "offset", "leader_epoch", "target", "since", "day", "node_id")
    return tuple(f"{row[name]:>20}" if isinstance(row[name], int) else str(row[name]) for name in names if name in row)


def _refresh(chosen: argparse.Namespace) -> int:
    """Run the commands from the sources to the page. Damage is reported, and prevents none of them from running."""
    if chosen.keep_days is not None and not 0 < chosen.keep_days <= _DAYS_MAX:
        raise OptionError(f"--keep-days: {chosen.keep_days} is no number of days from 1 to {_DAYS_MAX}")
    codes = [_ingest(chosen)]
    if chosen.keep_days is not None:
        with chosen.target.locked():
            _say(f"removed observations: {keep(chosen.target, chosen.keep_days, datetime.now(UTC)):,}")
    if chosen.logs:
        codes += [_timeline(chosen), _losses(chosen)[0]]  # of damage, `ingest` has said what is new
    if chosen.observations:
        codes.append(_observe(chosen))
    codes.append(_report(chosen))
    return max(codes)


def _demo(chosen: argparse.Namespace) -> int:
    if chosen.output.exists() and any(chosen.output.iterdir()):
        raise OptionError(f"--output: {chosen.output} is not empty: name a new directory for the demonstration")
    logs, observations = demo.make(chosen.output, datetime.now(UTC))
    sources = ("--logs", str(logs), "--observations", str(observations))
    results = ("--target", str(chosen.output / "tables"), "--output", str(chosen.output / "page"))
    master = () if chosen.master is None else ("--master", chosen.master)
    return _refresh(_parser().parse_args([*master, "refresh", *sources, *results]))


def _verify(chosen: argparse.Namespace) -> int:
    different = False
    for file in chosen.files:
        verdict = verify(file, chosen.kafka_home)
        silent = f", {verdict.silent} of which the tool prints no content" if verdict.silent else ""
        same = verdict.equal + verdict.silent == verdict.records and not verdict.first_difference
        different |= not same
        _say(f"{file}: {verdict.equal} of {verdict.records} records equal{silent}")
        if verdict.first_difference:
            _say(f"  first difference: {verdict.first_difference}")
    return FAILED if different else DONE
