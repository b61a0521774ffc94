"""The modelled API server keeps the promises of the real one on which the operator depends."""

import marshal

import pytest
from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.kubernetes.kube_model import KubeModel, viewed
from tests.simulation.model.world import World
from tests.simulation.runs.explore import any_replay

from kafka_quorum.kind import QUORUMS
from kit.errors import KubeAlreadyExists, KubeConflict, KubeNotFound, KubeRefused
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, PODS, REVISIONS, Json

NS = "kafka"


@pytest.fixture
def kube() -> KubeModel:
    """An empty store."""
    return KubeModel(VirtualClock())


def named(name: str, **more: object) -> Json:
    """A body with a name."""
    return {"metadata": {"name": name}, **more}


def pod(name: str, claim: str, node: str = "") -> Json:
    """A pod that mounts a claim, scheduled if `node` is given."""
    spec: Json = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]}
    return named(name, spec=spec | ({"nodeName": node} if node else {}))


def test_a_write_moves_the_resource_version_and_a_write_of_the_same_does_not(kube: KubeModel) -> None:
    """Each change has a new version; a patch that changes nothing is no write."""
    first = kube.create(CONFIG_MAPS, NS, named("a", data={"k": "1"}))
    second = kube.patch(CONFIG_MAPS, NS, "a", {"data": {"k": "2"}})
    third = kube.patch(CONFIG_MAPS, NS, "a", {"data": {"k": "2"}})
    versions = [body["metadata"]["resourceVersion"] for body in (first, second, third)]
    assert versions[0] != versions[1] == versions[2]


def test_a_name_is_taken_once_and_comes_back_with_another_uid(kube: KubeModel) -> None:
    """A second creation is refused; after a deletion the new object has another uid."""
    first = kube.create(CONFIG_MAPS, NS, named("a"))
    with pytest.raises(KubeAlreadyExists):
        kube.create(CONFIG_MAPS, NS, named("a"))
    kube.delete(CONFIG_MAPS, NS, "a", uid=first["metadata"]["uid"])
    assert kube.create(CONFIG_MAPS, NS, named("a"))["metadata"]["uid"] != first["metadata"]["uid"]


def test_replace_needs_the_present_version(kube: KubeModel) -> None:
    """Replace is a compare-and-swap."""
    body = kube.create(CONFIG_MAPS, NS, named("a", data={"k": "1"}))
    kube.patch(CONFIG_MAPS, NS, "a", {"data": {"k": "2"}})
    with pytest.raises(KubeConflict):
        kube.replace(CONFIG_MAPS, NS, body)
    with pytest.raises(KubeRefused):
        kube.replace(CONFIG_MAPS, NS, named("a"))
    with pytest.raises(KubeNotFound):
        kube.replace(CONFIG_MAPS, NS, named("b"))


def test_status_and_spec_are_written_apart(kube: KubeModel) -> None:
    """A patch of the object leaves the status, one of the status leaves the spec; only the spec has generations."""
    kube.create(QUORUMS, NS, named("q", spec={"a": 1}, status={"dropped": True}))
    kube.patch(QUORUMS, NS, "q", {"status": {"s": 1}, "spec": {"b": 1}}, subresource="status")
    body = kube.patch(QUORUMS, NS, "q", {"status": {"s": 2}, "spec": {"a": 2}})
    assert (body["spec"], body["status"], body["metadata"]["generation"]) == ({"a": 2}, {"s": 1}, 2)


def test_a_patch_is_conditional_by_version_and_uid(kube: KubeModel) -> None:
    """A version or uid in the patch must be the present one."""
    kube.create(CONFIG_MAPS, NS, named("a"))
    for field in ("resourceVersion", "uid"):
        with pytest.raises(KubeConflict):
            kube.patch(CONFIG_MAPS, NS, "a", {"metadata": {field: "other"}, "data": {"k": "1"}})


def test_a_strategic_patch_keeps_the_conditions_of_others(kube: KubeModel) -> None:
    """Conditions are merged by their type."""
    kube.create(PODS, NS, pod("p", "c"))
    kube.patch(PODS, NS, "p", {"status": {"conditions": [{"type": "A", "status": "True"}]}}, subresource="status")
    patch = {"status": {"conditions": [{"type": "B", "status": "False"}]}}
    body = kube.patch(PODS, NS, "p", patch, subresource="status", strategic=True)
    assert [row["type"] for row in body["status"]["conditions"]] == ["A", "B"]


def test_a_claim_outlives_its_deletion_while_a_scheduled_pod_names_it(kube: KubeModel) -> None:
    """A used claim is only marked; a claim that no scheduled pod uses is gone at once."""
    for name in ("used", "free"):
        kube.create(CLAIMS, NS, named(name, spec={}))
    kube.create(PODS, NS, pod("p", "used", "node-a"))
    kube.create(PODS, NS, pod("waiting", "free"))
    kube.delete(CLAIMS, NS, "used")
    kube.delete(CLAIMS, NS, "free")
    left = {claim["metadata"]["name"]: "deletionTimestamp" in claim["metadata"] for claim in kube.list(CLAIMS, NS, {})}
    assert left == {"used": True}


def test_a_scheduled_pod_ends_by_its_kubelet_and_another_one_at_once(kube: KubeModel) -> None:
    """A scheduled pod ends by its kubelet; an unscheduled pod is gone at once."""
    kube.create(PODS, NS, pod("scheduled", "c", "node-a"))
    kube.create(PODS, NS, pod("pending", "c"))
    kube.delete(PODS, NS, "scheduled")
    kube.delete(PODS, NS, "pending")
    left = kube.list(PODS, NS, {})
    assert [("deletionTimestamp" in body["metadata"], body["metadata"]["name"]) for body in left] == [
        (True, "scheduled")
    ]


def test_a_delete_names_exactly_one_object(kube: KubeModel) -> None:
    """Another uid or an older version is a conflict, and deletes nothing."""
    body = kube.create(CONFIG_MAPS, NS, named("a"))
    kube.patch(CONFIG_MAPS, NS, "a", {"data": {"k": "1"}})
    with pytest.raises(KubeConflict):
        kube.delete(CONFIG_MAPS, NS, "a", uid="other")
    with pytest.raises(KubeConflict):
        kube.delete(CONFIG_MAPS, NS, "a", resource_version=body["metadata"]["resourceVersion"])
    assert kube.get(CONFIG_MAPS, NS, "a") is not None


@pytest.mark.parametrize(
    ("resource", "body", "change"),
    [
        (CONFIG_MAPS, {"immutable": True, "data": {"k": "1"}}, {"data": {"k": "2"}}),
        (REVISIONS, {"data": {"k": "1"}}, {"data": {"k": "2"}}),
        (PODS, {"spec": {"hostname": "a"}}, {"spec": {"hostname": "b"}}),
        (CLAIMS, {"spec": {"storageClassName": "a"}}, {"spec": {"storageClassName": "b"}}),
    ],
    ids=["config map", "revision", "pod", "claim"],
)
def test_what_is_immutable_is_refused(kube: KubeModel, resource: object, body: Json, change: Json) -> None:
    """The API server refuses a change of an immutable field."""
    assert resource in (CONFIG_MAPS, REVISIONS, PODS, CLAIMS)
    kind = next(one for one in (CONFIG_MAPS, REVISIONS, PODS, CLAIMS) if one == resource)
    kube.create(kind, NS, named("a", **body))
    with pytest.raises(KubeRefused):
        kube.patch(kind, NS, "a", change)


def test_a_claim_may_ask_for_more(kube: KubeModel) -> None:
    """Requests are the one part of a claim's spec that changes, once it is bound."""
    kube.create(CLAIMS, NS, named("a", spec={"resources": {"requests": {"storage": "1Gi"}}}))
    with pytest.raises(KubeRefused, match="immutable"):
        kube.patch(CLAIMS, NS, "a", {"spec": {"resources": {"requests": {"storage": "2Gi"}}}})
    kube.patch(CLAIMS, NS, "a", {"spec": {"volumeName": "pv"}})
    body = kube.patch(CLAIMS, NS, "a", {"spec": {"resources": {"requests": {"storage": "2Gi"}}}})
    assert body["spec"]["resources"]["requests"]["storage"] == "2Gi"


def test_apply_creates_and_then_merges(kube: KubeModel) -> None:
    """Server-side apply creates the object, and later merges its fields into it."""
    kube.apply(CONFIG_MAPS, NS, named("a", data={"k": "1", "other": "x"}))
    assert kube.apply(CONFIG_MAPS, NS, named("a", data={"k": "2"}))["data"] == {"k": "2", "other": "x"}


def test_stale_reads_show_the_state_of_one_write_ago(kube: KubeModel) -> None:
    """A stale read does not show the last write of an object or of a type."""
    kube.create(CONFIG_MAPS, NS, named("a", data={"k": "1"}))
    kube.patch(CONFIG_MAPS, NS, "a", {"data": {"k": "2"}})
    stale = kube.stale_get(CONFIG_MAPS, NS, "a")
    assert stale is not None
    assert stale["data"] == {"k": "1"}
    kube.create(CONFIG_MAPS, NS, named("b"))
    assert [body["metadata"]["name"] for body in kube.stale_list(CONFIG_MAPS, NS, {})] == ["a"]


@pytest.mark.parametrize("name", ["storm/3", "pools/2", "streams/4", "authority-changed/no-fault"])
def test_what_readers_share_stays_as_it_was_written(name: str) -> None:
    """Rules and components read the same objects without copies: after a whole run each is still what was stored."""
    worlds: list[World] = []
    World.begun.append(worlds.append)
    try:
        any_replay(name)
    finally:
        World.begun.remove(worlds.append)
    stored = [
        raw for world in worlds for written in world.kube.writes for raw in (written.before, written.after) if raw
    ]
    assert len(stored) > 50
    for raw in stored:
        assert viewed(raw) == marshal.loads(raw)  # noqa: S302 -- our own bytes


def test_nobody_can_change_the_store_through_what_it_answers(kube: KubeModel) -> None:
    """A change of an answer does not change the store: answers are copies."""
    body = kube.create(CONFIG_MAPS, NS, named("a", data={"k": "1"}))
    body["data"]["k"] = "2"
    kube.list(CONFIG_MAPS, NS, {})[0]["data"]["k"] = "3"
    kept = kube.get(CONFIG_MAPS, NS, "a")
    assert kept is not None
    assert kept["data"] == {"k": "1"}
