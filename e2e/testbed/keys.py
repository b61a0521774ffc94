"""Content keys: a step is repeated only if one of its inputs has changed."""

import fcntl
import hashlib
from collections.abc import Callable
from pathlib import Path

from testbed.config import Paths
from testbed.progress import step


def content_key(*inputs: str | Path) -> str:
    """A hash over strings, files, and directories with the names and modes of their content."""
    digest = hashlib.sha256()
    for item in inputs:
        if isinstance(item, str):
            digest.update(f"s{len(item)}:{item}".encode())
            continue
        for path in sorted(item.rglob("*")) if item.is_dir() else [item]:
            if path.is_file() and "__pycache__" not in path.parts:
                name = path.relative_to(item) if item.is_dir() else path.name
                mode = 0o555 if path.stat().st_mode & 0o100 else 0o444  # the part of a mode that git keeps
                data = path.read_bytes()
                digest.update(f"f{name}:{mode:o}:{len(data)}:".encode() + data)
    return digest.hexdigest()[:16]


def once(paths: Paths, name: str, key: str, product: Path, make: Callable[[], None]) -> None:
    """Do a step unless its product exists and was made from the same inputs.

    If several commands need the same step, one does it, and the others wait for it.
    """
    stamp = paths.stamps / name.replace("/", "_").replace(" ", "-")
    stamp.parent.mkdir(parents=True, exist_ok=True)
    with stamp.with_name(f".{stamp.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if product.exists() and stamp.exists() and stamp.read_text() == key:
            return
        stamp.unlink(missing_ok=True)
        with step(name):
            make()
        stamp.write_text(key)
