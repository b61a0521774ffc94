"""The command `kraftlog dump FILE…`: the records of metadata logs and checkpoints as JSON lines.

Exit codes: 0, everything was read; 1, a file could not be read at all, or was damaged (what could be read was printed,
the rest named on standard error); 2, a wrong request.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import BinaryIO

from kraftlog.errors import Fault, KraftLogError, SchemaError, quoted
from kraftlog.lines import lines_of
from kraftlog.reader import Options, read_blocks
from kraftlog.schema import releases

_DAMAGED, _MISUSED = 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="kraftlog", description="Read Kafka's metadata logs.")
    commands = parser.add_subparsers(dest="command", required=True)
    dump = commands.add_parser("dump", help="print every record as a line of JSON")
    dump.add_argument("files", nargs="+", metavar="FILE", help="a .log segment or a .checkpoint")
    dump.add_argument("--json", action="store_true", help="the data as it was decoded, which is the default")
    dump.add_argument(
        "--types", metavar="TYPE,…", help="only these record types (TOPIC_RECORD, KRaftVoters, UNKNOWN, …)"
    )
    dump.add_argument("--release", metavar="RELEASE", help=f"decode as this Kafka would: {', '.join(releases())}")
    chosen = parser.parse_args(arguments)
    types = None if chosen.types is None else frozenset(chosen.types.split(","))
    options = Options(release=chosen.release, types=types)
    try:
        damaged = [_dump(file, options, sys.stdout.buffer) for file in chosen.files]
        sys.stdout.buffer.flush()
    except SchemaError as error:
        print(f"kraftlog: {error}", file=sys.stderr)  # noqa: T201 -- a command prints its errors
        return _MISUSED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the interpreter's own flush fails
        return 0
    return _DAMAGED if any(damaged) else 0


def _dump(path: str, options: Options, out: BinaryIO) -> bool:
    """Print one file; returns whether something was wrong with it."""
    faults: list[Fault | KraftLogError] = []
    try:
        for item in read_blocks(path, options):
            if isinstance(item, Fault):
                faults.append(item)
                _complain(item)
                continue
            rendered = item.render()
            out.write(lines_of(item, rendered))
            for fault in rendered.faults:
                faults.append(fault)
                _complain(fault)
    except SchemaError:
        raise
    except KraftLogError as error:
        faults.append(error)
        _complain(error)
    return bool(faults)


def _complain(about: Fault | KraftLogError) -> None:
    print(f"kraftlog: {quoted(str(about))}", file=sys.stderr)  # noqa: T201 -- a command prints its errors
