"""A kubectl that gives prepared answers, and notes how it was called.

It runs as an executable on the PATH, so that the plugin is tested with its processes, deadlines and pipes. In its
folder, `answers.json` has a list of answers; the first one whose texts are all in the arguments is given.
"""

import json
import os
import stat
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

Json = dict[str, Any]

_SCRIPT = """\
#!{python} -S
import json, os, sys, time
folder = {folder!r}
words = sys.argv[1:]
with open(os.path.join(folder, "calls.jsonl"), "a") as calls:
    calls.write(json.dumps(words) + "\\n")
line = " ".join(words)
for answer in json.load(open(os.path.join(folder, "answers.json"))):
    if all(part in line for part in answer["on"]):
        if answer["child"]:
            # A child that keeps the pipes open, as a credential plugin that hangs does.
            os.system("sleep {{}} &".format(answer["hangs_s"]))
        elif answer["hangs_s"]:
            time.sleep(answer["hangs_s"])
        sys.stdout.write(answer["out"])
        sys.stderr.write(answer["err"])
        sys.exit(answer["code"])
sys.stderr.write("Error from server (NotFound): " + line + " not found")
sys.exit(1)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """An answer to a call whose arguments contain every text of `on`. `child` leaves a process with the pipes."""

    on: tuple[str, ...]
    out: str = ""
    err: str = ""
    code: int = 0
    hangs_s: float = 0.0
    child: bool = False


def gives(on: str, value: object) -> Prepared:
    """An object as JSON."""
    return Prepared(on=(on,), out=json.dumps(value))


def fails(on: str, words: str) -> Prepared:
    """An error in the words of kubectl."""
    return Prepared(on=(on,), err=words, code=1)


def forbidden(on: str) -> Prepared:
    """What the API server says about a missing right."""
    return fails(on, f'Error from server (Forbidden): {on} is forbidden: User "ada" cannot get it')


def hangs(on: str) -> Prepared:
    """A call that does not end by itself."""
    return Prepared(on=(on,), hangs_s=60)


class Fake:
    """The executable in a folder."""

    def __init__(self, folder: Path) -> None:
        """The folder is put at the beginning of the PATH by the test."""
        self.folder = folder
        program = folder / "kubectl"
        program.write_text(_SCRIPT.format(python=sys.executable, folder=str(folder)))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        self.prepare(())

    def prepare(self, answers: Iterable[Prepared]) -> None:
        """The answers, in the order in which they are compared."""
        (self.folder / "answers.json").write_text(json.dumps([asdict(each) for each in answers]))

    def calls(self) -> list[list[str]]:
        """The arguments of every call so far."""
        noted = self.folder / "calls.jsonl"
        return [json.loads(line) for line in noted.read_text().splitlines()] if noted.exists() else []

    def path(self) -> str:
        """The PATH with this kubectl in front."""
        return f"{self.folder}{os.pathsep}{os.environ['PATH']}"
