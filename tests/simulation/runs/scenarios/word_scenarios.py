"""Scenarios of a person's words: controllers that are held, and disks and machines that are given up."""

from collections.abc import Callable
from typing import Final

from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.faults import Loss
from tests.simulation.runs.scenarios.certificate_scenarios import ends_renewed, lives, secured, shows_until
from tests.simulation.runs.scenarios.release_scenes import both, controllers, ends_restarted, later, pauses_for
from tests.simulation.runs.scenarios.scenes import (
    Act,
    Scenario,
    When,
    after,
    annotates,
    applies,
    does_nothing,
    first_disks,
    has_a_new_disk,
    has_retired,
    is_ready,
    loses,
    one_of,
    says,
    spec_of,
    tells,
    turn,
)
from tests.simulation.runs.scenarios.token_scenarios import gives_back, takes

from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.names import HOLD, LABEL_NODE, REPLACE
from kit.kube.protocol import PODS

_THREE: Final = spec_of("InitialControllers", 3)
_MANUAL: Final = {"replacement": {"lostDisk": "Manual", "lostNode": "Manual", "lostNodeAfterSeconds": 10}}
_HEAP: Final = applies({"controllers": {"jvm": {"heap": "1Gi"}}})
_SHORT, _LONG = 20, 60
"""In steps."""
_DOWN: Final = 26
"""In steps: a voter that has been down for so long has been so in every look that an act can rely on."""


def _holds(*whos: str) -> Act:
    """A person holds these controllers from now on."""

    def act(world: World, checker: Checker) -> None:
        annotates(HOLD, ",".join(str(one_of(world, who)) for who in whos))(world, checker)

    return act


_ENDS_HOLD: Final = annotates(HOLD, None)


def replaces(who: str) -> Act:
    """A person gives up the disk that this controller has now, and leaves the annotation where it is."""

    def act(world: World, checker: Checker) -> None:
        node_id = one_of(world, who)
        keys = (process.key for process in controllers(world) if process.meta.node_id == node_id)
        if (key := next(keys, None)) is not None:
            annotates(REPLACE, str(key))(world, checker)

    return act


def _replaces_a_machine(world: World, checker: Checker) -> None:
    """The machine of a follower is gone, and a person gives it up a moment later."""
    replaces("follower")(world, checker)
    loses(Loss.NODE_KILLED, "follower")(world, checker)


def _replaces_while_another_is_down(world: World, checker: Checker) -> None:
    """The machine of a follower has no power for a while, and meanwhile a person gives up the disk of the leader."""
    loses(Loss.NODE_OFF, "follower")(world, checker)
    later(_DOWN, replaces("leader"))(world, checker)


def _pauses_with_hold(world: World, checker: Checker) -> None:
    """A person pauses the quorum for a while, and holds the controller whose disk was given up."""
    _holds("follower")(world, checker)
    pauses_for(_SHORT)(world, checker)


def _holds_until_its_certificate_ends(world: World, checker: Checker) -> None:
    """A person holds a follower for so long that the certificate that it shows ends."""
    world.certificates_may_end = True
    _holds("follower")(world, checker)


def _only_the_held_one_ended(world: World, checker: Checker) -> None:
    """Every other controller, the active one too, has restarted for a renewed certificate; then the hold ends."""
    shown, now = shows_until(world), world.clock.now()
    ended = [node_id for node_id, end in shown.items() if end <= now]
    body = world.kube.view(QUORUMS, NAMESPACE, NAME) or {}
    held = str((body["metadata"].get("annotations") or {}).get(HOLD))
    if [str(node_id) for node_id in ended] != [held]:
        checker.fail("13, ended", f"controller {held} is held, and those of {ended} have ended")
    _ENDS_HOLD(world, checker)


def _none_has_ended(world: World, checker: Checker) -> None:
    """The controller that was held has restarted, too."""
    world.certificates_may_end = False
    if over := [node_id for node_id, end in shows_until(world).items() if end <= world.clock.now()]:
        checker.fail("13, ended", f"controllers {over} show certificates that have ended, and nobody is held")


def _deletes_pod(who: str) -> Act:
    """A person deletes the pod of this controller."""

    def act(world: World, _: Checker) -> None:
        world.delete_pods(NAMESPACE, NAME, one_of(world, who), force=False)

    return act


def _pods_of_held(count: int) -> Callable[[World], str]:
    """This number of pods are of the controllers that the annotation lists."""

    def why_not(world: World) -> str:
        body = world.kube.view(QUORUMS, NAMESPACE, NAME) or {}
        held = str(((body.get("metadata") or {}).get("annotations") or {}).get(HOLD) or "").split(",")
        pods = [
            one["metadata"]["name"] for one in world.kube.all(PODS) if one["metadata"]["labels"][LABEL_NODE] in held
        ]
        return "" if len(pods) == count else f"held controllers have the pods {', '.join(pods)}"

    return why_not


def _keeps_first_disks(world: World) -> str:
    """Every controller runs on its first disk."""
    ids = {str(one.key.directory_id) for one in controllers(world)}
    return "" if ids == first_disks(world) else "a disk was replaced"


def _replaced(count: int) -> Callable[[World], str]:
    """This number of the first disks do not run any more, and no other disk was ever formatted in vain."""

    def why_not(world: World) -> str:
        ids = {str(one.key.directory_id) for one in controllers(world)}
        gone = first_disks(world) - ids
        generations = [str(one["metadata"]["name"]).rpartition("-g")[2] for one in world.kube.all(PODS)]
        if len(gone) != count or sorted(generations) != ["1"] * (3 - count) + ["2"] * count:
            return f"{len(gone)} first disks are gone, and the claims are of generations {generations}"
        return ""

    return why_not


def _is_replaced(world: World) -> bool:
    """Once the quorum is Ready on another disk."""
    return is_ready(world) and not has_a_new_disk(world)


def _is_restarted_but(count: int) -> When:
    """Once all but this number of pods have the new heap."""

    def when(world: World) -> bool:
        pods = [one for one in world.kube.all(PODS) if one["metadata"]["name"].startswith(f"{NAME}-")]
        new = [one for one in pods if any(row.get("value") == "-Xms1024m -Xmx1024m" for row in _env(one))]
        return len(pods) - len(new) == count

    return when


def _env(pod: dict[str, object]) -> list[dict[str, object]]:
    found: list[dict[str, object]] = pod["spec"]["containers"][0]["env"]  # type: ignore[index]  # a pod has it
    return found


def _held_during(name: str, what: str, act: Act, when: When) -> Scenario:
    """A follower is held while something happens to it, which is done when the hold has ended."""
    return Scenario(
        name=name,
        spec=_THREE,
        turns=(
            turn("holds a follower", is_ready, _holds("follower")),
            turn(what, says("Progressing", "Holding"), later(12, act)),
            turn("ends the hold", when, later(_LONG, _ENDS_HOLD)),
        ),
    )


_HOLDS: Final = (
    Scenario(
        name="hold-in-a-roll",
        spec=_THREE,
        turns=(
            turn("holds a follower", is_ready, _holds("follower")),
            turn("wants another heap", says("Progressing", "Holding"), later(12, _HEAP)),
            turn("ends the hold", says("Progressing", "HeldBack"), later(_LONG, _ENDS_HOLD)),
        ),
        holds=ends_restarted("1024m"),
        exhaustive=True,
    ),
    Scenario(
        name="hold-begins-in-a-roll",
        spec=_THREE,
        turns=(
            turn("wants another heap", is_ready, _HEAP),
            turn("holds both others", _is_restarted_but(2), _holds("leader", "bootstrap")),
            turn("ends the hold", after(40), later(_LONG, _ENDS_HOLD)),
        ),
        holds=ends_restarted("1024m"),
    ),
    _held_during(
        "hold-without-its-pod", "deletes its pod", _deletes_pod("follower"), tells("Ready", "Did not start controller")
    ),
    _held_during(
        "hold-with-a-lost-disk",
        "empties its disk",
        loses(Loss.EMPTIED_AND_DELETED, "follower"),
        tells("Ready", "Did not start controller"),
    ),
    _held_during(
        "hold-with-a-killed-pod",
        "kills its sandbox and disk",
        loses(Loss.EMPTIED_AND_KILLED, "follower"),
        says("Degraded", "LostDisk"),
    ),
    Scenario(
        name="hold-of-one-that-leaves",
        spec=spec_of("InitialControllers", 4),
        turns=(
            turn("holds the highest", is_ready, annotates(HOLD, "3003")),
            turn(
                "asks for three", says("Progressing", "Holding"), later(12, applies({"controllers": {"replicas": 3}}))
            ),
            turn("ends the hold", says("Progressing", "HeldBack"), later(_LONG, _ENDS_HOLD)),
        ),
    ),
    Scenario(
        name="hold-that-cannot-be-read",
        spec=_THREE,
        turns=(
            turn("writes a wrong hold", is_ready, annotates(HOLD, "3001;3002")),
            turn("deletes a pod", says("Ready", "InvalidSpec"), later(12, _deletes_pod("follower"))),
            turn("corrects it", says("Degraded", "VotersLag"), later(_LONG, _ENDS_HOLD)),
        ),
    ),
    Scenario(
        name="hold-for-ever-in-a-roll",
        spec=_THREE,
        turns=(
            turn("holds a follower", is_ready, _holds("follower")),
            turn("wants another heap", says("Progressing", "Holding"), later(12, _HEAP)),
            turn("waits", says("Progressing", "HeldBack"), later(_LONG, does_nothing)),
        ),
        ends="HeldBack",
        holds=lambda world: "" if _is_restarted_but(2)(world) else "not one follower alone was restarted",
    ),
)
_SHORT_LIVES: Final = {"leafSeconds": 600, "caSeconds": 6000, "renewBeforeSeconds": 200}
_ENDS: Final = (
    lives(
        "tls-hold-until-a-certificate-ends",
        900,
        turn("holds a follower", is_ready, _holds_until_its_certificate_ends),
        turn("its certificate has ended", after(660), _only_the_held_one_ended),
        turn("it must have a later one", after(800), _none_has_ended),
        spec={**secured(), "security": {"controllers": _SHORT_LIVES}},
        holds=ends_renewed(2),
    ),
)
_REPLACEMENTS: Final = (
    *(
        Scenario(
            name=f"replace-{name}",
            spec=_THREE,
            turns=(
                turn("gives up a disk", is_ready, replaces(who)),
                turn("wants another heap", _is_replaced, later(_SHORT, _HEAP)),
            ),
            holds=has_a_new_disk,
            exhaustive=True,
        )
        for name, who in (("a-healthy-follower", "follower"), ("the-leader", "leader"))
    ),
    Scenario(
        name="replace-while-another-is-down",
        spec=spec_of("InitialControllers", 3, controllers=_MANUAL),
        turns=(turn("gives up a disk at a bad moment", is_ready, _replaces_while_another_is_down),),
        until=_is_replaced,
        holds=_replaced(1),
    ),
    Scenario(
        name="replace-a-lost-machine",
        spec=spec_of("InitialControllers", 3, controllers=_MANUAL),
        turns=(turn("loses a machine, and gives it up", is_ready, _replaces_a_machine),),
        until=_is_replaced,
        holds=_replaced(1),
    ),
    Scenario(
        name="replace-two",
        spec=_THREE,
        turns=(
            turn("gives up a disk", is_ready, replaces("follower")),
            turn("gives up another one", has_retired, later(_SHORT, replaces("leader"))),
        ),
        until=lambda world: not _replaced(2)(world) and is_ready(world),
        holds=_replaced(2),
    ),
    Scenario(
        name="replace-in-a-roll",
        spec=_THREE,
        turns=(
            turn("wants another heap", is_ready, _HEAP),
            turn("gives up a disk", _is_restarted_but(2), replaces("leader")),
        ),
        until=_is_replaced,
        holds=ends_restarted("1024m"),
    ),
    Scenario(
        name="replace-waits-for-a-pool",
        spec=_THREE,
        turns=(
            turn("a pool restarts brokers", is_ready, takes),
            turn("gives up a disk", is_ready, replaces("follower")),
            turn("the pool is done", tells("Progressing", "pool/hot"), later(30, gives_back)),
        ),
        until=_is_replaced,
        holds=_replaced(1),
    ),
    Scenario(
        name="replace-what-is-held",
        spec=_THREE,
        turns=(
            turn("holds a follower, and gives it up", is_ready, both(_holds("follower"), replaces("follower"))),
            turn("waits", says("Progressing", "ReplaceRefused"), later(_LONG, does_nothing)),
        ),
        ends="ReplaceRefused",
        holds=_keeps_first_disks,
    ),
    Scenario(
        name="replace-when-the-hold-ends",
        spec=_THREE,
        turns=(
            turn("holds a follower, and gives it up", is_ready, both(_holds("follower"), replaces("follower"))),
            turn("ends the hold", says("Progressing", "ReplaceRefused"), later(_LONG, _ENDS_HOLD)),
        ),
        until=_is_replaced,
        holds=_replaced(1),
    ),
    Scenario(
        name="replace-and-hold-half-way",
        spec=_THREE,
        turns=(
            turn("gives up a disk", is_ready, replaces("follower")),
            turn("pauses, and holds that controller", has_retired, _pauses_with_hold),
            turn("ends the hold", after(60), _ENDS_HOLD),
        ),
        until=_is_replaced,
        holds=_replaced(1),
    ),
    Scenario(
        name="replace-an-unknown-disk",
        spec=_THREE,
        turns=(
            turn("names a disk of nobody", is_ready, annotates(REPLACE, "3001-c2VwYXJhdGVseV9tYWRlXw")),
            turn("waits", says("Progressing", "ReplaceRefused"), later(_LONG, does_nothing)),
        ),
        ends="ReplaceRefused",
        holds=_keeps_first_disks,
    ),
    Scenario(
        name="replace-one-of-a-pair",
        spec=spec_of("InitialControllers", 2, controllers={"allowInterruption": True}),
        turns=(
            turn("gives up a disk", is_ready, replaces("follower")),
            turn("waits", says("Progressing", "ReplaceRefused"), later(_LONG, does_nothing)),
        ),
        ends="ReplaceRefused",
        holds=_keeps_first_disks,
    ),
)
WORDS: Final = (*_HOLDS, *_ENDS, *_REPLACEMENTS)
