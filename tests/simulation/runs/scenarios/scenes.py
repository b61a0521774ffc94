"""The parts of a scenario: turns, their conditions, and their acts.

A scenario is a resource and a list of turns: when its condition holds, a turn acts, and the next one waits for its own
condition.
"""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from tests.simulation.model.kafka.startup import Paces, steady
from tests.simulation.model.kubernetes.kube_model import claims_of
from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.accidents import happen, hide, sandbox_of
from tests.simulation.runs.faults import Accident, Loss
from tests.simulation.runs.slow import Hitch

from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.names import PHASE, RETIRED
from kit.kube.protocol import BUDGETS, CLAIMS, CONFIG_MAPS, PODS, REVISIONS, SERVICES, Json

When: TypeAlias = Callable[[World], bool]
Act: TypeAlias = Callable[[World, Checker], None]


def anywhere(_: World) -> str:
    """An ending without further requirements."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """An act that happens once `when` holds."""

    what: str
    when: When
    act: Act


def turn(what: str, when: When, act: Act) -> Turn:
    """A turn, for the tables."""
    return Turn(what=what, when=when, act=act)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A quorum's spec, what happens to it, and its ending without faults: Ready, or `ends` as the reason.

    `holds` returns what is wrong at the end, by ground truth; an empty text if nothing is.
    """

    name: str
    spec: Json
    turns: tuple[Turn, ...] = ()
    hitches: tuple[Hitch, ...] = ()
    pace: Paces = steady
    backs_off: bool = False
    """Whether the kubelet's pauses have their real length; they are short if a scenario does not need that."""
    lingers: int = 0
    """For how many steps a pod that is being deleted stays."""
    ends: str = "Ready"
    holds: Callable[[World], str] = anywhere
    lives_s: float = math.inf
    """How long each operator lives, until `until_s`. The next one remembers nothing."""
    until_s: float = 0.0
    """A run does not end before."""
    until: Callable[[World], bool] = lambda _: True
    """A run does not end while this does not hold."""
    bound: int = 700
    """The most steps of a run."""
    exhaustive: bool = False
    """Whether every call of it gets every fault; the other scenarios cover what the exhaustive ones do not reach."""
    long: bool = False
    """Whether a run takes long: a share of all faults has fewer of this scenario."""
    spares: frozenset[Loss] = frozenset()
    """Losses that its exhaustive runs do without, because only a person can correct them."""

    @property
    def replicas(self) -> int:
        """How many controllers it begins with."""
        return int(self.spec["controllers"]["replicas"])


def spec_of(mode: str, replicas: int, **more: Any) -> Json:  # noqa: ANN401 - JSON
    """A spec with everything that has no default."""
    given = {"replacement": {"lostNodeAfterSeconds": 10}, **more.pop("controllers", {})}
    controllers = {"replicas": replicas, **given}
    return {"bootstrap": {"mode": mode}, "kafka": {"version": "4.4.0"}, "controllers": controllers, **more}


# Conditions


def resource(world: World) -> Json | None:
    """The resource as it is, to be read only."""
    return world.kube.view(QUORUMS, NAMESPACE, NAME)


def condition(world: World, kind: str) -> Json:
    """A condition of the resource, empty if it is not there."""
    body = resource(world) or {}
    rows = (body.get("status") or {}).get("conditions") or []
    return next((row for row in rows if row["type"] == kind), {})


def is_ready(world: World) -> bool:
    """Whether the resource is Ready at its present generation."""
    body, row = resource(world), condition(world, "Ready")
    if body is None or row.get("status") != "True":
        return False
    return bool(row.get("observedGeneration") == body["metadata"]["generation"])


def rests(world: World) -> bool:
    """Whether it is Ready, nothing is degraded, and nothing is in progress."""
    off = (condition(world, kind).get("status") == "False" for kind in ("Progressing", "Degraded"))
    return is_ready(world) and all(off)


def after(seconds: float) -> Callable[[World], bool]:
    """Once this time has passed since the beginning."""
    return lambda world: world.clock.elapsed_s >= seconds


def volumes_go_anywhere(world: World, _: Checker) -> None:
    """The storage class makes volumes that any machine can attach."""
    world.volumes.local = False


def loses_node_and_room(world: World, checker: Checker) -> None:
    """A follower's machine and its node are gone, and for twenty seconds no other machine has room for its pod."""
    world.full = True
    world.later(40, lambda: setattr(world, "full", False))
    loses(Loss.NODE_DELETED, "follower")(world, checker)


def has_processes(count: int) -> Callable[[World], bool]:
    """Once this number of controllers runs."""
    return lambda world: len(world.kraft.processes) >= count


def says(kind: str, reason: str) -> Callable[[World], bool]:
    """Once a condition has this reason."""
    return lambda world: condition(world, kind).get("reason") == reason


def tells(kind: str, text: str) -> Callable[[World], bool]:
    """Once the message of a condition contains this text."""
    return lambda world: text in condition(world, kind).get("message", "")


def is_gone(world: World) -> bool:
    """Once the resource, its pods and its services are gone; claims may stay."""
    kinds = (QUORUMS, PODS, SERVICES)
    return not any(list(world.kube.all(kind)) for kind in kinds)


# What a person does


PLAIN: Final[Json] = {"name": "CONTROLLER", "port": 9093, "protocol": "PLAINTEXT"}


def applies(spec: Json) -> Callable[[World, Checker], None]:
    """Create the resource, or change its spec. Without TLS, unless the spec asks for it."""

    def act(world: World, _: Checker) -> None:
        if resource(world) is None:
            controllers = {"listeners": [PLAIN], **spec.get("controllers", {})}
            body = {"metadata": {"name": NAME}, "spec": {**spec, "controllers": controllers}}
            world.kube.create(QUORUMS, NAMESPACE, body)
        else:
            world.kube.patch(QUORUMS, NAMESPACE, NAME, {"spec": spec})

    return act


def deletes(*, with_volumes: bool) -> Callable[[World, Checker], None]:
    """Delete the resource; with its volumes it is the end of this quorum."""

    def act(world: World, checker: Checker) -> None:
        world.kube.delete(QUORUMS, NAMESPACE, NAME)
        if with_volumes:
            checker.end(NAMESPACE, NAME)

    return act


def erases_status(world: World, _: Checker) -> None:
    """Wipe the whole status."""
    body = resource(world)
    if body is not None:
        gone = dict.fromkeys(body.get("status") or {})
        world.kube.patch(QUORUMS, NAMESPACE, NAME, {"status": gone}, subresource="status")


def deletes_record(world: World, _: Checker) -> None:
    """Delete the ConfigMap that holds the identity."""
    world.kube.remove(CONFIG_MAPS, NAMESPACE, f"{NAME}-identity")


def deletes_record_and_status(world: World, checker: Checker) -> None:
    """Both at once: only the claims and the pods keep the identity."""
    deletes_record(world, checker)
    erases_status(world, checker)


def edits_record(text: str) -> Callable[[World, Checker], None]:
    """Replace the text of the record, as a person with an editor does."""

    def act(world: World, _: Checker) -> None:
        world.kube.patch(CONFIG_MAPS, NAMESPACE, f"{NAME}-identity", {"data": {"record.json": text}})

    return act


def has_copies(world: World) -> bool:
    """Once the status repeats the phase of the identity record: from then on the record can be rebuilt."""
    stored = world.kube.get(CONFIG_MAPS, NAMESPACE, f"{NAME}-identity")
    told = ((resource(world) or {}).get("status") or {}).get("bootstrap") or {}
    return stored is not None and json.loads(stored["data"]["record.json"])["phase"] == told.get("phase")


def keeps_retired(count: int) -> Callable[[World], str]:
    """This number of claims is kept, and marked as retired."""

    def why_not(world: World) -> str:
        claims = (claim["metadata"] for claim in world.kube.all(CLAIMS))
        found = [one["name"] for one in claims if one["annotations"].get(PHASE) == RETIRED]
        return "" if len(found) == count else f"claims {', '.join(found)} are marked as retired"

    return why_not


def deletes_service(world: World, _: Checker) -> None:
    """Delete the headless service."""
    world.kube.remove(SERVICES, NAMESPACE, f"{NAME}-controllers")


def image_vanishes(world: World, _: Checker) -> None:
    """The registry loses the image, and every pod is deleted."""
    world.kubelet.bad_images = ("apache/kafka:4.4.0",)
    for pod in list(world.kube.all(PODS)):
        world.kube.delete(PODS, NAMESPACE, pod["metadata"]["name"])


def foreign_disk(world: World, _: Checker) -> None:
    """Files from another program are on the first volume."""
    for volume in world.volumes.of_quorum(NAMESPACE, NAME)[:1]:
        volume.disk.files = True


def annotates(name: str, value: str | None) -> Act:
    """A person sets an annotation of the resource; None removes it."""

    def act(world: World, _: Checker) -> None:
        world.kube.patch(QUORUMS, NAMESPACE, NAME, {"metadata": {"annotations": {name: value}}})

    return act


def annotates_claim_wrongly(world: World, _: Checker) -> None:
    """A person writes another cluster id on a claim."""
    claim = next(world.kube.all(CLAIMS))
    wrong = {"metadata": {"annotations": {"kafkaquorum.io/cluster-id": "AAAAAAAAQACAAAAAAAAAAQ"}}}
    world.kube.patch(CLAIMS, NAMESPACE, claim["metadata"]["name"], wrong)


def orphans(world: World, _: Checker) -> None:
    """Delete the resource with `--cascade=orphan`: its objects stay, without an owner."""
    world.kube.remove(QUORUMS, NAMESPACE, NAME)
    for kind in (PODS, CLAIMS, CONFIG_MAPS, SERVICES, BUDGETS, REVISIONS):
        for item in list(world.kube.all(kind)):
            world.kube.patch(kind, NAMESPACE, item["metadata"]["name"], {"metadata": {"ownerReferences": None}})


def without_owner(world: World) -> str:
    """The objects of a quorum that should have an owner, and have none."""
    kinds = (PODS, CONFIG_MAPS, SERVICES, BUDGETS)
    items = (item["metadata"] for kind in kinds for item in world.kube.all(kind))
    bare = [one["name"] for one in items if not one.get("ownerReferences") and one["name"] != f"{NAME}-identity"]
    return f"{', '.join(bare)} have no owner" if bare else ""


def strips_claim(world: World, _: Checker) -> None:
    """A restore loses the labels of a claim."""
    claim = next(world.kube.all(CLAIMS))["metadata"]
    gone = {"metadata": {"labels": dict.fromkeys(claim["labels"])}}
    world.kube.patch(CLAIMS, NAMESPACE, claim["name"], gone)


def bare_claims(world: World) -> str:
    """The claims that lack their labels."""
    claims = (claim["metadata"] for claim in world.kube.all(CLAIMS))
    bare = [one["name"] for one in claims if (one.get("labels") or {}).get("kafkaquorum.io/quorum") != NAME]
    return f"claims {', '.join(bare)} have no labels" if bare else ""


_THEIR_REVISIONS: Final = tuple(f"theirs-{number}" for number in range(12))
"""More than the operator keeps of its own."""


def strangers_come(world: World, _: Checker) -> None:
    """A person creates a claim, a config map and revisions with this quorum's labels, the claim with its cluster id."""
    claim = next(world.kube.all(CLAIMS))["metadata"]
    marks = {"labels": claim["labels"], "annotations": {"kafkaquorum.io/cluster-id": _cluster_of(claim)}}
    size = {"resources": {"requests": {"storage": "10Gi"}}}
    world.kube.create(CLAIMS, NAMESPACE, {"metadata": {"name": "theirs", **marks}, "spec": size})
    role = {"kafkaquorum.io/quorum": NAME, "kafkaquorum.io/role": "config"}
    world.kube.create(CONFIG_MAPS, NAMESPACE, {"metadata": {"name": "theirs", "labels": role}, "data": {}})
    revision = next(world.kube.all(REVISIONS))
    for name in _THEIR_REVISIONS:
        metadata = {field: revision["metadata"][field] for field in ("labels", "annotations")} | {"name": name}
        world.kube.create(REVISIONS, NAMESPACE, {**revision, "metadata": metadata, "revision": 1})


def strangers_left(world: World) -> str:
    """Which of these objects are gone; empty if none is."""
    theirs = [(CLAIMS, "theirs"), (CONFIG_MAPS, "theirs"), *((REVISIONS, name) for name in _THEIR_REVISIONS)]
    gone = [f"{kind.plural} {name}" for kind, name in theirs if world.kube.get(kind, NAMESPACE, name) is None]
    return f"somebody's {', '.join(gone)} are gone" if gone else ""


def _cluster_of(claim: Json) -> str:
    return str(claim["annotations"]["kafkaquorum.io/cluster-id"])


def loses(loss: Loss, who: str) -> Callable[[World, Checker], None]:
    """A loss is of the leader, a follower, or the bootstrap node, if Kafka runs."""

    def act(world: World, _: Checker) -> None:
        if world.kraft.processes:
            happen(world, Accident(step=0, loss=loss, node_id=one_of(world, who)))

    return act


def goes_blank(steps: int, *whos: str) -> Callable[[World, Checker], None]:
    """For this number of steps an empty directory is mounted in place of these volumes, all at once."""

    def act(world: World, _: Checker) -> None:
        for node_id in [one_of(world, who) for who in whos]:
            for claim in list(world.claims(NAMESPACE, NAME, node_id)):
                hide(world, Loss.DISK_BLANK, str(claim["metadata"]["uid"]), steps)

    return act


def is_listed_as_empty(steps: int, who: str) -> Callable[[World, Checker], None]:
    """For this number of steps the root directory of a volume is listed as empty, and Kafka there ends."""

    def act(world: World, checker: Checker) -> None:
        goes_blank(steps, who)(world, checker)
        for volume in world.volumes.by_claim.values():
            volume.stands_at_root = volume.stand_in is not None

    return act


def go_blank(steps: int, earlier: int, *, empty: bool = False) -> Callable[[World, Checker], None]:
    """A follower's disk goes blank, the leader's `earlier` steps later, and both return after `steps` more steps.

    With `empty` the follower's disk is also emptied.
    """

    def act(world: World, checker: Checker) -> None:
        follower = one_of(world, "follower")
        goes_blank(steps + earlier, "follower")(world, checker)
        world.later(earlier, lambda: goes_blank(steps, "leader")(world, checker))
        for claim in world.claims(NAMESPACE, NAME, follower) if empty else ():
            world.volumes.empty(str(claim["metadata"]["uid"]))

    return act


def first_disks(world: World) -> set[str]:
    """The directory ids of the first voters, from the status."""
    first = ((resource(world) or {}).get("status") or {}).get("bootstrap", {}).get("initialControllers") or ()
    return {row["directoryID"] for row in first}


def has_a_new_disk(world: World) -> str:
    """An emptied disk was replaced: not all of the first disks run."""
    ids = first_disks(world)
    left = [str(process.key) for process in world.kraft.processes if process.key.directory_id in ids]
    return f"{', '.join(left)} run on their first disks" if len(left) == len(ids) else ""


def goes_away(world: World, checker: Checker) -> None:
    """The disk of a follower is hidden for so long that it may be given up."""
    for claim in world.claims(NAMESPACE, NAME, one_of(world, "follower")):
        world.volumes.by_claim[claim["metadata"]["uid"]].away = True
    goes_blank(240, "follower")(world, checker)


def has_retired(world: World) -> bool:
    """Once the record has given up a disk."""
    stored = world.kube.get(CONFIG_MAPS, NAMESPACE, f"{NAME}-identity")
    nodes = json.loads(stored["data"]["record.json"])["nodes"] if stored else ()
    return any(node.get("lost") for node in nodes)


def shows_disks(world: World, _: Checker) -> None:
    """Every hidden disk is visible again."""
    for volume in world.volumes.by_claim.values():
        volume.shown(world.clock.elapsed_s)


def has_new_process(world: World) -> bool:
    """Once the quorum is Ready, and a controller runs on a disk that was formatted in place of another."""
    return bool(_newest(world)) and is_ready(world)


def shows_disk_of_newest(world: World, checker: Checker) -> None:
    """The hidden disk is visible again, over what was formatted meanwhile, and its pod starts again."""
    node_ids = _newest(world)
    shows_disks(world, checker)
    for node_id in node_ids:
        sandbox = sandbox_of(world, node_id)
        if sandbox is not None:
            world.kubelet.restart_sandbox(sandbox)


def _newest(world: World) -> list[NodeID]:
    """The controllers that run on a replacement for their hidden disks."""
    stand_ins = {id(one.stand_in) for one in world.volumes.by_claim.values() if one.stand_in is not None}
    return [process.meta.node_id for process in world.kraft.processes if id(process.disk) in stand_ins]


def lacks_the_disk_of_before(world: World) -> str:
    """A disk that returned after it was given up is kept unchanged, and no longer runs."""
    disks = [volume.disk for volume in world.volumes.of_quorum(NAMESPACE, NAME)]
    run = {process.disk.serial for process in world.kraft.processes}
    left = [disk for disk in disks if disk.serial not in run and disk.key is not None]
    return "" if len(left) == 1 else f"{len(left)} disks with data are kept, and do not run"


def volume_goes_and_comes(steps: int) -> Callable[[World, Checker], None]:
    """For this number of steps the object of a follower's volume is missing: its claim is Lost; its pod is deleted."""

    def act(world: World, _: Checker) -> None:
        node_id = one_of(world, "follower")
        for claim in list(world.claims(NAMESPACE, NAME, node_id)):
            name = claim["metadata"]["name"]
            world.kube.put_status(CLAIMS, claim, {"phase": "Lost"})
            world.later(steps, lambda name=name: _binds(world, name))  # type: ignore[misc]  # the name of this claim
        world.delete_pods(NAMESPACE, NAME, node_id, force=True)

    return act


def _binds(world: World, name: str) -> None:
    claim = world.kube.get(CLAIMS, NAMESPACE, name)
    if claim is not None:
        world.kube.put_status(CLAIMS, claim, {"phase": "Bound"})


def one_of(world: World, who: str) -> int:
    """The node id of the leader, of the highest follower, or of the lowest controller."""
    leaders = [process for process in world.kraft.processes if process.leads]
    leader = max(leaders, key=lambda process: process.disk.epoch, default=world.kraft.processes[0])
    ids = sorted(key.node_id for key in leader.voters)
    match who:
        case "leader":
            return leader.meta.node_id
        case "follower":
            return max((node_id for node_id in ids if node_id != leader.meta.node_id), default=ids[0])
        case _:
            return ids[0]


def removes_leader(world: World, checker: Checker) -> None:
    """Name every controller but the leader, and another one."""
    leader = one_of(world, "leader")
    ids = sorted({3000, 3001, 3002, 3003} - {leader})
    applies({"controllers": {"replicas": len(ids), "nodeIDs": ids}})(world, checker)


def removes_one_that_is_down(world: World, checker: Checker) -> None:
    """Name every controller but a follower, and another one; at that moment the pod of this follower is deleted."""
    follower = one_of(world, "follower")
    ids = sorted({3000, 3001, 3002, 3003} - {follower})
    applies({"controllers": {"replicas": len(ids), "nodeIDs": ids}})(world, checker)
    world.delete_pods(NAMESPACE, NAME, follower, force=True)


def restores_snapshot(world: World, _: Checker) -> None:
    """A person deletes a pod and its claim, and creates the claim again from a snapshot of the volume."""
    claim = max(world.kube.all(CLAIMS), key=lambda item: str(item["metadata"]["name"]))
    name, volume = claim["metadata"]["name"], world.volumes.by_claim[claim["metadata"]["uid"]]
    for pod in list(world.kube.all(PODS)):
        if name in claims_of(pod):
            world.kube.remove(PODS, NAMESPACE, pod["metadata"]["name"])
    metadata = {key: claim["metadata"][key] for key in ("name", "labels", "annotations")}
    world.kube.remove(CLAIMS, NAMESPACE, name)
    spec = {key: value for key, value in claim["spec"].items() if key != "volumeName"}
    restored = world.kube.create(CLAIMS, NAMESPACE, {"metadata": metadata, "spec": spec})
    world.volumes.restore(restored, volume.disk, volume.node)


def is_changing(world: World) -> bool:
    """Once an operation is open."""
    return bool(((resource(world) or {}).get("status") or {}).get("operation"))


def always(_: World) -> bool:
    """At once."""
    return True


def does_nothing(_: World, __: Checker) -> None:
    """Wait."""
