"""A cluster in which a StatefulSet or a Deployment runs the application, and an operator that may die at a request."""

from collections.abc import Callable
from typing import Any, Final

from tests.kit.kube.recording import Call, RecordingKube
from tests.streams.cluster import Cluster
from tests.streams.controllers import NAMESPACE, Controllers, check, deployment, stateful_set

from kafka_streams.model.release import StreamsRelease, parse_release
from kit.kube.protocol import DEPLOYMENTS, PODS, STATEFUL_SETS, Json

IMAGE: Final = "app:2.3.1"
STATEFUL: Final = "StatefulSet"
_READS: Final = ("get", "list", "dry-run", "ask-evict")


class Killed(Exception):
    """The operator is killed."""


class LivingKube(RecordingKube):
    """An API server with controllers, which act before and after every request.

    `dies_at`: the operator is killed at its write of this number, from 0, `before` or after it is carried out.
    `between` is called with the number of each request, before it is carried out.
    """

    def __init__(self) -> None:
        """Starts empty, with an operator that lives."""
        super().__init__()
        self.controllers = Controllers(self.model)
        self.dies_at: int | None = None
        self.before = True
        self.dead = False
        self.written = 0
        self.requests = 0
        self.replicas = 3
        self.between: Callable[[int], None] = lambda _: None

    def revive(self) -> None:
        """Another operator is there."""
        self.dies_at, self.dead = None, False

    def _called(self, call: Call) -> None:
        if self.dead:
            raise Killed
        super()._called(call)
        self.between(self.requests)
        self.requests += 1
        self._cluster()
        if call.verb in _READS or call.plural == "events":
            return
        self.written += 1
        if self.dies_at is not None and self.written - 1 == self.dies_at:
            self.dead = True
            if self.before:
                raise Killed

    def _cluster(self) -> None:
        check(self.model, self.replicas)
        self.controllers.act()
        check(self.model, self.replicas)

    async def _ask(self, request: Callable[[], Any]) -> Any:  # noqa: ANN401 - the answer of any request
        answer = await super()._ask(request)
        self._cluster()
        if self.dead:
            raise Killed
        return answer


class Adopting(Cluster):
    """`kind` runs three pods of 2.3.1 when the resource is created."""

    def __init__(self, kind: str, *, change: Callable[[Json], None] = lambda _: None, **spec: Any) -> None:  # noqa: ANN401
        """`change` changes the StatefulSet or Deployment before it is created; `spec` that of the resource."""
        self.living = LivingKube()
        state: Json = {} if kind == STATEFUL else {"state": {"type": "Ephemeral"}}
        asked: Json = {"release": "2.3.1", "image": IMAGE, "adopt": {"kind": kind, "name": "app"}}
        super().__init__({**asked, **state, **spec}, self.living)
        self.kind = STATEFUL_SETS if kind == STATEFUL else DEPLOYMENTS
        body = (stateful_set if kind == STATEFUL else deployment)(IMAGE)
        change(body)
        self.body = body
        self.create()
        for _ in range(6):
            self.living.controllers.act()
            self.kubelet()
        self.first = self.uids()
        assert len(self.first) == body["spec"]["replicas"]

    def create(self) -> None:
        """A person, or a tool, creates the StatefulSet or Deployment."""
        self.living.model.create(self.kind, NAMESPACE, self.body)

    def uids(self) -> dict[str, str]:
        """The uids of all pods that are not being deleted, by name."""
        pods = [pod["metadata"] for pod in self.pods()]
        return {str(one["name"]): str(one["uid"]) for one in pods if "deletionTimestamp" not in one}

    @property
    def adopted(self) -> bool:
        """Whether the status says that it is adopted."""
        return (self.status.get("adoption") or {}).get("stage") == "Adopted"

    async def until(self, holds: Callable[[], bool], *, most: int = 120) -> None:
        """Passes until it holds; an operator that was killed is replaced."""
        for _ in range(most):
            if holds():
                return
            await self.look()
        raise AssertionError(f"not after {most} passes: {self.status}")

    async def look(self) -> None:
        """One pass."""
        try:
            await self.run(1)
        except Killed:
            self.living.revive()
            self.clock.seconds += 1
            self.reconciler = self.operator()

    def kubelet(self) -> None:
        """Pods get a node first, so that one that is deleted is there until it has ended."""
        for pod in self.pods():
            if not pod["spec"].get("nodeName"):
                self.kube.model.assign(NAMESPACE, pod["metadata"]["name"], "node-1")
        super().kubelet()

    def _release(self, pod: Json) -> StreamsRelease:
        release = parse_release(str(pod["spec"]["containers"][0]["image"]).removeprefix("app:").partition("-")[0])
        assert release is not None
        return release


def pod(cluster: Adopting, name: str) -> Json:
    """A pod."""
    found = cluster.living.model.view(PODS, NAMESPACE, name)
    assert found is not None
    return found
