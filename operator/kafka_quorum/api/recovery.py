"""The recovery of a lost majority in spec and status: what a person requests, and what the operator found."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from kafka_quorum.api.podfields import is_object_name
from kafka_quorum.api.shapes import annotation
from kafka_quorum.model.desired import FieldFault
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.journal import epoch_from
from kafka_quorum.model.names import RELEASE
from kafka_quorum.model.recovery_request import RecoveryRequest, Seed
from kit.crd.model import Model, schema
from kit.parsing import INT32_MAX, quoted

HASH_CHARS: Final = 10
_HASH_DIGITS: Final = frozenset("0123456789abcdef")
_ATOMIC = schema(list_type="atomic")
_FIELD: Final = "spec.recovery"
_RELEASE_FIELD: Final = f"metadata.annotations[{RELEASE}]"
_SEGMENT_MAX: Final = 1024


class SeedSpec(Model):
    """A copy of the metadata log that is no disk of a controller."""

    claim_name: str = Field(
        max_length=253,
        description="A volume claim in this namespace: of a broker that is stopped, of a snapshot of its volume, or "
        "with files that a person put there. It is only read. The claim lists this quorum in its annotation "
        "kafkaquorum.io/used-by, as KafkaQuorum/NAME, unless it is one of this quorum or of its pools.",
    )
    path: str = Field(
        default="",
        max_length=_SEGMENT_MAX,
        description="The log directory in the volume: the one that has meta.properties and __cluster_metadata-0. Empty "
        "for the root of the volume.",
    )


class RecoverySpec(Model):
    """The recovery of a quorum whose majority of disks is lost. Only a person decides it."""

    inspect: bool = Field(
        default=False,
        description="Read every disk of the controllers while no leader answers (status.recovery). Nothing is written.",
    )
    plan: str = Field(
        default="",
        max_length=64,
        description="The hash of the plan to carry out, from status.recovery.plan. It covers every fact that the plan "
        "relies on: if one of them has changed, nothing is done. Empty for none.",
    )
    accept_loss: bool = Field(
        default=False,
        description="Accept that committed records are lost. It is needed if the verdict is ProvenLoss or UnknownTail.",
    )
    without: list[int] = Field(
        default_factory=list,
        description="Node ids of controllers whose disks cannot be reached and are given up, although they may have "
        "more records than the best one that was read. They must never run again.",
        json_schema_extra=schema(maxItems=15, list_type="atomic", default=[]),
    )
    seeds: list[SeedSpec] = Field(
        default_factory=list,
        description="Other copies of the metadata log. They are read like the disks of controllers; one of them is "
        "used if its log is the best one.",
        json_schema_extra=schema(maxItems=32, list_type="atomic", default=[]),
    )


def faults(spec: RecoverySpec, metadata: Mapping[str, Any]) -> Iterator[FieldFault]:
    """What is wrong with a request, each in one sentence."""
    if spec.plan and (len(spec.plan) != HASH_CHARS or not _HASH_DIGITS.issuperset(spec.plan)):
        ask = f"copy the {HASH_CHARS} characters from status.recovery.plan"
        yield FieldFault(field=f"{_FIELD}.plan", message=f"{quoted(spec.plan)} is no hash of a plan: {ask}")
    if spec.plan and not spec.inspect:
        ask = "set it to true until the recovery has ended"
        yield FieldFault(field=f"{_FIELD}.inspect", message=f"a plan is carried out only while disks are read: {ask}")
    if wrong := [each for each in spec.without if not 0 <= each <= INT32_MAX]:
        yield FieldFault(field=f"{_FIELD}.without", message=f"{wrong[0]} is no node id: list ids of controllers")
    if len(set(spec.without)) != len(spec.without):
        yield FieldFault(field=f"{_FIELD}.without", message="a node id is listed twice: list each one once")
    yield from _seed_faults(spec.seeds)
    yield from _release_faults(metadata)


def _seed_faults(seeds: list[SeedSpec]) -> Iterator[FieldFault]:
    for index, seed in enumerate(seeds):
        field = f"{_FIELD}.seeds[{index}]"
        if not is_object_name(seed.claim_name):
            yield FieldFault(field=f"{field}.claimName", message="it is no name of a volume claim: correct it")
        parts = seed.path.split("/")
        if seed.path and ("" in parts or "." in parts or ".." in parts or not seed.path.isprintable()):
            ask = "write a directory below the root of the volume, as data/kraft"
            yield FieldFault(field=f"{field}.path", message=f"{quoted(seed.path)} leaves the volume: {ask}")
    if len({(seed.claim_name, seed.path) for seed in seeds}) != len(seeds):
        yield FieldFault(field=f"{_FIELD}.seeds", message="a seed is listed twice: list each one once")


def _release_faults(metadata: Mapping[str, Any]) -> Iterator[FieldFault]:
    text = annotation(metadata, RELEASE)
    if text and epoch_from(text) == 0:
        ask = "write the number from status.recovery.epoch"
        yield FieldFault(field=_RELEASE_FIELD, message=f"{quoted(text)} is no epoch of a recovery: {ask}")


def requested(spec: RecoverySpec, metadata: Mapping[str, Any]) -> RecoveryRequest:
    """What a valid spec requests."""
    return RecoveryRequest(
        inspect=spec.inspect,
        plan=spec.plan,
        accept_loss=spec.accept_loss,
        without=tuple(sorted(NodeID(each) for each in spec.without)),
        seeds=tuple(sorted(Seed(claim=each.claim_name, path=each.path) for each in spec.seeds)),
        released=epoch_from(annotation(metadata, RELEASE)),
    )


class RecoveryDiskStatus(Model):
    """A copy of the metadata log: a controller's disk, or a seed."""

    claim_name: str | None = Field(default=None, description="Its volume claim.")
    node_id: int | None = Field(default=None, description="The controller that it belongs to; absent for a seed.")
    directory_id: str | None = Field(default=None, description="Its directory id.")
    state: Literal["Read", "Empty", "Damaged", "Unknown"] | None = Field(
        default=None,
        description="Read: its log was read to the end. Empty: it holds no log. Damaged: it cannot be used. Unknown: "
        "it was not read yet, or cannot be.",
    )
    last_epoch: int | None = Field(default=None, description="The leader epoch of its last whole batch.")
    end_offset: int | None = Field(default=None, description="The offset behind its last whole batch.")
    checkpoint_offset: int | None = Field(default=None, description="Where its newest checkpoint ends.")
    torn_bytes: int | None = Field(default=None, description="Bytes behind the last whole batch, which are cut off.")
    best: bool | None = Field(default=None, description="True for the log that the quorum would continue with.")
    reason: str | None = Field(default=None, description="Why it is unknown, or cannot be used.")


class RecordTypeStatus(Model):
    """How many records of a type there are."""

    type: str | None = Field(default=None, description="The type, in Kafka's words, such as TOPIC_RECORD.")
    records: int | None = Field(default=None, description="How many records have it.")


class LostRecordsStatus(Model):
    """Records that the quorum would lose: those of one log that the best log does not have, or what no log shows."""

    claim_name: str | None = Field(
        default=None, description="The volume claim of the log that has them; absent in the row about what no log has."
    )
    node_id: int | None = Field(default=None, description="The controller that it belongs to; absent for a seed.")
    state: Literal["Known", "AtLeast", "Unknown"] | None = Field(
        default=None,
        description="Known: these are all records that only this log has. AtLeast: there may be more, "
        "because the log is damaged, or cannot be compared from its beginning. Unknown: see the message.",
    )
    records: int | None = Field(default=None, description="How many records the best log does not have.")
    first_offset: int | None = Field(default=None, description="The offset of the first of them.")
    last_offset: int | None = Field(default=None, description="The offset of the last of them.")
    committed_at_least: int | None = Field(default=None, description="At least so many of them were committed.")
    types: list[RecordTypeStatus] | None = Field(
        default=None, description="The types of the records, the most frequent ones first.", json_schema_extra=_ATOMIC
    )
    topics: list[str] | None = Field(
        default=None,
        description="The topics that the records are about, by name; (id ID) if no record of the log has the name. "
        "Not all of them, if topicsTotal is larger.",
        json_schema_extra=_ATOMIC,
    )
    topics_total: int | None = Field(default=None, description="How many topics the records are about.")
    message: str | None = Field(default=None, description="The same in words, and whether they were committed.")


class RecoveryStatus(Model):
    """What the disks of a quorum without a leader show, and the recovery that follows from it."""

    epoch: int | None = Field(default=None, description="The number of the last recovery that began; 0 for none.")
    stage: str | None = Field(
        default=None,
        description="Of an open recovery: Stop, Copy, Retire, Format, Rewrite or Start. Else Inspecting, Proposed, "
        "Recovered, or Abandoned: it was taken back, and its copies are left.",
    )
    verdict: str | None = Field(
        default=None,
        description="Reading, NotNeeded, MajorityMayReturn, BetterDiskMayReturn, NoCandidate, Unsupported, "
        "NoLossUpToWatermark, ProvenLoss or UnknownTail.",
    )
    message: str | None = Field(default=None, description="The verdict in one sentence, and what to do.")
    plan: str | None = Field(default=None, description="The hash of the plan, to be approved in spec.recovery.plan.")
    loss_at_least: int | None = Field(default=None, description="At least so many committed records would be lost.")
    watermark: int | None = Field(
        default=None, description="The last high watermark that a leader reported; absent if none is known."
    )
    survivor: str | None = Field(default=None, description="The disk whose log the quorum continues with.")
    controller: int | None = Field(default=None, description="The controller that starts with this log, alone.")
    steps: list[str] | None = Field(default=None, description="What is done, in order.", json_schema_extra=_ATOMIC)
    disks: list[RecoveryDiskStatus] | None = Field(
        default=None, description="Everything that was read.", json_schema_extra=_ATOMIC
    )
    would_be_lost: list[LostRecordsStatus] | None = Field(
        default=None,
        description="What a recovery would lose: the records of each log that the best one does not have, and last, "
        "what no log shows. The hash of the plan does not cover it.",
        json_schema_extra=_ATOMIC,
    )
    copies: list[Annotated[str, Field(max_length=253)]] | None = Field(
        default=None,
        description="Claims with copies and old disks, kept until the annotation kafkaquorum.io/release-recovery has "
        "the epoch. Copies of a recovery that was taken back may be deleted at any time.",
        json_schema_extra=_ATOMIC,
    )
