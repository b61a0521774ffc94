"""A `KafkaStreamsApplication` as the API server holds it, turned into `Desired` or into the list of its faults.

Pure: the answer is a value either way. After it, no builder and no planner has an error path for bad input.
"""

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import Any

from kafka_quorum.api import restarts
from kafka_quorum.api.shapes import FAULTS_MAX, canonical, parsed, part
from kafka_quorum.api.template import metadata_faults, owned_label
from kafka_quorum.model.desired import FieldFault
from kafka_quorum.model.known import Knowable, Unknown
from kafka_quorum.settings import PodException
from kafka_streams.api import rules
from kafka_streams.api.podtemplate import template_faults
from kafka_streams.api.spec import KafkaStreamsApplicationSpec
from kafka_streams.model.application import Approve, Desired, Gates, Runtime
from kafka_streams.model.release import parse_release
from kafka_streams.model.way import Protocol
from kit.crd.model import wrongs

_TEMPLATE = "spec.template"


def validate(
    resource: Mapping[str, Any],
    properties: Knowable[str],
    allowed: frozenset[PodException] = frozenset(),
    *,
    application_id: str = "",
) -> Desired | tuple[FieldFault, ...]:
    """What the resource requests, or its faults, sorted by field and never empty.

    `properties` is the file of `upgradeFrom.configMap`, if the spec names one. `application_id` is that of the record,
    empty without one: it cannot change. `allowed` are the exceptions from the policy for pods.
    """
    spec = parsed(KafkaStreamsApplicationSpec, resource)
    if not isinstance(spec, KafkaStreamsApplicationSpec):
        return spec
    metadata = part(resource, "metadata")
    found: Iterator[FieldFault] = chain(
        _name(str(metadata.get("name", ""))),
        restarts.faults(metadata),
        (FieldFault(field=one.place, message=one.message) for one in wrongs(spec, "spec")),
        _changed(spec, application_id),
        _labels(spec),
        template_faults(f"{_TEMPLATE}.spec", spec.template.spec, spec.container, allowed),
        _properties(spec, properties),
    )
    faults = set(islice(found, FAULTS_MAX))
    release = parse_release(spec.release)
    if release is None:
        faults.add(FieldFault(field="spec.release", message=rules.RELEASE_IS_ONE.message))
        return tuple(sorted(faults))
    return tuple(sorted(faults)) if faults else _desired(metadata, spec, properties)


def _name(name: str) -> Iterator[FieldFault]:
    for rule in (rules.NAME_TOO_LONG, rules.NAME_NO_LABEL):
        for one in rule.broken(name, "metadata.name"):
            yield FieldFault(field=one.place, message=one.message)


def _changed(spec: KafkaStreamsApplicationSpec, application_id: str) -> Iterator[FieldFault]:
    if application_id and spec.application_id != application_id:
        yield FieldFault(field="spec.applicationID", message=rules.APPLICATION_ID_CHANGED.message)


def _labels(spec: KafkaStreamsApplicationSpec) -> Iterator[FieldFault]:
    labels, annotations = spec.template.metadata.labels, spec.template.metadata.annotations
    for kind, keys in (("labels", labels), ("annotations", annotations)):
        for key in keys:
            if owned_label(key):
                text = f"{key} belongs to the operator: remove it"
                yield FieldFault(field=f"{_TEMPLATE}.metadata.{kind}", message=text)
    yield from metadata_faults(f"{_TEMPLATE}.metadata", labels, annotations)


def _properties(spec: KafkaStreamsApplicationSpec, properties: Knowable[str]) -> Iterator[FieldFault]:
    if spec.upgrade_from.config_map and isinstance(properties, Unknown):
        yield FieldFault(field="spec.upgradeFrom.configMap", message=properties.reason)


def _desired(metadata: Mapping[str, Any], spec: KafkaStreamsApplicationSpec, properties: Knowable[str]) -> Desired:
    durable = spec.state.type == "VolumeClaim"
    release = parse_release(spec.release)
    if release is None:
        raise ValueError(f"{spec.release} is no release, and was validated")
    template = spec.template.metadata
    return Desired(
        namespace=str(metadata.get("namespace", "")),
        name=str(metadata.get("name", "")),
        uid=str(metadata.get("uid", "")),
        generation=int(metadata.get("generation", 0)),
        paused=spec.paused,
        application_id=spec.application_id,
        replicas=spec.replicas,
        runtime=Runtime(
            release=release,
            protocol=Protocol(spec.protocol.lower()),
            image=spec.image,
            container=spec.container,
            template_metadata=canonical({"annotations": template.annotations, "labels": template.labels}),
            template_spec=canonical(spec.template.spec),
            upgrade_variable=spec.upgrade_from.variable,
            properties=None
            if isinstance(properties, Unknown) or not spec.upgrade_from.config_map
            else (spec.upgrade_from.path, properties.value),
            state_path=spec.state.path if durable else "",
            restarted_at=restarts.restarted_at(metadata),
        ),
        gates=Gates(
            stable_s=float(spec.gate.stable_seconds),
            max_lag=spec.gate.max_lag or None,
            threads=spec.gate.threads,
        ),
        approve=Approve(spec.approve),
        approved=spec.approved,
        offline_to=spec.offline_to,
        state_size=spec.state.size if durable else "",
        state_class=spec.state.storage_class if durable else "",
        servers=spec.bootstrap.servers,
        pools=tuple(spec.bootstrap.pools),
    )
