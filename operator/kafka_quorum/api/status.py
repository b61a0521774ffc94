"""The status of a `KafkaQuorum`: what the operator reports. Numbers that change with every look stay out of it.

Its schema has few requirements on purpose: a status that the API server refuses would hide what it has to report.
"""

from typing import Literal

from pydantic import Field

from kafka_quorum.api.recovery import RecoveryStatus
from kit.conditions.last_look import NEXT_LOOK_BY_MEANS
from kit.crd.model import Model, schema

_ATOMIC = schema(list_type="atomic")


class ConditionStatus(Model):
    """One condition, as every Kubernetes API has them."""

    type: str = Field(description="Ready, Available, Progressing, Degraded, FeaturesSettled, or another one.")
    status: Literal["True", "False", "Unknown"] = Field(description="Unknown means that it could not be found out.")
    reason: str = Field(default="", description="One word, in CamelCase, for programs.")
    message: str = Field(default="", description="One sentence: what is waited for, and what would unblock it.")
    last_transition_time: str | None = Field(
        default=None, description="When status last changed.", json_schema_extra={"format": "date-time"}
    )
    observed_generation: int | None = Field(default=None, description="The metadata.generation that this speaks of.")


class ReplicaKeyStatus(Model):
    """A replica key: a node id on one disk (KIP-853)."""

    node_id: int = Field(description="The node id.")
    directory_id: str | None = Field(default=None, description="The directory id, in Kafka's notation.")


class InitialControllerStatus(Model):
    """A first voter, and its disk."""

    node_id: int = Field(description="The node id.")
    directory_id: str | None = Field(default=None, description="The directory id that its disk was formatted with.")
    claim_uid: str | None = Field(default=None, alias="claimUID", description="The uid of its volume claim.")


class BootstrapStatus(Model):
    """How far the bootstrap got."""

    phase: Literal["Formatting", "Started", "RolledBack"] | None = Field(
        default=None,
        description="Formatting: no controller has ever run. Started: one may have; no initial format any more. "
        "RolledBack: the cluster went back to ZooKeeper, and the quorum has ended.",
    )
    mode: str | None = Field(default=None, description="The bootstrap mode that was used.")
    initial_controllers: list[InitialControllerStatus] | None = Field(
        default=None, description="The first voters.", json_schema_extra=_ATOMIC
    )


class OperationStatus(Model):
    """An act on the quorum that is under way, written down before it begins."""

    id: str | None = Field(default=None, description="Identifies the operation.")
    type: str | None = Field(default=None, description="What is done, such as AddVoter.")
    target: str | None = Field(default=None, description="To whom: a replica key or a node id.")
    step: str | None = Field(default=None, description="How far it got.")
    holder: str | None = Field(default=None, description="The operator that does it.")
    started_at: str | None = Field(
        default=None, description="When it began.", json_schema_extra={"format": "date-time"}
    )
    waiting_for: str | None = Field(default=None, description="What it waits for, in a sentence.")
    schema_version: int | None = Field(default=None, description="The form in which it is written; 1 if there is none.")


class QuorumStatus(Model):
    """The quorum as its leader describes it."""

    summary: str | None = Field(default=None, description="Healthy voters of all voters, such as 3/3.")
    type: str | None = Field(default=None, description="Dynamic (kraft.version 1) or Static.")
    leader_id: int | None = Field(default=None, description="The node id of the active controller.")
    leader_epoch: int | None = Field(default=None, description="The leader's epoch.")
    voters: int | None = Field(default=None, description="How many voters the current set has.")
    healthy_voters: int | None = Field(default=None, description="How many of them are live and caught up.")
    failure_tolerance: int | None = Field(
        default=None, description="How many further voters may fail before the quorum stops."
    )
    unknown_since: str | None = Field(
        default=None,
        description="Since when no leader answers. What stands here was described by the last leader before that.",
        json_schema_extra={"format": "date-time"},
    )
    last_high_watermark: int | None = Field(
        default=None,
        description="While no leader answers: the last high watermark that a leader reported. Every record below it "
        "was committed.",
    )
    last_leader_epoch: int | None = Field(default=None, description="The epoch of the leader that reported it.")
    kraft_version: int | None = Field(default=None, description="The finalized kraft.version.")
    current_voters: list[ReplicaKeyStatus] | None = Field(
        default=None,
        description="The voter set that the leader uses, committed or not yet.",
        json_schema_extra=_ATOMIC,
    )
    committed_voters: list[ReplicaKeyStatus] | None = Field(
        default=None, description="The last voter set known to be committed.", json_schema_extra=_ATOMIC
    )


class CertificatesStatus(Model):
    """Until when the certificates of a quorum with TLS are valid; see the condition CertificatesValid."""

    valid_until: str | None = Field(
        default=None,
        description="The first end of a certificate in a Secret, of one that a controller shows as a client, or of the "
        "authority. The operator renews each one in time.",
        json_schema_extra={"format": "date-time"},
    )
    ends_first: str | None = Field(default=None, description="Which one that is.")
    authority_valid_until: str | None = Field(
        default=None,
        description="When the authority ends; absent while it is replaced.",
        json_schema_extra={"format": "date-time"},
    )


class ControllerStatus(Model):
    """One controller: its disk, its pod and its part in the quorum."""

    node_id: int = Field(description="The node id.")
    directory_id: str | None = Field(default=None, description="The directory id of its disk.")
    role: str | None = Field(default=None, description="Leader, Voter, Observer, or Unknown.")
    caught_up: bool | None = Field(
        default=None, description="Whether its log kept up with the leader's in the last looks."
    )
    endpoint: str | None = Field(default=None, description="Where it is reached, HOST:PORT.")
    version: str | None = Field(default=None, description="The Kafka release that its pod runs.")
    claim_name: str | None = Field(default=None, description="The name of its volume claim.")
    claim_uid: str | None = Field(default=None, alias="claimUID", description="The uid of its volume claim.")
    pod_name: str | None = Field(default=None, description="The name of its pod.")
    node_name: str | None = Field(default=None, description="The Kubernetes node that the pod is on.")
    reason: str | None = Field(default=None, description="Why it is not a caught-up voter, where it is not.")


class WaitStatus(Model):
    """Something that a guard holds back, or that time or a person must bring."""

    reason: str = Field(description="A CamelCase word, such as ReplacingVoter.")
    severity: str = Field(description="Progress: time is enough. Held: a person must act. Degraded: something is lost.")
    node_id: int | None = Field(default=None, description="The controller that it concerns, if it is one.")
    node_ids: list[int] | None = Field(
        default=None,
        alias="nodeIDs",
        description="The controllers that it concerns, if there are several.",
        json_schema_extra=_ATOMIC,
    )
    message: str = Field(description="What is waited for, and what would change it.")
    since: str = Field(
        description="Since when it is waited for, whatever became of the message meanwhile.",
        json_schema_extra={"format": "date-time"},
    )


class StaleReplicaStatus(Model):
    """A replica that the quorum still lists and that no disk of this quorum has."""

    node_id: int = Field(description="The node id.")
    directory_id: str | None = Field(default=None, description="The directory id that no disk here has any more.")
    kind: str | None = Field(
        default=None, description="Voter, Observer, or ForeignVoter: one that this operator never made."
    )


class FeatureStatus(Model):
    """A feature, and where it stands (KIP-584)."""

    name: str = Field(description="Kafka's name of the feature.")
    finalized: int | None = Field(default=None, description="The level that the cluster has; 0 is off.")
    min_supported: int | None = Field(default=None, description="The lowest level that every controller supports.")
    max_supported: int | None = Field(default=None, description="The highest level that every controller supports.")
    wanted: int | None = Field(default=None, description="The level that the spec asks for, where it is another.")
    blocked_by: str | None = Field(
        default=None, description="Who stands against the wanted level, or against a higher one that is held."
    )


class SoakStatus(Model):
    """How long every controller has been well since the finalized levels last changed."""

    finalized_epoch: int | None = Field(default=None, description="The finalized-features epoch of those levels.")
    seconds: int | None = Field(default=None, description="The time, in seconds, rounded down to steps of five.")


class SavedNodesStatus(Model):
    """What ZooKeeper held before a roll back deleted it."""

    controller: str | None = Field(default=None, description="The text of /controller.")
    controller_epoch: str | None = Field(default=None, description="The text of /controller_epoch.")
    migration: str | None = Field(default=None, description="The text of /migration.")


class MigrationStatus(Model):
    """A migration of the quorum: what it becomes, in stages."""

    kind: str | None = Field(default=None, description="What the quorum becomes, such as StaticToDynamic.")
    stage: int | None = Field(default=None, description="The present stage, from 1; 0 if it has not begun.")
    stages: int | None = Field(default=None, description="How many stages there are.")
    name: str | None = Field(default=None, description="The name of the stage, such as Controllers.")
    message: str | None = Field(default=None, description="What happens in this stage.")
    missing: str | None = Field(default=None, description="What the next stage waits for, and what would change that.")
    revert: str | None = Field(default=None, description="How to revert it, or that this stage cannot be reverted.")
    roll_back_possible: bool | None = Field(
        default=None, description="From ZooKeeper: whether spec.zookeeper.rollBack still leads back."
    )
    state: str | None = Field(
        default=None, description="From ZooKeeper: Kafka's own state of the migration, as the leader reports it."
    )
    lag_records: int | None = Field(
        default=None, description="From ZooKeeper: how many records ZooKeeper is behind the metadata log."
    )
    brokers_in_migration: int | None = Field(
        default=None, description="From ZooKeeper: how many brokers are registered in migration mode."
    )
    brokers_in_zoo_keeper: int | None = Field(
        default=None, alias="brokersInZooKeeper", description="How many brokers are registered in ZooKeeper."
    )
    zookeeper_controller: str | None = Field(
        default=None, description="Who leads, by znode /controller: a broker (ZooKeeper), or a controller (KRaft)."
    )
    saved_nodes: SavedNodesStatus | None = Field(
        default=None, description="After a roll back: what was deleted in ZooKeeper."
    )


class BlockerStatus(Model):
    """One thing in the way of a migration from ZooKeeper."""

    code: str = Field(description="Its kind in one word, such as DeadBroker.")
    object: str = Field(description="The broker, znode, field or setting.")
    found: str = Field(description="What was found, with its value.")
    way_out: str = Field(description="How to change it.")
    unknown: bool | None = Field(default=None, description="True if it could not be read.")


class PreflightStatus(Model):
    """Whether a migration from ZooKeeper can begin."""

    passed: bool | None = Field(default=None, description="Whether nothing is in the way.")
    blockers: list[BlockerStatus] | None = Field(
        default=None, description="Everything that is in the way.", json_schema_extra=_ATOMIC
    )


class BrokerContractStatus(Model):
    """The broker contract: what the quorum requires of every broker now."""

    revision: int | None = Field(
        default=None, description="It goes up when a running broker must be changed to follow the contract."
    )
    release: str | None = Field(
        default=None, description="The Kafka release that brokers may run: this one, or an earlier one."
    )
    config_map: str | None = Field(default=None, description="The ConfigMap that holds the settings.")
    next_step: str | None = Field(default=None, description="What the quorum does next, or waits for.")


class BrokerStatus(Model):
    """A registered broker, and whether it follows the broker contract."""

    node_id: int = Field(description="The node id.")
    release: str | None = Field(
        default=None, description="The Kafka release that it runs, such as 4.4, or Unknown if it cannot be asked."
    )
    fenced: bool | None = Field(
        default=None, description="Whether it is fenced: registered, and not serving. Absent if that is unknown."
    )
    conforms: str | None = Field(
        default=None, description="True, False, or Unknown: whether its running settings are those of the contract."
    )
    reason: str | None = Field(default=None, description="The settings that differ, or why it is unknown.")


class KafkaQuorumStatus(Model):
    """What the operator last saw, and what it does about it."""

    observed_generation: int | None = Field(
        default=None, description="The metadata.generation that the operator last acted on."
    )
    last_look: str | None = Field(
        default=None,
        description="When the operator last looked at this quorum, as of the last write. It is renewed every 60 to 75 "
        "seconds; with more than 120 quorums, those at rest are renewed every n/2 seconds for n quorums.",
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
        default=None,
        description="How many controllers there are, for /scale.",
        json_schema_extra={"format": "int32"},
    )
    doing: str | None = Field(
        default=None,
        description="One word for what a person should read first: a problem, else what is under way, else Done.",
    )
    message: str | None = Field(default=None, description="The sentence that belongs to `doing`.")
    selector: str | None = Field(default=None, description="The label selector of the controllers' pods, for /scale.")
    cluster_id: str | None = Field(default=None, alias="clusterID", description="Kafka's cluster id.")
    applied_revision: str | None = Field(
        default=None, description="The ControllerRevision that lost pods are recreated from."
    )
    restarted_at: str | None = Field(
        default=None,
        description="The value of the annotation kafkaquorum.io/restartedAt that every controller was restarted for.",
    )
    metadata_version: str | None = Field(
        default=None, description="The finalized metadata.version by name and number, such as 4.4-IV2 (33)."
    )
    conditions: list[ConditionStatus] | None = Field(
        default=None,
        description="What is true of the quorum now.",
        json_schema_extra=schema(list_type="map", list_map_keys=["type"]),
    )
    bootstrap: BootstrapStatus | None = Field(default=None, description="How far the bootstrap got.")
    operation: OperationStatus | None = Field(
        default=None,
        description="The act that is under way, if one is. The operator stops at one of a type that it does not know, "
        "and keeps it as it is.",
        json_schema_extra={"x-kubernetes-preserve-unknown-fields": True},
    )
    waits: list[WaitStatus] | None = Field(
        default=None, description="What is waited for, and since when.", json_schema_extra=_ATOMIC
    )
    quorum: QuorumStatus | None = Field(default=None, description="The quorum as its leader describes it.")
    certificates: CertificatesStatus | None = Field(
        default=None, description="Until when the certificates of a quorum with TLS are valid."
    )
    controllers: list[ControllerStatus] | None = Field(
        default=None, description="Every controller.", json_schema_extra=_ATOMIC
    )
    stale_replicas: list[StaleReplicaStatus] | None = Field(
        default=None, description="Replicas that the quorum lists and no disk here has.", json_schema_extra=_ATOMIC
    )
    left_out: dict[str, int] | None = Field(
        default=None,
        description="By the name of a list here that is longer than 100: how many of its entries are not shown.",
    )
    brokers: list[BrokerStatus] | None = Field(
        default=None, description="Every registered broker that is known of.", json_schema_extra=_ATOMIC
    )
    broker_contract: BrokerContractStatus | None = Field(
        default=None, description="What the quorum requires of every broker now."
    )
    migration: MigrationStatus | None = Field(
        default=None, description="The migration that is under way, or is requested and has not begun."
    )
    preflight: PreflightStatus | None = Field(
        default=None, description="From ZooKeeper: what is in the way of the migration, before it begins."
    )
    recovery: RecoveryStatus | None = Field(
        default=None, description="What the disks show while no leader answers, and a recovery that is open."
    )
    soak: SoakStatus | None = Field(
        default=None, description="How far the soak of the present levels got, while another step waits for it."
    )
    features: list[FeatureStatus] | None = Field(default=None, description="Every feature.", json_schema_extra=_ATOMIC)
