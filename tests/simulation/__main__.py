"""`python -m tests.simulation [SCENARIO …]` explores; `--replay SCENARIO/FAULT` runs one and tells its story."""

import argparse
import logging
import sys
import time

from tests.simulation.explore import explore, replay
from tests.simulation.scenarios import ALL


def main() -> int:
    """Explore or replay; 1 if anything went wrong."""
    names = [one.name for one in ALL]
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("scenario", nargs="*", choices=[*names, []], help="all of them by default")
    parser.add_argument("--replay", metavar="SCENARIO/FAULT", help="as a failure prints it")
    parser.add_argument("--one-in", type=int, default=1, metavar="N", help="a seeded share of the faults only")
    parser.add_argument("--seed", type=int, default=0, help="which share")
    arguments = parser.parse_args()
    if arguments.replay:
        logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
        run = replay(arguments.replay)
        lines = [f"ends as {run.ending.says} after {run.steps} steps", run.ending.why, *map(str, run.violations)]
        sys.stdout.write("\n".join(filter(None, lines)) + "\n")
        return 0 if run.ok else 1
    began_s = time.monotonic()
    tally = explore(arguments.scenario or names, one_in=arguments.one_in, seed=arguments.seed)
    sys.stdout.write(f"{tally.report()}\n{time.monotonic() - began_s:.0f} s\n")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
