"""What the planner does about the brokers' users of SCRAM, and guard 13-change-user."""

from dataclasses import replace
from typing import Any

import pytest
from tests.model.values import LOOKED_S, SILENT, at_rest, bound, desired, saying, situation, speaking
from tests.plan.test_authority import BOTH, at

from kafka_quorum.model.actions import RemoveScramUser, SetScramUser
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.operation import FeatureOperation
from kafka_quorum.model.permit import Permit
from kafka_quorum.model.plan import Severity
from kafka_quorum.model.quorum import FeatureStep
from kafka_quorum.model.scram import GivenUser, RecordedUsers, ScramHeld, ScramSeen, UserState
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.trust import TrustPolicy
from kafka_quorum.plan.guards.rule13_users import may_change_user
from kafka_quorum.plan.part import Part
from kafka_quorum.plan.planner import plan
from kafka_quorum.plan.security.scram import HELD, USERS, scram_users

WANTED = desired(trust=TrustPolicy(scram_users_secret="users"))  # noqa: S106 - a name
MAKING, MADE, REMOVING = UserState


def seen(
    *given: GivenUser, sha_512: tuple[str, ...] = (), sha_256: tuple[str, ...] = (), **recorded: UserState
) -> ScramSeen:
    """A look: the users of the Secret, those of Kafka, and those of the record."""
    return ScramSeen(
        given=Known(value=given),
        recorded=Known(value=RecordedUsers(users=tuple(sorted(recorded.items())), version="4")),
        held=Known(value=ScramHeld(sha_256=frozenset(sha_256), sha_512=frozenset(sha_512))),
    )


def judged(look: ScramSeen | None, level: int = 33, **changes: Any) -> Situation:  # noqa: ANN401 - any field
    """A quorum at rest with this look at its users."""
    observed = speaking(said=saying(metadata_version=level))
    return situation(WANTED, replace(observed, scram=look, **changes), observed.record)


def planned(look: ScramSeen | None, level: int = 33, **changes: Any) -> Part:  # noqa: ANN401 - any field
    """What the concern returns."""
    return scram_users(judged(look, level, **changes))


ADA, SAME = GivenUser(user="ada"), GivenUser(user="ada", same=True)


def test_a_new_user_is_made() -> None:
    """A user of the Secret that Kafka does not have is made at the leader, over the record that was read."""
    part = planned(seen(ADA))
    made = part.exclusive
    assert isinstance(made, SetScramUser)
    assert (made.user, made.source, made.name, made.version, made.replaces) == (
        "ada",
        "users",
        "alpha-scram",
        "4",
        False,
    )
    assert part.waits == ()


def test_nothing_to_do() -> None:
    """A user that is made with the present password needs nothing; nor does a quorum whose spec names no Secret."""
    assert planned(seen(SAME, sha_512=("ada",), ada=MADE)) == Part()
    assert scram_users(situation(desired(), replace(at_rest(), scram=seen(ADA)))) == Part()
    assert planned(None) == Part()


@pytest.mark.parametrize(
    ("given", "held", "state"),
    [(ADA, ("ada",), MADE), (SAME, ("ada",), MAKING), (SAME, (), MAKING), (SAME, (), MADE), (SAME, (), REMOVING)],
    ids=["another password", "may be half done", "may be not done", "lost in Kafka", "back in the Secret"],
)
def test_a_user_of_ours_is_replaced(given: GivenUser, held: tuple[str, ...], state: UserState) -> None:
    """What was begun is repeated, another password is sent, and what Kafka lost is made again."""
    part = planned(seen(given, sha_512=held, ada=state))
    assert isinstance(part.exclusive, SetScramUser)
    assert part.exclusive.replaces


@pytest.mark.parametrize("state", [MADE, MAKING, REMOVING])
@pytest.mark.parametrize("held", [("ada",), ()])
def test_a_user_that_left_the_secret_is_removed(state: UserState, held: tuple[str, ...]) -> None:
    """However far it was made, and whether or not Kafka has it."""
    part = planned(seen(sha_512=held, ada=state))
    assert isinstance(part.exclusive, RemoveScramUser)


@pytest.mark.parametrize("held", [{"sha_512": ("ada",)}, {"sha_256": ("ada",)}])
def test_a_user_of_others_is_left_alone(held: dict[str, Any]) -> None:
    """A name that Kafka has, by either mechanism, and the record has not, waits for a person; others go on."""
    part = planned(seen(ADA, GivenUser(user="bob"), **held))
    assert isinstance(part.exclusive, SetScramUser)
    assert part.exclusive.user == "bob"
    assert [(wait.reason, wait.severity) for wait in part.waits] == [(HELD, Severity.HELD)]
    assert "ada" in part.waits[0].message
    assert "Secret users" in part.waits[0].message


def test_a_user_of_others_that_nobody_asks_for() -> None:
    """It is not looked at."""
    assert planned(seen(SAME, sha_512=("ada", "eve"), ada=MADE)) == Part()


def test_a_wrong_user_is_named_and_stays_as_it_is() -> None:
    """It is neither made nor removed, its fault is a sentence, and the others are made."""
    wrong = GivenUser(user="bob", fault="its password is empty")
    part = planned(seen(wrong, ADA, sha_512=("bob",), bob=MADE))
    assert isinstance(part.exclusive, SetScramUser)
    assert part.exclusive.user == "ada"
    assert [wait.message for wait in part.waits] == ["Did not make user bob of Secret users: its password is empty"]


@pytest.mark.parametrize("field", ["given", "recorded"])
def test_a_secret_that_was_not_read_is_not_empty(field: str) -> None:
    """No user is made or removed, and the status says why."""
    unread: Any = {field: Unknown(reason="Secret x was not read (403)")}
    part = planned(replace(seen(sha_512=("ada",), ada=MADE), **unread))
    assert part.exclusive is None
    assert [("403" in wait.message, wait.reason) for wait in part.waits] == [(True, HELD)]


def test_an_answer_that_is_missing_is_no_absence() -> None:
    """Without Kafka's answer no user is changed; one that is made already is not made again."""
    unread = Unknown(reason="no answer")
    part = planned(replace(seen(ADA, ada=MADE), held=unread))
    assert part.exclusive is None
    assert ["no answer" in wait.message for wait in part.waits] == [True]
    assert planned(replace(seen(SAME, ada=MADE), held=unread)) == Part()


def test_below_the_level_of_scram() -> None:
    """Below 3.5-IV2 it waits and says what to raise; from there on users are made."""
    part = planned(seen(ADA), level=10)
    assert part.exclusive is None
    assert [("3.5-IV2" in wait.message, wait.severity) for wait in part.waits] == [(True, Severity.HELD)]
    assert planned(seen(ADA), level=11).exclusive is not None


def test_without_a_leader() -> None:
    """It waits for one."""
    part = planned(seen(ADA), quorum=SILENT)
    assert part.exclusive is None
    assert [wait.reason for wait in part.waits] == [USERS]


def test_what_failed_goes_last() -> None:
    """A user that could not be changed a moment ago does not keep the others waiting."""
    part = planned(seen(ADA, GivenUser(user="bob")), failed=frozenset({("user", "ada")}))
    assert isinstance(part.exclusive, SetScramUser)
    assert part.exclusive.user == "bob"


def test_the_guard() -> None:
    """Each reason to refuse is a sentence: another phase, a migration, a change, no leader, no answer, others' user."""
    good = seen(ADA)
    assert isinstance(may_change_user(judged(good), good, "ada"), Permit)
    plain = judged(good)
    unread = Unknown(reason="no answer")
    operation = FeatureOperation(
        id="op", step=FeatureStep(name="metadata.version", level=33), holder="o", started_at="2026-01-01T00:00:00Z"
    )
    changing = judged(good, status=replace(plain.observed.status, open=operation))
    cases = {
        "not started": (replace(plain, record=bound()), good),
        "a change of the voters or of a feature level is open": (changing, good),
        "a migration is under way": (situation(WANTED, plain.observed, at(BOTH)), good),
        "no answer": (plain, replace(good, held=unread)),
        "no answer ": (plain, replace(good, recorded=unread)),
        "no leader": (judged(good, quorum=SILENT), good),
        "this operator did not make": (plain, seen(ADA, sha_256=("ada",))),
    }
    for words, (asked, look) in cases.items():
        verdict = may_change_user(asked, look, "ada")
        assert not verdict.allowed
        assert words.strip() in verdict.reason


def test_an_act_carries_the_time_of_its_look_and_stands_alone() -> None:
    """It is sent on a fresh look only."""
    whole = plan(WANTED, judged(seen(ADA)).observed, now_s=0.0)
    acts = [each for each in whole.actions if isinstance(each, SetScramUser)]
    assert [each.judged_at_s for each in acts] == ([LOOKED_S] if len(whole.actions) == 1 else [])
