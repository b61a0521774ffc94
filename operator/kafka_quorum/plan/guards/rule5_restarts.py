"""Rule 5: one controller restarts at a time, the active one last."""

from collections.abc import Iterator
from typing import Final

from kafka_quorum.api.features import METADATA, supported_by
from kafka_quorum.api.release import parse_release
from kafka_quorum.model.certified import client_ends
from kafka_quorum.model.conformance import newer_brokers
from kafka_quorum.model.generations import LATE, is_due
from kafka_quorum.model.identity import NodeIdentity
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import controller
from kafka_quorum.model.nodes import has_disk_of, is_down, node_of
from kafka_quorum.model.observed import Observed, QuorumView
from kafka_quorum.model.permit import Permit, Refusal, Restart, TakeToken
from kafka_quorum.model.pods import Pod, PodRole
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.voters import PAIR
from kafka_quorum.plan.facts.changing import why_changing
from kafka_quorum.plan.facts.formats import release_numbers
from kafka_quorum.plan.facts.held import why_held
from kafka_quorum.plan.facts.kept import is_going, why_kept
from kafka_quorum.plan.facts.mountable import why_earlier_leaf, why_no_secret
from kafka_quorum.plan.facts.places import why_no_place
from kafka_quorum.plan.facts.podstate import has_crashed
from kafka_quorum.plan.facts.token import holds_token, needs_token, why_no_token
from kafka_quorum.plan.facts.trusting import has_ended
from kafka_quorum.plan.guards.registry import Answer, guard, no, unless, yes
from kafka_quorum.plan.guards.rule3_voters import CAUGHT_UP_LOOKS
from kit.stamps import second_of

RUNS_FOR_S: Final = 20.0
"""How long a container must have been seen to run. Then it shows, without a leader, that its revision can start.

With a setting that Kafka refuses, it ends some seconds after its start, on a busy node after ten.
"""


@guard(TakeToken)
def may_take_token(situation: Situation, stop: Answer, first: str) -> Answer:
    """Rule 5: the disruption token is taken when only it is missing for a `stop`, and no pool has it.

    `first` is the beginning of the sentence about what waits.
    """
    if not stop.allowed:
        return stop
    why = why_no_token(situation)
    return unless(((bool(why), f"{first}: {why}"),), f"{stop.reason}, and nobody else stops servers now")


def token_for_restart(situation: Situation, node: NodeIdentity, pod: Pod | None) -> Permit[TakeToken] | Refusal | None:
    """Whether the token may be taken for this restart; None if it is not what the restart waits for."""
    if pod is None or not needs_token(situation, node) or holds_token(situation):
        return None
    stop = _but_for_the_token(situation, node, pod)
    return may_take_token(situation, stop, f"Waiting to restart controller {node.node_id}") if stop.allowed else None


def may_with_token(situation: Situation, node: NodeIdentity, pod: Pod) -> bool:
    """Whether this controller restarts now, if this quorum has the token, or none is needed."""
    return _but_for_the_token(situation, node, pod).allowed


@guard(Restart)
def may_restart(situation: Situation, node: NodeIdentity, pod: Pod | None) -> Answer:
    """Rules 3 to 5: a controller is recreated from the revision `target`; without a `pod` it does not run.

    A controller that serves is stopped only while this quorum has the disruption token.
    """
    answer = _but_for_the_token(situation, node, pod)
    if pod is None or not answer.allowed or not needs_token(situation, node) or holds_token(situation):
        return answer
    why = why_no_token(situation) or "the disruption token is not taken yet"
    return no(f"Waiting to restart controller {node.node_id}: {why}")


def _but_for_the_token(situation: Situation, node: NodeIdentity, pod: Pod | None) -> Answer:
    """Whether a controller may be recreated from the revision `target`, except that the token may be missing.

    One restarts at a time. The next one follows when every restarted controller is a caught-up voter again. The active
    controller is the last. None restarts while the voters or a feature change. A voter that keeps up is restarted only
    if all others keep up. A lagging one is restarted if the others form a caught-up majority of the whole voter set
    without it, and every controller that was restarted before is a caught-up voter again. So it may lag together with
    others that the roll has not reached yet. No pod is stopped that is the last to hold a disk that is needed. A pod
    that runs another replica than its controller is now is not stopped here: that replica may be a voter, and
    `3-stop-retired` judges it. And no voter is stopped whose Kubernetes node takes no new pod: it would stay away that
    long. Nor is a controller stopped that would not come back for want of a Secret. One that a person holds is not
    restarted for any reason.
    """
    observed = situation.observed
    first = f"Waiting to restart controller {node.node_id}"
    if held := why_held(situation, node.node_id):
        return no(f"Did not restart controller {node.node_id}: {held}. {_cost_of_hold(situation, node)}")
    if observed.pods_of(node.node_id, PodRole.KAFKA) and (kept := why_kept(situation, node)):
        return no(f"Did not restart controller {node.node_id}: {kept}")
    if pod is None:
        return _where_nothing_runs(situation, node)
    if isinstance(observed.quorum, Unknown):
        return _where_certificates_ended(situation, node, pod, observed.quorum.reason)
    view, key, status = observed.quorum.value, node.key, observed.status
    others = view.voters - {key}
    steady = frozenset(other for other in others if is_steady(situation, view, other))
    moved = frozenset(other.key for other in situation.record.nodes if is_made_from(situation, other))
    waits_for = _names((others - steady) if key in view.shown else (others - steady) & moved)
    majority, leads = view.votes.majority, key.node_id == view.answer.leader_id
    then = f"before restarting controller {node.node_id}"
    ends = leads and situation.renews_only and _ends_as_client(situation, node)
    older = _names(
        other.key
        for other in situation.record.nodes
        if other is not node and other.key not in moved and not (ends and _is_kept(situation, other))
    )
    interrupts = key in view.voters and len(view.voters) <= PAIR
    no_place = why_no_place(observed, pod, keeps_up=key in view.shown) if key in view.voters else ""
    interrupted = "its restart interrupts a quorum of one or two voters. Set spec.controllers.allowInterruption to true"
    return unless(
        (
            (
                status.operation is not None or not view.committed or view.changing,
                f"{first}: {why_changing(observed)}",
            ),
            (status.feature_operation is not None, f"{first}: the change to {_step_of(observed)} is not complete yet"),
            (pod.deleting or not pod.running, f"Did not restart pod {pod.name}: it does not run, or is being deleted"),
            (
                not has_disk_of(pod, node),
                f"Did not restart pod {pod.name}: it does not run on the present disk of controller {node.node_id}",
            ),
            (
                interrupts and not situation.desired.allow_interruption,
                f"Did not restart controller {node.node_id}: {interrupted}",
            ),
            (key in view.voters and bool(waits_for), f"Waiting for {_voters(waits_for)} to catch up {then}"),
            (
                key in view.voters and len(view.voters) > PAIR and len(steady) < majority,
                f"{first}: too few other voters are caught up ({len(steady)} of the {majority} needed)",
            ),
            (bool(no_place), f"{first}: {no_place}"),
            (bool(secret := _why_secret(situation, node)), f"{first}: {secret}"),
            (bool(newer := _newer_brokers(situation, pod)), f"{first}: {newer}"),
            (leads and bool(older), f"{first}: it leads, so it restarts after controllers {older}"),
        ),
        f"{len(steady)} of {len(others)} other voters are caught up" if key in view.voters else f"{key} is no voter",
    )


def _is_kept(situation: Situation, node: NodeIdentity) -> bool:
    """Whether its own Secret keeps this controller from its restart, or a person does."""
    return bool(why_held(situation, node.node_id) or _why_secret(situation, node))


def _cost_of_hold(situation: Situation, node: NodeIdentity) -> str:
    """What it costs that a person holds this controller: at the latest, what happens when its certificate ends."""
    ends = [end_s for node_id, end_s in client_ends(situation.observed, situation.record) if node_id == node.node_id]
    stays = "Until then it stays at its earlier revision, and the active controller waits for it"
    if not ends or not min(ends):
        return stays
    end = second_of(min(ends))
    return f"{stays}. From {end} on, when its certificate ends, no other controller accepts it"


def _why_secret(situation: Situation, node: NodeIdentity, *, later: bool = False) -> str:
    """Why this controller would not come back from a restart with the certificate of the target; empty if it would.

    With `later`, any certificate after the one that it is made for is enough.
    """
    made = _made_for(situation, node)
    secret = why_no_secret(situation, node.node_id, situation.runtime)
    return secret or why_earlier_leaf(situation, node.node_id, made, made + 1 if later else 0)


def _made_for(situation: Situation, node: NodeIdentity) -> int:
    """The generation of certificates that this controller is made for; 0 if it is not known, or there is none."""
    pods = situation.observed.pods_of(node.node_id, PodRole.KAFKA)
    revisions = [situation.observed.revision(pod.revision) for pod in pods] or [situation.revision_of(node)]
    return min(0 if each is None else each.runtime.certificates for each in revisions)


def _ends_as_client(situation: Situation, node: NodeIdentity) -> bool:
    """Whether the certificate that this controller shows as a client ends before long, and should be replaced by now.

    Then the active controller does not wait for those that their own Secrets hold, or a person: no later restart may be
    in time.
    """
    material = situation.observed.material
    seen = None if material is None else material.leaf(controller(node.node_id))
    if not isinstance(seen, Known) or seen.value is None:
        return False
    ends = (end_s for node_id, end_s in client_ends(situation.observed, situation.record) if node_id == node.node_id)
    return any(end_s and is_due(situation.desired, seen.value, end_s, situation.now_s, LATE) for end_s in ends)


def _newer_brokers(situation: Situation, pod: Pod) -> str:
    """Which brokers run a later release than the one that this controller goes back to; empty if none is known to."""
    made_from, wanted = situation.observed.revision(pod.revision), situation.runtime.release
    numbers = parse_release(wanted)
    ranges = supported_by(numbers) if numbers is not None else None
    if made_from is None or ranges is None or release_numbers(made_from.runtime.release) <= release_numbers(wanted):
        return ""
    level = next((each.max_level for each in ranges if each.name == METADATA), 0)
    ids = ", ".join(newer_brokers(situation, level))
    way_out = f"Restart them with Kafka {wanted} first"
    return (
        f"brokers {ids} run a later release than Kafka {wanted}, and none may be newer than a controller. {way_out}"
        if ids
        else ""
    )


def _where_nothing_runs(situation: Situation, node: NodeIdentity) -> Answer:
    """A controller whose Kafka does not run is recreated from the revision `target`: the quorum loses nothing by it.

    It waits while another controller from this revision, running or about to, is not back: if the revision itself is at
    fault, only one controller has it. Without a leader the other one only has to run, because the controllers that do
    not run may be the majority. It must run for some time without an earlier crash: one that crashes repeatedly runs
    for moments.

    The applied revision is not at fault, because a quorum had a leader with it: the way back to it is always open.
    Without a leader, a controller that has only crashed keeps the applied revision: the kubelet starts it again, and
    another revision may not start.

    One whose Secret is known to have no leaf of the target comes back as it was: with an earlier leaf it would count as
    one that shows the later one, and would not restart before the earlier one ends.
    """
    observed, record, target = situation.observed, situation.record, situation.target
    if earlier := why_leaf_of_before(situation, node):
        return no(f"Did not move controller {node.node_id} to revision {target}: {earlier}")
    if target == record.applied_revision and record.had_leader:
        return yes(f"controller {node.node_id} does not run, and goes back to revision {target}, which has run before")
    others = (other for other in record.nodes if other is not node and _tries(situation, other))
    away = _names(other.key for other in others if not _is_back(situation, other))
    then = f"before creating controller {node.node_id} from revision {target}"
    led = isinstance(observed.quorum, Known)
    is_back = f"{_voters(away)} to catch up" if led else f"controllers {away} to run without a crash"
    pods = observed.pods_of(node.node_id, PodRole.KAFKA)
    applied = record.had_leader and any(pod.revision == record.applied_revision for pod in pods)
    crashed = not led and applied and any(has_crashed(pod) for pod in pods)
    return unless(
        (
            (crashed, f"Did not recreate controller {node.node_id}: it crashed, and the kubelet restarts it"),
            (bool(away), f"Waiting for {is_back} {then}"),
        ),
        f"controller {node.node_id} does not run",
    )


def why_leaf_of_before(situation: Situation, node: NodeIdentity) -> str:
    """Why this controller would show an earlier leaf than the target says; empty if it would not.

    A pod waits for a Secret that is missing, and finds the later leaf there in the end.
    """
    made, material = _made_for(situation, node), situation.observed.material
    if material is None or not 0 < made < situation.runtime.certificates:
        return ""
    seen = material.leaf(controller(node.node_id))
    if isinstance(seen, Unknown):
        return f"it is not known which certificate its Secret has ({seen.reason or 'it was not read'})"
    return why_earlier_leaf(situation, node.node_id, made)


def _where_certificates_ended(situation: Situation, node: NodeIdentity, pod: Pod, unknown: str) -> Answer:
    """Without a leader a controller restarts only if a certificate that it shows has ended, and a later one waits.

    With one that has ended as a client it gets no connection to the others, whatever its listener serves: it cannot
    follow a leader. One follows the other when that one has run for some time. A later certificate that is valid is
    enough, even if it is not the latest: the Secrets of a majority may be refused since then.
    """
    first = f"Waiting to restart controller {node.node_id}"
    others = (other for other in situation.record.nodes if other is not node and _tries(situation, other))
    away = _names(other.key for other in others if not _is_back(situation, other))
    return unless(
        (
            (not has_ended(situation, pod), f"{first}: the quorum has no leader ({unknown})"),
            (
                pod.deleting or not has_disk_of(pod, node),
                f"Did not restart pod {pod.name}: it is not on its present disk",
            ),
            (bool(away), f"{first}: controllers {away} must run without a crash first"),
            (bool(secret := _why_secret(situation, node, later=True)), f"{first}: {secret}"),
        ),
        "its certificate has ended, so no other controller accepts it",
    )


def _is_back(situation: Situation, node: NodeIdentity) -> bool:
    """Whether a controller runs and, if this can be asked, is a caught-up voter; for an observer running is enough."""
    observed = situation.observed
    running = observed.serving(node.node_id)
    if not running:
        return False
    if isinstance(observed.quorum, Unknown):
        now_s = observed.looked_at_s
        steady = (observed.memory.has_run_for_s(pod.instance, now_s) >= RUNS_FOR_S for pod in running)
        return all(steady) and not any(pod.restarted for pod in running)
    view = observed.quorum.value
    return node.key not in view.voters or is_steady(situation, view, node.key)


def is_steady(situation: Situation, view: QuorumView, key: ReplicaKey) -> bool:
    """Whether a voter has been caught up for some looks and, if it is a controller of ours, its pod runs."""
    if key not in view.caught_up or situation.observed.memory.looks(key) < CAUGHT_UP_LOOKS:
        return False
    if situation.record.node(key.node_id) is None:
        return True
    return bool(situation.observed.serving(key.node_id))


def is_made_from(situation: Situation, node: NodeIdentity) -> bool:
    """Whether the record makes a controller from this revision, and so was its pod, if there is one."""
    revision = situation.revision_of(node)
    pods = situation.observed.pods_of(node.node_id, PodRole.KAFKA)
    return (
        revision is not None
        and revision.name == situation.target
        and all(pod.revision == situation.target for pod in pods)
    )


def _tries(situation: Situation, node: NodeIdentity) -> bool:
    """Whether a controller shows how this revision works: its Kafka ran from it, or is about to.

    It does not while it runs from another revision, nor if its node or its disk prevents it from running.
    """
    observed = situation.observed
    revision = situation.revision_of(node)
    if (
        revision is None
        or revision.name != situation.target
        or not node.formatted
        or is_down(observed, node_of(observed, node))
    ):
        return False
    if is_going(situation, node):
        return False
    pods = observed.pods_of(node.node_id, PodRole.KAFKA)
    refuses = any(not pod.running and pod.report is not None and not pod.report.accepted for pod in pods)
    return not refuses and not any(pod.running and pod.revision != situation.target for pod in pods)


def _step_of(observed: Observed) -> str:
    operation = observed.status.feature_operation
    return str(operation.step) if operation else ""


def _voters(names: str) -> str:
    return f"voters {names}" if "," in names else f"voter {names}"


def _names(keys: Iterator[ReplicaKey] | frozenset[ReplicaKey]) -> str:
    return ", ".join(str(node_id) for node_id in sorted(key.node_id for key in keys))
