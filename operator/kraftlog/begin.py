"""How a command begins: it reports a missing package or folder before it imports anything else."""

import sys
from collections.abc import Sequence
from importlib import import_module

_FAILED = 1
_OURS = ("kraftlog", "quorum_history")


def begin(command: str, module: str, arguments: Sequence[str] | None) -> int:
    """Run `main` of a module; returns the exit code. `command` is its name for users."""
    try:
        loaded = import_module(module)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in _OURS:
            raise
        why = f"the Python package {missing} is missing: pip install 'kafka-quorum-operator[history]'"
    except RuntimeError as error:
        if "cannot cache function" not in str(error):
            raise
        why = "no folder is writable for the compiled decoder: set NUMBA_CACHE_DIR to one that is"
    else:
        code: int = loaded.main(arguments)
        return code
    print(f"{command}: {why}", file=sys.stderr)  # noqa: T201 -- a command prints its errors
    return _FAILED
