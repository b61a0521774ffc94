"""The status of a `KafkaBrokerPool`: what the operator reports. Numbers that change with every look stay out of it.

Its schema has few requirements on purpose: a status that the API server refuses would hide what it has to report.
"""

from pydantic import Field

from kafka_quorum.api.status import ConditionStatus, WaitStatus
from kit.conditions.last_look import NEXT_LOOK_BY_MEANS
from kit.crd.model import Model, schema

_ATOMIC = schema(list_type="atomic")


class VolumeStatus(Model):
    """One volume of a broker."""

    index: int = Field(description="Which volume of the broker it is, from 0.")
    claim_name: str | None = Field(default=None, description="The name of its volume claim.")
    directory_id: str | None = Field(default=None, description="The directory id of its log directory.")
    state: str | None = Field(default=None, description="What is wrong with it, where something is.")


class BrokerStatus(Model):
    """One broker: its disks, its pod and its part in the cluster."""

    node_id: int = Field(description="The node id.")
    state: str | None = Field(
        default=None,
        description="Unfenced, Fenced, Unregistered, Stopping, Leaving, or Unknown.",
    )
    back: bool | None = Field(
        default=None, description="Whether it is unfenced and in the ISR of every partition that it shall be in."
    )
    release: str | None = Field(default=None, description="The Kafka release that its pod runs.")
    revision: str | None = Field(default=None, description="The ControllerRevision that its pod is made from.")
    rack: str | None = Field(default=None, description="The rack that it is registered with.")
    endpoint: str | None = Field(default=None, description="Where the operator reaches it, HOST:PORT.")
    pod_name: str | None = Field(default=None, description="The name of its pod.")
    node_name: str | None = Field(default=None, description="The Kubernetes node that the pod is on.")
    held: bool | None = Field(default=None, description="Whether a person holds it by kafkaquorum.io/hold on its pod.")
    volumes: list[VolumeStatus] | None = Field(default=None, description="Its volumes.", json_schema_extra=_ATOMIC)
    reason: str | None = Field(default=None, description="Why it is not an unfenced broker that is back.")


class ListenerStatus(Model):
    """Where clients begin."""

    name: str = Field(description="Kafka's name of the listener.")
    bootstrap: str | None = Field(default=None, description="The bootstrap servers for clients inside the cluster.")
    external: str | None = Field(default=None, description="The bootstrap servers for clients outside of it.")


class DrainStatus(Model):
    """How far the drain of a broker that leaves got."""

    node_id: int = Field(description="The node id.")
    step: str | None = Field(default=None, description="Cordoning, Moving, Held, Empty, Stopping, or Unregistering.")
    partitions_total: int | None = Field(default=None, description="How many partitions it had when the drain began.")
    partitions_left: int | None = Field(default=None, description="How many partitions are still on it.")
    partitions_moving: int | None = Field(default=None, description="How many of them are being moved.")
    examples: list[str] | None = Field(
        default=None, description="Some of the partitions that are still on it.", json_schema_extra=_ATOMIC
    )


class RollStatus(Model):
    """How far a rolling restart got."""

    target: str | None = Field(default=None, description="The ControllerRevision that it leads to.")
    done: int | None = Field(default=None, description="How many brokers have it and are back.")
    total: int | None = Field(default=None, description="How many brokers the pool has.")
    stopped: list[int] | None = Field(
        default=None, description="The brokers that are stopped now.", json_schema_extra=_ATOMIC
    )


class KafkaBrokerPoolStatus(Model):
    """What the operator last saw, and what it does about it."""

    observed_generation: int | None = Field(
        default=None, description="The metadata.generation that the operator last acted on."
    )
    last_look: str | None = Field(
        default=None,
        description="When the operator last looked at this pool, as of the last write. It is renewed every 60 to 75 "
        "seconds; with more than 120 pools, those at rest are renewed every n/2 seconds for n pools.",
        json_schema_extra={"format": "date-time"},
    )
    next_look_by: str | None = Field(
        default=None,
        description=NEXT_LOOK_BY_MEANS,
        json_schema_extra={"format": "date-time"},
    )
    schema_version: int | None = Field(
        default=None,
        description="The form of what the operator reads back from this status; 1 if there is none. It stops at a "
        "later one.",
    )
    replicas: int | None = Field(
        default=None, description="How many brokers there are, for /scale.", json_schema_extra={"format": "int32"}
    )
    selector: str | None = Field(default=None, description="The label selector of the brokers' pods, for /scale.")
    summary: str | None = Field(default=None, description="Brokers that are back, of all brokers, such as 3/3.")
    doing: str | None = Field(
        default=None,
        description="One word for what a person should read first: a problem, else what is under way, else Done.",
    )
    message: str | None = Field(default=None, description="The sentence that belongs to `doing`.")
    quorum: str | None = Field(default=None, description="The quorum that the disks belong to.")
    cluster_id: str | None = Field(default=None, alias="clusterID", description="Kafka's cluster id.")
    release: str | None = Field(default=None, description="The Kafka release that every broker runs, or the lowest.")
    contract_revision: int | None = Field(
        default=None, description="The revision of the quorum's contract that the brokers are made from."
    )
    applied_revision: str | None = Field(
        default=None, description="The ControllerRevision that lost pods are recreated from."
    )
    restarted_at: str | None = Field(
        default=None,
        description="The value of the annotation kafkaquorum.io/restartedAt that every broker was restarted for.",
    )
    conditions: list[ConditionStatus] | None = Field(
        default=None,
        description="What is true of the pool now.",
        json_schema_extra=schema(list_type="map", list_map_keys=["type"]),
    )
    waits: list[WaitStatus] | None = Field(
        default=None, description="What is waited for, and since when.", json_schema_extra=_ATOMIC
    )
    listeners: list[ListenerStatus] | None = Field(
        default=None, description="Where clients begin.", json_schema_extra=_ATOMIC
    )
    brokers: list[BrokerStatus] | None = Field(default=None, description="Every broker.", json_schema_extra=_ATOMIC)
    roll: RollStatus | None = Field(default=None, description="The rolling restart that is under way, if one is.")
    drains: list[DrainStatus] | None = Field(
        default=None, description="Brokers that leave the pool.", json_schema_extra=_ATOMIC
    )
    left_out: dict[str, int] | None = Field(
        default=None,
        description="By the name of a list here that is longer than 100: how many of its entries are not shown.",
    )
