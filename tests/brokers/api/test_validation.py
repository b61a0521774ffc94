"""Validation of pools: a bad spec is refused for the right field with a sentence, a good one becomes a PoolDesired."""

from dataclasses import replace
from typing import Any

import pytest
from tests.brokers.api.specs import ACCEPTED, REFUSED, Refused
from tests.brokers.values import CONTRACT, desired, resource

from kafka_brokers.api import rules
from kafka_brokers.api.validation import Present, accepted_before, needs_late, quorum_of, validate
from kafka_brokers.model.contracted import first_contact
from kafka_brokers.model.names import inputs_hash
from kafka_brokers.model.pool import Cure, Drain, External, Fate, PoolDesired, Unavailable
from kafka_quorum.model.contract import Match, Setting
from kafka_quorum.model.desired import FieldFault
from kafka_quorum.model.zookeeper import ZooKeeperAccess
from kafka_quorum.settings import PodException

ZOOKEEPER = ZooKeeperAccess(connect="zoo:2181/kafka", secret_name="zoo")  # noqa: S106 - a name


def faults(candidate: dict[str, Any], **known: Any) -> tuple[FieldFault, ...]:  # noqa: ANN401 - passed on
    """The faults of a resource that must have some."""
    answer = validate(candidate, CONTRACT, present=Present(**known))
    assert not isinstance(answer, PoolDesired)
    return answer


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_a_bad_spec_is_refused_for_its_field_with_a_sentence(case: Refused) -> None:
    """A fault names the field and the value, or has the sentence of its rule."""
    found = faults(resource(case.patch))
    assert any(fault.field == case.field and case.words in fault.message for fault in found), found


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_a_bad_spec_has_no_fault_beside_its_own(case: Refused) -> None:
    """A bad spec has no further faults: every fault is in the part that the case changed."""
    part = case.field.split("[")[0].rsplit(".config", maxsplit=1)[0]
    assert all(fault.field.startswith(part) for fault in faults(resource(case.patch)))


@pytest.mark.parametrize("patch", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_a_good_spec_is_accepted(patch: dict[str, Any]) -> None:
    """A spec of the table of valid specs has no fault, and is read the same as one that was accepted before."""
    assert validate(resource(patch), CONTRACT) == accepted_before(resource(patch), CONTRACT) == desired(patch)


@pytest.mark.parametrize("name", ["p" * 52, "a.b", "1a", "A"])
def test_a_name_without_host_names_is_refused(name: str) -> None:
    """A resource's name must leave room for the host names and the services that are made from it."""
    assert [fault.field for fault in faults(resource(name=name))] == ["metadata.name"]


def test_a_name_and_an_external_listener_fit_in_a_service() -> None:
    """A pool's name and an external listener's name together leave room for the suffix of the service."""
    outside = {"listeners": [{"name": "A" * 15, "port": 9094, "external": "NodePort"}]}
    assert isinstance(validate(resource(outside, name="p" * 36), CONTRACT), PoolDesired)
    (fault,) = faults(resource(outside, name="p" * 37))
    assert (fault.field, fault.message) == ("spec.listeners[0].name", rules.NAME_AND_LISTENERS.message)
    inside = {"listeners": [{"name": "A" * 15, "port": 9094}]}
    assert isinstance(validate(resource(inside, name="p" * 51), CONTRACT), PoolDesired)


def test_defaults() -> None:
    """A spec with only a quorum gets three brokers from id 0, one volume, one listener, and careful policies."""
    found = desired()
    assert (found.replicas, found.first_node_id, found.node_ids) == (3, 0, ())
    assert [(volume.size_bytes, volume.storage_class) for volume in found.volumes] == [(10 * 2**30, "")]
    listeners = [(one.name, one.port, one.external) for one in found.runtime.listeners]
    assert listeners == [("PLAINTEXT", 9092, External.NONE)]
    assert (found.when_deleted, found.when_scaled) == (Fate.RETAIN, Fate.DELETE)
    assert (found.drain, found.unavailable, found.max_unavailable) == (Drain.HOLD, Unavailable.HOLD, 1)
    assert (found.lost_disk, found.lost_node, found.lost_node_after_s) == (Cure.AUTOMATIC, Cure.AUTOMATIC, 600)
    assert (found.throttle_bytes_per_s, found.runtime.heap, found.paused) == (50 * 2**20, "512Mi", False)


def test_the_contract_decides_release_image_and_settings() -> None:
    """Release, image and settings come from the contract, except those that are a first contact, or must be unset."""
    runtime = desired(contract=replace(CONTRACT, image="registry/kafka:1", secrets=("tls",))).runtime
    assert (runtime.release, runtime.image, runtime.secrets) == ("4.4.0", "registry/kafka:1", ("tls",))
    assert [key for key, _ in runtime.contract] == ["controller.listener.names", "listener.security.protocol.map"]
    assert [key for key, _ in first_contact(CONTRACT)] == ["controller.quorum.bootstrap.servers"]


def test_other_bootstrap_servers_restart_no_broker() -> None:
    """A first contact is not part of what decides a restart; every other setting is."""
    other = replace(CONTRACT.settings[1], value="elsewhere:9093")
    scaled = replace(CONTRACT, settings=(CONTRACT.settings[0], other, *CONTRACT.settings[2:]), revision=2)
    assert inputs_hash(desired(contract=scaled).runtime) == inputs_hash(desired().runtime)
    voters = Setting(key="controller.quorum.voters", value="3000@a:9093", match=Match.EQUALS)
    static = replace(CONTRACT, settings=(CONTRACT.settings[0], voters, CONTRACT.settings[3]))
    assert inputs_hash(desired(contract=static).runtime) != inputs_hash(desired().runtime)


def test_dynamic_properties_are_not_in_the_runtime() -> None:
    """What a running broker changes by itself is set on it, and is no reason to restart it."""
    found = desired({"config": {"num.io.threads": "4", "auto.create.topics.enable": "false"}})
    assert found.dynamic == (("num.io.threads", "4"),)
    assert found.runtime.config == (("auto.create.topics.enable", "false"),)
    more = desired({"config": {"num.io.threads": "8", "auto.create.topics.enable": "false"}})
    assert inputs_hash(more.runtime) == inputs_hash(found.runtime)


def test_what_the_contract_rules_is_refused_in_the_spec() -> None:
    """A property that the quorum rules is no one else's, whatever its name is."""
    ruled = Setting(key="some.migration.enable", value="true", match=Match.EQUALS)
    contract = replace(CONTRACT, settings=(*CONTRACT.settings, ruled))
    found = validate(resource({"config": {"some.migration.enable": "false"}}), contract)
    assert isinstance(found, tuple)
    assert [(fault.field, "ruled by quorum events" in fault.message) for fault in found] == [
        ("spec.config.some.migration.enable", True)
    ]


def test_a_quorum_of_an_older_release() -> None:
    """A pool needs Kafka 3.9, the one release from which a cluster migrates from ZooKeeper."""
    found = validate(resource(), replace(CONTRACT, release="3.8.1"))
    assert isinstance(found, tuple)
    assert [(fault.field, "3.8.1" in fault.message) for fault in found] == [("spec.quorum", True)]
    assert isinstance(validate(resource(), replace(CONTRACT, release="3.9.2")), PoolDesired)


@pytest.mark.parametrize("release", ["4.0.0", "4.4.0", "3.8.1"])
def test_zookeeper_needs_kafka_3_9(release: str) -> None:
    """While the contract has ZooKeeper, a release other than 3.9 is refused, with the way out."""
    found = validate(resource(), replace(CONTRACT, release=release, zookeeper=ZOOKEEPER))
    assert isinstance(found, tuple)
    assert "only Kafka 3.9" in found[-1].message + found[0].message


def test_the_contract_decides_about_zookeeper() -> None:
    """The runtime has the contract's access, so a change of it restarts brokers; of several values the first counts."""
    version = Setting(key="inter.broker.protocol.version", value="3.9-IV0,3.9", match=Match.ONE_OF)
    contract = replace(CONTRACT, release="3.9.2", zookeeper=ZOOKEEPER, settings=(*CONTRACT.settings, version))
    found = validate(resource(), contract)
    assert isinstance(found, PoolDesired)
    assert found.runtime.zookeeper == ZOOKEEPER
    assert ("inter.broker.protocol.version", "3.9-IV0") in found.runtime.contract


def test_the_contract_replaces_the_authorizer() -> None:
    """The spec's own authorizer is used until the contract has another one, and again after that."""
    users = {"super.users": "User:ANONYMOUS"}
    spec = {"config": {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer", **users}}
    before = validate(resource(spec), CONTRACT)
    new = Setting(key="authorizer.class.name", value="org.apache.kafka.Standard", match=Match.EQUALS)
    after = validate(resource(spec), replace(CONTRACT, settings=(*CONTRACT.settings, new)))
    assert isinstance(before, PoolDesired)
    assert isinstance(after, PoolDesired)
    assert dict(before.runtime.config)["authorizer.class.name"] == "kafka.security.authorizer.AclAuthorizer"
    assert after.runtime.config == (("super.users", "User:ANONYMOUS"),)
    assert ("authorizer.class.name", "org.apache.kafka.Standard") in after.runtime.contract


def test_with_an_authorizer_the_operator_must_see_every_topic() -> None:
    """Kafka hides topics without an error: a pool whose operator may not see them all is refused."""
    acl = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
    ruled = Setting(key="authorizer.class.name", value=acl["authorizer.class.name"], match=Match.EQUALS)
    contract = replace(CONTRACT, settings=(*CONTRACT.settings, ruled))
    for spec, under in (({"config": acl}, CONTRACT), ({}, contract), ({"config": {"super.users": "User:b"}}, contract)):
        found = validate(resource(spec), under)
        assert isinstance(found, tuple)
        assert [fault.field for fault in found] == ["spec.config.super.users"]
        assert "User:ANONYMOUS" in found[0].message
    for users in ("User:ANONYMOUS", "User:b; User:ANONYMOUS"):
        config = {**acl, "super.users": users}
        assert isinstance(validate(resource({"config": config}), CONTRACT), PoolDesired)
    assert isinstance(validate(resource({"config": {"authorizer.class.name": ""}}), CONTRACT), PoolDesired)


def test_the_directory_of_a_volume_is_what_brokers_were_started_with() -> None:
    """Another directory would look like an empty disk: it is refused, also where the API server did not."""
    spec = {"storage": [{"size": "10Gi", "directory": "kafka-log{id}"}]}
    found = validate(resource(spec), CONTRACT, present=Present(directories={0: "kafka"}))
    assert isinstance(found, tuple)
    assert [fault.field for fault in found] == ["spec.storage[0].directory"]
    same = validate(resource(spec), CONTRACT, present=Present(directories={0: "kafka-log{id}"}))
    assert isinstance(same, PoolDesired)
    assert same.runtime.directories == ("kafka-log{id}",)


@pytest.mark.parametrize(
    ("known", "field"),
    [
        ({"volumes": 3}, "spec.storage"),
        ({"claimed_bytes": {1: 2 * 2**30}}, "spec.storage[1].size"),
        ({"classes": {0: "slow"}}, "spec.storage[0].class"),
    ],
    ids=["removed", "shrunk", "another class"],
)
def test_volumes_are_compared_with_the_brokers(known: dict[str, Any], field: str) -> None:
    """A volume is not removed and does not shrink or change its class, also if the resource was created again."""
    spec = {"storage": [{"size": "1Gi", "class": "fast"}, {"size": "1Gi"}]}
    assert [fault.field for fault in faults(resource(spec), **known)] == [field]


def test_volumes_grow_and_are_appended() -> None:
    """A larger size, another volume, and the default class that Kubernetes filled in are no faults."""
    spec = {"storage": [{"size": "2Gi"}, {"size": "1Gi"}]}
    known: dict[str, Any] = {"volumes": 1, "claimed_bytes": {0: 2**30}, "classes": {0: "standard"}}
    assert isinstance(validate(resource(spec), CONTRACT, present=Present(**known)), PoolDesired)


def test_an_exception_from_the_policy_for_pods() -> None:
    """An exception of the chart admits what it names."""
    spec = {"template": {"spec": {"serviceAccountName": "kafka"}}}
    assert isinstance(validate(resource(spec), CONTRACT, frozenset({PodException.SERVICE_ACCOUNTS})), PoolDesired)


def test_a_restart_is_requested_by_a_time() -> None:
    """The annotation is part of the runtime; a word in it is a fault."""
    key = "kafkaquorum.io/restartedAt"
    found = validate(resource(annotations={key: "2026-01-31T12:00:00Z"}), CONTRACT)
    assert isinstance(found, PoolDesired)
    assert found.runtime.restarted_at == "2026-01-31T12:00:00Z"
    assert [fault.field for fault in faults(resource(annotations={key: "now"}))] == [f"metadata.annotations[{key}]"]


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (None, "spec"),
        ({}, "spec.quorum"),
        ({"quorum": 4}, "spec.quorum"),
        ({"quorum": "a", "flavour": 1}, "spec.flavour"),
        ({"quorum": "a", "listeners": [{"name": "A"}]}, "spec.listeners[0].port"),
    ],
)
def test_a_spec_of_the_wrong_shape_is_refused_by_path(spec: object, field: str) -> None:
    """An object without a schema check, from an older CRD or a backup, gets faults and no exception."""
    candidate = {"metadata": {"name": "payments"}, "spec": spec}
    assert [fault.field for fault in faults(candidate)] == [field]
    assert accepted_before(candidate, CONTRACT) is None
    assert quorum_of(candidate) == ("a" if field in ("spec.flavour", "spec.listeners[0].port") else "")


def test_late_properties_are_needed_for_racks_and_outside_addresses() -> None:
    """A pod waits for late properties only if its rack, or an address, is known after it was scheduled."""
    assert not needs_late(desired().runtime)
    assert needs_late(desired({"rack": {"topologyKey": "zone"}}).runtime)
    outside = {"listeners": [{"name": "OUT", "port": 9094, "external": "LoadBalancer"}]}
    assert needs_late(desired(outside).runtime)
