"""`quorum-history`: from metadata logs and observations to tables, answers and a report.

Runs embedded (`local[*]`) as it is, and unchanged under `spark-submit`. Exit codes: 0, done; 1, something was found
(verify: a difference) or could not be done; 2, a wrong request.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from kraftlog import KraftLogError, SchemaError
from quorum_history import jobs, report
from quorum_history.files import NoLogsError, find_files
from quorum_history.observations import MAX_GAP_S
from quorum_history.progress import Progress
from quorum_history.session import NoJavaError, session
from quorum_history.source import OptionError, checked_options
from quorum_history.tables import TIMELINE_TYPES
from quorum_history.verify import VerifyError, verify

_FAILED, _MISUSED = 1, 2
_DERIVED = (
    "faults", "voter_sets", "voter_changes", "leaders", "feature_levels", "downgrade_losses", "spans", "availability",
    "leader_changes", "lag_percentiles", "recoveries", "stale_voters", "upgrade_readiness",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; answers the exit code."""
    chosen = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = chosen.run
    try:
        return run(chosen)
    except (OptionError, SchemaError) as error:
        return _complain(error, _MISUSED)
    except (NoLogsError, NoJavaError, jobs.JobError, VerifyError, KraftLogError) as error:
        return _complain(error, _FAILED)
    except PySparkException as error:
        return _complain(str(error).split("\n", 1)[0], _FAILED)


def _complain(about: object, code: int) -> int:
    print(f"quorum-history: {about}", file=sys.stderr)  # noqa: T201 -- a command speaks by printing
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="quorum-history", description="What happened to Kafka's KRaft quorums.")
    parser.add_argument("--master", help="Spark's master; default: what spark-submit chose, else local[*]")
    commands = parser.add_subparsers(dest="command", required=True)

    ingest = commands.add_parser("ingest", help="append what is new in metadata logs and observations")
    ingest.add_argument("--logs", metavar="PATHS", help="directories, globs or files, comma-separated")
    ingest.add_argument("--observations", metavar="PATH", help="a directory of JSON lines")
    ingest.add_argument("--all-types", action="store_true", help="every record, not only what the timelines need")
    ingest.add_argument("--high-watermarks", default="{}", metavar="JSON", help="cluster to the offset not to pass")
    ingest.add_argument("--continuous", type=float, metavar="SECONDS", help="go on until interrupted, at this interval")
    _target(ingest, _ingest)

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

    page = commands.add_parser("report", help="one page about all of it, with pictures")
    page.add_argument("--output", type=Path, required=True, help="a directory for index.html")
    _target(page, _report)

    check = commands.add_parser("verify", help="compare a decode with kafka-dump-log")
    check.add_argument("files", nargs="+")
    check.add_argument("--kafka-home", type=Path, required=True, help="a Kafka installation, with libs/")
    check.set_defaults(run=_verify)
    return parser


def _target(parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
    parser.add_argument("--target", type=Path, required=True, help="the directory of the tables")
    parser.set_defaults(run=run)
    return parser


def _format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("parquet", "delta"), default="parquet", help="default: parquet")


def _ingest(chosen: argparse.Namespace) -> int:
    if not chosen.logs and not chosen.observations:
        raise OptionError("ingest: name --logs, --observations or both")
    options = {"path": chosen.logs or "", "highWatermarks": chosen.high_watermarks}
    if not chosen.all_types:
        options["types"] = ",".join(TIMELINE_TYPES)
    if chosen.logs:
        checked_options(options)
        find_files(chosen.logs)
    spark, queries = session(chosen.master), []
    with Progress("micro-batches") as progress:
        if chosen.logs:
            queries.append(
                jobs.ingest_records(spark, options, chosen.target, every_s=chosen.continuous, done=progress.step)
            )
        if chosen.observations:
            queries.append(
                jobs.ingest_observations(
                    spark, chosen.observations, chosen.target, every_s=chosen.continuous, done=progress.step
                )
            )
        try:
            for query in queries:
                query.awaitTermination()
        except KeyboardInterrupt:
            for query in queries:
                query.stop()
    return 0


def _write(chosen: argparse.Namespace, tables: dict[str, DataFrame]) -> int:
    with Progress("tables", len(tables)) as progress:
        jobs.write_tables(tables, chosen.target, jobs.table_format(chosen.format), progress.step)
    return 0


def _timeline(chosen: argparse.Namespace) -> int:
    jobs.table_format(chosen.format)
    return _write(chosen, jobs.timeline_tables(session(chosen.master), chosen.target))


def _observe(chosen: argparse.Namespace) -> int:
    jobs.table_format(chosen.format)
    return _write(chosen, jobs.observation_tables(session(chosen.master), chosen.target, chosen.max_gap_s))


def _downgrade(chosen: argparse.Namespace) -> int:
    jobs.table_format(chosen.format)
    find_files(chosen.logs)
    return _write(chosen, {"downgrade_losses": jobs.downgrade_losses(session(chosen.master), chosen.logs)})


def _report(chosen: argparse.Namespace) -> int:
    spark = session(chosen.master)
    tables: dict[str, list[dict[str, Any]]] = {}
    with Progress("tables", len(_DERIVED)) as progress:
        for name in _DERIVED:
            if (chosen.target / name).is_dir():
                rows = jobs.read_table(spark, chosen.target, name).collect()
                tables[name] = sorted((row.asDict(recursive=True) for row in rows), key=_order)
            progress.step(name)
    if not tables:
        raise jobs.JobError(f"{chosen.target} holds no tables: run timeline, observe or downgrade first")
    print(report.write(tables, chosen.output))  # noqa: T201 -- a command speaks by printing
    return 0


def _order(row: dict[str, Any]) -> tuple[str, ...]:
    """Rows in a fixed order: clusters and quorums first, then by offset or time."""
    names = ("cluster", "namespace", "name", "kind", "offset", "leader_epoch", "target", "since", "day", "node_id")
    return tuple(f"{row[name]:>20}" if isinstance(row[name], int) else str(row[name]) for name in names if name in row)


def _verify(chosen: argparse.Namespace) -> int:
    different = False
    for file in chosen.files:
        verdict = verify(Path(file), chosen.kafka_home)
        silent = f", {verdict.silent} of which the tool prints no content" if verdict.silent else ""
        same = verdict.equal + verdict.silent == verdict.records and not verdict.first_difference
        different |= not same
        print(f"{file}: {verdict.equal} of {verdict.records} records equal{silent}")  # noqa: T201 -- a command speaks
        if verdict.first_difference:
            print(f"  first difference: {verdict.first_difference}")  # noqa: T201 -- by printing
    return _FAILED if different else 0


if __name__ == "__main__":
    sys.exit(main())
