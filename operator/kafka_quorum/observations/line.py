"""One look at one quorum as an observation, in the shape of `schemas/observation-v1.json` of the history. Pure.

There are three states: known with a leader; known without one (`leaderID` is -1, and null for what only a leader has);
and unknown, which is null with a reason. "Without a leader" is known only if no other controller can lead: too few
voters run, or every voter that runs has answered that it does not lead. An outage that cannot be seen stays unknown.
"""

from datetime import datetime
from typing import Any, Final

from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.observed import Observed, QuorumView
from kafka_quorum.model.pods import PodRole
from kafka_quorum.model.quorum import Replica
from kafka_quorum.model.voters import majority_of
from kit.stamps import microsecond

Json = dict[str, Any]
SCHEMA_VERSION: Final = 1
_NO_LEADER: Final[Json] = {
    "leaderID": -1,
    "leaderEpoch": None,
    "highWatermark": None,
    "voters": None,
    "observers": None,
}


def observation(namespace: str, name: str, observed: Observed, now: datetime) -> Json | None:
    """The observation of this look, at `now` (UTC); None while there is no cluster id."""
    if observed.record is None:
        return None
    quorum, reason = _quorum(observed)
    return {
        "schemaVersion": SCHEMA_VERSION,
        "observedAt": microsecond(now),
        "namespace": namespace,
        "name": name,
        "clusterID": observed.record.cluster_id,
        "unknownReason": reason,
        "quorum": quorum,
        "nodes": [_node(observed, node_id) for node_id in _node_ids(observed)],
        "features": [{"name": each.name, "finalized": each.level} for each in observed.finalized] or None,
    }


def news(observation: Json) -> Json:
    """The part of an observation that is written at once when it changes: all but times, offsets, lag and wording."""
    quorum = observation["quorum"]
    if quorum is not None:
        replicas = {role: _without_lag(quorum[role]) for role in ("voters", "observers")}
        quorum = {key: value for key, value in quorum.items() if key != "highWatermark"} | replicas
    silent = {key: value for key, value in observation.items() if key not in {"observedAt", "unknownReason"}}
    return silent | {"quorum": quorum}


def _without_lag(replicas: list[Json] | None) -> list[Json] | None:
    if replicas is None:
        return None
    return [{key: value for key, value in replica.items() if key != "lagRecords"} for replica in replicas]


def _quorum(observed: Observed) -> tuple[Json | None, str | None]:
    match observed.quorum:
        case Known(value=view):
            return _led(view), None
        case Unknown(reason=reason):
            return (_NO_LEADER, None) if _leaderless(observed) else (None, reason)


def _led(view: QuorumView) -> Json:
    answer = view.answer
    leader = next((row for row in answer.voters if row.key.node_id == answer.leader_id), None)
    end = -1 if leader is None else leader.log_end_offset
    return {
        "leaderID": answer.leader_id,
        "leaderEpoch": answer.leader_epoch,
        "highWatermark": answer.high_watermark,
        "voters": [_replica(view, row, end) for row in _sorted(answer.voters)],
        "observers": [_replica(view, row, end) for row in _sorted(answer.observers)],
    }


def _sorted(rows: tuple[Replica, ...]) -> list[Replica]:
    return sorted(rows, key=lambda row: (row.key.node_id, row.key.directory_id or ""))


def _replica(view: QuorumView, row: Replica, leader_end: int) -> Json:
    known = leader_end >= 0 and row.log_end_offset >= 0
    return {
        "nodeID": row.key.node_id,
        "directoryID": row.key.directory_id or "",
        "live": row.key in view.live,
        "lagRecords": max(leader_end - row.log_end_offset, 0) if known else None,
    }


def _leaderless(observed: Observed) -> bool:
    """Whether it is known that no controller leads; never before a first leader was seen, because that is no outage."""
    record, committed = observed.record, observed.memory.committed_voters
    if record is None or not record.had_leader:
        return False
    voters = {key.node_id for key in committed} if committed else {node.node_id for node in record.nodes}
    running = {node for node in voters if _running(observed, node)}
    if committed and len(running) < majority_of(len(voters)):
        return True
    return running <= observed.not_leading


def _running(observed: Observed, node_id: NodeID) -> bool:
    return any(pod.running for pod in observed.pods_of(node_id, PodRole.KAFKA))


def _node_ids(observed: Observed) -> list[NodeID]:
    recorded = () if observed.record is None else (node.node_id for node in observed.record.nodes)
    return sorted({*recorded, *(node_id for node_id, _ in observed.versions)})


def _node(observed: Observed, node_id: NodeID) -> Json:
    """A node with the release that its pod runs and the ranges that it supports; null for what is unknown."""
    answer = dict(observed.versions).get(node_id)
    running = next((pod for pod in observed.pods_of(node_id, PodRole.KAFKA) if pod.running), None)
    revision = observed.revision(running.revision) if running else None
    ranges = None
    if isinstance(answer, Known):
        ranges = [
            {"name": each.name, "minSupported": each.min_level, "maxSupported": each.max_level}
            for each in answer.value.supported
        ]
    return {"nodeID": node_id, "kafkaVersion": revision.runtime.release if revision else None, "features": ranges}
