"""The metrics of the process: one scrape has every metric of the catalogue, and requests have bounded labels."""

import pytest
from tests.clocks import MovingClock
from tests.kit.metrics.scraped import Samples, of, samples
from tests.metrics.test_quorums import World, led
from tests.model.values import nothing
from tests.status.passes import done
from tests.test_reconcile import KEY

from kafka_brokers.kind import POOLS
from kafka_quorum.kind import QUORUMS
from kafka_quorum.metrics import catalogue as metrics
from kafka_quorum.metrics import service
from kafka_quorum.metrics.service import OperatorMetrics, Vitals
from kafka_quorum.wire.requests.api_versions import CLIENT_SOFTWARE_VERSION
from kafka_quorum.wire.requests.table import ALL
from kafka_quorum.wire.sending import RESULTS
from kafka_streams.kind import APPLICATIONS
from kit.metrics.metric import Type
from kit.metrics.passes import RESULTS as PASS_RESULTS
from kit.report.report import PassReport

KINDS = (QUORUMS.kind, POOLS.kind, APPLICATIONS.kind)
WELL = Vitals(
    acting=True,
    loop_lag_s=0.25,
    resources=dict.fromkeys(KINDS, 2),
    queue_age_s={**dict.fromkeys(KINDS, 0.0), KINDS[0]: 3.0},
)


def operator(vitals: Vitals = WELL) -> OperatorMetrics:
    """The metrics of an operator in this state."""
    return OperatorMetrics(MovingClock(), lambda: vitals.acting, lambda: vitals)


async def scraped(of_operator: OperatorMetrics) -> Samples:
    """What Prometheus gets from it."""
    answer = await of_operator.scrape.answer("application/openmetrics-text;version=1.0.0")
    return samples(answer.text.decode(), openmetrics=True)


async def reported(to: OperatorMetrics) -> None:
    """A pass over a quorum, a pool and an application each, and a request of each sort."""
    quorums = World()
    await quorums.saw(done(nothing()))
    taken: list[PassReport[object]] = []

    async def note(report: PassReport[object]) -> None:
        taken.append(report)

    quorums.metrics.take = note  # type: ignore[method-assign]  # the report itself is wanted
    await quorums.saw(led(3))
    for each in to.quorums:
        await each.take(taken[0])  # type: ignore[arg-type]  # it is one of a quorum
    resource = {"metadata": {"name": "a", "namespace": "ns"}}
    status = {"conditions": [{"type": "Ready", "status": "True"}]}
    for each in (*to.pools, *to.applications):
        await each.take(PassReport(key=KEY, resource=resource, status=status, took_s=1.0))
    to.kube_request("get", "pods", 200, 0.01)
    to.kafka_request("DescribeQuorum", "answered", 0.01)


async def test_a_scrape_has_what_the_catalogue_says() -> None:
    """Every metric of the process is there, with its labels; so are conditions of pools and applications."""
    subject = operator()
    await reported(subject)
    found = await scraped(subject)
    for metric in (*metrics.OPERATOR, *metrics.OTHERS):
        name = f"{metric.name}_count" if metric.type is Type.HISTOGRAM else metric.name
        labels = [{name for name, _ in has} for each, has in found if each == name]
        assert labels, metric.name
        assert all(each == set(metric.label_names) for each in labels), metric.name
    known = {metric.name for metric in metrics.ALL}
    ours = {name.removesuffix("_bucket").removesuffix("_count").removesuffix("_sum") for name, _ in found}
    assert {name for name in ours if name.startswith("kafka_")} <= known
    assert of(found, "process_resident_memory_bytes")
    assert of(found, "python_info")


async def test_the_process_shows_its_state() -> None:
    """Lease, lag, queue, resources and version are those of the moment of the scrape."""
    found = await scraped(operator())
    assert of(found, "kafka_quorum_operator_lease_held") == [1.0]
    assert of(found, "kafka_quorum_operator_event_loop_lag_seconds") == [0.25]
    assert of(found, "kafka_quorum_operator_queue_age_seconds", kind=KINDS[0]) == [3.0]
    assert of(found, "kafka_quorum_operator_resources") == [2.0] * 3
    assert of(found, "kafka_quorum_operator_build_info", version=CLIENT_SOFTWARE_VERSION) == [1.0]
    assert of(found, "kafka_quorum_operator_passes_total") == [0.0] * 18
    standby = await scraped(operator(Vitals(acting=False, loop_lag_s=0.0, resources={}, queue_age_s={})))
    assert of(standby, "kafka_quorum_operator_lease_held") == [0.0]


async def test_a_standby_shows_no_resource() -> None:
    """Without the lease a scrape has the process, and no series of a quorum, a pool or an application."""
    held = [True]
    subject = OperatorMetrics(MovingClock(), lambda: held[0], lambda: WELL)
    await reported(subject)
    before = await scraped(subject)
    assert of(before, "kafka_quorum_leader_epoch") == [3.0]
    subject.scrape._last.clear()
    held[0] = False
    after = await scraped(subject)
    assert {name for name, labels in after if dict(labels).get("namespace")} == set()
    subject.scrape._last.clear()
    held[0] = True
    subject.acquired()
    assert {name for name, labels in await scraped(subject) if dict(labels).get("namespace")} == set()


@pytest.mark.parametrize(
    ("status", "code"), [(200, "200"), (409, "409"), (None, "none"), (299, "other"), (999, "other"), (-1, "other")]
)
async def test_codes_are_a_closed_set(status: int | None, code: str) -> None:
    """A status that servers do not usually send is `other`, and no answer is `none`."""
    subject = operator()
    subject.kube_request("get", "pods", status, 0.1)
    found = await scraped(subject)
    assert of(found, "kafka_quorum_operator_kube_requests_total", verb="get", resource="pods", code=code) == [1.0]
    assert len(of(found, "kafka_quorum_operator_kube_requests_total")) == 1
    assert of(found, "kafka_quorum_operator_kube_request_seconds_count", verb="get") == [1.0]


def test_the_catalogue_has_the_words_of_the_source() -> None:
    """Kinds, results of passes and results of requests are those that the source counts."""
    assert set(metrics.PASS_RESULTS) == set(PASS_RESULTS)
    assert set(metrics.REQUEST_RESULTS) == set(RESULTS)
    kinds = {value for label in metrics.PASSES.labels if label.name == "kind" for value in label.values}
    assert kinds == set(KINDS)
    assert APPLICATIONS.kind == service.APPLICATIONS
    assert len({api.name for api in ALL}) < 40
