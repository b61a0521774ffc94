"""Scenarios of a lost majority: the disks are read, a person approves the plan, a survivor starts, the others join."""

from collections.abc import Callable
from typing import Final

from tests.simulation.model.kafka.disk import Disk, Entry
from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.rules.recovery_rules import stage_of
from tests.simulation.runs.accidents import happen
from tests.simulation.runs.faults import FINAL_LOSSES, Accident, Loss
from tests.simulation.runs.scenarios.scenes import (
    Act,
    Scenario,
    When,
    applies,
    does_nothing,
    is_ready,
    resource,
    spec_of,
    turn,
)

from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.names import CONFIG, KEPT, LABEL_QUORUM, USED_BY, reader
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, PODS, Json, ResourceType

_THREE: Final = spec_of("InitialControllers", 3)
_FIVE: Final = spec_of("InitialControllers", 5)
_LATE_STEPS: Final = 400
_SEED: Final = "broker-log"
_PARTED: Final = "another-broker-log"
_PARTED_RECORDS: Final = 3
_SURVIVOR: Final = f"{NAME}-3000-g1"


def loses(loss: Loss, *node_ids: int) -> Act:
    """These controllers lose their disks, all at once."""

    def act(world: World, _: Checker) -> None:
        for node_id in node_ids:
            happen(world, Accident(step=0, loss=loss, node_id=node_id))

    return act


def recovery_of(world: World) -> Json:
    """What the status says of the recovery."""
    found: Json = ((resource(world) or {}).get("status") or {}).get("recovery") or {}
    return found


def says(field: str, value: str) -> When:
    """Once `status.recovery` has this."""
    return lambda world: recovery_of(world).get(field) == value


def asks(**more: object) -> Act:
    """A person has the disks read."""
    return applies({"recovery": {"inspect": True, **more}})


def approves(world: World, checker: Checker) -> None:
    """A person approves the plan that the status shows, and whatever it says is lost."""
    plan = recovery_of(world)["plan"]
    applies({"recovery": {"plan": plan, "acceptLoss": True}})(world, checker)


def _approves_another(world: World, checker: Checker) -> None:
    """A person approves a plan that was proposed at another time."""
    applies({"recovery": {"plan": "0123456789", "acceptLoss": True}})(world, checker)


def _is_being_copied(world: World) -> bool:
    """Once a copy has a part of a disk."""
    return any("-copy-" in volume.claim and volume.disk.log for volume in world.volumes.by_claim.values())


def _is_proposed_while_one_runs(world: World) -> bool:
    """Once a plan is there, and a controller runs that could ask for votes."""
    return is_proposed(world) and bool(world.kraft.processes)


def _takes_back(world: World, checker: Checker) -> None:
    """A person empties the approval."""
    applies({"recovery": {"plan": ""}})(world, checker)


def _has_asked_for_votes(world: World, checker: Checker) -> None:
    """A lone controller has asked for votes again and again, and a person approves what the status shows now."""
    for process in world.kraft.processes:
        process.disk.epoch += 3
    approves(world, checker)


def _all_lost_but_a_copy(world: World, checker: Checker) -> None:
    """All disks are lost at once; a copy of the leader's log is left in another claim, as a broker has one."""
    _keeps_a_copy(world, _SEED)
    loses(Loss.CLAIM_DELETED, 3000, 3001, 3002)(world, checker)


def _keeps_a_copy(world: World, name: str) -> Disk:
    """A copy of the leader's log, in a claim that is not ours."""
    leader = next(one for one in world.kraft.processes if one.leads)
    metadata = {"name": name, "labels": {}, "annotations": {KEPT: "true", USED_BY: reader(NAME)}}
    claim = world.kube.create(CLAIMS, NAMESPACE, {"metadata": metadata, "spec": {}})
    world.volumes.restore(claim, leader.disk, leader.node)
    return world.volumes.by_claim[claim["metadata"]["uid"]].disk


def _all_lost_but_two_copies(world: World, checker: Checker) -> None:
    """The same, and another copy, of a broker that stopped in an earlier epoch with records that no leader has."""
    parted = _keeps_a_copy(world, _PARTED)
    first = parted.log[0].epoch
    parted.log = [Entry(epoch=first - 1, what="noop") for _ in range(_PARTED_RECORDS)]
    _all_lost_but_a_copy(world, checker)


def _says_what_would_be_lost(world: World) -> bool:
    """Once the plan is proposed, and the records of the second copy are listed."""
    rows = recovery_of(world).get("wouldBeLost") or [{}]
    listed = (rows[0].get("claimName"), rows[0].get("state"), rows[0].get("records"))
    return is_proposed(world) and listed == (_PARTED, "Known", _PARTED_RECORDS) and rows[-1]["state"] == "Unknown"


def _three_lost_and_one_off(world: World, checker: Checker) -> None:
    """Three disks of five are gone, and the machine of a fourth has no power for twenty seconds."""
    loses(Loss.CLAIM_DELETED, 3002, 3003, 3004)(world, checker)
    loses(Loss.NODE_OFF, 3001)(world, checker)


def _has_both_copies(world: World) -> str:
    """Both surviving disks have a copy, which nobody has released; three controllers run on new disks."""
    copies = [claim["metadata"]["name"] for claim in world.kube.all(CLAIMS) if "-copy-" in claim["metadata"]["name"]]
    return joined(5, 3000)(world) or ("" if len(copies) == 2 else f"there are copies {copies}")


def _is_told_bare(world: World) -> bool:
    """Once the status names the pod that lost its labels."""
    rows = ((resource(world) or {}).get("status") or {}).get("conditions") or []
    return any(" label pod " in row.get("message", "") for row in rows)


def _takes_the_label_off(world: World, checker: Checker) -> None:
    """A person approves the plan, and takes the label off the survivor's pod; Kafka runs on in it."""
    _labels(world, None)
    approves(world, checker)


def _gives_the_label_back(world: World, _: Checker) -> None:
    """A person does what the status says."""
    _labels(world, NAME)


def _labels(world: World, value: str | None) -> None:
    world.kube.patch(PODS, NAMESPACE, _SURVIVOR, {"metadata": {"labels": {LABEL_QUORUM: value}}})


def _is_proposed_beside_its_pod(world: World) -> bool:
    """Once a plan is there, and the pod of the survivor."""
    return is_proposed(world) and world.kube.view(PODS, NAMESPACE, _SURVIVOR) is not None


def _asked_again(world: World, kind: ResourceType, name: str) -> Json:
    """What a request that makes this object once more has in it."""
    item = world.kube.get(kind, NAMESPACE, name) or {}
    kept = {key: item["metadata"].get(key, {}) for key in ("name", "labels", "annotations", "ownerReferences")}
    return {**{key: value for key, value in item.items() if key in ("spec", "data")}, "metadata": kept}


def _approves_with_a_pod_under_way(stage: str) -> Act:
    """A person approves the plan. A request for the survivor's pod of before comes when the recovery is this far.

    At stage `Start` another request brings its config map back, so that the pod does not wait for that.
    """

    def act(world: World, checker: Checker) -> None:
        pod = _asked_again(world, PODS, _SURVIVOR)
        pod["spec"].pop("nodeName", None)
        config = _asked_again(world, CONFIG_MAPS, pod["metadata"]["annotations"][CONFIG])

        def comes() -> None:
            is_there = world.kube.view(PODS, NAMESPACE, _SURVIVOR) is not None
            if is_there or stage_of(checker.lineage(NAMESPACE, NAME).record) != stage:
                world.later(1, comes)
                return
            if stage == "Start" and world.kube.view(CONFIG_MAPS, NAMESPACE, config["metadata"]["name"]) is None:
                world.kube.create(CONFIG_MAPS, NAMESPACE, config)
            world.kube.create(PODS, NAMESPACE, pod)

        comes()
        approves(world, checker)

    return act


def untouched(world: World) -> str:
    """Nothing was recovered: every controller votes on a disk of the time before."""
    marks = {one.disk.recovery for one in world.kraft.processes}
    return "" if marks == {0} else f"Kafka runs on disks of recoveries {sorted(marks)}"


def is_proposed(world: World) -> bool:
    """Once a plan is proposed."""
    return recovery_of(world).get("stage") == "Proposed" and "plan" in recovery_of(world)


def is_recovered(world: World) -> bool:
    """Once the recovery has ended, and the quorum is Ready."""
    return is_ready(world) and recovery_of(world).get("stage") == "Recovered"


def _releases(world: World, _: Checker) -> None:
    """A person releases what the recovery kept."""
    epoch = str(recovery_of(world)["epoch"])
    annotations = {"kafkaquorum.io/release-recovery": epoch}
    body = {"metadata": {"annotations": annotations}, "spec": {"recovery": {"inspect": False, "plan": ""}}}
    world.kube.patch(QUORUMS, NAMESPACE, NAME, body)


def _is_released(world: World) -> bool:
    """Once no claim of before is left."""
    names = [claim["metadata"]["name"] for claim in world.kube.all(CLAIMS)]
    return is_ready(world) and not any("-copy-" in name for name in names)


def joined(count: int, survivor: int) -> Callable[[World], str]:
    """Every voter runs on a disk of this recovery, and none but the survivor on its first one."""

    def holds(world: World) -> str:
        leader = next((one for one in world.kraft.processes if one.leads), None)
        if leader is None:
            return "there is no leader"
        marks = {one.disk.recovery for one in world.kraft.processes}
        if marks != {1}:
            return f"Kafka runs on disks of recoveries {sorted(marks)}"
        generations = {
            int(pod["metadata"]["labels"]["kafkaquorum.io/node-id"]): pod["metadata"]["name"].rsplit("-g", 1)[1]
            for pod in world.kube.all(PODS)
            if "kafkaquorum.io/node-id" in pod["metadata"]["labels"]
        }
        wrong = {node: g for node, g in generations.items() if g == "1" and node != survivor}
        return (
            f"generations {wrong}" if wrong else "" if len(leader.voters) == count else f"{len(leader.voters)} voters"
        )

    return holds


_TWO_LOST_AND_READ: Final = (
    turn("loses two disks", is_ready, loses(Loss.CLAIM_DELETED, 3001, 3002)),
    turn("has them read", lambda world: not is_ready(world), asks()),
)
TWO_LOST_AND_APPROVED: Final = (*_TWO_LOST_AND_READ, turn("approves", is_proposed, approves))

RECOVERIES: Final = (
    Scenario(
        name="majority-lost-3",
        spec=_THREE,
        turns=TWO_LOST_AND_APPROVED,
        until=is_recovered,
        holds=joined(3, 3000),
        bound=_LATE_STEPS,
        exhaustive=True,
        long=True,
        spares=FINAL_LOSSES,
    ),
    Scenario(
        name="majority-lost-read",
        spec=_THREE,
        turns=_TWO_LOST_AND_READ,
        until=is_proposed,
        bound=_LATE_STEPS,
        exhaustive=True,
        long=True,
        spares=FINAL_LOSSES,
    ),
    Scenario(
        name="majority-lost-released",
        spec=_THREE,
        turns=(
            *TWO_LOST_AND_APPROVED,
            turn("releases", is_recovered, _releases),
        ),
        until=_is_released,
        holds=joined(3, 3000),
        bound=_LATE_STEPS,
        exhaustive=True,
        long=True,
        spares=FINAL_LOSSES,
    ),
    Scenario(
        name="majority-lost-5",
        spec=_FIVE,
        turns=(
            turn("loses three disks", is_ready, loses(Loss.VOLUME_LOST, 3001, 3002, 3003)),
            turn("has them read", lambda world: not is_ready(world), asks()),
            turn("approves", is_proposed, approves),
        ),
        until=is_recovered,
        holds=_has_both_copies,
        bound=_LATE_STEPS,
        exhaustive=True,
        long=True,
        spares=FINAL_LOSSES,
    ),
    Scenario(
        name="majority-lost-after-changes",
        spec=spec_of("Standalone", 3),
        turns=TWO_LOST_AND_APPROVED,
        until=is_recovered,
        holds=joined(3, 3000),
        bound=_LATE_STEPS,
    ),
    Scenario(
        name="majority-returns-while-approved",
        spec=_THREE,
        turns=(
            turn("loses two machines", is_ready, loses(Loss.NODE_OFF, 3001, 3002)),
            turn("gives them up", lambda world: not is_ready(world), asks(without=[3001, 3002])),
            turn("approves", is_proposed, approves),
        ),
        until=is_ready,
        bound=_LATE_STEPS,
        exhaustive=True,
        long=True,
        spares=FINAL_LOSSES,
    ),
    Scenario(
        name="all-disks-lost",
        spec=_THREE,
        turns=(
            turn("loses all disks", is_ready, _all_lost_but_a_copy),
            turn("names the copy", lambda world: not is_ready(world), asks(seeds=[{"claimName": _SEED}])),
            turn("approves", is_proposed, approves),
        ),
        until=is_recovered,
        holds=joined(3, 0),
        bound=_LATE_STEPS,
        exhaustive=True,
        long=True,
        spares=FINAL_LOSSES,
    ),
    Scenario(
        name="a-copy-that-parted",
        spec=_THREE,
        turns=(
            turn("loses all disks", is_ready, _all_lost_but_two_copies),
            turn(
                "names both copies",
                lambda world: not is_ready(world),
                asks(seeds=[{"claimName": _SEED}, {"claimName": _PARTED}]),
            ),
            turn("approves", _says_what_would_be_lost, approves),
        ),
        until=is_recovered,
        holds=joined(3, 0),
        bound=_LATE_STEPS,
    ),
    Scenario(
        name="better-disk-returns",
        spec=_FIVE,
        turns=(
            turn("loses three disks, and a machine is off", is_ready, _three_lost_and_one_off),
            turn("has them read", lambda world: not is_ready(world), asks()),
            turn("is told", says("verdict", "BetterDiskMayReturn"), does_nothing),
            turn("approves", is_proposed, approves),
        ),
        until=is_recovered,
        holds=_has_both_copies,
        bound=_LATE_STEPS,
        exhaustive=True,
        long=True,
        spares=FINAL_LOSSES,
    ),
    Scenario(
        name="a-survivor-without-its-label",
        spec=_THREE,
        turns=(
            *_TWO_LOST_AND_READ,
            turn("approves, and takes the label off", _is_proposed_while_one_runs, _takes_the_label_off),
            turn("gives it back", _is_told_bare, _gives_the_label_back),
        ),
        until=is_recovered,
        holds=joined(3, 3000),
        bound=_LATE_STEPS,
    ),
    *(
        Scenario(
            name=name,
            spec=_THREE,
            turns=(
                *_TWO_LOST_AND_READ,
                turn("approves", _is_proposed_beside_its_pod, _approves_with_a_pod_under_way(stage)),
            ),
            until=is_recovered,
            holds=joined(3, 3000),
            bound=_LATE_STEPS,
            exhaustive=True,
            long=True,
            spares=FINAL_LOSSES,
        )
        for name, stage in (
            ("a-pod-comes-while-disks-are-copied", "Copy"),
            ("a-pod-comes-before-the-rewrite", "Rewrite"),
            ("a-pod-comes-before-the-start", "Start"),
        )
    ),
    Scenario(
        name="another-plan-is-approved",
        spec=_THREE,
        turns=(
            *_TWO_LOST_AND_READ,
            turn("approves another plan", is_proposed, _approves_another),
            turn("waits", lambda world: world.clock.elapsed_s > 2 * 60.0, does_nothing),
        ),
        until=is_proposed,
        holds=untouched,
        bound=_LATE_STEPS,
    ),
    Scenario(
        name="approved-again",
        spec=_THREE,
        turns=(
            *TWO_LOST_AND_APPROVED,
            turn("takes it back", _is_being_copied, _takes_back),
            turn("approves again", _is_proposed_while_one_runs, _has_asked_for_votes),
        ),
        until=is_recovered,
        holds=joined(3, 3000),
        bound=_LATE_STEPS,
    ),
    Scenario(
        name="majority-returns",
        spec=_THREE,
        turns=(
            turn("loses power", is_ready, loses(Loss.NODE_OFF, 3001, 3002)),
            turn("has them read", lambda world: not is_ready(world), asks()),
            turn("is told", says("verdict", "MajorityMayReturn"), does_nothing),
        ),
        until=is_ready,
        holds=untouched,
        bound=_LATE_STEPS,
    ),
)
"""Lost majorities. Each single fault is tried beside most of them, but for the loss of a further disk."""
