"""`python -m kraftlog.disk look|content|beyond|copy|rewrite|seed`: for a pod that mounts a controller's volume.

Standard output has one line of JSON, or standard error has one line with the error. Exit codes: 0, done; 1, refused,
because of the disk: the same command would be refused again; 2, a wrong request or plan; 3, the system failed: repeat.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from kraftlog.disk.comparing import beyond
from kraftlog.disk.contents import content
from kraftlog.disk.errors import UnreadableDiskError
from kraftlog.disk.form import NUMBER_MAX, TEXT_MAX_CHARS, FormError, from_json, to_json
from kraftlog.disk.looking import look
from kraftlog.disk.model import BEYOND_SCHEMA, Chosen
from kraftlog.errors import KraftLogError, quoted
from kraftlog.rewrite import copy, read_plan, read_seed_plan, rewrite, seed

DONE: Final = 0
REFUSED: Final = 1
MISUSED: Final = 2
FAILED: Final = 3
_MESSAGE_MAX_CHARS = 2000
_PLAN = "the plan as JSON, a file with it, or - for standard input"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    chosen = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], object] = chosen.run
    try:
        print(to_json(run(chosen)), flush=True)  # noqa: T201 -- a command prints its result
    except FormError as error:
        return _complain(error, MISUSED)
    except UnreadableDiskError as error:
        return _complain(error, FAILED)
    except KraftLogError as error:
        return _complain(error, REFUSED)
    except OSError as error:
        return _complain(error, FAILED)
    return DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="kraftlog.disk", description="Look at a controller's disk, or change it.")
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, words: str, run: Callable[[argparse.Namespace], object]) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=words, description=words)
        made.set_defaults(run=run)
        return made

    one = command("look", "where the log ends, what is damaged, who the voters are", lambda it: look(it.directory))
    one.add_argument("directory", type=Path, help="the directory with meta.properties")
    one = command("content", "what the log has from an offset on", lambda it: content(it.directory, it.from_offset))
    one.add_argument("directory", type=Path, help="the directory with meta.properties")
    one.add_argument("--from", dest="from_offset", type=_offset, default=0, metavar="OFFSET", help="0 by default")
    one = command(
        "beyond",
        "what the log has that the chosen one does not have",
        lambda it: beyond(it.directory, from_json(Chosen, _text(it.chosen), schema=BEYOND_SCHEMA)),
    )
    one.add_argument("directory", type=Path, help="the directory with meta.properties")
    one.add_argument("--chosen", required=True, help="the epochs and the end of the chosen log, like a plan")
    one = command("copy", "copy a disk, or continue or check a copy", lambda it: copy(it.source, it.target))
    one.add_argument("source", type=Path, help="the directory with meta.properties")
    one.add_argument("target", type=Path, help="an empty directory, or one with a part of this copy")
    one = command(
        "rewrite", "make a controller the only voter", lambda it: rewrite(it.directory, read_plan(_text(it.plan)))
    )
    one.add_argument("directory", type=Path, help="the directory with meta.properties")
    one.add_argument("--plan", required=True, help=_PLAN)
    one = command(
        "seed",
        "make a new controller the only voter, with the log of a broker",
        lambda it: seed(it.source, it.target, read_seed_plan(_text(it.plan))),
    )
    one.add_argument("source", type=Path, help="the broker's directory with meta.properties")
    one.add_argument("target", type=Path, help="a directory that was just formatted")
    one.add_argument("--plan", required=True, help=_PLAN)
    return parser


def _offset(text: str) -> int:
    """An offset from the command line."""
    if not text.isascii() or not text.isdigit() or len(text) > len(str(NUMBER_MAX)) or int(text) > NUMBER_MAX:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no offset")
    return int(text)


def _text(plan: str) -> str:
    """The text of a plan, or of a chosen log (FormError)."""
    if plan.lstrip().startswith("{"):
        return plan
    try:
        if plan == "-":
            return sys.stdin.read(TEXT_MAX_CHARS + 1)
        with Path(plan).open(encoding="utf-8") as file:
            return file.read(TEXT_MAX_CHARS + 1)
    except (OSError, ValueError) as error:
        raise FormError(f"{plan[:40]!r} cannot be read: {error}") from error


def _complain(error: Exception, code: int) -> int:
    print(f"kraftlog.disk: {quoted(str(error))[:_MESSAGE_MAX_CHARS]}", file=sys.stderr)  # noqa: T201
    return code


if __name__ == "__main__":
    sys.exit(main())
