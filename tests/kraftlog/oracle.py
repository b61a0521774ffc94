"""What Kafka's own code prints for a log: `kafka-dump-log` of a release, and the JSON converters of 4.4.0."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.live.jars import Kafka, LiveError, ensure_kafka

from kraftlog.schema import CONTROL_TYPES

_CONVERTERS = Path(__file__).with_name("Converters.java")
_TIMEOUT_S = 900.0
_BATCH = re.compile(r"baseOffset: (-?\d+) .*partitionLeaderEpoch: (-?\d+) .*isControl: (\w+) .*isvalid: (\w+)")
_RECORD = re.compile(r"\| offset: (-?\d+) \w+: (-?\d+) .*?headerKeys: \[.*?\] ?(?:payload: )?(.*)$")
_CONTROL = re.compile(r"(\w+):? (\{.*)$")
_SILENT = re.compile(r"controlType: \w+\((\d+)\)$")
"""Up to 3.9 the tool prints only that a record is a leader change, without its data."""

Line = dict[str, Any]


def dump_log_command(kafka: Kafka, paths: Sequence[Path], *options: str) -> list[str]:
    """The command line of the release's own tool, which moved to another package in 4.3."""
    tools = sorted((kafka.libs.parent / "tools-libs").glob("kafka-tools-*.jar"))
    release = tools[0].stem.removeprefix("kafka-tools-") if tools else kafka.version
    moved = tuple(int(part) for part in release.split(".")[:2]) >= (4, 3)
    main = "org.apache.kafka.tools.DumpLogSegments" if moved else "kafka.tools.DumpLogSegments"
    return [
        kafka.java,
        "-XX:+UseSerialGC",
        *options,
        "-cp",
        f"{kafka.libs.parent}/tools-libs/*:{kafka.libs}/*",
        main,
        "--cluster-metadata-decoder",
        "--print-data-log",
        "--files",
        ",".join(map(str, paths)),
    ]


def dump_log(release: str, paths: Sequence[Path]) -> list[Line]:
    """Every record of the files as `kafka-dump-log --cluster-metadata-decoder` prints it, in the shape of our dump."""
    output = _output(dump_log_command(ensure_kafka(release), paths))
    return list(parse_dump(output.split("\n")))


def converters(paths: Sequence[Path], release: str = "4.4.0") -> list[Line]:
    """The same from a small program with Kafka's JSON converters (LiveError: it must be compiled by a JDK)."""
    if shutil.which("javac") is None:
        raise LiveError("this needs a Java compiler: install a JDK 17 (Debian: openjdk-17-jdk-headless)")
    kafka = ensure_kafka(release)
    output = _output([kafka.java, "-cp", f"{kafka.libs}/*", str(_CONVERTERS), *map(str, paths)])
    return [json.loads(line) for line in output.split("\n") if line.startswith('{"offset"')]


def parse_dump(lines: Sequence[str]) -> Iterator[Line]:
    """The tool's output as lines of ours.

    A record that it could not decode has type None and the error as data; one that it does not print has data None.
    """
    batch: Line = {}
    for line in lines:
        if found := _BATCH.match(line):
            base, epoch, control, valid = found.groups()
            batch = {
                "leader_epoch": int(epoch),
                "base_offset": int(base),
                "control": control == "true",
                "crc_valid": valid == "true",
            }
        elif found := _RECORD.match(line):
            offset, timestamp, rest = found.groups()
            yield {"offset": int(offset), "timestamp": int(timestamp), **batch, **_content(rest, batch)}


def _content(rest: str, batch: Line) -> Line:
    if batch["control"] and (silent := _SILENT.match(rest)):
        return {"type": CONTROL_TYPES[int(silent[1])], "version": None, "data": None}
    if batch["control"]:
        found = _CONTROL.match(rest)
        if not found:
            return {"type": None, "version": None, "data": rest}
        data = json.loads(found[2])
        return {"type": found[1], "version": data["version"], "data": data}
    if not rest.startswith("{"):
        return {"type": None, "version": None, "data": rest}
    payload: Line = json.loads(rest)
    return payload


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise LiveError(f"{command[-1]}: {done.stderr.decode()[-2000:]}")
    return done.stdout.decode()
