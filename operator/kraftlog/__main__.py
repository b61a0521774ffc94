"""`python -m kraftlog dump FILE…`: the records of metadata logs and checkpoints as JSON lines (see `dump`)."""

import sys
from collections.abc import Sequence

_FAILED = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; answers the exit code."""
    try:
        from kraftlog import dump  # noqa: PLC0415 -- to say which package is missing
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing == "kraftlog":
            raise
        said = f"the Python package {missing} is missing: pip install 'kafka-quorum-operator[history]'"
        print(f"kraftlog: {said}", file=sys.stderr)  # noqa: T201 -- a command speaks by printing
        return _FAILED
    except RuntimeError as error:
        if "cannot cache function" not in str(error):
            raise
        said = "no folder is writable for the compiled decoder: set NUMBA_CACHE_DIR to one that is"
        print(f"kraftlog: {said}", file=sys.stderr)  # noqa: T201 -- a command speaks by printing
        return _FAILED
    return dump.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
