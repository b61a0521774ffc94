"""The modelled cluster runs the operator's pods like a kubelet: it binds, formats in steps, compares and starts."""

import json
from itertools import pairwise

from tests.simulation.model.happened import Happened, Shared
from tests.simulation.model.kafka.disk import Content, Disk
from tests.simulation.model.world import World
from tests.simulation.tests.bodies import DIRECTORY, NS, make, pod, prepare, steps

from kafka_quorum.model.ids import uuid_from_bytes
from kit.kube.protocol import CLAIMS, PODS, Json


def world() -> World:
    """A cluster with one claim."""
    made = World()
    prepare(made)
    return made


def the_disk(of: World) -> Disk:
    """The disk behind the one claim."""
    return next(iter(of.volumes.by_claim.values())).disk


def status(of: World, name: str) -> Json:
    """The status of a pod."""
    body = of.kube.get(PODS, NS, name)
    assert body is not None
    return dict(body["status"])


def report(of: World, name: str) -> Json:
    """The report of a formatter that has ended."""
    row = status(of, name)["containerStatuses"][0]
    return dict(json.loads(row["state"]["terminated"]["message"]))


def test_a_formatter_formats_in_steps_and_reports() -> None:
    """Intent, checkpoint, meta.properties and report come in this order."""
    made = world()
    make(made, pod("f", "formatter"))
    seen: list[tuple[str | None, Content]] = []
    for _ in range(8):
        made.step()
        state = (the_disk(made).intent, the_disk(made).content)
        if not seen or seen[-1] != state:
            seen.append(state)
    formats = [(None, Content.EMPTY), ("ours", Content.EMPTY), ("ours", Content.PARTIAL), ("ours", Content.FORMATTED)]
    assert seen == formats
    assert (report(made, "f")["accepted"], report(made, "f")["directoryID"]) == (True, DIRECTORY)


def test_half_a_format_is_wiped_by_its_own_intent_and_refused_otherwise() -> None:
    """Files without meta.properties are formatted again if the formatter's own intent is there, else left alone."""
    made = world()
    make(made, pod("f", "formatter"))
    steps(made, 3)
    made.kube.remove(PODS, NS, "f")
    assert the_disk(made).content is Content.PARTIAL
    make(made, pod("foreign", "formatter", intent="another"))
    steps(made, 4)
    assert (report(made, "foreign")["accepted"], report(made, "foreign")["found"]) == (False, "partial")
    made.kube.remove(PODS, NS, "foreign")
    make(made, pod("again", "formatter"))
    steps(made, 8)
    assert report(made, "again")["accepted"] is True


def test_a_newcomer_gets_a_directory_id_of_its_own() -> None:
    """Without initial controllers the tool creates the directory id, and the checkpoint names no voters."""
    made = world()
    make(made, pod("f", "formatter", directory="", initial=False))
    steps(made, 8)
    assert report(made, "f")["directoryID"] not in ("", DIRECTORY)
    assert the_disk(made).voters == frozenset()


def test_kafka_starts_on_the_expected_disk_alone() -> None:
    """The init container accepts the expected identity, and holds the pod back on any other disk."""
    made = world()
    make(made, pod("k", "controller"))
    steps(made, 4)
    init = status(made, "k")["initContainerStatuses"][0]
    assert json.loads(init["lastState"]["terminated"]["message"])["found"] == "empty"
    assert init["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    made.kube.remove(PODS, NS, "k")
    make(made, pod("f", "formatter"))
    steps(made, 8)
    made.kube.remove(PODS, NS, "f")
    make(made, pod("other", "controller", directory=uuid_from_bytes(b"another.........")))
    steps(made, 6)
    assert made.kraft.processes == []
    made.kube.remove(PODS, NS, "other")
    make(made, pod("k", "controller"))
    steps(made, 6)
    assert [process.meta.directory_id for process in made.kraft.processes] == [DIRECTORY]


def running() -> World:
    """Kafka runs on its disk."""
    made = world()
    make(made, pod("f", "formatter"))
    steps(made, 8)
    made.kube.remove(PODS, NS, "f")
    make(made, pod("k", "controller"))
    steps(made, 6)
    return made


def test_an_emptied_disk_is_noticed_when_the_sandbox_restarts() -> None:
    """Kafka runs on with its open files; the restarted pod finds the disk empty, and has another address."""
    made = running()
    process = made.kraft.processes[0]
    made.volumes.empty(next(iter(made.volumes.by_claim)))
    steps(made, 4)
    assert made.kraft.processes == [process]
    sandbox = made.kubelet.of_pod(NS, "k")
    assert sandbox is not None
    address = sandbox.address
    made.kubelet.restart_sandbox(sandbox)
    steps(made, 4)
    assert made.kraft.processes == []
    assert sandbox.address != address


def test_a_killed_process_comes_back_in_its_own_sandbox() -> None:
    """After a kill only the container restarts, on the same disk and address."""
    made = running()
    sandbox = made.kubelet.of_pod(NS, "k")
    assert sandbox is not None
    made.kubelet.kill_process(sandbox)
    assert made.kraft.processes == []
    steps(made, 3)
    assert [process.address for process in made.kraft.processes] == [sandbox.address]


def test_a_deleted_pod_ends_before_it_is_gone_and_a_deleted_claim_after_it() -> None:
    """Process, pod, claim and disk go in this order."""
    made = running()
    made.kube.delete(CLAIMS, NS, "demo-3000-g1")
    made.kube.delete(PODS, NS, "k")
    made.step()
    assert made.kraft.processes == []
    assert made.kube.get(PODS, NS, "k") is not None
    made.step()
    assert made.kube.get(CLAIMS, NS, "demo-3000-g1") is None
    assert made.volumes.by_claim == {}


def test_two_pods_at_work_on_one_claim_are_told() -> None:
    """A formatter on the claim of a running Kafka is reported."""
    made = running()
    heard: list[Happened] = []
    made.listeners.append(heard.append)
    make(made, pod("f", "formatter"))
    steps(made, 2)
    assert any(isinstance(event, Shared) for event in heard)


def test_an_image_that_cannot_be_pulled_keeps_a_pod_waiting() -> None:
    """The kubelet reports the reason."""
    made = world()
    made.kubelet.bad_images = ("4.4.0",)
    make(made, pod("k", "controller"))
    steps(made, 3)
    assert status(made, "k")["initContainerStatuses"][0]["state"]["waiting"]["reason"] == "ImagePullBackOff"


def test_what_a_deleted_owner_owned_is_collected_and_the_rest_stays() -> None:
    """The background collector deletes one object per step."""
    made = world()
    owner = {"kind": "KafkaQuorum", "uid": "gone", "name": "demo"}
    for name in ("a", "b"):
        made.kube.create(CLAIMS, NS, {"metadata": {"name": name, "ownerReferences": [owner]}, "spec": {}})
    made.step()
    assert len(made.kube.list(CLAIMS, NS, {})) == 2
    steps(made, 2)
    assert [body["metadata"]["name"] for body in made.kube.list(CLAIMS, NS, {})] == ["demo-3000-g1"]


def test_a_real_back_off_doubles_up_to_five_minutes() -> None:
    """A container that ends repeatedly waits not at all, then 10 s, doubled each time, at most 300 s."""
    made = world()
    made.kubelet.backs_off = True
    make(made, pod("k", "controller"))
    ended: list[float] = []
    while made.clock.elapsed_s < 1400.0:
        made.step()
        rows = status(made, "k").get("initContainerStatuses") or [{"state": {}}]
        if "terminated" in rows[0]["state"]:
            ended.append(made.clock.elapsed_s)
    gaps = [round(later - earlier, -1) for earlier, later in pairwise(ended)]
    assert gaps == [0.0, 10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0, 300.0][: len(gaps)]
    assert len(gaps) >= 7
