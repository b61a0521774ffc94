"""Passes over one application, between an API server, a kubelet and a coordinator."""

import pytest
from tests.streams.cluster import NAME, NAMESPACE, Cluster

from kafka_streams.model import names
from kafka_streams.observe import snapshot as streams_snapshot
from kafka_streams.observe.snapshot import snapshot
from kafka_streams.plan.upkeep import KEPT
from kit.kube.protocol import CONFIG_MAPS, PODS, REVISIONS, Json, ResourceType


def conditions(status: Json) -> dict[str, tuple[str, str]]:
    """Status and reason of each condition."""
    return {row["type"]: (row["status"], row["reason"]) for row in status["conditions"]}


PROPERTIES = {"configMap": "settings", "key": "app.properties", "path": "/etc/app.properties"}


async def running(release: str, **spec: object) -> Cluster:
    """An application that is Ready with this release."""
    cluster = Cluster({"release": release, "image": f"app:{release}", **spec})
    settings = {"metadata": {"name": "settings", "namespace": "apps"}, "data": {"app.properties": "num.threads=2"}}
    cluster.kube.put(CONFIG_MAPS, settings)
    await cluster.run(20)
    assert conditions(cluster.status)["Ready"] == ("True", "AllInstancesWork"), cluster.status
    return cluster


async def test_a_new_application_becomes_ready() -> None:
    """Three pods with a claim each, a record, and a status that says so."""
    cluster = await running("2.3.1")
    assert cluster.releases() == ["2.3.1"] * 3
    assert cluster.claims() == [f"counts-streams-{index}-g1" for index in range(3)]
    assert cluster.status["summary"] == "3/3"
    assert cluster.status["doing"] == "Done"


@pytest.mark.parametrize("label", [names.LABEL_APPLICATION, names.LABEL_INSTANCE])
async def test_a_pod_that_lost_a_label_does_not_count_as_stopped(label: str) -> None:
    """It runs on. No change begins until the label is given back, with the command that the status has."""
    cluster = await running("2.3.1")
    labels = cluster.kube.objects[PODS.plural, "counts-streams-1"]["metadata"]["labels"]
    before = labels.pop(label)
    cluster.kube.calls.clear()
    cluster.ask(release="2.3.0", image="app:2.3.0")
    await cluster.run(10)
    assert cluster.stops == []
    assert len(cluster.pods()) == 3
    assert cluster.status["doing"] == "Unreadable"
    command = f"kubectl -n {NAMESPACE} label pod counts-streams-1 --overwrite {label}={before}"
    assert command in cluster.status["message"]
    cluster.kube.objects[PODS.plural, "counts-streams-1"]["metadata"]["labels"][label] = before
    await cluster.run(60)
    assert cluster.releases() == ["2.3.0"] * 3


async def test_a_label_that_comes_back_during_a_look_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the list and the question for the pod: it runs, and does not count as stopped."""
    cluster = await running("2.3.1")
    pod = (PODS.plural, "counts-streams-1")
    before, get = cluster.kube.objects[pod]["metadata"]["labels"], cluster.kube.get

    async def late(resource: ResourceType, namespace: str, name: str) -> Json | None:
        if name == pod[1]:
            cluster.kube.objects[pod]["metadata"]["labels"] = before
        return await get(resource, namespace, name)

    monkeypatch.setattr(cluster.kube, "get", late)
    cluster.kube.objects[pod]["metadata"]["labels"] = {}
    taken = await snapshot(cluster.kube, NAMESPACE, NAME, cluster.clock)
    assert taken is not None
    assert [pod.index for pod in taken.pods] == [0, 1, 2]
    assert taken.unreadable == ()


async def test_what_cannot_be_read_says_why_though_its_error_has_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kind of the error is told instead."""
    cluster = await running("2.3.1")

    def fails(*_: object) -> None:
        raise TypeError

    monkeypatch.setattr(streams_snapshot, "pod_from", fails)
    taken = await snapshot(cluster.kube, NAMESPACE, NAME, cluster.clock)
    assert taken is not None
    assert {one.why for one in taken.unreadable} == {"TypeError"}


async def test_2_3_to_3_9_takes_two_bounces_with_upgrade_from() -> None:
    """Every instance restarts twice, the first time with the variable and an empty state, one at a time."""
    cluster = await running("2.3.1")
    cluster.values.clear()
    cluster.ask(release="3.9.1", image="app:3.9.1")
    await cluster.run(1)
    seen = set()
    for _ in range(120):
        await cluster.run(1)
        seen.add((cluster.status.get("change") or {}).get("upgradeFrom"))
    assert conditions(cluster.status)["Ready"][0] == "True", cluster.status
    assert cluster.releases() == ["3.9.1"] * 3
    assert sorted(cluster.values) == sorted(
        (f"counts-streams-{index}", value) for index in range(3) for value in ("2.3", "")
    )
    assert cluster.claims() == [f"counts-streams-{index}-g2" for index in range(3)]
    assert "2.3" in seen


async def test_upgrade_from_that_no_pod_would_get_stops_nothing() -> None:
    """Two bounces need a variable or a file for upgrade.from: without both, the change does not begin."""
    cluster = await running("2.3.1", upgradeFrom={})
    cluster.kube.calls.clear()
    cluster.ask(release="3.9.1", image="app:3.9.1")
    await cluster.run(20)
    assert cluster.stops == []
    assert cluster.status["doing"] == "NoUpgradeFrom"
    assert "upgrade.from=2.3" in cluster.status["message"]
    cluster.values.clear()
    cluster.ask(upgradeFrom={"variable": "UPGRADE_FROM"})
    await cluster.run(120)
    assert conditions(cluster.status)["Ready"][0] == "True", cluster.status
    assert sorted(value for _, value in cluster.values) == ["", "", "", "2.3", "2.3", "2.3"]


async def test_upgrade_from_is_not_taken_away_in_the_middle() -> None:
    """In the first bounce no instance stops for a revision that lacks upgrade.from; the message says what to set."""
    cluster = await running("2.3.1")
    cluster.kube.calls.clear()
    cluster.ask(release="3.9.1", image="app:3.9.1")
    for _ in range(60):
        await cluster.run(1)
        if cluster.stops:
            break
    cluster.values.clear()
    cluster.ask(upgradeFrom={})
    await cluster.run(60)
    assert len(cluster.stops) == 1
    assert not [value for value in cluster.values if value[1] == ""], cluster.values
    assert "spec.upgradeFrom" in str(cluster.status["waits"]), cluster.status
    cluster.ask(upgradeFrom={"variable": "UPGRADE_FROM"})
    await cluster.run(160)
    assert conditions(cluster.status)["Ready"][0] == "True", cluster.status
    assert cluster.releases() == ["3.9.1"] * 3


async def test_a_way_that_needs_a_bridge_is_refused_and_shown() -> None:
    """Nothing is stopped; the status has the reason, the bridge and what offline would do."""
    cluster = await running("2.3.1")
    cluster.kube.calls.clear()
    cluster.ask(release="4.3.1", image="app:4.3.1")
    await cluster.run(20)
    status = cluster.status
    assert cluster.stops == []
    assert status["way"]["bridge"] == "3.9"
    assert status["way"]["kind"] == "Offline"
    assert status["doing"] == "OnlyOffline"
    assert "set spec.offlineTo to 4.3.1" in status["message"]


async def test_a_broken_image_stops_after_one_instance_and_is_named() -> None:
    """The condition names the instance and the way back; going back touches no other one."""
    cluster = await running("2.4.1")
    cluster.kube.calls.clear()
    cluster.broken.add("app:bad")
    cluster.ask(release="2.8.2", image="app:bad")
    await cluster.run(40)
    status = cluster.status
    assert cluster.stops == ["counts-streams-2"], status
    assert conditions(status)["Degraded"] == ("True", "InstanceCrashes")
    assert "no such class" in status["message"]
    assert "To go back" in status["message"]
    cluster.ask(release="2.4.1", image="app:2.4.1")
    await cluster.run(40)
    assert conditions(cluster.status)["Ready"][0] == "True", cluster.status
    assert set(cluster.stops) == {"counts-streams-2"}


async def test_an_invalid_spec_changes_nothing_and_pods_are_still_repaired() -> None:
    """Each fault has its field; a pod that is lost meanwhile comes back from what it was made of."""
    cluster = await running("3.9.1")
    cluster.ask(release="soon", template={"metadata": {}, "spec": {"hostNetwork": True, "containers": []}})
    await cluster.run(3)
    status = cluster.status
    assert conditions(status)["SpecAccepted"] == ("False", "InvalidSpec")
    assert "spec.release" in status["message"]
    assert "spec.template.spec.hostNetwork" in status["message"]
    cluster.kube.model.forget(("pods", "apps", "counts-streams-1"))
    await cluster.run(5)
    assert cluster.releases() == ["3.9.1"] * 3


async def test_a_record_that_cannot_be_read_stops_everything() -> None:
    """It may have an open upgrade, so nothing is done until it is restored."""
    cluster = await running("2.4.1")
    before = cluster.kube.objects[CONFIG_MAPS.plural, "counts-streams"]
    before["data"]["application.json"] = "{"
    cluster.ask(release="2.8.2", image="app:2.8.2")
    cluster.kube.calls.clear()
    await cluster.run(5)
    assert cluster.stops == []
    assert [call for call in cluster.kube.writes() if call.plural not in ("kafkastreamsapplications", "events")] == []
    assert conditions(cluster.status)["Degraded"] == ("True", "Unreadable")


async def test_a_file_of_properties_gets_upgrade_from_for_the_first_bounce_alone() -> None:
    """Each revision has its own copy of the file, mounted where the application reads it; the person's stays."""
    cluster = await running("2.3.1", upgradeFrom=PROPERTIES)
    cluster.values.clear()
    cluster.ask(release="3.9.1", image="app:3.9.1")
    await cluster.run(120)
    assert conditions(cluster.status)["Ready"][0] == "True", cluster.status
    assert sorted(cluster.values) == sorted(
        (f"counts-streams-{index}", value) for index in range(3) for value in ("2.3", "")
    )
    mounts = [pod["spec"]["containers"][0]["volumeMounts"] for pod in cluster.pods()]
    assert all({"/etc/app.properties", "/state"} == {one["mountPath"] for one in each} for each in mounts)
    kept = cluster.kube.objects[CONFIG_MAPS.plural, "settings"]["data"]
    assert kept == {"app.properties": "num.threads=2"}


@pytest.mark.parametrize("line", ["upgrade.from = 2.2", "upgrade.from: 2.2", "upgrade.from 2.2", "upgrade\\.from=2.2"])
async def test_a_file_that_sets_upgrade_from_itself_is_refused(line: str) -> None:
    """However the line is written: pods that keep it would never be through with their second bounce."""
    cluster = await running("2.3.1", upgradeFrom=PROPERTIES)
    settings = cluster.kube.objects[CONFIG_MAPS.plural, "settings"]
    cluster.kube.put(CONFIG_MAPS, {**settings, "data": {"app.properties": f"num.threads=2\n{line}\n"}})
    await cluster.run(3)
    assert conditions(cluster.status)["SpecAccepted"] == ("False", "InvalidSpec")
    (row,) = (row for row in cluster.status["conditions"] if row["type"] == "SpecAccepted")
    assert "sets upgrade.from, which the operator does: remove it" in row["message"]


async def test_a_file_of_properties_that_was_deleted_is_made_again() -> None:
    """The pods that are made later need it."""
    cluster = await running("2.3.1", upgradeFrom=PROPERTIES)
    (volume,) = (one for one in cluster.pods()[0]["spec"]["volumes"] if "configMap" in one)
    name = volume["configMap"]["name"]
    before = cluster.kube.objects[CONFIG_MAPS.plural, name]["data"]
    cluster.kube.model.forget(("configmaps", "apps", name))
    await cluster.run(2)
    assert cluster.kube.objects[CONFIG_MAPS.plural, name]["data"] == before


async def test_revisions_of_long_ago_are_deleted() -> None:
    """Fifteen images later the revisions in use and the newest ten are left."""
    cluster = await running("2.4.1")
    for number in range(15):
        cluster.ask(image=f"app:{number}")
        await cluster.run(25)
    assert conditions(cluster.status)["Ready"][0] == "True", cluster.status
    cluster.kube.objects.flush()
    assert len(list(cluster.kube.model.all(REVISIONS))) == KEPT


async def test_lost_labels_of_a_record_come_back_with_the_next_spec() -> None:
    """The record gets its label before anything else is written: the chart's policy admits no change without it."""
    cluster = await running("2.3.1")
    cluster.kube.objects.flush()
    del cluster.kube.objects[CONFIG_MAPS.plural, "counts-streams"]["metadata"]["labels"]
    cluster.ask(gate={"stableSeconds": 3, "threads": 1})
    await cluster.run(3)
    cluster.kube.objects.flush()
    labels = cluster.kube.objects[CONFIG_MAPS.plural, "counts-streams"]["metadata"].get("labels") or {}
    assert labels.get("kafkaquorum.io/streams-application") == "counts"


def _allows(cluster: Cluster, *images: str) -> None:
    """An admission policy refuses pods of all other images."""

    def why(pod: Json) -> str:
        image = pod["spec"]["containers"][0]["image"]
        return "" if image in images else f"{image} is unknown"

    cluster.kube.model.admission.refuse("Images", why)


@pytest.mark.parametrize("asks", [("3.9.1", "app:3.9.1"), ("4.3.1", "app:good")])
async def test_a_pod_that_is_refused_keeps_nobody_from_another_spec(asks: tuple[str, str]) -> None:
    """The API server refuses the first pod of a change: it goes back, or on with another image."""
    cluster = await running("3.9.1")
    _allows(cluster, "app:3.9.1", "app:good")
    cluster.kube.calls.clear()
    cluster.ask(release="4.3.1", image="app:refused")
    await cluster.run(20)
    assert cluster.status["doing"] == "ActionFailed"
    assert "app:refused is unknown" in cluster.status["message"]
    assert cluster.stops == ["counts-streams-2"]
    cluster.ask(release=asks[0], image=asks[1])
    await cluster.run(60)
    assert conditions(cluster.status)["Ready"][0] == "True", cluster.status
    assert cluster.releases() == [asks[0]] * 3


async def test_pods_that_are_refused_at_first_are_made_from_the_corrected_spec() -> None:
    """Nothing was ever made, so all begin with what is asked for by then."""
    cluster = Cluster({"release": "3.9.1", "image": "app:refused"})
    _allows(cluster, "app:3.9.1")
    await cluster.run(10)
    assert cluster.status["doing"] == "ActionFailed"
    cluster.ask(image="app:3.9.1")
    await cluster.run(20)
    assert conditions(cluster.status)["Ready"][0] == "True", cluster.status


async def test_lost_pods_that_are_refused_by_now_come_from_the_corrected_spec() -> None:
    """Two of three are lost with their Kubernetes nodes, and their image is refused by now; one works."""
    cluster = await running("3.9.1")
    _allows(cluster, "app:good")
    for index in (0, 1):
        cluster.kube.model.forget(("pods", "apps", f"counts-streams-{index}"))
    await cluster.run(10)
    assert cluster.status["doing"] == "ActionFailed"
    cluster.kube.calls.clear()
    cluster.ask(image="app:good")
    await cluster.run(60)
    assert conditions(cluster.status)["Ready"][0] == "True", cluster.status
    assert cluster.stops == ["counts-streams-2"]


async def test_a_pod_that_is_refused_for_a_while_is_made_afterwards() -> None:
    """A quota that has room again is all that it needs."""
    cluster = await running("3.9.1")
    _allows(cluster, "app:3.9.1")
    cluster.ask(release="4.3.1", image="app:4.3.1")
    await cluster.run(20)
    assert cluster.status["doing"] == "ActionFailed"
    _allows(cluster, "app:3.9.1", "app:4.3.1")
    await cluster.run(60)
    assert conditions(cluster.status)["Ready"][0] == "True", cluster.status
    assert cluster.releases() == ["4.3.1"] * 3
