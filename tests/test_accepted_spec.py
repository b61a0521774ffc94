"""The last accepted spec: stored before it changes the quorum, and in force while a later spec is invalid."""

import copy
import json
import re
from typing import Any

import pytest
from tests.model.values import NAME
from tests.observe.test_gather import snapshot
from tests.test_reconcile import KEY, SPEC, Bench, at_rest, at_work, passes

from kafka_quorum.judge import Judged, judge
from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.names import REVISION
from kafka_quorum.reconcile import Reconciler
from kafka_quorum.resources.stored import ACCEPTED_MAX_CHARS, accepted_from, accepted_text
from kafka_quorum.settings import Settings
from kit.errors import KubeUnavailable
from kit.kube.protocol import CONFIG_MAPS, PODS, REVISIONS, Json

IDENTITY = (CONFIG_MAPS.plural, f"{NAME}-identity")
LARGER: Json = {"kafka": {"version": "4.4.0"}, "controllers": {"replicas": 5, "storage": {"size": "20Gi"}}}
WRONG: Json = {"kafka": {"version": "four"}, "controllers": {"replicas": 7}}


async def quorum() -> Bench:
    """A quorum at rest whose revision came from the spec of three controllers."""
    bench = at_work()
    for (plural, _), item in bench.kube.objects.items():
        if plural == REVISIONS.plural:
            item["data"]["spec"] = copy.deepcopy(SPEC)
    await passes(bench, 4)
    return bench


async def asks(bench: Bench, spec: Json, count: int = 1) -> None:
    """Sets this spec, and runs this many passes."""
    bench.kube.objects[QUORUMS.plural, NAME]["spec"] = copy.deepcopy(spec)
    bench.reconciler.changed(KEY)
    await passes(bench, count)


def kept(bench: Bench) -> Any:  # noqa: ANN401 - any JSON
    """The spec that is stored as the last accepted one; None if there is none."""
    text = bench.kube.objects[IDENTITY]["data"].get("accepted-spec.json")
    return None if text is None else json.loads(text)["spec"]


async def judged(bench: Bench) -> Judged:
    """What the next pass acts on."""
    return judge(await snapshot(bench.kube), frozenset())


async def test_a_quorum_of_an_earlier_version_gets_it() -> None:
    """The first passes store the spec in the ConfigMap of the record, and later passes do not store it again."""
    bench = await quorum()
    assert kept(bench) == SPEC
    bench.kube.calls.clear()
    await passes(bench, 3)
    assert [call for call in bench.acts() if call.plural == CONFIG_MAPS.plural] == []


async def test_an_invalid_spec_leaves_the_last_accepted_one_in_force() -> None:
    """After three controllers became five, an invalid edit keeps five, although the applied revision is of three."""
    bench = await quorum()
    await asks(bench, LARGER)
    assert kept(bench) == LARGER
    await asks(bench, WRONG)
    found = await judged(bench)
    assert found.faults
    assert found.desired is not None
    assert (found.desired.replicas, found.desired.storage.size) == (5, "20Gi")
    assert bench.condition("SpecAccepted") == ("False", "InvalidSpec")


async def test_it_survives_the_operator() -> None:
    """A new operator that finds an invalid spec also uses the stored one."""
    bench = await quorum()
    await asks(bench, LARGER)
    bench.kube.objects[QUORUMS.plural, NAME]["spec"] = copy.deepcopy(WRONG)
    del bench.kube.objects[PODS.plural, f"{NAME}-3001-g1"]
    bench.reconciler = Reconciler(
        kube=bench.kube,
        controllers=bench.controllers,
        clock=bench.clock,
        ids=bench.reconciler._executor._ids,
        settings=Settings(),
    )
    bench.kube.calls.clear()
    await passes(bench, 3)
    assert ("create", "pods") in [(call.verb, call.plural) for call in bench.acts()]
    assert kept(bench) == LARGER


async def test_a_spec_with_faults_is_never_stored() -> None:
    """Passes over an invalid spec, including writes of the record, do not change the stored spec."""
    bench = await quorum()
    await asks(bench, LARGER)
    await asks(bench, WRONG, 4)
    assert kept(bench) == LARGER


async def test_nothing_is_begun_with_a_spec_that_could_not_be_stored() -> None:
    """If the spec cannot be stored, no voter changes and no controller is added or removed because of it."""
    bench = await at_rest()
    before = json.loads(bench.kube.objects[IDENTITY]["data"]["record.json"])
    for verb in ("patch", "replace"):
        bench.kube.errors[verb, CONFIG_MAPS.plural] = KubeUnavailable("no answer")
    await asks(bench, LARGER, 4)
    assert json.loads(bench.kube.objects[IDENTITY]["data"]["record.json"]) == before
    assert kept(bench) == SPEC
    assert "operation" not in bench.kube.objects[QUORUMS.plural, NAME]["status"]


async def test_a_paused_spec_is_not_accepted_yet() -> None:
    """While the quorum is paused no spec is stored, because it is not acted on."""
    bench = await quorum()
    await asks(bench, LARGER | {"paused": True}, 3)
    assert kept(bench) == SPEC


async def test_without_one_the_applied_revision_counts() -> None:
    """Without a stored spec, the spec of the applied revision is used while the present one is invalid."""
    bench = await quorum()
    del bench.kube.objects[IDENTITY]["data"]["accepted-spec.json"]
    await asks(bench, WRONG)
    found = await judged(bench)
    assert found.desired is not None
    assert found.desired.replicas == 3


@pytest.mark.parametrize("text", ["{", "[]", '{"schemaVersion": 1}', '{"spec": [], "schemaVersion": 1}'])
async def test_one_that_cannot_be_read(text: str) -> None:
    """An unreadable stored spec is not a missing one: an invalid spec repairs nothing, and a valid one replaces it."""
    bench = await quorum()
    bench.kube.objects[IDENTITY]["data"]["accepted-spec.json"] = text
    bench.kube.calls.clear()
    await asks(bench, WRONG, 2)
    assert bench.acts() == []
    found = await judged(bench)
    assert found.desired is None
    assert any(re.search("accepted-spec.json.*alpha-identity", fault.message) for fault in found.faults)
    await asks(bench, SPEC, 2)
    assert kept(bench) == SPEC


async def test_policies_bind_at_once() -> None:
    """The policies of the present spec apply at once, even if the rest of it is invalid."""
    bench = await quorum()
    await asks(bench, LARGER)
    wrong = {**WRONG, "controllers": {"replicas": 7, "replacement": {"lostDisk": "Manual"}}}
    await asks(bench, wrong)
    found = await judged(bench)
    assert found.desired is not None
    assert (found.desired.replicas, found.desired.replacement.lost_disk.value) == (5, "Manual")


def test_the_size_is_bounded() -> None:
    """A spec that is too long, or too deep to be read back, is not stored, because the record needs the space."""
    assert accepted_from(accepted_text(LARGER), "x") == LARGER
    deep: Json = {}
    for _ in range(40):
        deep = {"a": deep}
    assert [accepted_text({"a": "x" * ACCEPTED_MAX_CHARS}), accepted_text(deep)] == ["", ""]


async def test_a_spec_that_is_too_long_is_removed() -> None:
    """If the accepted spec is too long, none is stored, not even the earlier one."""
    bench = await quorum()
    long = copy.deepcopy(LARGER)
    long["kafka"]["config"] = {f"a.property.{number}": "x" * 1000 for number in range(140)}
    await asks(bench, long, 3)
    assert kept(bench) is None
    assert bench.condition("SpecAccepted")[0] == "True"


def _template(spec: Json) -> Json:
    return {"kafka": {"version": "4.4.0"}, "controllers": {"replicas": 3, "template": {"spec": spec}}}


FORGED: dict[str, Json] = {
    "more controllers than memory has room for": {
        "kafka": {"version": "4.4.0"},
        "controllers": {"replicas": 20_000_000},
    },
    "no listener": {"kafka": {"version": "4.4.0"}, "controllers": {"replicas": 3, "listeners": []}},
    "no object": {"kafka": {"version": "4.4.0"}, "controllers": "x"},
    "many values of another type": {"kafka": {"version": "4.4.0"}, "controllers": {"nodeIDs": [""] * 30_000}},
    "root": _template({"securityContext": {"runAsUser": 0, "runAsNonRoot": False}}),
    "the network of the Kubernetes node": _template({"hostNetwork": True}),
    "another service account": _template({"serviceAccountName": "admin"}),
}


@pytest.mark.parametrize("spec", FORGED.values(), ids=FORGED.keys())
async def test_one_that_was_never_accepted_is_not_acted_on(spec: Json) -> None:
    """A stored spec that is invalid, because others edited the ConfigMap, repairs nothing and is named."""
    bench = await quorum()
    bench.kube.objects[IDENTITY]["data"]["accepted-spec.json"] = json.dumps({"schemaVersion": 1, "spec": spec})
    bench.kube.objects[QUORUMS.plural, NAME]["spec"] = copy.deepcopy(WRONG)
    bench.kube.calls.clear()
    found = await judged(bench)
    assert found.desired is None
    assert any(re.search("accepted-spec.json.*alpha-identity", fault.message) for fault in found.faults)
    await asks(bench, WRONG, 2)
    assert bench.acts() == []


async def test_a_rule_that_came_later_stops_no_repair() -> None:
    """A spec that was accepted before a rule existed is still in force while the present one is invalid."""
    bench = await quorum()
    earlier = _template({"securityContext": {"runAsUser": 0}})
    for (plural, _), item in bench.kube.objects.items():
        if plural == REVISIONS.plural:
            item["data"]["spec"] = copy.deepcopy(earlier)
    text = json.dumps(
        {"schemaVersion": 1, "spec": {**earlier, "controllers": {**earlier["controllers"], "replicas": 5}}}
    )
    bench.kube.objects[IDENTITY]["data"]["accepted-spec.json"] = text
    bench.kube.objects[QUORUMS.plural, NAME]["spec"] = copy.deepcopy(WRONG)
    found = await judged(bench)
    assert found.desired is not None
    assert found.desired.replicas == 5


async def test_a_rule_that_came_later_stops_no_repair_in_a_roll() -> None:
    """The same holds if only the revision that is being rolled has the spec that the new rule refuses."""
    bench = await quorum()
    earlier = _template({"securityContext": {"runAsUser": 0}})
    (place,) = [key for key in bench.kube.objects if key[0] == REVISIONS.plural]
    rolled = copy.deepcopy(bench.kube.objects[place])
    rolled["metadata"] |= {"name": "alpha-0123456789", "uid": "rolled"}
    rolled["data"]["spec"] = earlier
    bench.kube.put(REVISIONS, rolled)
    text = json.dumps({"schemaVersion": 1, "spec": earlier})
    bench.kube.objects[IDENTITY]["data"]["accepted-spec.json"] = text
    bench.kube.objects[QUORUMS.plural, NAME]["spec"] = copy.deepcopy(WRONG)
    assert (await judged(bench)).desired is None
    bench.kube.objects[PODS.plural, "alpha-3001-g1"]["metadata"]["annotations"][REVISION] = "alpha-0123456789"
    assert (await judged(bench)).desired is not None
