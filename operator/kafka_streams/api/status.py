"""The status of a `KafkaStreamsApplication`: what the operator reports. Numbers that change with every look stay out.

Its schema has few requirements on purpose: a status that the API server refuses would hide what it has to report.
"""

from pydantic import Field

from kafka_quorum.api.status import ConditionStatus
from kit.conditions.last_look import NEXT_LOOK_BY_MEANS
from kit.crd.model import Model, schema

_ATOMIC = schema(list_type="atomic")


class ReasonStatus(Model):
    """One sentence, and where it is from."""

    text: str = Field(description="The sentence.")
    source: str | None = Field(default=None, description="A KIP, an issue of Kafka, its upgrade guide, a measurement.")


class StepStatus(Model):
    """One step of a way."""

    release: str = Field(description="The release that every instance has after it.")
    protocol: str | None = Field(default=None, description="classic or streams.")
    upgrade_from: str | None = Field(default=None, description="The value of upgrade.from, if there is one.")
    wipe: bool | None = Field(default=None, description="Whether instances start with an empty state directory.")
    together: bool | None = Field(default=None, description="Whether all instances stop before any of them starts.")


class WayStatus(Model):
    """How the requested release is reached."""

    start: str | None = Field(default=None, description="The release that it leads from.")
    target: str | None = Field(default=None, description="The release that it leads to.")
    kind: str | None = Field(default=None, description="OneBounce, TwoBounces, Offline, or None.")
    hash: str | None = Field(default=None, description="Its name, for spec.approved.")
    bridge: str | None = Field(default=None, description="The releases over which two ways lead there.")
    steps: list[StepStatus] | None = Field(default=None, description="Its steps.", json_schema_extra=_ATOMIC)
    reasons: list[ReasonStatus] | None = Field(default=None, description="Why this way.", json_schema_extra=_ATOMIC)
    no_return: list[ReasonStatus] | None = Field(
        default=None, description="What cannot be turned back.", json_schema_extra=_ATOMIC
    )


class AdoptionStatus(Model):
    """What is adopted, and how."""

    kind: str | None = Field(default=None, description="StatefulSet or Deployment.")
    name: str | None = Field(default=None, description="Its name.")
    stage: str | None = Field(default=None, description="Planned, Adopting, or Adopted.")
    hash: str | None = Field(default=None, description="The name of the plan, for spec.approved.")
    steps: list[str] | None = Field(default=None, description="What is done, in order.", json_schema_extra=_ATOMIC)
    warnings: list[str] | None = Field(
        default=None, description="What a person must do or know.", json_schema_extra=_ATOMIC
    )
    objections: list[str] | None = Field(default=None, description="Why it does not begin.", json_schema_extra=_ATOMIC)


class ChangeStatus(Model):
    """The change that is under way."""

    start: str | None = Field(default=None, description="The release that it leads from.")
    target: str | None = Field(default=None, description="The release that it leads to.")
    kind: str | None = Field(default=None, description="OneBounce, TwoBounces, or Offline.")
    stage: str | None = Field(default=None, description="Bouncing, Stopping, or Starting.")
    step: int | None = Field(default=None, description="The present step, from 1.")
    steps: int | None = Field(default=None, description="How many steps there are.")
    upgrade_from: str | None = Field(default=None, description="upgrade.from in the present step.")
    back: bool | None = Field(default=None, description="Whether it goes back to where an earlier change began.")
    done: int | None = Field(default=None, description="How many instances the present step has reached.")


class InstanceStatus(Model):
    """One instance."""

    index: int = Field(description="Its place, from 0.")
    pod_name: str | None = Field(default=None, description="The name of its pod.")
    release: str | None = Field(default=None, description="The release that its pod is made from.")
    revision: str | None = Field(default=None, description="The ControllerRevision that its pod is made from.")
    upgrade_from: str | None = Field(default=None, description="upgrade.from of its pod.")
    works: bool | None = Field(default=None, description="Whether its pod is ready and in the group.")
    reason: str | None = Field(default=None, description="Why it does not work.")


class InstanceWaitStatus(Model):
    """Something that is waited for."""

    reason: str = Field(description="The reason, in CamelCase.")
    severity: str | None = Field(default=None, description="Progress, Held (a person must act) or Degraded.")
    indexes: list[int] | None = Field(default=None, description="The instances concerned.", json_schema_extra=_ATOMIC)
    message: str | None = Field(default=None, description="A sentence.")
    since: str | None = Field(default=None, description="Since when.")


class KafkaStreamsApplicationStatus(Model):
    """What the operator reports of the application."""

    observed_generation: int | None = Field(default=None, description="The generation of the spec that was looked at.")
    selector: str | None = Field(default=None, description="The label selector of the pods, for /scale.")
    replicas: int | None = Field(default=None, description="How many instances there are, for /scale.")
    summary: str | None = Field(default=None, description="Instances that work, of all instances.")
    release: str | None = Field(
        default=None, description="The release that every instance runs, or ran before a change."
    )
    group: str | None = Field(default=None, description="The state of the group.")
    doing: str | None = Field(default=None, description="The problem, if there is one; else what is under way.")
    message: str | None = Field(default=None, description="The sentence that belongs to doing.")
    way: WayStatus | None = Field(default=None, description="How the requested release is reached.")
    adoption: AdoptionStatus | None = Field(default=None, description="What is adopted, and how.")
    change: ChangeStatus | None = Field(default=None, description="The change that is under way.")
    instances: list[InstanceStatus] | None = Field(
        default=None, description="The instances.", json_schema_extra=_ATOMIC
    )
    waits: list[InstanceWaitStatus] | None = Field(
        default=None, description="What is waited for, and why.", json_schema_extra=_ATOMIC
    )
    conditions: list[ConditionStatus] | None = Field(
        default=None,
        description="Ready, Progressing, Degraded, SpecAccepted.",
        json_schema_extra=schema(list_type="map", list_map_keys=["type"]),
    )
    last_look: str | None = Field(
        default=None,
        description="When the operator last looked at it, as of the last write.",
        json_schema_extra={"format": "date-time"},
    )
    next_look_by: str | None = Field(
        default=None,
        description=NEXT_LOOK_BY_MEANS,
        json_schema_extra={"format": "date-time"},
    )
    left_out: dict[str, int] | None = Field(default=None, description="How many entries of a list are left out.")
