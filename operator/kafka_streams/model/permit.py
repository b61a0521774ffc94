"""The guards of Streams applications. Rule 12 is theirs: never more than one instance is away, or not understood."""

from kafka_quorum.model.permit import Guard


class AdoptWorkload(Guard):
    """A StatefulSet or Deployment is adopted: this is recorded, and then it is deleted without its pods."""

    id = "12-adopt"


class KeepAdopting(Guard):
    """A ReplicaSet of an adopted Deployment is deleted without its pods."""

    id = "12-keep-adopting"


class BeginChange(Guard):
    """A change begins: of the release, the protocol, or of what pods are made from."""

    id = "12-begin-change"


class StopInstance(Guard):
    """One running instance is stopped, to start again from another revision."""

    id = "12-stop-instance"


class NextStep(Guard):
    """A step of a change has ended: the next one begins, or the change is done."""

    id = "12-next-step"


class StopAll(Guard):
    """All instances are stopped, because no other way leads to the release."""

    id = "12-stop-all"


class KeepStopping(Guard):
    """An instance stops after it was decided that all do."""

    id = "12-keep-stopping"


class RemoveInstance(Guard):
    """An instance leaves: fewer are requested."""

    id = "12-remove-instance"


class StartTogether(Guard):
    """All instances start with the new release: the group is empty."""

    id = "12-start-together"


class StartOver(Guard):
    """Instances that do not run start from something else: the group is empty, so nothing is mixed or lost."""

    id = "12-start-over"


class TurnRound(Guard):
    """An open change goes back to where it began."""

    id = "12-turn-round"


class DropState(Guard):
    """A claim of local state is deleted: the instance has other state, and works."""

    id = "12-drop-state"
