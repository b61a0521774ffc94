"""Specs of applications that must be refused, and specs that must not: for validation, the CRD and the policy."""

from dataclasses import dataclass
from typing import Any, Final

from tests.streams.cluster import NAME, NAMESPACE, resource

from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_streams.api import rules
from kafka_streams.api.validation import validate
from kafka_streams.model.application import Desired

Json = dict[str, Any]

__all__ = ["ACCEPTED", "FILE", "MISSING", "NAME", "NAMESPACE", "REFUSED", "Refused", "desired", "resource"]

FILE: Final = Known(value="application.id=counts\n")
"""The text of `upgradeFrom.configMap`."""
MISSING: Final = Unknown(reason="config map settings has no key app.properties: create it, or correct the name")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A spec that is refused: for this field, with a sentence that contains `words`.

    `by_server` is whether the API server refuses it already. `properties` is what is found in the config map.
    """

    name: str
    patch: Json
    field: str
    words: str
    by_server: bool = True
    properties: Knowable[str] = FILE


def _pod(**fields: object) -> Json:
    return {"template": {"spec": {"containers": [{"name": "app"}], **fields}}}


def _container(**fields: object) -> Json:
    return {"template": {"spec": {"containers": [{"name": "app", **fields}]}}}


_FILED: Final = {"upgradeFrom": {"configMap": "settings", "key": "app.properties", "path": "/etc/app.properties"}}

REFUSED: tuple[Refused, ...] = (
    Refused(
        name="no application id",
        patch={"applicationID": ""},
        field="spec.applicationID",
        words=rules.APPLICATION_ID_FORM.message,
    ),
    Refused(
        name="no brokers",
        patch={"bootstrap": {"servers": "", "pools": []}},
        field="spec.bootstrap",
        words=rules.BOOTSTRAP_ONE.message,
    ),
    Refused(
        name="two ways to the brokers",
        patch={"bootstrap": {"servers": "kafka:9092", "pools": ["events"]}},
        field="spec.bootstrap",
        words=rules.BOOTSTRAP_ONE.message,
    ),
    Refused(
        name="a server without a port",
        patch={"bootstrap": {"servers": "kafka", "pools": []}},
        field="spec.bootstrap.servers",
        words=rules.SERVERS_SHAPE.message,
    ),
    Refused(name="replicas", patch={"replicas": 101}, field="spec.replicas", words=rules.REPLICAS_RANGE.message),
    Refused(name="fewer than none", patch={"replicas": -1}, field="spec.replicas", words=rules.REPLICAS_RANGE.message),
    Refused(name="a line", patch={"release": "3.9"}, field="spec.release", words=rules.RELEASE_IS_ONE.message),
    Refused(
        name="a build",
        patch={"release": "3.9.1-SNAPSHOT"},
        field="spec.release",
        words=rules.RELEASE_IS_ONE.message,
    ),
    Refused(
        name="a container",
        patch={"container": "App", "template": {"spec": {"containers": [{"name": "App"}]}}},
        field="spec.container",
        words=rules.CONTAINER_NAME.message,
    ),
    Refused(
        name="two forms of upgrade.from",
        patch={"upgradeFrom": {"variable": "UPGRADE_FROM", **_FILED["upgradeFrom"]}},
        field="spec.upgradeFrom",
        words=rules.UPGRADE_ONE.message,
    ),
    Refused(
        name="half a config map",
        patch={"upgradeFrom": {"configMap": "settings"}},
        field="spec.upgradeFrom",
        words=rules.UPGRADE_WHOLE.message,
    ),
    Refused(
        name="a variable",
        patch={"upgradeFrom": {"variable": "UPGRADE-FROM"}},
        field="spec.upgradeFrom.variable",
        words=rules.VARIABLE_NAME.message,
    ),
    Refused(
        name="a relative path",
        patch={"upgradeFrom": {**_FILED["upgradeFrom"], "path": "app.properties"}},
        field="spec.upgradeFrom.path",
        words=rules.PATH_SHAPE.message,
    ),
    Refused(
        name="a config map that is missing",
        patch=_FILED,
        field="spec.upgradeFrom.configMap",
        words="create it, or correct the name",
        by_server=False,
        properties=MISSING,
    ),
    Refused(
        name="a volume without a path",
        patch={"state": {"type": "VolumeClaim"}},
        field="spec.state",
        words=rules.STATE_PATH.message,
    ),
    Refused(
        name="a size",
        patch={"state": {"type": "VolumeClaim", "path": "/state", "size": "much"}},
        field="spec.state.size",
        words=rules.SIZE_FORM.message,
    ),
    Refused(
        name="no application container",
        patch={"template": {"spec": {"containers": [{"name": "main"}]}}},
        field="spec.template.spec.containers",
        words="has no container named app",
        by_server=False,
    ),
    Refused(
        name="the host's network",
        patch=_pod(hostNetwork=True),
        field="spec.template.spec.hostNetwork",
        words="told apart by the addresses",
        by_server=False,
    ),
    Refused(
        name="a secret as a volume",
        patch=_pod(volumes=[{"name": "s", "secret": {"secretName": "s"}}]),
        field="spec.template.spec.volumes[0].secret",
        words="podPolicy.allow",
        by_server=False,
    ),
    Refused(
        name="the operator's volume",
        patch=_pod(volumes=[{"name": "kafka-streams-state", "emptyDir": {}}]),
        field="spec.template.spec.volumes[0].name",
        words="to the operator",
        by_server=False,
    ),
    Refused(
        name="a token",
        patch=_pod(automountServiceAccountToken=True),
        field="spec.template.spec.automountServiceAccountToken",
        words="podPolicy.allow",
        by_server=False,
    ),
    Refused(
        name="a variable from a secret",
        patch=_container(envFrom=[{"secretRef": {"name": "s"}}]),
        field="spec.template.spec.containers[0].envFrom",
        words="podPolicy.allow",
        by_server=False,
    ),
    Refused(
        name="a service account by its old name",
        patch=_pod(serviceAccount="admin"),
        field="spec.template.spec.serviceAccount",
        words="the old name of serviceAccountName",
        by_server=False,
    ),
    Refused(
        name="another host name",
        patch=_pod(hostnameOverride="other"),
        field="spec.template.spec.hostnameOverride",
        words="the name of the pod is its host name",
        by_server=False,
    ),
    Refused(
        name="capabilities that are kept",
        patch=_container(securityContext={"capabilities": {"drop": ["NET_RAW"]}}),
        field="spec.template.spec.containers[0].securityContext.capabilities.drop",
        words="unconfined in podPolicy.allow",
        by_server=False,
    ),
    Refused(
        name="capabilities in another form",
        patch=_container(securityContext={"capabilities": ["NET_ADMIN"]}),
        field="spec.template.spec.containers[0].securityContext.capabilities",
        words="must be an object",
        by_server=False,
    ),
    Refused(
        name="a number for ports",
        patch=_container(ports=5),
        field="spec.template.spec.containers[0].ports",
        words="must be a list",
        by_server=False,
    ),
    Refused(
        name="a number for mounts",
        patch=_container(volumeMounts=5),
        field="spec.template.spec.containers[0].volumeMounts",
        words="must be a list",
        by_server=False,
    ),
    Refused(
        name="a port of the node",
        patch=_container(ports=[{"containerPort": 1, "hostPort": 1}]),
        field="spec.template.spec.containers[0].ports[0].hostPort",
        words="shared by all pods",
        by_server=False,
    ),
    Refused(
        name="a privileged container",
        patch=_container(securityContext={"privileged": True}),
        field="spec.template.spec.containers[0].securityContext.privileged",
        words="unconfined in podPolicy.allow",
        by_server=False,
    ),
    Refused(
        name="an owned label",
        patch={
            "template": {
                "metadata": {"labels": {"kafkaquorum.io/streams-application": "x"}},
                "spec": {"containers": [{"name": "app"}]},
            }
        },
        field="spec.template.metadata.labels",
        words="to the operator",
    ),
)

ACCEPTED: dict[str, Json] = {
    "a volume": {},
    "ephemeral": {"state": {"type": "Ephemeral"}},
    "no way to set upgrade.from": {"upgradeFrom": {}},
    "a file": _FILED,
    "pools": {"bootstrap": {"servers": "", "pools": ["events"]}},
    "two servers": {"bootstrap": {"servers": "a.kafka:9092,b.kafka:9094", "pools": []}},
    "no instance": {"replicas": 0},
    "an old release": {"release": "0.10.2.2"},
    "the streams protocol": {"release": "4.3.1", "protocol": "Streams"},
    "everything that a person decides": {"approve": "Manual", "approved": "0123456789", "offlineTo": "3.9.1"},
    "a stricter container": _container(securityContext={"readOnlyRootFilesystem": True}),
}


def desired(**spec: object) -> Desired:
    """An application of 3.9.1 with these fields, valid (AssertionError)."""
    found = validate(resource({"release": "3.9.1", "image": "app:1", **spec}), FILE)
    assert isinstance(found, Desired), found
    return found
