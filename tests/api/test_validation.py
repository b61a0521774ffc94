"""Validation: every bad spec is refused for the right field with a sentence, and a good one becomes a Desired."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.api.specs import ACCEPTED, CLUSTER_ID, NAMES, OTHER_CLUSTER_ID, REFUSED, Refused, merged, resource

from kafka_quorum.api.validation import accepted_before, validate
from kafka_quorum.model.desired import (
    BootstrapMode,
    ControllerListener,
    Desired,
    Downgrade,
    FeatureLevel,
    FieldFault,
    Protocol,
    VolumeFate,
)
from kafka_quorum.model.identity import BootstrapPhase, Format, IdentityRecord, mint
from kafka_quorum.model.ids import ClusterID
from kafka_quorum.model.trust import Issuer, IssuerKind, IssuerRef


def _faults(candidate: dict[str, Any], **known: Any) -> tuple[FieldFault, ...]:  # noqa: ANN401 - passed on
    answer = validate(candidate, **known)
    assert not isinstance(answer, Desired)
    return answer


def _desired(candidate: dict[str, Any], **known: Any) -> Desired:  # noqa: ANN401 - passed on
    answer = validate(candidate, **known)
    assert isinstance(answer, Desired), answer
    return answer


def _record(mode: BootstrapMode = BootstrapMode.INITIAL_CONTROLLERS) -> IdentityRecord:
    return mint(ClusterID(CLUSTER_ID), Format(mode=mode, release="4.4.0", features=()), (), ())


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_a_bad_spec_is_refused_for_its_field_with_a_sentence(case: Refused) -> None:
    """A fault names the field and the value, or has the sentence of its rule."""
    faults = _faults(resource(case.patch))
    assert any(fault.field == case.field and case.words in fault.message for fault in faults), faults


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_a_bad_spec_has_no_fault_beside_its_own(case: Refused) -> None:
    """A bad spec has no further faults: every fault is in the part that the case changed."""
    part = case.field.split("[")[0].rsplit(".config", maxsplit=1)[0]
    assert all(fault.field.startswith(part) for fault in _faults(resource(case.patch)))


@pytest.mark.parametrize("patch", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_a_good_spec_is_accepted(patch: dict[str, Any]) -> None:
    """A spec of the table of valid specs has no fault."""
    assert _desired(resource(patch)).name == "events"


@pytest.mark.parametrize(("name", "words"), NAMES)
def test_a_name_without_host_names_is_refused(name: str, words: str) -> None:
    """A resource's name must leave room for the host names and the service that are made from it."""
    assert FieldFault(field="metadata.name", message=words) in _faults(resource(name=name))


def test_all_faults_are_told_at_once_and_in_order() -> None:
    """Every fault is listed at once, sorted by field, and none twice."""
    patch = merged(_patch("controllers", replicas=0, jvm={"heap": "x"}), _patch("kafka", version="1"))
    fields = [fault.field for fault in _faults(resource(patch))]
    assert fields == ["spec.controllers.jvm.heap", "spec.controllers.replicas", "spec.kafka.version"]


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        (None, "spec", ""),
        ({}, "spec.kafka", ""),
        ({"kafka": {}}, "spec.kafka.version", ""),
        ({"kafka": {"version": 4}}, "spec.kafka.version", "4"),
        ({"kafka": [], "paused": 1}, "spec.kafka", "[]"),
        ({"kafka": {"version": "4.4.0", "flavour": "x"}}, "spec.kafka.flavour", ""),
        (
            {"kafka": {"version": "4.4.0", "features": {"levels": [{"name": "group.version", "level": 1.5}]}}},
            "spec.kafka.features.levels[0].level",
            "1.5",
        ),
    ],
)
def test_a_spec_of_the_wrong_shape_is_refused_by_path(spec: object, field: str, words: str) -> None:
    """An object without a schema check, from an older CRD or a backup, gets faults and no exception."""
    faults = _faults({"metadata": {"name": "events"}, "spec": spec})
    assert any(fault.field == field and words in fault.message for fault in faults), faults


def test_defaults_are_those_of_the_design() -> None:
    """A spec with only a release gets three controllers, retained disks, held features and automatic replacement."""
    desired = _desired(resource())
    assert (desired.replicas, desired.node_ids, desired.allow_interruption) == (3, (), False)
    assert (desired.storage.size_bytes, desired.storage.when_deleted) == (10 * 2**30, VolumeFate.RETAIN)
    assert desired.storage.when_scaled is VolumeFate.DELETE
    assert (desired.bootstrap, desired.cluster_id) == (BootstrapMode.INITIAL_CONTROLLERS, None)
    assert (desired.runtime.heap, desired.runtime.listener.port) == ("512Mi", 9093)
    assert (desired.soak_s, desired.features, desired.replacement.lost_node_after_s) == (60, (), 600)


@pytest.mark.parametrize(
    ("replicas", "allowed", "expected"),
    [(1, None, True), (2, None, False), (3, None, False), (1, False, False), (2, True, True)],
)
def test_interruption_is_allowed_for_one_replica_unless_said_otherwise(
    replicas: int,
    allowed: bool | None,  # noqa: FBT001 - a table
    expected: bool,  # noqa: FBT001 - a table
) -> None:
    """For one replica the interruption is allowed by default, because it cannot restart without one."""
    fields = {"replicas": replicas} | ({} if allowed is None else {"allowInterruption": allowed})
    assert _desired(resource({"controllers": fields})).allow_interruption is expected


def test_controllers_config_wins_over_kafka_config() -> None:
    """Properties are merged by key, and sorted, so that the order in the spec restarts no controller."""
    patch = {
        "kafka": {"config": {"b": "kafka", "c": "kafka"}},
        "controllers": {"config": {"b": "controllers", "a": "controllers"}},
    }
    assert _desired(resource(patch)).runtime.config == (("a", "controllers"), ("b", "controllers"), ("c", "kafka"))


def test_templates_are_canonical_json() -> None:
    """Two notations of one template become the same text, because the order of keys must not cause a restart."""
    one = {"template": {"spec": {"priorityClassName": "high", "nodeSelector": {"b": "1", "a": "2"}}}}
    two = {"template": {"spec": {"nodeSelector": {"a": "2", "b": "1"}, "priorityClassName": "high"}}}
    text = _desired(resource({"controllers": one})).runtime.template_spec
    assert text == _desired(resource({"controllers": two})).runtime.template_spec
    assert json.loads(text) == one["template"]["spec"]


@pytest.mark.parametrize(
    ("level", "version", "expected"),
    [("4.4-IV2", "4.4.0", 33), ("4.4", "4.4.0", 33), ("21", "4.4.0", 21), (30, "4.4.0", 30), ("3.9", "3.9.2", 21)],
)
def test_metadata_version_levels_are_resolved(level: int | str, version: str, expected: int) -> None:
    """A name, a release or a number means the level that Kafka gives it."""
    patch = {"kafka": {"version": version, "features": {"levels": [{"name": "metadata.version", "level": level}]}}}
    assert _desired(resource(patch)).features == (FeatureLevel(name="metadata.version", level=expected),)


@pytest.mark.parametrize("recorded", ["record", "status"])
def test_a_changed_cluster_id_is_refused(recorded: str) -> None:
    """A cluster id that differs from the disks' is refused, and the message has the one in use."""
    candidate = resource({"clusterID": OTHER_CLUSTER_ID})
    if recorded == "status":
        faults = _faults({**candidate, "status": {"clusterID": CLUSTER_ID}})
    else:
        faults = _faults(candidate, record=_record())
    assert [fault.field for fault in faults] == ["spec.clusterID"]
    assert CLUSTER_ID in faults[0].message


def test_the_record_wins_over_an_edited_status() -> None:
    """With a record, the cluster id of the status is ignored, because people may edit it."""
    candidate = {**resource({"clusterID": CLUSTER_ID}), "status": {"clusterID": OTHER_CLUSTER_ID}}
    assert _desired(candidate, record=_record()).cluster_id == CLUSTER_ID


def test_an_authorizer_of_a_quorum_that_keeps_plaintext_is_refused() -> None:
    """A spec without a protocol leaves PLAINTEXT as it is, and an authorizer would do nothing there."""
    candidate = resource({"security": {"authorizer": {"type": "Standard"}}})
    started = replace(_record(), phase=BootstrapPhase.STARTED)
    assert [fault.field for fault in _faults(candidate, record=started)] == ["spec.security.authorizer.type"]
    listener = ControllerListener(name="CONTROLLER", port=9093, protocol=Protocol.SSL)
    assert _desired(candidate, record=replace(started, listener=listener)).trust.authorizer
    assert _desired(candidate, record=_record()).trust.authorizer


def test_settings_of_a_plaintext_listener_are_free() -> None:
    """What a spec sets for a listener without TLS was accepted before, and is so now."""
    config = {"listener.name.controller.ssl.client.auth": "none"}
    candidate = resource({"controllers": {"config": config}})
    assert _desired(candidate, record=replace(_record(), phase=BootstrapPhase.STARTED)).runtime.config


def test_an_empty_cluster_id_leaves_the_recorded_one() -> None:
    """An empty cluster id is no change: a recreated resource keeps the recorded one."""
    assert _desired(resource(), record=_record()).cluster_id is None


def test_a_changed_bootstrap_mode_is_refused() -> None:
    """Another bootstrap mode than the recorded one is refused by name, because the first voters are fixed."""
    faults = _faults(resource({"bootstrap": {"mode": "Standalone"}}), record=_record())
    assert [fault.field for fault in faults] == ["spec.bootstrap.mode"]
    assert "InitialControllers" in faults[0].message


def test_shrunken_storage_is_refused() -> None:
    """A size below the claims' is refused; the same size, and a larger one, are accepted."""
    candidate = resource({"controllers": {"storage": {"size": "5Gi"}}})
    assert [fault.field for fault in _faults(candidate, claimed_bytes=10 * 2**30)] == ["spec.controllers.storage.size"]
    assert _desired(candidate, claimed_bytes=5 * 2**30).storage.size_bytes == 5 * 2**30
    assert _desired(candidate, claimed_bytes=2**30).storage.size == "5Gi"


def _patch(part: str, **fields: object) -> dict[str, Any]:
    return {part: fields}


def test_the_issuer_is_read() -> None:
    """The issuer is read with its names; by default the operator has an authority of its own."""
    assert _desired(resource()).trust.issuer == Issuer()
    ref = {"name": "an-issuer", "kind": "ClusterIssuer"}
    asked = {"type": "CertManager", "issuerRef": ref, "trustSecretName": "trust"}
    found = _desired(resource({"security": {"controllers": {"issuer": asked}}})).trust.issuer
    assert (found.kind, found.ref) == (IssuerKind.CERT_MANAGER, IssuerRef(name="an-issuer", kind="ClusterIssuer"))
    named = {f"{role}SecretName": role for role in ("controllers", "operator", "brokers", "trust")}
    given = _desired(resource({"security": {"controllers": {"issuer": {"type": "Secret", **named}}}})).trust.issuer
    names = (given.controllers_secret, given.operator_secret, given.brokers_secret, given.trust_secret)
    assert (given.kind, names) == (IssuerKind.SECRET, ("controllers", "operator", "brokers", "trust"))


def test_static_and_downgrade_are_read() -> None:
    """The static mode and the downgrade policy are read; by default nothing is lowered."""
    answer = validate(resource({"bootstrap": {"mode": "Static"}}))
    assert isinstance(answer, Desired)
    assert (answer.bootstrap, answer.downgrade) == (BootstrapMode.STATIC, Downgrade.FORBID)
    safe = validate(resource({"kafka": {"version": "4.4.0", "features": {"downgrade": "Safe"}}}))
    assert isinstance(safe, Desired)
    assert (safe.bootstrap, safe.downgrade) == (BootstrapMode.INITIAL_CONTROLLERS, Downgrade.SAFE)


@pytest.mark.parametrize(
    ("exception", "fields"),
    [
        ("serviceAccounts", {"serviceAccountName": "kafka"}),
        ("root", {"securityContext": {"runAsNonRoot": False, "runAsUser": 0}}),
        ("unconfined", {"securityContext": {"seccompProfile": {"type": "Unconfined"}}}),
        (
            "secretVariables",
            {
                "containers": [
                    {
                        "name": "kafka",
                        "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
                    }
                ]
            },
        ),
    ],
)
def test_an_exception_of_the_operator_admits_it(exception: str, fields: dict[str, Any]) -> None:
    """What the policy refuses is valid if the operator was installed with that exception, and with no other."""
    candidate = resource({"controllers": {"template": {"spec": fields}}})
    assert _desired(candidate, allowed=frozenset({exception})).name == "events"
    others = frozenset({"serviceAccounts", "root", "unconfined", "secretVariables"}) - {exception}
    assert _faults(candidate, allowed=others)
    assert accepted_before(candidate) is not None, "what runs already stays what it is"


@pytest.mark.parametrize(
    "image",
    [
        "kafka",
        "apache/kafka:4.4.0",
        "registry.example:5000/team/kafka_x/a--b:v1.2-3",
        f"apache/kafka@sha256:{'0' * 64}",
        f"REGISTRY/kafka:1@sha256:{'a' * 64}",
    ],
)
def test_image_references(image: str) -> None:
    """Registry, path, tag and digest are accepted as container runtimes read them."""
    assert _desired(resource({"kafka": {"image": image}})).runtime.image == image


@pytest.mark.parametrize(
    "image", ["Apache/Kafka/X:", "a//b", "kafka:", "kafka@sha256:12", ":4.4.0", "a b", "-kafka", "kafka:4:5/x"]
)
def test_what_is_no_image_reference(image: str) -> None:
    """A text that is no image reference is refused, because the kubelet would refuse it, one pod at a time."""
    (fault,) = _faults(resource({"kafka": {"image": image}}))
    assert fault.field == "spec.kafka.image"
