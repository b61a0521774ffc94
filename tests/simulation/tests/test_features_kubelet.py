"""The modelled cluster starts the release of each image, reads the configuration, and checks budgets on evictions."""

import json

import pytest
from tests.simulation.model.kafka.releases import defaults, level_of, supported
from tests.simulation.model.kubernetes.budgets import evict, is_ready, with_ready
from tests.simulation.model.kubernetes.kube_model import copied
from tests.simulation.model.kubernetes.pod_words import levels_in, release_of, static_voters
from tests.simulation.model.kubernetes.pool_pods import LABEL_POOL
from tests.simulation.model.world import World
from tests.simulation.tests.bodies import NS, make, pod, prepare, steps

from kafka_quorum.model.names import GATE
from kit.errors import KubeConflict, KubeHeld, KubeNotFound
from kit.kube.protocol import BUDGETS, CONFIG_MAPS, PODS, Json

_VOTERS = "controller.quorum.voters=3000@demo-3000.demo-controllers.kafka.svc:9093,3001@other:9093\n"
_PROPERTIES = {"3000.properties": f"node.id=3000\n{_VOTERS}"}


def world(*, static: bool = False) -> World:
    """A cluster with one claim; the configuration names static voters or none."""
    made = World()
    prepare(made)
    if static:
        made.kube.patch(CONFIG_MAPS, NS, "demo-config", {"data": _PROPERTIES})
    return made


def formatter(*arguments: str, image: str = "apache/kafka:4.1.2") -> Json:
    """A formatter with these arguments of the tool."""
    body = pod("f", "formatter", directory="" if "--initial-controllers" not in arguments else "x")
    container = body["spec"]["containers"][0]
    container["image"], container["command"] = image, ["sh", "-c", "script", "format", *arguments]
    return body


def kafka(image: str) -> Json:
    """A Kafka pod on the one disk."""
    body = pod("k", "controller")
    body["spec"]["containers"][0]["image"] = image
    return body


def accepted(made: World) -> bool:
    """Whether the formatter has reported a success."""
    body = made.kube.get(PODS, NS, "f")
    assert body is not None
    row = body["status"]["containerStatuses"][0]
    return bool(json.loads(row["state"]["terminated"]["message"])["accepted"])


@pytest.mark.parametrize(
    ("arguments", "static", "holds"),
    [
        ((), True, True),
        ((), False, False),
        (("--no-initial-controllers",), False, True),
        (("--no-initial-controllers",), True, True),
        (("--initial-controllers", "3000@h:1:x"), True, False),
    ],
)
def test_the_tool_wants_voters_in_one_place(arguments: tuple[str, ...], *, static: bool, holds: bool) -> None:
    """Voters are listed in the properties or in the arguments, not in both, and not in none; a newcomer has none."""
    made = world(static=static)
    make(made, formatter(*arguments))
    steps(made, 8)
    assert accepted(made) is holds


def test_a_static_format_writes_no_voters_and_kraft_version_0() -> None:
    """The disk of a static format has a new directory id, no checkpoint with voters, and the release's levels."""
    made = world(static=True)
    make(made, formatter("--feature", "metadata.version=25"))
    steps(made, 8)
    (volume,) = made.volumes.by_claim.values()
    levels = volume.disk.levels or ()
    assert (volume.disk.static, volume.disk.voters, volume.disk.meta is not None) == (True, frozenset(), True)
    assert (level_of(levels, "metadata.version"), level_of(levels, "kraft.version")) == (25, 0)


def test_levels_are_the_releases_own_where_nothing_is_asked_for() -> None:
    """A format has the release's own levels; arguments replace single levels."""
    assert levels_in(["--standalone"], "4.4.0") == defaults("4.4.0", static=False)
    given = levels_in(["--standalone", "--feature", "metadata.version=30", "--feature", "group.version=0"], "4.4.0")
    told = {one.name: one.level for one in given}
    assert (told["metadata.version"], told["kraft.version"], "group.version" in told) == (30, 1, False)


@pytest.mark.parametrize(
    ("image", "release"),
    [
        ("apache/kafka:4.1.2", "4.1.2"),
        ("mirror:5000/kafka:v3.9.2-r1", "3.9.2"),
        ("lying:4.4.0", "4.1.2"),
        ("x", "4.4.0"),
    ],
)
def test_an_image_holds_what_its_tag_says_unless_it_lies(image: str, release: str) -> None:
    """An image has the release of its tag unless another one is recorded; without a readable tag, the newest one."""
    assert release_of(image, {"lying:4.4.0": "4.1.2"}) == release


def test_the_static_setting_is_read_from_the_properties() -> None:
    """The static setting gives the node ids of its voters, and no voters without that line."""
    assert static_voters(_PROPERTIES["3000.properties"]) == {3000, 3001}
    assert static_voters("controller.quorum.bootstrap.servers=a:1\n") == frozenset()


def run(made: World) -> None:
    """Format the disk with initial controllers, and start Kafka 4.4.0 on it."""
    make(made, pod("f", "formatter"))
    steps(made, 8)
    made.kube.remove(PODS, NS, "f")
    make(made, kafka("apache/kafka:4.4.0"))
    steps(made, 14)


def test_a_pod_runs_the_release_of_its_image() -> None:
    """A pod runs the release of its image; an older release does not start on levels that it does not support."""
    made = world()
    run(made)
    assert [process.release for process in made.kraft.processes] == ["4.4.0"]
    made.kube.delete(PODS, NS, "k")
    steps(made, 3)
    make(made, kafka("apache/kafka:4.1.2"))
    steps(made, 6)
    body = made.kube.get(PODS, NS, "k")
    assert body is not None
    said = body["status"]["containerStatuses"][0]["lastState"]["terminated"]["message"]
    assert "Valid feature levels are from 7 to 27" in said
    assert made.kraft.processes == []


def test_a_process_that_ends_by_itself_is_restarted_by_its_kubelet() -> None:
    """Kafka that reads an unsupported level ends, and its container stops running."""
    made = world()
    run(made)
    (process,) = made.kraft.processes
    process.release, process.vetted = "4.1.2", ()
    steps(made, 3)
    assert (process.failed != "", process in made.kraft.processes) == (True, False)
    body = made.kube.get(PODS, NS, "k")
    assert body is not None
    assert "running" not in body["status"]["containerStatuses"][0]["state"]


def budgeted(least: int) -> tuple[World, list[Json]]:
    """Three ready pods under a budget."""
    made = World()
    labels = {"kafkaquorum.io/voter": "true"}
    spec = {"minAvailable": least, "selector": {"matchLabels": labels}}
    made.kube.create(BUDGETS, NS, {"metadata": {"name": "demo-voters"}, "spec": spec})
    return made, [ready(made, f"p{number}", labels) for number in range(3)]


def ready(made: World, name: str, labels: Json) -> Json:
    """A pod whose container runs and whose gate is open."""
    spec = {"nodeName": "node-x", "readinessGates": [{"conditionType": GATE}], "containers": []}
    body = made.kube.create(PODS, NS, {"metadata": {"name": name, "labels": labels}, "spec": spec})
    status = {
        "containerStatuses": [{"name": "kafka", "state": {"running": {}}}],
        "conditions": [{"type": GATE, "status": "True"}],
    }
    return made.kube.put_status(PODS, body, status)


def evicted(made: World, body: Json) -> Json | None:
    """Evict a pod as it was read; returns the pod after that."""
    metadata = body["metadata"]
    version = metadata["resourceVersion"]
    evict(made.kube, NS, metadata["name"], uid=metadata["uid"], resource_version=version)
    return made.kube.get(PODS, NS, metadata["name"])


def test_a_budget_lets_so_many_pods_go_and_no_more() -> None:
    """A budget of two allows the eviction of one of three pods; a pod that is being deleted does not count."""
    made, pods = budgeted(2)
    gone = evicted(made, pods[0])
    assert gone is not None
    assert "deletionTimestamp" in gone["metadata"]
    with pytest.raises(KubeHeld, match="the budget demo-voters needs 2 healthy pods and has 2 currently"):
        evicted(made, pods[1])


def test_a_pod_that_is_not_ready_takes_nothing_away() -> None:
    """A pod that is not ready may go if the others are enough, and does not count for the budget."""
    made, pods = budgeted(2)
    closed = {"conditions": [{"type": GATE, "status": "False"}]}
    shut = made.kube.put_status(PODS, pods[0], closed)
    assert not is_ready(shut)
    with pytest.raises(KubeHeld):
        evicted(made, pods[1])
    gone = evicted(made, shut)
    assert gone is not None
    assert "deletionTimestamp" in gone["metadata"]


def test_an_eviction_names_its_pod() -> None:
    """An eviction names its pod by uid and version, checked before any budget; a pod that is gone is not found."""
    made, pods = budgeted(3)
    metadata = pods[0]["metadata"]
    with pytest.raises(KubeConflict):
        evict(made.kube, NS, "p0", uid="another", resource_version=metadata["resourceVersion"])
    with pytest.raises(KubeConflict):
        evict(made.kube, NS, "p0", uid=metadata["uid"], resource_version="1")
    with pytest.raises(KubeNotFound):
        evict(made.kube, NS, "nobody", uid="u", resource_version="1")


def test_the_table_of_releases_is_that_of_real_servers() -> None:
    """The model's ranges of metadata.version are those of real servers, and 3.9 lacks the same features."""
    ranges = {
        release: {one.name: (one.min_level, one.max_level) for one in supported(release)}
        for release in ("3.9.2", "4.1.2", "4.4.0")
    }
    assert {release: rows["metadata.version"] for release, rows in ranges.items()} == {
        "3.9.2": (1, 21),
        "4.1.2": (7, 27),
        "4.4.0": (7, 33),
    }
    assert "transaction.version" not in ranges["3.9.2"]


def test_a_pod_of_a_broker_is_listed_with_its_readiness() -> None:
    """It is that of the moment; other pods stay as they are."""
    rows = [{"name": "kafka", "state": {"running": {}}}]
    other: Json = {"metadata": {}, "spec": {}, "status": {"containerStatuses": rows}}
    broker: Json = {**other, "metadata": {"labels": {LABEL_POOL: "brokers"}}}
    assert with_ready(copied(broker))["status"]["conditions"] == [{"type": "Ready", "status": "True"}]
    waits = with_ready({**copied(broker), "status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    assert waits["status"]["conditions"] == [{"type": "Ready", "status": "False"}]
    assert with_ready(copied(other)) == other
