"""When an instance is back, and when the application can do without one. Each answer is a sentence, or empty (S3)."""

from collections.abc import Iterator

from kafka_quorum.model.known import Unknown
from kafka_streams.model.membership import GroupState
from kafka_streams.model.record import Slot
from kafka_streams.model.way import Protocol
from kafka_streams.plan.facts import Situation, bouncing, takes_part


def group_settled(situation: Situation) -> Iterator[str]:
    """What speaks against a settled group: unknown, not stable, not stable for long, members of other clients."""
    group = situation.group
    if group is None:
        yield f"the group is not known: {situation.silent}"
        return
    if group.state is not GroupState.STABLE:
        yield f"the group is {group.state.value}, and not Stable"
        return
    hosts = {pod.ip for pod in situation.observed.pods if pod.ip}
    strange = sorted(member.host for member in group.members if member.host not in hosts)
    if strange:
        yield f"the group has a member at {strange[0]}, which is no pod of this application"
    stable_s = situation.desired.gates.stable_s
    if situation.stable_for_s() < stable_s:
        yield f"the group has not been stable with the same members for {stable_s:g} s yet"


def works(situation: Situation, slot: Slot, *, from_any: bool = False) -> Iterator[str]:
    """What speaks against an instance that takes part: its pod, its members, members of the pod before it.

    `from_any`: it may run from another revision than it shall.
    """
    pod, group = situation.observed.pod(slot), situation.group
    name = f"instance {slot.index}"
    if pod is None or pod.deleting or pod.finished:
        yield f"{name} has no pod that runs"
        return
    if not from_any and (pod.revision != slot.revision or pod.generation != slot.generation):
        yield f"pod {pod.name} is not yet the one that {name} shall have"
    if not pod.serves:
        yield f"pod {pod.name} is not ready"
    if group is None:
        yield f"the group is not known: {situation.silent}"
        return
    left = group.there(slot.left)
    if left:
        yield f"member {left[0]} of the pod before {pod.name} is still in the group: its session has not ended"
    there, threads = len(group.at(pod.ip)), situation.desired.gates.threads
    if there == 0:
        yield f"pod {pod.name} has no member in the group"
    elif threads and there != threads:
        yield f"pod {pod.name} has {there} of {threads} members in the group: a stream thread may have died"


def serves_from_another(situation: Situation, slot: Slot) -> bool:
    """Whether an instance takes part from another revision than the record says, and only the revision changes."""
    pod, change = situation.observed.pod(slot), situation.change
    made = None if pod is None else situation.observed.revision(pod.revision)
    right = made is not None and made.runtime.release == situation.record.release
    if not right or (change is not None and not change.same_release):
        return False
    return next(works(situation, slot, from_any=True), None) is None


def idle(situation: Situation, slot: Slot) -> bool:
    """Whether an instance certainly takes no part: its pod is not ready, and not in the group, or there is none."""
    pod = situation.observed.pod(slot)
    return situation.group is not None and (pod is None or not (pod.deleting or takes_part(situation, pod)))


def processes(situation: Situation, slot: Slot) -> Iterator[str]:
    """What speaks against progress since an instance was stopped: offsets that do not advance, lag out of bounds."""
    committed, lag = situation.committed, situation.lag
    if committed is None or lag is None:
        group = situation.group
        why = situation.silent
        if group is not None:
            said = next((one for one in (group.committed, group.ends) if isinstance(one, Unknown)), None)
            why = said.reason if said is not None else why
        yield f"the committed offsets are not known: {why}"
        return
    if _leaves(situation):
        return
    if slot.marks is not None and committed <= slot.marks and situation.lag_reached:
        yield f"the group has committed nothing since instance {slot.index} was stopped, and {lag} records wait"
    stuck = next(iter(situation.stuck), None)
    if stuck is not None:
        topic, index = stuck
        yield f"partition {topic}-{index} gets records, and nothing of it has been committed since the group is stable"
    most = situation.desired.gates.max_lag
    if most is not None and lag > most:
        yield f"{lag} records wait, and gate.maxLag is {most}"


def _leaves(situation: Situation) -> bool:
    """Whether instances restart with what a way back leads away from, so that they can go on from there.

    If these process nothing, the way back is what repairs it.
    """
    change = bouncing(situation)
    return change is not None and change.back and not change.last and change.present.release == change.start


def against_back(situation: Situation, slot: Slot) -> Iterator[str]:
    """What speaks against an instance that was stopped by us being back."""
    yield from works(situation, slot)
    yield from group_settled(situation)
    yield from processes(situation, slot)


def leaving(situation: Situation) -> Iterator[str]:
    """Pods of instances that are not in the record any more, which stop: their work is not taken over yet."""
    known = {slot.index for slot in situation.record.slots}
    for pod in situation.observed.pods:
        if pod.index not in known and pod.deleting:
            yield f"pod {pod.name} of an instance that leaves is not gone yet"


def against_stop(situation: Situation, slot: Slot) -> Iterator[str]:
    """What speaks against a stop of an instance: every other one must take part."""
    yield from leaving(situation)
    for other in situation.record.slots:
        if other.index == slot.index:
            continue
        if other.away:
            yield f"instance {other.index} was stopped before, and is not back yet"
        yield from works(situation, other, from_any=serves_from_another(situation, other))
    pod = situation.observed.pod(slot)
    if pod is not None and pod.held:
        yield f"pod {pod.name} has the annotation kafkaquorum.io/hold: remove it"
    yield from group_settled(situation)
    yield from processes(situation, slot)


def versions_agree(situation: Situation) -> Iterator[str]:
    """What speaks against the end of an upgrade: every member must use what it supports, and all the same (S3)."""
    group = situation.group
    if group is None:
        yield f"the group is not known: {situation.silent}"
        return
    if group.protocol is Protocol.STREAMS:
        return
    used = {member.used_version for member in group.members}
    if None in used:
        yield "not every member shows which version of the subscription it uses"
    elif len(used) > 1:
        listed = ", ".join(map(str, sorted(version for version in used if version is not None)))
        yield f"members use versions {listed} of the subscription"
    late = [one for one in group.members if one.supported_version not in (None, one.used_version)]
    if late:
        one = late[0]
        yield (
            f"a member at {one.host} uses version {one.used_version} of the subscription, and supports"
            f" {one.supported_version}: one more rebalance follows"
        )
