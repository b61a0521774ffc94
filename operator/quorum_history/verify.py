"""Compare a decode with `kafka-dump-log`, record by record and column by column.

This needs a Java and the directory of a Kafka installation (`libs/*.jar`). Both sides are read as streams, so a file of
any size needs no more memory than a small one.
"""

import json
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from kraftlog import Fault, NotALogError, RecordBlock, read_blocks
from kraftlog.archives import split
from kraftlog.lines import lines_of
from kraftlog.places import is_url, opened, read_fully
from kraftlog.reader import WINDOW_BYTES
from kraftlog.schema import CONTROL_TYPES

_BATCH = re.compile(r"baseOffset: (-?\d+) .*partitionLeaderEpoch: (-?\d+) .*isControl: (\w+) .*isvalid: (\w+)")
_RECORD = re.compile(r"\| offset: (-?\d+) \w+: (-?\d+) .*?headerKeys: \[.*?\] ?(?:payload: )?(.*)$")
_CONTROL = re.compile(r"(\w+):? (\{.*)$")
_SILENT = re.compile(r"controlType: \w+\((\d+)\)$")
"""Up to 3.9 the tool prints only the type of a control record."""
_MAINS = ("org.apache.kafka.tools.DumpLogSegments", "kafka.tools.DumpLogSegments")
_SHOWN = 300

Line = dict[str, Any]


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


def verify(path: str | Path, kafka_home: Path, done: Callable[[int], None] = lambda _: None) -> Verdict:
    """Compare one file, by its path or URL, record by record (VerifyError, PlaceError, OSError)."""
    equal = silent = count = 0
    first = ""
    with _on_disk(str(path)) as copy, _running(copy, kafka_home) as lines:
        for mine, said in zip_longest(_ours(path), _parsed(lines)):
            count += mine is not None
            difference = _difference(mine, said)
            if difference:
                first = first or difference
            elif said is not None and said["data"] is None:
                silent += 1
            else:
                equal += 1
            done(count)
    return Verdict(path=str(path), records=count, equal=equal, silent=silent, first_difference=first)


@contextmanager
def _on_disk(place: str) -> Iterator[Path]:
    """The file in a form that Kafka's tool can open: one in a store or an archive is copied, under its own name."""
    if not is_url(place) and split(place) is None:
        yield Path(place)
        return
    with tempfile.TemporaryDirectory(prefix="quorum-history-") as folder:
        copy = Path(folder, place.rpartition("/")[2])
        with opened(place) as source, copy.open("wb") as sink:
            for position in range(0, source.size, WINDOW_BYTES):
                sink.write(read_fully(source, position, WINDOW_BYTES).tobytes())
        yield copy


def _difference(mine: Line | None, said: Line | None) -> str:
    """The difference between our record and the tool's; empty if there is none."""
    if mine is None or said is None:
        there, line = ("here", mine) if said is None else ("there", said)
        return f"offset {line['offset'] if line else '?'}: a record that is only {there}"
    for column, value in said.items():
        if value is not None and mine[column] != value:
            ours, theirs = (json.dumps(each)[:_SHOWN] for each in (mine[column], value))
            return f"offset {mine['offset']}: {column}: {ours} here, {theirs} there"
    return ""


def _ours(path: str | Path) -> Iterator[Line]:
    try:
        for item in read_blocks(path):
            if isinstance(item, RecordBlock):
                yield from map(json.loads, bytes(lines_of(item, item.render())).split(b"\n")[:-1])
            elif isinstance(item, Fault):
                continue
    except NotALogError as error:
        raise VerifyError(str(error)) from error


def _parsed(lines: Iterable[str]) -> Iterator[Line]:
    """The tool's output in the form of our dump; None for what it does not print."""
    batch: Line = {}
    for line in lines:
        if found := _BATCH.match(line):
            base, epoch, control, valid = found.groups()
            batch = {"leader_epoch": int(epoch), "base_offset": int(base)}
            batch |= {"control": control == "true", "crc_valid": valid == "true"}
        elif found := _RECORD.match(line):
            offset, timestamp, rest = found.groups()
            place = {"offset": int(offset), "timestamp": int(timestamp)}
            yield place | batch | _content(rest, control=bool(batch.get("control")))


def _content(rest: str, *, control: bool) -> Line:
    if control and (silent := _SILENT.match(rest)):
        return {"type": CONTROL_TYPES.get(int(silent[1])), "version": None, "data": None}
    if control and (found := _CONTROL.match(rest)):
        data = json.loads(found[2])
        return {"type": found[1], "version": data["version"], "data": data}
    if rest.startswith("{"):
        payload: Line = json.loads(rest)
        return payload
    return {"type": None, "version": None, "data": rest}


@contextmanager
def _running(path: Path, kafka_home: Path) -> Iterator[Iterator[str]]:
    """The lines that the tool prints, as it prints them (VerifyError if it fails)."""
    java = shutil.which("java")
    if java is None:
        raise VerifyError("verify runs kafka-dump-log: install a Java 17 runtime, or put java on PATH")
    folders = [kafka_home / folder for folder in ("tools-libs", "libs") if (kafka_home / folder).is_dir()]
    if not folders:
        raise VerifyError(f"{kafka_home} is no Kafka installation: it has no libs/")
    jars = ":".join(str(folder / "*") for folder in folders)
    command = [java, "-cp", jars, _main(folders), "--cluster-metadata-decoder", "--files", str(path)]
    with (
        tempfile.TemporaryFile() as complaints,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, text=True) as tool,
    ):
        try:
            yield iter(tool.stdout or ())
        finally:
            if tool.stdout:
                tool.stdout.close()
        if tool.wait():
            complaints.seek(0)
            said = complaints.read().decode(errors="replace").strip()[-500:]
            raise VerifyError(f"kafka-dump-log failed on {path}: {said}")


def _main(folders: Iterable[Path]) -> str:
    """The tool's class, which moved to another package in 4.3."""
    wanted = _MAINS[0].replace(".", "/") + ".class"
    for jar in (jar for folder in folders for jar in folder.glob("kafka-tools-*.jar")):
        with zipfile.ZipFile(jar) as opened:
            if wanted in opened.namelist():
                return _MAINS[0]
    return _MAINS[1]
