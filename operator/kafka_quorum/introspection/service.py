"""The read-only look as a whole: its subscribers of passes, and its tasks. Nothing of it is part of a pass."""

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from kafka_quorum.introspection.looks import QuorumLooks
from kafka_quorum.introspection.passes import LastPasses
from kafka_quorum.introspection.questions import PlanQuestions
from kafka_quorum.settings import Settings
from kit.clock import Clock
from kit.kube.client import KubeClient
from kit.leased import leased_kube

if TYPE_CHECKING:
    from kafka_quorum.model.observed import Observed
    from kit.report.report import Subscriber


class Introspection:
    """What an operator that has it switched on runs beside its passes."""

    def __init__(self, kube: KubeClient, clock: Clock, settings: Settings, may_act: Callable[[], bool]) -> None:
        """`may_act` says whether this operator holds the lease: without it, nothing is written."""
        acting = leased_kube(kube, may_act)
        self._kube = kube
        self._namespaces = settings.namespaces or ("",)
        self._passes = LastPasses(clock)
        self._looks = QuorumLooks(acting, clock, may_act)
        self._questions = PlanQuestions(
            acting,
            clock,
            self._passes,
            allowed=settings.pod_exceptions,
            may_act=may_act,
            selector=settings.selector,
        )
        self.subscribers: tuple[Subscriber[Observed], ...] = (self._passes, self._looks)

    def acquired(self) -> None:
        """The lease is held from now on: what is remembered may be out of date."""
        self._passes.clear()
        self._looks.clear()
        self._questions.acquired()

    def tasks(self) -> Iterator[tuple[str, Callable[[], Awaitable[None]]]]:
        """The tasks that must run for ever, with their names."""
        yield "quorum looks", self._looks.keep
        yield "plan questions", self._questions.keep
        for namespace in self._namespaces:
            yield (
                f"watch of plan questions {namespace}".rstrip(),
                partial(self._questions.follow, self._kube, namespace),
            )
