"""Kafka's error codes: whose fault, whether to repeat, and whether the request may have had an effect."""

import pytest
from kio.schema.errors import ErrorCode
from tests.live.answers import ADD_VOTER, REMOVE_VOTER

from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.wire.api import Api
from kafka_quorum.wire.refusals import WRITES, judge, refused
from kafka_quorum.wire.requests import (
    add_raft_voter,
    alter_configs,
    alter_reassignments,
    api_versions,
    controller_registration,
    describe_cluster,
    describe_quorum,
    elect_leaders,
    remove_raft_voter,
    unregister_broker,
    unregister_controller,
    update_features,
)
from kit.errors import Fault

ENDPOINT = Endpoint(node_id=NodeID(3000), host="10.1.1.7", port=9093)
DEFINITE = {
    "UNKNOWN_TOPIC_OR_PARTITION",
    "TOPIC_AUTHORIZATION_FAILED",
    "CLUSTER_AUTHORIZATION_FAILED",
    "UNSUPPORTED_SASL_MECHANISM",
    "ILLEGAL_SASL_STATE",
    "SASL_AUTHENTICATION_FAILED",
    "SECURITY_DISABLED",
    "UNSUPPORTED_VERSION",
    "INVALID_REQUEST",
    "INVALID_CONFIG",
    "UNACCEPTABLE_CREDENTIAL",
    "POLICY_VIOLATION",
    "INVALID_UPDATE_VERSION",
    "INVALID_REGISTRATION",
    "THROTTLING_QUOTA_EXCEEDED",
    "INCONSISTENT_CLUSTER_ID",
    "MISMATCHED_ENDPOINT_TYPE",
    "UNSUPPORTED_ENDPOINT_TYPE",
    "INVALID_VOTER_KEY",
    "DUPLICATE_VOTER",
    "VOTER_NOT_FOUND",
}
READS = (api_versions.API, describe_cluster.API, describe_quorum.API, update_features.VALIDATE)
WRITING = (
    add_raft_voter.API,
    remove_raft_voter.API,
    update_features.API,
    controller_registration.API,
    unregister_controller.API,
    alter_configs.API,
    alter_reassignments.API,
    elect_leaders.API,
    unregister_broker.API,
)
CODES = [code for code in ErrorCode if code is not ErrorCode.none]


@pytest.mark.parametrize("api", WRITING, ids=lambda api: api.name)
@pytest.mark.parametrize("code", CODES, ids=lambda code: code.name)
def test_only_known_refusals_of_a_write_are_a_no(code: ErrorCode, api: Api) -> None:
    """A write may have happened after every code except those that a server sends before it appends anything."""
    judgement = judge(api, code)
    assert judgement.outcome_unknown == (code.name.upper() not in DEFINITE)
    assert not (judgement.retry_safe and judgement.outcome_unknown)


@pytest.mark.parametrize("api", READS, ids=lambda api: api.name)
def test_a_question_may_always_be_asked_again(api: Api) -> None:
    """A read can always be repeated, whatever the code."""
    for code in CODES:
        judgement = judge(api, code)
        assert judgement.retry_safe
        assert not judgement.outcome_unknown


def test_every_measured_refusal_is_in_the_table() -> None:
    """No measured answer to an add or a removal is judged by the default."""
    known = {code.name.upper() for code in WRITES}
    assert {case.refused for case in (*ADD_VOTER, *REMOVE_VOTER) if case.refused} <= known


def test_no_refusal_of_a_removal_that_reached_the_log_is_a_no() -> None:
    """If a real leader had appended the smaller voter set before its refusal, the outcome counts as unknown."""
    by_name = {code.name.upper(): code for code in ErrorCode}
    appended = [case.refused for case in REMOVE_VOTER if case.refused and case.appended]
    assert appended
    assert all(judge(remove_raft_voter.API, by_name[name]).outcome_unknown for name in appended)


def test_our_own_mistakes_are_ours() -> None:
    """A request that no server could accept is our fault; a leader that moved is not."""
    for code in (ErrorCode.invalid_request, ErrorCode.inconsistent_cluster_id, ErrorCode.cluster_authorization_failed):
        assert judge(add_raft_voter.API, code).fault is Fault.OURS
    for code in (ErrorCode.not_leader_or_follower, ErrorCode.request_timed_out, ErrorCode.duplicate_voter):
        assert judge(add_raft_voter.API, code).fault is Fault.THEIRS


def test_the_sentence_names_everything() -> None:
    """The sentence has node, address, request, Kafka's name and Kafka's words; the parts are attributes too."""
    error = refused(ENDPOINT, add_raft_voter.API, ErrorCode.duplicate_voter, "The voter id is taken.")
    for part in ("AddRaftVoter", "3000", "10.1.1.7:9093", "DUPLICATE_VOTER", "The voter id is taken."):
        assert part in str(error)
    assert (error.code, error.name, error.server_message) == (126, "DUPLICATE_VOTER", "The voter id is taken.")


@pytest.mark.parametrize("words", [None, "", "  "], ids=["null", "empty", "blank"])
def test_a_server_without_words(words: str | None) -> None:
    """If Kafka sends no message, the sentence has no empty quotation."""
    error = refused(ENDPOINT, describe_quorum.API, ErrorCode.not_leader_or_follower, words)
    assert "NOT_LEADER_OR_FOLLOWER" in str(error)
    assert "None" not in str(error)
    assert not str(error).endswith((":", " "))
    assert error.server_message == ""
