"""What follows from the spec, the look and the record together. It decides nothing."""

from dataclasses import dataclass, replace

from kafka_quorum.model.known import Known, Unknown
from kafka_streams.model import names
from kafka_streams.model.application import Desired, Runtime
from kafka_streams.model.membership import Group, TopicPartition
from kafka_streams.model.observed import Observed, Pod
from kafka_streams.model.record import Change, Record, Slot, Stage
from kafka_streams.model.release import StreamsRelease
from kafka_streams.model.way import NoWay, Protocol, Step, Way
from kafka_streams.plan.ways import Change as Asked
from kafka_streams.plan.ways import find_way


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """One application at one moment."""

    desired: Desired
    observed: Observed
    record: Record

    @property
    def group(self) -> Group | None:
        """The group, if it answered."""
        return self.observed.group.value if isinstance(self.observed.group, Known) else None

    @property
    def silent(self) -> str:
        """Why the group is not known; empty if it is."""
        return self.observed.group.reason if isinstance(self.observed.group, Unknown) else ""

    @property
    def change(self) -> Change | None:
        """The open change."""
        return self.record.change

    def runtime_of(self, release: StreamsRelease) -> Runtime | None:
        """What instances of this release are made from: the spec's runtime, or that of the newest revision."""
        if self.desired.runtime.release == release:
            return self.desired.runtime
        made = [one for one in self.observed.revisions if one.runtime.release == release]
        return max(made, key=lambda one: one.number).runtime if made else None

    def revision_of(self, step: Step) -> tuple[str, Runtime] | None:
        """The revision that a step's pods are made from, by name; None if nothing says what they are made from."""
        runtime = self.runtime_of(step.release)
        if runtime is None:
            return None
        runtime = replace(runtime, protocol=step.protocol)
        return names.revision_name(self.desired.name, runtime, step.upgrade_from), runtime

    @property
    def wanted(self) -> str:
        """The revision of the spec, without `upgrade.from`."""
        return names.revision_name(self.desired.name, self.desired.runtime, "")

    def release_of(self, slot: Slot) -> StreamsRelease | None:
        """The release that an instance is made from; None if its revision is gone."""
        made = self.observed.revision(slot.revision)
        return made.runtime.release if made is not None else None

    def highest(self, slot: Slot) -> int:
        """The highest generation of an instance's claims; 0 without any."""
        return max((one.generation for one in self.observed.claims if one.index == slot.index), default=0)

    def members_of(self, slot: Slot) -> tuple[str, ...]:
        """The member ids at the address of an instance's pod; none if it has no pod, or the group is not known."""
        pod = self.observed.pod(slot)
        if pod is None or self.group is None:
            return ()
        return tuple(member.member_id for member in self.group.at(pod.ip))

    @property
    def committed(self) -> int | None:
        """All that the group has committed, as one number; None if it is not known."""
        group = self.group
        if group is None or isinstance(group.committed, Unknown):
            return None
        return sum(group.committed.value.values())

    @property
    def lag(self) -> int | None:
        """Records that are not processed yet; None if it is not known. What was never committed counts in full."""
        waiting = self._waiting()
        return None if waiting is None else sum(waiting.values())

    @property
    def lag_reached(self) -> int | None:
        """Those of them that are not in partitions of instances which an open change has not reached yet."""
        waiting, late = self._waiting(), self._unreached
        return None if waiting is None else sum(lag for at, lag in waiting.items() if at not in late)

    def _waiting(self) -> dict[TopicPartition, int] | None:
        group = self.group
        if group is None or isinstance(group.committed, Unknown) or isinstance(group.ends, Unknown):
            return None
        done = group.committed.value
        return {at: max(end - done.get(at, 0), 0) for at, end in group.ends.value.items()}

    @property
    def _unreached(self) -> frozenset[TopicPartition]:
        """The partitions of instances that the open change has not reached yet.

        What these do not process is no fault of the change, and may be what it repairs.
        """
        change, group = bouncing(self), self.group
        made = None if change is None else self.revision_of(change.present)
        if made is None or group is None:
            return frozenset()
        hosts = {pod.ip for pod in self.observed.pods if pod.ip and pod.revision != made[0]}
        late = {member.member_id for member in group.members if member.host in hosts}
        return frozenset(at for at, member_id in group.owners.items() if member_id in late)

    @property
    def stuck(self) -> tuple[tuple[str, int], ...]:
        """Partitions that got records since the group is stable with these members, and of which none was committed.

        Others may work while one instance processes nothing. A partition without new records proves nothing: with
        transactions its end may be behind the last record for ever. A topic that no member reads does not count, and
        neither does a partition of an instance that an open change has not reached yet.
        """
        group, then = self.group, self.observed.memory.offsets
        if group is None or then is None or isinstance(group.committed, Unknown) or isinstance(group.ends, Unknown):
            return ()
        done, ends = group.committed.value, group.ends.value
        found = (at for at, (offset, end) in then.items() if ends.get(at, end) > end and done.get(at, offset) <= offset)
        read = {at for at in found if group.topics is None or at[0] in group.topics}
        return tuple(sorted(read - self._unreached))

    def stable_for_s(self) -> float:
        """For how long the group has been stable with just these members, as far as looks showed it."""
        since = self.observed.memory.stable_since_s
        return 0.0 if since is None else self.observed.looked_at_s - since


def asked_way(situation: Situation) -> Way | NoWay | Unknown:
    """The way from what the instances run to what the spec asks for."""
    return way_between(situation, situation.record.release, situation.record.protocol)


def way_between(situation: Situation, start: StreamsRelease, protocol: Protocol) -> Way | NoWay | Unknown:
    """The way from a release to the spec's. Unknown while the brokers are, if the release or the protocol changes."""
    runtime = situation.desired.runtime
    brokers = situation.observed.brokers
    if isinstance(brokers, Unknown):
        return brokers
    asked = Asked(
        start=start,
        target=runtime.release,
        brokers=brokers.value,
        start_protocol=protocol,
        target_protocol=runtime.protocol,
    )
    return find_way(asked)


def pods_of(situation: Situation) -> tuple[Pod, ...]:
    """The pods of the instances of the record."""
    return tuple(pod for slot in situation.record.slots if (pod := situation.observed.pod(slot)) is not None)


def takes_part(situation: Situation, pod: Pod) -> bool:
    """Whether a pod is ready, or has members in the group, as far as it is known."""
    return pod.serves or (situation.group is not None and bool(situation.group.at(pod.ip)))


def astray(situation: Situation, slot: Slot) -> bool:
    """Whether an instance takes part from a pod that the record does not say, while instances do not restart in turn.

    A request that took effect late made it, or it became ready while the record was corrected, or the record is a copy.
    """
    pod = situation.observed.pod(slot)
    if pod is None or pod.deleting or pod.finished or bouncing(situation) is not None:
        return False
    return takes_part(situation, pod) and (pod.revision, pod.generation) != (slot.revision, slot.generation)


def contradicted(situation: Situation) -> str | None:
    """Why the record is no copy of what runs: no change is open, and every pod runs a release that it does not have.

    An instance that is made from it would run beside them, or on their state: a pod that has ended shows this as well.
    """
    pods, slots = situation.observed.pods, situation.record.slots
    if situation.change is not None or not pods or not slots:
        return None
    known = {slot.revision for slot in slots}
    releases = {situation.release_of(slot) for slot in slots}
    for pod in pods:
        made = situation.observed.revision(pod.revision)
        if pod.revision in known or (made is not None and made.runtime.release in releases):
            return None
    made = situation.observed.revision(pods[0].revision)
    runs = "an unknown release" if made is None else str(made.runtime.release)
    return differs(situation, pods[0], runs, situation.record.release)


def differs(situation: Situation, pod: Pod, runs: str, said: StreamsRelease | None) -> str:
    """That a pod runs another release than the record says, and what a person does."""
    state = " and claims" if situation.desired.runtime.state_path else ""
    return (
        f"pod {pod.name} runs {runs}, and the record says {said}. Restore the latest record, or delete the pods{state}"
        " of the application"
    )


def bouncing(situation: Situation) -> Change | None:
    """The open change, if its instances restart one after the other."""
    change = situation.change
    return change if change is not None and change.stage is Stage.BOUNCING else None
