"""The two edges of an operator in the simulation: its calls are counted, struck by faults, and told to the rules.

An operator is one incarnation. Once it has crashed, none of its calls has any effect any more, whatever of its code is
still on the stack: `CrashedError` is no `Exception`, so that nothing in the operator can catch it by accident.
"""

import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from tests.simulation.faults import DELAY_STEPS, LONG_STEPS, Call, Injection, Strike
from tests.simulation.happened import AddSent, ClaimDeleted, Created, Happened, PodDeleted, RemoveSent
from tests.simulation.kraft_api import ModelControllers, unreachable
from tests.simulation.kraft_model import Process
from tests.simulation.world import World

from kafka_quorum.errors import KafkaError, KubeError, KubeUnavailable
from kafka_quorum.kube.protocol import CLAIMS, PODS, Json, ResourceType
from kafka_quorum.model.quorum import AddVoter, ClusterAnswer, Endpoint, NodeVersions, QuorumAnswer, RemoveVoter
from kafka_quorum.wire import codec
from kafka_quorum.wire.codec import Api

T = TypeVar("T")


class CrashedError(BaseException):
    """The operator's process is gone."""


@dataclass(slots=True, kw_only=True)
class Wire:
    """What an operator's calls go through. It outlives the operator: calls are numbered over all incarnations."""

    world: World
    injection: Injection | None = None
    calls: list[Call] = field(default_factory=list)
    fresh_pass: bool = True
    """Set by whoever begins a pass: the next call is its first."""
    struck: bool = False

    def strike(self, call: Call) -> Strike | None:
        """Count a call, and say what happens to it."""
        self.calls.append(replace(call, first=self.fresh_pass))
        self.fresh_pass = False
        injected = self.injection
        if injected is None or self.struck or len(self.calls) - 1 != injected.call:
            return None
        self.struck = True
        return injected.strike


@dataclass(slots=True, kw_only=True)
class Life:
    """Whether an incarnation still lives, and what it reaches. `gate` is what each of its calls has to pass first."""

    crashed: bool = False
    gate: Callable[[], Awaitable[None]] | None = None
    unreached: set[str] = field(default_factory=set)
    """`kube`, `kafka` or both, where it is cut off."""

    async def turn(self) -> None:
        """Wait until it is this incarnation's turn."""
        if self.gate is not None:
            await self.gate()

    def check(self) -> None:
        """End whatever a dead operator still tries."""
        if self.crashed:
            raise CrashedError

    def crash(self) -> CrashedError:
        """The end."""
        self.crashed = True
        return CrashedError()


class Edge:
    """What both edges have in common: the course of one call."""

    side = ""

    def __init__(self, wire: Wire, life: Life) -> None:
        """One incarnation's edge."""
        self._wire = wire
        self._life = life
        self._world = wire.world

    def _course(
        self,
        call: Call,
        act: Callable[[], T],
        *,
        failure: Callable[[], Exception],
        stale: Callable[[], T] | None = None,
        touch: Callable[[], None] | None = None,
        stalled: Callable[[], T] | None = None,
    ) -> T:
        """Make the call, or let happen to it what is injected there."""
        self._life.check()
        if self.side in self._life.unreached:
            self._wire.strike(call)
            raise failure()
        act = partial(self._marked, act)
        match self._wire.strike(call):
            case Strike.CRASH_BEFORE:
                raise self._life.crash()
            case Strike.CRASH_AFTER:
                _attempt(act)
                raise self._life.crash()
            case Strike.SLOW:
                return self._slowly(act)
            case Strike.STALE if stale is not None:
                return stale()
            case Strike.CONFLICT if touch is not None:
                touch()
            case Strike.APPENDED if stalled is not None:
                return stalled()
            case Strike.DOUBLED:
                self._world.later(DELAY_STEPS, lambda: _attempt(act))
            case None:
                pass
            case strike:
                self._without_answer(strike, act)
                raise failure()
        return act()

    def _without_answer(self, strike: Strike, act: Callable[[], object]) -> None:
        """The operator hears that the call failed; it has its effect now, later, or never."""
        match strike:
            case Strike.LOST_ANSWER:
                _attempt(act)
            case Strike.LATE_EFFECT:
                self._world.later(DELAY_STEPS, lambda: _attempt(act))
            case Strike.LONG_AFTER:
                self._world.later(LONG_STEPS, lambda: _attempt(act))
            case _:
                pass

    def _marked(self, act: Callable[[], T]) -> T:
        """Do it in the operator's name, whenever it is done."""
        kube = self._world.kube
        kube.operator_writes = True
        try:
            return act()
        finally:
            kube.operator_writes = False

    def _slowly(self, act: Callable[[], T]) -> T:
        try:
            return act()
        finally:
            for _ in range(DELAY_STEPS):
                self._world.step()


def _attempt(act: Callable[[], Any]) -> None:
    with contextlib.suppress(KubeError, KafkaError):
        act()


class KubeEdge(Edge):
    """`KubeApi` over the model."""

    side = "kube"

    async def get(self, resource: ResourceType, namespace: str, name: str) -> Json | None:
        """One object or None."""
        await self._life.turn()
        kube = self._world.kube
        return self._kube(
            "get",
            resource,
            name,
            lambda: kube.get(resource, namespace, name),
            stale=lambda: kube.stale_get(resource, namespace, name),
            fickle=kube.written_lately(resource, namespace, name),
        )

    async def list(self, resource: ResourceType, namespace: str, labels: Mapping[str, str]) -> list[Json]:
        """Every object with these labels."""
        await self._life.turn()
        kube = self._world.kube
        return self._kube(
            "list",
            resource,
            "",
            lambda: kube.list(resource, namespace, labels),
            stale=lambda: kube.stale_list(resource, namespace, labels),
            fickle=kube.written_lately(resource, namespace, ""),
        )

    async def create(self, resource: ResourceType, namespace: str, body: Json) -> Json:
        """Create."""
        asked = self._world.steps
        await self._life.turn()

        def act() -> Json:
            created = self._world.kube.create(resource, namespace, body)
            late = self._world.steps > asked
            self._world.tell(Created(plural=resource.plural, body=created, late=late))
            return created

        return self._kube("create", resource, _name(body), act, writes=True)

    async def replace(self, resource: ResourceType, namespace: str, body: Json) -> Json:
        """Replace."""
        await self._life.turn()
        kube, name = self._world.kube, _name(body)
        return self._kube(
            "replace",
            resource,
            name,
            lambda: kube.replace(resource, namespace, body),
            writes=True,
            touch=lambda: kube.touch(resource, namespace, name),
        )

    async def apply(self, resource: ResourceType, namespace: str, body: Json) -> Json:
        """Server-side apply."""
        await self._life.turn()
        kube = self._world.kube
        return self._kube("apply", resource, _name(body), lambda: kube.apply(resource, namespace, body), writes=True)

    async def patch(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        body: Json,
        *,
        subresource: str = "",
        strategic: bool = False,
    ) -> Json:
        """Merge patch."""
        await self._life.turn()
        kube = self._world.kube
        conditional = "resourceVersion" in body.get("metadata", {})
        return self._kube(
            "patch",
            resource,
            name,
            lambda: kube.patch(resource, namespace, name, body, subresource=subresource, strategic=strategic),
            writes=True,
            touch=(lambda: kube.touch(resource, namespace, name)) if conditional else None,
        )

    async def delete(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        *,
        uid: str,
        resource_version: str | None = None,
        ended: bool = False,
    ) -> None:
        """Delete exactly this object."""
        await self._life.turn()
        kube = self._world.kube

        def act() -> None:
            gone = self._what_goes(resource, namespace, name)
            kube.delete(resource, namespace, name, uid=uid, resource_version=resource_version, ended=ended)
            if gone is not None:
                self._world.tell(gone)

        touch = (lambda: kube.touch(resource, namespace, name)) if resource_version else None
        self._kube("delete", resource, name, act, writes=True, touch=touch)

    def _what_goes(self, resource: ResourceType, namespace: str, name: str) -> Happened | None:
        """What a deletion of this object takes away, as it is just before."""
        world = self._world
        if resource == CLAIMS:
            volume = world.volumes.by_claim.get(world.volumes.claim_uid(namespace, name) or "")
            return ClaimDeleted(name=name, disk=volume.disk if volume else None)
        if resource == PODS:
            sandbox = world.kubelet.of_pod(namespace, name)
            quorum, process = (sandbox.quorum, sandbox.process) if sandbox else ("", None)
            return PodDeleted(namespace=namespace, quorum=quorum, name=name, process=process)
        return None

    def _kube(
        self,
        verb: str,
        resource: ResourceType,
        name: str,
        act: Callable[[], T],
        *,
        writes: bool = False,
        stale: Callable[[], T] | None = None,
        touch: Callable[[], None] | None = None,
        fickle: bool = False,
    ) -> T:
        conditional = touch is not None
        call = Call(verb=verb, what=resource.plural, name=name, writes=writes, conditional=conditional, fickle=fickle)
        text = f"{call}: the connection broke"
        return self._course(call, act, failure=lambda: KubeUnavailable(text), stale=stale, touch=touch)


class KafkaEdge(Edge):
    """`Controllers` over the model. A stale answer is the one that the same question had the last time."""

    side = "kafka"

    def __init__(self, wire: Wire, life: Life) -> None:
        """One incarnation's edge."""
        super().__init__(wire, life)
        self._model = ModelControllers(wire.world.kraft)
        self._last: dict[tuple[str, Endpoint], Any] = {}

    async def api_versions(self, endpoint: Endpoint) -> NodeVersions:
        """ApiVersions."""
        await self._life.turn()
        return self._read(codec.API_VERSIONS, endpoint, lambda: self._model.versions(endpoint))

    async def describe_cluster(self, endpoint: Endpoint) -> ClusterAnswer:
        """DescribeCluster."""
        await self._life.turn()
        return self._read(codec.DESCRIBE_CLUSTER, endpoint, lambda: self._model.cluster(endpoint))

    async def describe_quorum(self, endpoint: Endpoint) -> QuorumAnswer:
        """DescribeQuorum."""
        await self._life.turn()
        return self._read(codec.DESCRIBE_QUORUM, endpoint, lambda: self._model.quorum(endpoint))

    async def add_voter(self, endpoint: Endpoint, request: AddVoter) -> None:
        """AddRaftVoter. The rules judge it as it is sent, whatever becomes of it."""
        api = codec.ADD_RAFT_VOTER
        self._life.check()
        self._world.tell(AddSent(endpoint=endpoint, request=request))
        await self._life.turn()
        call = Call(verb=api.name, what="controller", name=str(endpoint.node_id), writes=True)
        self._course(
            call,
            lambda: self._model.add(endpoint, request),
            failure=lambda: unreachable(endpoint, api, "no answer"),
            stalled=lambda: self._model.add(endpoint, request, before_append=lambda: self._stall(endpoint)),
        )

    async def remove_voter(self, endpoint: Endpoint, request: RemoveVoter) -> None:
        """RemoveRaftVoter."""
        api = codec.REMOVE_RAFT_VOTER
        self._life.check()
        self._world.tell(RemoveSent(endpoint=endpoint, request=request))
        await self._life.turn()
        call = Call(verb=api.name, what="controller", name=str(endpoint.node_id), writes=True)
        self._course(
            call,
            lambda: self._model.remove(endpoint, request),
            failure=lambda: unreachable(endpoint, api, "no answer"),
            stalled=lambda: self._model.remove(endpoint, request, before_append=lambda: self._stall(endpoint)),
        )

    def _stall(self, leader: Endpoint) -> None:
        """Everybody but the leader stands still for three seconds."""
        kraft = self._world.kraft
        asleep = [one for one in kraft.processes if one.address != leader.host and not one.frozen]
        for one in asleep:
            one.frozen = True
        self._world.later(DELAY_STEPS, partial(_wake, asleep))

    async def close(self) -> None:
        """There is nothing to close."""

    def _read(self, api: Api, endpoint: Endpoint, ask: Callable[[], T]) -> T:
        key = (api.name, endpoint)
        before: T | None = self._last.get(key)
        fickle = before is not None
        call = Call(verb=api.name, what="controller", name=str(endpoint.node_id), writes=False, fickle=fickle)

        def act() -> T:
            answer = ask()
            self._last[key] = answer
            return answer

        stale: Callable[[], T] | None = None if before is None else partial(_same, before)
        failure = partial(unreachable, endpoint, api, "no answer")
        return self._course(call, act, failure=failure, stale=stale)


def _wake(processes: list[Process]) -> None:
    for process in processes:
        process.frozen = False


def _same(answer: T) -> T:
    return answer


def _name(body: Json) -> str:
    return str(body["metadata"].get("name", ""))
