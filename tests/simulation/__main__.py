"""`python -m tests.simulation [SCENARIO …]` explores; `--replay SCENARIO/FAULT` or `storm/SEED` prints one run."""

import argparse
import logging
import sys
import time
from pathlib import Path

from tests.simulation.runs.explore import any_replay, every_scenario, explore, run_name


def main() -> int:
    """Explore or replay; 1 if a run failed."""
    names = [one.name for one in every_scenario()]
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("scenario", nargs="*", choices=[*names, []], metavar="SCENARIO", help="all of them by default")
    parser.add_argument(
        "--replay",
        type=run_name,
        metavar="NAME",
        help="SCENARIO/FAULT, or KIND/SEED of a storm, as failures print it",
    )
    parser.add_argument("--one-in", type=int, default=1, metavar="N", help="a seeded share of the faults only")
    parser.add_argument("--storms", type=int, default=0, metavar="N", help="so many storms besides")
    parser.add_argument("--rolling", type=int, default=0, metavar="N", help="so many storms with rolls besides")
    parser.add_argument("--disks", type=int, default=0, metavar="N", help="so many storms with disks that hide besides")
    parser.add_argument("--pools", type=int, default=0, metavar="N", help="so many storms with pools besides")
    parser.add_argument("--rivals", type=int, default=0, metavar="N", help="the same, with two operators that both act")
    parser.add_argument("--streams", type=int, default=0, metavar="N", help="so many storms of Streams applications")
    parser.add_argument("--streams-rivals", type=int, default=0, metavar="N", help="the same, with two that both act")
    parser.add_argument("--streams-rough", type=int, default=0, metavar="N", help="the same, with many more blows")
    parser.add_argument("--tails", type=int, default=0, metavar="N", help="so many storms of elections besides")
    parser.add_argument("--certificates", type=int, default=0, metavar="N", help="so many storms with mutual TLS")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep what is done here, and go on from there")
    parser.add_argument("--seed", type=int, default=0, help="which share, and which storms")
    arguments = parser.parse_args()
    if arguments.replay:
        return _tell(arguments.replay)
    began_s = time.monotonic()
    named = arguments.scenario or names

    def tell(text: str) -> None:
        sys.stderr.write(f"[{time.monotonic() - began_s:7.0f}s] {text}\n")

    tally = explore(
        named,
        one_in=arguments.one_in,
        seed=arguments.seed,
        storms=arguments.storms,
        rolling=arguments.rolling,
        disks=arguments.disks,
        pools=arguments.pools,
        rivals=arguments.rivals,
        streams=arguments.streams,
        streams_rivals=arguments.streams_rivals,
        streams_rough=arguments.streams_rough,
        tails=arguments.tails,
        certificates=arguments.certificates,
        keep=arguments.keep,
        tell=tell,
    )
    sys.stdout.write(f"{tally.report()}\nseed {arguments.seed}, {time.monotonic() - began_s:.0f} s\n")
    return 1 if tally.failures else 0


def _tell(name: str) -> int:
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    run = any_replay(name)
    lines = [f"ends as {run.ending.says} after {run.steps} steps", run.ending.why, *map(str, run.violations)]
    sys.stdout.write("\n".join(filter(None, lines)) + "\n")
    return 0 if run.ok else 1


if __name__ == "__main__":
    sys.exit(main())
