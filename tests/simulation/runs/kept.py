"""The counts of a long exploration, kept in a folder, so that an interrupted one can continue.

Runs are deterministic: the same source and the same question need no second count. The digest in the folder's name
covers every loaded module of this checkout, and the question. After any change an exploration starts again.
"""

import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.simulation.runs.tally import Tally

_ROOT: Final = Path(__file__).resolve().parents[3]


class Kept:
    """The shares of one exploration, and the tally of each completed one. Every write is complete, or is not there."""

    def __init__(self, folder: Path, question: str) -> None:
        """Find or create the folder for this question."""
        self.folder = folder / source_digest(question)
        self.folder.mkdir(parents=True, exist_ok=True)

    def shares(self, draw: Callable[[], list[list[str]]]) -> list[list[str]]:
        """The runs of each share, by name; drawn only once."""
        path = self.folder / "shares.json"
        if not path.exists():
            write_whole(path, json.dumps(draw()))
        found: list[list[str]] = json.loads(path.read_text())
        return found

    def counted(self, number: int) -> Tally | None:
        """The result of a share; None if it is not done."""
        path = self._path(number)
        if not path.exists():
            return None
        return Tally.of(json.loads(path.read_text()))

    def keep(self, number: int, tally: Tally) -> None:
        """A share is done."""
        write_whole(self._path(number), json.dumps(tally.as_json()))

    def _path(self, number: int) -> Path:
        return self.folder / f"share-{number:05d}.json"


def write_whole(path: Path, text: str) -> None:
    """Write a file: it has all of the text, or stays as it was."""
    begun = path.with_suffix(f".{os.getpid()}")
    begun.write_text(text)
    begun.replace(path)


def source_digest(question: str) -> str:
    """A name for this question to the source as it is: every loaded module of this checkout."""
    found = hashlib.sha256(question.encode())
    files = {Path(file) for module in list(sys.modules.values()) if (file := getattr(module, "__file__", None))}
    for path in sorted(path for path in files if path.suffix == ".py" and _is_ours(path)):
        found.update(str(path.relative_to(_ROOT)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


def _is_ours(path: Path) -> bool:
    return path.is_relative_to(_ROOT) and ".venv" not in path.parts
