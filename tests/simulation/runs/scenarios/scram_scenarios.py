"""The brokers' users of SCRAM: made, replaced and removed from a person's Secret; users of others stay."""

import base64
import hashlib
from collections.abc import Callable
from typing import Final

from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.scenarios.scenes import Act, Scenario, When, always, is_ready, says, spec_of, turn

from kafka_quorum.model.names import USED_BY, reader, scram_name
from kafka_quorum.model.scram import ScramCredential, ScramMechanism
from kit.kube.secrets import SECRETS

SECRET: Final = "brokers-users"  # noqa: S105 - a name
_SPEC: Final = {"security": {"brokers": {"scramUsersSecretName": SECRET}}}
_EVE: Final = ScramCredential(
    user="eve", mechanism=ScramMechanism.SHA_512, iterations=4096, salt=b"hers", salted_password=b"hers"
)
_FIRST: Final = {"ada": "password of ada", "bob": "password of bob"}
_SECOND: Final = {"ada": "password of ada", "bob": "password of bob", "eve": "password of eve"}
_THIRD: Final = {"ada": "another one of ada", "carol": "password of carol"}


def _gives(users: dict[str, str]) -> Act:
    """A person writes the Secret."""

    def act(world: World, _: Checker) -> None:
        data = {user: base64.b64encode(word.encode()).decode() for user, word in users.items()}
        metadata = {"name": SECRET, "namespace": NAMESPACE, "annotations": {USED_BY: reader(NAME)}}
        if world.kube.view(SECRETS, NAMESPACE, SECRET) is not None:
            world.kube.remove(SECRETS, NAMESPACE, SECRET)
        world.kube.create(SECRETS, NAMESPACE, {"metadata": metadata, "data": data})

    return act


def _others_make_eve(world: World, _: Checker) -> None:
    """Somebody makes a user by Kafka's own tools."""
    leader = next((one for one in world.kraft.processes if one.leads), None)
    if leader is None:
        world.later(2, lambda: _others_make_eve(world, _))
        return
    world.kraft.append(leader, "user eve", users=(*leader.disk.image.users, _EVE))
    world.kraft.replicate(leader.cluster_id)


def _others_make_eve_and_a_person_asks_for_her(world: World, checker: Checker) -> None:
    _others_make_eve(world, checker)
    world.later(4, lambda: _gives(_SECOND)(world, checker))


def _others_remove_ada(world: World, _: Checker) -> None:
    """Somebody removes a user of the operator's."""
    leader = next((one for one in world.kraft.processes if one.leads), None)
    if leader is not None:
        kept = tuple(one for one in leader.disk.image.users if one.user != "ada")
        world.kraft.append(leader, "user ada", users=kept)
        world.kraft.replicate(leader.cluster_id)


def _users(world: World) -> dict[str, ScramCredential]:
    """The committed users, by ground truth."""
    logs = list(world.kraft.committed.values())
    return {one.user: one for one in logs[0][-1].image.users} if logs and logs[0] else {}


def has_users(*users: str) -> When:
    """Once Kafka has exactly these users, and it is Ready."""
    return lambda world: is_ready(world) and set(_users(world)) == set(users)


def ends_with(words: dict[str, str], *others: ScramCredential) -> Callable[[World], str]:
    """Kafka has these users with these passwords, those of others as they were, and the record has the former."""

    def why_not(world: World) -> str:
        found = _users(world)
        for user, word in words.items():
            one = found.get(user)
            salted = one and hashlib.pbkdf2_hmac("sha512", word.encode(), one.salt, one.iterations)
            if one is None or one.salted_password != salted:
                return f"user {user} cannot log in with the password of the Secret"
        if set(found) != {*words, *(one.user for one in others)}:
            return f"Kafka has users {sorted(found)}"
        if any(found[one.user] != one for one in others):
            return "a user of others has changed"
        item = world.kube.view(SECRETS, NAMESPACE, scram_name(NAME)) or {"data": {"users.json": ""}}
        text = base64.b64decode(item["data"]["users.json"]).decode()
        settled = text.count('"state":"made"') == len(words) == text.count('"state"')
        return "" if settled else "the record has other users"

    return why_not


SCRAM: Final = (
    Scenario(
        name="scram-users",
        spec=spec_of("InitialControllers", 3, **_SPEC),
        turns=(
            turn("a person gives two users", always, _gives(_FIRST)),
            turn(
                "others make a user, and a person asks for the same",
                has_users("ada", "bob"),
                _others_make_eve_and_a_person_asks_for_her,
            ),
            turn("a password changes, one leaves, one comes", says("Progressing", "ScramUsersHeld"), _gives(_THIRD)),
        ),
        holds=ends_with(_THIRD, _EVE),
        until_s=140.0,
        exhaustive=True,
        long=True,
    ),
    Scenario(
        name="scram-users-lost",
        spec=spec_of("InitialControllers", 1, **_SPEC),
        turns=(
            turn("a person gives two users", always, _gives(_FIRST)),
            turn("others remove one", has_users("ada", "bob"), _others_remove_ada),
        ),
        holds=ends_with(_FIRST),
        until_s=110.0,
    ),
)
