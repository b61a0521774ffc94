"""Rule 3: the projected voter set keeps a live, caught-up majority."""

from typing import Final

from kafka_quorum.model.desired import Cure
from kafka_quorum.model.disk import disk_of, why_going
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.nodes import is_foreign
from kafka_quorum.model.observed import Observed, QuorumView
from kafka_quorum.model.permit import AddVoter, HandOver, RemoveLeader, RemoveVoter, ReplacePod, StopRetired
from kafka_quorum.model.pods import Pod, PodRole
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.voters import PAIR
from kafka_quorum.plan.facts.changing import why_changing
from kafka_quorum.plan.facts.held import why_held
from kafka_quorum.plan.facts.kept import staying_of, why_kept
from kafka_quorum.plan.facts.mountable import why_no_secret
from kafka_quorum.plan.facts.places import why_no_place
from kafka_quorum.plan.facts.token import holds_token, why_no_token
from kafka_quorum.plan.guards.registry import Answer, guard, no, unless, yes

CAUGHT_UP_LOOKS: Final = 3
"""In how many consecutive looks a newcomer must be caught up before it is added."""


@guard(AddVoter)
def may_add_voter(
    view: QuorumView, observed: Observed, target: ReplicaKey, wanted: int, others: tuple[ReplicaKey, ...]
) -> Answer:
    """Rule 3: add an observer that caught up, if the projected voter set keeps a live, caught-up majority without it.

    From one voter to two the newcomer itself counts, after it was caught up in three looks. If three or more voters are
    wanted, another newcomer (`others`) must be caught up as well. A newcomer whose disk is gone with its pod is added
    only if the voters on disks that stay can do without it: nothing could replace that disk later.
    """
    waiting, voter = f"Waiting to add voter {target}", view.voter_of(target.node_id)
    if voter is not None:
        return no(f"Did not add voter {target}: node id {target.node_id} is a voter already, as {voter}")
    looks = observed.memory.looks(target)
    projected, fate = view.votes.added(target), _why_going(observed, target)
    alone = len(view.voters) == 1
    healthy, majority = len(projected.healthy) + alone, projected.majority
    second = any(observed.memory.looks(key) >= CAUGHT_UP_LOOKS for key in others)
    count = f"{healthy} of {len(projected.voters)}, and {majority} are needed"
    needed = fate and not projected.only(_staying(observed, view)).carries
    return unless(
        (
            (
                target not in view.caught_up or looks < CAUGHT_UP_LOOKS,
                f"{waiting}: it was caught up in {looks} of {CAUGHT_UP_LOOKS} looks of the operator in a row",
            ),
            (not observed.serving(target.node_id), f"{waiting}: its pod does not run, or is being deleted"),
            (
                bool(needed),
                f"{waiting}: {fate}, and the others could not do without it. Delete its pod to have the disk replaced",
            ),
            (
                alone and wanted > PAIR and not second,
                f"{waiting}: a third controller must catch up first, because two voters tolerate no loss",
            ),
            (
                healthy < majority,
                f"{waiting}: too few voters are caught up ({count})",
            ),
        ),
        f"{target} is caught up, and so are {healthy} of {len(projected.voters)} voters",
    )


def _why_going(observed: Observed, target: ReplicaKey) -> str:
    """Why the disk of this replica will be gone when its pod stops; empty if it stays, or is not ours."""
    node = observed.record.node(target.node_id) if observed.record is not None else None
    return why_going(disk_of(observed, node), node) if node is not None else ""


def _staying(observed: Observed, view: QuorumView) -> frozenset[ReplicaKey]:
    return frozenset(key for key in view.voters if not _why_going(observed, key))


@guard(RemoveVoter)
def may_remove_voter(situation: Situation, view: QuorumView, target: ReplicaKey, *, fewer: str = "") -> Answer:
    """Rule 3: a voter is removed if those that stay keep a live, caught-up majority without it.

    The voter of a lost disk is removed only if it does not fetch: otherwise it runs somewhere, and is stopped first. It
    cannot be stopped if the other voters need it. So a retired voter that is not wanted is removed while it fetches,
    and so is the voter of a removed controller. If fewer voters than wanted would stay, a successor must be ready to be
    added; `fewer` names the controllers if none of them is ready. A voter that does not lag stays while the disk of a
    remaining voter is gone with its pod, because it is needed to replace that disk. It may be removed if the other
    voters can do without that disk. The vote of a controller that a person holds stays: its pod and its disk would be
    stopped and deleted next. A stale vote has neither.
    """
    record = situation.record
    node = record.node(target.node_id)
    stale = node is not None and target != node.key
    unknown = stale and target.directory_id not in record.retired
    manual = "Set spec.controllers.replacement.lostDisk to Automatic, or remove the voter yourself"
    kept, waiting = f"Did not remove voter {target}", f"Waiting to remove voter {target}"
    stoppable = unknown or target.node_id in situation.wanted or view.votes.without(target).carries
    remaining = view.votes.removed(target)
    healthy, majority = len(remaining.healthy), remaining.majority
    count = f"{healthy} of {len(remaining.voters)}, and {majority} are needed"
    needs = f"too few of the voters that stay are caught up ({count})"
    staying = staying_of(situation, remaining.voters)
    going = ", ".join(sorted(str(key.node_id) for key in remaining.voters - staying))
    doomed = f"the disks of controllers {going} are gone when their pods stop, and could not be replaced without it"
    successor = f"too few voters would stay. One of controllers {fewer} must be ready to join in its place"
    held = "" if stale else why_held(situation, target.node_id)
    return unless(
        (
            (target not in view.voters, f"Did not remove {target}: it is no voter"),
            (bool(held), f"{kept}: {held}. Until then there is a voter more than the spec requests"),
            (is_foreign(record, target), f"{kept}: it is no controller of this resource"),
            (
                stale and stoppable and target in view.live,
                f"Waiting to remove stale voter {target}: it still fetches. {_who_stops(situation, target)}",
            ),
            (
                unknown and situation.desired.replacement.lost_disk is Cure.MANUAL,
                f"Did not remove stale voter {target}: the identity ConfigMap does not list its disk as lost. {manual}",
            ),
            (not remaining.voters, f"{kept}: it is the only one"),
            (not remaining.carries, f"{waiting}: {needs}"),
            (target in view.shown and not remaining.only(staying).carries, f"{waiting}: {doomed}"),
            (bool(fewer), f"{waiting}: {successor}"),
        ),
        f"{healthy} of the {len(remaining.voters)} voters that stay are caught up",
    )


def _who_stops(situation: Situation, target: ReplicaKey) -> str:
    """What stops a stale voter that fetches: the operator stops its own pods, and no other process."""
    pods = situation.observed.pods_of(target.node_id, PodRole.KAFKA)
    pod = next((pod for pod in pods if pod.directory_id == target.directory_id), None)
    if pod is None:
        return "No pod of this resource runs it: find where it runs, and stop it there"
    if target.directory_id in situation.record.retired:
        return f"The operator stops its pod {pod.name} first"
    return f"Stop its pod {pod.name}"


@guard(RemoveLeader)
def may_remove_leader(view: QuorumView, target: ReplicaKey) -> Answer:
    """Rule 3: the leader of a pair does not remove itself.

    If it failed before the other voter has fetched the change, its own log would be the longer one. In that log it is
    not a voter, and the other voter would lack its vote: there would never be a leader again (measured,
    tests/live/test_pair.py).
    """
    leads = target in view.voters and target.node_id == view.answer.leader_id
    if leads and len(view.voters) == PAIR:
        (other,) = view.voters - {target}
        text = f"it leads, and {other} is the only other voter. If {target} crashed now, neither could lead again"
        return no(f"Did not remove voter {target}: {text}. So {other} must become the leader first")
    return yes(f"{target} is not the leader of a pair")


@guard(HandOver)
def may_hand_over(situation: Situation, view: QuorumView, target: ReplicaKey) -> Answer:
    """Rules 3 to 5: the leader of a pair is restarted to hand over, while this quorum has the disruption token."""
    answer = hand_over_but_for_the_token(situation, view, target)
    if not answer.allowed or holds_token(situation):
        return answer
    why = why_no_token(situation) or "the disruption token is not taken yet"
    return no(f"Waiting to let voter {target} hand over: {why}")


def hand_over_but_for_the_token(situation: Situation, view: QuorumView, target: ReplicaKey) -> Answer:
    """Whether the leader of a pair that is to be removed may be restarted, so that the other one leads.

    Nothing covers a restart in a pair: it interrupts the quorum until the pod is back, so the spec must allow it. If
    the pod would not come back, because its disk is gone with it or retired, the quorum would be lost with it.
    """
    (other,) = view.voters - {target}
    node = situation.record.node(target.node_id)
    kept = why_kept(situation, node) if node is not None else ""
    pods = situation.observed.serving(target.node_id)
    no_place = why_no_place(situation.observed, pods[0], keeps_up=True) if pods else ""
    running = all(situation.observed.serving(key.node_id) for key in (target, other))
    made = situation.revision_of(node) if node is not None else None
    secret = why_no_secret(situation, target.node_id, made.runtime) if made is not None else ""
    first = f"Waiting to let voter {target} hand over to {other}"
    stays = f"Did not restart controller {target.node_id} to hand over"
    one_more = "Set spec.controllers.replicas to one more first"
    allow = "its restart interrupts a quorum of two voters. Set spec.controllers.allowInterruption to true"
    held = why_held(situation, target.node_id)
    return unless(
        (
            (bool(held), f"{stays}: {held}"),
            (
                node is None or node.key != target,
                f"{stays}: replica {target} has lost its disk or its controller, so it would not run again. {one_more}",
            ),
            (
                node is not None and made is None,
                f"{stays}: the ControllerRevision from which its pod would be recreated is missing",
            ),
            (not view.committed, f"{first}: the present voter set is not committed yet"),
            (other not in view.caught_up, f"{first}: the other voter is not caught up"),
            (not running, f"{first}: the pod of one of them does not run, or is being deleted"),
            (bool(kept), f"{stays}: {kept}"),
            (not situation.desired.allow_interruption, f"Did not let voter {target} hand over to {other}: {allow}"),
            (bool(no_place), f"{first}: {no_place}"),
            (bool(secret), f"{first}: {secret}"),
        ),
        f"{other} is caught up, and can lead when {target} stops",
    )


@guard(ReplacePod)
def may_replace_pod(situation: Situation, pod: Pod, *, kept: str = "") -> Answer:
    """Rules 3 and 5: a pod whose Kafka does not run may be replaced on its own disk, because the quorum loses nothing.

    It may not if a person holds its controller, nor if the disk is gone with the pod, and is needed: `kept` gives the
    reason (`facts.kept`).
    """
    if held := why_held(situation, pod.node_id):
        return no(f"Did not replace pod {pod.name}: {held}. Until then the pod stays as it is")
    if pod.running and not pod.finished:
        return no(f"Did not replace pod {pod.name}: Kafka runs in it")
    if kept:
        return no(f"Did not replace pod {pod.name}: {kept}")
    return yes(f"Kafka does not run in pod {pod.name}")


@guard(StopRetired)
def may_stop_retired(situation: Situation, pod: Pod) -> Answer:
    """Rules 3 and 4: a pod on a retired disk is stopped when it is no voter, or if the others carry the quorum.

    A pod that fetches is never stopped while the voter set is changing: the change may wait for the repair that this
    pod delays.
    """
    observed = situation.observed
    key = ReplicaKey(node_id=pod.node_id, directory_id=pod.directory_id)
    waiting = f"Waiting to stop pod {pod.name}"
    if held := why_held(situation, pod.node_id):
        return no(f"Did not stop pod {pod.name}, whose replica {key} is retired: {held}. Until then no new disk joins")
    if pod.directory_id not in situation.record.retired:
        return no(f"Did not stop pod {pod.name}: the identity ConfigMap does not list its replica {key} as retired")
    if isinstance(observed.quorum, Unknown):
        return no(f"{waiting}: the quorum has no leader ({observed.quorum.reason})")
    view, operation = observed.quorum.value, observed.status.operation
    votes = key in view.voters
    other = operation is not None and operation.target.node_id != pod.node_id
    others = view.votes.without(key)
    healthy, majority = len(others.healthy), others.majority
    count = f"{healthy} of {len(view.voters)}, and {majority} are needed"
    without = f"too few voters are caught up without it ({count})"
    return unless(
        (
            (not view.committed, f"{waiting}: the present voter set is not committed yet"),
            (
                votes and other and key in view.live,
                f"{waiting}: {why_changing(observed)}",
            ),
            (votes and not others.carries, f"{waiting}: {without}"),
        ),
        f"{key} is retired, and {healthy} of {len(view.voters)} voters are caught up without it"
        if votes
        else f"{key} is retired, and is no voter",
    )
