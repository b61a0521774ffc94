"""Changes of trust while a quorum runs: another listener of the controllers, and another authority."""

import base64
from collections.abc import Callable
from typing import Final

from tests.simulation.model.kafka.tls import trust_in
from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.glances import RECENT_S
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.faults import CLOCK_LOSSES, Loss
from tests.simulation.runs.scenarios.certificate_scenarios import loses_secrets, secured
from tests.simulation.runs.scenarios.migration_scenarios import at_stage, has_ended, record_of
from tests.simulation.runs.scenarios.release_scenes import all_hold, both, later, pauses_for
from tests.simulation.runs.scenarios.scenes import (
    Act,
    Scenario,
    When,
    after,
    applies,
    is_ready,
    loses,
    resource,
    spec_of,
    turn,
)

from kafka_quorum.model.migration import AUTHORITY, LISTENERS
from kafka_quorum.model.names import INPUTS_HASH
from kit.kube.protocol import PODS, Json
from kit.kube.secrets import SECRETS

THREE: Final = spec_of("InitialControllers", 3)
OLD: Final[Json] = {"name": "CONTROLLER", "port": 9093, "protocol": "PLAINTEXT"}
_NEW: Final[Json] = {"name": "OTHER", "port": 9193, "protocol": "PLAINTEXT"}
_THIRD: Final[Json] = {"name": "THIRD", "port": 9293, "protocol": "PLAINTEXT"}
SECURE: Final[Json] = {"name": "SECURE", "port": 9193, "protocol": "SSL"}
_USERS: Final[Json] = {"name": "USERS", "port": 9193, "protocol": "SASL_SSL"}
_SETTING: Final[Json] = {"controllers": {"config": {"metadata.log.max.snapshot.interval.ms": "1800000"}}}
STAGES: Final = tuple(stage.name for stage in LISTENERS.stages)


def asks(listener: Json) -> Act:
    """A person asks for this listener."""
    return applies({"controllers": {"listeners": [listener]}})


def renews(text: str) -> Act:
    """A person asks for another authority, or takes that back."""
    return applies({"security": {"controllers": {"renewCA": text}}})


def listens_at(listener: Json) -> Callable[[World], str]:
    """Every running controller has this listener alone."""

    def why_not(world: World) -> str:
        wanted = ((listener["name"], listener["port"]),)
        others = [one.meta.node_id for one in world.kraft.processes if not one.broker and one.listens != wanted]
        return f"controllers {others} listen elsewhere" if others else ""

    return why_not


def _has_two_revisions(world: World) -> bool:
    """Once pods of controllers are made from two revisions: a roll is under way."""
    pods = [pod["metadata"] for pod in world.kube.all(PODS)]
    return len({(one.get("annotations") or {}).get(INPUTS_HASH) for one in pods}) > 1


def _once(listener: Json) -> When:
    """Once the record has this listener, and no migration."""
    return lambda world: (
        not has_ended(world) and (record_of(world).get("listener") or {}).get("name") == listener["name"]
    )


_CHANGED: Final = all_hold(has_ended, listens_at(_NEW))
_BACK: Final = all_hold(has_ended, listens_at(OLD))
_AT: Final[dict[str, tuple[Act, Callable[[World], str]]]] = {
    "back": (asks(OLD), _BACK),
    "a-third": (asks(_THIRD), all_hold(has_ended, listens_at(_THIRD))),
    "a-lost-disk": (loses(Loss.EMPTIED_AND_KILLED, "follower"), _CHANGED),
    "the-leader-killed": (loses(Loss.SANDBOX, "leader"), _CHANGED),
    "a-pause": (pauses_for(60), _CHANGED),
    "back-and-forth": (both(asks(OLD), later(25, asks(_NEW))), _CHANGED),
}
"""What happens at a stage, and what the end must be."""


_ONCE: Final = {"a-third": STAGES[1], "a-pause": STAGES[2], "back-and-forth": STAGES[2]}
"""What happens at one stage only."""


def _listeners(stage: str, name: str, act: Act, holds: Callable[[World], str]) -> Scenario:
    return Scenario(
        name=f"listeners-{stage}-{name}".lower(),
        spec=THREE,
        turns=(turn("asks for another listener", is_ready, asks(_NEW)), turn(name, at_stage(stage), act)),
        holds=holds,
        bound=1500,
    )


def _one_left(listener: Json) -> When:
    """Once a controller has given this listener up, and runs for long enough that a look has shown it."""

    def holds(world: World) -> bool:
        now_s = world.clock.elapsed_s
        running = [one for one in world.kraft.processes if not one.broker and now_s - one.started_s > RECENT_S]
        return any(all(name != listener["name"] for name, _ in one.listens) for one in running)

    return holds


_EVERY_FAULT: Final = frozenset({"to-tls"})


def _protocol(name: str, spec: Json, wanted: Json, *turns: tuple[str, When, Act], ends: Json | None = None) -> Scenario:
    """Another protocol comes with the other listener."""
    return Scenario(
        name=f"listeners-{name}".lower(),
        spec=spec,
        turns=(turn("asks for another protocol", is_ready, asks(wanted)), *(turn(*each) for each in turns)),
        holds=all_hold(has_ended, listens_at(ends or wanted)),
        bound=1500,
        exhaustive=name in _EVERY_FAULT,
        long=True,
        spares=CLOCK_LOSSES,
    )


_TLS: Final = secured(leaf_s=36_000)
_TLS_LISTENER: Final[Json] = {**OLD, "protocol": "SSL"}


def _has_begun(world: World) -> bool:
    """Once the first controllers have both listeners."""
    return at_stage(STAGES[0])(world) and _has_two_revisions(world)


_PROTOCOLS: Final = (
    _protocol("to-tls-without-its-authority", THREE, SECURE, ("it is lost", _has_begun, loses_secrets("ca"))),
    _protocol("to-users", THREE, _USERS),
    _protocol("from-tls-to-users", _TLS, _USERS),
    _protocol("to-tls-one-left-back", THREE, SECURE, ("back", _one_left(OLD), asks(OLD)), ends=OLD),
    *(
        scenario
        for way, spec, old, new in (("to-tls", THREE, OLD, SECURE), ("from-tls", _TLS, _TLS_LISTENER, _NEW))
        for scenario in (
            _protocol(way, spec, new),
            *(
                one
                for stage in STAGES
                for one in (
                    _protocol(f"{way}-{stage}-back", spec, new, ("back", at_stage(stage), asks(old)), ends=old),
                    _protocol(
                        f"{way}-{stage}-a-lost-disk",
                        spec,
                        new,
                        ("a disk is lost", at_stage(stage), loses(Loss.EMPTIED_AND_KILLED, "follower")),
                    ),
                )
            ),
        )
    ),
)


def _with_users() -> Json:
    """A spec with SASL_SSL."""
    spec = secured(leaf_s=36_000)
    listener = {"name": "CONTROLLER", "port": 9093, "protocol": "SASL_SSL"}
    return {**spec, "controllers": {**spec["controllers"], "listeners": [listener]}}


def _loses_users(*, restored_after_s: int = 0) -> Act:
    """A person deletes the Secret with the users, and restores it later, or never."""

    def act(world: World, _: Checker) -> None:
        name = f"{NAME}-users"
        kept = world.kube.view(SECRETS, NAMESPACE, name)
        assert kept is not None
        world.kube.remove(SECRETS, NAMESPACE, name)
        metadata = {key: kept["metadata"][key] for key in ("name", "labels", "ownerReferences")}

        def restore() -> None:
            if world.kube.view(SECRETS, NAMESPACE, name) is not None:
                world.kube.remove(SECRETS, NAMESPACE, name)
            world.kube.create(SECRETS, NAMESPACE, {**kept, "metadata": metadata})

        if restored_after_s:
            world.later(restored_after_s, restore)

    return act


def _stops_all(world: World, _: Checker) -> None:
    """A person deletes the pods of all controllers at once, as the status says."""
    for pod in list(world.kube.all(PODS)):
        world.kube.delete(PODS, NAMESPACE, pod["metadata"]["name"])


def _says_lost(world: World) -> bool:
    """Once the status says that the users are lost, and for a while after it."""
    rows = ((resource(world) or {}).get("status") or {}).get("conditions", ())
    return any(f"Did not make Secret {NAME}-users again" in row["message"] for row in rows)


def _authority(name: str, *turns: tuple[str, When, Act]) -> Scenario:
    return Scenario(
        name=name,
        spec=secured(leaf_s=36_000),
        turns=(turn("asks for another authority", is_ready, renews("1")), *(turn(*each) for each in turns)),
        holds=has_ended,
        bound=2500,
        exhaustive=not turns,
        long=True,
        spares=CLOCK_LOSSES,
    )


def _restores_authority() -> tuple[Act, Act]:
    """A person keeps the Secret of the authority, and puts it back later as it was."""
    name, kept = f"{NAME}-ca", dict[str, str]()

    def keep(world: World, _: Checker) -> None:
        found = world.kube.view(SECRETS, NAMESPACE, name)
        assert found is not None
        kept.clear()
        kept.update(found["data"])

    def restore(world: World, _: Checker) -> None:
        present = world.kube.view(SECRETS, NAMESPACE, name)
        assert present is not None
        data = {**dict.fromkeys(present["data"]), **kept}
        world.kube.patch(SECRETS, NAMESPACE, name, {"data": data})

    return keep, restore


def _all_show_new(world: World) -> bool:
    """Once every controller shows a certificate of the authority that follows, to clients and to servers."""
    found = (world.kube.view(SECRETS, NAMESPACE, f"{NAME}-ca") or {"data": {}})["data"].get("next.crt")
    if not found:
        return False
    following = trust_in(base64.b64decode(found).decode()).authorities
    running = [one.tls for one in world.kraft.processes if one.tls is not None and not one.broker]
    return all(leaf.issued_by(each) for one in running for leaf in (one.shown, one.served) for each in following)


_KEEPS, _RESTORES = _restores_authority()
_KILLED: Final = loses(Loss.SANDBOX, "leader")
STEPS: Final = tuple(stage.name for stage in AUTHORITY.stages)
CHANGES_OF_TRUST: Final = (
    Scenario(
        name="listeners-changed-twice",
        spec=THREE,
        turns=(
            turn("asks for another listener", is_ready, asks(_NEW)),
            turn("asks for the first one again", _once(_NEW), asks(OLD)),
        ),
        holds=_BACK,
        bound=1500,
    ),
    Scenario(
        name="listeners-of-the-same-port",
        spec=THREE,
        turns=(
            turn("asks for another name alone", is_ready, asks({**_NEW, "port": 9093})),
            turn("asks for both", lambda world: world.clock.elapsed_s > 60, asks(_NEW)),
        ),
        holds=_CHANGED,
        bound=1500,
    ),
    *(
        _listeners(stage, name, act, holds)
        for stage in STAGES
        for name, (act, holds) in _AT.items()
        if name not in _ONCE or _ONCE[name] == stage
    ),
    *_PROTOCOLS,
    Scenario(
        name="listeners-asked-in-a-roll",
        spec=THREE,
        turns=(
            turn(
                "asks for another setting",
                is_ready,
                applies(_SETTING),
            ),
            turn("asks for another listener", _has_two_revisions, asks(_NEW)),
        ),
        holds=_CHANGED,
        bound=1500,
    ),
    Scenario(
        name="users-with-passwords",
        spec=_with_users(),
        turns=(turn("a disk is lost", is_ready, loses(Loss.EMPTIED_AND_KILLED, "follower")),),
        bound=900,
        exhaustive=True,
        long=True,
        spares=CLOCK_LOSSES,
    ),
    Scenario(
        name="users-lost-and-restored",
        spec=_with_users(),
        turns=(
            turn("the Secret with the users is deleted", is_ready, _loses_users(restored_after_s=60)),
            turn("a controller starts again", after(5), loses(Loss.SANDBOX, "follower")),
            turn("a disk is lost", after(90), loses(Loss.EMPTIED_AND_KILLED, "follower")),
        ),
        bound=1500,
    ),
    Scenario(
        name="users-lost-for-good",
        spec=_with_users(),
        turns=(
            turn("the Secret with the users is deleted", is_ready, _loses_users()),
            turn("a person deletes all pods", _says_lost, _stops_all),
        ),
        bound=1500,
    ),
    _authority("authority-changed"),
    *(_authority(f"authority-back-{stage}".lower(), ("back", at_stage(stage), renews(""))) for stage in STEPS),
    _authority("authority-back-when-all-show-it", ("back", _all_show_new, renews(""))),
    Scenario(
        name="authority-restored-before-the-roll",
        spec=secured(leaf_s=36_000),
        turns=(
            turn("keeps the authority, and asks for another one", is_ready, both(_KEEPS, renews("1"))),
            turn("restores it", at_stage(STEPS[2]), _RESTORES),
        ),
        holds=has_ended,
        bound=1500,
        long=True,
    ),
    _authority("authority-changed-without-a-leader", ("the leader is killed", at_stage(STEPS[1]), _KILLED)),
)
