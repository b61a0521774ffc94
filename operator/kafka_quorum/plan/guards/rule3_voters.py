"""Rule 3: the projected voter set keeps a live, caught-up majority."""

from typing import Final

from kafka_quorum.model.desired import Cure
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.nodes import is_foreign
from kafka_quorum.model.observed import Observed, QuorumView
from kafka_quorum.model.permit import AddVoter, HandOver, RemoveLeader, RemoveVoter, ReplacePod, StopRetired
from kafka_quorum.model.pods import Pod
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.voters import PAIR
from kafka_quorum.plan.facts.kept import why_kept
from kafka_quorum.plan.guards.registry import Answer, guard, no, unless, yes

CAUGHT_UP_LOOKS: Final = 3
"""In how many looks in a row a newcomer must be caught up before it is added."""


@guard(AddVoter)
def may_add_voter(
    view: QuorumView, observed: Observed, target: ReplicaKey, wanted: int, others: tuple[ReplicaKey, ...]
) -> Answer:
    """Rule 3: add an observer that caught up, if the projected voter set keeps a live, caught-up majority without it.

    From one voter to two the newcomer itself counts, once it was caught up in three looks and, where three or more
    voters are wanted, another newcomer (`others`) is caught up as well.
    """
    if (voter := view.voter_of(target.node_id)) is not None:
        return no(f"{target} cannot be added: node id {target.node_id} is a voter already, as {voter}")
    looks = observed.memory.looks(target)
    if target not in view.caught_up or looks < CAUGHT_UP_LOOKS:
        return no(f"{target} catches up: caught up in {looks} of {CAUGHT_UP_LOOKS} looks")
    if not observed.serving(target.node_id):
        return no(f"{target} is not added now: its pod does not run, or is on its way out")
    projected = view.votes.added(target)
    healthy, majority = len(projected.healthy), projected.majority
    if len(view.voters) == 1:
        second = [key for key in others if observed.memory.looks(key) >= CAUGHT_UP_LOOKS]
        if wanted > PAIR and not second:
            return no(f"{target} is added once a further controller has caught up: two voters survive no loss")
        healthy += 1
    if healthy < majority:
        needs = f"{majority} of {len(projected.voters)} voters must be caught up, and {healthy} are"
        return no(f"{target} is not added now: {needs}")
    return yes(f"{target} is caught up, and so are {healthy} of {len(projected.voters)} voters")


@guard(RemoveVoter)
def may_remove_voter(situation: Situation, view: QuorumView, target: ReplicaKey, *, fewer: str = "") -> Answer:
    """Rule 3: a voter is removed if those that stay keep a live, caught-up majority without it.

    A lost disk's voter is removed only where it does not fetch: else it runs somewhere. One whose controller was
    removed goes all the same. Where fewer voters than wanted would stay, a successor must be ready to be added: `fewer`
    names the controllers of which none is.
    """
    record = situation.record
    node = record.node(target.node_id)
    stale = node is not None and target != node.key
    unknown = stale and target.directory_id not in record.retired
    way_out = "set spec.controllers.replacement.lostDisk to Automatic, or remove it yourself"
    remaining = view.votes.removed(target)
    healthy, majority = len(remaining.healthy), remaining.majority
    needs = f"{majority} of the {len(remaining.voters)} voters that stay must be caught up, and {healthy} are"
    successor = f"too few voters would stay. It goes when one of controllers {fewer} is ready to join in its place"
    return unless(
        (
            (target not in view.voters, f"{target} is no voter"),
            (is_foreign(record, target), f"voter {target} is no controller of this resource: it is left alone"),
            (
                stale and target in view.live,
                f"stale voter {target} still fetches: it runs somewhere, and is removed once it is stopped",
            ),
            (
                unknown and situation.desired.replacement.lost_disk is Cure.MANUAL,
                f"stale voter {target} is no disk that this quorum retired: {way_out}",
            ),
            (not remaining.voters, f"{target} is the only voter"),
            (not remaining.carries, f"{target} is not removed now: {needs}"),
            (bool(fewer), f"{target} is not removed now: {successor}"),
        ),
        f"{healthy} of the {len(remaining.voters)} voters that stay are caught up",
    )


@guard(RemoveLeader)
def may_remove_leader(view: QuorumView, target: ReplicaKey) -> Answer:
    """Rule 3: the leader of a pair does not remove itself.

    Should it fail before the other has fetched the change, its own log would be the longer one and say that it is no
    voter, and the other would lack its vote: no leader ever again (measured, tests/live/test_pair.py).
    """
    leads = target in view.voters and target.node_id == view.answer.leader_id
    if leads and len(view.voters) == PAIR:
        (other,) = view.voters - {target}
        text = f"{target} leads, and {other} is the only other voter: a crash now could leave neither able to lead"
        return no(f"{text}, so {target} hands over first")
    return yes(f"{target} is not the leader of a pair")


@guard(HandOver)
def may_hand_over(situation: Situation, view: QuorumView, target: ReplicaKey) -> Answer:
    """Rules 3 to 5: the leader of a pair that is to be removed is restarted, so that the other one leads.

    Nothing covers a restart in a pair: it interrupts the quorum until the pod is back, which takes leave to do so. A
    pod that would not be back, because its disk goes with it or is retired, takes the quorum with it.
    """
    (other,) = view.voters - {target}
    node = situation.record.node(target.node_id)
    kept = why_kept(situation, node) if node is not None else ""
    running = all(situation.observed.serving(key.node_id) for key in (target, other))
    first = f"{target} hands over to {other} once"
    stays = f"controller {target.node_id} does not restart to hand over"
    return unless(
        (
            (
                node is None or node.key != target,
                f"{stays}: replica {target} is retired, and never runs again. Ask for one controller more first",
            ),
            (
                node is not None and situation.revision_of(node) is None,
                f"{stays}: the ControllerRevision is missing from which its pod would be made again",
            ),
            (not view.committed, f"{first} the present voter set is committed"),
            (other not in view.caught_up, f"{first} that is caught up"),
            (not running, f"{first} the pods of both run, and none is on its way out"),
            (bool(kept), f"{stays}: {kept}"),
            (
                not situation.desired.allow_interruption,
                f"{first} spec.controllers.allowInterruption is true: its restart interrupts a quorum of two",
            ),
        ),
        f"{other} is caught up, and leads once {target} stops",
    )


@guard(ReplacePod)
def may_replace_pod(pod: Pod, *, kept: str = "") -> Answer:
    """Rules 3 and 5: a pod whose Kafka does not run may be replaced on its own disk: that takes nothing away.

    Unless the disk goes with the pod, and is needed: `kept` says why (`facts.kept`).
    """
    if pod.running and not pod.finished:
        return no(f"Kafka runs in pod {pod.name}: restarting it takes a voter away")
    if kept:
        return no(f"pod {pod.name} is not replaced: {kept}")
    return yes(f"Kafka does not run in pod {pod.name}")


@guard(StopRetired)
def may_stop_retired(situation: Situation, pod: Pod) -> Answer:
    """Rules 3 and 4: a pod on a retired disk is stopped once it is no voter, or where the others carry the quorum.

    Never one that fetches while the voter set is on its way to another: the change may wait for the very cure that
    the pod holds up.
    """
    observed = situation.observed
    key = ReplicaKey(node_id=pod.node_id, directory_id=pod.directory_id)
    if pod.directory_id not in situation.record.retired:
        return no(f"pod {pod.name} runs replica {key}, which this quorum never retired: it is left alone")
    if isinstance(observed.quorum, Unknown):
        return no(f"pod {pod.name} is stopped once the quorum has a leader: {observed.quorum.reason}")
    view, operation = observed.quorum.value, observed.status.operation
    votes = key in view.voters
    other = operation is not None and operation.target.node_id != pod.node_id
    others = view.votes.without(key)
    healthy, majority = len(others.healthy), others.majority
    without = f"without it {healthy} of {len(view.voters)} voters would be caught up, and {majority} must be"
    return unless(
        (
            (not view.committed, f"pod {pod.name} is stopped once the present voter set is committed"),
            (
                votes and other and key in view.live,
                f"pod {pod.name} is stopped once the change that is open is closed",
            ),
            (votes and not others.carries, f"pod {pod.name} goes on: {without}"),
        ),
        f"{key} is retired, and {healthy} of {len(view.voters)} voters are caught up without it"
        if votes
        else f"{key} is retired and no voter",
    )
