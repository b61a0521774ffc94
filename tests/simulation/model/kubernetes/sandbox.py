"""A pod on its node, for the modelled kubelet."""

from dataclasses import dataclass, field

from tests.simulation.model.kafka.broker import Broker
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kafka.streams_group import StreamsProcess
from tests.simulation.model.kafka.tls import Mount

from kit.kube.protocol import Json


@dataclass(slots=True, kw_only=True, eq=False)
class Sandbox:
    """One pod on its node. `stage` counts the small steps of the running container."""

    namespace: str
    name: str
    uid: str
    quorum: str
    claim_uids: tuple[str, ...]
    writable_uids: tuple[str, ...] = ()
    """Those of them that it may write to, also when its pod has been deleted."""
    address: str
    pool: str = ""
    """The pool that it belongs to; then `quorum` is empty."""
    application: str = ""
    """The Streams application that it belongs to; then `quorum` and `pool` are empty."""
    addressed_s: float = 0.0
    node: str = ""
    stage: int = 0
    verified: bool = False
    passed: int = 0
    """How many init containers of a broker have passed."""
    mount: Mount | None = None
    """The Secret with a controller's key; None if it has none."""
    users: str = ""
    """The lines with users as they are mounted."""
    broker: Broker | None = None
    """The broker that runs in it; `process` is its process."""
    process: Process | None = None
    streams: StreamsProcess | None = None
    """The instance of a Streams application that runs in it."""
    retry_s: float = 0.0
    mounted_s: float = 0.0
    """When its volumes are mounted, on a machine that has started again."""
    failures: int = 0
    """How often a container has ended since Kafka last ran for long."""
    began_s: float = 0.0
    """When Kafka started."""
    said: Json | None = None
    """The last termination of the container that runs or waits."""
    before: Json | None = None
    """The termination before that, which is shown while the container has ended and does not wait yet."""
    runs: int = 0
    """How many containers have ended."""
    restarts: dict[str, int] = field(default_factory=dict)
    """How often each container of a broker has started again; it has no row before its first start."""
    passed_report: Json | None = None
    """How the init container ended that compared the disk, and accepted it."""
    lingered: int = 0
    """For how many steps it has been ending."""
    done: bool = False
    ending: bool = False

    @property
    def claim_uid(self) -> str:
        """The uid of the only claim, or the first one."""
        return self.claim_uids[0]
