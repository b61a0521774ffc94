"""The models of `QuorumLook` and `PlanQuestion`: the CRDs and the reference page are made from them.

The schemas of the statuses have few requirements on purpose: a status that the API server refuses would hide what it
has to report.
"""

from typing import Any

from pydantic import Field
from pydantic.config import JsonDict

from kit.crd.model import Model, schema

_ATOMIC = schema(list_type="atomic")
_TIME: JsonDict = {"format": "date-time"}
_NAME = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"


class ActStatus(Model):
    """One act of a plan."""

    kind: str = Field(description="What is done, such as RestartPod.")
    reason: str | None = Field(default=None, description="The reason of the event that reports the act.")
    node_id: int | None = Field(default=None, description="The one controller that it is about.")
    guard: str | None = Field(default=None, description="The guard that allows it; absent if the act needs none.")
    message: str | None = Field(default=None, description="The sentence of the event that reports the act when done.")
    result: str | None = Field(
        default=None, description="Of a look: Done, Held, NotDone, or Unknown. Absent if it was not tried."
    )
    said: str | None = Field(default=None, description="Why it was not done, or why that is unknown.")


class WaitStatus(Model):
    """Something that is waited for."""

    severity: str | None = Field(default=None, description="Progress, Held (a person must act) or Degraded.")
    reason: str = Field(description="The reason, in CamelCase.")
    node_id: int | None = Field(default=None, description="The controller that it is about.")
    message: str | None = Field(default=None, description="What is waited for, why, and what ends the wait.")
    rule: str | None = Field(default=None, description="The guard whose refusal this is, by its id in docs/safety.md.")
    evidence: list[str] | None = Field(
        default=None,
        description="What the look showed of this controller, or of the quorum.",
        json_schema_extra=_ATOMIC,
    )


class GuardStatus(Model):
    """The answer of a guard."""

    rule: str = Field(description="The guard, by its id in docs/safety.md.")
    allowed: bool = Field(description="Whether it allows its act now.")
    reason: str | None = Field(default=None, description="Why, as a sentence.")


class ErrorStatus(Model):
    """One thing that is wrong."""

    field: str = Field(description="Where: the path of the field.")
    message: str | None = Field(default=None, description="What is wrong, and what to do.")


class VoterRowStatus(Model):
    """One voter."""

    node_id: int = Field(description="The node id.")
    directory_id: str | None = Field(default=None, description="The directory id of its disk.")
    live: bool | None = Field(default=None, description="Whether it fetches, as the leader sees it.")
    caught_up: bool | None = Field(default=None, description="Whether nothing shows it as lagging.")


class ControllerRowStatus(Model):
    """One controller of the identity record, and its pod."""

    node_id: int = Field(description="The node id.")
    pod_name: str | None = Field(default=None, description="Its pod; absent if there is none.")
    running: bool | None = Field(default=None, description="Whether Kafka runs in that pod.")
    revision: str | None = Field(default=None, description="The ControllerRevision that the pod is made from.")
    kafka_version: str | None = Field(default=None, description="The Kafka release of that revision.")


class LevelStatus(Model):
    """A feature and its finalized level."""

    name: str = Field(description="The feature.")
    level: int | None = Field(default=None, description="Its finalized level.")


class ObservedStatus(Model):
    """The look in brief."""

    cluster_id: str | None = Field(default=None, description="Kafka's cluster id.")
    phase: str | None = Field(default=None, description="How far the bootstrap got.")
    unknown_reason: str | None = Field(default=None, description="Why the quorum is unknown; absent if it is known.")
    leader_id: int | None = Field(default=None, description="The active controller.")
    leader_epoch: int | None = Field(default=None, description="The leader's epoch.")
    committed: bool | None = Field(default=None, description="Whether the voter set is committed.")
    voters: list[VoterRowStatus] | None = Field(
        default=None, description="The voters that the leader lists.", json_schema_extra=_ATOMIC
    )
    observers: int | None = Field(default=None, description="How many replicas without a vote there are.")
    controllers: list[ControllerRowStatus] | None = Field(
        default=None, description="The controllers of the identity record.", json_schema_extra=_ATOMIC
    )
    levels: list[LevelStatus] | None = Field(
        default=None, description="The finalized levels, as the leader reports them.", json_schema_extra=_ATOMIC
    )


class FeatureRowStatus(Model):
    """A feature that is to be changed, or could be raised."""

    name: str = Field(description="The feature.")
    present: int | None = Field(default=None, description="Its finalized level.")
    level: int | None = Field(default=None, description="The level that it shall have, or could have.")
    requested: bool | None = Field(default=None, description="Whether the spec asks for it.")
    against: str | None = Field(default=None, description="What blocks it.")


class StageStatus(Model):
    """The migration that is under way, or that the spec asks for."""

    kind: str | None = Field(default=None, description="The migration.")
    stage: int | None = Field(default=None, description="The present stage, from 1; 0 if it has not begun.")
    stages: int | None = Field(default=None, description="How many stages there are.")
    name: str | None = Field(default=None, description="The name of the stage.")
    message: str | None = Field(default=None, description="What happens in this stage.")
    way_back: str | None = Field(default=None, description="How to revert it.")


class PlanStatus(Model):
    """What a plan has, and the guards' answers on which it rests. The base of both statuses."""

    state: str | None = Field(default=None, description="In one word.")
    looked_at: str | None = Field(
        default=None, description="When the look was taken that this comes from.", json_schema_extra=_TIME
    )
    observed_generation: int | None = Field(default=None, description="The metadata.generation of the quorum then.")
    acts: list[ActStatus] | None = Field(
        default=None,
        description="What one pass does, in this order. What follows depends on what it then sees.",
        json_schema_extra=_ATOMIC,
    )
    waits: list[WaitStatus] | None = Field(
        default=None, description="What is waited for, and why.", json_schema_extra=_ATOMIC
    )
    guards: list[GuardStatus] | None = Field(
        default=None, description="The answers of the guards, refusals first.", json_schema_extra=_ATOMIC
    )
    dry_runs: list[str] | None = Field(
        default=None,
        description="Pods that the API server must accept in a dry run before the plan goes on.",
        json_schema_extra=_ATOMIC,
    )
    older: list[int] | None = Field(
        default=None,
        description="The controllers that do not run what the spec asks for. Each restarts, as the guards allow.",
        json_schema_extra=_ATOMIC,
    )
    features: list[FeatureRowStatus] | None = Field(
        default=None, description="Features that are to be changed, or could be.", json_schema_extra=_ATOMIC
    )
    migration: StageStatus | None = Field(default=None, description="The migration.")
    errors: list[ErrorStatus] | None = Field(
        default=None, description="What is wrong with the spec, or the question.", json_schema_extra=_ATOMIC
    )
    left_out: dict[str, int] | None = Field(
        default=None, description="How many rows of a list are left out, because the whole would be too long."
    )


class QuorumLookSpec(Model):
    """Which quorum this look is of."""

    quorum: str = Field(default="", max_length=63, description="The KafkaQuorum of this name, in the same namespace.")


class QuorumLookStatus(PlanStatus):
    """The last look that showed something new, and the plan that was made from it."""

    state: str | None = Field(
        default=None,
        description="Acting (there are acts), Waiting, AtRest, Invalid (repairs go on by the last accepted spec), or "
        "Refused (the spec never was valid).",
    )
    observed: ObservedStatus | None = Field(default=None, description="What was seen.")


class PlanQuestionSpec(Model):
    """What is asked. It is read once: for another question, create another object."""

    quorum: str = Field(
        max_length=63, pattern=_NAME, description="The KafkaQuorum of this name, in the same namespace."
    )
    manifest: dict[str, Any] | None = Field(
        default=None,
        description="The edited manifest of this quorum. Absent: its present one. Only its spec is read, and the "
        "annotation kafkaquorum.io/restartedAt.",
        json_schema_extra={"x-kubernetes-preserve-unknown-fields": True, "maxProperties": 16},
    )


class PlanQuestionStatus(PlanStatus):
    """The answer."""

    state: str | None = Field(
        default=None,
        description="Answered, Invalid (the manifest has errors), Unknown (there is no look), or Refused (the question "
        "is not read).",
    )
    message: str | None = Field(default=None, description="The answer in a sentence.")
    answered_at: str | None = Field(
        default=None,
        description="When it was answered. The object is deleted some minutes after its creation.",
        json_schema_extra=_TIME,
    )
    changes: list[str] | None = Field(
        default=None,
        description="The fields of the spec that the manifest changes, by their paths.",
        json_schema_extra=_ATOMIC,
    )
