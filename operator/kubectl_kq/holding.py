"""`hold`, `unhold` and `replace`: what a person decides about single controllers, by annotations of the quorum. Pure.

Each patch has the version of the object that was read, so two persons at the same time do not undo each other.
"""

import re
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from kubectl_kq import reading
from kubectl_kq.acts import Refused
from kubectl_kq.quorum import Quorum

Json: TypeAlias = dict[str, Any]

HOLD: Final = "kafkaquorum.io/hold"
REPLACE: Final = "kafkaquorum.io/replace"
_REASONS: Final = frozenset({"Holding", "HeldBack"})


def held(quorum: Quorum) -> tuple[int, ...] | None:
    """The controllers that the annotation holds; None if it cannot be read, so that it holds every one."""
    text = _annotation(quorum, HOLD)
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    if not all(re.fullmatch(r"[0-9]{1,10}", part) for part in parts):
        return None
    return tuple(sorted({int(part) for part in parts}))


def holding(quorum: Quorum, node_ids: Iterable[int]) -> Json | Refused | None:
    """The patch that holds these controllers, too; None if they are held."""
    present, asked = held(quorum), set(node_ids)
    if present is None:
        return _unreadable(quorum, "hold")
    known = {row.node_id for row in quorum.controllers}
    if strange := sorted(asked - known):
        listed = ", ".join(map(str, sorted(each for each in known if each is not None)))
        return Refused(
            message=f"Did not hold anything of {quorum.name}: {strange[0]} is no controller. Name one of {listed}"
        )
    return None if asked <= set(present) else _annotated(quorum, HOLD, _text({*present, *asked}))


def ending(quorum: Quorum, node_ids: Iterable[int], *, every: bool) -> Json | Refused | None:
    """The patch that ends the hold of these controllers, or of all; None if none of them is held."""
    if every:
        return _annotated(quorum, HOLD, None) if _annotation(quorum, HOLD) else None
    present, asked = held(quorum), set(node_ids)
    if present is None:
        return _unreadable(quorum, "end the hold of")
    left = set(present) - asked
    return None if left == set(present) else _annotated(quorum, HOLD, _text(left) if left else None)


def confirmed(quorum: Quorum, node_ids: Iterable[int]) -> bool:
    """Whether the operator reports that it holds these controllers."""
    reported = {node_id for wait in quorum.waits if wait.reason in _REASONS for node_id in wait.node_ids}
    return set(node_ids) <= reported


def replacing(quorum: Quorum, node_id: int, confirm: str) -> Json | Refused | None:
    """The patch that gives up the present disk of a controller; None if it has been requested.

    A person confirms it by the replica's whole name, so that no other disk is given up by a mistake or a repetition.
    """
    row = quorum.controller(node_id)
    what = f"Did not give up the disk of controller {node_id} of {quorum.name}"
    if row is None or row.directory_id is None:
        return Refused(message=f"{what}: the status has no such controller, or not its directory id")
    replica = f"{node_id}-{row.directory_id}"
    if confirm != replica:
        claim, node = row.claim or "not known", row.node or "none"
        words = f"its claim is {claim}, on Kubernetes node {node}. What is on it is not used again"
        ask = f"To give it up: kubectl kq replace {quorum.name} {node_id} --confirm {replica}"
        return Refused(message=f"{what}, because it was not confirmed: {words}. {ask}")
    return None if _annotation(quorum, REPLACE) == replica else _annotated(quorum, REPLACE, replica)


def _annotation(quorum: Quorum, key: str) -> str:
    return reading.texts(quorum.item, "metadata", "annotations").get(key, "")


def _annotated(quorum: Quorum, key: str, value: str | None) -> Json:
    version = reading.text(quorum.item, "metadata", "resourceVersion")
    seen: Json = {} if version is None else {"resourceVersion": version}
    return {"metadata": {**seen, "annotations": {key: value}}}


def _unreadable(quorum: Quorum, act: str) -> Refused:
    return Refused(
        message=f"Did not {act} anything of {quorum.name}: its annotation {HOLD} cannot be read, so every controller "
        f"is held. Correct it, or remove it with: kubectl kq unhold {quorum.name} --all"
    )


def _text(node_ids: Iterable[int]) -> str:
    return ",".join(map(str, sorted(node_ids)))
