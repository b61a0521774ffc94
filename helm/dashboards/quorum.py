"""The dashboard of one quorum: how it is, what the operator does about it, and what Kafka itself reports."""

from collections.abc import Sequence

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row
from grafana_foundation_sdk.models.dashboard import DynamicConfigValue, ValueMapping
from helm.dashboards import jmx
from helm.dashboards.panels import (
    BLUE,
    FLEET_UID,
    GREEN,
    QUORUM_UID,
    RED,
    TRUE_IS_BAD,
    TRUE_IS_DONE,
    TRUE_IS_GOOD,
    TRUE_IS_NEITHER,
    YELLOW,
    Column,
    Query,
    acts,
    graph,
    happened,
    link_to,
    listing,
    named,
    number,
    timeline,
    variable,
    words,
)

IN = 'namespace="$namespace", quorum="$quorum"'
SILENT = "No operator reports this quorum"
DAY_S = 86400


def value(metric: str, matchers: str = "", by: str = "") -> str:
    """One value, or one for each value of the labels `by`, whichever operator or controller reports it."""
    grouping = f" by ({by})" if by else ""
    return f"max{grouping} ({metric}{{{', '.join(part for part in (IN, matchers) if part)}}})"


def condition(name: str) -> str:
    """A condition: 1, 0 or -1."""
    return value("kafka_quorum_condition", f'condition="{name}"')


def _summary(board: Dashboard) -> Dashboard:
    state = number(
        "State",
        "The conditions that matter most. Available: a leader with a caught-up majority commits metadata now. "
        "Degraded: something is lost or broken. Ready: nothing is left to do. Unknown: no leader answers.",
        Query(condition("Available"), "Available"),
        Query(condition("Degraded"), "Degraded"),
        Query(condition("Ready"), "Ready"),
        width=7,
        mappings=TRUE_IS_GOOD,
        empty=SILENT,
    )
    state = state.override_by_name("Degraded", [_mapped(TRUE_IS_BAD)]).override_by_name(
        "Ready", [_mapped(TRUE_IS_DONE)]
    )
    return (
        board.with_panel(state)
        .with_panel(
            number(
                "Voters",
                "Voters that are live and caught up with the leader; voters of the committed voter set; voters that "
                "the spec requests. The first two are not known while no leader answers.",
                Query(value("kafka_quorum_voters_caught_up"), "caught up"),
                Query(value("kafka_quorum_voters_present"), "present"),
                Query(value("kafka_quorum_voters_wanted"), "wanted"),
                width=6,
                empty=SILENT,
            )
        )
        .with_panel(
            number(
                "May fail",
                "How many voters can fail now without the loss of the majority.",
                Query(value("kafka_quorum_failures_tolerated")),
                width=2,
                steps=((None, RED), (1, GREEN)),
                mappings=words({0: ("None", RED)}),
                empty="Unknown",
            )
        )
        .with_panel(
            number(
                "Leader",
                "The node id of the active controller, and the epoch of its leadership.",
                Query(value("kafka_quorum_leader_id"), "active controller"),
                Query(value("kafka_quorum_leader_epoch"), "epoch"),
                width=5,
                mappings=words({-1: ("None known", RED)}),
                empty="Unknown",
            )
        )
        .with_panel(
            number(
                "Open change",
                "How long the open change of the voter set or of a feature level has been going on. A change that "
                "takes longer than a few minutes waits for something: see the waits.",
                Query(value("kafka_quorum_operation_age_seconds")),
                width=2,
                unit="s",
                steps=((None, BLUE), (300, YELLOW), (1800, RED)),
                empty="None",
            )
        )
        .with_panel(
            number(
                "Last look",
                "The time since the operator looked at this quorum. Offsets at rest are of the last whole look, "
                "which may be five minutes ago.",
                Query(f"time() - {value('kafka_quorum_last_look_timestamp_seconds')}"),
                width=2,
                unit="s",
                steps=((None, GREEN), (60, YELLOW), (300, RED)),
                empty="No look",
            )
        )
        .with_panel(
            timeline(
                "Conditions",
                "The conditions of the resource over time: True, False, or Unknown. `kubectl describe kq` has the "
                "sentence for each one.",
                Query(value("kafka_quorum_condition", by="condition"), "{{condition}}"),
                mappings=TRUE_IS_DONE,
                empty=SILENT,
            )
            .override_by_regexp("Available|CertificatesValid|SpecAccepted", [_mapped(TRUE_IS_GOOD)])
            .override_by_name("Degraded", [_mapped(TRUE_IS_BAD)])
            .override_by_name("Progressing", [_mapped(TRUE_IS_NEITHER)])
        )
        .with_panel(
            timeline(
                "What it waits for",
                "The reasons of all waits, while they last. docs/operations.md says what each one means and what to "
                "do; `kubectl kq explain` has the sentences.",
                Query(value("kafka_quorum_waiting", by="reason"), "{{reason}}"),
                mappings=words({1: ("Waiting", YELLOW)}),
                empty="Nothing waits",
            )
        )
    )


def _mapped(mappings: Sequence[ValueMapping]) -> DynamicConfigValue:
    return DynamicConfigValue(id_val="mappings", value=list(mappings))


def _voters(board: Dashboard) -> Dashboard:
    return (
        board.with_row(Row("Leader and voters"))
        .with_panel(
            graph(
                "Voters over time",
                "Voters that are requested, committed, and caught up, and how many may fail. A gap between the lines "
                "is a change under way, or a voter that is behind.",
                Query(value("kafka_quorum_voters_wanted"), "wanted"),
                Query(value("kafka_quorum_voters_present"), "present"),
                Query(value("kafka_quorum_voters_caught_up"), "caught up"),
                Query(value("kafka_quorum_failures_tolerated"), "may fail"),
                stepped=True,
                decimals=0,
                empty=SILENT,
            )
        )
        .with_panel(
            timeline(
                "Active controller",
                "The node id of the leader over time. A roll changes it once or twice.",
                Query(value("kafka_quorum_leader_id"), "leader"),
                mappings=words({-1: ("None known", RED)}),
                width=8,
                height=7,
                empty=SILENT,
            )
        )
        .with_panel(
            graph(
                "Leader epoch and changes",
                "Each election raises the epoch. Elections without a roll mean that a leader could not hold its "
                "majority: look at the network, and at the pauses of the JVM.",
                Query(
                    happened(f"kafka_quorum_leader_changes_total{{{IN}}}", "quorum"),
                    "changes",
                ),
                Query(value("kafka_quorum_leader_epoch"), "epoch"),
                stepped=True,
                low=None,
                decimals=0,
                empty=SILENT,
            )
        )
        .with_panel(
            graph(
                "Lag of each controller",
                "How many records each controller is behind the leader. A voter with a lag that does not shrink "
                "does not count as caught up.",
                Query(value("kafka_quorum_lag_records", by="node"), "{{node}}"),
                decimals=0,
                empty="No leader answers",
            )
        )
        .with_panel(
            graph(
                "End of the log",
                "The end offset of each controller's log, and the high watermark: up to there, records are committed.",
                Query(value("kafka_quorum_log_end_offset", by="node"), "{{node}}"),
                Query(value("kafka_quorum_high_watermark_offset"), "high watermark"),
                low=None,
                decimals=0,
                empty="No leader answers",
            )
        )
        .with_panel(
            graph(
                "Uncommitted voter change",
                "How long a change of the voter set has not been committed; 0 is none. Longer than five minutes: the "
                "voters that must commit it do not answer.",
                Query(value("kafka_quorum_uncommitted_voter_change_age_seconds"), "age"),
                unit="s",
                steps=((None, GREEN), (300, RED)),
                empty="No leader answers",
            )
        )
    )


def _operator(board: Dashboard) -> Dashboard:
    return (
        board.with_row(Row("What the operator does"))
        .with_panel(
            graph(
                "Open operation",
                "The age of the open change of the voter set or of a feature level.",
                Query(value("kafka_quorum_operation_age_seconds", by="type"), "{{type}}"),
                unit="s",
                empty="No operation was open",
            )
        )
        .with_panel(acts(IN))
        .with_panel(
            graph(
                "Refusals, by rule",
                "How often a guard began to refuse an act, by the rule of docs/safety.md. A refusal that lasts counts "
                "once. `kubectl kq explain` has the sentence of each guard.",
                Query(happened(f"kafka_quorum_refusals_total{{{IN}}}", "rule, guard"), "rule {{rule}}: {{guard}}"),
                bars=True,
                empty="Nothing was refused",
            )
        )
        .with_panel(
            timeline(
                "Controllers in other states than caught up",
                "How many controllers are in each state, such as lagging or lost_node; and how many voters, observers "
                "and registrations the quorum lists that are no controller of it, such as stale_voter or ghost. "
                "docs/metrics.md describes the states.",
                Query(f"""{value("kafka_quorum_controllers", 'state!="caught_up"', "state")} > 0""", "{{state}}"),
                mappings=[],
                steps=((None, YELLOW),),
                width=8,
                height=7,
                empty="All are caught up",
            )
        )
        .with_panel(
            timeline(
                "Held",
                "What a person or a guard holds: a roll, a step of a feature level, a controller, or everything "
                "(paused). It stays until a person acts.",
                Query(value("kafka_quorum_held", by="what"), "{{what}}"),
                mappings=words({1: ("Held", YELLOW)}),
                width=8,
                height=7,
                empty="Nothing was held",
            )
        )
        .with_panel(
            listing(
                "Release and levels",
                "The release in the spec, the mode of the quorum, and the finalized feature levels as Kafka numbers "
                "them. kraft.version 0 is a static quorum.",
                [
                    Query(value("kafka_quorum_feature_level", by="feature")),
                    Query(value("kafka_quorum_info", by="kafka_version, mode")),
                ],
                [
                    Column("kafka_version", "Release"),
                    Column("mode", "Mode"),
                    Column("feature", "Feature"),
                    Column("Value #A", "Level"),
                ],
                sort=("Feature", False),
                width=8,
                empty=SILENT,
            )
        )
    )


def _certificates(board: Dashboard) -> Dashboard:
    return (
        board.with_row(Row("Certificates and migration"))
        .with_panel(
            listing(
                "Certificates",
                "The time until each certificate ends. The operator renews its own in time; those of another issuer "
                "are renewed by that issuer.",
                [Query(f"{value('kafka_quorum_certificate_end_timestamp_seconds', by='holder')} - time()")],
                [
                    Column("holder", "Holder"),
                    Column("Value", "Ends in", unit="s", steps=((None, RED), (7 * DAY_S, YELLOW), (30 * DAY_S, GREEN))),
                ],
                sort=("Ends in", False),
                width=8,
                empty="This quorum has no TLS",
            )
        )
        .with_panel(
            graph(
                "Stage of the migration",
                "The stage of the open migration, and how many it has. docs/migrations.md describes the stages.",
                Query(value("kafka_quorum_migration_stage", by="kind"), "{{kind}}"),
                Query(value("kafka_quorum_migration_stages", by="kind"), "{{kind}}: stages"),
                stepped=True,
                decimals=0,
                empty="No migration was open",
            )
        )
        .with_panel(
            graph(
                "Time in this stage",
                "How long the migration has been in its present stage. It may be parked between two stages for as "
                "long as you like.",
                Query(value("kafka_quorum_migration_stage_age_seconds", by="kind"), "{{kind}}"),
                unit="s",
                empty="No migration was open",
            )
        )
    )


def dashboard() -> Dashboard:
    """The dashboard of one quorum."""
    board = (
        named(
            "Kafka quorums: one quorum",
            QUORUM_UID,
            "One quorum: its conditions, leader and voters, what the operator does, and what Kafka itself reports.",
        )
        .with_variable(
            variable("namespace", "Namespace", "Of the quorum.", "label_values(kafka_quorum_info, namespace)")
        )
        .with_variable(
            variable(
                "quorum",
                "Quorum",
                "The name of the KafkaQuorum.",
                'label_values(kafka_quorum_info{namespace="$namespace"}, quorum)',
            )
        )
        .link(link_to("All quorums", FLEET_UID, "The dashboard of the fleet, with the worst quorum first"))
    )
    for part in (_summary, _voters, _operator, _certificates, jmx.row):
        board = part(board)
    return board
