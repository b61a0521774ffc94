"""Check the dashboards against a Prometheus, and draw them: `PYTHONPATH=operator:e2e python -m pictures --help`.

It prints each query that returns nothing, and ends with 1 if a query was refused. `--write` also makes the pictures.
"""

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from harness import dashboards
from harness.prometheus import NotAnsweredError, Prometheus
from pictures import page
from pictures.charts import Span
from testbed import browser

UNTIL = {"fleet": "Broker pools and Streams applications", "quorum": "Certificates and migration"}
"""The row before which a picture ends, so that it stays small."""


def checked(server: Prometheus, variables: Mapping[str, Mapping[str, str]], span: Span) -> list[str]:
    """A line for each query that returns nothing or is refused."""
    lines = []
    for query in (query for name in dashboards.NAMES for query in dashboards.queries(name)):
        asked = query.asked(variables[query.board])
        try:
            found = (
                server.instant(asked, span.end_s)
                if query.instant
                else server.over(asked, span.begin_s, span.end_s, span.step_s)
            )
        except NotAnsweredError as error:
            lines.append(f"refused: {query.place}: {error}")
            continue
        if not found:
            lines.append(f"nothing: {query.place}: {asked}")
    return lines


def write(
    name: str,
    server: Prometheus,
    variables: Mapping[str, str],
    span: Span,
    names: Mapping[str, str],
    directory: Path,
) -> None:
    """Make the picture of the dashboard `name`; `names` replace others, such as those of namespaces."""
    made = page.drawn(name, server, variables, span, UNTIL[name])
    for real, shown in names.items():
        made = made.replace(real, shown)
    found = browser.find()
    if found is None:
        raise FileNotFoundError("no browser: run `python e2e/testbed page-browser`")
    page.picture(made, found, directory / f"dashboard-{name}.png")


def main() -> int:
    """Ask every query, and print what returns nothing."""
    parser = argparse.ArgumentParser(prog="python -m pictures", description="Check and draw the dashboards.")
    parser.add_argument("--port", type=int, default=9090, help="of a Prometheus on this machine")
    parser.add_argument("--namespace", required=True, help="of the quorum")
    parser.add_argument("--quorum", required=True)
    parser.add_argument("--end", type=float, default=time.time(), help="in Unix seconds; now by default")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--step", type=float, default=5, help="in seconds")
    parser.add_argument("--rate", default="30s", help="$__rate_interval: four scrapes or more")
    parser.add_argument("--rename", action="append", default=[], metavar="REAL=SHOWN", help="in the pictures")
    parser.add_argument("--write", type=Path, metavar="DIRECTORY")
    options = parser.parse_args()
    server = Prometheus(port=options.port)
    span = Span(begin_s=options.end - 60 * options.minutes, end_s=options.end, step_s=options.step)
    variables = {
        "fleet": {"namespace": ".*", "__rate_interval": options.rate},
        "quorum": {"namespace": options.namespace, "quorum": options.quorum, "__rate_interval": options.rate},
    }
    lines = checked(server, variables, span)
    print(*lines, sep="\n")
    if options.write:
        names = dict(pair.split("=", 1) for pair in options.rename)
        for name in dashboards.NAMES:
            write(name, server, variables[name], span, names, options.write)
    return int(any(line.startswith("refused") for line in lines))


if __name__ == "__main__":
    sys.exit(main())
