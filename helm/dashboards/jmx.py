"""The row of one quorum with Kafka's own metrics, which are there only if the spec asks for them."""

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row
from helm.dashboards.panels import BLUE, GREEN, PLAIN, RED, YELLOW, Query, graph, happened, note, timeline, words

IN = 'namespace="$namespace", quorum="$quorum"'
EMPTY = "No metrics of Kafka: see the text at the top of this row"
NODE = "{{node}}"
STATES = {
    1: "leader",
    2: "follower",
    3: "observer",
    4: "candidate|prospective|prospective-voted",
    5: "unattached|unattached-voted|voted",
}
"""Kafka's states, as the numbers that the timeline has words for."""
TEXT = """\
What the controllers themselves report. This row is empty unless the spec of the quorum has `metrics: {jmx: true}` and
Prometheus scrapes the port `jmx` of the controllers' pods with the labels `namespace`, `quorum` and `node`: the chart's
PodMonitor does. The rows above do not depend on it.
"""


def each(metric: str, by: str = "node") -> str:
    """One value for each controller."""
    return f"max by ({by}) ({metric}{{{IN}}})"


def grown(metric: str) -> str:
    """How often something happened at each controller; nothing where it did not."""
    return happened(f"{metric}{{{IN}}}", "node")


def row(board: Dashboard) -> Dashboard:
    """The dashboard with the row."""
    return (
        board.with_row(Row("Kafka's own metrics (spec.metrics.jmx)"))
        .with_panel(note(TEXT))
        .with_panel(
            timeline(
                "State of each controller",
                "What each controller itself reports to be. With two leaders for longer than a moment, one of them is "
                "cut off and has not noticed it yet; only the one with the higher epoch can commit.",
                Query(
                    " or ".join(
                        f'{number} * max by (node) (kafka_raft_current_state{{{IN}, state=~"{states}"}} == 1)'
                        for number, states in STATES.items()
                    ),
                    NODE,
                ),
                mappings=words(
                    {
                        1: ("leader", GREEN),
                        2: ("follower", BLUE),
                        3: ("observer", PLAIN),
                        4: ("candidate", YELLOW),
                        5: ("unattached", RED),
                    }
                ),
                empty=EMPTY,
            )
        )
        .with_panel(
            graph(
                "Epoch that each controller reports",
                "Controllers that agree report the same epoch. One that stays behind is cut off from the leader.",
                Query(each("kafka_raft_current_epoch"), NODE),
                width=12,
                low=None,
                stepped=True,
                decimals=0,
                empty=EMPTY,
            ).height(8)
        )
        .with_panel(
            graph(
                "Commit latency",
                "The time until a record that the leader appended is committed. Only the leader reports it. It depends "
                "on the disks and the network of a majority.",
                Query(each("kafka_raft_commit_latency_avg_ms"), NODE),
                unit="ms",
                empty=EMPTY,
            )
        )
        .with_panel(
            graph(
                "Records appended and fetched",
                "Records each second that the leader appends, and that each of the others fetches from it.",
                Query(each("kafka_raft_append_records_rate"), f"{NODE} appended"),
                Query(each("kafka_raft_fetch_records_rate"), f"{NODE} fetched"),
                unit="wps",
                empty=EMPTY,
            )
        )
        .with_panel(
            graph(
                "Election latency",
                "How long the last elections took.",
                Query(each("kafka_raft_election_latency_avg_ms"), NODE),
                unit="ms",
                empty=EMPTY,
            )
        )
        .with_panel(
            graph(
                "High watermark and end of the log",
                "What each controller has committed and stored. The distance between both is not committed yet.",
                Query(each("kafka_raft_high_watermark"), f"{NODE} committed"),
                Query(each("kafka_raft_log_end_offset"), f"{NODE} end"),
                low=None,
                decimals=0,
                empty=EMPTY,
            )
        )
        .with_panel(
            graph(
                "Voters and observers",
                "What each controller reports; observers and a change that is not committed are known to the leader "
                "only.",
                Query(each("kafka_raft_number_of_voters"), f"{NODE} voters"),
                Query(each("kafka_raft_number_of_observers"), f"{NODE} observers"),
                Query(each("kafka_raft_uncommitted_voter_change"), f"{NODE} uncommitted change"),
                stepped=True,
                decimals=0,
                empty=EMPTY,
            )
        )
        .with_panel(
            graph(
                "Idle share of the raft thread",
                "The share of its time in which the thread of the quorum waits for work. Near 0, the controller has "
                "too much to do.",
                Query(each("kafka_raft_poll_idle_ratio"), NODE),
                unit="percentunit",
                empty=EMPTY,
            )
        )
        .with_panel(
            graph(
                "Brokers and partitions",
                "What the active controller reports: brokers that serve, brokers that are fenced, and partitions "
                "without a leader, which cannot be read or written.",
                Query(f"max(kafka_controller_active_brokers{{{IN}}})", "active brokers"),
                Query(f"max(kafka_controller_fenced_brokers{{{IN}}})", "fenced brokers"),
                Query(f"max(kafka_controller_offline_partitions{{{IN}}})", "partitions without a leader"),
                stepped=True,
                decimals=0,
                empty=EMPTY,
            )
        )
        .with_panel(
            graph(
                "Delay of the metadata",
                "The age of the last record that each controller has applied. The leader writes "
                "a record at least every half second, so more than some seconds is a controller that is behind.",
                Query(each("kafka_controller_last_applied_record_lag_seconds"), NODE),
                unit="s",
                empty=EMPTY,
            )
        )
        .with_panel(
            graph(
                "Errors",
                "Errors in the metadata (any one needs a look at the log of that controller), operations that timed "
                "out in the queue, and heartbeats of brokers that came too late.",
                Query(grown("kafka_controller_metadata_errors_total"), f"{NODE} metadata errors"),
                Query(grown("kafka_controller_event_queue_timeouts_total"), f"{NODE} operations timed out"),
                Query(grown("kafka_controller_broker_heartbeat_timeouts_total"), f"{NODE} late heartbeats"),
                bars=True,
                empty="No errors, or no metrics of Kafka",
            )
        )
        .with_panel(
            graph(
                "Age of the latest snapshot",
                "The time since each controller made its last snapshot, or since its start if it made none. By default "
                "one is made every hour. A restart loads the latest snapshot and all records after it.",
                Query(each("kafka_snapshot_age_seconds"), NODE),
                unit="s",
                empty=EMPTY,
            )
        )
        .with_panel(
            graph(
                "Active controllers",
                "How many controllers report to be the active one. 1 is right; 0 for longer than an election: nothing "
                "changes in the metadata.",
                Query(f"sum(kafka_controller_active{{{IN}}})", "active"),
                stepped=True,
                decimals=0,
                empty=EMPTY,
            )
        )
        .with_panel(
            graph(
                "New active controllers",
                "How often each controller saw that another one became the active one.",
                Query(grown("kafka_controller_new_active_controllers_total"), NODE),
                bars=True,
                empty="No change, or no metrics of Kafka",
            )
        )
        .with_panel(
            graph(
                "Heap of the JVM",
                "The heap that each controller uses. Its limit is that of spec.controllers.jvm.",
                Query(f'sum by (node) (jvm_memory_used_bytes{{{IN}, area="heap"}})', NODE),
                unit="bytes",
                empty=EMPTY,
            )
        )
        .with_panel(
            graph(
                "Garbage collection",
                "The share of its time for which the JVM of each controller collects garbage. A long pause looks like "
                "a controller that does not answer.",
                Query(f"sum by (node) (rate(jvm_gc_collection_seconds_sum{{{IN}}}[$__rate_interval]))", NODE),
                unit="percentunit",
                empty=EMPTY,
            )
        )
        .with_panel(
            graph(
                "CPU of the controllers",
                "Cores that each controller uses.",
                Query(f"sum by (node) (rate(process_cpu_seconds_total{{{IN}}}[$__rate_interval]))", NODE),
                unit="short",
                empty=EMPTY,
            )
        )
    )
