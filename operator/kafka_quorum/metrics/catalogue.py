"""Every metric of the operator: its name, type, labels, unit and meaning, and what bounds its series. Pure.

`docs/metrics.md`, the collectors, the alerts and the dashboards use these names. `QUORUM` are the metrics of one
quorum, `OTHERS` those of pools and applications, `OPERATOR` those of the process.
"""

from collections.abc import Mapping
from typing import Final, get_args

from kafka_quorum.api.features import feature_names
from kafka_quorum.model import actions
from kafka_quorum.model.migration import MIGRATIONS
from kafka_quorum.model.operation import CHANGE_WORDS, LOWER_FEATURE, RAISE_FEATURE
from kafka_quorum.status.build import CONDITIONS as OF_EVERY_QUORUM
from kafka_quorum.status.certificates_valid import TYPE as CERTIFICATES_VALID
from kafka_quorum.status.migrated import TYPE as MIGRATED
from kit.metrics.metric import NAMESPACE, Label, Metric, Type

UNKNOWN_TYPE: Final = "Unknown"
"""The type of an open operation that this version cannot read."""
OTHER: Final = "other"
"""The value of a label whose own value is not in the closed set."""

STATES: Final = {
    "caught_up": "a voter, and nothing shows that it lags",
    "lagging": "a voter that does not run, or lags",
    "observer": "follows the log without a vote",
    "absent": "neither a voter nor an observer",
    "lost_node": "its Kubernetes node is not ready, or gone (wait LostNode)",
    "lost_disk": "its disk is empty or gone (wait LostDisk or DiskNotReplaced)",
    "stale_voter": "no controller: the voter of a retired disk or a removed controller",
    "foreign_voter": "no controller: a voter that this operator never made",
    "stale_observer": "no controller: a retired disk that is still an observer",
    "ghost": "no controller: one that was removed and is still registered",
}
"""The states of controllers, and of replicas that the quorum lists and that are no controller of it.

A controller is in exactly one state: its loss counts before its part in the quorum.
"""
HELD: Final = {
    "pause": "spec.paused",
    "node": "annotation kafkaquorum.io/hold lists controllers, or cannot be read (Holding, HeldBack)",
    "spec": "the spec has faults",
    "roll": "restarts (RollHeld, RestartHeld, OlderImage)",
    "step": "a feature level (FeatureBlocked, DowngradeRefused)",
    "migration": "a migration (MigrationHeld, Preflight, DualWrite)",
    "voters": "voters of a static quorum (StaticQuorum)",
    "disk": "a disk that a person gives up (ReplaceRefused)",
    "recovery": "a recovery (RecoveryProposed, RecoveryHeld, RecoveryStuck)",
    "certificates": "certificates (CertificatesHeld, ContractCertificateEnded)",
    "users": "users of the brokers (ScramUsersHeld)",
    "other": "anything else that waits for a person; the wait has the reason",
}
"""What a person or a guard holds: a wait of severity Held, or what the spec and the annotations say."""
HELD_REASONS: Final[Mapping[str, str]] = {
    "Paused": "pause",
    **dict.fromkeys(("Holding", "HeldBack"), "node"),
    **dict.fromkeys(("RollHeld", "RestartHeld", "OlderImage"), "roll"),
    **dict.fromkeys(("FeatureBlocked", "DowngradeRefused"), "step"),
    **dict.fromkeys(("MigrationHeld", "Preflight", "DualWrite"), "migration"),
    "StaticQuorum": "voters",
    "ReplaceRefused": "disk",
    **dict.fromkeys(("RecoveryProposed", "RecoveryHeld", "RecoveryStuck"), "recovery"),
    **dict.fromkeys(("CertificatesHeld", "ContractCertificateEnded"), "certificates"),
    "ScramUsersHeld": "users",
}
"""What the waits of severity Held hold, by their reason; any other one holds `other`."""
RESULTS: Final = {
    "done": "it was done",
    "failed": "it was not done",
    "unknown": "no answer: it may have been done",
    "postponed": "not done now, and nothing is wrong: a disruption budget or an old look prevented it",
}
"""The results of an act."""
PASS_RESULTS: Final = {
    "done": "it ended",
    "failed": "an error ended it, such as an API server that does not answer",
    "fault": "a fault of the operator ended it",
    "ended": "the lease lapsed, or the operator ended",
    "idle": "nothing was decided: the resource is being deleted, or its objects must be read again first",
    "unchanged": "the leader was asked, and said what the last look saw, so that no look was needed",
}
"""The results of a pass."""
REQUEST_RESULTS: Final = {
    "answered": "an answer that says what was asked",
    "refused": "an answer with an error code",
    "unanswered": "no connection, no answer in time, or a handshake that failed",
    "garbled": "an answer that is not Kafka's protocol, or not to this question",
    "unsent": "not sent: no version in common, no access, or a value that cannot be sent",
    "ended": "the operator did not wait for the answer",
}
"""The results of a request over Kafka's protocol."""
CONDITIONS: Final = (*OF_EVERY_QUORUM, MIGRATED, CERTIFICATES_VALID)
"""The conditions of a quorum."""
VERBS: Final = ("get", "list", "create", "replace", "apply", "patch", "delete", "evict", "watch")
CODES: Final = (
    *("200", "201", "202", "400", "401", "403", "404", "405", "408", "409", "410", "413", "415", "422", "429"),
    *("500", "502", "503", "504", OTHER, "none"),
)
"""The codes of answers of the API server; `none` if it did not answer."""
_KINDS: Final = ("KafkaQuorum", "KafkaBrokerPool", "KafkaStreamsApplication")
_RECORDS: Final = (actions.DecideRecord, actions.WriteRecord)
_ACTS: Final = tuple(
    sorted(
        {each.__name__ for each in get_args(actions.Action) if each not in _RECORDS}
        | {change.value for change in actions.RecordChange}
    )
)
_FAST_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0)
_PASS_S: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)

_OWN: Final = (NAMESPACE, Label(name="quorum", bound="the name of the KafkaQuorum"))
_NODE: Final = Label(name="node", bound="a node id of the quorum's identity record: the spec decides how many")
_MIGRATION: Final = Label(
    name="kind", bound="kinds of migrations", values=tuple(sorted(kind.value for kind in MIGRATIONS))
)
_KIND: Final = Label(name="kind", bound="kinds of resources", values=_KINDS)
_OPERATION: Final = Label(
    name="type",
    bound="types of operations",
    values=(*CHANGE_WORDS.values(), RAISE_FEATURE, LOWER_FEATURE, UNKNOWN_TYPE),
)
_NO_LEADER: Final = "while no leader answers"
_NOT_OPEN: Final = "while none is open"


def _gauge(name: str, text: str, *labels: Label, unit: str = "", absent: str = "") -> Metric:
    return Metric(
        name=f"kafka_quorum_{name}", type=Type.GAUGE, help=text, unit=unit, labels=(*_OWN, *labels), absent=absent
    )


def _counter(name: str, text: str, *labels: Label) -> Metric:
    absent = "" if not labels else "until it happens"
    return Metric(
        name=f"kafka_quorum_{name}_total", type=Type.COUNTER, help=text, labels=(*_OWN, *labels), absent=absent
    )


CONDITION: Final = _gauge(
    "condition",
    "A condition of the status: 1 for True, 0 for False, -1 for Unknown.",
    Label(name="condition", bound="conditions of a KafkaQuorum", values=CONDITIONS),
    absent="before the first look; MigratedFromZooKeeper and CertificatesValid only of a quorum that has them",
)
INFO: Final = _gauge(
    "info",
    "Always 1: the requested Kafka release, and whether the quorum is Dynamic (kraft.version 1) or Static.",
    Label(name="kafka_version", bound="X.Y.Z, one for each quorum; another form is `other`"),
    Label(name="mode", bound="modes of a quorum", values=("Dynamic", "Static")),
    absent="before there is an identity record",
)
FEATURE_LEVEL: Final = _gauge(
    "feature_level",
    "The finalized level of a feature, as the leader reports it.",
    Label(name="feature", bound="features that this version of the operator knows", values=feature_names()),
    absent="while the leader does not report its levels",
)
VOTERS_WANTED: Final = _gauge("voters_wanted", "How many controllers the spec requests.")
VOTERS_PRESENT: Final = _gauge("voters_present", "How many voters the leader's voter set has.", absent=_NO_LEADER)
VOTERS_CAUGHT_UP: Final = _gauge(
    "voters_caught_up", "How many voters are live and caught up, as status.quorum.healthyVoters.", absent=_NO_LEADER
)
FAILURES_TOLERATED: Final = _gauge(
    "failures_tolerated", "How many further voters may fail before the quorum stops.", absent=_NO_LEADER
)
LEADER_ID: Final = _gauge(
    "leader_id", "The node id of the active controller; -1 while none is known.", absent="without an identity record"
)
LEADER_EPOCH: Final = _gauge("leader_epoch", "The epoch of the leader.", absent=_NO_LEADER)
LEADER_CHANGES: Final = _counter(
    "leader_changes", "How often a look showed a later leader epoch than an earlier look of this process."
)
UNCOMMITTED_AGE: Final = _gauge(
    "uncommitted_voter_change_age_seconds",
    "For how long looks have shown a voter set that is not committed; 0 if it is.",
    unit="seconds",
    absent=_NO_LEADER,
)
LOG_END_OFFSET: Final = _gauge(
    "log_end_offset",
    "The end of a controller's metadata log, as the leader reports it.",
    _NODE,
    unit="offset",
    absent=f"{_NO_LEADER}, and for a controller whose offset it does not know",
)
HIGH_WATERMARK: Final = _gauge(
    "high_watermark_offset",
    "The high watermark of the metadata log.",
    unit="offset",
    absent=f"{_NO_LEADER}, or it does not know it yet",
)
LAG_RECORDS: Final = _gauge(
    "lag_records",
    "How many records a controller's metadata log is behind the leader's.",
    _NODE,
    unit="records",
    absent=f"{_NO_LEADER}, and for a controller whose offset it does not know",
)
CONTROLLERS: Final = _gauge(
    "controllers",
    "How many controllers are in a state, and how many replicas the quorum lists that are no controller of it.",
    Label(name="state", bound="states", values=tuple(STATES)),
    absent=f"{_NO_LEADER}, except lost_node and lost_disk; ghost also while the registrations are not known",
)
OPERATION_OPEN: Final = _gauge(
    "operation_open", "Always 1: an operation is open, as in status.operation.", _OPERATION, absent=_NOT_OPEN
)
OPERATION_AGE: Final = _gauge(
    "operation_age_seconds",
    "For how long the open operation has been open, by its startedAt.",
    _OPERATION,
    unit="seconds",
    absent=f"{_NOT_OPEN}, or its startedAt cannot be read",
)
WAITING: Final = _gauge(
    "waiting",
    "Always 1: the last pass waits for something with this reason, as in status.waits.",
    Label(name="reason", bound="reasons of waits in the source, in docs/operations.md"),
    absent="while nothing is waited for with this reason",
)
REFUSALS: Final = _counter(
    "refusals",
    "How often a guard began to refuse: a refusal that lasts for many passes counts once.",
    Label(name="rule", bound="numbers of the rules of docs/safety.md"),
    Label(name="guard", bound="ids of guards in the source"),
)
ACTS: Final = _counter(
    "acts",
    "How many acts had a result; a change of the identity record counts under its own word, such as DiskLost.",
    Label(name="act", bound="actions of a plan, and changes of the identity record", values=_ACTS),
    Label(name="result", bound="results of an act", values=tuple(RESULTS)),
)
CERTIFICATE_END: Final = _gauge(
    "certificate_end_timestamp_seconds",
    "When the first certificate of a holder ends, in Unix seconds.",
    Label(
        name="holder",
        bound="`authority`, `intermediate`, `operator`, `brokers`, and `controller-NODE` for each node of the record",
    ),
    unit="seconds",
    absent="without TLS, and for a holder whose Secret was not read",
)
CERTIFICATE_LIFE: Final = _gauge(
    "certificate_life_seconds",
    "How long the certificate of a holder lasts, from its begin to its end: the shortest one of its Secret.",
    CERTIFICATE_END.labels[-1],
    unit="seconds",
    absent="without TLS, and for a holder whose Secret was not read",
)
MIGRATION_STAGE: Final = _gauge(
    "migration_stage", "The present stage of a migration, from 1; 0 if it has not begun.", _MIGRATION, absent=_NOT_OPEN
)
MIGRATION_STAGES: Final = _gauge("migration_stages", "How many stages it has.", _MIGRATION, absent=_NOT_OPEN)
MIGRATION_AGE: Final = _gauge(
    "migration_stage_age_seconds",
    "For how long this process has seen the migration in its present stage.",
    _MIGRATION,
    unit="seconds",
    absent=_NOT_OPEN,
)
HELD_BY: Final = _gauge(
    "held",
    "Always 1: a person or a guard holds something.",
    Label(name="what", bound="what can be held", values=tuple(HELD)),
    absent="while it is not held",
)
LAST_LOOK: Final = _gauge(
    "last_look_timestamp_seconds",
    "When it was last looked at, in Unix seconds; at rest its leader alone is asked in most looks. If every look of"
    " this process has failed: since when it reports that.",
    unit="seconds",
    absent="before the first look",
)
QUORUM: Final = (
    *(CONDITION, INFO, FEATURE_LEVEL, VOTERS_WANTED, VOTERS_PRESENT, VOTERS_CAUGHT_UP, FAILURES_TOLERATED),
    *(LEADER_ID, LEADER_EPOCH, LEADER_CHANGES, UNCOMMITTED_AGE, LOG_END_OFFSET, HIGH_WATERMARK, LAG_RECORDS),
    *(CONTROLLERS, OPERATION_OPEN, OPERATION_AGE, WAITING, REFUSALS, ACTS, CERTIFICATE_END, CERTIFICATE_LIFE),
    *(MIGRATION_STAGE, MIGRATION_STAGES, MIGRATION_AGE, HELD_BY, LAST_LOOK),
)
"""The metrics of one quorum, in the order of the page."""


def _of(prefix: str, kind: str, label: str, conditions: tuple[str, ...]) -> tuple[Metric, Metric]:
    """The two metrics of another kind of resource: its conditions, and the time of the last look."""
    own = (NAMESPACE, Label(name=label, bound=f"the name of the {kind}"))
    condition = Metric(
        name=f"{prefix}_condition",
        type=Type.GAUGE,
        help=f"A condition of a {kind}: 1 for True, 0 for False, -1 for Unknown.",
        labels=(*own, Label(name="condition", bound=f"conditions of a {kind}", values=conditions)),
        absent="before the first look",
    )
    last_look = Metric(
        name=f"{prefix}_last_look_timestamp_seconds",
        type=Type.GAUGE,
        help=f"When the last complete look at a {kind} ended, in Unix seconds.",
        unit="seconds",
        labels=own,
        absent="before the first look",
    )
    return condition, last_look


POOL_CONDITION, POOL_LAST_LOOK = _of(
    "kafka_broker_pool",
    "KafkaBrokerPool",
    "pool",
    ("Ready", "Available", "Progressing", "Degraded", "SpecAccepted"),
)
APPLICATION_CONDITION, APPLICATION_LAST_LOOK = _of(
    "kafka_streams_application",
    "KafkaStreamsApplication",
    "application",
    ("Ready", "Progressing", "Degraded", "SpecAccepted"),
)
OTHERS: Final = (POOL_CONDITION, POOL_LAST_LOOK, APPLICATION_CONDITION, APPLICATION_LAST_LOOK)
"""The metrics of pools and of Streams applications."""


def _of_operator(
    name: str, kind: Type, text: str, *labels: Label, unit: str = "", absent: str = "", buckets: tuple[float, ...] = ()
) -> Metric:
    return Metric(
        name=f"kafka_quorum_operator_{name}",
        type=kind,
        help=text,
        unit=unit,
        labels=labels,
        absent=absent,
        buckets=buckets,
    )


PASSES: Final = _of_operator(
    "passes_total",
    Type.COUNTER,
    "How many passes ended, by kind of resource and result.",
    _KIND,
    Label(name="result", bound="results of a pass", values=tuple(PASS_RESULTS)),
)
PASS_SECONDS: Final = _of_operator(
    "pass_seconds", Type.HISTOGRAM, "How long passes took.", _KIND, unit="seconds", buckets=_PASS_S
)
QUEUE_AGE: Final = _of_operator(
    "queue_age_seconds",
    Type.GAUGE,
    "For how long the oldest event of a watch has waited for a pass over its resource; 0 if none waits.",
    _KIND,
    unit="seconds",
)
RESOURCES: Final = _of_operator("resources", Type.GAUGE, "How many resources the operator serves.", _KIND)
KUBE_REQUESTS: Final = _of_operator(
    "kube_requests_total",
    Type.COUNTER,
    "Requests to the API server. The watch of KafkaQuorums itself, which Kopf makes, is not counted.",
    Label(name="verb", bound="verbs", values=VERBS),
    Label(name="resource", bound="resource types in the source"),
    Label(name="code", bound="status codes of HTTP; `other` for any other one, `none` without an answer", values=CODES),
    absent="until there is one",
)
KUBE_SECONDS: Final = _of_operator(
    "kube_request_seconds",
    Type.HISTOGRAM,
    "How long requests to the API server took; of a watch, until it began.",
    Label(name="verb", bound="verbs", values=VERBS),
    unit="seconds",
    buckets=_FAST_S,
)
KAFKA_REQUESTS: Final = _of_operator(
    "kafka_requests_total",
    Type.COUNTER,
    "Requests over Kafka's protocol, to controllers and brokers.",
    Label(name="request", bound="requests that this operator can send"),
    Label(name="result", bound="results of a request", values=tuple(REQUEST_RESULTS)),
    absent="until there is one",
)
KAFKA_SECONDS: Final = _of_operator(
    "kafka_request_seconds",
    Type.HISTOGRAM,
    "How long requests over Kafka's protocol took, with the time to connect.",
    unit="seconds",
    buckets=_FAST_S,
)
LEASE_HELD: Final = _of_operator("lease_held", Type.GAUGE, "Whether this operator holds the lease, and acts: 1 or 0.")
LOOP_LAG: Final = _of_operator(
    "event_loop_lag_seconds",
    Type.GAUGE,
    "The longest time in the last minute or two for which one task kept the event loop busy.",
    unit="seconds",
)
BUILD_INFO: Final = _of_operator(
    "build_info", Type.GAUGE, "Always 1: the version of the operator.", Label(name="version", bound="one")
)
OPERATOR: Final = (
    *(PASSES, PASS_SECONDS, QUEUE_AGE, RESOURCES, KUBE_REQUESTS, KUBE_SECONDS, KAFKA_REQUESTS, KAFKA_SECONDS),
    *(LEASE_HELD, LOOP_LAG, BUILD_INFO),
)
"""The metrics of the operator's process, beside `process_` and `python_` of the library."""
ALL: Final = (*QUORUM, *OTHERS, *OPERATOR)
