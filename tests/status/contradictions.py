"""What no status may contain: conditions that contradict each other, or fields that contradict the conditions.

This module reads a status as any program would, without the operator's code. The simulation checks every status that is
written with it, and end-to-end tests may do the same.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

Json: TypeAlias = dict[str, Any]

TYPES: Final = ("Ready", "Available", "Progressing", "Degraded", "FeaturesSettled", "SpecAccepted", "OddVoterCount")
OF_ONE_MODE: Final = frozenset({"MigratedFromZooKeeper", "CertificatesValid"})
"""Conditions that only some quorums have: those of one bootstrap mode, and those with TLS."""
BLIND: Final = "CannotLook"
"""The reason of every condition while passes end in errors: it has priority over all others."""
_ALWAYS_KNOWN: Final = frozenset({"SpecAccepted"})
_NEED_A_LOOK: Final = ("Ready", "Available", "Progressing")
BESIDE_READY: Final = frozenset(
    {"Paused", "FeatureBlocked", "DowngradeRefused", "Soaking", "SteppingFeature", "Migrating", "MigrationHeld"}
    | {"DualWrite", "ScramUsers", "ScramUsersHeld", "CertificatesPause", "Holding"}
)
"""Waits that a Ready quorum may have."""
NOTHING_YET: Final = "NotStarted"
_CODE: Final = re.compile(
    r"\b[A-Z]\w+\(['\"]|\b\w+(Error|Exception)\(|<class |frozenset\(|Unknown\(reason|\bNone\b|Traceback|\[\]|\{\}"
)
_MESSAGE_MAX: Final = 2000


def contradictions(status: Json, *, generation: int | None = None) -> list[str]:
    """Every contradiction in a status; empty if there is none.

    `generation` is the resource's `metadata.generation`, if the status is known to be of that generation.
    """
    rows = status.get("conditions") or []
    found = [*_form(rows, status, generation)]
    if not found:
        by_type = {row["type"]: row for row in rows}
        found = [*_between(by_type), *_fields(by_type, status), *_texts(rows, status)]
    return found


def _form(rows: list[Json], status: Json, generation: int | None) -> Iterator[str]:
    types = [row.get("type") for row in rows if row.get("type") not in OF_ONE_MODE]
    if types != list(TYPES):
        yield f"the conditions are {types}"
        return
    for row in rows:
        if row["status"] not in ("True", "False", "Unknown"):
            yield f"{row['type']} is {row['status']!r}"
        if row["status"] == "Unknown" and row["type"] in _ALWAYS_KNOWN and row["reason"] != BLIND:
            yield f"{row['type']} is Unknown, though it needs no look"
        if not re.fullmatch("[A-Z][A-Za-z]+", str(row.get("reason"))):
            yield f"{row['type']} has the reason {row.get('reason')!r}"
        if row.get("observedGeneration") != status.get("observedGeneration"):
            yield f"{row['type']} is of another generation than the status"
    if generation is not None and status.get("observedGeneration") != generation:
        yield f"the status is of generation {status.get('observedGeneration')}, the spec of {generation}"


def _between(by_type: dict[str, Json]) -> Iterator[str]:
    """Pairs of conditions."""
    said = {kind: (row["status"], row["reason"]) for kind, row in by_type.items()}
    is_ready = said["Ready"][0] == "True"
    moves = said["Progressing"][0] == "True"
    rows = (
        (is_ready and said["Available"][0] != "True", "Ready, but not Available"),
        (is_ready and said["Degraded"][0] != "False", "Ready, but Degraded"),
        (is_ready and said["SpecAccepted"][0] != "True", "Ready, but the spec is refused"),
        (is_ready and said["OddVoterCount"][0] == "Unknown", "Ready, but the voters are not known"),
        (is_ready and moves and said["FeaturesSettled"][0] == "True", "Ready and settled, but Progressing"),
        (is_ready and moves and said["Progressing"][1] not in {"Working", *BESIDE_READY}, "Ready, but Progressing"),
        (is_ready and not moves and said["Progressing"][1] not in {"Done", *BESIDE_READY}, "Ready, but not Done"),
        (not is_ready and said["Progressing"][1] == "Done", "Done, but not Ready"),
        (moves and said["Progressing"][1] in {"Done", "Paused"}, "Progressing, but Done or Paused"),
        (
            said["SpecAccepted"][0] == "False" and said["Ready"][1] not in {"InvalidSpec", BLIND},
            "the spec is refused, unsaid by Ready",
        ),
        (
            (said["Available"][0] == "Unknown" or said["Available"][1] == NOTHING_YET)
            and said["FeaturesSettled"][0] == "True",
            "settled, but not Available",
        ),
        (
            said["Available"] == ("False", "MajorityLags") and said["Degraded"][0] == "False" and not moves,
            "no majority, but neither Degraded nor Progressing",
        ),
        (said["Available"][1] == "NoAnswer" and said["Degraded"][0] == "False", "no leader answers, but not Degraded"),
        (
            said["Available"][1] == NOTHING_YET and said["Degraded"][1] == "NoLeader",
            "NoLeader before there ever was one",
        ),
    )
    for holds, text in rows:
        if holds:
            yield f"{text}: {', '.join(f'{kind}={status}({reason})' for kind, (status, reason) in said.items())}"


def _fields(by_type: dict[str, Json], status: Json) -> Iterator[str]:
    """Conditions compared with fields."""
    is_ready, degraded = by_type["Ready"]["status"] == "True", by_type["Degraded"]["status"] == "True"
    quorum = status.get("quorum") or {}
    voters, healthy, led = quorum.get("voters"), quorum.get("healthyVoters"), "leaderID" in quorum
    waits = status.get("waits") or []
    broken = [row["reason"] for row in waits if row["severity"] == "Degraded"]
    open_ = [row["reason"] for row in waits if row["reason"] not in BESIDE_READY]
    committed = quorum.get("committedVoters")
    odd = by_type["OddVoterCount"]
    rows = (
        (is_ready and healthy != voters, f"Ready with {quorum.get('summary')} voters"),
        (is_ready and bool(open_), f"Ready, but waits for {open_}"),
        (is_ready and (status.get("operation") or {}).get("type", "").endswith("Voter"), "Ready in a voter change"),
        (
            is_ready and status.get("doing") not in {"Done", *BESIDE_READY, "Working"},
            f"Ready, doing {status.get('doing')}",
        ),
        (not is_ready and status.get("doing") == "Done", "doing Done, but not Ready"),
        (
            by_type["SpecAccepted"]["status"] == "False" and status.get("doing") not in {"InvalidSpec", BLIND},
            "InvalidSpec is not first",
        ),
        (degraded and status.get("doing") in {"Done", "Working"}, f"Degraded, but doing {status.get('doing')}"),
        (
            status.get("doing") == BLIND
            and not (degraded and all(by_type[kind]["status"] == "Unknown" for kind in _NEED_A_LOOK)),
            "the operator cannot look, but conditions say that it did",
        ),
        (not degraded and bool(broken), f"not Degraded, but waits for {broken}"),
        (by_type["Available"]["status"] == "True" and not led, "Available, but no leader is named"),
        (by_type["FeaturesSettled"]["status"] == "True" and not led, "settled, but no leader is named"),
        (not led and ("healthyVoters" in quorum or "failureTolerance" in quorum), "health without a leader"),
        (led and "unknownSince" in quorum, "a leader, but the quorum is said to be unknown"),
        (not led and bool(voters) and "unknownSince" not in quorum, "an old voter set without its age"),
        (
            odd["status"] != "Unknown" and (odd["status"] == "True") != bool(len(committed or []) % 2),
            f"OddVoterCount={odd['status']} of {len(committed or [])} committed voters",
        ),
        (not quorum.get("summary"), "no summary of the voters"),
        (not status.get("doing") or not status.get("message"), "an empty row"),
        (
            not led and any(row.get("role") == "Leader" for row in status.get("controllers") or []),
            "a leader's row only",
        ),
    )
    yield from (text for holds, text in rows if holds)
    subjects = [(row["reason"], node) for row in waits for node in row.get("nodeIDs") or (row.get("nodeID"),)]
    if len(subjects) != len(set(subjects)):
        yield f"a wait is listed twice: {subjects}"


def _texts(rows: list[Json], status: Json) -> Iterator[str]:
    """Sentences that people read."""
    texts = [(row["type"], str(row.get("message") or "")) for row in rows]
    texts += [("message", str(status.get("message") or ""))]
    texts += [(row["reason"], row["message"]) for row in status.get("waits") or []]
    for name, text in texts:
        if not text.strip():
            yield f"{name} has no message"
        if len(text) > _MESSAGE_MAX or not text.isprintable():
            yield f"{name} has a message that cannot be shown: {text!r}"
        if found := _CODE.search(text):
            yield f"{name} speaks Python ({found.group()!r}): {text}"
