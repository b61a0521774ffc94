"""The plan that follows from a verdict: which log survives, what is given up, each step, and a hash over all of it."""

from kafka_quorum.model.identity import BootstrapPhase
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.journal import SCHEMA, Candidate, Journal, RecoveryStage
from kafka_quorum.model.known import Known
from kafka_quorum.model.names import digest, without_defaults
from kafka_quorum.model.proposal import LossVerdict, Proposal
from kafka_quorum.model.recovery import taken_back
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.verdict import verdict


def judged_loss(situation: Situation) -> LossVerdict | None:
    """The verdict, while disks are read: it is requested, the quorum has started, and no leader answers."""
    record = situation.record
    begun = record.phase is not BootstrapPhase.STARTED or record.recovery is not None
    if begun or not situation.desired.recovery.inspect or isinstance(situation.observed.quorum, Known):
        return None
    return verdict(situation)


def proposal(situation: Situation, judged: LossVerdict | None = None) -> Proposal | None:
    """The plan, if the verdict leads to one. `judged` is the verdict, if it was made already."""
    found = verdict(situation) if judged is None else judged
    if not found.kind.recoverable or found.best is None:
        return None
    best = found.best
    kept = tuple(each for each in found.others if not each.source.is_seed)
    node_id = _becomes(situation, best)
    lost = tuple(key for key in found.voters if key in found.lost)
    return Proposal(
        hash=_hash(situation, found, kept, node_id),
        verdict=found,
        node_id=node_id,
        survivor=best,
        kept=kept,
        lost=lost,
        steps=_steps(best, kept, node_id),
    )


def journal_of(situation: Situation, planned: Proposal) -> Journal:
    """The journal with which this plan begins."""
    return Journal(
        schema=SCHEMA,
        epoch=situation.record.recovery_epoch + 1,
        plan=planned.hash,
        cluster_id=situation.record.cluster_id,
        stage=RecoveryStage.STOP,
        node_id=planned.node_id,
        survivor=planned.survivor,
        kept=planned.kept,
        lost=planned.lost,
        leader_epoch=planned.verdict.leader_epoch,
    )


def _becomes(situation: Situation, best: Candidate) -> NodeID:
    """The controller that continues with the best log: its own, or the lowest one that is wanted for a seed."""
    if best.source.node_id is not None:
        return best.source.node_id
    ids = [node_id for node_id in situation.record.node_ids if node_id in situation.requested]
    return min(ids or situation.record.node_ids)


def _hash(situation: Situation, found: LossVerdict, kept: tuple[Candidate, ...], node_id: NodeID) -> str:
    """A hash over every fact that the plan relies on. The words of messages are none of them.

    The epochs that controllers reach by asking for votes are left out: they grow until the controllers stop. Copies of
    a recovery that was taken back are one of the facts. Its controllers ran again, and changed their disks, so a second
    recovery makes copies under other names, which have the hash in them. When a person has deleted the copies, the
    number of such recoveries still makes another hash: an approval that was left in the spec begins nothing.
    """
    record, known = situation.record, found.watermark
    best, earlier = found.best, [each.name for each in taken_back(situation.record, situation.observed.copies)]
    return digest(
        {
            "cluster": record.cluster_id,
            "epoch": record.recovery_epoch + 1,
            "kind": found.kind.value,
            "loss": found.loss_at_least,
            "watermark": None if known is None else [known.epoch, known.offset],
            "becomes": node_id,
            "survivor": None if best is None else without_defaults(best),
            "kept": [without_defaults(each) for each in kept],
            "voters": sorted(map(str, found.voters)),
            "lost": sorted(map(str, found.lost)),
            "without": list(situation.desired.recovery.without),
            **({"earlier": sorted(earlier)} if earlier else {}),
            **({"taken_back": record.recoveries_taken_back} if record.recoveries_taken_back else {}),
        }
    )


def _steps(best: Candidate, kept: tuple[Candidate, ...], node_id: NodeID) -> tuple[str, ...]:
    """What is done, in order, for the person who approves it."""
    copied = [str(each.source) for each in (best, *kept) if not each.source.is_seed]
    seeded = (f"Format a new disk of controller {node_id}, and copy the log of {best.source} there",)
    return (
        "Stop every controller",
        *((f"Copy {', '.join(copied)} to new claims, and compare every file",) if copied else ()),
        f"Give up every other disk for good: only the log of {best.source} is used",
        *(seeded if best.source.is_seed else ()),
        f"Make controller {node_id} the only voter in that log, behind {best.end}",
        f"Start controller {node_id} alone, and wait until it has committed new records",
        "Let the other controllers join on new disks",
        "Keep the copies and the old disks until a person releases them",
    )
