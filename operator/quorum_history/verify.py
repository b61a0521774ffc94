"""Hold a decode against `kafka-dump-log`, for whoever wants to see for themselves.

Needs a Java and the directory of a Kafka installation (`libs/*.jar`); compares every record's parsed JSON.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kraftlog import Fault, NotALogError, RecordBlock, read_blocks
from kraftlog.lines import lines_of

_RECORD = re.compile(r"\| offset: (-?\d+) .*?headerKeys: \[.*?\] ?(?:payload: )?(.*)$")
_CONTROL = re.compile(r"(\w+):? (\{.*)$")
_SILENT = "controlType:"
_MAINS = ("org.apache.kafka.tools.DumpLogSegments", "kafka.tools.DumpLogSegments")


class VerifyError(Exception):
    """No Java, no Kafka, or a tool that failed; the text says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How many records of a file are equal, and what the first difference is. `silent`: the tool prints no content."""

    path: str
    records: int
    equal: int
    silent: int
    first_difference: str


def verify(path: Path, kafka_home: Path, done: Callable[[int], None] = lambda _: None) -> Verdict:
    """Compare one file, record by record (VerifyError)."""
    theirs = _parsed(_run(path, kafka_home))
    equal = silent = count = 0
    first = ""
    for mine in _ours(path):
        said = next(theirs, None)
        count += 1
        if said is not None and said[1] is None and said[0] == mine["offset"]:
            silent += 1
        elif said == (mine["offset"], mine["data"]):
            equal += 1
        elif not first:
            first = f"offset {mine['offset']}: {json.dumps(mine['data'])[:300]} here, {json.dumps(said)[:300]} there"
        done(count)
    if (left := sum(1 for _ in theirs)) and not first:
        first = f"{left} more records there"
    return Verdict(path=str(path), records=count, equal=equal, silent=silent, first_difference=first)


def _ours(path: Path) -> Iterator[dict[str, Any]]:
    try:
        for item in read_blocks(path):
            if isinstance(item, RecordBlock):
                yield from map(json.loads, bytes(lines_of(item, item.render())).split(b"\n")[:-1])
            elif isinstance(item, Fault):
                continue
    except NotALogError as error:
        raise VerifyError(str(error)) from error


def _parsed(output: str) -> Iterator[tuple[int, Any]]:
    """Offset and data as the tool prints them; None for the data of a record of which it prints only the type."""
    for line in output.split("\n"):
        if found := _RECORD.match(line):
            offset, rest = int(found[1]), found[2]
            if rest.startswith("{"):
                yield offset, json.loads(rest)["data"]
            elif control := _CONTROL.match(rest):
                yield offset, json.loads(control[2])
            else:
                yield offset, None if rest.startswith(_SILENT) else rest


def _run(path: Path, kafka_home: Path) -> str:
    java = shutil.which("java")
    if java is None:
        raise VerifyError("verify runs kafka-dump-log: install a Java 17 runtime, or put java on PATH")
    jars = [str(kafka_home / folder / "*") for folder in ("tools-libs", "libs") if (kafka_home / folder).is_dir()]
    if not jars:
        raise VerifyError(f"{kafka_home} is no Kafka installation: it has no libs/")
    complaint = ""
    for main in _MAINS:
        command = [java, "-cp", ":".join(jars), main, "--cluster-metadata-decoder", "--files", str(path)]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode == 0:
            return done.stdout.decode()
        complaint = done.stderr.decode().strip()[-500:]
    raise VerifyError(f"kafka-dump-log failed on {path}: {complaint}")
