"""What one look at an application showed: its Kubernetes objects, and Kafka's answers, each Known or Unknown.

If a look could not list its Kubernetes objects, there is no `Observed`: the pass ends there (rule 8).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_quorum.model.known import Knowable, Unknown
from kafka_quorum.model.pods import ContainerState, Running
from kafka_streams.model.adoption import Source
from kafka_streams.model.application import Runtime
from kafka_streams.model.membership import Group
from kafka_streams.model.record import Record, Slot
from kafka_streams.model.release import StreamsRelease

_NOT_ASKED = Unknown(reason="it was not asked")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod of an instance. `generation` is that of the claim that it was made with; `held`: a person keeps it."""

    name: str
    uid: str
    resource_version: str
    index: int
    revision: str
    generation: int
    deleting: bool
    finished: bool
    ready: bool
    ip: str
    container: ContainerState
    held: bool = False
    unschedulable: str = ""
    why_ended: str = ""

    @property
    def serves(self) -> bool:
        """Whether its application runs and says that it is ready, and the pod is not being deleted."""
        return isinstance(self.container, Running) and self.ready and not self.deleting and not self.finished


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The claim of an instance's local state. `adopted`: it has the name that a StatefulSet gave it."""

    name: str
    uid: str
    resource_version: str
    index: int
    generation: int
    deleting: bool
    adopted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """What pods are made from, by its name. It never changes. `upgrade_from` is empty for none."""

    name: str
    number: int
    runtime: Runtime
    upgrade_from: str
    uid: str = ""
    resource_version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The few facts that need several looks. If they are lost, they are gathered again.

    `stable_since_s` is when the group was first seen stable with just these members, in every look since then
    (monotonic seconds); None if it is not. `offsets` are what was committed then, and the end of the log, of each
    partition; None if that was not known in any look since then. `refused` are the revisions of which the API server
    refused a pod or its claim when it was last asked for one.
    """

    members: frozenset[str] = frozenset()
    stable_since_s: float | None = None
    looked_s: float = 0.0
    offsets: Mapping[tuple[str, int], tuple[int, int]] | None = None
    refused: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One look. `looked_at_s` is when Kafka's answers were asked for. `brokers` are the releases of all brokers."""

    record: Record | None
    pods: tuple[Pod, ...]
    claims: tuple[Claim, ...]
    revisions: tuple[Revision, ...]
    group: Knowable[Group] = _NOT_ASKED
    brokers: Knowable[frozenset[StreamsRelease]] = _NOT_ASKED
    memory: Memory = field(default_factory=Memory)
    looked_at_s: float = 0.0
    record_fault: str = ""
    """Why the record cannot be read; nothing is done then, because an open upgrade may be in it."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Our config maps with files of properties: by name, which is that of the revision, their uid."""
    unreadable: tuple[str, ...] = ()
    """Objects that exist and cannot be read, a sentence each; they never count as absent."""
    source: Source | None = None
    """What is to be adopted, or was; None if nothing is asked for."""
    spec_kept: bool = True
    """Whether the present spec is stored as the last accepted one, or is too long to be stored."""

    def pod(self, slot: Slot) -> Pod | None:
        """The pod of an instance: one that is not being deleted, if there are two."""
        found = sorted((pod for pod in self.pods if pod.index == slot.index), key=lambda pod: pod.deleting)
        return found[0] if found else None

    def claim(self, slot: Slot) -> Claim | None:
        """The claim that an instance uses now."""
        found = (one for one in self.claims if (one.index, one.generation) == (slot.index, slot.generation))
        return next((one for one in found if (one.name == slot.claim if slot.claim else not one.adopted)), None)

    def revision(self, name: str) -> Revision | None:
        """The revision of this name."""
        return next((revision for revision in self.revisions if revision.name == name), None)
