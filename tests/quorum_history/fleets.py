"""The tables of whole fleets, as `report` reads them: three hundred quorums with every kind of trouble, one, none."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

NOW = datetime(2026, 3, 31, 3, 0, tzinfo=UTC)
DAYS = 30
_DAY_S = 86400.0
_BEGUN = datetime(2026, 3, 2, tzinfo=UTC)

Row = dict[str, Any]
Fleet = dict[str, list[Row]]

HOSTILE = (
    "<script>document.title='taken'</script>",
    '"><img src=x onerror=document.title="taken">',
    "\u202egnp.eciovni\u202c",
    "\u2066\u2067mixed\u2069 \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "a" * 253,
    "x-" * 120 + "end",
    "\u0085\u200b\ufeffzero-width",
    "</style></svg></title></table>&amp;&#60;",
    "日本語の定足数",
)
"""Names that Kubernetes refuses. Tables can hold them, because others can write observations."""


def of(number: int) -> Fleet:
    """A fleet of this many quorums, of which one in ten has some trouble."""
    names = [f"orders-{each:03d}" if each % 3 else f"payments-settlement-{each:03d}" for each in range(number)]
    return _merged([_quorum(each, f"team-{each % 7}", name, DAYS) for each, name in enumerate(names)])


def one() -> Fleet:
    """A single quorum that was observed for a day without trouble."""
    return _quorum(3, "payments", "orders", 2)


def troubled() -> Fleet:
    """A single quorum that has every trouble."""
    return _quorum(60, "payments", "orders", DAYS)


def hostile() -> Fleet:
    """Names of quorums, clusters, features and files that are markup, hide text, or are too long."""
    return _merged([_quorum(10 * place, name, name, 3, feature=name) for place, name in enumerate(HOSTILE)])


def empty() -> Fleet:
    """Tables without a row."""
    return {name: [] for name in of(1)}


def _merged(fleets: Sequence[Mapping[str, list[Row]]]) -> Fleet:
    return {name: [row for fleet in fleets for row in fleet[name]] for name in fleets[0]}


def _quorum(number: int, namespace: str, name: str, days: int, *, feature: str = "metadata.version") -> Fleet:
    """The rows of one quorum; its number decides its troubles."""
    cluster = f"{number:04d}aBcDeFgHiJkLmNoPqRs"[:22]
    ours = {"clusterID": cluster, "namespace": namespace, "name": name}
    bad = number % 10 == 0
    begun = NOW - timedelta(days=days - 1)
    first_day = begun.date()
    availability = [{**ours, "day": first_day + timedelta(days=day), **_day(number, day)} for day in range(days)]
    last_look = NOW - (timedelta(hours=9) if number % 40 == 20 else timedelta(seconds=40))  # fmt: skip
    state = "unavailable" if number % 60 == 0 else "unknown" if number % 60 == 30 else "available"
    outage = begun + timedelta(hours=5)
    tables: Fleet = {
        "last_looks": [{**ours, "looks": 1440 * days, "first_look": begun, "last_look": last_look,
                        "last_known": last_look - timedelta(minutes=20 if state == "unknown" else 0), "state": state,
                        "unknown_reason": "no controller answered" if state == "unknown" else None}],
        "spans": [{**ours, "state": kind, "since": since, "until": until, "seconds": (until - since).total_seconds()}
                  for kind, since, until in _spans(begun, outage, bad=bad)],
        "availability": availability,
        "service_levels": [{**ours, "month": first_day.replace(day=1), "available_s": 2.6e6, "availability": 0.9991,
                            "objective": 0.999, "budget_s": 2592.0, "budget_spent": 3.4 if bad else 0.2,
                            "leader_lost_s": 12.0 if bad else 0.0, "majority_lost_s": 900.0 if bad else 0.0,
                            "roll_s": 30.0 if bad else 0.0, "unknown_cause_s": 0.0,
                            "unknown_s": 0.0}],
        "leader_changes": [{**ours, "leader_changes": 60 if number % 50 == 0 else 2, "known_hours": 24.0 * days,
                            "changes_per_hour": 60 / 24.0 / days if number % 50 == 0 else 2 / 24.0 / days}],
        "lag_percentiles": [{**ours, "node_id": 3000 + node, "role": "voter" if node < 3 else "observer",
                             "p50_lag_records": node, "p95_lag_records": 12 * node * (400 if bad else 1),
                             "p99_lag_records": 40 * node * (900 if bad else 1), "max_lag_records": 400_000 * node,
                             "looks": 1440 * days} for node in range(4)],
        "changes_compared": _changes(ours, outage, bad=bad),
        "lag_drift": [{**ours, "node_id": 3000 + node, "role": "voter" if node < 3 else "observer", "known_days": days,
                       "first_p95_lag_records": 3.0 * node, "last_p95_lag_records": 600.0 * node if bad else 3.0 * node,
                       "drift_lag_records": 597.0 * node if bad else 0.0,
                       "slope_records_per_day": 20.0 * node if bad else 0.0} for node in range(4)],
        "recoveries": [{**ours, "since": outage, "until": outage + timedelta(minutes=15), "recovery_s": 900.0,
                        "unknown_s": 0.0, "cause": "majority lost"}] if bad else [],
        "stale_voters": [{**ours, "node_id": 3002, "directory_id": "Zx3kPq9sRtGvWyBdFhJmLA", "last_live": outage,
                          "as_of": last_look, "stale_s": 4000.0}] if bad else [],
        "upgrade_readiness": [{**ours, "as_of": last_look, "feature": feature, "finalized": 29,
                               "highest_common": 29, "highest_anywhere": 33, "held_back_by": [3001] if bad else [],
                               "unknown_nodes": [], "ready": not bad}],
        "faults": [{"cluster": cluster, "file": _file(name), "position": 71236, "offset": None,
                    "fault": f"{_file(name)}: position 71236: torn-tail: 61 of 120 bytes"}]
        if number % 50 == 0 else [],
        "rejected_lines": [],
        "downgrade_analysed": [{"cluster": cluster, "level": 29, "end_offset": 71236, "faults": int(number % 50 == 0)}],
        "downgrade_losses": [{"cluster": cluster, "target": level, "target_name": f"4.{level - 20}-IV0",
                              "record_type": "PARTITION_RECORD", "effect": "truncate", "what": "directories",
                              "count": 4, "examples": [f"{name}-{part}" for part in range(5)]} for level in (21, 22)],
        "downgrade_verdicts": [{"cluster": cluster, "target": level, "target_name": f"4.{level - 20}-IV0 ({level})",
                                "level": 29, "level_name": "4.2-IV1 (29)", "verdict": verdict, "reason": reason,
                                "losses": 1}
                               for level, verdict, reason in (
                                   (21, "refused", "the format of metadata changed with 4.0-IV1 (23)"),
                                   (22, "refused", "the format of metadata changed with 4.0-IV1 (23)"),
                                   (23, "accepted", "every registered node supports it"),
                                   (24, None, "the log has faults"))],
        "log_readiness": [{"cluster": cluster, "feature": feature, "finalized": 29, "finalized_name": "4.2-IV1 (29)",
                           "highest_common": 29, "highest_common_name": "4.2-IV1 (29)", "highest_anywhere": 33,
                           "highest_anywhere_name": "4.4-IV2 (33)", "brokers": 3, "controllers": 3, "ready": None,
                           "held_back_by": [{"role": "controller", "node_id": 3001}],
                           "unknown_nodes": [{"role": "broker", "node_id": 1}]}],
        "voter_churn": [{"cluster": cluster, "month": first_day.replace(day=1), "added": 4, "removed": 4,
                         "replaced": 4 if bad else 1}],
    }  # fmt: skip
    if state == "unavailable":
        tables["recoveries"].append({**ours, "since": last_look - timedelta(minutes=6), "until": None,
                                     "recovery_s": None, "unknown_s": 0.0, "cause": "leader lost"})  # fmt: skip
    return tables | _log(cluster, begun, outage, feature)


def _changes(ours: Row, outage: datetime, *, bad: bool) -> list[Row]:
    """A roll of which everything is known, and a level step after which nothing is."""
    known = {"unavailable_s": 12.0 if bad else 0.0, "unknown_s": 0.0, "leader_changes": 1, "compared_s": 3600.0,
             "availability_before": 1.0, "availability_after": 0.98 if bad else 1.0, "unknown_before_s": 0.0,
             "unknown_after_s": 0.0, "p95_lag_before_records": 5, "p95_lag_after_records": 12_000 if bad else 5,
             "leader_changes_before": 0, "leader_changes_after": 2 if bad else 0}  # fmt: skip
    unknown = known | {"availability_after": None, "unknown_after_s": 3600.0, "p95_lag_after_records": None,
                       "leader_changes_after": None}  # fmt: skip
    roll, step = outage + timedelta(hours=6), outage + timedelta(hours=9)
    return [{**ours, "kind": "roll", "before": "4.3.1", "after": "4.4.0", "since": roll,
             "until": roll + timedelta(minutes=7), "seconds": 420.0, **known},
            {**ours, "kind": "level step", "before": "metadata.version 25", "after": "metadata.version 29",
             "since": step, "until": step + timedelta(minutes=1), "seconds": 60.0, **unknown}]  # fmt: skip


def _file(name: str) -> str:
    return f"/backups/{name}/kafka/__cluster_metadata-0/00000000000000000000.log"


def _log(cluster: str, begun: datetime, outage: datetime, feature: str) -> Fleet:
    base = {"cluster": cluster, "kind": "segment", "leader_epoch": 1}
    disks = [(node, f"{node}aDiskOfAController"[:22]) for node in (3000, 3001, 3002)]
    voters = [{"node_id": node, "directory_id": disk, "endpoints": []} for node, disk in disks]
    elections = [begun, outage, outage + timedelta(minutes=20), outage + timedelta(hours=6)]
    return {
        "voter_sets": [{**base, "kind": "checkpoint", "offset": 2, "timestamp": begun, "voters": voters},
                       {**base, "offset": 99, "timestamp": outage, "voters": voters[:2]},
                       {**base, "offset": 120, "timestamp": outage + timedelta(hours=1), "voters": voters}],
        "voter_changes": [{**base, "offset": 99, "timestamp": outage, "change": "removed", "node_id": 3002,
                           "directory_id": disks[2][1], "previous_directory_id": None}],
        "leaders": [{"cluster": cluster, "leader_epoch": 7 + place, "leader_id": 3000 + place % 2,
                     "start_offset": 90 * place, "end_offset": None if until is None else 90 * place + 90,
                     "since": since, "until": until, "voters": [3000, 3001, 3002], "granting_voters": [3000, 3001]}
                    for place, (since, until) in enumerate(zip(elections, [*elections[1:], None], strict=True))],
        "feature_levels": [{**base, "offset": 3 + place, "timestamp": time, "feature": kind, "level": level,
                            "previous_level": None}
                           for place, (time, kind, level) in enumerate(
                               ((begun, feature, 25), (outage, feature, 29), (begun, "kraft.version", 1)))],
    }  # fmt: skip


def _spans(begun: datetime, outage: datetime, *, bad: bool) -> Iterator[tuple[str, datetime, datetime]]:
    if not bad:
        yield "available", begun, NOW
        return
    back = outage + timedelta(minutes=15)
    yield "available", begun, outage
    yield "unavailable", outage, back
    yield "available", back, back + timedelta(hours=2)
    yield "unknown", back + timedelta(hours=2), back + timedelta(hours=5)
    yield "available", back + timedelta(hours=5), NOW


def _day(number: int, day: int) -> Row:
    """The state of one day: mostly fine, with every kind of trouble somewhere in the fleet."""
    lost = {0: 900.0, 1: 40.0, 2: 7000.0}.get((number + day) % 37 if number % 10 == 0 else 9, 0.0)
    unknown = 50_000.0 if (number * 7 + day) % 113 == 0 else 0.0
    available = _DAY_S - lost - unknown
    return {"available_s": available, "unavailable_s": lost, "unknown_s": unknown,
            "availability": available / (available + lost)}  # fmt: skip
