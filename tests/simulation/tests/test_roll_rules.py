"""Every broken rule of rolls, feature steps, ghosts and static quorums is noticed, and no kept one is reported."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from tests.simulation.model.happened import (
    Created,
    Formatted,
    GhostCured,
    Happened,
    PodDeleted,
    Started,
    StepAllowed,
    StopSent,
    UpdateSent,
)
from tests.simulation.model.kafka.disk import Disk, Registration
from tests.simulation.model.kafka.process import Process, Software
from tests.simulation.model.kafka.releases import level_of, levels_of, supported
from tests.simulation.model.world import STEP_S, World
from tests.simulation.rules.feature_rules import GHOST, ONE_LEVEL, ROLLED, SOAKED, VALIDATED
from tests.simulation.rules.invariants import Checker
from tests.simulation.tests.bodies import pod, prepare
from tests.simulation.tests.quorums import CLUSTER, disk, key

from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.names import INPUTS_HASH
from kafka_quorum.model.quorum import Endpoint, FeatureStep, UpdateFeature
from kit.errors import KubeRefused
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, LEASES, PODS, Json

METADATA = "metadata.version"
SOAK_STEPS = 40
"""Longer than the soak of the spec below."""


@dataclass(slots=True)
class Scene:
    """A quorum of these voters after the soak, its resource, its checker, and a pod for every voter."""

    node_ids: tuple[int, ...] = (3000, 3001, 3002)
    controllers: Json = field(default_factory=dict)
    features: Json = field(default_factory=dict)
    static: bool = False
    metadata: int = 27
    world: World = field(init=False)
    checker: Checker = field(init=False)
    processes: dict[int, Process] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Start everything."""
        self.world = World()
        self.checker = Checker(self.world)
        prepare(self.world)
        controllers = {"replicas": len(self.node_ids), **self.controllers}
        features = {"soakSeconds": 10, **self.features}
        spec = {"controllers": controllers, "kafka": {"features": features}}
        self.world.kube.create(QUORUMS, "kafka", {"metadata": {"name": "demo"}, "spec": spec})
        body = {"metadata": {"name": "demo-disruption"}, "spec": {"holderIdentity": "quorum/demo"}}
        self.world.kube.create(LEASES, "kafka", body)
        self.told(1)
        keys = frozenset(key(node_id) for node_id in self.node_ids)
        for replica in sorted(keys, key=str):
            on = disk(replica, frozenset() if self.static else keys)
            on.levels = levels_of({METADATA: self.metadata, "kraft.version": 0 if self.static else 1})
            on.static = self.static
            self.start(on)
        self.steps(SOAK_STEPS)

    def told(self, generation: int, **status: object) -> None:
        """The operator has reported this generation."""
        said = {"status": {"observedGeneration": generation, **status}}
        self.world.kube.patch(QUORUMS, "kafka", "demo", said, subresource="status")

    def start(self, on: Disk, *, release: str = "4.4.0") -> Process:
        """Start Kafka as the operator's pods do, and record its pod."""
        assert on.meta is not None
        node_id = on.meta.node_id
        static = frozenset(NodeID(one) for one in self.node_ids) if self.static else frozenset()
        process = self.world.kraft.start(
            on,
            node_id=node_id,
            address=f"10.0.0.{node_id}",
            host=f"demo-{node_id}.demo-controllers.kafka.svc",
            port=9093,
            listener="CONTROLLER",
            as_=Software(release=release, static=static),
        )
        self.processes[node_id] = process
        return process

    def stop(self, node_id: int) -> None:
        """Kafka ends."""
        self.world.kraft.stop(self.processes[node_id])

    def steps(self, count: int) -> None:
        """Let time pass; the rules look at each step."""
        for _ in range(count):
            self.world.step()

    @property
    def leader(self) -> Process:
        """The leader."""
        found = self.world.kraft.leader_of(CLUSTER)
        assert found is not None
        return found

    @property
    def followers(self) -> list[int]:
        """The node ids of the other running controllers."""
        return [one.meta.node_id for one in self.world.kraft.processes if one is not self.leader]

    @property
    def endpoint(self) -> Endpoint:
        """Where the leader listens."""
        leader = self.leader
        return Endpoint(node_id=leader.meta.node_id, host=leader.address, port=leader.port)

    def evicts(self, node_id: int, *, inputs: str = "old", evicted: bool = True) -> None:
        """The operator stops a pod whose Kafka runs."""
        process = self.processes[node_id]
        event = PodDeleted(
            namespace="kafka",
            quorum="demo",
            name=f"demo-{node_id}-g1",
            process=process,
            inputs=inputs,
            evicted=evicted,
        )
        self.world.tell(StopSent(stop=event))
        self.world.tell(event)
        self.world.kraft.stop(process)

    def returns(self, node_id: int) -> None:
        """The stopped controller runs again, in a new pod."""
        before = self.processes[node_id]
        self.start(before.disk)
        serial = before.disk.serial
        self.world.tell(
            Started(namespace="kafka", quorum="demo", serial=serial, cluster_id=CLUSTER, key=before.key),
        )

    def broken(self) -> set[str]:
        """The broken rules, without those of the unreported bootstrap and of the shared volume."""
        return {violation.rule for violation in self.checker.violations} - {"1", "2", "one user of a claim"}


def sent(scene: Scene, level: int, *, name: str = METADATA, downgrade: bool = False) -> UpdateSent:
    """UpdateFeatures, as it is sent."""
    step = FeatureStep(name=name, level=level, downgrade=downgrade)
    return UpdateSent(endpoint=scene.endpoint, request=UpdateFeature(step=step, validate_only=False, timeout_ms=1000))


def raises(scene: Scene, level: int, *, downgrade: bool = False) -> None:
    """Ask the server, and send the step."""
    event = sent(scene, level, downgrade=downgrade)
    scene.world.tell(StepAllowed(endpoint=scene.endpoint, step=event.request.step))
    scene.world.tell(event)


def test_an_orderly_roll_breaks_no_rule() -> None:
    """A roll breaks no rule if each follower is back before the next restart, and the active controller is last."""
    scene = Scene()
    last = scene.leader.meta.node_id
    for node_id in (*scene.followers, last):
        scene.evicts(node_id)
        scene.steps(2)
        scene.returns(node_id)
        scene.steps(12)
    assert scene.broken() == set()


def test_a_second_restart_before_the_first_is_back_is_noticed() -> None:
    """Of five voters two may be down, but a second restart before the first one is back breaks rule 5."""
    scene = Scene(node_ids=(3000, 3001, 3002, 3003, 3004))
    first, second, third = scene.followers[:3]
    scene.evicts(first)
    scene.evicts(second)
    assert scene.broken() == {"5"}
    scene.checker.violations.clear()
    scene.returns(first)
    scene.returns(second)
    scene.evicts(third)
    assert scene.broken() == {"3", "5"}  # they run, and are not caught up yet


def test_a_restart_without_the_token_is_noticed() -> None:
    """A voter that keeps up is stopped only while its quorum has the disruption token, or had it a moment ago."""
    scene = Scene()
    lease = scene.world.kube.get(LEASES, "kafka", "demo-disruption")
    assert lease is not None
    scene.world.kube.replace(LEASES, "kafka", {**lease, "spec": {"holderIdentity": "pool/hot"}})
    scene.steps(20)
    scene.evicts(scene.followers[0])
    assert scene.broken() == {"5, token"}


def test_a_restart_without_a_majority_is_noticed() -> None:
    """If one of three controllers is down, a restart of another one breaks rule 3."""
    scene = Scene()
    dead, other = scene.followers
    scene.stop(dead)
    scene.steps(20)
    scene.evicts(other)
    assert scene.broken() == {"3"}


def test_a_dead_controller_of_a_moment_ago_excuses() -> None:
    """A controller that stopped a moment ago excuses a restart: the look that decided it may not have shown that."""
    scene = Scene()
    dead, other = scene.followers
    scene.stop(dead)
    scene.steps(2)
    scene.evicts(other)
    assert scene.broken() == set()


@pytest.mark.parametrize(("seconds", "broken"), [(3.5, set()), (4.0, set()), (4.5, {"3"}), (7.5, {"3"})])
def test_the_operator_may_be_four_seconds_behind(seconds: float, broken: set[str]) -> None:
    """A stopped controller excuses a restart for four seconds: a look may be two seconds old, its stamp two more."""
    scene = Scene()
    dead, other = scene.followers
    scene.stop(dead)
    scene.steps(int(seconds / STEP_S))
    scene.evicts(other)
    assert scene.broken() == broken


def test_a_restart_during_a_voter_change_is_noticed() -> None:
    """A restart during a voter change that is open in the status breaks rule 4."""
    scene = Scene()
    scene.told(1, operation={"type": "AddVoter", "target": "3003"})
    scene.evicts(scene.followers[0])
    assert scene.broken() == {"4"}


def test_a_restart_of_the_active_controller_before_others_is_noticed() -> None:
    """The active controller must not be restarted while other voters run with the same inputs."""
    scene = Scene()
    run(scene, dict.fromkeys(scene.node_ids, "old"))
    scene.evicts(scene.leader.meta.node_id)
    assert scene.broken() == {"5"}


def test_the_active_controller_goes_last_and_whoever_led_a_moment_ago_is_excused() -> None:
    """The active controller may be restarted if the others have another revision, or it was just elected."""
    rolled = Scene()
    run(rolled, dict.fromkeys(rolled.followers, "new") | {rolled.leader.meta.node_id: "old"})
    rolled.evicts(rolled.leader.meta.node_id)
    elected = Scene()
    run(elected, dict.fromkeys(elected.node_ids, "old"))
    elected.world.kraft.resign(elected.leader)
    elected.steps(3)
    elected.evicts(elected.leader.meta.node_id)
    assert (rolled.broken(), elected.broken()) == (set(), set())


def run(scene: Scene, inputs: dict[int, str]) -> None:
    """Put a pod behind every process, with these inputs."""
    (claim,) = scene.world.kube.all(CLAIMS)
    scene.world.volumes.bind(claim, "node-a")
    for node_id, made_of in inputs.items():
        body = pod(f"demo-{node_id}-g1", "controller")
        body["metadata"]["labels"]["kafkaquorum.io/node-id"] = str(node_id)
        body["metadata"]["annotations"] = {INPUTS_HASH: made_of}
        made = scene.world.kube.create(PODS, "kafka", body)
        scene.world.kube.assign("kafka", made["metadata"]["name"], "node-a")
        made = scene.world.kube.get(PODS, "kafka", made["metadata"]["name"]) or {}
        sandbox = scene.world.kubelet._sandbox(made)
        assert sandbox is not None
        sandbox.process = scene.processes[node_id]


@pytest.mark.parametrize(
    ("node_ids", "controllers", "broken"),
    [
        ((3000,), {}, set()),
        ((3000,), {"allowInterruption": False}, {"3"}),
        ((3000, 3001), {}, {"3"}),
        ((3000, 3001), {"allowInterruption": True}, set()),
    ],
    ids=["one by default", "one held", "a pair by default", "a pair with leave"],
)
def test_one_and_two_voters_are_restarted_with_leave_only(
    node_ids: tuple[int, ...], controllers: Json, broken: set[str]
) -> None:
    """One and two voters are restarted only with `allowInterruption`, which is true by default for one replica."""
    scene = Scene(node_ids=node_ids, controllers=controllers)
    first = next(iter(scene.followers), 3000)
    scene.evicts(first, evicted=len(node_ids) > 1)
    assert scene.broken() == broken


def test_a_deletion_in_the_place_of_an_eviction_is_noticed() -> None:
    """The pod of one of several voters must be evicted, so that the budget is asked, and not deleted."""
    scene = Scene()
    scene.evicts(scene.followers[0], evicted=False)
    assert scene.broken() == {"5"}


@pytest.mark.parametrize(
    ("after", "generation", "broken"), [("old", 1, {"5, needless"}), ("new", 1, set()), ("old", 2, set())]
)
def test_a_restart_for_nothing_is_noticed(after: str, generation: int, broken: set[str]) -> None:
    """A new pod with the old inputs breaks a rule unless the spec was changed meanwhile."""
    scene = Scene()
    (node_id, _) = scene.followers
    scene.evicts(node_id)
    if generation > 1:
        scene.world.kube.patch(QUORUMS, "kafka", "demo", {"spec": {"paused": False}})
    scene.world.tell(created(scene, node_id, inputs=after))
    assert scene.broken() == broken


@pytest.mark.parametrize(
    ("seconds", "stops", "broken"), [(10.0, 1, {"5, a successor"}), (0.0, 1, set()), (10.0, 0, set())]
)
def test_a_stopped_controller_whose_successor_is_refused_is_noticed(
    seconds: float, stops: int, broken: set[str]
) -> None:
    """A refused new pod breaks a rule, unless the refusal is newer than the stop or no stop came before."""
    scene = Scene()
    (node_id, _) = scene.followers
    scene.world.kube.admission.refuse("Priority", lambda _: "no such class")
    scene.world.kube.admission.changed_s -= seconds
    for _ in range(stops):
        scene.evicts(node_id)
    with pytest.raises(KubeRefused, match="no such class"):
        scene.world.kube.create(PODS, "kafka", created(scene, node_id).body)
    assert scene.broken() == broken


def created(scene: Scene, node_id: int = 3000, *, inputs: str = "", image: str = "apache/kafka:4.4.0") -> Created:
    """A Kafka pod is created, on the volume of controller 3000."""
    body = pod(f"demo-{node_id}-g2", "controller")
    body["metadata"]["labels"]["kafkaquorum.io/node-id"] = str(node_id)
    body["metadata"]["annotations"] = {INPUTS_HASH: inputs}
    body["spec"]["hostname"] = f"demo-{node_id}"
    body["spec"]["containers"][0]["image"] = image
    return Created(plural="pods", body=scene.world.kube.create(PODS, "kafka", body))


def test_a_step_in_good_order_breaks_no_rule() -> None:
    """A supported, validated step by one level after the soak breaks no rule."""
    scene = Scene()
    raises(scene, 28)
    assert scene.broken() == set()


def lags(scene: Scene) -> None:
    """A running controller supports less."""
    process = scene.processes[scene.followers[0]]
    process.release = "4.1.2"
    scene.world.kraft.append_registration(scene.leader, _registration(process.meta.node_id, "4.4.0", at_s=0.0))


def broker_lags(scene: Scene) -> None:
    """A running broker supports less."""
    scene.world.brokers.start(1, "4.1.2", CLUSTER)
    scene.steps(SOAK_STEPS)


def ghost_lags(scene: Scene) -> None:
    """A controller that supports less is registered, and no longer runs."""
    scene.world.kraft.append_registration(scene.leader, _registration(3009, "4.1.2", at_s=0.0))


def _registration(node_id: int, release: str, *, at_s: float) -> Registration:
    return Registration(
        node_id=NodeID(node_id), broker=False, incarnation=f"{node_id}", supported=supported(release), at_s=at_s
    )


@pytest.mark.parametrize(
    ("lagging", "broken"), [(lags, {"7"}), (broker_lags, {"7", "7, brokers"}), (ghost_lags, {"7"})]
)
def test_a_level_that_a_node_does_not_support_is_noticed(lagging: Callable[[Scene], None], broken: set[str]) -> None:
    """A level that a controller, a broker or a registration does not support breaks rule 7."""
    scene = Scene()
    lagging(scene)
    raises(scene, 28)
    assert scene.broken() == broken


def test_a_node_that_came_a_moment_ago_excuses() -> None:
    """A node that came a moment ago excuses a step: the look behind it may not have shown that node."""
    scene = Scene()
    scene.world.brokers.start(1, "4.1.2", CLUSTER)
    scene.steps(2)
    raises(scene, 28)
    assert scene.broken() == set()


def test_a_step_during_a_roll_is_noticed() -> None:
    """A step breaks a rule while pods have two revisions."""
    scene = Scene()
    run(scene, dict(zip(scene.node_ids, ("new", "new", "old"), strict=True)))
    raises(scene, 28)
    assert scene.broken() == {ROLLED}


def test_a_step_that_was_not_validated_is_noticed() -> None:
    """A step breaks a rule if it was not validated, only another level was, or the validation is too old."""
    scene = Scene()
    scene.world.tell(sent(scene, 28))
    assert scene.broken() == {VALIDATED}
    scene.checker.violations.clear()
    scene.world.tell(StepAllowed(endpoint=scene.endpoint, step=FeatureStep(name=METADATA, level=28)))
    scene.steps(8)
    scene.world.tell(sent(scene, 28))
    assert scene.broken() == {VALIDATED}


def test_a_step_before_the_soak_is_over_is_noticed() -> None:
    """The soak counts from the last change, and only while every voter is caught up."""
    scene = Scene(features={"soakSeconds": 15})
    leader = scene.leader
    scene.world.kraft.append_levels(leader, levels_of({METADATA: 28, "kraft.version": 1}))
    scene.steps(4)
    raises(scene, 29)
    assert scene.broken() == {SOAKED}
    scene.checker.violations.clear()
    down = scene.followers[0]
    scene.stop(down)
    scene.steps(SOAK_STEPS)
    raises(scene, 29)
    assert scene.broken() == {SOAKED}
    scene.checker.violations.clear()
    scene.start(scene.processes[down].disk)
    scene.steps(SOAK_STEPS)
    raises(scene, 29)
    assert scene.broken() == set()


def test_two_levels_at_once_are_noticed() -> None:
    """A raise of metadata.version by two levels breaks a rule."""
    scene = Scene()
    raises(scene, 29)
    assert scene.broken() == {ONE_LEVEL}


def test_kraft_version_1_on_3_9_is_noticed() -> None:
    """kraft.version 1 must not be sent to 3.9, whose answer is a success without any change."""
    scene = Scene(static=True)
    scene.processes[scene.followers[0]].release = "3.9.2"
    step = sent(scene, 1, name="kraft.version")
    scene.world.tell(StepAllowed(endpoint=scene.endpoint, step=step.request.step))
    scene.world.tell(step)
    assert scene.broken() == {"static"}


@pytest.mark.parametrize(("policy", "broken"), [({}, {"7"}), ({"downgrade": "Safe"}, set())])
def test_a_downgrade_that_nobody_allows_is_noticed(policy: Json, broken: set[str]) -> None:
    """A downgrade breaks rule 7 unless the spec has `downgrade: Safe`."""
    scene = Scene(features=policy)
    raises(scene, 26, downgrade=True)
    assert scene.broken() == broken


@pytest.mark.parametrize(("node_id", "broken"), [(3001, {GHOST}), (3009, {GHOST}), (3010, set())])
def test_a_ghost_that_lives_is_noticed(node_id: int, broken: set[str]) -> None:
    """A voter, or an observer that runs, must not be registered again; a removed controller that is gone may be."""
    scene = Scene()
    scene.start(disk(key(3009), frozenset()))
    scene.steps(SOAK_STEPS)
    scene.world.tell(GhostCured(endpoint=scene.endpoint, node_id=NodeID(node_id)))
    assert scene.broken() == broken


@pytest.mark.parametrize(("image", "broken"), [("apache/kafka:4.1.2", {"7"}), ("apache/kafka:4.3.1", set())])
def test_an_image_older_than_the_levels_is_noticed(image: str, broken: set[str]) -> None:
    """An image may be older than the one before, but must support the finalized levels."""
    scene = Scene(metadata=29)
    scene.world.tell(created(scene, image=image))
    assert scene.broken() == broken


def static_scene() -> Scene:
    """A static quorum; the first voter's disk is behind the claim of the created pods."""
    scene = Scene(static=True)
    scene.world.tell(created(scene, 3077))
    scene.steps(2)
    (volume,) = scene.world.volumes.by_claim.values()
    volume.disk = scene.processes[3000].disk
    scene.checker.violations.clear()
    return scene


def configured(scene: Scene, text: str) -> None:
    """The configuration that the pods mount."""
    scene.world.kube.patch(CONFIG_MAPS, "kafka", "demo-config", {"data": {"3000.properties": text}})


@pytest.mark.parametrize(
    ("text", "broken"),
    [("controller.quorum.bootstrap.servers=a:9093\n", {"static"}), ("controller.quorum.voters=3000@a:9093\n", set())],
)
def test_a_pod_without_static_voters_at_kraft_version_0_is_noticed(text: str, broken: set[str]) -> None:
    """At kraft.version 0 a pod without static voters breaks a rule, because it would crash-loop."""
    scene = static_scene()
    configured(scene, text)
    scene.world.tell(created(scene))
    assert scene.broken() == broken


def test_the_static_setting_goes_once_every_voter_has_a_directory_id() -> None:
    """The static setting may be dropped once every voter has a directory id and the pod's own log has it."""
    scene = static_scene()
    configured(scene, "controller.quorum.bootstrap.servers=a:9093\n")
    keys = frozenset(process.key for process in scene.processes.values())
    scene.stop(3000)
    if scene.world.kraft.leader_of(CLUSTER) is None:
        scene.steps(12)
    levels = levels_of({METADATA: 27, "kraft.version": 1})
    scene.world.kraft.append_levels(scene.leader, levels, keys)
    scene.steps(4)
    scene.world.tell(created(scene))
    assert scene.broken() == {"static"}
    scene.checker.violations.clear()
    scene.start(scene.processes[3000].disk)
    scene.steps(4)
    scene.world.tell(created(scene, 3001))
    assert scene.broken() == set()
    assert level_of(scene.world.kraft.levels_of(CLUSTER), "kraft.version") == 1


def formatted(replica: ReplicaKey, *, static: bool) -> Formatted:
    """A disk was formatted."""
    return Formatted(
        namespace="kafka",
        quorum="demo",
        serial=99,
        cluster_id=CLUSTER,
        key=replica,
        initial=False,
        voters=frozenset(),
        static=static,
    )


@pytest.mark.parametrize("static", [True, False])
def test_a_format_for_a_static_quorum_that_has_run_is_noticed(*, static: bool) -> None:
    """A format for a static quorum that has run breaks a rule: the quorum would accept the disk as the lost voter's."""
    scene = static_scene()
    began: Happened = Started(namespace="kafka", quorum="demo", serial=1, cluster_id=CLUSTER, key=key(3000))
    scene.world.tell(began)
    scene.world.tell(formatted(key(3001, "n"), static=static))
    assert scene.broken() == {"static"}


def test_static_voters_do_not_run_before_all_of_them_are_formatted() -> None:
    """Static voters must not run before all of them are formatted."""
    scene = Scene(static=True)
    scene.world.tell(formatted(key(3000), static=True))
    scene.world.tell(Started(namespace="kafka", quorum="demo", serial=99, cluster_id=CLUSTER, key=key(3000)))
    told = [violation.text for violation in scene.checker.violations if violation.rule == "1"]
    assert any("[3001, 3002]" in text for text in told)


def test_whoever_could_not_know_is_excused_from_rules_by_knowledge_only() -> None:
    """An excuse holds for every rule by knowledge, and for no absolute rule."""
    scene = Scene()
    scene.checker.excused = lambda: True
    scene.world.tell(sent(scene, 29))
    event = sent(scene, 34)
    scene.world.tell(replace(event, endpoint=scene.endpoint))
    assert scene.broken() == {"7"}
    assert scene.checker.tolerated[VALIDATED] == 2
