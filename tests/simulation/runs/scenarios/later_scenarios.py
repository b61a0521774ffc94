"""The table about the traces of a later version of the operator, and about the last accepted spec."""

import json
from typing import Final

from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.faults import Loss
from tests.simulation.runs.scenarios.scenes import (
    Act,
    Scenario,
    When,
    after,
    applies,
    does_nothing,
    is_ready,
    loses,
    one_of,
    resource,
    rests,
    says,
    spec_of,
    turn,
)

from kafka_quorum.kind import QUORUMS
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, PODS, Json

_THREE: Final = spec_of("InitialControllers", 3)
_FIVE: Final = {"controllers": {"replicas": 5}}
_LARGER: Final = {"controllers": {"replicas": 5, "storage": {"size": "20Gi"}}}
_WRONG: Final = {"kafka": {"version": "4.x"}}
_OPERATION: Final[Json] = {
    "id": "later",
    "type": "RecoverMajority",
    "target": "3002-AAAAAAAAQACAAAAAAAAAAQ",
    "holder": "a later operator",
    "journal": {"step": 3, "survivors": [3000]},
}


def begins_what_nobody_knows(world: World, _: Checker) -> None:
    """A later operator begins an operation, and this one replaces it."""
    world.kube.patch(QUORUMS, NAMESPACE, NAME, {"status": {"operation": _OPERATION}}, subresource="status")


def ends_it(world: World, _: Checker) -> None:
    """The later operator returned and ended its operation."""
    world.kube.patch(QUORUMS, NAMESPACE, NAME, {"status": {"operation": None}}, subresource="status")


def raises_the_number_of_the_record(world: World, _: Checker) -> None:
    """A later operator writes the record in its own form."""
    body = world.kube.get(CONFIG_MAPS, NAMESPACE, f"{NAME}-identity") or {}
    record = json.loads(body["data"]["record.json"]) | {"schemaVersion": 2}
    text = json.dumps(record)
    world.kube.patch(CONFIG_MAPS, NAMESPACE, f"{NAME}-identity", {"data": {"record.json": text}})


def ends_with_the_operation(world: World) -> str:
    """The operation is there unchanged, and no controller was added to the record."""
    operation = ((resource(world) or {}).get("status") or {}).get("operation")
    if operation != _OPERATION:
        return f"the operation is {operation}"
    return "" if _recorded(world)["nodes"] == 3 else "controllers were added"


def ends_with_the_record(world: World) -> str:
    """The record is as the later operator wrote it."""
    found = _recorded(world)
    return "" if found == {"schemaVersion": 2, "nodes": 3} else f"the record has {found}"


def ends_with_the_accepted_size(world: World) -> str:
    """Every claim requests the size of the last accepted spec, also the one of a replaced disk."""
    sizes = [claim["spec"]["resources"]["requests"]["storage"] for claim in world.kube.all(CLAIMS)]
    return "" if set(sizes) == {"20Gi"} else f"the claims ask for {sizes}"


def _recorded(world: World) -> Json:
    body = world.kube.get(CONFIG_MAPS, NAMESPACE, f"{NAME}-identity") or {}
    record = json.loads(body["data"]["record.json"])
    return {"schemaVersion": record["schemaVersion"], "nodes": len(record["nodes"])}


def takes_a_claim(world: World, _: Checker) -> None:
    """Another owner controls the claim of a follower: the claim exists, and the operator must not adopt it."""
    other = {"apiVersion": "batch/v1", "kind": "Job", "name": "copy", "uid": "uid-of-copy", "controller": True}
    name = f"{NAME}-{one_of(world, 'follower')}-g1"
    world.kube.patch(CLAIMS, NAMESPACE, name, {"metadata": {"ownerReferences": [other]}})


def ends_with_all_pods(world: World) -> str:
    """Every controller has a pod, and none was added to the record."""
    pods, nodes = len(list(world.kube.all(PODS))), _recorded(world)["nodes"]
    return "" if (pods, nodes) == (3, 3) else f"there are {pods} pods, and {nodes} controllers in the record"


def has_voters(count: int) -> When:
    """Once the leader's voter set has this number of voters."""

    def when(world: World) -> bool:
        return any(one.leads and len(one.voters) == count for one in world.kraft.processes)

    return when


def ends_with_three_voters(world: World) -> str:
    """A controller that left the voters stays out, as in the last spec without faults."""
    voters = [sorted(map(str, one.voters)) for one in world.kraft.processes if one.leads]
    return "" if [len(each) for each in voters] == [3] else f"the voters are {voters}"


_ASKS: Final[Act] = applies(_FIVE)

LATER_SCENARIOS: Final = (
    Scenario(
        name="operation-of-a-later-version",
        spec=_THREE,
        turns=(
            turn("a later operator begins something", is_ready, begins_what_nobody_knows),
            turn("asks for five", says("Degraded", "UnknownOperation"), _ASKS),
        ),
        ends="UnknownOperation",
        holds=ends_with_the_operation,
    ),
    Scenario(
        name="operation-of-a-later-version-ended",
        spec=_THREE,
        turns=(
            turn("a later operator begins something", is_ready, begins_what_nobody_knows),
            turn("asks for five", says("Degraded", "UnknownOperation"), _ASKS),
            turn("a later operator ends it", says("Degraded", "UnknownOperation"), ends_it),
        ),
    ),
    Scenario(
        name="record-of-a-later-version",
        spec=_THREE,
        turns=(
            turn("a later operator writes the record", is_ready, raises_the_number_of_the_record),
            turn("asks for five", says("Degraded", "IdentityUnreadable"), _ASKS),
        ),
        ends="IdentityUnreadable",
        holds=ends_with_the_record,
    ),
    Scenario(
        name="claim-taken-while-it-grows",
        spec=_THREE,
        turns=(
            turn("something takes a claim", is_ready, takes_a_claim),
            turn("asks for five", says("Degraded", "Unreadable"), _ASKS),
            turn("deletes the pod of the leader", after(5.0), loses(Loss.POD_DELETED, "leader")),
        ),
        ends="Unreadable",
        holds=ends_with_all_pods,
    ),
    Scenario(
        name="spec-invalid-after-it-grew",
        spec=_THREE,
        turns=(
            turn("asks for five, and larger disks", is_ready, applies(_LARGER)),
            turn("breaks the spec", rests, applies(_WRONG)),
            turn("loses a disk", says("Ready", "InvalidSpec"), loses(Loss.CLAIM_DELETED, "follower")),
        ),
        ends="InvalidSpec",
        holds=ends_with_the_accepted_size,
    ),
    Scenario(
        name="spec-invalid-while-it-shrinks",
        spec=spec_of("InitialControllers", 4),
        turns=(
            turn("asks for three", is_ready, applies({"controllers": {"replicas": 3}})),
            turn("breaks the spec", has_voters(3), applies(_WRONG)),
            turn("waits", after(60), does_nothing),
        ),
        ends="InvalidSpec",
        holds=ends_with_three_voters,
    ),
)
