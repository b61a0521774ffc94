"""The dashboard of the fleet: which quorum needs a person, and how the operator itself is."""

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row
from grafana_foundation_sdk.builders.table import Panel as Table
from helm.dashboards.panels import (
    FLEET_UID,
    GREEN,
    ORANGE,
    QUORUM_UID,
    RED,
    TRUE_IS_BAD,
    TRUE_IS_DONE,
    TRUE_IS_GOOD,
    YELLOW,
    Column,
    Query,
    acts,
    counts,
    graph,
    happened,
    listing,
    missing,
    named,
    number,
    variable,
    words,
)

QUORUM = "namespace, quorum"
IN = 'namespace=~"$namespace"'
ONE_QUORUM = (
    f"/d/{QUORUM_UID}?${{datasource:queryparam}}&var-namespace=${{__data.fields.Namespace}}"
    "&var-quorum=${__data.fields.Quorum}&${__url_time_range}"
)
NAMES = (Column("namespace", "Namespace"), Column("quorum", "Quorum", link=ONE_QUORUM))
SILENT = "No operator reports"
BAD_IF_ANY = ((None, GREEN), (1, RED))
LOOK_AT_IF_ANY = ((None, GREEN), (1, YELLOW))
DAY_S = 86400
TROUBLE = words(
    {
        6: ("6 not available", RED),
        5: ("5 no answer", RED),
        4: ("4 degraded", ORANGE),
        3: ("3 certificates", ORANGE),
        2: ("2 not ready", YELLOW),
        1: ("1 held", YELLOW),
        0: ("0 fine", GREEN),
    }
)


def of_each(metric: str, matchers: str = "", by: str = QUORUM) -> str:
    """One value for each quorum, whichever operator reports it."""
    return f"max by ({by}) ({metric}{{{', '.join(part for part in (IN, matchers) if part)}}})"


def condition(name: str) -> str:
    """A condition of each quorum: 1, 0 or -1."""
    return of_each("kafka_quorum_condition", f'condition="{name}"')


def with_any(metric: str) -> str:
    """How many quorums have a series of this metric, which a quorum has only at times; 0 is not "no data"."""
    return f"sum(clamp_max({of_each(metric)}, 1) or 0 * {of_each('kafka_quorum_info')})"


def trouble() -> str:
    """How bad the state of each quorum is: a key of `TROUBLE`."""
    available, degraded, certificates, ready = (
        f'kafka_quorum_condition{{{IN}, condition="{name}"}}'
        for name in ("Available", "Degraded", "CertificatesValid", "Ready")
    )
    return f"""max by ({QUORUM}) (
        6 * ({available} == bool 0) + 5 * ({available} == bool -1)
        or 4 * ({degraded} == bool 1) or 3 * ({certificates} == bool 0) or 2 * ({ready} != bool 1)
        or clamp_max(kafka_quorum_held{{{IN}}}, 1))"""


def _summary(board: Dashboard) -> Dashboard:
    return (
        board.with_panel(
            number(
                "Not available",
                "Quorums whose controllers have no leader with a caught-up majority (False), or did not answer "
                "(Unknown). Metadata cannot change there. Begin with the first row of the table, and with "
                "`kubectl kq explain`.",
                Query(f"sum({condition('Available')} == bool 0)", "no majority"),
                Query(f"sum({condition('Available')} == bool -1)", "no answer"),
                width=4,
                steps=BAD_IF_ANY,
                empty=SILENT,
            )
        )
        .with_panel(
            number(
                "Degraded",
                "Quorums in which something is lost or broken. The condition Degraded of the resource names it.",
                Query(f"sum({condition('Degraded')} == bool 1)"),
                width=3,
                steps=BAD_IF_ANY,
                empty=SILENT,
            )
        )
        .with_panel(
            number(
                "No failure tolerated",
                "Quorums that lose their majority with the next voter that fails. During a roll this is normal for "
                "some seconds. A quorum of one or two voters is always among them.",
                Query(f"sum({of_each('kafka_quorum_failures_tolerated')} < bool 1)"),
                width=3,
                steps=BAD_IF_ANY,
                empty=SILENT,
            )
        )
        .with_panel(
            number(
                "Waiting",
                "Quorums for which the operator waits for something. Waiting is normal during a change; the reasons "
                "are further down.",
                Query(with_any("kafka_quorum_waiting")),
                width=3,
                steps=LOOK_AT_IF_ANY,
                empty=SILENT,
            )
        )
        .with_panel(
            number(
                "Held",
                "Quorums in which a person or a guard holds something: a roll, a step of a feature level, a "
                "controller, or everything (paused). What is held stays until a person acts.",
                Query(with_any("kafka_quorum_held")),
                width=3,
                steps=LOOK_AT_IF_ANY,
                empty=SILENT,
            )
        )
        .with_panel(
            number(
                "Ready",
                "Quorums whose condition Ready is True, and all quorums that the operator reports.",
                Query(f"sum({condition('Ready')} == bool 1)", "ready"),
                Query(f"count({condition('Ready')})", "of all"),
                width=4,
                empty=SILENT,
            )
        )
        .with_panel(
            number(
                "Acting",
                "How many operators hold a lease, and act. Without one, nothing is repaired and nothing is renewed; "
                "quorums and brokers go on serving, because they do not need the operator for that.",
                Query("sum(kafka_quorum_operator_lease_held)"),
                width=2,
                steps=((None, RED), (1, GREEN)),
                mappings=words({0: ("None", RED)}),
                empty="Silent",
            )
        )
        .with_panel(
            number(
                "Oldest look",
                "The time since the last look at the quorum that was looked at least recently. The values of this "
                "dashboard are as old as that.",
                Query(f"max(time() - {of_each('kafka_quorum_last_look_timestamp_seconds')})"),
                width=2,
                unit="s",
                steps=((None, GREEN), (60, YELLOW), (300, RED)),
                empty=SILENT,
            )
        )
        .with_panel(_all_quorums())
    )


def _all_quorums() -> Table:
    return listing(
        "Quorums, the worst first",
        "One row for each quorum. Trouble is the worst of: 6 no leader with a majority, 5 no answer, 4 something lost "
        "or broken, 3 certificates that ended or end soon, 2 not ready, 1 held, 0 nothing. Click on a quorum for its "
        "own dashboard. `kubectl kq explain -n NAMESPACE QUORUM` says what it waits for, and what would change that.",
        [
            Query(trouble()),
            Query(condition("Ready")),
            Query(condition("Available")),
            Query(condition("Degraded")),
            Query(of_each("kafka_quorum_voters_caught_up")),
            Query(of_each("kafka_quorum_voters_wanted")),
            Query(of_each("kafka_quorum_failures_tolerated")),
            Query(of_each("kafka_quorum_lag_records")),
            Query(f"count by ({QUORUM}) ({of_each('kafka_quorum_waiting', by=f'{QUORUM}, reason')})"),
            Query(f"min by ({QUORUM}) (kafka_quorum_certificate_end_timestamp_seconds{{{IN}}}) - time()"),
            Query(of_each("kafka_quorum_info", by=f"{QUORUM}, kafka_version, mode")),
        ],
        [
            Column("Value #A", "Trouble", mappings=TROUBLE, width=140),
            *NAMES,
            Column("Value #B", "Ready", mappings=TRUE_IS_DONE),
            Column("Value #C", "Available", mappings=TRUE_IS_GOOD),
            Column("Value #D", "Degraded", mappings=TRUE_IS_BAD),
            Column("Value #E", "Caught up"),
            Column("Value #F", "Wanted"),
            Column("Value #G", "May fail", steps=((None, RED), (1, GREEN))),
            Column("Value #H", "Largest lag"),
            Column("Value #I", "Waits", mappings=[missing("none")]),
            Column(
                "Value #J",
                "Certificates end in",
                unit="s",
                steps=((None, RED), (7 * DAY_S, YELLOW), (30 * DAY_S, GREEN)),
                mappings=[missing("no TLS")],
            ),
            Column("kafka_version", "Release"),
            Column("mode", "Mode"),
        ],
        sort=("Trouble", True),
        empty=SILENT,
        height=10,
    )


def _under_way(board: Dashboard) -> Dashboard:
    return (
        board.with_row(Row("Under way, waiting and held"))
        .with_panel(
            counts(
                "Quorums that wait, by reason",
                "How many quorums have each wait now. What a reason means, and what to do, is in docs/operations.md.",
                Query(f"count by (reason) ({of_each('kafka_quorum_waiting', by=f'{QUORUM}, reason')})", "{{reason}}"),
                empty="Nothing waits",
            )
        )
        .with_panel(
            listing(
                "What is held",
                "What a person or a guard holds, and where. It stays until a person acts.",
                [Query(of_each("kafka_quorum_held", by=f"{QUORUM}, what"))],
                [*NAMES, Column("what", "What")],
                sort=("Namespace", False),
                empty="Nothing is held",
                width=8,
            )
        )
        .with_panel(
            listing(
                "Migrations",
                "Migrations that are open: the stage, of how many, and the time in this stage. A migration may be "
                "parked between two stages for as long as you like.",
                [
                    Query(of_each("kafka_quorum_migration_stage", by=f"{QUORUM}, kind")),
                    Query(of_each("kafka_quorum_migration_stages", by=f"{QUORUM}, kind")),
                    Query(of_each("kafka_quorum_migration_stage_age_seconds", by=f"{QUORUM}, kind")),
                ],
                [
                    *NAMES,
                    Column("kind", "Kind"),
                    Column("Value #A", "Stage"),
                    Column("Value #B", "Of"),
                    Column("Value #C", "For", unit="s"),
                ],
                sort=("For", True),
                empty="No migration is open",
                width=8,
            )
        )
        .with_panel(
            listing(
                "Open operations",
                "Changes of a voter set or of a feature level that have begun and are not complete, the oldest first.",
                [Query(of_each("kafka_quorum_operation_age_seconds", by=f"{QUORUM}, type"))],
                [*NAMES, Column("type", "Operation"), Column("Value", "For", unit="s")],
                sort=("For", True),
                empty="No operation is open",
                width=8,
            )
        )
        .with_panel(acts(IN))
        .with_panel(
            graph(
                "Refusals, by rule",
                "How often a guard began to refuse an act, by the rule of docs/safety.md. A refusal that lasts counts "
                "once.",
                Query(happened(f"kafka_quorum_refusals_total{{{IN}}}", "rule"), "rule {{rule}}"),
                bars=True,
                empty="Nothing was refused",
            )
        )
        .with_panel(
            graph(
                "Quorums in trouble",
                "How many quorums were in each state over time.",
                Query(f"sum({condition('Available')} != bool 1)", "not available, or no answer"),
                Query(f"sum({condition('Degraded')} == bool 1)", "degraded"),
                Query(f"sum({condition('Ready')} != bool 1)", "not ready"),
                width=12,
                stepped=True,
                decimals=0,
                empty=SILENT,
            )
        )
        .with_panel(
            graph(
                "Leader changes",
                "The ten quorums with the most changes of the leader. Each roll has one or two; more without a roll "
                "mean that leaders cannot hold their majority.",
                Query(
                    f"topk(10, {happened(f'kafka_quorum_leader_changes_total{{{IN}}}', QUORUM)})",
                    "{{namespace}}/{{quorum}}",
                ),
                width=12,
                bars=True,
                empty="No leader changed",
            )
        )
    )


def _others(board: Dashboard) -> Dashboard:
    return (
        board.with_row(Row("Broker pools and Streams applications"))
        .with_panel(
            listing(
                "Broker pools",
                "The conditions of each KafkaBrokerPool; one that is not available comes first. "
                "`kubectl describe kbp` has the sentences.",
                [
                    Query(of_each("kafka_broker_pool_condition", f'condition="{name}"', by="namespace, pool"))
                    for name in ("Available", "Degraded", "Ready")
                ],
                [
                    Column("namespace", "Namespace"),
                    Column("pool", "Pool"),
                    Column("Value #A", "Available", mappings=TRUE_IS_GOOD),
                    Column("Value #B", "Degraded", mappings=TRUE_IS_BAD),
                    Column("Value #C", "Ready", mappings=TRUE_IS_DONE),
                ],
                sort=("Available", False),
                width=12,
                empty="No pool is reported",
            )
        )
        .with_panel(
            listing(
                "Streams applications",
                "The conditions of each KafkaStreamsApplication; one that is degraded comes first.",
                [
                    Query(
                        of_each(
                            "kafka_streams_application_condition", f'condition="{name}"', by="namespace, application"
                        )
                    )
                    for name in ("Degraded", "Ready")
                ],
                [
                    Column("namespace", "Namespace"),
                    Column("application", "Application"),
                    Column("Value #A", "Degraded", mappings=TRUE_IS_BAD),
                    Column("Value #B", "Ready", mappings=TRUE_IS_DONE),
                ],
                sort=("Degraded", True),
                width=12,
                empty="No application is reported",
            )
        )
    )


def _versions(board: Dashboard) -> Dashboard:
    return (
        board.with_row(Row("Versions and certificates"))
        .with_panel(
            counts(
                "Quorums by release of Kafka",
                "The release in the spec of each quorum.",
                Query(
                    f"count by (kafka_version) ({of_each('kafka_quorum_info', by=f'{QUORUM}, kafka_version')})",
                    "{{kafka_version}}",
                ),
                width=6,
                empty=SILENT,
            )
        )
        .with_panel(
            counts(
                "Quorums by feature level",
                "The finalized levels, as Kafka numbers them. metadata.version 33 is 4.4-IV2; kraft.version 0 is a "
                "static quorum.",
                Query(
                    'count_values by (feature) ("level", '
                    f"{of_each('kafka_quorum_feature_level', by=f'{QUORUM}, feature')})",
                    "{{feature}} {{level}}",
                ),
                width=6,
                empty="No leader has reported its levels",
            )
        )
        .with_panel(
            listing(
                "Certificates that end first",
                "The twenty certificates with the least time left. The operator renews its own in time; those of "
                "another issuer are renewed by that issuer.",
                [
                    Query(
                        "bottomk(20, min by (namespace, quorum, holder) "
                        f"(kafka_quorum_certificate_end_timestamp_seconds{{{IN}}}) - time())"
                    )
                ],
                [
                    *NAMES,
                    Column("holder", "Holder"),
                    Column("Value", "Ends in", unit="s", steps=((None, RED), (7 * DAY_S, YELLOW), (30 * DAY_S, GREEN))),
                ],
                sort=("Ends in", False),
                empty="No quorum has TLS",
                width=12,
            )
        )
    )


def _operator(board: Dashboard) -> Dashboard:
    ours = "and on (job, instance) kafka_quorum_operator_build_info"
    return (
        board.with_row(Row("The operator itself"))
        .with_panel(
            graph(
                "Passes",
                "How many passes over resources end each second, by kind of resource and result.",
                Query(
                    "sum by (kind, result) (rate(kafka_quorum_operator_passes_total[$__rate_interval]))",
                    "{{kind}}: {{result}}",
                ),
                unit="cps",
                empty=SILENT,
            )
        )
        .with_panel(
            graph(
                "Time of a pass",
                "How long passes take: half of them at most, and 99 of 100 at most.",
                *(
                    Query(
                        f"histogram_quantile({share}, sum by (kind, le) "
                        "(rate(kafka_quorum_operator_pass_seconds_bucket[$__rate_interval])))",
                        f"{{{{kind}}}}: {name}",
                    )
                    for share, name in ((0.5, "p50"), (0.99, "p99"))
                ),
                unit="s",
                empty="No pass has ended",
            )
        )
        .with_panel(
            graph(
                "Oldest wake that waits",
                "How long the oldest event of a watch has waited for a pass over its resource. If this grows, the "
                "operator has too much to do.",
                Query("max by (kind) (kafka_quorum_operator_queue_age_seconds)", "{{kind}}"),
                unit="s",
                empty=SILENT,
            )
        )
        .with_panel(
            graph(
                "Requests to the API server",
                "Requests each second, by verb and resource; the ten most frequent.",
                Query(
                    "topk(10, sum by (verb, resource) "
                    "(rate(kafka_quorum_operator_kube_requests_total[$__rate_interval])))",
                    "{{verb}} {{resource}}",
                ),
                unit="reqps",
                empty=SILENT,
            )
        )
        .with_panel(
            graph(
                "API server: errors and time",
                "Requests that failed each second, by code; and the time that 99 of 100 requests take at most. "
                "Code 409 is a write that another one overtook: it is made again.",
                Query(
                    "sum by (code) "
                    '(rate(kafka_quorum_operator_kube_requests_total{code!~"2.."}[$__rate_interval])) > 0',
                    "{{code}} each second",
                ),
                Query(
                    "histogram_quantile(0.99, sum by (le) "
                    "(rate(kafka_quorum_operator_kube_request_seconds_bucket[$__rate_interval])))",
                    "p99, seconds",
                ),
                empty=SILENT,
            )
        )
        .with_panel(
            graph(
                "Requests to Kafka",
                "Requests each second, by result. Some fail whenever controllers restart.",
                Query(
                    "sum by (result) (rate(kafka_quorum_operator_kafka_requests_total[$__rate_interval]))",
                    "{{result}}",
                ),
                unit="reqps",
                empty="No controller was asked",
            )
        )
        .with_panel(
            graph(
                "Time of a request to Kafka",
                "How long requests take: half of them at most, and 99 of 100 at most.",
                *(
                    Query(
                        f"histogram_quantile({share}, sum by (le) "
                        "(rate(kafka_quorum_operator_kafka_request_seconds_bucket[$__rate_interval])))",
                        name,
                    )
                    for share, name in ((0.5, "p50"), (0.99, "p99"))
                ),
                unit="s",
                empty="No controller was asked",
            )
        )
        .with_panel(
            graph(
                "Lease and event loop",
                "Which pod holds the lease (1), and the longest time in the last minute or two for which one task kept "
                "its event loop busy. More than a second delays everything that the operator does.",
                Query("max by (pod, instance) (kafka_quorum_operator_lease_held)", "{{pod}} has the lease"),
                Query("max by (pod, instance) (kafka_quorum_operator_event_loop_lag_seconds)", "{{pod}} lag, seconds"),
                empty="Silent",
            )
        )
        .with_panel(
            graph(
                "Resources",
                "How many resources of each kind the operator serves.",
                Query("sum by (kind) (max by (kind, job) (kafka_quorum_operator_resources))", "{{kind}}"),
                decimals=0,
                empty=SILENT,
            )
        )
        .with_panel(
            graph(
                "Memory",
                "Resident memory of each operator pod.",
                Query(f"max by (pod, instance) (process_resident_memory_bytes {ours})", "{{pod}}"),
                unit="bytes",
                empty=SILENT,
            )
        )
        .with_panel(
            graph(
                "CPU",
                "Cores that each operator pod uses.",
                Query(
                    f"max by (pod, instance) (rate(process_cpu_seconds_total[$__rate_interval]) {ours})",
                    "{{pod}}",
                ),
                unit="short",
                empty=SILENT,
            )
        )
        .with_panel(
            counts(
                "Operators by version",
                "The pods of the operator that report, by version. One of them holds the lease, the others stand by.",
                Query("count by (version) (kafka_quorum_operator_build_info)", "{{version}}"),
                empty=SILENT,
            )
        )
    )


def dashboard() -> Dashboard:
    """The dashboard of all quorums."""
    board = named(
        "Kafka quorums: fleet",
        FLEET_UID,
        "All quorums that the operator serves, the worst first, and the operator itself.",
    ).with_variable(
        variable(
            "namespace",
            "Namespace",
            "Of the quorums. The row about the operator does not depend on it.",
            "label_values(kafka_quorum_info, namespace)",
        )
        .multi(multi=True)
        .include_all(include_all=True)
        .all_value(".*")
    )
    for part in (_summary, _under_way, _versions, _others, _operator):
        board = part(board)
    return board
