"""The tables about releases: rolls, feature levels, ghosts, downgrades, and static quorums that become dynamic."""

from typing import Any, Final

from tests.simulation.model.kafka.releases import KRAFT, METADATA
from tests.simulation.runs.faults import Loss
from tests.simulation.runs.scenarios.release_scenes import (
    adopts,
    all_hold,
    all_run,
    at_most_one_with,
    both,
    brings_the_last_claim,
    broker_is_upgraded,
    broker_starts,
    cordons,
    ends_dynamic,
    ends_on,
    ends_restarted,
    ends_with_revisions,
    forgets_removed,
    ghost_registers,
    half_way,
    has_image,
    has_level,
    image_lies,
    is_dynamic,
    is_forgotten,
    keeps_only,
    later,
    loses_record,
    pauses_for,
    ready_and,
    uncordons,
    was_edited,
    went_by,
)
from tests.simulation.runs.scenarios.scenes import (
    Act,
    Scenario,
    after,
    applies,
    deletes,
    does_nothing,
    is_changing,
    is_gone,
    is_ready,
    loses,
    says,
    spec_of,
    tells,
    turn,
)

from kit.kube.protocol import Json

ROLL_HELD: Final = "Rolling"
"""The resource's report when a restart needs a permission that it does not have."""
_WHILE_STEPS: Final = 40
"""Long enough for a faulty operator to continue."""
_HEAP: Final = {"controllers": {"jvm": {"heap": "1Gi"}}}
_TYPO, _MIRROR = "apache/kafka:typo", "mirror/kafka:4.4.0"


def _kafka(version: str, image: str = "", levels: dict[str, int] | None = None, **features: Any) -> Json:  # noqa: ANN401 - JSON
    """The spec's section about Kafka; levels by name without `.version`."""
    rows = [{"name": f"{name}.version", "level": level} for name, level in (levels or {}).items()]
    soaked = {"policy": "Hold", "soakSeconds": 2, "levels": rows, **features}
    return {"version": version, "image": image, "features": soaked}


def _spec(version: str, *, mode: str = "InitialControllers", replicas: int = 3, **more: Any) -> Json:  # noqa: ANN401 - JSON
    controllers = more.pop("controllers", {})
    return spec_of(mode, replicas, controllers=controllers, kafka=_kafka(version, **more))


def _asks(version: str, **more: Any) -> Act:  # noqa: ANN401 - JSON
    return applies({"kafka": _kafka(version, **more)})


_OLD: Final = _spec("4.1.2")
_TOO_OLD: Final = "Broker 1 only supports versions 7-27"
_asks_both: Final = applies({**_HEAP, "kafka": _kafka("4.4.0", levels={"metadata": 29})})

ROLLS: Final = (
    Scenario(
        name="roll-config",
        spec=_spec("4.4.0"),
        turns=(turn("wants another heap", is_ready, applies(_HEAP)),),
        exhaustive=True,
        holds=ends_restarted("1024m"),
    ),
    Scenario(
        name="roll-version-hold",
        spec=_OLD,
        turns=(turn("asks for 4.4.0", is_ready, _asks("4.4.0")),),
        exhaustive=True,
        holds=ends_on("4.4.0", metadata=27),
    ),
    Scenario(
        name="roll-reversed",
        spec=_OLD,
        turns=(
            turn("asks for 4.4.0", is_ready, _asks("4.4.0")),
            turn("goes back", half_way("4.4.0"), _asks("4.1.2")),
        ),
        exhaustive=True,
        holds=ends_on("4.1.2", metadata=27),
    ),
    Scenario(
        name="roll-paused-and-resumed",
        spec=_OLD,
        turns=(
            turn("asks for 4.4.0", is_ready, _asks("4.4.0")),
            turn("pauses, and resumes", half_way("4.4.0"), pauses_for(_WHILE_STEPS)),
        ),
        holds=ends_on("4.4.0", metadata=27),
    ),
    *(
        Scenario(
            name=f"image-that-cannot-start-{name}",
            spec=_OLD,
            turns=(
                turn("asks for a typo", is_ready, _asks("4.4.0", image=_TYPO)),
                turn("waits", has_image(_TYPO), later(_WHILE_STEPS, at_most_one_with(_TYPO))),
                turn("puts it right", after(120), _asks(release)),
            ),
            holds=ends_on(release, metadata=27),
        )
        for name, release in (("corrected", "4.4.0"), ("taken-back", "4.1.2"))
    ),
    Scenario(
        name="image-that-lies",
        spec=_OLD,
        turns=(
            turn("a tag lies", is_ready, image_lies(_MIRROR, "4.1.2")),
            turn("asks for it", is_ready, _asks("4.4.0", image=_MIRROR)),
            turn("waits", has_image(_MIRROR), later(_WHILE_STEPS, at_most_one_with(_MIRROR))),
            turn("takes it back", after(120), _asks("4.1.2")),
        ),
        holds=ends_on("4.1.2", metadata=27),
    ),
    Scenario(
        name="roll-with-a-dead-node",
        spec=_OLD,
        turns=(
            turn("loses a node", is_ready, loses(Loss.NODE_KILLED, "follower")),
            turn("asks for 4.4.0", after(0), _asks("4.4.0")),
        ),
        exhaustive=True,
        holds=ends_on("4.4.0", metadata=27),
    ),
    Scenario(
        name="roll-with-a-node-off",
        spec=_spec("4.1.2", replicas=5),
        turns=(
            turn("a node is off for a while", is_ready, loses(Loss.NODE_OFF, "follower")),
            turn("asks for 4.4.0", after(0), _asks("4.4.0")),
        ),
        holds=ends_on("4.4.0", metadata=27),
    ),
    Scenario(
        name="roll-with-a-cordoned-node",
        spec=_OLD,
        turns=(
            turn("cordons a follower's node", is_ready, cordons("follower")),
            turn("asks for 4.4.0", after(0), _asks("4.4.0")),
            turn("uncordons it later", tells("Progressing", "is cordoned"), later(_WHILE_STEPS, uncordons)),
        ),
        holds=ends_on("4.4.0", metadata=27),
    ),
    Scenario(
        name="pair-on-a-cordoned-node",
        spec=_spec("4.4.0", replicas=2, controllers={"allowInterruption": True}),
        turns=(
            turn("cordons the leader's node", is_ready, cordons("leader")),
            turn("wants another heap", after(0), applies(_HEAP)),
            turn("uncordons it later", tells("Progressing", "is cordoned"), later(_WHILE_STEPS, uncordons)),
        ),
        holds=ends_restarted("1024m"),
    ),
    Scenario(
        name="leader-of-a-pair-hands-over-on-a-cordoned-node",
        spec=_spec("4.4.0", replicas=2, controllers={"allowInterruption": True}),
        turns=(
            turn("cordons the leader's node", is_ready, cordons("leader")),
            turn("asks for the other one", after(0), keeps_only("follower")),
            turn("uncordons it later", tells("Progressing", "is cordoned"), later(_WHILE_STEPS, uncordons)),
        ),
    ),
    Scenario(
        name="edited-many-times",
        spec=_spec("4.4.0"),
        turns=(
            turn("edits often, and wants another heap", is_ready, both(was_edited(12, "4.1.2"), applies(_HEAP))),
            turn("goes back to the first", is_forgotten(1), applies({"controllers": {"jvm": {"heap": "512Mi"}}})),
        ),
        exhaustive=True,
        holds=ends_with_revisions(12, "4.1.2", "512m"),
    ),
    Scenario(
        name="roll-while-scaling",
        spec=_OLD,
        turns=(
            turn("asks for five", is_ready, applies({"controllers": {"replicas": 5}})),
            turn("asks for 4.4.0", is_changing, _asks("4.4.0")),
        ),
        holds=ends_on("4.4.0", metadata=27),
    ),
    Scenario(
        name="scaled-while-rolling",
        spec=_spec("4.1.2", replicas=5),
        turns=(
            turn("asks for 4.4.0", is_ready, _asks("4.4.0")),
            turn("asks for three", half_way("4.4.0"), applies({"controllers": {"replicas": 3}})),
        ),
        holds=ends_on("4.4.0", metadata=27),
    ),
    *(
        Scenario(
            name=f"roll-{replicas}-{'held' if held else 'allowed'}",
            spec=_spec("4.4.0", replicas=replicas, controllers={"allowInterruption": not held}),
            turns=(turn("wants another heap", is_ready, applies(_HEAP)),),
            ends=ROLL_HELD if held else "Ready",
            holds=ends_restarted("512m" if held else "1024m"),
        )
        for replicas in (1, 2)
        for held in (True, False)
    ),
)

FEATURES: Final = (
    Scenario(
        name="follow-to-4.4",
        spec=_OLD,
        turns=(turn("asks for 4.4.0", is_ready, _asks("4.4.0", policy="Follow")),),
        holds=all_hold(
            ends_on("4.4.0", metadata=33, kraft=1, transaction=2, group=1),
            went_by(*(f"metadata {level}" for level in range(28, 34)), "share 1", "share 2", "streams 1"),
        ),
    ),
    Scenario(
        name="follow-one-release",
        spec=_spec("4.2.1"),
        turns=(turn("asks for 4.3.1", is_ready, _asks("4.3.1", policy="Follow")),),
        exhaustive=True,
        holds=ends_on("4.3.1", metadata=30),
    ),
    Scenario(
        name="follow-from-3.9",
        spec=_spec("3.9.2"),
        turns=(
            turn("asks for 4.1.2", is_ready, _asks("4.1.2", policy="Follow")),
            turn("asks for 4.4.0", ready_and(all_run("4.1.2")), _asks("4.4.0", policy="Follow")),
        ),
        holds=ends_on("4.4.0", metadata=33, kraft=1, transaction=2, group=1),
    ),
    Scenario(
        name="levels-explicit",
        spec=_spec("4.4.0", levels={"metadata": 27, "transaction": 0}),
        turns=(turn("names levels", is_ready, _asks("4.4.0", levels={"metadata": 29, "transaction": 2})),),
        holds=ends_on("4.4.0", metadata=29, transaction=2),
    ),
    Scenario(
        name="levels-named-while-rolling",
        spec=_spec("4.4.0", levels={"metadata": 27}),
        turns=(turn("names levels, and another heap", is_ready, _asks_both),),
        holds=ends_on("4.4.0", metadata=29),
    ),
    Scenario(
        name="soaked-for-long",
        spec=_spec("4.4.0", levels={"metadata": 27}),
        turns=(
            turn("names levels", is_ready, _asks("4.4.0", levels={"metadata": 29}, soakSeconds=20)),
            turn("waits", has_level(METADATA, 29), does_nothing),
        ),
        holds=ends_on("4.4.0", metadata=29),
    ),
    Scenario(
        name="lagging-broker",
        spec={**_OLD, "brokerAccess": {"confirmedRevision": 1}},
        turns=(
            turn("a broker starts", is_ready, broker_starts(1, "4.1.2")),
            turn("asks for 4.4.0", is_ready, _asks("4.4.0", policy="Follow")),
            turn("waits", after(90), does_nothing),
            turn("upgrades the broker", tells("FeaturesSettled", _TOO_OLD), broker_is_upgraded(1, "4.4.0")),
        ),
        holds=ends_on("4.4.0", metadata=33),
    ),
    Scenario(
        name="broker-confirmed",
        spec=_OLD,
        turns=(
            turn("a broker starts", is_ready, broker_starts(1, "4.4.0")),
            turn("asks for 4.4.0", is_ready, _asks("4.4.0", policy="Follow")),
            turn(
                "its owner confirms",
                tells("FeaturesSettled", "confirmedRevision"),
                applies({"brokerAccess": {"confirmedRevision": 1}}),
            ),
        ),
        holds=ends_on("4.4.0", metadata=33),
    ),
    Scenario(
        name="ghosts-below-4.4",
        spec=_spec("4.2.1", replicas=5),
        turns=(
            turn("asks for three", is_ready, applies({"controllers": {"replicas": 3}})),
            turn("asks for 4.3.1", is_ready, _asks("4.3.1", policy="Follow")),
        ),
        exhaustive=True,
        holds=ends_on("4.3.1", metadata=30),
    ),
    Scenario(
        name="ghost-at-4.4",
        spec=_spec("4.4.0", replicas=4, levels={"metadata": 31}),
        turns=(
            turn("asks for three", is_ready, applies({"controllers": {"replicas": 3}})),
            turn("a ghost appears", is_ready, ghost_registers(3003)),
            turn("raises the level", is_ready, _asks("4.4.0", levels={"metadata": 33})),
        ),
        exhaustive=True,
        holds=all_hold(ends_on("4.4.0", metadata=33), forgets_removed),
    ),
    Scenario(
        name="ghost-of-nobody",
        spec=_spec("4.4.0", levels={"metadata": 31}),
        turns=(
            turn("a ghost appears that never was a controller here", is_ready, ghost_registers(3009)),
            turn("raises the level", is_ready, _asks("4.4.0", levels={"metadata": 33})),
        ),
        holds=ends_on("4.4.0", metadata=31),
    ),
    Scenario(
        name="downgrade-safe",
        spec=_spec("4.4.0", levels={"metadata": 29}),
        turns=(turn("asks for less", is_ready, _asks("4.4.0", levels={"metadata": 27}, downgrade="Safe")),),
        holds=ends_on("4.4.0", metadata=27),
    ),
    Scenario(
        name="downgrade-of-two",
        spec=_spec("4.4.0", levels={"metadata": 29, "group": 1, "share": 0, "streams": 0}),
        turns=(turn("asks for less", is_ready, _asks("4.4.0", levels={"metadata": 27, "group": 0}, downgrade="Safe")),),
        holds=all_hold(ends_on("4.4.0", metadata=27, group=0), went_by("group 0", "metadata 28", "metadata 27")),
    ),
    *(
        Scenario(
            name=f"downgrade-{name}",
            spec=_spec("4.4.0", levels={"metadata": before}),
            turns=(
                turn("asks for less", is_ready, _asks("4.4.0", levels={"metadata": below}, downgrade=policy)),
                turn("thinks better of it", after(120), _asks("4.4.0", levels={"metadata": before})),
            ),
            holds=all_hold(ends_on("4.4.0", metadata=before), went_by()),
        )
        for name, before, below, policy in (
            ("refused", 32, 31, "Safe"),
            ("refused-below", 31, 29, "Safe"),
            ("forbidden", 29, 28, "Forbid"),
        )
    ),
    Scenario(
        name="image-older-than-the-levels",
        spec=_spec("4.4.0"),
        turns=(
            turn("asks for 4.1.2", is_ready, _asks("4.1.2")),
            turn("thinks better of it", after(120), both(at_most_one_with("apache/kafka:4.1.2"), _asks("4.4.0"))),
        ),
        holds=ends_on("4.4.0", metadata=33),
    ),
    Scenario(
        name="image-older-and-supported",
        spec=_spec("4.4.0", levels={"metadata": 27, "share": 0, "streams": 0}),
        turns=(turn("asks for 4.1.2", is_ready, _asks("4.1.2", levels={"metadata": 27})),),
        holds=ends_on("4.1.2", metadata=27),
    ),
)

_DYNAMIC: Final = {"kraft": 1}

STATIC: Final = (
    Scenario(
        name="static-3",
        spec=_spec("4.1.2", mode="Static"),
        holds=ends_on("4.1.2", metadata=27, kraft=0),
    ),
    Scenario(
        name="static-to-dynamic",
        spec=_spec("4.1.2", mode="Static"),
        turns=(turn("asks for kraft.version 1", is_ready, _asks("4.1.2", levels=_DYNAMIC)),),
        exhaustive=True,
        holds=all_hold(ends_dynamic("4.1.2"), went_by("kraft 1")),
    ),
    Scenario(
        name="static-to-dynamic-without-its-record",
        spec=_spec("4.1.2", mode="Static"),
        turns=(
            turn("asks for kraft.version 1", is_ready, _asks("4.1.2", levels=_DYNAMIC)),
            turn("deletes the record", has_level(KRAFT, 1), loses_record),
        ),
        holds=ends_dynamic("4.1.2"),
    ),
    Scenario(
        name="static-3.9-to-dynamic",
        spec=_spec("3.9.2", mode="Static"),
        turns=(
            turn("asks for kraft.version 1", is_ready, _asks("3.9.2", levels=_DYNAMIC)),
            turn("asks for 4.1.2", after(120), _asks("4.1.2", levels=_DYNAMIC)),
        ),
        holds=ends_dynamic("4.1.2"),
    ),
    Scenario(
        name="static-then-scaled",
        spec=_spec("4.1.2", mode="Static"),
        turns=(
            turn("asks for kraft.version 1", is_ready, _asks("4.1.2", levels=_DYNAMIC)),
            turn("asks for five", ready_and(is_dynamic), applies({"controllers": {"replicas": 5}})),
        ),
        holds=ends_dynamic("4.1.2"),
    ),
    Scenario(
        name="static-roll",
        spec=_spec("4.1.2", mode="Static"),
        turns=(turn("asks for 4.4.0", is_ready, _asks("4.4.0")),),
        holds=ends_on("4.4.0", metadata=27, kraft=0),
    ),
    *(
        Scenario(
            name=f"static-{name}",
            spec=_spec("4.1.2", mode="Static"),
            turns=(
                turn("loses a disk", is_ready, loses(loss, "follower")),
                turn("waits", after(90), does_nothing),
            ),
            ends="LostDisk",
        )
        for name, loss in (("lost-disk", Loss.CLAIM_DELETED), ("emptied-disk", Loss.EMPTIED_AND_KILLED))
    ),
    Scenario(
        name="adopted",
        spec=_spec("4.1.2", mode="Static"),
        turns=(
            turn("deletes the resource", is_ready, deletes(with_volumes=False)),
            turn("takes over all but one disk", is_gone, adopts(_kafka("4.1.2"))),
            turn("brings the last one", says("Progressing", "AdoptWaits"), brings_the_last_claim),
            turn("asks for kraft.version 1", is_ready, _asks("4.1.2", levels=_DYNAMIC)),
        ),
        exhaustive=True,
        holds=ends_dynamic("4.1.2"),
    ),
)

RELEASES: Final = (*ROLLS, *FEATURES, *STATIC)
