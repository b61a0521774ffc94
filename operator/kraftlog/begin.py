"""How a command begins: where a package is missing, or a folder, it says so. Nothing else is imported before that."""

import sys
from collections.abc import Sequence
from importlib import import_module

_FAILED = 1
_OURS = ("kraftlog", "quorum_history")


def begin(command: str, module: str, arguments: Sequence[str] | None) -> int:
    """Run `main` of a module; answers the exit code. `command` is what users call it."""
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
    print(f"{command}: {why}", file=sys.stderr)  # noqa: T201 -- a command speaks by printing
    return _FAILED
