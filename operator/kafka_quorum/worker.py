"""What a pod runs that works on a disk: it reads, compares, copies or rewrites a metadata log, and reports in the end.

    python -m kafka_quorum.worker

The request is the JSON in `KQ_WORK` (`resources.recovery.request`). The work itself is done by `kraftlog.disk`, as a
command. What it finds is reduced to what a plan relies on, because the last message of a pod has room for 4 KiB.
"""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
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


def _is_empty(place: Json) -> bool:
    """Whether the volume is mounted, could be listed, and holds no log directory, or an empty one (`NotDone`)."""
    volume, directory = place["volume"], Path(place["directory"])
    try:
        if not os.path.ismount(volume):
            raise NotDone(f"no volume is mounted at {volume}")
        any(Path(volume).iterdir())  # it can be listed
        return not directory.exists() or not any(directory.iterdir())
    except OSError as error:
        raise NotDone(f"{volume} cannot be read: {error}") from error


def _of_form(found: Json, schema: int) -> Json:
    """What the command printed, if it has this form (`NotDone`)."""
    if found.get("schema") != schema:
        raise NotDone(f"kraftlog.disk printed form {found.get('schema')!r}, and this program reads {schema}")
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
    _is_empty(target)  # it is mounted, and can be read
    copied = _result(run, ["copy", request["directory"], target["directory"]])
    rows = sorted((each["path"], each["size_bytes"], each["sha256"]) for each in copied["files"])
    whole = hashlib.sha256(json.dumps(rows).encode()).hexdigest()
    return {"found": "log", "log": look(run, target["directory"]), "digest": whole}


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
        with new.open("w") as file:
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
