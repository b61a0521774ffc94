"""What a pod runs that works on a disk: it reads, compares, copies or rewrites a metadata log, and reports in the end.

    python -m kafka_quorum.worker

The request is the JSON in `KQ_WORK` (`resources.recovery.request`). The work itself is done by `kraftlog.disk`, as a
command. What it finds is reduced to what a plan relies on, because the last message of a pod has room for 4 KiB.
"""

import hashlib
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeAlias

Json: TypeAlias = dict[str, Any]
Run: TypeAlias = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]

REPORT: Final = 1
"""The number of the form of the report, as in `model.disk_work`."""
REQUEST: Final = "KQ_WORK"
MESSAGE: Final = Path("/dev/termination-log")
_LOOK_SCHEMA: Final = 2
_BEYOND_SCHEMA: Final = 1
_EPOCHS_MAX: Final = 24
_RANGES_MAX: Final = 8
_TYPES_MAX: Final = 20
_TOPICS_MAX: Final = 30
_TOPICS_MAX_CHARS: Final = 1500
"""How much of a log is reported: its newest epochs, its most frequent types, and names of topics, as JSON."""
_WORDS_MAX_CHARS: Final = 900
_DONE, _NOT_DONE, _MISUSED = 0, 1, 2
_OWN_MARKS: Final = (".kafka-quorum-format", ".kafka-quorum-recovery")
"""What the operator's pods write beside the log directory (`resources.scripts`): neither of them is data."""
_FOUND_BY_FSCK: Final = "lost+found"
_LISTED_MAX: Final = 1000
_NAMED_MAX: Final = 3


class NotDone(Exception):
    """The work was not done, and why: one sentence for a person."""


def disk(arguments: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """Run `kraftlog.disk` with these arguments."""
    command = [sys.executable, "-m", "kraftlog.disk", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _result(run: Run, arguments: Sequence[str]) -> Json:
    """The JSON that the command printed (`NotDone`)."""
    ended = run(arguments)
    if ended.returncode != 0:
        said = ended.stderr.strip() or f"it ended with {ended.returncode} and said nothing"
        raise NotDone(said.removeprefix("kraftlog.disk: "))
    found = json.loads(ended.stdout)
    if not isinstance(found, dict):
        raise NotDone("kraftlog.disk printed something else than a JSON object")
    return found


def _mounted(place: Json) -> Path:
    """The volume, if it is mounted and can be listed (`NotDone`)."""
    volume = Path(place["volume"])
    try:
        if not os.path.ismount(volume):
            raise NotDone(f"no volume is mounted at {volume}")
        with os.scandir(volume):
            return volume
    except OSError as error:
        raise NotDone(f"{volume} cannot be read: {error}") from error


def _of_form(found: Json, schema: int) -> Json:
    """What the command printed, if it has this form (`NotDone`)."""
    if found.get("schema") != schema:
        raise NotDone(f"kraftlog.disk printed form {found.get('schema')!r}, and this program reads {schema}")
    return found


def _is_empty(place: Json) -> bool:
    """Whether the volume holds nothing at all but our marks; False if it has a log directory with files (`NotDone`).

    Only an empty volume counts as a lost disk. Anything else without a log may be the log under another name: a
    directory that a person or fsck moved, or what lies below the mount point of a volume that is not mounted.
    """
    volume, directory = _mounted(place), Path(place["directory"])
    try:
        if directory.is_symlink():
            raise NotDone(f"{directory} is a link, and no link is followed: put the directory itself into its place")
        if os.path.lexists(directory):
            with os.scandir(directory) as entries:
                if next(entries, None) is not None:
                    return False
        left = sorted(_others(volume, directory))
    except OSError as error:
        raise NotDone(f"{error.filename or volume} cannot be read: {error}") from error
    if left:
        way_out = "Find out whether this is the log under another name, and whether the right volume is mounted"
        raise NotDone(
            f"there is no log in {directory}, but the volume is not empty: it holds {_shown(left)}. {way_out}"
        )
    return True


def _shown(names: Sequence[str]) -> str:
    """A few of these names, in which no character can control a terminal."""
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return ", ".join(ascii(name[:40]) for name in names[:_NAMED_MAX]) + more


def _others(volume: Path, directory: Path) -> list[str]:
    """What a volume holds besides this empty directory and what belongs to no server (OSError). No link is followed."""
    own = {f"{mark}{end}" for mark in _OWN_MARKS for end in ("", ".new")}
    found = []
    with os.scandir(volume) as entries:
        for entry in islice(entries, _LISTED_MAX):
            kind = entry.stat(follow_symlinks=False).st_mode
            if Path(entry.path) == directory or (entry.name in own and stat.S_ISREG(kind)):
                continue
            if entry.name != _FOUND_BY_FSCK or not stat.S_ISDIR(kind):
                found.append(entry.name)
                continue
            with os.scandir(entry.path) as lost:
                found += [f"{_FOUND_BY_FSCK}/{each.name}" for each in islice(lost, _LISTED_MAX)]
    return found


def look(run: Run, directory: str) -> Json:
    """The log in a directory, in the form of a report (`NotDone`)."""
    found = _of_form(_result(run, ["look", directory]), _LOOK_SCHEMA)
    checkpoint, state, damage, tail = (found[name] for name in ("checkpoint", "quorum_state", "damage", "tail"))
    if checkpoint is not None and not checkpoint["whole"]:
        raise NotDone(f"its newest checkpoint, of offset {checkpoint['offset']}, is damaged: {checkpoint['reason']}")
    if not found["segments"]:
        raise NotDone("its log has no segment: no server has run here")
    voters = (found["voters_in_log"] or found["voters_in_checkpoint"] or {"voters": ()})["voters"]
    return {
        "clusterID": found["cluster_id"],
        "nodeID": found["node_id"],
        "directoryID": found["directory_id"],
        "leaderEpoch": 0 if state is None else state["leader_epoch"],
        "lastEpoch": found["last_epoch"],
        "endOffset": found["end_offset"],
        "epochs": [[each["epoch"], each["offset"]] for each in found["epochs"][-_EPOCHS_MAX:]],
        "checkpoint": None if checkpoint is None else {name: checkpoint[name] for name in ("offset", "epoch")},
        "tornBytes": 0 if tail is None else tail["size_bytes"],
        "damagedAt": None if damage is None else damage["offset"],
        "voters": [{"nodeID": each["node_id"], "directoryID": each["directory_id"]} for each in voters],
        "kraftVersion": found["kraft_version"],
    }


def _inspect(request: Json, run: Run) -> Json:
    if _is_empty(request):
        return {"found": "empty", "message": "the volume holds no log"}
    return {"found": "log", "log": look(run, request["directory"])}


def _compare(request: Json, run: Run) -> Json:
    """What the log has that the chosen one does not have; what is left out is counted."""
    if _is_empty(request):
        raise NotDone("the volume holds no log")
    chosen = json.dumps(request["chosen"])
    found = _of_form(_result(run, ["beyond", request["directory"], "--chosen", chosen]), _BEYOND_SCHEMA)
    shared = found["shared"]
    ranges = found["epochs"][-_RANGES_MAX:]
    return {
        "found": "compared",
        "beyond": {
            "end": {"epoch": found["last_epoch"], "offset": found["end_offset"]},
            "shared": None if shared is None else {name: shared[name] for name in ("epoch", "offset")},
            "records": found["records"],
            "undecided": found["undecided_records"],
            "unread": found["unread_records"],
            "whole": found["whole"],
            "first": found["first_offset"],
            "last": found["last_offset"],
            "epochs": [[each[name] for name in ("epoch", "first_offset", "last_offset", "records")] for each in ranges],
            "types": [[each["type"], each["records"]] for each in found["types"][:_TYPES_MAX]],
            "topics": _topics(found["topics"]),
            "topicsTotal": found["topics_total"],
        },
    }


def _topics(rows: Sequence[Json]) -> list[str]:
    """The names of topics that there is room for; one whose name is not on the disk by its id."""
    kept, room = list[str](), _TOPICS_MAX_CHARS
    for row in rows[:_TOPICS_MAX]:
        text = row["name"] if row["name"] is not None else f"(id {row['topic_id']})"
        room -= len(json.dumps(text)) + 1
        if room >= 0:
            kept.append(text)
    return kept


def _copy(request: Json, run: Run) -> Json:
    """Copy the disk, read the log of the copy, and give all files of it one digest."""
    target = request["target"]
    _mounted(target)
    copied = _result(run, ["copy", request["directory"], target["directory"]])
    rows = sorted((each["path"], each["size_bytes"], each["sha256"]) for each in copied["files"])
    whole = hashlib.sha256(json.dumps(rows).encode()).hexdigest()
    left_out = [each["path"] for each in copied.get("left_out", ())]
    words = f"not in the copy, and not needed: {_shown(left_out)}" if left_out else ""
    return {"found": "log", "log": look(run, target["directory"]), "digest": whole, "message": words}


def _rewrite(request: Json, run: Run) -> Json:
    """Rewrite the voter set, then mark the disk: a Kafka pod of this recovery starts only on a marked one."""
    plan, directory = json.dumps(request["plan"]), request["directory"]
    if _is_empty(request):
        raise NotDone("the volume holds no log")
    if (seed := request.get("seed")) is not None:
        _result(run, ["seed", seed["directory"], directory, "--plan", plan])
    else:
        _result(run, ["rewrite", directory, "--plan", plan])
    _mark(Path(request["mark"]["path"]), request["mark"]["epoch"])
    return {"found": "log", "log": look(run, directory)}


def _mark(path: Path, epoch: int) -> None:
    """Write the epoch of the recovery to the disk, whole or not at all (`NotDone`)."""
    new = path.with_name(f"{path.name}.new")
    try:
        new.unlink(missing_ok=True)
        # A new file: whoever wrote to this volume may have put a link here, and what it leads to is not ours.
        made = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        with os.fdopen(made, "w") as file:
            file.write(str(epoch))
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        holder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(holder)
        finally:
            os.close(holder)
    except OSError as error:
        raise NotDone(f"{path} cannot be written: {error}") from error


_WORK: Final[Mapping[str, Callable[[Json, Run], Json]]] = {
    "inspect": _inspect,
    "compare": _compare,
    "copy": _copy,
    "rewrite": _rewrite,
}


def report(request: Json, run: Run = disk) -> Json:
    """Do what is requested; the report says whether it was done, and what was found."""
    work = _WORK.get(str(request.get("kind")))
    if work is None:
        text = f"the request has kind {str(request.get('kind'))[:40]!r}, which this program does not know"
        return {"report": REPORT, "done": False, "found": "unknown", "message": text}
    try:
        return {"report": REPORT, "done": True, **work(request, run)}
    except NotDone as error:
        return {"report": REPORT, "done": False, "found": "unknown", "message": str(error)[:_WORDS_MAX_CHARS]}


def main(environment: Mapping[str, str] = os.environ, message: Path = MESSAGE, run: Run = disk) -> int:
    """0 when the work is done, 1 if it was not done, 2 without a request that can be read."""
    try:
        request = json.loads(environment.get(REQUEST, ""))
    except ValueError:
        request = None
    if not isinstance(request, dict):
        print(f"kafka_quorum.worker: {REQUEST} is no JSON object", file=sys.stderr)  # noqa: T201 - a command
        return _MISUSED
    said = report(request, run)
    text = json.dumps(said, separators=(",", ":"))
    print(text, flush=True)  # noqa: T201 - a command
    message.write_text(text)
    return _DONE if said["done"] else _NOT_DONE


if __name__ == "__main__":
    raise SystemExit(main())
