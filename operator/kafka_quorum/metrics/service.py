"""The metrics of an operator as a whole: what fills them, and the server that they are scraped from.

Nothing of it is part of a pass: what fails here is logged, and no pass waits for a scrape.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kafka_quorum.kind import POOLS, QUORUMS
from kafka_quorum.metrics import catalogue as metrics
from kafka_quorum.metrics.quorums import QuorumMetrics
from kafka_quorum.wire.requests.api_versions import CLIENT_SOFTWARE_VERSION
from kit.clock import Clock
from kit.key import ObjectKey
from kit.metrics.conditions import ConditionMetrics
from kit.metrics.library import Gauges, Reading, counter, histogram, registry
from kit.metrics.passes import PassMetrics
from kit.metrics.server import Scrape

if TYPE_CHECKING:
    from kafka_quorum.model.observed import Observed
    from kit.report.report import Subscriber

APPLICATIONS: Final = "KafkaStreamsApplication"
_NO_ANSWER: Final = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """What the process shows of itself at one moment. By kind: how many resources, and the oldest event that waits."""

    acting: bool
    loop_lag_s: float
    resources: Mapping[str, int]
    queue_age_s: Mapping[str, float]


class OperatorMetrics:
    """The metrics of this process, and of the resources that it serves while it holds the lease."""

    def __init__(self, clock: Clock, may_act: Callable[[], bool], vitals: Callable[[], Vitals]) -> None:
        """`may_act` says whether this operator holds the lease. Both are called when metrics are scraped."""
        own = registry()
        self._kube = counter(metrics.KUBE_REQUESTS, own)
        self._kube_seconds = histogram(metrics.KUBE_SECONDS, own)
        self._kafka = counter(metrics.KAFKA_REQUESTS, own)
        self._kafka_seconds = histogram(metrics.KAFKA_SECONDS, own)
        passes, seconds = counter(metrics.PASSES, own), histogram(metrics.PASS_SECONDS, own)
        self._quorums = QuorumMetrics(clock, may_act)
        self._pools = ConditionMetrics(metrics.POOL_CONDITION, metrics.POOL_LAST_LOOK, clock, may_act)
        self._applications = ConditionMetrics(
            metrics.APPLICATION_CONDITION, metrics.APPLICATION_LAST_LOOK, clock, may_act
        )
        gauges = Gauges(_READ, lambda: _readings(vitals()), own)
        of_quorums = PassMetrics(QUORUMS.kind, passes, seconds)
        self._unchanged = of_quorums.unchanged
        self.quorums: tuple[Subscriber[Observed], ...] = (self._quorums, of_quorums)
        """The subscribers of passes over quorums."""
        self.pools: tuple[Subscriber[object], ...] = (self._pools, PassMetrics(POOLS.kind, passes, seconds))
        """The subscribers of passes over pools."""
        self.applications: tuple[Subscriber[object], ...] = (
            self._applications,
            PassMetrics(APPLICATIONS, passes, seconds),
        )
        """The subscribers of passes over Streams applications."""
        self.scrape = Scrape(own, (gauges,), tuple(each.series for each in self._of_resources()))
        """Makes the answers of the server."""

    def unchanged(self, key: ObjectKey) -> None:
        """A pass found nothing new at this quorum, and needed no look."""
        self._unchanged()
        self._quorums.unchanged(key)

    def acquired(self) -> None:
        """The lease is held from now on, and another operator may have acted: what is remembered may be out of date."""
        for each in self._of_resources():
            each.clear()

    def kube_request(self, verb: str, resource: str, status: int | None, seconds: float) -> None:
        """Count a request to the API server."""
        code = _NO_ANSWER if status is None else str(status)
        self._kube.labels(verb, resource, code if code in metrics.CODES else metrics.OTHER).inc()
        self._kube_seconds.labels(verb).observe(seconds)

    def kafka_request(self, request: str, result: str, seconds: float) -> None:
        """Count a request over Kafka's protocol."""
        self._kafka.labels(request, result).inc()
        self._kafka_seconds.observe(seconds)

    def _of_resources(self) -> Iterable[QuorumMetrics | ConditionMetrics]:
        return self._quorums, self._pools, self._applications


_READ: Final = (metrics.LEASE_HELD, metrics.LOOP_LAG, metrics.RESOURCES, metrics.QUEUE_AGE, metrics.BUILD_INFO)


def _readings(vitals: Vitals) -> Iterator[Reading]:
    yield metrics.LEASE_HELD, (), float(vitals.acting)
    yield metrics.LOOP_LAG, (), vitals.loop_lag_s
    for kind, count in vitals.resources.items():
        yield metrics.RESOURCES, (kind,), count
    for kind, age_s in vitals.queue_age_s.items():
        yield metrics.QUEUE_AGE, (kind,), age_s
    yield metrics.BUILD_INFO, (CLIENT_SOFTWARE_VERSION,), 1
