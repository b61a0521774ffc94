"""Copies the Prometheus JMX agent out of the operator's image, as a pod's init container does: no shell is needed.

    python -m kafka_quorum.agent DIRECTORY [kafka]

With `kafka` its configuration has Kafka's own metrics, else those of a migration from ZooKeeper only. The file appears
whole, by a rename, and a second run replaces it with the same one.
"""

import shutil
import sys
from pathlib import Path

from kafka_quorum.resources.agent import AGENT_CONFIG, AGENT_FILE, AGENT_JAR, KAFKAS, KAFKAS_CONFIG


def copy(source: Path, directory: Path) -> Path:
    """Put the jar into a directory that exists, readable for everyone (OSError)."""
    target = directory / source.name
    new = directory / f".{source.name}.new"
    shutil.copyfile(source, new)
    new.chmod(0o444)
    new.replace(target)
    return target


def main(arguments: list[str], source: Path = Path(AGENT_JAR)) -> int:
    """0 when the jar is there, 1 if it cannot be copied, 2 for arguments that are not understood."""
    directory, *more = arguments or [""]
    if not directory or more not in ([], [KAFKAS]):
        expected = f"the directory to copy the agent into, and {KAFKAS} or nothing"
        print(f"kafka_quorum.agent: expected {expected}", file=sys.stderr)  # noqa: T201 - a command
        return 2
    try:
        (Path(directory) / Path(AGENT_FILE).name).write_text(KAFKAS_CONFIG if more else AGENT_CONFIG)
        print(copy(source, Path(directory)))  # noqa: T201 - a command
    except OSError as error:
        print(f"kafka_quorum.agent: the agent was not copied to {directory}: {error}", file=sys.stderr)  # noqa: T201 - a command
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
