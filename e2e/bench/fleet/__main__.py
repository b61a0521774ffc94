"""`make bench-fleet`: one operator with more and more quorums of simulated controllers, and what that costs.

Nodes and pods are KWOK's, on a real API server; the controllers are one process that speaks Kafka's protocol. It runs
in a network namespace of its own (`unshare --net`), and all of it ends with this process, also after Ctrl-C.
"""

import argparse
import contextlib
import json
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from bench.figures import table
from bench.fleet import measures, stage
from bench.fleet.control_plane import ControlPlane, control_plane
from bench.fleet.operator_process import Process, running
from harness.shell import Json, kubectl

_READY_LEAST_S: Final = 900.0
_ACT_INTERVAL_S: Final = 0.5
_SETTLE_S: Final = 20.0
_ODD_NAMESPACE: Final = "fleet-odd"
_ODD: Final = ("silent", "hostile")


def main() -> int:
    """Measure, and print tables, or JSON with `--figures json`."""
    parser = argparse.ArgumentParser(prog="bench.fleet", description=__doc__)
    parser.add_argument("--counts", default="10,100,300,1000", help="numbers of quorums, rising")
    parser.add_argument("--rest-seconds", type=float, default=130, help="how long a fleet at rest is measured")
    parser.add_argument("--ready-seconds", type=float, default=1.5, help="what each new quorum may take")
    parser.add_argument("--acts", type=int, default=100, help="how many acts are timed on each side; 0 for none")
    parser.add_argument("--storm", type=int, default=100, help="how many rolls begin at once; 0 for no storm")
    parser.add_argument("--no-restart", action="store_true", help="do not restart the API server")
    parser.add_argument("--no-odd", action="store_true", help="no silent and no hostile quorum")
    parser.add_argument("--tls", action="store_true", help="quorums with mutual TLS, which is the default of a quorum")
    parser.add_argument("--figures", choices=("table", "json"), default="table")
    parser.add_argument("--folder", type=Path, help="an empty folder for keys, data and logs of all processes")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    counts = sorted(int(text) for text in options.counts.split(","))
    folder = options.folder or Path(tempfile.mkdtemp(prefix="fleet-"))
    folder.mkdir(parents=True, exist_ok=True)
    stage.log(f"keys, data and logs are in {folder}")
    found: Json = {"at_rest": [], "start": [], "acts": []}
    try:
        with contextlib.ExitStack() as stack:
            plane = stack.enter_context(control_plane(folder))
            stack.enter_context(stage.staged(plane, counts[-1]))
            _measure(options, counts, plane, found)
    except (KeyboardInterrupt, AssertionError) as error:
        stage.log(f"ended early: {error!r}")
    print(json.dumps(found, indent=1) if options.figures == "json" else _tables(found))
    return 0


def _measure(options: argparse.Namespace, counts: list[int], plane: ControlPlane, found: Json) -> None:
    """Everything, with the operator started once more for each number of quorums."""
    made = 0
    for count in counts:
        with running(plane):
            limit_s = max(_READY_LEAST_S, (count - made) * options.ready_seconds)
            took_s = stage.apply(range(made, count), tls=options.tls, timeout_s=limit_s)
            stage.log(f"{count - made} quorums became ready in {took_s} s")
            made = count
        with running(plane) as operator:
            start = {"quorums": count, "looked_at_s": measures.looked_at(operator, count)}
            time.sleep(_SETTLE_S)  # status writes and looks that follow the start
            start["cpu_s"] = round(operator.cpu_s(), 1)
            start["looks_written_s"] = measures.settled(plane, count)
            found["start"].append(start)
            stage.log(f"start: {start}")
            kinds, row = measures.at_rest(plane, operator, options.rest_seconds, count)
            found["at_rest"].append(row)
            found["requests_per_minute"] = kinds
            stage.log(f"at rest: {row}; requests a minute: {kinds}")
            if options.acts:
                found["acts"].append({"quorums": count, **_acts(options, count)})
                stage.log(f"acts: {found['acts'][-1]}")
            if count == counts[-1]:
                _last(options, plane, operator, count, found)


def _acts(options: argparse.Namespace, count: int) -> Json:
    return measures.acts(range(min(count, options.acts)), options.acts, _ACT_INTERVAL_S)


def _last(options: argparse.Namespace, plane: ControlPlane, operator: Process, count: int, found: Json) -> None:
    """What is measured with the largest fleet only."""
    if options.storm:
        found["storm"] = {"quorums": count, **measures.storm(plane, operator, range(min(count, options.storm)))}
        stage.log(f"storm: {found['storm']}")
    if options.acts and not options.no_odd:
        found["odd"] = {"alone": _acts(options, count)}
        stage.apply_namespaces([_ODD_NAMESPACE])
        for name in _ODD:
            kubectl("create", "-f", "-", stdin=json.dumps(stage.quorum(_ODD_NAMESPACE, name)))
        time.sleep(_SETTLE_S)  # the operator has had their answers: from here on it works with them
        found["odd"]["beside"] = _acts(options, count)
        stage.log(f"beside a silent and a hostile quorum: {found['odd']}")
        kubectl("-n", _ODD_NAMESPACE, "delete", "kq", "--all", "--wait=false")
    if not options.no_restart:
        found["api_server"] = measures.api_server_restarted(plane, operator, count)
        stage.log(f"API server: {found['api_server']}")


def _tables(found: Json) -> str:
    """Every figure for a terminal: a column for each number of quorums."""
    tables = [
        table(title, ("quorums", *(str(row["quorums"]) for row in rows)), _turned(rows))
        for title, rows in (
            ("At rest", found["at_rest"]),
            ("From the start of the process until every quorum was looked at", found["start"]),
            ("From a pod that is gone to the one in its place", found["acts"]),
        )
        if rows
    ]
    rest_of = {name: found[name] for name in ("requests_per_minute", "storm", "odd", "api_server") if name in found}
    return "\n\n".join([*tables, json.dumps(rest_of, indent=1)])


def _turned(rows: list[Json]) -> list[tuple[object, ...]]:
    return [(name, *(row[name] for row in rows)) for name in rows[0] if name != "quorums"]


if __name__ == "__main__":
    sys.exit(main())
