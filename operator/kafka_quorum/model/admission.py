"""Whether the API server accepts a pod before it is created: the questions of a plan, and the answers.

A controller is stopped only after the API server has accepted the pod that takes its place, and a controller without a
pod is created only from a revision that is not refused.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable


@dataclass(frozen=True, slots=True, kw_only=True)
class PodQuestion:
    """Would the API server accept this controller's pod from this revision? `formatter`: it is the pod that formats."""

    node_id: NodeID
    revision: str
    formatter: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What the API server answered. `words` are its own if it refused, or the operator's if it built no pod.

    `current` says that the answer is new enough to rely on; an older refusal is asked about again. `created` says that
    a creation was refused, although a dry run may have been accepted.
    """

    allowed: bool
    words: str = ""
    current: bool = True
    created: bool = False


Admissions: TypeAlias = tuple[tuple[PodQuestion, Knowable[Admission]], ...]


def merged(first: Admissions, then: Iterable[tuple[PodQuestion, Knowable[Admission]]]) -> Admissions:
    """Both; of two answers to one question, the later one counts."""
    return tuple({**dict(first), **dict(then)}.items())
