"""The identity record of a quorum as this plugin reads it from its ConfigMap, for comparisons and its story. Pure."""

import json
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from kubectl_kq import reading

Json: TypeAlias = dict[str, Any]

_KEY: Final = "record.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedNode:
    """One controller and its disk. `retired` counts the directory ids that it had before."""

    node_id: int
    directory_id: str | None
    claim_uid: str | None
    generation: int | None
    formatted: bool | None
    retired: int
    revision: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The record. `former` are the node ids that were removed."""

    body: Json
    cluster_id: str | None
    phase: str | None
    nodes: tuple[RecordedNode, ...]
    former: tuple[int, ...]

    def node(self, node_id: int) -> RecordedNode | None:
        """The controller of this node id."""
        return next((each for each in self.nodes if each.node_id == node_id), None)


def record_of(item: Json) -> Record | None:
    """The record in a ConfigMap; None if it cannot be read."""
    text = reading.at(item, "data", _KEY)
    try:
        body = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(body, dict):
        return None
    nodes = (_node(row) for row in reading.rows(body, "nodes"))
    former = (reading.number(row, "node_id") for row in reading.rows(body, "former"))
    return Record(
        body=body,
        cluster_id=reading.text(body, "cluster_id"),
        phase=reading.text(body, "phase"),
        nodes=tuple(node for node in nodes if node is not None),
        former=tuple(node_id for node_id in former if node_id is not None),
    )


def _node(row: Json) -> RecordedNode | None:
    node_id = reading.number(row, "node_id")
    if node_id is None:
        return None
    lost = reading.at(row, "lost")
    return RecordedNode(
        node_id=node_id,
        directory_id=reading.text(row, "directory_id"),
        claim_uid=reading.text(row, "claim_uid"),
        generation=reading.number(row, "generation"),
        formatted=reading.flag(row, "formatted"),
        retired=len(lost) if isinstance(lost, list) else 0,
        revision=reading.text(row, "revision"),
    )
