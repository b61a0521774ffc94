"""`quorum-history`, also `python -m quorum_history` and under `spark-submit`. The commands are in `commands`."""

import sys
from collections.abc import Sequence

from kraftlog.begin import begin


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    return begin("quorum-history", "quorum_history.commands", arguments)


if __name__ == "__main__":
    sys.exit(main())
