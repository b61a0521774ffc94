"""The brokers' SCRAM users: made from a person's Secret, replaced with their passwords, removed with their keys.

One user at a time. Each is recorded before its request is sent, and once more when Kafka has accepted it: an operator
that is killed in between sends the same request again.
"""

from collections.abc import Iterator
from typing import Final

from kafka_quorum.api.features import METADATA, level_text
from kafka_quorum.model import names
from kafka_quorum.model.actions import RemoveScramUser, SetScramUser, one_object
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.permit import ChangeUser, Permit, Refusal
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.scram import GivenUser, RecordedUsers, ScramSeen, UserState
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.leader import leader_endpoint
from kafka_quorum.plan.guards.rule13_users import may_change_user
from kafka_quorum.plan.part import Part, merged

USERS: Final = "ScramUsers"
HELD: Final = "ScramUsersHeld"
SINCE: Final = 11
"""The level of metadata.version that has SCRAM: 3.5-IV2."""


def scram_users(situation: Situation) -> Part:
    """Everything that the brokers' users need now."""
    source, seen = situation.desired.trust.scram_users_secret, situation.observed.scram
    if not source or seen is None:
        return Part()
    if isinstance(seen.given, Unknown) or isinstance(seen.recorded, Unknown):
        why = "; ".join(one.reason for one in (seen.given, seen.recorded) if isinstance(one, Unknown))
        return Part(waits=(_wait(f"Did not look after the users of the brokers: {why}"),))
    faults = tuple(_fault(source, each) for each in seen.given.value if each.fault)
    wanted = _wanted(seen.given.value, seen.recorded.value, seen)
    return merged((Part(waits=faults), _due(situation, seen, seen.recorded.value, wanted)))


def _due(situation: Situation, seen: ScramSeen, recorded: RecordedUsers, wanted: dict[str, str]) -> Part:
    """Change one of these users, if the quorum can have users now."""
    if not wanted:
        return Part()
    level = situation.present.get(METADATA)
    if level is not None and level < SINCE:
        text = f"{METADATA} is {level_text(METADATA, level)}, and they need {level_text(METADATA, SINCE)} or later"
        return Part(waits=(_wait(f"Did not make the users of the brokers: {text}. Raise it"),))
    leader = leader_endpoint(situation)
    if leader is None or level is None:
        text = "Waiting for the leader, to make the users of the brokers"
        return Part(waits=(_wait(text, Severity.PROGRESS),))
    return _changed(situation, seen, recorded, leader, wanted)


def _wanted(given: tuple[GivenUser, ...], recorded: RecordedUsers, seen: ScramSeen) -> dict[str, str]:
    """The users to make, replace or remove, each with the reason, which is empty for a user to remove."""
    held = seen.held.value.sha_512 if isinstance(seen.held, Known) else None
    found = {}
    for each in given:
        state = recorded.of(each.user)
        if each.fault:
            continue
        if state is None or state is UserState.REMOVING:
            found[each.user] = "it is in the Secret"
        elif not each.same:
            found[each.user] = "the Secret has another password"
        elif state is UserState.MAKING:
            found[each.user] = "the earlier attempt may not have reached Kafka"
        elif held is not None and each.user not in held:
            found[each.user] = "Kafka had lost it"
    names_ = {each.user for each in given}
    return found | {user: "" for user, _ in recorded.users if user not in names_}


def _changed(
    situation: Situation, seen: ScramSeen, recorded: RecordedUsers, leader: Endpoint, wanted: dict[str, str]
) -> Part:
    """The first user that may be changed; one whose change just failed comes last."""
    verdicts = {user: may_change_user(situation, seen, user) for user in sorted(wanted)}
    held = tuple(_wait(one.reason) for one in verdicts.values() if isinstance(one, Refusal))
    ready = (_action(situation, recorded, leader, user, wanted[user], one) for user, one in _permitted(verdicts))
    failed = situation.observed.failed
    first = min(ready, key=lambda one: one_object(one) in failed, default=None)
    told = (one for user, one in verdicts.items() if isinstance(one, Refusal) or (first and first.user == user))
    return Part(exclusive=first, waits=held, verdicts=tuple(told))


def _permitted(verdicts: dict[str, Permit[ChangeUser] | Refusal]) -> Iterator[tuple[str, Permit[ChangeUser]]]:
    return ((user, one) for user, one in verdicts.items() if isinstance(one, Permit))


def _action(
    situation: Situation, recorded: RecordedUsers, leader: Endpoint, user: str, why: str, permit: Permit[ChangeUser]
) -> SetScramUser | RemoveScramUser:
    name = names.scram_name(situation.desired.name)
    source = situation.desired.trust.scram_users_secret
    if not why:
        text = f"user {user} of the brokers is removed: it is not in Secret {source} any more"
        return RemoveScramUser(
            name=name, user=user, version=recorded.version, leader=leader, message=text, permit=permit
        )
    replaces = recorded.of(user) is not None
    return SetScramUser(
        name=name,
        user=user,
        source=source,
        version=recorded.version,
        leader=leader,
        replaces=replaces,
        message=f"user {user} of the brokers is {'replaced' if replaces else 'made'}: {why}",
        permit=permit,
    )


def _fault(source: str, given: GivenUser) -> Wait:
    return _wait(f"Did not make user {given.user} of Secret {source}: {given.fault}")


def _wait(message: str, severity: Severity = Severity.HELD) -> Wait:
    return Wait(severity=severity, reason=HELD if severity is Severity.HELD else USERS, message=message)
