"""Names, labels and annotations of everything that belongs to an application. A change of one orphans what exists."""

import re
from typing import Final

from kafka_quorum.model.names import GROUP, digest, without_defaults
from kafka_streams.model.application import Runtime
from kafka_streams.model.record import Slot
from kafka_streams.model.way import Way

LABEL_APPLICATION: Final = f"{GROUP}/streams-application"
LABEL_INSTANCE: Final = f"{GROUP}/streams-instance"
"""On pods and claims: the place of the instance, from 0."""
HOLD: Final = f"{GROUP}/hold"
"""On a pod, set by a person: this instance is not stopped while it is `true`."""
GENERATION: Final = f"{GROUP}/state-generation"
"""On pods: the generation of the claim that it was made with."""
ADOPT: Final = f"{GROUP}/adopt"
"""On a StatefulSet or Deployment, set by a person: the application that may adopt it."""
_HASH: Final = "[0-9a-f]{10}"


def reader(application: str) -> str:
    """This application in the annotation of a Secret that it may use."""
    return f"KafkaStreamsApplication/{application}"


def record_name(application: str) -> str:
    """The ConfigMap that holds the record."""
    return f"{application}-streams"


def pod_name(application: str, index: int) -> str:
    """The pod of an instance: one name for each, so Kubernetes itself prevents a second one."""
    return f"{application}-streams-{index}"


def claim_name(application: str, index: int, generation: int) -> str:
    """The claim of this generation of an instance's local state."""
    return f"{application}-streams-{index}-g{generation}"


def claim_of(application: str, slot: Slot) -> str:
    """The claim that an instance uses now: an adopted one, or that of its generation."""
    return slot.claim or claim_name(application, slot.index, slot.generation)


def revision_name(application: str, runtime: Runtime, upgrade_from: str) -> str:
    """The ControllerRevision of a runtime: every field by name, without defaults. So a new field restarts nothing."""
    return f"{application}-streams-{digest([without_defaults(runtime), upgrade_from])}"


def is_revision_name(application: str, name: str) -> bool:
    """Whether `revision_name` makes this name."""
    return re.fullmatch(rf"{re.escape(application)}-streams-{_HASH}", name) is not None


def way_hash(way: Way, start: str) -> str:
    """The name of a way, by which a person approves it."""
    return digest([start, without_defaults(way)])
