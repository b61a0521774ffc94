"""Passes over one application, between an API server, a kubelet and a coordinator."""

from tests.streams.cluster import Cluster

from kit.kube.protocol import CONFIG_MAPS, Json


def conditions(status: Json) -> dict[str, tuple[str, str]]:
    """Status and reason of each condition."""
    return {row["type"]: (row["status"], row["reason"]) for row in status["conditions"]}


async def running(release: str, **spec: object) -> Cluster:
    """An application that is Ready with this release."""
    cluster = Cluster({"release": release, "image": f"app:{release}", **spec})
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
