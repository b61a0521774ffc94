"""The guards: what the operator never does, as code, once. The numbers are those of the safety rules in docs/safety.md.

Absolute rules: 1 no initial format after the quorum may have started; 2 no directory id on a disk that is not its own;
6 no volume deleted that holds a voter, or the only caught-up copy; 7 no image older than the levels it would read, and
no level that somebody cannot read (in `rolling_safety`); 8 unknown is not empty; 9 no `--release-version` (see
`resources.pods`). Rules by knowledge: 3 the projected voter set keeps a live, caught-up majority; 4 one voter change at
a time; 5 one controller restarted at a time.

Each guard is one function and returns a `Verdict`; its reason is what the log, the event and the condition say.
"""

from typing import Final

from kafka_quorum.model.desired import Cure, Desired
from kafka_quorum.model.identity import BootstrapPhase, FormatMode, NodeIdentity
from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.nodes import is_foreign, is_former_claim, node_of
from kafka_quorum.model.observed import Claim, Observed, Pod, PodRole, QuorumView
from kafka_quorum.model.plan import Verdict
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.disk_safety import STATIC, takes_empty_disks
from kafka_quorum.plan.kept_disks import why_kept
from kafka_quorum.plan.verdict import no, unless, yes

GUARDS: Final = (
    "1-initial-format",
    "1-format-newcomer",
    "1-start",
    "2-run",
    "2-retire-disk",
    "2-retire-node",
    "3-add-voter",
    "3-remove-voter",
    "3-remove-leader",
    "3-hand-over",
    "3-replace-pod",
    "3-stop-retired",
    "4-drop-node",
    "4-one-change",
    "5-restart",
    "6-delete-volume",
    "7-cure-ghost",
    "7-drop-static",
    "7-image",
    "7-lower",
    "7-raise",
    "8-adopt",
    "8-mint",
)
"""Every guard of this file, `disk_safety` and `rolling_safety`; the simulation proves that each has said yes and no."""

CAUGHT_UP_LOOKS: Final = 3
"""In how many looks in a row a newcomer must be caught up before it is added."""


# Rules 1 and 8: identity, and the first formats


def may_mint(observed: Observed) -> Verdict:
    """Rule 8: a new identity only where there is no record, and no trace that there ever was one."""
    traces = [
        *(f"claim {claim.name}" for claim in observed.claims),
        *(f"pod {pod.name}" for pod in observed.pods),
        *(str(stranger) for stranger in observed.strangers if stranger.identified),
    ]
    if observed.status.cluster_id is not None:
        traces.append(f"status.clusterID {observed.status.cluster_id}")
    if observed.record is not None or observed.record_fault:
        traces.append("the identity ConfigMap")
    if traces:
        return no("8-mint", f"no new identity is made: there are traces of one ({', '.join(traces)})")
    return yes("8-mint", "there is no record and no trace of an earlier quorum")


def may_adopt(desired: Desired, observed: Observed) -> Verdict:
    """Rule 8: a quorum of somebody else's is taken over from all its disks at once, and from nothing less."""
    rule = "8-adopt"
    generation = "-g1"
    names = {f"{desired.name}-{node_id}{generation}" for node_id in desired.node_ids}
    there = {claim.name for claim in observed.claims if not claim.deleting}
    missing, more = ", ".join(sorted(names - there)), ", ".join(sorted(there - names))
    labels = f"kafkaquorum.io/quorum={desired.name} and kafkaquorum.io/node-id=ID"
    pods = ", ".join(pod.name for pod in observed.pods)
    return unless(
        rule,
        (
            (desired.cluster_id is None or not desired.node_ids, "name spec.clusterID and spec.controllers.nodeIDs"),
            (bool(missing), f"claims {missing} are not there: make them, with the labels {labels}"),
            (bool(more), f"claims {more} have this quorum's label, and no controller of spec.controllers.nodeIDs"),
            (bool(pods), f"pods {pods} have this quorum's label: stop what runs on these disks first"),
        ),
        f"every disk of cluster {desired.cluster_id} is there",
    )


def may_format_initial(situation: Situation, node: NodeIdentity) -> Verdict:
    """Rule 1: initial voters are formatted before the barrier only, with their pre-made directory ids."""
    rule = "1-initial-format"
    if situation.record.phase is not BootstrapPhase.FORMATTING:
        return no(rule, f"controller {node.node_id} is not formatted as an initial voter: the quorum may have started")
    if node.key not in situation.record.initial or node.mode is FormatMode.NO_INITIAL_CONTROLLERS:
        return no(rule, f"controller {node.node_id} is not one of the initial controllers")
    if kafka := [pod.name for pod in situation.observed.pods if pod.role is PodRole.KAFKA]:
        return no(rule, f"pods that run Kafka exist already ({', '.join(kafka)}): the quorum may have started")
    return _claim_is_ours(situation, "1-initial-format", node)


def may_format_newcomer(situation: Situation, node: NodeIdentity) -> Verdict:
    """Rules 1 and 2: behind the barrier a disk is formatted without initial controllers, to catch up with a quorum."""
    rule = "1-format-newcomer"
    if situation.record.phase is not BootstrapPhase.STARTED:
        return no(rule, f"controller {node.node_id} joins later: the initial controllers are being formatted")
    if node.mode is not FormatMode.NO_INITIAL_CONTROLLERS or node.formatted:
        return no(rule, f"controller {node.node_id} has a formatted disk")
    if kafka := situation.observed.pods_of(node.node_id, PodRole.KAFKA):
        return no(rule, f"pod {kafka[0].name} still holds the disk of controller {node.node_id}")
    match situation.observed.quorum:
        case Unknown(reason=reason):
            return no(rule, f"controller {node.node_id} is formatted once the quorum has a leader: {reason}")
        case Known(value=view):
            if (other := _somebody_else(view, node)) is not None:
                way_out = "choose another id in spec.controllers.nodeIDs, or stop that one"
                return no(rule, f"node id {node.node_id} is in use elsewhere, by replica {other}: {way_out}")
            return _claim_is_ours(situation, rule, node)


def _somebody_else(view: QuorumView, node: NodeIdentity) -> ReplicaKey | None:
    """A replica that fetches under this node id, and is none that this node ever was."""
    ours = {node.directory_id, *node.lost}
    foreign = (key for key in view.live if key.node_id == node.node_id and key.directory_id not in ours)
    return next(iter(sorted(foreign, key=str)), None)


def may_start(situation: Situation, initial: tuple[NodeIdentity, ...], quorum: str) -> Verdict:
    """Rule 1, the barrier: `Started` is written once every initial controller has reported its format."""
    rule = "1-start"
    missing = [str(node.node_id) for node in initial if not node.formatted]
    if missing:
        return no(rule, f"the quorum starts once controllers {', '.join(missing)} are formatted")
    if any(item.name.startswith(f"{quorum}-format-") for item in situation.observed.support):
        return no(rule, "the quorum starts once the config map of its initial format is gone, and no formatter can run")
    for node in initial:
        verdict = _claim_is_ours(situation, rule, node)
        if not verdict.allowed:
            return verdict
    return yes(rule, "every initial controller is formatted")


# Rule 2: whose disk it is, and when it is given up


def may_run(situation: Situation, node: NodeIdentity, *, mirrored: bool) -> Verdict:
    """Rule 2: Kafka runs on a claim only with the directory id that was formatted there, and behind the barrier."""
    record = situation.record
    rule = "2-run"
    formatters = situation.observed.pods_of(node.node_id, PodRole.FORMATTER)
    holds = f"formatter {formatters[0].name} still holds" if formatters else ""
    static = record.static and node.mode is FormatMode.NO_INITIAL_CONTROLLERS
    first = f"controller {node.node_id}, whose new disk knows no voters, starts once"
    verdict = unless(
        rule,
        (
            (
                record.phase is not BootstrapPhase.STARTED,
                f"controller {node.node_id} starts when every initial controller is formatted",
            ),
            (
                not node.formatted or node.directory_id is None,
                f"the disk of controller {node.node_id} is not formatted",
            ),
            (
                node.directory_id in record.retired,
                f"directory id {node.directory_id} is retired: its disk was lost, or its controller removed",
            ),
            (bool(formatters), f"{holds} the disk of controller {node.node_id}"),
            (static, f"{first} controller.quorum.voters is dropped: it would take itself for one of them"),
            (not mirrored, f"the identity of controller {node.node_id} is being written to status and claim first"),
        ),
        "",
    )
    return _claim_is_ours(situation, rule, node) if verdict.allowed else verdict


def may_retire_node(situation: Situation, node: NodeIdentity) -> Verdict:
    """Rule 2: the disk on a lost node is given up where Kubernetes and the quorum have agreed on it long enough.

    One voter at a time, and only while the others carry the quorum: a node that is given up needs nobody's return. A
    disk whose replica is no voter takes nothing away, and a stale vote of its own waits for its successor.
    """
    observed = situation.observed
    rule = "2-retire-node"
    down = f"node {node_of(observed, node)} of controller {node.node_id} is down"
    if isinstance(observed.quorum, Unknown):
        return no(rule, f"{down}, and it is not replaced while there is no leader: {observed.quorum.reason}")
    view, after_s = observed.quorum.value, situation.desired.replacement.lost_node_after_s
    stale = ", ".join(sorted(str(key) for key in view.voters - {other.key for other in situation.record.nodes}))
    healthy, majority = len((view.voters & view.caught_up) - {node.key}), len(view.voters) // 2 + 1
    votes = node.key in view.voters
    way_out = "set spec.controllers.replacement.lostNode to Automatic, or bring the node back"
    return unless(
        rule,
        (
            (node.key in view.live, f"replica {node.key} still fetches: its node is not lost"),
            (takes_empty_disks(situation), f"{down}, and {STATIC}"),
            (
                situation.desired.replacement.lost_node is Cure.MANUAL,
                f"{down}, and its replacement is Manual: {way_out}",
            ),
            (
                observed.memory.lost_for_s(node.key) < after_s,
                f"{down} and its replica does not fetch: after {after_s} s of both it is replaced on another node",
            ),
            (votes and bool(stale), f"{down}, and it is replaced once the stale voters {stale} are removed"),
            (
                votes and healthy < majority,
                f"{down}, and it is not replaced now: {healthy} other voters are caught up, and {majority} must be",
            ),
        ),
        f"{down} for {after_s} s, and its replica does not fetch",
    )


# Rules 3 and 5: pods that do not run, or on a disk of no use


def may_replace_pod(pod: Pod, *, kept: str = "") -> Verdict:
    """Rules 3 and 5: a pod whose Kafka does not run may be replaced on its own disk: that takes nothing away.

    Unless the disk goes with the pod, and is needed: `kept` says why (`kept_disks`).
    """
    if pod.running and not pod.finished:
        return no("3-replace-pod", f"Kafka runs in pod {pod.name}: restarting it takes a voter away")
    if kept:
        return no("3-replace-pod", f"pod {pod.name} is not replaced: {kept}")
    return yes("3-replace-pod", f"Kafka does not run in pod {pod.name}")


def may_stop_retired(situation: Situation, pod: Pod) -> Verdict:
    """Rules 3 and 4: a pod on a retired disk is stopped once it is no voter, or where the others carry the quorum.

    Never one that fetches while the voter set is on its way to another: the change may wait for the very cure that
    the pod holds up.
    """
    observed = situation.observed
    rule = "3-stop-retired"
    key = ReplicaKey(node_id=pod.node_id, directory_id=pod.directory_id)
    if pod.directory_id not in situation.record.retired:
        return no(rule, f"pod {pod.name} runs replica {key}, which this quorum never retired: it is left alone")
    if isinstance(observed.quorum, Unknown):
        return no(rule, f"pod {pod.name} is stopped once the quorum has a leader: {observed.quorum.reason}")
    view, operation = observed.quorum.value, observed.status.operation
    votes = key in view.voters
    other = operation is not None and operation.target.node_id != pod.node_id
    healthy, majority = len((view.voters & view.caught_up) - {key}), len(view.voters) // 2 + 1
    without = f"without it {healthy} of {len(view.voters)} voters would be caught up, and {majority} must be"
    return unless(
        rule,
        (
            (not view.committed, f"pod {pod.name} is stopped once the present voter set is committed"),
            (
                votes and other and key in view.live,
                f"pod {pod.name} is stopped once the change that is open is closed",
            ),
            (votes and healthy < majority, f"pod {pod.name} goes on: {without}"),
        ),
        f"{key} is retired, and {healthy} of {len(view.voters)} voters are caught up without it"
        if votes
        else f"{key} is retired and no voter",
    )


# Rules 3 and 4: the voter set


def may_change_voters(view: QuorumView, target: ReplicaKey, open_target: ReplicaKey | None) -> Verdict:
    """Rule 4: one voter change at a time, and none while another is uncommitted."""
    rule = "4-one-change"
    if open_target is not None and open_target != target:
        return no(rule, f"the change of {target} waits until the change of {open_target} is done")
    if not view.committed:
        return no(rule, f"the change of {target} waits until the present voter set is committed")
    return yes(rule, "no voter change is in flight")


def may_add_voter(
    view: QuorumView, observed: Observed, target: ReplicaKey, wanted: int, others: tuple[ReplicaKey, ...]
) -> Verdict:
    """Rule 3: add an observer that caught up, if the projected voter set keeps a live, caught-up majority without it.

    From one voter to two the newcomer itself counts, once it was caught up in three looks and, where three or more
    voters are wanted, another newcomer (`others`) is caught up as well.
    """
    rule = "3-add-voter"
    if (voter := view.voter_of(target.node_id)) is not None:
        return no(rule, f"{target} cannot be added: node id {target.node_id} is a voter already, as {voter}")
    looks = observed.memory.looks(target)
    if target not in view.caught_up or looks < CAUGHT_UP_LOOKS:
        return no(rule, f"{target} catches up: caught up in {looks} of {CAUGHT_UP_LOOKS} looks")
    if not any(pod.running and not pod.deleting for pod in observed.pods_of(target.node_id, PodRole.KAFKA)):
        return no(rule, f"{target} is not added now: its pod does not run, or is on its way out")
    healthy, majority = len(view.voters & view.caught_up), (len(view.voters) + 1) // 2 + 1
    if len(view.voters) == 1:
        second = [key for key in others if observed.memory.looks(key) >= CAUGHT_UP_LOOKS]
        if wanted > 2 and not second:  # noqa: PLR2004 - more than the pair that this change makes
            return no(rule, f"{target} is added once a further controller has caught up: two voters survive no loss")
        healthy += 1
    if healthy < majority:
        needs = f"{majority} of {len(view.voters) + 1} voters must be caught up, and {healthy} are"
        return no(rule, f"{target} is not added now: {needs}")
    return yes(rule, f"{target} is caught up, and so are {healthy} of {len(view.voters) + 1} voters")


def may_remove_voter(situation: Situation, view: QuorumView, target: ReplicaKey, *, fewer: str = "") -> Verdict:
    """Rule 3: a voter is removed if those that stay keep a live, caught-up majority without it.

    A lost disk's voter is removed only where it does not fetch: else it runs somewhere. One whose controller was
    removed goes all the same. Where fewer voters than wanted would stay, a successor must be ready to be added: `fewer`
    names the controllers of which none is.
    """
    record = situation.record
    rule = "3-remove-voter"
    node = record.node(target.node_id)
    stale = node is not None and target != node.key
    unknown = stale and target.directory_id not in record.retired
    way_out = "set spec.controllers.replacement.lostDisk to Automatic, or remove it yourself"
    remaining = view.voters - {target}
    healthy, majority = len(remaining & view.caught_up), len(remaining) // 2 + 1
    needs = f"{majority} of the {len(remaining)} voters that stay must be caught up, and {healthy} are"
    successor = f"too few voters would stay. It goes when one of controllers {fewer} is ready to join in its place"
    return unless(
        rule,
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
            (not remaining, f"{target} is the only voter"),
            (healthy < majority, f"{target} is not removed now: {needs}"),
            (bool(fewer), f"{target} is not removed now: {successor}"),
        ),
        f"{healthy} of the {len(remaining)} voters that stay are caught up",
    )


def may_remove_leader(view: QuorumView, target: ReplicaKey) -> Verdict:
    """Rule 3: the leader of a pair does not remove itself.

    Should it fail before the other has fetched the change, its own log would be the longer one and say that it is no
    voter, and the other would lack its vote: no leader ever again (measured, tests/live/test_pair.py).
    """
    rule = "3-remove-leader"
    leads = target in view.voters and target.node_id == view.answer.leader_id
    if leads and len(view.voters) == 2:  # noqa: PLR2004 - a pair
        (other,) = view.voters - {target}
        text = f"{target} leads, and {other} is the only other voter: a crash now could leave neither able to lead"
        return no(rule, f"{text}, so {target} hands over first")
    return yes(rule, f"{target} is not the leader of a pair")


def may_hand_over(situation: Situation, view: QuorumView, target: ReplicaKey) -> Verdict:
    """Rules 3 to 5: the leader of a pair that is to be removed is restarted, so that the other one leads.

    Nothing covers a restart in a pair: it interrupts the quorum until the pod is back, which takes leave to do so. A
    pod that would not be back, because its disk goes with it, takes the quorum with it.
    """
    rule = "3-hand-over"
    (other,) = view.voters - {target}
    record = situation.observed.record
    node = record.node(target.node_id) if record is not None else None
    kept = why_kept(situation, node) if record is not None and node is not None else ""
    running = all(
        any(pod.running and not pod.deleting for pod in situation.observed.pods_of(key.node_id, PodRole.KAFKA))
        for key in (target, other)
    )
    first = f"{target} hands over to {other} once"
    return unless(
        rule,
        (
            (not view.committed, f"{first} the present voter set is committed"),
            (other not in view.caught_up, f"{first} that is caught up"),
            (not running, f"{first} the pods of both run, and none is on its way out"),
            (bool(kept), f"controller {target.node_id} does not restart to hand over: {kept}"),
            (
                not situation.desired.allow_interruption,
                f"{first} spec.controllers.allowInterruption is true: its restart interrupts a quorum of two",
            ),
        ),
        f"{other} is caught up, and leads once {target} stops",
    )


# Rules 4 and 6: what is left of a controller that goes


def may_drop_node(situation: Situation, node: NodeIdentity) -> Verdict:
    """Rules 4 and 6: a controller is dropped from the record once its removal from the voters is seen committed."""
    observed = situation.observed
    rule = "4-drop-node"
    if isinstance(observed.quorum, Unknown):
        return no(rule, f"controller {node.node_id} is removed once the quorum has a leader: {observed.quorum.reason}")
    view, operation = observed.quorum.value, observed.status.operation
    voter = view.voter_of(node.node_id)
    is_open = operation is not None and operation.target.node_id == node.node_id
    return unless(
        rule,
        (
            (voter is not None, f"controller {node.node_id} goes once voter {voter} is removed"),
            (not view.committed, f"controller {node.node_id} goes once its removal from the voters is committed"),
            (is_open, f"controller {node.node_id} goes once its change is closed"),
            (len(situation.record.nodes) == 1, f"controller {node.node_id} is the last one"),
        ),
        f"controller {node.node_id} is no voter, and that is committed",
    )


def may_delete_claim(situation: Situation, claim: Claim) -> Verdict:
    """Rule 6: a volume goes when its replica is retired, no voter by a committed set, and others have its data."""
    record, observed = situation.record, situation.observed
    rule = "6-delete-volume"
    if isinstance(observed.quorum, Unknown):
        return no(rule, f"claim {claim.name} is kept while there is no leader: {observed.quorum.reason}")
    view = observed.quorum.value
    pods = [pod.name for pod in observed.pods if pod.claim_name == claim.name]
    voting = {key.directory_id for key in view.voters | (view.committed_voters or view.voters)}
    unknown = claim.cluster_id != record.cluster_id or (claim.directory_id or None) not in {None, *record.retired}
    healthy, majority = len(view.voters & view.caught_up), len(view.voters) // 2 + 1
    # An emptied disk is used again under its claim: which of its controller's replicas it held, no annotation tells.
    stale = sorted(
        str(key) for key in view.voters if key.node_id == claim.node_id and key.directory_id in record.retired
    )
    return unless(
        rule,
        (
            (any(_is_claim_of(claim, node) for node in record.nodes), f"claim {claim.name} is a controller's disk"),
            (not is_former_claim(record, claim), f"claim {claim.name} is none that this quorum ever had: it stays"),
            (unknown, f"claim {claim.name} holds no replica that this quorum retired: it is left alone"),
            (bool(pods), f"claim {claim.name} is kept until pods {', '.join(pods)} are gone"),
            (
                claim.directory_id is not None and claim.directory_id in voting,
                f"claim {claim.name} is kept while its replica {claim.directory_id} is a voter",
            ),
            (claim.kept, f"claim {claim.name} is kept: data was found on it after it was retired"),
            (bool(stale), f"claim {claim.name} is kept while {', '.join(stale)}, which it may hold, is a voter"),
            (not view.committed, f"claim {claim.name} is kept until the present voter set is committed"),
            (
                healthy < majority,
                f"claim {claim.name} is kept: {healthy} voters are caught up, and {majority} must be",
            ),
        ),
        f"claim {claim.name} holds no voter, and {healthy} voters have its data",
    )


# What guards have in common


def _claim_is_ours(situation: Situation, rule: str, node: NodeIdentity) -> Verdict:
    """Whether the disk that a pod would mount is the one in the record."""
    claim = next((claim for claim in situation.observed.claims if _is_claim_of(claim, node)), None)
    if claim is None or node.claim_uid is None:
        return no(rule, f"the claim of controller {node.node_id} is not there yet")
    if claim.uid != node.claim_uid:
        both = f"uid {claim.uid} instead of {node.claim_uid}"
        return no(rule, f"claim {claim.name} is another than the record's: {both}")
    if claim.deleting or claim.lost:
        state = "being deleted" if claim.deleting else "without its volume"
        return no(rule, f"claim {claim.name} is {state}")
    return yes(rule, f"claim {claim.name} is the one in the record of cluster {situation.record.cluster_id}")


def _is_claim_of(claim: Claim, node: NodeIdentity) -> bool:
    return claim.node_id == node.node_id and claim.generation == node.generation
