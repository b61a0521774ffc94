"""The spec of a `KafkaStreamsApplication`: what a person may request. CRD and reference page are made from it."""

from typing import Annotated, Any, Literal

from pydantic import Field

from kafka_quorum.api.spec import TemplateMetadataSpec
from kafka_streams.api import rules
from kit.crd.model import Model, schema, section

_OBJECT = schema(rules.OBJECT_NAME)


class BootstrapSpec(Model):
    """Where the operator reaches the brokers that the application uses."""

    servers: str = Field(
        default="",
        max_length=2000,
        description="Brokers to begin at, HOST:PORT with commas between them.",
        json_schema_extra=schema(rules.SERVERS_SHAPE),
    )
    pools: list[Annotated[str, Field(max_length=63)]] = Field(
        default_factory=list,
        description="KafkaBrokerPools in the same namespace to begin at, in place of servers.",
        json_schema_extra=schema(maxItems=20, list_type="atomic", default=[]),
    )


class UpgradeFromSpec(Model):
    """How the pods take `upgrade.from`."""

    variable: str = Field(
        default="",
        max_length=253,
        description="The environment variable that the image takes it from. It is not set while there is no upgrade.",
        json_schema_extra=schema(rules.VARIABLE_NAME),
    )
    config_map: str = Field(
        default="",
        max_length=253,
        description="A config map with a file of properties. The operator makes a copy for each revision, with "
        "upgrade.from in it while that is needed, and mounts it.",
        json_schema_extra=_OBJECT,
    )
    key: str = Field(
        default="",
        max_length=253,
        description="The key of the file in the config map.",
        json_schema_extra=schema(rules.KEY_NAME),
    )
    path: str = Field(
        default="",
        max_length=1000,
        description="Where the file is mounted in the container.",
        json_schema_extra=schema(rules.PATH_SHAPE),
    )


class StateSpec(Model):
    """The local state of each instance."""

    type: Literal["Ephemeral", "VolumeClaim"] = Field(
        default="Ephemeral",
        description="Ephemeral: an instance that starts again restores its stores from their changelog topics. "
        "VolumeClaim: each instance has a volume of its own.",
    )
    size: str = Field(
        default="10Gi",
        max_length=40,
        description="The size of the volume.",
        json_schema_extra=schema(rules.SIZE_FORM, rules.SIZE_WHOLE),
    )
    storage_class: str = Field(
        default="",
        max_length=253,
        alias="class",
        description="The storage class; empty for the cluster's default one.",
        json_schema_extra=_OBJECT,
    )
    path: str = Field(
        default="",
        max_length=1000,
        description="Where the volume is mounted: the application's state.dir, or a directory above it.",
        json_schema_extra=schema(rules.PATH_SHAPE),
    )


class GateSpec(Model):
    """What must hold before the next instance stops."""

    stable_seconds: int = Field(
        default=5,
        description="For how long the group must be Stable with the same members.",
        json_schema_extra=schema(minimum=1, maximum=3600, format="int32"),
    )
    threads: int = Field(
        default=0,
        description="How many members each instance has (num.stream.threads). With 0 any number above 0 is enough, and "
        "a stream thread that dies is noticed by the pod's readiness alone.",
        json_schema_extra=schema(minimum=0, maximum=1000, format="int32"),
    )
    max_lag: int = Field(
        default=0,
        description="How many records may wait, over all partitions, when the next instance stops; 0 for no limit.",
        json_schema_extra=schema(minimum=0, maximum=2**53),
    )


class ApplicationTemplateSpec(Model):
    """The pods of the application."""

    metadata: TemplateMetadataSpec = section(TemplateMetadataSpec, "Labels and annotations of the pods.")
    spec: dict[str, Any] = Field(
        default_factory=dict,
        description="The pod's spec, as in a Deployment, without names of its own: the operator adds the volume of the "
        "state, upgrade.from and the image. Its policy for pods limits service accounts, sources of variables and "
        "volumes, users and profiles.",
        json_schema_extra={**schema(default={}).as_json(), "x-kubernetes-preserve-unknown-fields": True},
    )


class KafkaStreamsApplicationSpec(Model):
    """What the application shall be."""

    paused: bool = Field(
        default=False,
        description="Stops every act of the operator on this application. Its pods run on, and the status is kept up "
        "to date.",
    )
    application_id: str = Field(
        alias="applicationID",
        max_length=200,
        description="application.id of the application, which is the name of its group. It cannot be changed.",
        json_schema_extra=schema(rules.APPLICATION_ID_FORM, rules.APPLICATION_ID_CHANGED),
    )
    bootstrap: BootstrapSpec = section(BootstrapSpec, "The brokers that the application uses.", rules.BOOTSTRAP_ONE)
    replicas: int = Field(
        default=3,
        description="How many instances there are.",
        json_schema_extra=schema(rules.REPLICAS_RANGE, format="int32"),
    )
    release: str = Field(
        max_length=20,
        description="The Kafka Streams release in the image. A change of it is an upgrade, of which the operator works "
        "out the way first.",
        json_schema_extra=schema(rules.RELEASE_IS_ONE),
    )
    protocol: Literal["Classic", "Streams"] = Field(
        default="Classic",
        description="group.protocol of the application (KIP-1071). It changes only while the application is stopped.",
    )
    image: str = Field(
        max_length=1000, description="The image of the application.", json_schema_extra=schema(minLength=1)
    )
    container: str = Field(
        default="app",
        max_length=63,
        description="The container of the template that runs the application.",
        json_schema_extra=schema(rules.CONTAINER_NAME),
    )
    upgrade_from: UpgradeFromSpec = section(
        UpgradeFromSpec, "How the pods take upgrade.from.", rules.UPGRADE_ONE, rules.UPGRADE_WHOLE
    )
    template: ApplicationTemplateSpec = section(ApplicationTemplateSpec, "The pods of the application.")
    state: StateSpec = section(StateSpec, "The local state of each instance.", rules.STATE_PATH)
    gate: GateSpec = section(GateSpec, "What must hold before the next instance stops.")
    approve: Literal["Automatic", "Manual"] = Field(
        default="Automatic",
        description="Who begins an upgrade. Manual: a person, by the hash of its way in spec.approved.",
    )
    approved: str = Field(
        default="", max_length=40, description="The hash of the way that a person approves (status.way.hash)."
    )
    offline_to: str = Field(
        default="",
        max_length=20,
        description="The release that the application may be stopped for, if no way leads there while it runs.",
    )
