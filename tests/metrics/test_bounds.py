"""How many series there can be: no server, object or person decides, beyond the names of resources and the spec."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import get_args

import pytest
from tests import test_hostile_text as hostile
from tests.model.values import at_rest, looks, mirrored, running, view
from tests.status.passes import done
from tests.test_reconcile import KEY, at_work, subscribed

from kafka_quorum.metrics import catalogue as metrics
from kafka_quorum.metrics import quorum
from kafka_quorum.metrics.quorums import QuorumMetrics
from kafka_quorum.model.actions import Action
from kafka_quorum.model.ids import DirectoryID, NodeID, ReplicaKey
from kafka_quorum.model.known import Known
from kafka_quorum.model.operation import UnknownOperation
from kafka_quorum.model.permit import Guard
from kafka_quorum.model.plan import MigrationPlan, Severity, Wait
from kafka_quorum.model.quorum import FinalizedFeature, NodeVersions
from kafka_quorum.status.finding import Pass
from kit.key import ObjectKey
from kit.metrics.conditions import condition_rows
from kit.metrics.metric import Label, Metric
from kit.metrics.series import Row

EVIL = ("x" * 5000, 'a"b\n', "Ready\n", "", "\x00", "metadata.version ", "-1", "999999999999")
SERIES_MAX = 400
"""Three controllers, and every value of every closed label that one pass can have."""


def guards(of: type[Guard] = Guard) -> Iterator[str]:
    """The ids of all guards of the source."""
    for each in of.__subclasses__():
        yield each.id
        yield from guards(each)


def allowed(label: Label, value: str, node_ids: Iterable[int]) -> bool:
    """Whether a label of a quorum may have this value."""
    nodes = {str(node_id) for node_id in node_ids}
    ids = set(guards())
    others = {
        "node": value in nodes,
        "holder": value
        in {"authority", "intermediate", "operator", "brokers", *(f"controller-{id_}" for id_ in nodes)},
        "kafka_version": value == "other" or re.fullmatch(r"\d{1,3}[.]\d{1,3}[.]\d{1,3}", value) is not None,
        "reason": re.fullmatch("[A-Z][A-Za-z]{1,63}", value) is not None,
        "guard": value in ids,
        "rule": value in {each.partition("-")[0] for each in ids},
    }
    return value in label.values if label.values else others.get(label.name, False)


def strange(rows: Iterable[Row], node_ids: Iterable[int]) -> list[tuple[str, str, str]]:
    """The labels whose value is in no closed set."""
    ids = tuple(node_ids)
    return [
        (metric.name, label.name, value)
        for metric, values, _ in rows
        for label, value in zip(metric.labels[2:], values, strict=True)
        if not allowed(label, value, ids)
    ]


def everything_hostile() -> Pass:
    """A pass whose server, status and plan have what no closed set has, thousands of it."""
    record = running()
    ghosts = [ReplicaKey(node_id=NodeID(9000 + n), directory_id=DirectoryID(f"dir-{n}")) for n in range(2000)]
    seen = view([*(node.key for node in record.nodes), *ghosts[:1000]], ghosts[1000:])
    said = NodeVersions(
        supported=(),
        finalized=tuple(FinalizedFeature(name=f"{text}{n}", level=n) for text in EVIL for n in range(500)),
        finalized_epoch=9,
    )
    observed = at_rest(
        quorum=Known(value=seen),
        memory=looks(seen),
        versions=((NodeID(3000), Known(value=said)),),
        registered=Known(value=tuple(NodeID(n) for n in range(5000))),
        status=mirrored(record, open=UnknownOperation(why=EVIL[0], holder=EVIL[1])),
    )
    found = done(observed)
    waits = tuple(Wait(severity=Severity.HELD, reason=f"{text}", message=text) for text in EVIL)
    planned = MigrationPlan(kind=EVIL[1], stage=10**9, stages=-1, name="", sentence="", way_back="")
    return replace(found, plan=replace(found.plan, waits=waits, migration=planned))


def test_a_hostile_quorum_has_as_few_series_as_any() -> None:
    """Thousands of strange voters, features, registrations and waits bring no label that is not in a closed set."""
    of = everything_hostile()
    rows = [*quorum.rows(of), *quorum.held(of)]
    assert of.observed.record is not None
    assert strange(rows, of.observed.record.node_ids) == []
    assert len(rows) < SERIES_MAX
    assert len({(metric, labels) for metric, labels, _ in rows}) == len(rows)


def test_conditions_of_others_are_left_out() -> None:
    """A status that another program wrote brings no condition that the operator does not have."""
    status = {"conditions": [{"type": text, "status": "True"} for text in (*EVIL, "Ready")] + [{"type": "Ready"}]}
    assert [labels for _, labels, _ in condition_rows(metrics.CONDITION, status)] == [("Ready",)]


@pytest.mark.parametrize("name", hostile.ENTRY_POINTS)
async def test_text_of_others_is_no_label(name: str) -> None:
    """Whatever text stands in pods, claims, the record, the status or the spec, every label stays in its closed set."""
    bench = at_work()
    subject = QuorumMetrics(bench.clock, lambda: True)
    put: list[Row] = []
    real = subject.series.put

    def noted(key: ObjectKey, rows: Iterable[Row], outdated: Iterable[Row]) -> None:
        kept = tuple(rows)
        put.extend(kept)
        put.extend(outdated)
        real(key, kept, ())

    subject.series.put = noted  # type: ignore[method-assign]  # every row passes here
    subscribed(bench, subject)
    await bench.run()
    hostile.ENTRY_POINTS[name](bench)
    bench.reconciler.changed(KEY)
    for _ in range(3):
        await bench.run()
    assert put
    assert strange(put, (3000, 3001, 3002)) == []


def test_the_number_of_series_is_known() -> None:
    """A quorum of n controllers has a bounded number of series: closed sets, and seven for each controller."""
    names = {each.__name__ for each in get_args(Action)}
    closed = [metric for metric in metrics.QUORUM if all(label.values for label in metric.labels[2:])]
    assert len(names) < 60
    assert sum(_size(metric) for metric in closed) < 1000
    open_ = {label.name for metric in metrics.QUORUM for label in metric.labels[2:] if not label.values}
    assert open_ == {"kafka_version", "node", "reason", "rule", "guard", "holder"}


def _size(metric: Metric) -> int:
    size = 1
    for label in metric.labels[2:]:
        size *= len(label.values)
    return size
