"""Write the dashboards into the chart: `python -m helm.dashboards [--check]`, from the root of the repository."""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from grafana_foundation_sdk.builders.dashboard import Dashboard
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from helm.dashboards import fleet, quorum

TARGET = Path(__file__).resolve().parents[1] / "kafka-quorum-operator" / "dashboards"
DASHBOARDS: dict[str, Callable[[], Dashboard]] = {"fleet.json": fleet.dashboard, "quorum.json": quorum.dashboard}


def text(make: Callable[[], Dashboard]) -> str:
    """The JSON of a dashboard. Panels are numbered in their order, so that links to one of them stay the same."""
    board = make().build()
    for number, panel in enumerate(board.panels or [], start=1):
        panel.id_val = number
    # Through plain values: a panel that is built without an id is what Grafana itself would have to repair.
    plain = json.loads(JSONEncoder().encode(board))
    return json.dumps(plain, indent=2, sort_keys=True) + "\n"


def main() -> int:
    """Write the files, or with `--check` say which differ from the source."""
    parser = argparse.ArgumentParser(prog="python -m helm.dashboards", description="Write the dashboards of the chart.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing; 1 if a file differs")
    options = parser.parse_args()
    differ = [
        (TARGET / name, made)
        for name, make in DASHBOARDS.items()
        if (made := text(make)) != ((TARGET / name).read_text() if (TARGET / name).is_file() else "")
    ]
    for path, made in differ:
        if options.check:
            sys.stderr.write(f"{path} differs from its source: run `python -m helm.dashboards`\n")
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(made)
            sys.stderr.write(f"{path} written\n")
    return 1 if options.check and differ else 0


if __name__ == "__main__":
    sys.exit(main())
