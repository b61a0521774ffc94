"""The conditions, acts and endings of scenarios about releases: read from the world, and never from the operator."""

import json
from collections.abc import Callable
from itertools import pairwise

from tests.simulation.model.kafka.disk import Registration
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kafka.releases import METADATA, level_of, supported
from tests.simulation.model.kubernetes.machines import NAMES
from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.scenarios.scenes import Act, When, applies, deletes_record, is_ready, one_of, resource

from kafka_quorum.model.ids import ClusterID, NodeID
from kafka_quorum.model.names import LABEL_QUORUM
from kafka_quorum.model.quorum import FeatureRange
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, PODS, REVISIONS, Json

_EARLY_LEVEL = 31
"""A level that an early build of 4.4 had as its last one."""


def controllers(world: World) -> list[Process]:
    """The controllers that run for the quorum."""
    cluster_id = cluster_of(world)
    return [one for one in world.kraft.processes if one.cluster_id == cluster_id and not one.broker]


def cluster_of(world: World) -> ClusterID:
    """The cluster of the quorum; empty before there is one."""
    return ClusterID(str(((resource(world) or {}).get("status") or {}).get("clusterID") or ""))


def finalized(world: World, name: str) -> int:
    """The committed level of a feature."""
    return level_of(world.kraft.levels_of(cluster_of(world)), name)


# Conditions


def half_way(release: str) -> When:
    """Once at least one controller runs this release, and not all do."""
    return lambda world: 0 < _running(world, release) < len(controllers(world))


def all_run(release: str) -> When:
    """Once every controller runs this release."""
    return lambda world: bool(controllers(world)) and _running(world, release) == len(controllers(world))


def has_image(image: str) -> When:
    """Once a pod has this image."""
    return lambda world: _pods_with(world, image) > 0


def has_level(name: str, level: int) -> When:
    """Once this level is finalized."""
    return lambda world: finalized(world, name) == level


def is_dynamic(world: World) -> bool:
    """Once every voter has a directory id, and no controller has the static setting."""
    return not any(one.static or one.is_static for one in controllers(world))


def ready_and(other: When) -> When:
    """Once the resource reports Ready, and another condition holds."""
    return lambda world: is_ready(world) and other(world)


def _running(world: World, release: str) -> int:
    return sum(one.release == release for one in controllers(world))


def _pods_with(world: World, image: str) -> int:
    found = (pod["spec"]["containers"][0]["image"] for pod in world.kube.all(PODS))
    return sum(one == image for one in found)


# What a person does


def both(first: Act, second: Act) -> Act:
    """Two things at once."""

    def act(world: World, checker: Checker) -> None:
        first(world, checker)
        second(world, checker)

    return act


def later(steps: int, act: Act) -> Act:
    """An act after this number of steps; the run does not end before."""
    return lambda world, checker: world.later(steps, lambda: act(world, checker))


def pauses_for(steps: int) -> Act:
    """Pause the quorum, and resume it after this number of steps."""
    return both(applies({"paused": True}), later(steps, applies({"paused": False})))


def loses_record(world: World, checker: Checker) -> None:
    """The record is deleted, which alone has the revision that a stopped controller moves to.

    That controller may start once more from the revision that it had.
    """
    checker.misled = lambda: True
    deletes_record(world, checker)


def image_lies(image: str, release: str) -> Act:
    """The registry has another release under this tag."""
    return lambda world, _: world.kubelet.releases.update({image: release})


def at_most_one_with(image: str) -> Act:
    """A rule is broken if the operator continued the roll although the first controller was not well."""

    def act(world: World, checker: Checker) -> None:
        if (count := _pods_with(world, image)) > 1:
            checker.fail("5, the first", f"{count} pods have image {image}, and the first is not well")

    return act


def broker_starts(node_id: int, release: str) -> Act:
    """A person starts a broker of the cluster."""

    def act(world: World, _: Checker) -> None:
        world.brokers.start(node_id, release, cluster_of(world))

    return act


def broker_is_upgraded(node_id: int, release: str) -> Act:
    """A person upgrades the broker."""

    def act(world: World, _: Checker) -> None:
        world.brokers.upgrade(node_id, release)

    return act


def ghost_registers(node_id: int) -> Act:
    """The registration of a controller of an early build of 4.4, which is gone, is still there."""

    def act(world: World, _: Checker) -> None:
        leader = world.kraft.leader_of(cluster_of(world))
        if leader is None:
            return
        ranges = tuple(
            FeatureRange(name=one.name, min_level=one.min_level, max_level=_EARLY_LEVEL)
            if one.name == METADATA
            else one
            for one in supported("4.4.0")
        )
        ghost = Registration(
            node_id=NodeID(node_id), broker=False, incarnation="early", supported=ranges, at_s=world.kraft.now_s
        )
        world.kraft.append_registration(leader, ghost)

    return act


def cordons(who: str) -> Act:
    """A person cordons the Kubernetes node of the leader, of a follower, or of the bootstrap node."""
    return lambda world, _: world.machines.cordon(world.machine_of(NAMESPACE, NAME, one_of(world, who)), cordoned=True)


def keeps_only(who: str) -> Act:
    """Ask for only this controller."""

    def act(world: World, checker: Checker) -> None:
        applies({"controllers": {"replicas": 1, "nodeIDs": [one_of(world, who)]}})(world, checker)

    return act


def uncordons(world: World, _: Checker) -> None:
    """Every Kubernetes node takes pods again."""
    for name in NAMES:
        world.machines.cordon(name, cordoned=False)


def was_edited(times: int, release: str) -> Act:
    """The spec was edited this many times: each edit left its revision, the first one with `release`."""

    def act(world: World, _: Checker) -> None:
        present = next(iter(world.kube.all(REVISIONS)))
        for at in range(times):
            number = present["revision"] + 1 + at
            old: Json = json.loads(json.dumps(present))
            old["metadata"] = {name: old["metadata"][name] for name in ("namespace", "labels", "annotations")}
            old["metadata"]["name"], old["revision"] = f"{NAME}-{number:010x}", number
            old["data"]["runtime"]["release"] = old["data"]["runtime"]["release"] if at else release
            world.kube.create(REVISIONS, NAMESPACE, old)

    return act


def is_forgotten(number: int) -> When:
    """Once no revision has this number."""
    return lambda world: all(item["revision"] != number for item in world.kube.all(REVISIONS))


# Where it ends


def ends_on(release: str, **levels: int) -> Callable[[World], str]:
    """Every controller runs this release, and these features (`metadata` for metadata.version) are at these levels."""

    def why_not(world: World) -> str:
        others = sorted(one.meta.node_id for one in controllers(world) if one.release != release)
        if others:
            return f"controllers {others} do not run {release}"
        for name, level in levels.items():
            if (found := finalized(world, f"{name}.version")) != level:
                return f"{name}.version is {found}, and not {level}"
        return ""

    return why_not


def all_hold(*endings: Callable[[World], str]) -> Callable[[World], str]:
    """Each of these endings."""
    return lambda world: next((why for ending in endings if (why := ending(world))), "")


def went_by(*steps: str) -> Callable[[World], str]:
    """The levels changed by these steps, in this order: `metadata 28` is metadata.version 28."""

    def why_not(world: World) -> str:
        images = [
            entry.image.levels for entry in world.kraft.committed.get(cluster_of(world), []) if entry.image.levels
        ]
        taken = tuple(
            f"{name.removesuffix('.version')} {level_of(after, name)}"
            for before, after in pairwise(images)
            for name in sorted({one.name for one in (*before, *after)})
            if level_of(before, name) != level_of(after, name)
        )
        return "" if taken == steps else f"the levels changed by {', '.join(taken) or 'no step'}"

    return why_not


def forgets_removed(world: World) -> str:
    """No controller is registered that does not run."""
    runs = {one.meta.node_id for one in controllers(world)}
    committed = world.kraft.committed.get(cluster_of(world), [])
    registered = {one.node_id for one in committed[-1].image.registered if not one.broker} if committed else set()
    return f"controllers {sorted(registered - runs)} are still registered" if registered - runs else ""


def ends_dynamic(release: str) -> Callable[[World], str]:
    """Every controller runs this release, every voter has a directory id, and no static setting is left."""

    def why_not(world: World) -> str:
        left = sorted(one.meta.node_id for one in controllers(world) if one.static)
        static = any(one.is_static for one in controllers(world))
        if static:
            return "the quorum is static"
        return f"controllers {left} still have static voters" if left else ends_on(release, kraft=1)(world)

    return why_not


def ends_with_revisions(most: int, release: str, heap: str) -> Callable[[World], str]:
    """Every pod has this heap; at most this number of revisions is left, and one has this release."""

    def why_not(world: World) -> str:
        left = list(world.kube.all(REVISIONS))
        if len(left) > most:
            return f"{len(left)} revisions are left"
        if release not in {item["data"]["runtime"]["release"] for item in left}:
            return f"no revision of {release} is left"
        return ends_restarted(heap)(world)

    return why_not


def ends_restarted(heap: str) -> Callable[[World], str]:
    """Every pod has this heap."""

    def why_not(world: World) -> str:
        option = f"-Xms{heap} -Xmx{heap}"
        for pod in world.kube.all(PODS):
            if pod["metadata"]["namespace"] != NAMESPACE or not pod["metadata"]["name"].startswith(f"{NAME}-"):
                continue
            if not any(row.get("value") == option for row in pod["spec"]["containers"][0]["env"]):
                return f"pod {pod['metadata']['name']} has another heap than {heap}"
        return ""

    return why_not


# Adoption


def adopts(kafka: Json) -> Act:
    """Only the disks of a quorum are left: a person prepares all claims but one, and names them in the spec."""

    def act(world: World, checker: Checker) -> None:
        checker.abandoned(NAMESPACE, NAME)
        for kind in (CONFIG_MAPS, REVISIONS):
            for item in list(world.kube.all(kind)):
                world.kube.remove(kind, NAMESPACE, item["metadata"]["name"])
        claims = sorted(world.kube.all(CLAIMS), key=lambda claim: str(claim["metadata"]["name"]))
        for claim in claims:
            ours = [name for name in claim["metadata"]["annotations"] if name.startswith("kafkaquorum.io/")]
            labels = {LABEL_QUORUM: None} if claim is claims[-1] else {}
            bare = {"annotations": dict.fromkeys(ours), "labels": labels}
            world.kube.patch(CLAIMS, NAMESPACE, claim["metadata"]["name"], {"metadata": bare})
        metas = [world.volumes.by_claim[claim["metadata"]["uid"]].disk.meta for claim in claims]
        controllers = {
            "replicas": len(metas),
            "nodeIDs": sorted(meta.node_id for meta in metas if meta),
            "replacement": {"lostNodeAfterSeconds": 10},
        }
        spec = {
            "bootstrap": {"mode": "Adopt"},
            "clusterID": next(meta.cluster_id for meta in metas if meta),
            "kafka": kafka,
            "controllers": controllers,
        }
        applies(spec)(world, checker)

    return act


def brings_the_last_claim(world: World, _: Checker) -> None:
    """A person adds the missing label."""
    for claim in list(world.kube.all(CLAIMS)):
        if LABEL_QUORUM not in claim["metadata"]["labels"]:
            labels = {"metadata": {"labels": {LABEL_QUORUM: NAME}}}
            world.kube.patch(CLAIMS, NAMESPACE, claim["metadata"]["name"], labels)
