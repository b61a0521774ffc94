"""What each of Kafka's error codes means: which side is at fault, may it be sent again, may it have happened.

There is one table for requests that write. Measured on real servers: an error is a "no" only if the server decides it
before it appends anything. So a code is definite only if its place in Kafka's own handler is known. (The live tests
compare the codes of AddRaftVoter, RemoveRaftVoter and UpdateFeatures with a server.) A code that is not in the table
counts as "may have happened". A request that only reads changes nothing: it may always be sent again, with any code.
"""

from dataclasses import dataclass

from kio.schema.errors import ErrorCode

from kafka_quorum.errors import KafkaRefused
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire.api import Api, Effect
from kafka_quorum.wire.codec import error_name
from kit.errors import Fault
from kit.text import MESSAGE_MAX_CHARS, clean


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What one error code means; the fields are those of `KafkaError`."""

    fault: Fault
    retry_safe: bool
    outcome_unknown: bool


_OUR_MISTAKE = Judgement(fault=Fault.OURS, retry_safe=False, outcome_unknown=False)
_DEFINITE_NO = Judgement(fault=Fault.THEIRS, retry_safe=False, outcome_unknown=False)
_MAYBE = Judgement(fault=Fault.THEIRS, retry_safe=False, outcome_unknown=True)
_NOT_NOW = Judgement(fault=Fault.THEIRS, retry_safe=True, outcome_unknown=False)

WRITES: dict[ErrorCode, Judgement] = {
    ErrorCode.unknown_server_error: _MAYBE,
    ErrorCode.unknown_topic_or_partition: _OUR_MISTAKE,
    # A leader that resigns after the append answers this too, and a successor may commit the appended record.
    ErrorCode.not_leader_or_follower: _MAYBE,
    # So does an active controller that loses its role after it has written a feature level: measured, with two voters
    # and one of them frozen.
    ErrorCode.not_controller: _MAYBE,
    # Sent at once for a change in flight or a newcomer that does not answer. Sent late for a change that does not
    # commit. Such a change stays in the log, and this leader or the next one may still commit it.
    ErrorCode.request_timed_out: _MAYBE,
    ErrorCode.network_exception: _MAYBE,
    ErrorCode.topic_authorization_failed: _OUR_MISTAKE,
    ErrorCode.cluster_authorization_failed: _OUR_MISTAKE,
    ErrorCode.unsupported_sasl_mechanism: _OUR_MISTAKE,
    ErrorCode.illegal_sasl_state: _OUR_MISTAKE,
    ErrorCode.sasl_authentication_failed: _OUR_MISTAKE,
    ErrorCode.security_disabled: _OUR_MISTAKE,
    # kraft.version 0: no voter set to change. metadata.version below 4.4: no controller can be unregistered.
    ErrorCode.unsupported_version: _DEFINITE_NO,
    ErrorCode.invalid_request: _OUR_MISTAKE,
    # A setting that does not exist, or a value that it cannot have.
    ErrorCode.invalid_config: _OUR_MISTAKE,
    # A number of iterations that is too low or too high.
    ErrorCode.unacceptable_credential: _OUR_MISTAKE,
    ErrorCode.policy_violation: _DEFINITE_NO,
    # A level that is out of range, that some registered node does not support, or that depends on another feature.
    ErrorCode.invalid_update_version: _DEFINITE_NO,
    # No server of these releases answers it, so its place in a handler is unknown.
    ErrorCode.feature_update_failed: _MAYBE,
    ErrorCode.invalid_registration: _OUR_MISTAKE,
    ErrorCode.throttling_quota_exceeded: _NOT_NOW,
    ErrorCode.inconsistent_cluster_id: _OUR_MISTAKE,
    ErrorCode.mismatched_endpoint_type: _OUR_MISTAKE,
    ErrorCode.unsupported_endpoint_type: _OUR_MISTAKE,
    ErrorCode.invalid_voter_key: _OUR_MISTAKE,
    ErrorCode.duplicate_voter: _DEFINITE_NO,
    # No voter has this replica key, or it is the last one.
    ErrorCode.voter_not_found: _DEFINITE_NO,
}


def judge(api: Api, code: ErrorCode) -> Judgement:
    """The meaning of a code as the answer to this request."""
    judgement = WRITES.get(code, _MAYBE)
    if api.effect is Effect.READS:
        return Judgement(fault=judgement.fault, retry_safe=True, outcome_unknown=False)
    return judgement


def refused(endpoint: Endpoint, api: Api, code: ErrorCode, server_message: str | None) -> KafkaRefused:
    """The error to raise for an answer with a code other than zero."""
    judgement, name, words = (
        judge(api, code),
        error_name(code),
        clean(server_message or "", max_chars=MESSAGE_MAX_CHARS),
    )
    said = f": {words}" if words else ""
    return KafkaRefused(
        f"{api.server} {endpoint} answered {api.name} with {name}{said}",
        code=int(code),
        name=name,
        server_message=words,
        fault=judgement.fault,
        retry_safe=judgement.retry_safe,
        outcome_unknown=judgement.outcome_unknown,
    )
