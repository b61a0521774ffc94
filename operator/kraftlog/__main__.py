"""`python -m kraftlog dump FILE…`: the records of metadata logs and checkpoints as JSON lines (see `dump`)."""

import sys
from collections.abc import Sequence

from kraftlog.begin import begin


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    return begin("kraftlog", "kraftlog.dump", arguments)


if __name__ == "__main__":
    sys.exit(main())
