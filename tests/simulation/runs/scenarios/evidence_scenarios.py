"""The tables about evidence: what an act needs to be true, in the one case in which nothing else prevents it.

Each scenario notices a mutant in `mutations/evidence.py`, which drops one requirement of the operator.
"""

from collections.abc import Callable
from functools import partial
from typing import Final
from weakref import WeakKeyDictionary

from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kubernetes.kube_model import Written, loaded
from tests.simulation.model.kubernetes.pod_words import FETCH_TIMEOUT
from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.glances import RECENT_S
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.accidents import freeze_for, happen, slow_for
from tests.simulation.runs.faults import Accident, Loss
from tests.simulation.runs.scenarios.release_scenes import both, controllers, ends_on, ends_restarted, later, pauses_for
from tests.simulation.runs.scenarios.scenes import (
    Act,
    Scenario,
    after,
    always,
    annotates,
    applies,
    does_nothing,
    first_disks,
    goes_away,
    goes_blank,
    has_a_new_disk,
    has_retired,
    is_changing,
    is_listed_as_empty,
    is_ready,
    lacks_the_disk_of_before,
    loses,
    one_of,
    shows_disks,
    spec_of,
    turn,
)
from tests.simulation.runs.scenarios.time_scenarios import is_moving, kafka_at, moved_not_stopped
from tests.simulation.runs.scenarios.word_scenarios import replaces
from tests.simulation.runs.slow import Hitch

from kafka_quorum.model.ids import DirectoryID, NodeID, ReplicaKey, uuid_from_bytes
from kafka_quorum.model.names import LABEL_NODE, LABEL_QUORUM
from kit.kube.protocol import BUDGETS, CLAIMS, PODS, Json

_BLANK_STEPS: Final = 60
_MOMENT_STEPS: Final = 8
"""Shorter than the pause between two runs of a script (`BACK_OFF_S`)."""
_LINGERS_STEPS: Final = 12
_OFF_STEPS: Final = 20
_SOON_STEPS: Final = 20
_LAG_STEPS: Final = 90
_SHORT_LAG_STEPS: Final = 11
"""Longer than the operator may be behind, and shorter than a fetch timeout of ten seconds."""
_FROZEN_STEPS: Final = 48
_OLD_LOOK_STEPS: Final = 12
_LEFT: Final = 3
_BY_HAND: Final = ReplicaKey(node_id=NodeID(3009), directory_id=DirectoryID(uuid_from_bytes(b"a voter by hand.")))
_THREE: Final = spec_of("InitialControllers", 3)
_HEAP: Final = applies({"controllers": {"jvm": {"heap": "1Gi"}}})


def _lags(who: str, steps: int) -> Act:
    """A voter lags for this number of steps: it fetches, and each fetch brings almost nothing."""

    def act(world: World, _: Checker) -> None:
        node_id = one_of(world, who)
        slow_for(world, next(one for one in controllers(world) if one.meta.node_id == node_id), steps)

    return act


def _machines_of_ending_pods(world: World) -> list[str]:
    """The machines on which a pod is being deleted."""
    ending = (pod for pod in world.kube.all(PODS) if "deletionTimestamp" in pod["metadata"])
    return [str(pod["spec"]["nodeName"]) for pod in ending]


def _has_an_ending_pod(world: World) -> bool:
    return bool(_machines_of_ending_pods(world))


def _cuts_their_power(world: World, _: Checker) -> None:
    for name in _machines_of_ending_pods(world):
        world.switch_off(name)
        world.later(_OFF_STEPS, partial(world.switch_on, name))


def _another_lags(world: World, _: Checker) -> None:
    """A follower that is not the next one of the roll lags for some seconds."""
    moved = moved_not_stopped(world)
    other = next(one for one in controllers(world) if not one.leads and one.meta.node_id not in moved)
    slow_for(world, other, 2 * _SHORT_LAG_STEPS)


def _lowest_lags(world: World, _: Checker) -> None:
    """The lowest follower lags."""
    other = min((one for one in controllers(world) if not one.leads), key=lambda one: one.meta.node_id)
    slow_for(world, other, _LAG_STEPS)


def _freezes(world: World, _: Checker) -> None:
    """Kafka of a follower is frozen."""
    process = next(one for one in controllers(world) if one.meta.node_id == one_of(world, "follower"))
    freeze_for(world, process, _FROZEN_STEPS)


def _loses_a_disk_and_stalls(world: World) -> None:
    """A follower loses its claim and its pod, and for a while nothing reaches any other follower's log."""
    happen(world, Accident(step=0, loss=Loss.CLAIM_DELETED, node_id=one_of(world, "follower")))
    for process in controllers(world):
        if not process.leads:
            slow_for(world, process, _SHORT_LAG_STEPS)


def _first_disks_vote(world: World) -> str:
    """Every voter has the disk that it was formatted with."""
    first = first_disks(world)
    leader = _leader(world)
    if leader is None:
        return "there is no leader"
    new = [str(key) for key in leader.voters if str(key.directory_id) not in first]
    return f"{', '.join(new)} have new disks" if new else ""


# A claim whose labels come back with other values


def _relabels(quorum: str, shift: int) -> Act:
    """A restore gives a claim the labels of another quorum, or of another controller."""

    def act(world: World, _: Checker) -> None:
        for claim in list(world.kube.all(CLAIMS))[:1]:
            node_id = int(claim["metadata"]["labels"][LABEL_NODE]) + shift
            labels = {LABEL_QUORUM: quorum, LABEL_NODE: str(node_id)}
            world.kube.patch(CLAIMS, NAMESPACE, claim["metadata"]["name"], {"metadata": {"labels": labels}})

    return act


def _labelled_by_name(world: World) -> str:
    """Every claim has the labels that follow from its name, and no disk was replaced."""
    wrong = [one["name"] for one in (claim["metadata"] for claim in world.kube.all(CLAIMS)) if not _is_right(one)]
    return f"claims {', '.join(wrong)} have other labels" if wrong else _first_disks_vote(world)


def _is_right(metadata: Json) -> bool:
    labels = metadata["labels"]
    return bool(metadata["name"].startswith(f"{labels[LABEL_QUORUM]}-{labels[LABEL_NODE]}-g"))


# A readiness gate that becomes true, and a budget that is loosened, on an old look

_NOTED: Final[WeakKeyDictionary[World, list[str]]] = WeakKeyDictionary()
"""By world: what was written although it had been wrong for longer than the operator may be behind."""


def _gate_of(body: Json | None) -> str:
    rows = ((body or {}).get("status") or {}).get("conditions") or []
    return next((str(row["status"]) for row in rows if row["type"].startswith("kafkaquorum.io/")), "")


def _is_shown_late(world: World) -> bool:
    """Once a pod is shown as lagging, and its Kafka is caught up again."""
    leader = _leader(world)
    return leader is not None and any(
        world.kraft.is_caught_up(leader, one.key, 0.5) and _gate_of(_pod_of(world, one)) == "False"
        for one in controllers(world)
        if one is not leader
    )


def _pod_of(world: World, process: Process) -> Json | None:
    """The pod of a running controller."""
    wanted = f"{NAME}-{process.meta.node_id}-"
    return next((pod for pod in world.kube.all(PODS) if pod["metadata"]["name"].startswith(wanted)), None)


def _freezes_what_is_shown_late(world: World) -> None:
    """Kafka of that pod is frozen; every look that shows it as caught up from now on is recorded."""
    process = next(one for one in controllers(world) if _gate_of(_pod_of(world, one)) == "False")
    since_s = world.clock.elapsed_s
    freeze_for(world, process, 2 * _OLD_LOOK_STEPS)
    name = str((_pod_of(world, process) or {})["metadata"]["name"])

    def watch(written: Written) -> None:
        long = process.frozen and world.clock.elapsed_s - since_s > RECENT_S
        if long and written.key == (PODS.plural, NAMESPACE, name) and _gate_of(loaded(written.after)) == "True":
            _NOTED.setdefault(world, []).append(f"pod {name} is shown as caught up, and stands still")

    world.kube.watchers.append(watch)


def _notes(missing: str, when: Callable[[World], bool]) -> Act:
    """Note what is missing, if this does not hold now."""

    def act(world: World, _: Checker) -> None:
        if not when(world):
            _NOTED.setdefault(world, []).append(missing)

    return act


def _has_formatted(world: World) -> bool:
    """Every disk is formatted, while the pod of the one before may still be there."""
    return all(volume.disk.key is not None for volume in world.volumes.of_quorum(NAMESPACE, NAME))


def _nothing_noted(world: World) -> str:
    return "; ".join(_NOTED.get(world, ()))


def _leader(world: World) -> Process | None:
    return next((one for one in controllers(world) if one.leads), None)


def _minimum(body: Json | None) -> int:
    """How many voters the disruption budget keeps; 0 if there is none."""
    return int(((body or {}).get("spec") or {}).get("minAvailable", 0))


def _is_loosened(world: World) -> bool:
    """Once a voter is removed, and the budget still keeps every voter that is left."""
    leader, budget = _leader(world), next(world.kube.all(BUDGETS), None)
    return leader is not None and not is_changing(world) and len(leader.voters) == _minimum(budget) == _LEFT


def _adds_a_voter_by_hand(world: World) -> None:
    """For a while a person's tool makes one more voter: a looser budget is noted from now on."""
    leader, since_s = _leader(world), world.clock.elapsed_s
    if leader is None:
        return
    voters = leader.voters
    world.kraft.append_voters(leader, voters | {_BY_HAND})

    def remove() -> None:
        world.kraft.append_voters(leader, voters)

    world.later(2 * _OLD_LOOK_STEPS, remove)

    def watch(written: Written) -> None:
        most = len(leader.voters) // 2
        long = _BY_HAND in leader.voters and world.clock.elapsed_s - since_s > RECENT_S
        if long and written.key[0] == BUDGETS.plural and _minimum(loaded(written.after)) <= most:
            _NOTED.setdefault(world, []).append(f"the budget keeps {most} of {len(leader.voters)} voters")

    world.kube.watchers.append(watch)


EVIDENCE_SCENARIOS: Final = (
    Scenario(
        name="blank-beside-one-that-lags",
        spec=_THREE,
        turns=(
            turn(
                "one voter lags, and the disk of another is hidden",
                is_ready,
                both(_lowest_lags, goes_blank(_BLANK_STEPS, "follower")),
            ),
            turn("waits", after(90), does_nothing),
        ),
        holds=_first_disks_vote,
    ),
    Scenario(
        name="listed-as-empty-for-a-moment",
        spec=_THREE,
        turns=(
            turn(
                "the volume is listed as empty for a moment, and the operator looks again within it",
                is_ready,
                both(
                    is_listed_as_empty(_MOMENT_STEPS, "follower"),
                    later(_MOMENT_STEPS - 2, annotates("example.com/a", "b")),
                ),
            ),
            turn("waits", after(60), does_nothing),
        ),
        holds=_first_disks_vote,
    ),
    *(
        Scenario(
            name=f"emptied-disk-of-{who}-whose-pod-lingers",
            spec=_THREE,
            turns=(turn(f"empties the disk of the {who}", is_ready, loses(Loss.EMPTIED_AND_KILLED, who)),),
            lingers=_LINGERS_STEPS,
            exhaustive=True,
        )
        for who in ("leader", "follower")
    ),
    Scenario(
        name="emptied-disk-whose-pod-lingers-on-a-machine-without-power",
        spec=_THREE,
        turns=(
            turn("empties the disk of a follower", is_ready, loses(Loss.EMPTIED_AND_KILLED, "follower")),
            turn("its machine has no power when its pod ends", _has_an_ending_pod, _cuts_their_power),
        ),
        lingers=_LINGERS_STEPS,
    ),
    Scenario(
        name="emptied-disk-is-given-up-soon",
        spec=_THREE,
        turns=(
            turn("empties the disk of a follower", is_ready, loses(Loss.EMPTIED_AND_KILLED, "follower")),
            turn("looks ten seconds later", always, later(_SOON_STEPS, _notes("no disk is given up", has_retired))),
        ),
        holds=_nothing_noted,
    ),
    Scenario(
        name="formatted-beside-a-pod-that-lingers",
        spec=_THREE,
        turns=(
            turn("empties the disk of a follower", is_ready, loses(Loss.EMPTIED_AND_KILLED, "follower")),
            turn("it is given up", has_retired, later(_LINGERS_STEPS, _notes("no disk is formatted", _has_formatted))),
        ),
        holds=_nothing_noted,
        lingers=2 * _LINGERS_STEPS,
    ),
    Scenario(
        name="given-up-and-back-while-its-pod-lingers",
        spec=_THREE,
        turns=(
            turn("hides a disk", is_ready, goes_away),
            turn("shows it once it is given up", has_retired, shows_disks),
            turn("waits", after(90), does_nothing),
        ),
        holds=lacks_the_disk_of_before,
        lingers=_LINGERS_STEPS,
    ),
    Scenario(
        name="replaced-by-a-person-while-its-pod-lingers",
        spec=_THREE,
        turns=(turn("gives up a disk", is_ready, replaces("follower")),),
        holds=has_a_new_disk,
        lingers=_LINGERS_STEPS,
    ),
    Scenario(
        name="disk-lost-while-a-voter-is-added",
        spec=spec_of("InitialControllers", 4, controllers={"config": {FETCH_TIMEOUT: "1000"}}),
        turns=(turn("asks for five", is_ready, applies({"controllers": {"replicas": 5}})),),
        hitches=(Hitch(verb="AddRaftVoter", when=is_changing, steps=0, meanwhile=_loses_a_disk_and_stalls),),
    ),
    Scenario(
        name="frozen-on-a-silent-node-at-30s",
        spec=spec_of("InitialControllers", 3, controllers={"config": {FETCH_TIMEOUT: "30000"}}),
        turns=(
            turn(
                "a machine is silent, and its Kafka stands still",
                is_ready,
                both(_freezes, loses(Loss.NODE_SILENT, "follower")),
            ),
            turn("waits", after(90), does_nothing),
        ),
        holds=_first_disks_vote,
    ),
    Scenario(
        name="node-off-for-less-than-is-allowed",
        spec=spec_of("InitialControllers", 3, controllers={"replacement": {"lostNodeAfterSeconds": 30}}),
        turns=(
            turn("a machine is off for twenty seconds", is_ready, loses(Loss.NODE_OFF, "follower")),
            turn("waits", after(60), does_nothing),
        ),
        holds=_first_disks_vote,
    ),
    Scenario(
        name="moved-beside-one-that-lags-for-seconds",
        spec=spec_of("InitialControllers", 3, controllers={"config": {FETCH_TIMEOUT: "10000"}}),
        turns=(
            turn("wants another heap", is_ready, _HEAP),
            turn("pauses; another one lags", is_moving, both(_another_lags, pauses_for(_SHORT_LAG_STEPS))),
        ),
        holds=ends_restarted("1024m"),
    ),
    Scenario(
        name="step-on-an-old-answer",
        spec={**_THREE, "kafka": kafka_at(27)},
        turns=(turn("names the next level", is_ready, applies({"kafka": kafka_at(28)})),),
        hitches=(
            Hitch(verb="DescribeCluster", when=is_changing, steps=0, meanwhile=lambda _: None),
            Hitch(verb="DescribeCluster", when=is_changing, steps=_OLD_LOOK_STEPS, meanwhile=lambda _: None),
        ),
        holds=ends_on("4.4.0", metadata=28),
    ),
    Scenario(
        name="shown-on-an-old-look",
        spec=_THREE,
        turns=(turn("Kafka of a follower is killed", is_ready, loses(Loss.PROCESS, "follower")),),
        hitches=(
            Hitch(
                verb="patch",
                what=PODS.plural,
                when=_is_shown_late,
                steps=_OLD_LOOK_STEPS,
                meanwhile=_freezes_what_is_shown_late,
            ),
        ),
        holds=_nothing_noted,
    ),
    Scenario(
        name="budget-loosened-on-an-old-look",
        spec=spec_of("InitialControllers", 4),
        turns=(turn("asks for three", is_ready, applies({"controllers": {"replicas": _LEFT}})),),
        hitches=(
            Hitch(
                verb="get",
                what=BUDGETS.plural,
                when=_is_loosened,
                steps=_OLD_LOOK_STEPS,
                meanwhile=_adds_a_voter_by_hand,
            ),
        ),
        holds=_nothing_noted,
    ),
    *(
        Scenario(
            name=f"labels-of-another-{word}",
            spec=_THREE,
            turns=(
                turn("a claim gets other labels", is_ready, _relabels(quorum, shift)),
                turn("waits", after(60), does_nothing),
            ),
            holds=_labelled_by_name,
        )
        for word, quorum, shift in (("quorum", "theirs", 0), ("controller", NAME, 1), ("newcomer", NAME, 7))
    ),
)
