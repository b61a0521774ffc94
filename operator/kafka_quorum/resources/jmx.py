"""Kafka's own metrics of raft and of the controller, as the Prometheus JMX agent shows them: what is read, and names.

Only what is listed here is on a page, so neither a new release of Kafka nor a thousand topics make a page larger. Each
name was checked against real controllers: `docs/metrics-kafka.md` has the table, by release and role.
"""

from dataclasses import dataclass
from typing import Final

_RAFT: Final = "kafka.server:type=raft-metrics"
_CONTROLLER: Final = "kafka.controller:type=KafkaController,name="
_STATS: Final = "kafka.controller:type=ControllerStats,name="
_LOADER: Final = "kafka.server:type=MetadataLoader,name="
_EMITTER: Final = "kafka.server:type=SnapshotEmitter,name="
_MILLI: Final = "0.001"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One metric: its name, its MBean, the attribute that is read, and a sentence.

    `factor` turns Kafka's unit into that of the name; empty for 1. A name that ends in `_total` is a counter. `values`
    are the texts that the attribute may have: the metric is 1 then, with the text in its label `state`. Any other text
    has no series.
    """

    name: str
    bean: str
    attribute: str = "Value"
    factor: str = ""
    values: tuple[str, ...] = ()
    help: str

    @property
    def is_counter(self) -> bool:
        """Whether it only grows, until the controller restarts."""
        return self.name.endswith("_total")


STATES: Final = (
    "leader",
    "candidate",
    "prospective",
    "prospective-voted",
    "follower",
    "observer",
    "unattached",
    "unattached-voted",
    "voted",
)
"""Every state of a replica that a release from 3.9 on reports; `voted` is the word of 3.9 for `unattached-voted`."""


def _raft(name: str, attribute: str, help_: str, values: tuple[str, ...] = ()) -> Shown:
    return Shown(name=f"kafka_raft_{name}", bean=_RAFT, attribute=attribute, help=help_, values=values)


def _controller(name: str, bean: str, help_: str, factor: str = "") -> Shown:
    return Shown(name=f"kafka_controller_{name}", bean=f"{_CONTROLLER}{bean}", help=help_, factor=factor)


ACTIVE: Final = "kafka_controller_active"
SHOWN: Final = (
    _raft("current_state", "current-state", "1 for the present state of this replica.", STATES),
    _raft("current_leader", "current-leader", "The node id of the leader that this replica knows; -1 for none."),
    _raft("current_epoch", "current-epoch", "The leader epoch that this replica knows."),
    _raft("current_vote", "current-vote", "The node id that this replica voted for in this epoch; -1 for none."),
    _raft("high_watermark", "high-watermark", "The high watermark that this replica knows; -1 for none."),
    _raft("log_end_offset", "log-end-offset", "The end of this replica's log."),
    _raft("log_end_epoch", "log-end-epoch", "The epoch of the last record in this replica's log."),
    _raft("number_of_voters", "number-of-voters", "How many voters the voter set of this replica has."),
    _raft("number_of_observers", "number-of-observers", "How many observers fetch from this leader."),
    _raft("uncommitted_voter_change", "uncommitted-voter-change", "1 while a voter change is not committed."),
    _raft(
        "unknown_voter_connections",
        "number-unknown-voter-connections",
        "Voters whose address this replica does not know.",
    ),
    _raft("commit_latency_avg_ms", "commit-latency-avg", "Mean time until a record is committed, in milliseconds."),
    _raft("commit_latency_max_ms", "commit-latency-max", "Longest time until a record is committed, in milliseconds."),
    _raft("election_latency_avg_ms", "election-latency-avg", "Mean time of an election, in milliseconds."),
    _raft("election_latency_max_ms", "election-latency-max", "Longest time of an election, in milliseconds."),
    _raft("fetch_records_rate", "fetch-records-rate", "Records that this replica fetches from the leader, per second."),
    _raft("append_records_rate", "append-records-rate", "Records that this leader appends, per second."),
    _raft("poll_idle_ratio", "poll-idle-ratio-avg", "The share of time in which the raft thread waits for work."),
    _controller("active", "ActiveControllerCount", "1 for the active controller, else 0."),
    _controller("metadata_errors_total", "MetadataErrorCount", "Records that this controller could not apply."),
    _controller(
        "last_applied_record_lag_seconds",
        "LastAppliedRecordLagMs",
        "How long ago the last applied record was written; since 1970 before the first one.",
        _MILLI,
    ),
    _controller("last_applied_record_offset", "LastAppliedRecordOffset", "The last record that was applied."),
    _controller("last_committed_record_offset", "LastCommittedRecordOffset", "The last record that is committed."),
    _controller("active_brokers", "ActiveBrokerCount", "Brokers that are registered and not fenced."),
    _controller("fenced_brokers", "FencedBrokerCount", "Brokers that are registered and fenced."),
    _controller("stopping_brokers", "ControlledShutdownBrokerCount", "Brokers in a controlled shutdown."),
    _controller("topics", "GlobalTopicCount", "Topics of the cluster."),
    _controller("partitions", "GlobalPartitionCount", "Partitions of the cluster."),
    _controller("offline_partitions", "OfflinePartitionsCount", "Partitions without a leader."),
    _controller(
        "preferred_replica_imbalances",
        "PreferredReplicaImbalanceCount",
        "Partitions whose leader is not the preferred replica.",
    ),
    Shown(
        name="kafka_controller_unclean_leader_elections_total",
        bean=f"{_STATS}UncleanLeaderElectionsPerSec",
        attribute="Count",
        help="Unclean elections of a partition's leader by this controller.",
    ),
    _controller(
        "new_active_controllers_total",
        "NewActiveControllersCount",
        "Changes of the active controller that this one has seen.",
    ),
    _controller(
        "event_queue_operations_total",
        "EventQueueOperationsStartedCount",
        "Operations that the active controller has begun.",
    ),
    _controller(
        "event_queue_timeouts_total",
        "EventQueueOperationsTimedOutCount",
        "Operations that ended because they waited too long.",
    ),
    _controller(
        "broker_heartbeat_timeouts_total",
        "TimedOutBrokerHeartbeatCount",
        "Sessions of brokers that ended because no heartbeat came.",
    ),
    _controller(
        "ignored_static_voters",
        "IgnoredStaticVoters",
        "1 if controller.quorum.voters is set although the quorum is dynamic.",
    ),
    Shown(
        name="kafka_metadata_version_current",
        bean=f"{_LOADER}CurrentMetadataVersion",
        help="The finalized level of metadata.version.",
    ),
    Shown(
        name="kafka_metadata_snapshots_loaded_total",
        bean=f"{_LOADER}HandleLoadSnapshotCount",
        help="Snapshots that this controller has loaded.",
    ),
    Shown(
        name="kafka_snapshot_age_seconds",
        bean=f"{_EMITTER}LatestSnapshotGeneratedAgeMs",
        factor=_MILLI,
        help="The age of the last snapshot that this controller made; since its start if it made none.",
    ),
    Shown(
        name="kafka_snapshot_bytes",
        bean=f"{_EMITTER}LatestSnapshotGeneratedBytes",
        help="The size of the last snapshot that this controller made; 0 if it made none.",
    ),
)
"""Kafka's metrics, with `spec.metrics.jmx`."""

OF_JAVA: Final = (
    "jmx_scrape_duration_seconds",
    "jmx_scrape_error",
    "jvm_gc_collection_seconds",
    "jvm_memory_max_bytes",
    "jvm_memory_used_bytes",
    "jvm_threads_current",
    "process_cpu_seconds",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
)
"""What a page has of the agent's own metrics of the Java process. The other 70 or so are left out."""


def rule(shown: Shown) -> str:
    """The agent's rule for one metric, as entry of a list in YAML.

    A pattern may match anywhere in `domain<keys><>attribute: value`. So an attribute's name ends with the colon, and
    the texts of a state with the end of the line.
    """
    domain, _, keys = shown.bean.partition(":")
    values = f"({'|'.join(shown.values)})$" if shown.values else ""
    lines = [
        f'  - pattern: "^{domain}<{keys.replace(",", ", ")}><>{shown.attribute}: {values}"',
        f'    name: "{shown.name}"',
        f"    type: {'COUNTER' if shown.is_counter else 'GAUGE'}",
        f'    help: "{shown.help}"',
    ]
    if shown.factor:
        lines.append(f"    valueFactor: {shown.factor}")
    if shown.values:
        lines += ["    value: 1", "    labels:", '      state: "$1"']
    return "".join(f"{line}\n" for line in lines)
