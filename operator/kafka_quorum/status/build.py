"""The whole status of a resource from one pass. Numbers that change with every look stay out of it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from kafka_quorum.api.features import METADATA, metadata_version_name
from kafka_quorum.model.identity import IdentityRecord, NodeIdentity
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.migration import ROLLED_BACK
from kafka_quorum.model.names import LABEL_QUORUM, LABEL_ROLE, advertised, claim_name
from kafka_quorum.model.nodes import (
    initial_node_ids,
    is_foreign,
    revision_of,
    stale_voters,
)
from kafka_quorum.model.observed import Observed, QuorumView
from kafka_quorum.model.operation import UnknownOperation
from kafka_quorum.model.plan import EARLIER_RESOURCE, IDENTITY_CONFLICT, Severity
from kafka_quorum.model.pods import PodRole
from kafka_quorum.model.quorum import FeatureRange, NodeVersions
from kafka_quorum.model.voters import VoterSet
from kafka_quorum.status.available import available
from kafka_quorum.status.brokers import broker_contract, brokers
from kafka_quorum.status.certificates_valid import TYPE as CERTIFICATES_VALID
from kafka_quorum.status.certificates_valid import certificates, certificates_valid
from kafka_quorum.status.degraded import degraded
from kafka_quorum.status.doing import doing
from kafka_quorum.status.features_settled import features_settled
from kafka_quorum.status.finding import Pass
from kafka_quorum.status.migrated import TYPE, migrated
from kafka_quorum.status.migration import migration, preflight
from kafka_quorum.status.odd_voters import odd_voter_count
from kafka_quorum.status.progressing import progressing
from kafka_quorum.status.ready import ready
from kafka_quorum.status.recovery import last_watermark, recovery
from kafka_quorum.status.spec_accepted import spec_accepted
from kafka_quorum.status.together import together
from kit.conditions.finding import Finding
from kit.conditions.merge import merged, shortened, without_none
from kit.text import cleaned

Json: TypeAlias = dict[str, Any]

_SOAK_STEP_S: Final = 5
_ROWS_MAX: Final = 100
"""The limit of a list whose length other components decide."""
_TEXT_MAX_CHARS: Final = 2000
CONDITIONS: Final[Mapping[str, Callable[[Pass], Finding]]] = {
    "Ready": ready,
    "Available": available,
    "Progressing": progressing,
    "Degraded": degraded,
    "FeaturesSettled": features_settled,
    "SpecAccepted": spec_accepted,
    "OddVoterCount": odd_voter_count,
}
"""Every condition, by its type, in the order of the status. The statuses without a pass have the same (`types`)."""
_IDENTITY: Final = ("replicas", "clusterID", "appliedRevision", "bootstrap", "controllers")
"""The fields that hold a copy of the identity, or follow from it."""
_ROWS: Final = ("conditions", "waits", "controllers", "brokers")
_TYPES: Final[dict[str, type]] = {
    **dict.fromkeys(_ROWS, list),
    **dict.fromkeys(
        ("operation", "quorum", "bootstrap", "brokerContract", "migration", "certificates", "recovery"), dict
    ),
}
"""The required types of the fields that are read back."""
_BOUNDED: Final = ("features", "staleReplicas", "waits", "brokers")
_OF_A_CONTROLLER: Final = ("nodeID", "directoryID", "endpoint", "claimName", "claimUID")
"""The fields of a controller that are its identity."""
_OF_A_LOOK: Final = ("leaderID", "leaderEpoch", "healthyVoters", "failureTolerance")
"""The fields of the quorum that are not true any more when no leader answers."""


def build(done: Pass, old: Json, *, generation: int, now: str) -> Json:
    """The whole status. `old` is the present one: its transition times and its operation are kept."""
    done, old = own(done), readable(old)
    record = done.observed.record
    findings = tuple(check(done) for check in CONDITIONS.values())
    of_some = (migrated(done), certificates_valid(done))
    findings = (*findings, *(each for each in of_some if each is not None))
    first = doing(done, findings)
    status: Json = {
        "observedGeneration": generation,
        "selector": selector(done.desired.name),
        "doing": first.reason,
        "message": shortened(first.message),
        "conditions": merged(old.get("conditions") or (), findings, generation=generation, now=now),
    }
    if record is None or done.waits_for(IDENTITY_CONFLICT):
        status |= kept_identity(old)
    else:
        status |= _identity(record)
        status["controllers"] = [_controller(done, record, node) for node in record.nodes]
        status |= _restarted(done, old)
    status |= _quorum(done, old, now)
    status |= _features(done, old)
    status |= _soak(done, old)
    status |= certificates(done, old)
    status |= recovery(done, old)
    status |= broker_contract(done, old) | brokers(done, old) | migration(done, old) | preflight(done)
    status["waits"] = _waits(done, old.get("waits") or (), now)
    shown: Json = cleaned(_shortened(status), max_chars=_TEXT_MAX_CHARS)
    return shown | _operation(done, old)


def types(old: Json) -> tuple[str, ...]:
    """The conditions of a resource with this status: some have those that only some quorums have."""
    present = {row.get("type") for row in old.get("conditions") or ()}
    return (*CONDITIONS, *(each for each in (TYPE, CERTIFICATES_VALID) if each in present))


def _operation(done: Pass, old: Json) -> Json:
    """The open operation, and what it waits for. One that cannot be understood is kept unchanged."""
    operation = old.get("operation")
    if operation is None or isinstance(done.observed.status.open, UnknownOperation):
        return {} if operation is None else {"operation": operation}
    told: Json = cleaned(operation | {"waitingFor": _waiting_for(done)}, max_chars=_TEXT_MAX_CHARS)
    return {"operation": told}


def readable(old: Json) -> Json:
    """A status without fields of wrong types: with an older CRD, or none, any user can write these."""
    kept: Json = {name: value for name, value in old.items() if isinstance(value, _TYPES.get(name, object))}
    rows = {name: [row for row in kept[name] if isinstance(row, dict)] for name in _ROWS if name in kept}
    return kept | rows


def says_ready(resource: Json) -> bool:
    """Whether the status of this resource, as it was read, has Ready=True."""
    rows = readable(resource.get("status") or {}).get("conditions") or ()
    return any(row.get("type") == "Ready" and row.get("status") == "True" for row in rows)


def _shortened(status: Json) -> Json:
    """The status with at most `_ROWS_MAX` rows in each list, and the number of rows left out of each."""
    left_out = {name: len(status[name]) - _ROWS_MAX for name in _BOUNDED if len(status.get(name) or ()) > _ROWS_MAX}
    cut = {name: status[name][:_ROWS_MAX] for name in left_out}
    looked: Json = status.get("preflight") or {}
    if len(blockers := looked.get("blockers") or ()) > _ROWS_MAX:
        left_out["blockers"] = len(blockers) - _ROWS_MAX
        cut["preflight"] = looked | {"blockers": blockers[:_ROWS_MAX]}
    return status | cut | ({"leftOut": left_out} if left_out else {})


def selector(quorum: str) -> str:
    """The label selector of the controllers' pods."""
    return f"{LABEL_QUORUM}={quorum},{LABEL_ROLE}={PodRole.KAFKA.value}"


def kept_identity(old: Json) -> Json:
    """The copy of the identity as it is; of its controllers nothing that only a look can confirm."""
    kept = {"replicas": 0} | {name: old[name] for name in _IDENTITY if name in old}
    if "controllers" in kept:
        kept["controllers"] = [
            {name: row[name] for name in _OF_A_CONTROLLER if name in row} | {"role": "Unknown"}
            for row in kept["controllers"]
        ]
    return kept


def _restarted(done: Pass, old: Json) -> Json:
    """The restart that every controller has had; while another one is under way, the one before it."""
    found = done.situation.target_revision if done.situation is not None else None
    if found is None or done.situation is None or done.situation.older:
        return {"restartedAt": old["restartedAt"]} if "restartedAt" in old else {}
    return {"restartedAt": found.runtime.restarted_at} if found.runtime.restarted_at else {}


def own(done: Pass) -> Pass:
    """The pass without the objects of an earlier resource of this name: none of its identity may be used."""
    if not done.waits_for(EARLIER_RESOURCE):
        return done
    silent = Unknown(reason="the quorum of an earlier resource ends")
    status = replace(done.observed.status, cluster_id=None)
    return replace(done, observed=replace(done.observed, record=None, status=status, quorum=silent, versions=()))


def _identity(record: IdentityRecord) -> Json:
    """A copy of the record. A lost record is rebuilt from it, so a lost record does not erase it."""
    claims = {node.node_id: node.claim_uid for node in record.nodes}
    initial = [
        {"nodeID": key.node_id, "directoryID": key.directory_id, "claimUID": claims.get(key.node_id)}
        for key in record.initial
    ]
    return {
        "replicas": len(record.nodes),
        "clusterID": record.cluster_id,
        "appliedRevision": record.applied_revision,
        "bootstrap": {
            "phase": ROLLED_BACK if record.has_ended else record.phase.value,
            "mode": record.format.mode.value,
            "initialControllers": [without_none(row) for row in initial],
        },
    }


def _controller(done: Pass, record: IdentityRecord, node: NodeIdentity) -> Json:
    observed = done.observed
    revision = revision_of(observed, record, node)
    runtime = revision.runtime if revision else done.desired.runtime
    member = done.desired.member(node.node_id)
    listener = advertised(done.desired.namespace, member, runtime)
    pod = next(iter(observed.pods_of(node.node_id, PodRole.KAFKA)), None)
    role, caught_up = _role(observed, node.key)
    waits = [wait.message for wait in done.plan.waits if wait.node_id == node.node_id]
    row = {
        "nodeID": node.node_id,
        "directoryID": node.directory_id,
        "role": role,
        "caughtUp": caught_up,
        "endpoint": f"{listener.host}:{listener.port}",
        "version": _version(observed, pod.revision) if pod else None,
        "claimName": claim_name(member, node.generation),
        "claimUID": node.claim_uid,
        "podName": pod.name if pod else None,
        "nodeName": pod.node_name or None if pod else None,
        "reason": "; ".join(dict.fromkeys(waits)) or None,
    }
    return without_none(row)


def _role(observed: Observed, key: ReplicaKey) -> tuple[str, bool | None]:
    if not isinstance(observed.quorum, Known):
        return "Unknown", None
    view = observed.quorum.value
    caught_up = key in view.shown
    if key in view.voters:
        return ("Leader" if key.node_id == view.answer.leader_id else "Voter"), caught_up
    return ("Observer", caught_up) if key in view.observers else ("None", None)


def _version(observed: Observed, revision: str) -> str | None:
    found = observed.revision(revision)
    return found.runtime.release if found else None


def _quorum(done: Pass, old: Json, now: str) -> Json:
    """The quorum as its leader describes it; without a leader, the last description, and since when it is old."""
    observed = done.observed
    # Without a record no answer is known to come from this quorum's cluster.
    if observed.record is None or not isinstance(observed.quorum, Known):
        shown: Json = unanswered(old, now) or {"quorum": {"summary": f"0/{_expected(done)}"}}
        return {"quorum": shown["quorum"] | ({} if observed.record is None else last_watermark(done))}
    view = observed.quorum.value
    votes = VoterSet(view.voters, view.shown)
    healthy, voters = len(votes.healthy), len(view.voters)
    kraft = next((feature.level for feature in observed.finalized if feature.name == "kraft.version"), None)
    row = {
        "type": "Static" if view.static else "Dynamic",
        "summary": f"{healthy}/{voters}",
        "leaderID": view.answer.leader_id,
        "leaderEpoch": view.answer.leader_epoch,
        "voters": voters,
        "healthyVoters": healthy,
        "failureTolerance": votes.failure_tolerance,
        "kraftVersion": kraft,
        "currentVoters": _keys(view.voters),
        "committedVoters": None if view.committed_voters is None else _keys(view.committed_voters),
    }
    return {"quorum": without_none(row), "staleReplicas": _stale(observed, view)}


def unanswered(old: Json, now: str) -> Json:
    """The last description of the quorum without its changing fields, and since when it is old; empty if none."""
    before = old.get("quorum") or {}
    if not before.get("voters"):
        return {}
    last = {name: value for name, value in before.items() if name not in _OF_A_LOOK}
    return {"quorum": {"unknownSince": now, **last, "summary": f"?/{before['voters']}"}}


def _expected(done: Pass) -> int:
    """How many voters the quorum starts with: those of the record, or those that a new record will have."""
    record = done.observed.record
    return len(record.initial) if record is not None else len(initial_node_ids(done.desired))


def _stale(observed: Observed, view: QuorumView) -> list[Json]:
    record = observed.record
    if record is None:
        return []
    own = {node.key for node in record.nodes}
    stale = stale_voters(record, view)
    kinds = (
        ("Voter", (key for key in stale if not is_foreign(record, key))),
        ("ForeignVoter", (key for key in stale if is_foreign(record, key))),
        ("Observer", (key for key in view.observers - own if key.directory_id in record.retired)),
    )
    return [{**row, "kind": kind} for kind, keys in kinds for row in _keys(frozenset(keys))]


def _soak(done: Pass, old: Json) -> Json:
    """How long all has been well, in steps: a new operator continues from there. Kept while a step waits for it."""
    soak = done.observed.memory.soak
    if soak is not None and not done.observed.finalized:
        return {"soak": old["soak"]} if "soak" in old else {}  # the levels are unknown in this look
    if soak is None or not any(feature.requested for feature in done.plan.features):
        return {}
    seconds = min(int(soak.healthy_s), done.desired.soak_s) // _SOAK_STEP_S * _SOAK_STEP_S
    return {"soak": {"finalizedEpoch": soak.epoch, "seconds": seconds}}


def _features(done: Pass, old: Json) -> Json:
    observed = done.observed
    answers = [answer.value for _, answer in observed.versions if isinstance(answer, Known)]
    finalized = {feature.name: feature.level for feature in observed.finalized}
    if not answers or not finalized:
        return {key: old[key] for key in ("features", "metadataVersion") if key in old}
    rows = []
    plans = {feature.name: feature for feature in reversed(done.plan.features)}
    for name, ranges in sorted(_supported(answers).items()):
        planned = plans.get(name)
        row = {
            "name": name,
            "finalized": finalized.get(name, 0),
            "minSupported": max(feature.min_level for feature in ranges),
            "maxSupported": min(feature.max_level for feature in ranges),
            "wanted": planned.level if planned and planned.requested else None,
            "blockedBy": planned.against or None if planned else None,
        }
        rows.append(without_none(row))
    level = finalized.get(METADATA)
    if level is None:
        return {"features": rows}
    known = metadata_version_name(level)
    return {"features": rows, "metadataVersion": f"{known} ({level})" if known else str(level)}


def _supported(answers: Iterable[NodeVersions]) -> dict[str, list[FeatureRange]]:
    """Every node's range of each feature, by its name."""
    found: dict[str, list[FeatureRange]] = {}
    for answer in answers:
        for feature in answer.supported:
            found.setdefault(feature.name, []).append(feature)
    return found


def _waits(done: Pass, old: Iterable[Json], now: str) -> list[Json]:
    """Each wait once for all its controllers, with the time since which its reason has applied to one of them."""
    since = {(row.get("reason"), node): row.get("since", now) for row in old for node in nodes_of(row)}
    groups: dict[tuple[str, str], dict[int | None, str]] = {}
    for wait in done.plan.waits:
        groups.setdefault((wait.reason, wait.severity.name.capitalize()), {}).setdefault(wait.node_id, wait.message)
    rows = []
    for (reason, severity), waits in groups.items():
        for said in together(waits.items()):
            nodes: tuple[int | None, ...] = said.node_ids or (None,)
            row = {
                "reason": reason,
                "severity": severity,
                "nodeID": nodes[0] if len(nodes) == 1 else None,
                "nodeIDs": list(nodes) if len(nodes) > 1 else None,
                "message": shortened(said.message),
                "since": min(since.get((reason, node), now) for node in nodes),
            }
            rows.append(without_none(row))
    return rows


def nodes_of(row: Json) -> list[int | None]:
    """The controllers that a row of the waits is about; None means the quorum."""
    several = row.get("nodeIDs")
    return several if isinstance(several, list) and several else [row.get("nodeID")]


def _keys(keys: frozenset[ReplicaKey]) -> list[Json]:
    rows = sorted(keys, key=lambda key: (key.node_id, key.directory_id or ""))
    return [without_none({"nodeID": key.node_id, "directoryID": key.directory_id}) for key in rows]


def _waiting_for(done: Pass) -> str:
    moving = done.first(Severity.PROGRESS)
    return moving.message if moving else ""
