"""Pods that work on disks: what they mount, what they are asked to do, and that only one of them may write."""

import json
from dataclasses import replace

import pytest
from tests.model.values import claim, desired, directory, node, revision, running, runtime
from tests.plan.recovery.lost import rewriting, source

from kafka_quorum.model.disk_work import (
    CompareDisk,
    CopyDisk,
    DiskWork,
    InspectDisk,
    is_copy_name,
    is_work_name,
    work_name,
)
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.journal import Candidate
from kafka_quorum.model.surveyed import EpochStart, LogEnd, Source
from kafka_quorum.resources import recovery
from kafka_quorum.resources.meta import Json

DISK = source(running(), 3000)
SEED = Source(claim="broker-0", path="data/kraft")
COMPARE = CompareDisk(source=DISK, epochs=(EpochStart(epoch=6, offset=0),), end=LogEnd(epoch=7, offset=500))
COPY = CopyDisk(source=DISK, copy="alpha-3000-g1-copy-0123456789", epoch=1)
SEEDED = replace(
    rewriting(),
    seed=Candidate(
        source=SEED,
        server_id=NodeID(7),
        directory_id=directory(7),
        end=rewriting().end,
        checkpoint=rewriting().checkpoint,
    ),
)


def pod(work: DiskWork, **how: str) -> Json:
    """The pod of this work."""
    return recovery.worker(desired(), running(), work, revision(), image="operator:1", pull_policy="Never", **how)


def mounts(work: DiskWork) -> dict[str, bool]:
    """Each claim that the pod mounts, and whether it can write there."""
    spec = pod(work)["spec"]
    claims = {each["name"]: each["persistentVolumeClaim"]["claimName"] for each in _claims(spec)}
    rows = spec["containers"][0]["volumeMounts"]
    only_read = {each["name"]: each["persistentVolumeClaim"].get("readOnly", False) for each in _claims(spec)}
    assert all(only_read[each["name"]] is each.get("readOnly", False) for each in rows if each["name"] in claims)
    return {claims[each["name"]]: not each.get("readOnly", False) for each in rows if each["name"] in claims}


def _claims(spec: Json) -> list[Json]:
    return [each for each in spec["volumes"] if "persistentVolumeClaim" in each]


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        (InspectDisk(source=DISK), {"alpha-3000-g1": False}),
        (InspectDisk(source=SEED), {"broker-0": False}),
        (COMPARE, {"alpha-3000-g1": False}),
        (COPY, {"alpha-3000-g1": False, COPY.copy: True}),
        (rewriting(), {"alpha-3000-g1": True}),
        (SEEDED, {"alpha-3000-g1": True, "broker-0": False}),
    ],
)
def test_a_disk_is_writable_only_where_it_is_rewritten(work: DiskWork, expected: dict[str, bool]) -> None:
    """Inspectors and copiers mount disks read-only, and so does the rewriter with a seed."""
    assert mounts(work) == expected


def test_the_pod_runs_as_kafka_does() -> None:
    """It has the confinement of Kafka's pods, ends for good, and has no rights in the cluster."""
    spec = pod(InspectDisk(source=DISK))["spec"]
    assert spec["restartPolicy"] == "Never"
    assert spec["automountServiceAccountToken"] is False
    assert (spec["securityContext"]["runAsUser"], spec["securityContext"]["fsGroup"]) == (1000, 1000)
    assert spec["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True


@pytest.mark.parametrize("work", [InspectDisk(source=SEED), SEEDED])
def test_a_pod_with_a_seed_changes_the_owner_of_no_file(work: DiskWork) -> None:
    """The group of Kafka's pods is a supplementary one there, so that Kubernetes does not give it the volume."""
    context = {"fsGroup": 4242, "fsGroupChangePolicy": "Always", "supplementalGroups": [7, 4242]}
    chosen = replace(revision(), runtime=runtime(template_spec=json.dumps({"securityContext": context})))
    made = recovery.worker(desired(), running(), work, chosen, image="i", pull_policy="Never")
    security = made["spec"]["securityContext"]
    assert not {"fsGroup", "fsGroupChangePolicy"} & set(security)
    assert (security["supplementalGroups"], security["runAsUser"], security["runAsGroup"]) == ([7, 4242], 1000, 1000)


def test_the_pod_is_scheduled_as_kafka_is() -> None:
    """Tolerations of the template hold for it, and it goes to the Kubernetes node that has the volume."""
    tolerant = replace(
        revision(),
        runtime=runtime(template_spec='{"tolerations":[{"key":"dedicated"}],"containers":[{"name":"kafka"}]}'),
    )
    made = recovery.worker(
        desired(), running(), InspectDisk(source=DISK), tolerant, image="i", pull_policy="Never", kube_node="worker-1"
    )
    assert made["spec"]["tolerations"] == [{"key": "dedicated"}]
    assert [each["name"] for each in made["spec"]["containers"]] == ["work"]
    required = made["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required["nodeSelectorTerms"][0]["matchFields"][0]["values"] == ["worker-1"]


def test_its_name_follows_from_its_work() -> None:
    """The same work has the same name, and any other work another one."""
    works: list[DiskWork] = [
        InspectDisk(source=DISK),
        InspectDisk(source=SEED),
        COMPARE,
        replace(COMPARE, end=LogEnd(epoch=7, offset=501)),
        replace(COMPARE, epochs=()),
        COPY,
        replace(COPY, epoch=2),
        rewriting(),
        replace(rewriting(), leader_epoch=10),
        SEEDED,
    ]
    names = [pod(work)["metadata"]["name"] for work in works]
    assert len(set(names)) == len(works)
    assert names == [work_name("alpha", work) for work in works]
    assert all(is_work_name("alpha", name) for name in names)
    assert not any(is_work_name("beta", name) for name in names)


def asked(work: DiskWork) -> Json:
    """What the pod is asked to do."""
    (variable,) = pod(work)["spec"]["containers"][0]["env"]
    found: Json = json.loads(variable["value"])
    return found


def test_what_is_asked() -> None:
    """A controller's log is in one directory, and that of a seed where a person says."""
    log = "/var/lib/kafka/data/kraft"
    assert asked(InspectDisk(source=DISK)) == {"kind": "inspect", "volume": "/var/lib/kafka/data", "directory": log}
    assert asked(InspectDisk(source=SEED))["directory"] == "/var/lib/kafka/data/data/kraft"
    assert asked(COMPARE) == {
        "kind": "compare",
        "volume": "/var/lib/kafka/data",
        "directory": log,
        "chosen": {"schema": 1, "epochs": [{"epoch": 6, "offset": 0}], "end_offset": 500},
    }
    assert asked(COPY)["target"] == {"volume": "/copy", "directory": "/copy/kraft"}


def test_the_plan_of_a_rewrite_names_the_disk_exactly() -> None:
    """The program refuses any disk but the one of the plan, and marks it with the epoch."""
    request = asked(rewriting())
    assert request["plan"] == {
        "schema": 1,
        "cluster_id": running().cluster_id,
        "node_id": 3000,
        "directory_id": directory(3000),
        "last_epoch": 7,
        "end_offset": 500,
        "checkpoint": {"offset": 400, "epoch": 6},
        "voters": None,
        "leader_epoch": 9,
        "endpoints": [{"name": "CONTROLLER", "host": "alpha-3000.alpha-controllers.kafka.svc", "port": 9093}],
        "cut_damage": False,
    }
    assert request["mark"] == {"path": "/var/lib/kafka/data/.kafka-quorum-recovery", "epoch": 1}


def test_the_plan_of_a_seed_names_both_disks() -> None:
    """With a seed, the plan names the broker's disk, and the formatted one as its target."""
    request = asked(SEEDED)
    assert request["seed"] == {"volume": "/seed", "directory": "/seed/data/kraft"}
    assert (request["plan"]["source_node_id"], request["plan"]["source_directory_id"]) == (7, directory(7))
    assert request["plan"]["target"] == asked(rewriting())["plan"]


@pytest.mark.parametrize(("size", "wanted"), [(10 << 30, 11 << 30), (100 << 20, 164 << 20), (1, (64 << 20) + 1)])
def test_a_copy_is_larger_than_its_disk(size: int, wanted: int) -> None:
    """The claim of a copy has room for a file system of its own, the class of its source, and outlives the resource."""
    record = running()
    of = claim(record, node(record, 3000), storage_class="fast", requested_bytes=size)
    made = recovery.copy_claim(desired(), COPY.copy, of, NodeID(3000), 1)
    assert is_copy_name("alpha", made["metadata"]["name"])
    assert made["spec"]["resources"]["requests"]["storage"] == str(wanted)
    assert made["spec"]["storageClassName"] == "fast"
    assert made["metadata"]["ownerReferences"] == []
