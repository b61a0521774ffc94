"""A StatefulSet or Deployment becomes an application's instances: nothing restarts, and nothing runs twice."""

import contextlib
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from tests.streams.adopting import IMAGE, STATEFUL, Adopting
from tests.streams.controllers import NAMESPACE, remove

from kit.errors import KubeUnavailable
from kit.kube.protocol import BUDGETS, CLAIMS, CONFIG_MAPS, DEPLOYMENTS, PODS, REPLICA_SETS, SCALERS, Json

KINDS = [STATEFUL, "Deployment"]


def ready(cluster: Adopting) -> bool:
    """Whether it is adopted, and well."""
    rows = {row["type"]: row["status"] for row in cluster.status.get("conditions", ())}
    return cluster.adopted and rows["Ready"] == "True" and cluster.status["doing"] == "Done"


def deletions(cluster: Adopting) -> list[str]:
    """What the operator deleted, by type and name."""
    return [f"{call.plural} {call.name}" for call in cluster.living.calls if call.verb == "delete"]


@pytest.mark.parametrize("kind", KINDS)
async def test_the_pods_run_on_as_instances(kind: str) -> None:
    """The same pods by uid, each with a place; the StatefulSet or Deployment is gone, and the application is Ready."""
    cluster = Adopting(kind)
    await cluster.until(lambda: ready(cluster))
    await cluster.run(5)
    assert cluster.uids() == cluster.first
    assert sorted(row["podName"] for row in cluster.status["instances"]) == sorted(cluster.first)
    assert list(cluster.living.model.all(cluster.kind)) == []
    assert list(cluster.living.model.all(REPLICA_SETS)) == []
    gone = ["statefulsets app"] if kind == STATEFUL else ["deployments app", "replicasets app-1"]
    assert deletions(cluster) == gone


@pytest.mark.parametrize("kind", KINDS)
async def test_the_plan_is_in_the_status_before_anything_is_touched(kind: str) -> None:
    """When the StatefulSet or Deployment is deleted, the status had the steps and the hash in a pass before."""
    cluster = Adopting(kind)
    shown: list[Json] = []
    while not deletions(cluster):
        shown.append(cluster.status.get("adoption") or {})
        await cluster.look()
        assert len(shown) < 30
    assert any("propagationPolicy Orphan" in step for step in shown[-1]["steps"])
    assert shown[-1]["hash"]
    assert shown[-1]["stage"] in ("Planned", "Adopting")


async def test_a_plan_that_cannot_be_shown_is_not_carried_out() -> None:
    """While the API server takes no status, nothing is touched."""
    cluster = Adopting(STATEFUL)
    cluster.living.errors["patch", "kafkastreamsapplications"] = KubeUnavailable("no")
    for _ in range(12):
        with contextlib.suppress(KubeUnavailable):
            await cluster.look()
        cluster.clock.seconds += 1
    assert cluster.living.model.view(CONFIG_MAPS, NAMESPACE, "counts-streams") is not None
    assert deletions(cluster) == []
    cluster.living.errors.clear()
    await cluster.until(lambda: ready(cluster))


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("kind", KINDS)
async def test_an_operator_that_dies_at_any_write(kind: str, *, before: bool) -> None:
    """Before or after each write is carried out: the next operator goes on, and the same pods run on."""
    whole = Adopting(kind)
    await whole.until(lambda: ready(whole))
    assert whole.living.written > 8
    for number in range(whole.living.written):
        cluster = Adopting(kind)
        cluster.living.dies_at, cluster.living.before = number, before
        await cluster.until(lambda: ready(cluster))  # noqa: B023 - awaited here
        assert not cluster.living.dead
        assert cluster.uids() == cluster.first, number


async def _disturbed(kind: str, disturb: Callable[[Adopting], None], *, replicas: int = 3) -> list[Adopting]:
    """Adoptions, each of which is disturbed at another request, from the first one to the last."""
    whole = Adopting(kind)
    await whole.until(lambda: ready(whole))
    found = []
    assert whole.living.requests > 100
    for number in range(0, whole.living.requests, 9):
        cluster = Adopting(kind)
        cluster.living.replicas = replicas
        cluster.living.between = partial(_once, cluster, number, disturb)
        while cluster.living.requests <= number:
            await cluster.look()
        for _ in range(8):
            await cluster.look()
        found.append(cluster)
    return found


def _once(cluster: Adopting, number: int, disturb: Callable[[Adopting], None], at: int) -> None:
    if at == number:
        disturb(cluster)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_pod_that_is_lost_at_any_moment_is_created_again_once(kind: str) -> None:
    """By the StatefulSet or Deployment while it is there, by the operator after that; the others run on."""

    def lose(cluster: Adopting) -> None:
        remove(cluster.living.model, PODS, sorted(cluster.first)[1])

    for cluster in await _disturbed(kind, lose):
        await cluster.until(lambda: ready(cluster))  # noqa: B023 - awaited here
        others = {name: uid for name, uid in cluster.first.items() if name != sorted(cluster.first)[1]}
        assert others.items() <= cluster.uids().items()
        assert len(cluster.uids()) == 3


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_created_again_stops_everything_and_is_named(kind: str) -> None:
    """A tool creates it again at any moment: no pod is stopped or created, and the condition says what to do."""

    def again(cluster: Adopting) -> None:
        if not list(cluster.living.model.all(cluster.kind)):
            cluster.create()
            cluster.living.calls.clear()

    stopped = 0
    for cluster in await _disturbed(kind, again, replicas=9):
        assert cluster.first.items() <= cluster.uids().items()
        made = [item["metadata"]["uid"] for item in cluster.living.model.all(cluster.kind)]
        if not made:
            continue  # it was still there
        stopped += 1
        assert [call for call in cluster.living.writes() if call.plural == PODS.plural and call.verb != "patch"] == []
        assert cluster.status["doing"] == "Recreated", cluster.status
        assert "--cascade=orphan" in cluster.status["message"]
        cluster.living.model.delete(cluster.kind, NAMESPACE, "app", orphan=True)
        for _ in range(8):
            cluster.living.controllers.act()
        for item in list(cluster.living.model.all(REPLICA_SETS)):
            cluster.living.model.delete(REPLICA_SETS, NAMESPACE, item["metadata"]["name"], orphan=True)
        for _ in range(8):
            cluster.living.controllers.act()
        for name in set(cluster.uids()) - set(cluster.first):
            remove(cluster.living.model, PODS, name)
        await cluster.until(lambda: ready(cluster))  # noqa: B023 - awaited here
        assert cluster.uids() == cluster.first
    assert stopped > 2


async def test_a_replicaset_that_is_left_of_another_deployment_is_named() -> None:
    """A Deployment that was created again took the pods, and only it was deleted: they are not taken from its set."""
    cluster = Adopting("Deployment")
    model = cluster.living.model
    seen: list[bool] = []

    def again(_: int) -> None:
        if not seen and not list(model.all(DEPLOYMENTS)) and not list(model.all(REPLICA_SETS)):
            seen.append(True)
            cluster.create()

    cluster.living.between, cluster.living.replicas = again, 6
    await cluster.until(lambda: cluster.status.get("doing") == "Recreated")
    model.delete(DEPLOYMENTS, NAMESPACE, "app", orphan=True)
    await cluster.run(8)
    assert "ReplicaSet app-" in cluster.status["message"]
    assert not cluster.adopted
    (left,) = model.all(REPLICA_SETS)
    model.delete(REPLICA_SETS, NAMESPACE, left["metadata"]["name"], orphan=True)
    await cluster.run(8)
    for name in set(cluster.uids()) - set(cluster.first):
        remove(model, PODS, name)
    await cluster.until(lambda: ready(cluster))
    assert cluster.uids() == cluster.first


async def test_an_adopted_statefulset_that_comes_back_later_stops_a_change() -> None:
    """It would create the pod that a bounce stops, on the same volume: nothing is stopped while it is there."""
    cluster = Adopting(STATEFUL)
    await cluster.until(lambda: ready(cluster))
    cluster.create()
    cluster.ask(release="2.3.1", image="app:2.3.1-b")
    cluster.living.calls.clear()
    await cluster.run(15)
    assert cluster.stops == []
    assert cluster.status["doing"] == "Recreated"
    cluster.living.model.delete(cluster.kind, NAMESPACE, "app", orphan=True)
    await cluster.until(lambda: len(cluster.stops) == 3)


async def test_the_first_bounce_takes_the_claim_along() -> None:
    """A new image of the same release: pods of the operator's names, one at a time, on the StatefulSet's claims."""
    cluster = Adopting(STATEFUL)
    await cluster.until(lambda: ready(cluster))
    cluster.ask(image="app:2.3.2", release="2.3.2")
    await cluster.until(lambda: len(cluster.stops) == 3 and ready(cluster), most=200)
    assert sorted(cluster.uids()) == [f"counts-streams-{index}" for index in range(3)]
    assert cluster.claims() == [f"data-app-{index}" for index in range(3)]
    mounted = {
        pod["metadata"]["name"]: pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"]
        for pod in cluster.pods()
    }
    assert mounted == {f"counts-streams-{index}": f"data-app-{index}" for index in range(3)}
    assert [item["metadata"].get("ownerReferences") for item in cluster.living.model.all(CLAIMS)] == [None] * 3


async def test_an_upgrade_that_wipes_replaces_the_claims() -> None:
    """2.3 to 3.9 begins each state anew: the claims of the StatefulSet go when the instances work without them."""
    cluster = Adopting(STATEFUL)
    await cluster.until(lambda: ready(cluster))
    cluster.ask(release="3.9.1", image="app:3.9.1")
    await cluster.until(
        lambda: cluster.claims() == [f"counts-streams-{index}-g2" for index in range(3)] and ready(cluster), most=300
    )
    assert cluster.releases() == ["3.9.1"] * 3


async def test_a_pod_of_a_deployment_is_replaced_by_a_change() -> None:
    """Another image in the spec than in the pods is said before, and follows as a change after the adoption."""
    cluster = Adopting(
        "Deployment",
        release="3.9.1",
        image="app:3.9.1",
        adopt={"kind": "Deployment", "name": "app", "release": "2.3.1"},
    )
    await cluster.until(lambda: cluster.adopted)
    assert cluster.uids() == cluster.first
    await cluster.until(lambda: cluster.releases() == ["3.9.1"] * 3 and ready(cluster), most=300)
    assert sorted(cluster.uids()) == [f"counts-streams-{index}" for index in range(3)]


async def test_the_way_back_does_not_touch_adopted_pods_that_were_not_reached() -> None:
    """A change to an image that never starts costs one instance; set back, the other pods are the adopted ones."""
    asked = {"kind": STATEFUL, "name": "app", "release": "2.3.1"}
    cluster = Adopting(STATEFUL, release="2.4.1", image="app:2.4.1", adopt=asked)
    cluster.broken.add("app:2.4.1")
    await cluster.until(lambda: len(cluster.stops) == 1)
    await cluster.run(10)
    cluster.ask(release="2.3.1", image=IMAGE)
    await cluster.until(lambda: ready(cluster))
    others = {name: uid for name, uid in cluster.first.items() if name != "app-2"}
    assert others.items() <= cluster.uids().items()
    assert sorted(cluster.uids()) == ["app-0", "app-1", "counts-streams-2"]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", KINDS)
async def test_pods_and_operators_that_are_lost_at_random(kind: str, seed: int) -> None:
    """Any number of them, at any request: what was not lost runs on, and at the end every instance works."""
    dice, cluster = random.Random(seed), Adopting(kind)
    lost: set[str] = set()

    def strike(_: int) -> None:
        if len(lost) < 2 and dice.random() < 0.01:
            lost.add(name := dice.choice(sorted(cluster.uids())))
            remove(cluster.living.model, PODS, name)
        if cluster.living.dies_at is None and dice.random() < 0.02:
            cluster.living.dies_at, cluster.living.before = (
                cluster.living.written + dice.randint(0, 2),
                dice.random() < 0.5,
            )

    cluster.living.between = strike
    await cluster.until(lambda: ready(cluster), most=200)
    cluster.living.between = lambda _: None
    await cluster.until(lambda: ready(cluster) and len(cluster.uids()) == 3, most=200)
    kept = {name: uid for name, uid in cluster.first.items() if name not in lost}
    assert kept.items() <= cluster.uids().items(), f"seed {seed}: lost {lost}"


def _nothing(body: Json) -> None:
    del body


def _of(path: str, value: object) -> Callable[[Json], None]:
    """A change of one field of a body, by its path."""

    def change(body: Json) -> None:
        *above, last = path.split("/")
        place: Any = body
        for key in above:
            place = place[int(key)] if key.isdigit() else place.setdefault(key, {})
        place[last] = value

    return change


_CONTAINER = "spec/template/spec/containers/0"
REFUSED: dict[str, tuple[str, Callable[[Json], None], Json, str]] = {
    "it does not exist": (STATEFUL, _nothing, {"adopt": {"name": "other"}}, "StatefulSet other does not exist"),
    "no consent": (STATEFUL, _of("metadata/annotations", {}), {}, f"kubectl -n {NAMESPACE} annotate statefulset app"),
    "other replicas": (STATEFUL, _of("spec/replicas", 2), {}, "has 2 replicas, and spec.replicas is 3"),
    "an owner": (
        "Deployment",
        _of("metadata/ownerReferences", [{"kind": "Rollout", "name": "r", "uid": "uid-of-counts", "controller": True}]),
        {},
        "Rollout r controls Deployment app",
    ),
    "a selector of expressions": (STATEFUL, _of("spec/selector/matchExpressions", [{}]), {}, "more than matchLabels"),
    "another container": (STATEFUL, _of(f"{_CONTAINER}/name", "main"), {}, "has no container app"),
    "another path": (STATEFUL, _nothing, {"state": {"type": "VolumeClaim", "path": "/s"}}, "mounted at /s"),
    "ephemeral in the spec": (STATEFUL, _nothing, {"state": {"type": "Ephemeral"}}, "spec.state is Ephemeral"),
    "a part of the volume": (STATEFUL, _of(f"{_CONTAINER}/volumeMounts/0/subPath", "s"), {}, "(subPath)"),
    "the image's user": (STATEFUL, _of("spec/template/spec/securityContext", {}), {}, "runs as the user of its image"),
    "a user of the pod": (
        STATEFUL,
        _of("spec/template/spec/securityContext/runAsUser", 10001),
        {},
        "runs as user 10001, and instances would run as user 1000",
    ),
    "a user of the container": (
        STATEFUL,
        _of(f"{_CONTAINER}/securityContext", {"runAsUser": 10001}),
        {},
        "runs as user 10001, and instances would run as user 1000",
    ),
    "no claims": ("Deployment", _nothing, {"state": {"type": "VolumeClaim", "path": "/s"}}, "no claim of their own"),
    "an unknown release": (
        STATEFUL,
        _nothing,
        {"image": "app:3.9.1", "release": "3.9.1"},
        "spec.adopt.release must be",
    ),
    "a wrong release": (
        STATEFUL,
        _nothing,
        {"adopt": {"name": "app", "release": "3.9.1"}},
        "supports version 4 of the subscription",
    ),
    "half an upgrade to another release": (
        STATEFUL,
        _of(f"{_CONTAINER}/env", [{"name": "UPGRADE_FROM", "value": "1.1"}]),
        {"adopt": {"name": "app", "release": "2.3.1"}, "release": "3.9.1", "image": "app:3.9.1"},
        "so an upgrade to 2.3.1 is half done",
    ),
    "upgrade.from from elsewhere": (
        STATEFUL,
        _of(f"{_CONTAINER}/env", [{"name": "UPGRADE_FROM", "value": "", "valueFrom": {}}]),
        {},
        "say its value in spec.adopt.upgradeFrom",
    ),
    "another application": (STATEFUL, _nothing, {"gate": {"stableSeconds": 2, "threads": 2}}, "1 of 2 members"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_what_does_not_fit_is_refused_with_a_reason(name: str) -> None:
    """Nothing is touched, and the status has the sentence."""
    kind, change, spec, words = REFUSED[name]
    cluster = Adopting(kind, change=change, **spec)
    await cluster.run(10)
    assert any(words in text for text in cluster.status["adoption"]["objections"]), cluster.status["adoption"]
    assert words in cluster.status["message"]
    assert deletions(cluster) == []
    assert cluster.uids() == cluster.first
    touched = {call.plural for call in cluster.living.writes()} - {"kafkastreamsapplications", "events"}
    assert touched == set()


async def test_a_silent_coordinator_and_a_member_of_others_are_waited_for() -> None:
    """Unknown is no yes, and members that are none of the pods may be another copy."""
    cluster = Adopting(STATEFUL)
    stranger = dict(cluster.living.model.read(("pods", NAMESPACE, "app-0")))
    stranger["metadata"] = {"name": "other-0", "namespace": NAMESPACE}
    stranger["spec"] = {**stranger["spec"], "volumes": []}
    stranger["status"] = {**stranger["status"], "podIP": "10.9.9.9"}
    cluster.living.replicas = 4
    cluster.living.model.seed(("pods", NAMESPACE, "other-0"), stranger)
    await cluster.run(10)
    assert "a member at 10.9.9.9" in cluster.status["message"]
    assert deletions(cluster) == []


@pytest.mark.parametrize("kind", KINDS)
async def test_a_person_approves_by_the_hash(kind: str) -> None:
    """With Manual nothing is touched until spec.approved is the hash of just this plan."""
    cluster = Adopting(kind, approve="Manual")
    await cluster.run(10)
    assert cluster.status["doing"] == "ApprovalNeeded"
    assert deletions(cluster) == []
    cluster.ask(approved=cluster.status["adoption"]["hash"])
    await cluster.until(lambda: ready(cluster))
    assert cluster.uids() == cluster.first


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ({"labels": {"app.kubernetes.io/managed-by": "Helm"}}, "Helm has StatefulSet app"),
        ({"annotations": {"argocd.argoproj.io/tracking-id": "x:apps/y"}}, "Argo CD application x:apps/y"),
        ({"labels": {"kustomize.toolkit.fluxcd.io/name": "all"}}, "Flux Kustomization all"),
    ],
    ids=["Helm", "Argo CD", "Flux"],
)
async def test_a_tool_that_may_create_it_again_needs_approval(place: Json, words: str) -> None:
    """Even with Automatic: the warning says what to do first."""

    def marked(body: Json) -> None:
        for key, rows in place.items():
            body["metadata"].setdefault(key, {}).update(rows)

    cluster = Adopting(STATEFUL, change=marked)
    await cluster.run(10)
    assert cluster.status["doing"] == "ApprovalNeeded"
    assert any(words in text for text in cluster.status["adoption"]["warnings"])
    assert deletions(cluster) == []
    cluster.ask(approved=cluster.status["adoption"]["hash"])
    await cluster.until(lambda: ready(cluster))


async def test_budgets_and_autoscalers_are_named() -> None:
    """What refers to the pods or the workload is in the plan."""
    cluster = Adopting(STATEFUL, approve="Manual")
    budget = {"metadata": {"name": "calm"}, "spec": {"selector": {"matchLabels": {"app": "counting"}}}}
    cluster.living.model.create(BUDGETS, NAMESPACE, budget)
    scaler = {"metadata": {"name": "more"}, "spec": {"scaleTargetRef": {"kind": "StatefulSet", "name": "app"}}}
    cluster.living.model.create(SCALERS, NAMESPACE, scaler)
    await cluster.run(3)
    warnings = " ".join(cluster.status["adoption"]["warnings"])
    assert "PodDisruptionBudget calm" in warnings
    assert "HorizontalPodAutoscaler more" in warnings


async def test_half_an_upgrade_by_hand_is_ended_by_its_second_bounce() -> None:
    """Pods of 3.9 with upgrade.from: after the adoption each of them restarts once, without it."""

    def half(body: Json) -> None:
        _of(f"{_CONTAINER}/image", "app:3.9.1")(body)
        _of(f"{_CONTAINER}/env", [{"name": "UPGRADE_FROM", "value": "2.3"}])(body)

    cluster = Adopting(STATEFUL, change=half, release="3.9.1", image="app:3.9.1")
    await cluster.until(lambda: cluster.adopted)
    assert cluster.uids() == cluster.first
    assert {row.get("upgradeFrom") for row in cluster.status["instances"]} <= {"2.3", None}
    await cluster.until(lambda: len(cluster.stops) == 3 and ready(cluster), most=200)
    assert [value for name, value in cluster.values if name.startswith("counts-")] == [""] * 3
    assert cluster.claims() == [f"data-app-{index}" for index in range(3)]


async def test_an_adopted_pod_that_lost_its_labels_gets_no_second_copy() -> None:
    """No name of the operator's keeps a second pod away, so the pod is asked for by its own name."""
    cluster = Adopting(STATEFUL)
    await cluster.until(lambda: ready(cluster))
    label = {"kafkaquorum.io/streams-application": None}
    cluster.living.model.patch(PODS, NAMESPACE, "app-1", {"metadata": {"labels": label}})
    await cluster.run(10)
    assert cluster.uids() == cluster.first
    assert cluster.status["doing"] == "Unreadable"
    assert "it lost labels" in cluster.status["message"]


async def test_a_claim_that_is_lost_with_its_pod_is_replaced_by_one_of_its_own() -> None:
    """The claim of a StatefulSet is not created again by its name: the state is restored into a new one."""
    cluster = Adopting(STATEFUL)
    await cluster.until(lambda: ready(cluster))
    remove(cluster.living.model, PODS, "app-1")
    cluster.kubelet()
    remove(cluster.living.model, CLAIMS, "data-app-1")
    await cluster.until(lambda: "counts-streams-1" in cluster.uids() and ready(cluster))
    assert cluster.claims() == ["counts-streams-1-g2", "data-app-0", "data-app-2"]


async def test_a_paused_adoption_touches_nothing() -> None:
    """spec.paused counts before the first act and between two of them."""
    cluster = Adopting("Deployment", paused=True)
    await cluster.run(5)
    assert cluster.living.model.view(cluster.kind, NAMESPACE, "app") is not None
    cluster.ask(paused=False)
    await cluster.until(lambda: "deployments app" in deletions(cluster))
    cluster.ask(paused=True)
    cluster.living.calls.clear()
    await cluster.run(5)
    assert deletions(cluster) == []
    cluster.ask(paused=False)
    await cluster.until(lambda: ready(cluster))
    assert cluster.uids() == cluster.first


async def test_a_spec_that_becomes_invalid_between_two_acts() -> None:
    """What was released gets its owner all the same; what was not touched yet waits for a valid spec."""
    cluster = Adopting("Deployment")
    await cluster.until(lambda: "deployments app" in deletions(cluster))
    cluster.ask(replicas=-1)
    for _ in range(20):
        await cluster.look()
    assert cluster.adopted
    cluster.ask(replicas=3)
    await cluster.until(lambda: ready(cluster))
    assert cluster.uids() == cluster.first


async def test_it_is_forgotten_when_the_spec_does_not_name_it() -> None:
    """From then on another StatefulSet of this name is nobody's business."""
    cluster = Adopting(STATEFUL)
    await cluster.until(lambda: ready(cluster))
    cluster.ask(adopt={"kind": STATEFUL, "name": ""})
    await cluster.run(5)
    assert "adoption" not in cluster.status
    assert cluster.uids() == cluster.first
    assert cluster.status["doing"] == "Done"


async def test_an_application_with_instances_adopts_nothing() -> None:
    """spec.adopt that is set later has no effect, and the status says so."""
    cluster = Adopting(STATEFUL)
    await cluster.until(lambda: ready(cluster))
    cluster.ask(adopt={"kind": STATEFUL, "name": ""})
    await cluster.run(5)
    cluster.ask(adopt={"kind": "Deployment", "name": "other"})
    await cluster.run(3)
    assert "has instances of its own" in cluster.status["message"]


async def test_an_adoption_that_is_called_off_before_it_began_touches_nothing() -> None:
    """spec.adopt is emptied when only the record was written: the StatefulSet stays."""
    cluster = Adopting(STATEFUL)
    await cluster.until(lambda: cluster.living.model.view(CONFIG_MAPS, NAMESPACE, "counts-streams") is not None)
    cluster.ask(adopt={"kind": STATEFUL, "name": ""})
    await cluster.run(5)
    assert deletions(cluster) == []
    assert "nothing of it was touched" in cluster.status["message"]
    assert IMAGE in {pod["spec"]["containers"][0]["image"] for pod in cluster.pods()}


async def test_pods_that_have_the_names_of_instances_are_adopted() -> None:
    """Those of a StatefulSet NAME-streams are called as the operator's own, and get their labels at the end."""

    def named(body: Json) -> None:
        body["metadata"]["name"] = "counts-streams"

    cluster = Adopting(STATEFUL, change=named, adopt={"kind": STATEFUL, "name": "counts-streams"})
    await cluster.until(lambda: ready(cluster))
    await cluster.run(5)
    assert cluster.uids() == cluster.first


async def test_the_pod_of_another_instance_does_not_count_as_one_without_labels() -> None:
    """With ordinals from 1 the pod of instance 0 has the name that the operator gives that of instance 1."""

    def named(body: Json) -> None:
        body["metadata"]["name"] = "counts-streams"
        body["spec"]["ordinals"] = {"start": 1}

    cluster = Adopting(STATEFUL, change=named, adopt={"kind": STATEFUL, "name": "counts-streams"})
    await cluster.until(lambda: ready(cluster))
    remove(cluster.living.model, PODS, "counts-streams-2")
    await cluster.run(10)
    assert "kubectl label" not in cluster.status["message"]
    remove(cluster.living.model, PODS, "counts-streams-1")
    await cluster.until(lambda: ready(cluster))
    assert sorted(cluster.uids()) == ["counts-streams-0", "counts-streams-1", "counts-streams-3"]
