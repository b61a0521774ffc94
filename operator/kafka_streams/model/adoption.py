"""A StatefulSet or Deployment whose pods become instances without a restart: what is asked, decided and seen of it.

The order is what makes it safe. The decision is recorded. Then the StatefulSet or Deployment is deleted so that it lets
go of what it owns, then its ReplicaSets. Only when none of them exists, the pods and claims get labels and an owner.
"""

from dataclasses import dataclass
from enum import StrEnum

from kafka_streams.model.release import StreamsRelease


class WorkloadKind(StrEnum):
    """What can be adopted."""

    STATEFUL_SET = "StatefulSet"
    DEPLOYMENT = "Deployment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopt:
    """What a person asks for. `release` is what the pods run, None for that of the spec; `upgrade_from` likewise."""

    kind: WorkloadKind
    name: str
    release: StreamsRelease | None = None
    upgrade_from: str = ""

    def __str__(self) -> str:
        """As sentences name it."""
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """The decision, in the record. `selector` are the labels of its pods, `sets` the uids of its ReplicaSets.

    `first` is the ordinal of the first pod of a StatefulSet.

    `done`: every pod that there is has an owner. The decision stays until the spec does not ask for it any more,
    because the workload may be created again.
    """

    kind: WorkloadKind
    name: str
    uid: str
    selector: tuple[tuple[str, str], ...]
    sets: tuple[str, ...] = ()
    first: int = 0
    done: bool = False

    def __str__(self) -> str:
        """As sentences name it."""
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The StatefulSet or Deployment. `unsettled` says why its pods are not all of one revision and ready; empty if so.

    `first` is the ordinal of its first pod. `templates` are the names of its claim templates. `tools` are what may
    create it again, a few words each. `consent` is the application that its annotation names.
    """

    kind: WorkloadKind
    name: str
    uid: str
    resource_version: str
    deleting: bool
    replicas: int
    unsettled: str
    selector: tuple[tuple[str, str], ...]
    expressions: bool = False
    first: int = 0
    templates: tuple[str, ...] = ()
    controller: str = ""
    tools: tuple[str, ...] = ()
    consent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedSet:
    """A ReplicaSet with the labels of the Deployment's pods. `owners` are the uids of what owns it."""

    name: str
    uid: str
    resource_version: str
    deleting: bool
    owners: tuple[str, ...]
    replicas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A pod with the labels of the workload's pods. `index` is its place if it is an instance already, else -1.

    `claim` is the name of the claim that it mounts where the spec has the state, `claims` those of all that it mounts.
    `upgrade_from` is the value of the variable; None if it cannot be read. `missing`: it has no container of this name.
    `user` is what its application runs as; None for the user of the image.
    """

    name: str
    uid: str
    resource_version: str
    index: int
    deleting: bool
    finished: bool
    ready: bool
    ip: str
    owners: tuple[str, ...]
    owner_text: str = ""
    application: str = ""
    image: str = ""
    missing: bool = False
    upgrade_from: str | None = ""
    claim: str = ""
    sub_path: bool = False
    claims: tuple[str, ...] = ()
    subdomain: str = ""
    user: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptClaim:
    """A claim of a pod. `index` is the place of its instance if it is adopted already, else -1."""

    name: str
    uid: str
    resource_version: str
    index: int
    deleting: bool
    bound: bool
    owners: tuple[str, ...]
    application: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What is there of a workload that is or was adopted. Once it is adopted, only `workload` is looked at.

    `shown` is the hash of the plan that the status has.
    """

    workload: Workload | None
    sets: tuple[OwnedSet, ...] = ()
    pods: tuple[Candidate, ...] = ()
    claims: tuple[KeptClaim, ...] = ()
    budgets: tuple[str, ...] = ()
    scalers: tuple[str, ...] = ()
    shown: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptionPlan:
    """What an adoption would do, for a person to read before it begins. `hash` names it, for `spec.approved`.

    `objections` are why it does not begin, `pending` what only has to be waited for; `warnings` are what a person must
    do or know. `asks`: a person must approve it, whatever `spec.approve` says.
    """

    steps: tuple[str, ...]
    warnings: tuple[str, ...]
    objections: tuple[str, ...]
    pending: tuple[str, ...]
    asks: bool
    hash: str
