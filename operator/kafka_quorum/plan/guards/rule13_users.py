"""Rule 13: no user of others is changed, and none is changed while it is not known whose it is."""

from kafka_quorum.model.identity import BootstrapPhase
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.permit import ChangeUser
from kafka_quorum.model.scram import ScramSeen
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.guards.registry import Answer, guard, no, unless


@guard(ChangeUser)
def may_change_user(situation: Situation, seen: ScramSeen, user: str) -> Answer:
    """Rule 13: a user of SCRAM is changed only if the operator made it, or Kafka has none of this name."""
    first = f"Did not change user {user} of the brokers"
    observed = situation.observed
    if isinstance(seen.recorded, Unknown):
        return no(f"{first}: {seen.recorded.reason}")
    if isinstance(seen.held, Unknown):
        return no(f"{first}: it is not known which users Kafka has ({seen.held.reason})")
    ours = seen.recorded.value.of(user) is not None
    changing = observed.status.open is not None
    way_out = f"Remove that user from Kafka, or this name from Secret {situation.desired.trust.scram_users_secret}"
    return unless(
        (
            (situation.record.phase is not BootstrapPhase.STARTED, f"{first}: the quorum has not started"),
            (situation.record.migration is not None, f"{first}: a migration is under way"),
            (changing, f"{first}: a change of the voters or of a feature level is open"),
            (isinstance(observed.quorum, Unknown), f"{first}: the quorum has no leader"),
            (
                not ours and user in seen.held.value.users,
                f"{first}: Kafka has a user of this name that this operator did not make. {way_out}",
            ),
        ),
        "the user is this operator's, or new",
    )
