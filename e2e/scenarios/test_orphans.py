"""A resource that is deleted without its objects, and applied again: it is the same quorum, and owns all of them."""

import json

import pytest

from harness.quorum import GROUP, Quorum
from harness.shell import Json, get, items, kubectl, wait_until
from scenarios.expectations import assert_one_quorum, assert_untouched

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(300)]

ALL = {3000, 3001, 3002}
KINDS = ("pods", "service", "poddisruptionbudget", "configmap")


def orphaned_and_applied(quorum: Quorum) -> str:
    """Delete the resource with --cascade=orphan, and apply it again; returns the new one's uid."""
    found = quorum.resource()
    body: Json = {key: found[key] for key in ("apiVersion", "kind", "spec")}
    body["metadata"] = {"name": quorum.name, "namespace": quorum.namespace}
    kubectl("-n", quorum.namespace, "delete", "kq", quorum.name, "--cascade=orphan")
    kubectl("apply", "-f", "-", stdin=json.dumps(body))
    uid = str(quorum.resource()["metadata"]["uid"])
    assert uid != found["metadata"]["uid"]
    return uid


def owners(quorum: Quorum) -> dict[str, str]:
    """The uid of the controlling owner of every object but those that outlive the resource."""
    selector = f"{GROUP}/quorum={quorum.name}"
    found = {}
    for kind in KINDS:
        for item in items(quorum.namespace, kind, "-l", selector):
            name = item["metadata"]["name"]
            if name != f"{quorum.name}-identity":
                rows = item["metadata"].get("ownerReferences", [])
                found[f"{kind}/{name}"] = next((row["uid"] for row in rows if row.get("controller")), "")
    return found


def test_everything_of_an_orphaned_quorum_is_owned_again(ready: Quorum) -> None:
    """Pods, Service, budget and config maps get the new owner; nothing restarts, and the identity is the same."""
    running, voters, record, before = ready.running(), ready.voters(), ready.record(), owners(ready)
    assert len(set(before.values())) == 1, before
    uid = orphaned_and_applied(ready)

    def owned() -> bool:
        now = owners(ready)
        return set(now) >= set(before) and set(now.values()) == {uid}

    wait_until("the new resource owns every object", owned, 90, poll_s=1.0)
    ready.wait_condition("Progressing", "False", "Done")
    ready.wait_ready()
    assert_untouched(ready, running, ALL)
    assert ready.voters() == voters
    assert ready.record()["cluster_id"] == record["cluster_id"]
    assert_one_quorum(ready, initial=ALL, voters=ALL)


def test_an_orphaned_quorum_that_is_deleted_again_leaves_nothing_but_its_volumes(ready: Quorum) -> None:
    """Adopted objects are deleted with the resource; claims and the identity stay, by the retention policy."""
    orphaned_and_applied(ready)
    ready.wait_condition("Progressing", "False", "Done")
    ready.delete()
    wait_until("no pod is left", lambda: not ready.pods(), 120)
    wait_until("no service is left", lambda: not get(ready.namespace, "service", f"{ready.name}-controllers"), 60)
    wait_until("no budget is left", lambda: not items(ready.namespace, "pdb"), 60)
    assert len(ready.claims()) == 3
    assert ready.record()["phase"] == "Started"
