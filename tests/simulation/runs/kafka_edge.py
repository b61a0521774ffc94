"""An operator's edge to Kafka: `Controllers` over the model."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from tests.simulation.model.happened import AddSent, GhostCured, RemoveSent, ScramSent, StepAllowed, UpdateSent
from tests.simulation.model.kafka.features_api import (
    CONTROLLER_REGISTRATION,
    UNREGISTER_CONTROLLER,
    UPDATE_FEATURES,
    VALIDATE_FEATURES,
    ModelFeatures,
)
from tests.simulation.model.kafka.kraft_api import ModelControllers, unreachable
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kafka.scram_api import ModelScram
from tests.simulation.model.kafka.tls_api import set_keystore, shaken
from tests.simulation.runs.edges import Edge, Life, Wire
from tests.simulation.runs.faults import DELAY_STEPS, Call

from kafka_quorum.model.handshakes import Handshake
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import (
    AddVoter,
    ClusterAnswer,
    Endpoint,
    NodeVersions,
    QuorumAnswer,
    RegisterController,
    RemoveVoter,
    UpdateFeature,
)
from kafka_quorum.model.scram import ScramChange, ScramMechanism
from kafka_quorum.wire.api import Api
from kafka_quorum.wire.requests import (
    add_raft_voter,
    alter_configs,
    alter_scram,
    api_versions,
    describe_cluster,
    describe_quorum,
    remove_raft_voter,
)

T = TypeVar("T")


class KafkaEdge(Edge):
    """`Controllers` over the model. A stale answer is the last answer to the same question."""

    side = "kafka"

    def __init__(self, wire: Wire, life: Life) -> None:
        """One incarnation's edge."""
        super().__init__(wire, life)
        self._model = ModelControllers(wire.world.kraft)
        self._features = ModelFeatures(wire.world.kraft)
        self._scram = ModelScram(wire.world.kraft)
        self._last: dict[tuple[str, Endpoint, tuple[object, ...]], Any] = {}

    async def api_versions(self, endpoint: Endpoint) -> NodeVersions:
        """ApiVersions."""
        await self.life.turn()
        return self._read(api_versions.API, endpoint, lambda: self._model.versions(endpoint))

    async def describe_cluster(self, endpoint: Endpoint) -> ClusterAnswer:
        """DescribeCluster."""
        await self.life.turn()
        return self._read(describe_cluster.API, endpoint, lambda: self._model.cluster(endpoint))

    async def describe_quorum(self, endpoint: Endpoint) -> QuorumAnswer:
        """DescribeQuorum."""
        await self.life.turn()
        return self._read(describe_quorum.API, endpoint, lambda: self._model.quorum(endpoint))

    async def handshake(self, endpoint: Endpoint, *, sample: bool = False) -> Handshake:  # noqa: ARG002
        """A probe of a listener, whose threads all serve the same. A server that does not answer is an answer, too."""
        await self.life.turn()
        call = Call(verb="Handshake", what="controller", name=str(endpoint.node_id), writes=False)
        silent = partial(unreachable, endpoint, describe_cluster.API, "no answer")
        return self.course(call, lambda: shaken(self.world.kraft, endpoint), failure=silent)

    async def reload_keystore(self, endpoint: Endpoint, node_id: NodeID, listener: str, path: str) -> None:
        """A setting of one controller, which the leader stores."""
        await self.life.turn()
        call = Call(verb=alter_configs.API.name, what="controller", name=str(endpoint.node_id), writes=True)
        self.course(
            call,
            lambda: set_keystore(self.world.kraft, endpoint, node_id, listener, path),
            failure=lambda: unreachable(endpoint, alter_configs.API, "no answer"),
        )

    async def scram_present(
        self, endpoint: Endpoint, users: Sequence[str], mechanism: ScramMechanism
    ) -> frozenset[str]:
        """A question in the form of a change that Kafka refuses."""
        await self.life.turn()
        return self._read(
            alter_scram.PRESENT, endpoint, lambda: self._scram.present(endpoint, users, mechanism), (mechanism, *users)
        )

    async def alter_scram(self, endpoint: Endpoint, change: ScramChange) -> None:
        """A credential of one user is made, replaced or removed."""
        api = alter_scram.API
        self.life.check()
        self.world.tell(ScramSent(endpoint=endpoint, change=change))
        await self.life.turn()
        call = Call(verb=api.name, what="controller", name=str(endpoint.node_id), writes=True)
        self.course(
            call,
            lambda: self._scram.alter(endpoint, change),
            failure=lambda: unreachable(endpoint, api, "no answer"),
            stalled=lambda: self._scram.alter(endpoint, change, before_append=lambda: self._stall(endpoint)),
        )

    async def add_voter(self, endpoint: Endpoint, request: AddVoter) -> None:
        """AddRaftVoter. The rules judge it when it is sent, whatever its result."""
        api = add_raft_voter.API
        self.life.check()
        self.world.tell(AddSent(endpoint=endpoint, request=request))
        await self.life.turn()
        call = Call(verb=api.name, what="controller", name=str(endpoint.node_id), writes=True)
        self.course(
            call,
            lambda: self._model.add(endpoint, request),
            failure=lambda: unreachable(endpoint, api, "no answer"),
            stalled=lambda: self._model.add(endpoint, request, before_append=lambda: self._stall(endpoint)),
        )

    async def remove_voter(self, endpoint: Endpoint, request: RemoveVoter) -> None:
        """RemoveRaftVoter."""
        api = remove_raft_voter.API
        self.life.check()
        self.world.tell(RemoveSent(endpoint=endpoint, request=request))
        await self.life.turn()
        call = Call(verb=api.name, what="controller", name=str(endpoint.node_id), writes=True)
        self.course(
            call,
            lambda: self._model.remove(endpoint, request),
            failure=lambda: unreachable(endpoint, api, "no answer"),
            stalled=lambda: self._model.remove(endpoint, request, before_append=lambda: self._stall(endpoint)),
        )

    async def update_feature(self, endpoint: Endpoint, request: UpdateFeature) -> None:
        """UpdateFeatures with one step; a validation is a read, and no late effect of it matters."""
        api = VALIDATE_FEATURES if request.validate_only else UPDATE_FEATURES
        self.life.check()
        self.world.tell(UpdateSent(endpoint=endpoint, request=request))
        await self.life.turn()
        writes = not request.validate_only
        call = Call(verb=api.name, what="controller", name=str(endpoint.node_id), writes=writes)

        def act() -> None:
            self._features.update(endpoint, request)
            if request.validate_only:
                self.world.tell(StepAllowed(endpoint=endpoint, step=request.step))

        self.course(
            call,
            act,
            failure=lambda: unreachable(endpoint, api, "no answer"),
            stalled=lambda: self._features.update(endpoint, request, before_append=lambda: self._stall(endpoint)),
        )

    async def register_controller(self, endpoint: Endpoint, request: RegisterController) -> None:
        """ControllerRegistration in the place of a controller that is gone."""
        act = partial(self._features.register, endpoint, request)
        await self._cure(CONTROLLER_REGISTRATION, endpoint, request.node_id, act)

    async def unregister_controller(self, endpoint: Endpoint, node_id: NodeID) -> None:
        """UnregisterController."""
        await self._cure(
            UNREGISTER_CONTROLLER, endpoint, node_id, partial(self._features.unregister, endpoint, node_id)
        )

    async def _cure(self, api: Api, endpoint: Endpoint, node_id: NodeID, act: Callable[[], None]) -> None:
        self.life.check()
        self.world.tell(GhostCured(endpoint=endpoint, node_id=node_id))
        await self.life.turn()
        call = Call(verb=api.name, what="controller", name=str(endpoint.node_id), writes=True)
        self.course(call, act, failure=lambda: unreachable(endpoint, api, "no answer"))

    def _stall(self, leader: Endpoint) -> None:
        """All processes except the leader are frozen for three seconds."""
        kraft = self.world.kraft
        asleep = [one for one in kraft.processes if one.address != leader.host and not one.frozen]
        for one in asleep:
            one.frozen = True
        self.world.later(DELAY_STEPS, partial(_wake, asleep))

    async def close(self) -> None:
        """There is nothing to close."""

    def _read(self, api: Api, endpoint: Endpoint, ask: Callable[[], T], question: tuple[object, ...] = ()) -> T:
        key = (api.name, endpoint, question)
        before: T | None = self._last.get(key)
        fickle = before is not None
        call = Call(verb=api.name, what="controller", name=str(endpoint.node_id), writes=False, fickle=fickle)

        def act() -> T:
            answer = ask()
            self._last[key] = answer
            return answer

        stale: Callable[[], T] | None = None if before is None else partial(_same, before)
        failure = partial(unreachable, endpoint, api, "no answer")
        return self.course(call, act, failure=failure, stale=stale)


def _wake(processes: list[Process]) -> None:
    for process in processes:
        process.frozen = False


def _same(answer: T) -> T:
    return answer
