"""Claims that no controller of the record uses: marked as retired, and deleted if the policy says so."""

from kafka_quorum.model.actions import AnnotateClaim, DeleteClaim
from kafka_quorum.model.desired import VolumeFate
from kafka_quorum.model.identity import BootstrapPhase
from kafka_quorum.model.ids import DirectoryID
from kafka_quorum.model.names import RETIRED, claim_name
from kafka_quorum.model.nodes import is_former_claim
from kafka_quorum.model.observed import Claim
from kafka_quorum.model.permit import Refusal
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.guards.rule6_volumes import may_delete_claim
from kafka_quorum.plan.part import Part, merged


def released(situation: Situation) -> Part:
    """Claims that no controller of the record uses: marked as retired, and deleted if the policy says so.

    With an invalid spec they are only marked, because the policy comes from an earlier spec.
    """
    if situation.record.phase is not BootstrapPhase.STARTED:
        return Part()
    present = {claim_name(situation.desired.member(node.node_id), node.generation) for node in situation.record.nodes}
    left = (claim for claim in situation.observed.claims if claim.name not in present and not claim.deleting)
    return merged(_release(situation, claim) for claim in left)


def _release(situation: Situation, claim: Claim) -> Part:
    delete = not situation.repair_only
    if not is_former_claim(situation.record, claim):
        return Part(verdicts=(may_delete_claim(situation, claim),)) if delete else Part()
    retired = claim.directory_id in situation.record.retired
    if retired and claim.phase != RETIRED:
        directory_id = DirectoryID(claim.directory_id) if claim.directory_id else None
        mark = AnnotateClaim(claim=claim, directory_id=directory_id, grow_to=None, retired=True)
        return Part(actions=(mark,))
    if not delete or claim.kept or situation.desired.storage.when_scaled is VolumeFate.RETAIN:
        return Part()
    verdict = may_delete_claim(situation, claim)
    if isinstance(verdict, Refusal):
        return Part(verdicts=(verdict,))
    message = f"claim {claim.name} is deleted: {verdict.reason}"
    return Part(actions=(DeleteClaim(claim=claim, message=message, permit=verdict),), verdicts=(verdict,))
