"""The chart's admission policy, evaluated: what the operator's account may do to its own objects and to others."""

import copy
from functools import cache
from typing import Any

import celpy
import pytest
import yaml
from celpy.adapter import json_to_cel
from celpy.celtypes import MapType, StringType
from tests.brokers import values as pool
from tests.model.values import NAME, bound, desired, node, revision, started
from tests.streams.api import specs as streams_specs

from helm import render
from kafka_brokers.resources import objects as broker_objects
from kafka_brokers.resources import pods as broker_pods
from kafka_brokers.resources import stored as broker_stored
from kafka_quorum.model import names
from kafka_quorum.model.ids import Member
from kafka_quorum.model.material import BROKERS, OPERATOR, Holder, controller
from kafka_quorum.model.pools import pool_tls_name
from kafka_quorum.resources import objects, pods, stored
from kafka_quorum.resources.certmanager import certificate_object
from kafka_quorum.resources.secrets import LEAF_ROLE, secret_object
from kafka_streams.model import names as application_names
from kafka_streams.model.observed import Revision as ApplicationRevision
from kafka_streams.model.record import Record as ApplicationRecord
from kafka_streams.model.record import Slot
from kafka_streams.resources import pods as application_pods
from kafka_streams.resources import stored as application_stored

Json = dict[str, Any]

ACCOUNT = f"system:serviceaccount:{render.NAMESPACE}:kafka-quorum-operator"
NODE = node(bound(), 3001)
MEMBER = Member(NAME, NODE.node_id)
REVISION = revision()
HASH = names.inputs_hash(REVISION.runtime)
CONFIG = names.config_name(NAME, HASH, (NODE.node_id,))
FORMAT_CONFIG = names.format_config_name(NAME, HASH, (NODE.node_id,))
RECORD = stored.record_object(desired(), started())
CLAIM = objects.claim(desired(), bound(), NODE)
OUTSIDE = pool.desired({"listeners": [{"name": "OUT_SIDE", "port": 9094, "external": "NodePort"}]})
OWN: dict[str, tuple[str, Json]] = {
    "record": ("configmaps", RECORD),
    "config": ("configmaps", objects.config(desired(), CONFIG, REVISION, (NODE.node_id,))),
    "config of a formatter": ("configmaps", objects.config(desired(), FORMAT_CONFIG, REVISION, (NODE.node_id,))),
    "claim": ("persistentvolumeclaims", CLAIM),
    "service": ("services", objects.service(desired(), 9093)),
    "budget": ("poddisruptionbudgets", objects.budget(desired(), 2)),
    "revision": (
        "controllerrevisions",
        stored.revision_object(
            desired(),
            names.revision_name(NAME, HASH),
            1,
            runtime=REVISION.runtime,
            image="i",
            inputs_hash=HASH,
            spec={},
        ),
    ),
    "pod": ("pods", pods.kafka(desired(), started(), NODE, REVISION, config=CONFIG, pull_policy="Never")),
    "formatter": (
        "pods",
        pods.formatter(desired(), bound(), NODE, REVISION, config=CONFIG, avoid_nodes=(), pull_policy="Never"),
    ),
}
"""Every object of a quorum that the operator creates, built by its own code, with the name of its resource."""
OF_POOLS: dict[str, tuple[str, Json]] = {
    "pool's record": ("configmaps", broker_stored.record_object(pool.desired(), pool.record())),
    "pool's config": ("configmaps", broker_objects.config(pool.desired(), pool.revision(), pool.IDS, ())),
    "pool's claim": (
        "persistentvolumeclaims",
        broker_objects.claim(
            pool.desired(), pool.record(), pool.broker(pool.record()), pool.broker(pool.record()).disks[0]
        ),
    ),
    "pool's budget": ("poddisruptionbudgets", broker_objects.budget(pool.desired(), 2)),
    "pool's revision": ("controllerrevisions", broker_stored.revision_object(pool.desired(), pool.revision(), {})),
    "broker": (
        "pods",
        broker_pods.kafka(
            pool.desired(),
            pool.record(),
            pool.broker(pool.record()),
            pool.revision(),
            config="cfg",
            pull_policy="Never",
        ),
    ),
    "broker's formatter": (
        "pods",
        broker_pods.formatter(
            pool.desired(),
            pool.record(),
            pool.broker(pool.record()),
            pool.revision(),
            config="cfg",
            avoid_nodes=(),
            pull_policy="Never",
        ),
    ),
    **{
        f"pool's {item['metadata']['name']}": ("services", item)
        for item in broker_objects.services(OUTSIDE, OUTSIDE.runtime, pool.IDS[:1])
    },
}
"""The same for a pool."""
APPLICATION = streams_specs.desired(
    upgradeFrom={"configMap": "settings", "key": "app.properties", "path": "/etc/app.properties"},
    state={"type": "VolumeClaim", "path": "/state"},
)
APP = APPLICATION.name
INSTANCE = ApplicationRevision(
    name=application_names.revision_name(APP, APPLICATION.runtime, "2.3"),
    number=1,
    runtime=APPLICATION.runtime,
    upgrade_from="2.3",
)
SLOT = Slot(index=12, revision=INSTANCE.name, generation=3)
APPLICATION_RECORD = application_stored.record_object(
    APPLICATION,
    ApplicationRecord(
        application_id=APPLICATION.application_id,
        release=APPLICATION.runtime.release,
        protocol=APPLICATION.runtime.protocol,
        slots=(SLOT,),
    ),
)
OF_APPLICATIONS: dict[str, tuple[str, Json]] = {
    "application's record": ("configmaps", APPLICATION_RECORD),
    "application's properties": ("configmaps", application_pods.properties(APPLICATION, INSTANCE) or {}),
    "application's claim": ("persistentvolumeclaims", application_pods.claim(APPLICATION, SLOT)),
    "application's revision": (
        "controllerrevisions",
        application_stored.revision_object(APPLICATION, INSTANCE, {}),
    ),
    "instance": ("pods", application_pods.instance(APPLICATION, SLOT, INSTANCE, "Never")),
}
"""The same for a Streams application, that of its second release: with state, and a file of properties."""
ALL = OWN | OF_POOLS | OF_APPLICATIONS


@cache
def policy() -> tuple[Json, dict[str, Any]]:
    """The policy's spec, and each of its expressions as a program."""
    text = render.template("--set", "admissionPolicy.enabled=true", "--show-only", "templates/admissionpolicy.yaml")
    items = [item for item in yaml.safe_load_all(text) if item]
    spec: Json = next(item for item in items if item["kind"] == "ValidatingAdmissionPolicy")["spec"]
    rows = [*spec["matchConditions"], *spec["variables"], *spec["validations"]]
    env = celpy.Environment()
    return spec, {row["expression"]: env.program(env.compile(row["expression"])) for row in rows}


def said(
    operation: str,
    resource: str,
    old: Json | None,
    new: Json | None,
    *,
    user: str = ACCOUNT,
    sub: str = "",
    marks: Json | None = None,
) -> list[str]:
    """The messages of the validations that refuse a request in a namespace with these annotations; none if allowed."""
    spec, programs = policy()
    request = {
        "operation": operation,
        "resource": {"group": "", "version": "v1", "resource": resource},
        "subResource": sub,
        "userInfo": {"username": user},
    }
    space = {"metadata": {"name": "apps"} | ({"annotations": marks} if marks is not None else {})}
    context = {"request": request, "object": new, "oldObject": old, "namespaceObject": space}
    given = {name: json_to_cel(value) for name, value in context.items()}
    if not all(programs[row["expression"]].evaluate(given) for row in spec["matchConditions"]):
        return []
    variables = MapType({})
    for row in spec["variables"]:
        value = programs[row["expression"]].evaluate(given | {"variables": variables})
        variables = MapType({**variables, StringType(row["name"]): value})
    given |= {"variables": variables}
    return [row["message"] for row in spec["validations"] if not programs[row["expression"]].evaluate(given)]


def labelled(item: Json, **labels: str) -> Json:
    """The object with only these labels; `quorum` is the relevant one."""
    changed = copy.deepcopy(item)
    changed["metadata"]["labels"] = {f"{names.GROUP}/{name}": value for name, value in labels.items()}
    return changed


def named(name: str, **labels: str) -> Json:
    """An object of this name with these labels."""
    return labelled({"metadata": {"name": name}}, **labels)


@pytest.mark.parametrize("key", ALL)
def test_the_operator_may_make_change_and_delete_its_own_objects(key: str) -> None:
    """The operator may create, change and delete every object that its code builds."""
    resource, item = ALL[key]
    assert said("CREATE", resource, None, item) == []
    assert said("UPDATE", resource, item, item) == []
    assert said("DELETE", resource, item, None) == []


@pytest.mark.parametrize("resource", sorted({resource for resource, _ in OWN.values()}))
def test_a_strangers_object_is_neither_deleted_nor_given_to_a_quorum(resource: str) -> None:
    """An object of others cannot be deleted in two steps, first by our label on it and then by its deletion."""
    stranger = named("postgres-0", app="postgres")
    ours = named("postgres-0", app="postgres", quorum="postgres")
    assert said("DELETE", resource, stranger, None)
    assert said("UPDATE", resource, stranger, ours)
    assert said("DELETE", resource, ours, None)
    assert said("CREATE", resource, None, ours)
    pools = named("postgres-0", app="postgres", pool="postgres")
    assert said("DELETE", resource, pools, None) or resource == "services"
    assert said("UPDATE", resource, stranger, pools)
    applications = named("postgres-0", **{"app": "postgres", "streams-application": "postgres"})
    assert said("DELETE", resource, applications, None)
    assert said("UPDATE", resource, stranger, applications)
    assert said("CREATE", resource, None, applications)


@pytest.mark.parametrize("key", ["pod", "formatter", "service", "budget", "revision", "config"])
def test_a_right_name_without_the_label_is_not_taken(key: str) -> None:
    """For these kinds the operator identifies its objects by label, so a name without the label is not enough."""
    resource, item = OWN[key]
    for before in (labelled(item), labelled(item, quorum="other")):
        (message,) = said("UPDATE", resource, before, item)
        assert "may not give an object to a quorum" in message


def test_lost_labels_are_repaired() -> None:
    """A claim, and a ConfigMap with a record, get their label back after a restore lost or changed it."""
    for resource, item in (("persistentvolumeclaims", CLAIM), ("configmaps", RECORD)):
        bare = copy.deepcopy(item)
        del bare["metadata"]["labels"]
        for before in (bare, labelled(item), labelled(item, quorum="other")):
            assert said("UPDATE", resource, before, item) == []
            assert said("DELETE", resource, before, None)  # first the label, then anything else


def test_a_config_map_without_a_record_is_not_taken_by_its_name() -> None:
    """A ConfigMap with the name NAME-identity of another program is not taken: only one with a record is repaired."""
    for data in (None, {}, {"token": "x"}):
        before = named("payments-identity") | ({} if data is None else {"data": data})
        after = named("payments-identity", quorum="payments") | ({} if data is None else {"data": data})
        assert said("UPDATE", "configmaps", before, after)


EVENTS = Holder(role=BROKERS.role, pool="events-2", uid="u2")
SECRETS = (
    names.authority_name(NAME),
    names.users_name(NAME),
    names.scram_name(NAME),
    names.brokers_tls_name(NAME),
    names.tls_name(NAME, 3001),
    pool_tls_name(NAME, "events-2"),
)


@pytest.mark.parametrize("name", SECRETS)
def test_the_operator_writes_only_opaque_secrets(name: str) -> None:
    """With a Secret of another type it could ask Kubernetes for the token of any service account."""
    own = secret_object(desired(), name, LEAF_ROLE, {"tls.crt": "x"}, "", [])
    assert said("CREATE", "secrets", None, own) == []
    assert said("UPDATE", "secrets", own, own) == []
    for type_ in ("kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token", "kubernetes.io/tls"):
        assert said("CREATE", "secrets", None, own | {"type": type_}), type_


@pytest.mark.parametrize("name", [*SECRETS, f"{NAME}-broker-0123456789", f"{NAME}-streams-0123456789"])
@pytest.mark.parametrize("label", ["pool", "streams-application"])
def test_only_a_quorum_has_secrets(name: str, label: str) -> None:
    """No Secret is written for a pool or an application, and none of a stranger is given to a quorum."""
    body = labelled(secret_object(desired(), name, LEAF_ROLE, {"a": "x"}, "", []), **{label: NAME})
    assert said("CREATE", "secrets", None, body)
    assert said("UPDATE", "secrets", body, body)
    ours, bare = labelled(body, quorum=NAME), labelled(body)
    assert said("UPDATE", "secrets", bare, ours)
    assert said("UPDATE", "secrets", labelled(body, quorum="other"), ours)


@pytest.mark.parametrize("holder", [controller(NODE.node_id), OPERATOR, BROKERS, EVENTS], ids=str)
def test_cert_manager_is_asked_for_quorums_only(holder: Holder) -> None:
    """Certificates of cert-manager are made for a quorum, by the names of its holders, and for nothing else."""
    body = certificate_object(desired(), holder)
    assert said("CREATE", "certificates", None, body) == []
    assert said("UPDATE", "certificates", body, body) == []
    for label in ("pool", "streams-application"):
        assert said("CREATE", "certificates", None, labelled(body, **{label: NAME}))
    assert said("UPDATE", "certificates", labelled(body), body)
    for name in ("ingress-tls", "ingress-operator-cert.events", "ingress-brokers-cert.", "ingress-brokers-cert.a.b"):
        assert said("CREATE", "certificates", None, named(name, quorum="ingress"))


def test_an_object_does_not_leave_its_quorum() -> None:
    """The label is neither removed nor changed to another quorum's."""
    resource, item = OWN["pod"]
    assert said("UPDATE", resource, item, labelled(item))
    assert said("UPDATE", resource, item, labelled(item, quorum="other"))


def test_a_label_is_no_pattern() -> None:
    """A label that is no quorum's name is refused, and does not match other names."""
    for label in (".*", "a.*", "al.ha", "", "Alpha", "alpha-"):
        assert said("DELETE", "pods", named("alpha-3001-g1", quorum=label), None), label


def test_the_status_of_a_pod_is_judged_as_the_pod_is() -> None:
    """The readiness gate may be written on a quorum's pods, and on no other."""
    _, item = OWN["pod"]
    assert said("UPDATE", "pods", item, item, sub="status") == []
    stranger = named("web-0", app="web")
    assert said("UPDATE", "pods", stranger, stranger, sub="status")


def test_only_pods_with_a_controllers_name_are_evicted() -> None:
    """An eviction has no label, so it is judged by the name of its pod."""
    assert said("CREATE", "pods", None, named(names.pod_name(MEMBER, NODE.generation)), sub="eviction") == []
    for name in ("postgres-0", "web-7d9f8-x2x4z", "coredns-3001", f"{names.pod_name(MEMBER, NODE.generation)}-format"):
        (message,) = said("CREATE", "pods", None, named(name), sub="eviction")
        assert "evict" in message


def test_an_object_does_not_go_from_a_quorum_to_a_pool() -> None:
    """A pool and a quorum of one name have nothing in common, and an object with both labels is the quorum's."""
    resource, item = ALL["broker"]
    own, name = {"pool": pool.POOL}, item["metadata"]["name"]
    assert said("UPDATE", resource, item, named(name, quorum=pool.POOL, **own))
    assert said("UPDATE", resource, named(name, quorum=pool.POOL, **own), item)
    assert said("CREATE", resource, None, named(name, quorum=pool.POOL))
    assert said("CREATE", "pods", None, named(f"{pool.POOL}-0-g1", **own))


def test_lost_labels_of_a_pool_are_repaired() -> None:
    """A claim and the record of a pool get their label back; a ConfigMap of that name without a record does not."""
    for key in ("pool's claim", "pool's record"):
        resource, item = ALL[key]
        bare = copy.deepcopy(item)
        del bare["metadata"]["labels"]
        assert said("UPDATE", resource, bare, item) == []
        assert said("DELETE", resource, bare, None)
    before = named("payments-broker-disks") | {"data": {"token": "x"}}
    assert said("UPDATE", "configmaps", before, named("payments-broker-disks", pool="payments") | {"data": {}})


def test_pods_of_brokers_are_evicted() -> None:
    """An eviction of a broker's pod is allowed, and none of its formatter."""
    assert said("CREATE", "pods", None, named("payments-0-broker"), sub="eviction") == []
    assert said("CREATE", "pods", None, named("payments-0-broker-format-1"), sub="eviction")


def ours(name: str, **more: str) -> Json:
    """An object of this name with the label of the application."""
    return named(name, **{"streams-application": APP, **more})


@pytest.mark.parametrize(
    ("resource", "name"),
    [
        ("pods", f"{APP}-streams-01"),
        ("pods", f"{APP}-streams-10000"),
        ("pods", f"{APP}-streams-0-g1"),
        ("pods", f"{APP}-0"),
        ("pods", f"{APP}s-streams-0"),
        ("pods", f"{APP}-0-broker"),
        ("persistentvolumeclaims", f"{APP}-streams-0"),
        ("persistentvolumeclaims", f"{APP}-streams-0-g0"),
        ("persistentvolumeclaims", f"data-{APP}-0"),
        ("configmaps", APP),
        ("configmaps", f"{APP}-streams-abc"),
        ("configmaps", f"{APP}-identity"),
        ("configmaps", "settings"),
        ("controllerrevisions", f"{APP}-streams"),
        ("controllerrevisions", f"{APP}-0123456789"),
        ("services", f"{APP}-streams"),
        ("services", f"{APP}-bootstrap"),
        ("poddisruptionbudgets", f"{APP}-streams"),
        ("poddisruptionbudgets", f"{APP}-voters"),
    ],
)
def test_an_application_has_the_names_that_the_operator_makes(resource: str, name: str) -> None:
    """The label of an application lets through no other name, and no kind that an application does not have."""
    for operation, old, new in (
        ("CREATE", None, ours(name)),
        ("UPDATE", ours(name), ours(name)),
        ("DELETE", ours(name), None),
    ):
        (message,) = said(operation, resource, old, new)
        assert "a name that the operator makes" in message


@pytest.mark.parametrize("key", OF_APPLICATIONS)
def test_an_object_neither_joins_nor_leaves_an_application(key: str) -> None:
    """The label of an application is neither given to an object, nor removed, nor changed to another application's."""
    resource, item = ALL[key]
    for other in (labelled(item), labelled(item, **{"streams-application": "other"}), labelled(item, pool=APP)):
        assert said("UPDATE", resource, item, other)
        assert said("UPDATE", resource, other, item) or item is APPLICATION_RECORD


@pytest.mark.parametrize(("resource", "name"), [("pods", "app-0"), ("persistentvolumeclaims", "data-app-0")])
def test_an_application_adopts_pods_and_claims_in_a_namespace_that_a_person_marks(resource: str, name: str) -> None:
    """Elsewhere nothing joins under its own name; with the mark pods and claims do that nobody else of ours has."""
    before, after = named(name, app="x"), named(name, **{"app": "x", "streams-application": APP})
    marked: Json = {"marks": {"kafkaquorum.io/adopt": "yes"}}
    for old, new, operation in ((before, after, "UPDATE"), (after, after, "UPDATE"), (after, None, "DELETE")):
        assert said(operation, resource, old, new, **marked) == []
        for marks in (None, {}, {"other": "yes"}):
            assert said(operation, resource, old, new, marks=marks)
    assert said("CREATE", resource, None, after, **marked)
    assert said("DELETE", resource, before, None, **marked)
    assert said("UPDATE", resource, after, before, **marked)
    for other in ({"quorum": "q"}, {"pool": "p"}, {"streams-application": "b"}):
        assert said("UPDATE", resource, named(name, **other), after, **marked)
    assert said("UPDATE", "configmaps", before, after, **marked)


def test_an_object_of_a_quorum_or_pool_is_no_applications() -> None:
    """With several labels an object belongs to the quorum first, then to the pool: the name must be one of theirs."""
    for key in OF_APPLICATIONS:
        resource, item = ALL[key]
        name = item["metadata"]["name"]
        assert said("CREATE", resource, None, ours(name, quorum=APP))
        assert said("CREATE", resource, None, ours(name, pool=APP))
    resource, item = OWN["pod"]
    both = named(item["metadata"]["name"], **{"quorum": NAME, "streams-application": NAME})
    assert said("UPDATE", resource, both, both) == []


def test_lost_labels_of_an_applications_record_are_repaired() -> None:
    """The record gets its label back; a claim does not, and a ConfigMap of that name without a record neither."""
    bare = copy.deepcopy(APPLICATION_RECORD)
    del bare["metadata"]["labels"]
    assert said("UPDATE", "configmaps", bare, APPLICATION_RECORD) == []
    assert said("DELETE", "configmaps", bare, None)
    assert said("UPDATE", "configmaps", bare | {"data": {"token": "x"}}, APPLICATION_RECORD)
    resource, claim = ALL["application's claim"]
    assert said("UPDATE", resource, labelled(claim), claim)


def test_instances_are_deleted_and_not_evicted() -> None:
    """An instance is stopped by its deletion; nothing evicts it, or writes its status."""
    resource, item = ALL["instance"]
    assert said("DELETE", resource, item, None) == []
    assert said("CREATE", resource, None, named(item["metadata"]["name"]), sub="eviction")
    assert said("UPDATE", resource, item, item, sub="status")


def test_only_two_kinds_of_leases_are_written() -> None:
    """The token of a quorum, and the operator's own lease in its namespace, are written, and no other lease."""

    def lease(name: str, namespace: str) -> Json:
        return {"metadata": {"name": name, "namespace": namespace}, "spec": {}}

    for item in (lease("events-disruption", "kafka"), lease("kafka-quorum-operator", render.NAMESPACE)):
        assert said("CREATE", "leases", None, item) == []
        assert said("UPDATE", "leases", item, item) == []
    for item in (
        lease("kube-scheduler", "kube-system"),
        lease("kafka-quorum-operator", "kafka"),
        lease("-disruption", "a"),
    ):
        (message,) = said("UPDATE", "leases", item, item)
        assert "lease" in message


def test_no_other_account_is_judged() -> None:
    """The policy applies only to the operator's account."""
    assert said("DELETE", "pods", named("web-0"), None, user="system:serviceaccount:a:b") == []
