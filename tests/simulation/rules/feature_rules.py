"""Rule 7 on ground truth: supported levels, the time of a raise, allowed images, ghosts, static quorums.

A request is judged when it is sent, by what was true at that moment and for longer than the age of a look. A request
that Kafka would refuse changes nothing, and is still forbidden: the operator must check before it sends.
"""

from collections.abc import Iterator
from typing import Final

from tests.simulation.model.happened import Created, Fail, Formatted, GhostCured, StepAllowed, UpdateSent
from tests.simulation.model.kafka.disk import Image
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kafka.releases import (
    KRAFT,
    METADATA,
    level_of,
    supported,
    supports,
    upgrades_kraft,
    why_not,
)
from tests.simulation.model.kubernetes.pod_words import config_maps_of, env_of, properties_of, release_of, static_voters
from tests.simulation.model.kubernetes.volumes import Volume
from tests.simulation.model.world import World
from tests.simulation.rules.glances import LOOK_S, RECENT_S, Glances
from tests.simulation.rules.spoken import asked, changed_meanwhile

from kafka_quorum.model.ids import ClusterID, NodeID
from kafka_quorum.model.names import INPUTS_HASH, LABEL_NODE, LABEL_QUORUM, LABEL_ROLE
from kafka_quorum.model.quorum import FeatureStep
from kit.kube.protocol import CONFIG_MAPS, PODS, Json

SOAK_S: Final = 60
"""The default, if a spec sets none."""
ROLLED, VALIDATED, SOAKED, ONE_LEVEL = "7, the roll", "7, validated", "7, soaked", "7, one level"
GHOST: Final = "7, ghost"
BROKERS: Final = "7, brokers"
FEATURES_BY_KNOWLEDGE: Final = frozenset({BROKERS, ROLLED, VALIDATED, SOAKED, ONE_LEVEL, GHOST})


class FeatureRules:
    """Judges the operator's acts on levels, registrations and images."""

    def __init__(self, world: World, glances: Glances, fail: Fail) -> None:
        """Judge by this world, and report the rule and what happened to `fail`."""
        self._world, self._glances, self._fail = world, glances, fail
        self._allowed: dict[tuple[ClusterID, FeatureStep], float] = {}

    def allowed(self, event: StepAllowed) -> None:
        """The active controller would accept a step."""
        leader = self._leader(event.endpoint.host, event.endpoint.port)
        if leader is not None:
            self._allowed[leader.cluster_id, event.step] = self._now_s

    def sent(self, event: UpdateSent) -> None:
        """UpdateFeatures, as it is sent; a request that only validates is always allowed."""
        leader = self._leader(event.endpoint.host, event.endpoint.port)
        step = event.request.step
        if leader is None or event.request.validate_only:
            return
        present = level_of(leader.disk.image.levels, step.name)
        if step.level == present:
            return  # an answer was lost; nothing changes
        for who in self._who_cannot(leader, step):
            self._fail("7", f"{step} is sent, and {who} does not support it")
        if step.level < present:
            self._down(leader, step, present)
        if step.name == METADATA and abs(step.level - present) > 1:
            self._fail(ONE_LEVEL, f"{step} is sent at level {present}")
        if step.name == KRAFT and any(not upgrades_kraft(one.release) for one in self._controllers(leader)):
            self._fail("static", f"{step} is sent while a controller runs a release that only says that it does it")
        self._at_the_time(leader, step)

    def _at_the_time(self, leader: Process, step: FeatureStep) -> None:
        """A step is sent after the roll, after the server's consent and after the soak, and brokers follow."""
        quorum, cluster_id = quorum_of(leader), leader.cluster_id
        confirmed = asked(self._world, quorum, "brokerAccess", "confirmedRevision")
        for broker in self._silent(leader):
            if not confirmed and not changed_meanwhile(self._world, quorum):
                self._fail(
                    BROKERS, f"{step} is sent, broker {broker} cannot be asked, and nobody confirmed the contract"
                )
        if len(inputs := self._inputs(quorum)) > 1:
            self._fail(ROLLED, f"{step} is sent while pods are made of {len(inputs)} revisions")
        if self._now_s - self._allowed.get((cluster_id, step), -LOOK_S - 1) > LOOK_S:
            self._fail(VALIDATED, f"{step} is sent, and the server was not asked whether it would take it")
        soak_s = asked(self._world, quorum, "kafka", "features", "soakSeconds")
        soak_s = SOAK_S if soak_s is None else int(soak_s)
        since_s = self._now_s - self._glances.changed_s.get(cluster_id, self._now_s)
        well_s = self._glances.well_s.get(cluster_id, 0.0)
        if not changed_meanwhile(self._world, quorum) and (since_s < soak_s or well_s + RECENT_S < soak_s):
            told = f"{since_s:.1f} s after the last change, {well_s:.1f} s of them well"
            self._fail(SOAKED, f"{step} is sent {told}: {soak_s} s are asked for")

    def _down(self, leader: Process, step: FeatureStep, present: int) -> None:
        quorum = quorum_of(leader)
        policy = asked(self._world, quorum, "kafka", "features", "downgrade")
        if policy != "Safe" and not changed_meanwhile(self._world, quorum):
            self._fail("7", f"{step} is sent at level {present}, and downgrade is {policy or 'Forbid'}")

    def cured(self, event: GhostCured) -> None:
        """A registration is removed or replaced, as in the request."""
        leader = self._leader(event.endpoint.host, event.endpoint.port)
        if leader is None:
            return
        if any(key.node_id == event.node_id for key in leader.voters):
            self._fail(GHOST, f"controller {event.node_id} is cured as a ghost, and is a voter")
        for process in self._running(leader):
            cut_off = not self._world.kraft.connected(process, leader)  # unknown to the operator until it returns
            if process.meta.node_id == event.node_id and not cut_off:
                self._fail(GHOST, f"controller {event.node_id} is cured as a ghost, and runs")

    def pod_created(self, event: Created) -> None:
        """A Kafka pod is created: its image runs on the finalized levels, and its configuration finds the voters."""
        body = event.body
        name, container = body["metadata"]["name"], body["spec"]["containers"][0]
        namespace, quorum = body["metadata"]["namespace"], body["metadata"]["labels"][LABEL_QUORUM]
        cluster_id = ClusterID(env_of(container)["KQ_CLUSTER_ID"])
        volumes = self._world.volumes.of_quorum(namespace, quorum)
        levels = self._world.kraft.levels_of(cluster_id)
        formatted = (volume.disk.levels for volume in volumes if volume.disk.levels)
        if why := why_not(release_of(container["image"], {}), levels or next(formatted, ())):
            self._fail("7", f"pod {name} has image {container['image']}, older than the finalized levels: {why}")
        self._configured(body, volumes, self._image(cluster_id))

    def _configured(self, body: Json, volumes: list[Volume], image: Image) -> None:
        """The static setting is dropped when every voter has a directory id, and its own disk has them."""
        metadata = body["metadata"]
        maps = (self._world.kube.view(CONFIG_MAPS, metadata["namespace"], name) for name in config_maps_of(body))
        texts = [properties_of(one, int(metadata["labels"][LABEL_NODE])) for one in maps if one is not None]
        if not any(texts) or any(static_voters(text) for text in texts):
            return
        if image.voters is None and any(volume.disk.static for volume in volumes):
            self._fail("static", f"pod {metadata['name']} is made without static voters at kraft.version 0")
        claims = {row["persistentVolumeClaim"]["claimName"] for row in _mounted(body)}
        for disk in (volume.disk for volume in volumes if volume.claim in claims):
            if disk.static and not disk.voter_set:
                self._fail("static", f"pod {metadata['name']} finds no voters on its disk, and none in its settings")

    def formatted(self, event: Formatted, *, ran: bool) -> None:
        """No disk is formatted for a static quorum that has run: the quorum would accept it as the lost voter."""
        disks = (volume.disk for volume in self._world.volumes.of_quorum(event.namespace, event.quorum))
        static = event.static or any(disk.static for disk in disks)
        if ran and static and not event.initial and self._image(event.cluster_id).voters is None:
            self._fail("static", f"{event.key} is formatted at kraft.version 0, where any disk passes for a voter's")

    # Ground truth

    def _who_cannot(self, leader: Process, step: FeatureStep) -> Iterator[str]:
        for process in self._running(leader):
            told = self._now_s - process.up_s > RECENT_S  # it cannot be known before the process is up
            if told and not supports(supported(process.release), step.name, step.level):
                yield f"{'broker' if process.broker else 'controller'} {process.meta.node_id}, {process.release},"
        for one in leader.disk.image.registered:
            if self._now_s - one.at_s > RECENT_S and not supports(one.supported, step.name, step.level):
                yield f"{one}, as it has registered,"

    def _running(self, leader: Process) -> Iterator[Process]:
        """The processes that have run for longer than the age of a look."""
        for process in self._world.kraft.processes:
            if process.cluster_id == leader.cluster_id and self._now_s - process.started_s > RECENT_S:
                yield process

    def _silent(self, leader: Process) -> Iterator[NodeID]:
        """Brokers of others, which answer no request of the operator, and are registered for a while."""
        others = [one.meta.node_id for one in self._world.brokers.by_id.values() if one.cluster_id == leader.cluster_id]
        for one in leader.disk.image.registered:
            if one.broker and one.node_id in others and self._now_s - one.at_s > RECENT_S:
                yield one.node_id

    def _controllers(self, leader: Process) -> Iterator[Process]:
        return (process for process in self._running(leader) if not process.broker)

    def _inputs(self, quorum: str) -> set[str]:
        """The inputs of the quorum's Kafka pods."""
        wanted = {LABEL_QUORUM: quorum, LABEL_ROLE: "controller"}.items()
        found = (pod["metadata"] for pod in self._world.kube.all(PODS))
        ours = (metadata for metadata in found if wanted <= (metadata.get("labels") or {}).items())
        return {str((metadata.get("annotations") or {}).get(INPUTS_HASH, "")) for metadata in ours}

    def _image(self, cluster_id: ClusterID) -> Image:
        done = self._world.kraft.committed.get(cluster_id)
        return done[-1].image if done else Image()

    def _leader(self, host: str, port: int) -> Process | None:
        leader = self._world.kraft.at(host, port)
        return leader if leader is not None and leader.leads else None

    @property
    def _now_s(self) -> float:
        return self._world.clock.elapsed_s


def quorum_of(process: Process) -> str:
    """The name of the quorum of a controller, from its host name."""
    node_id: NodeID = process.meta.node_id
    return process.host.rsplit(f"-{node_id}.", 1)[0]


def _mounted(pod: Json) -> list[Json]:
    return [volume for volume in pod["spec"].get("volumes") or [] if "persistentVolumeClaim" in volume]
