"""`python -m kubectl_kq`, and the entry of the wheel and of the single file."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - the single file runs with whatever Python a machine has
    sys.exit("kubectl-kq needs Python 3.11 or newer: install one, or begin the file with another #! line")

from kubectl_kq.program import main


def run() -> None:
    """Run the command line, and end with its exit code."""
    sys.exit(main())


if __name__ == "__main__":
    run()
