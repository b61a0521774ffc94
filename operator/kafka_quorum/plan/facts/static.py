"""Static quorums: what holds only while the voters are in `controller.quorum.voters`."""

from typing import Final

from kafka_quorum.model.desired import Runtime
from kafka_quorum.model.identity import FormatMode, NodeIdentity
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.situation import Situation

STATIC: Final = (
    "the quorum is static, so it would accept an empty disk as the voter, and lose what that voter had acknowledged. A "
    "person must decide (docs/releases.md, Lost disks of a static quorum)"
)


def would_vote_at_once(node: NodeIdentity, runtime: Runtime) -> bool:
    """Whether a controller of this runtime is a static voter, though its disk was formatted for an observer.

    No pod is made of it: with an empty log it would vote.
    """
    return bool(runtime.static_voters) and node.mode is FormatMode.NO_INITIAL_CONTROLLERS


def takes_empty_disks(situation: Situation) -> bool:
    """Whether the quorum is static: if its voters have directory ids by now, only the setting is left over."""
    return situation.record.static and (
        isinstance(situation.observed.quorum, Unknown) or situation.observed.quorum.value.static
    )
