"""Whether restarted controllers are the release that their image is said to be."""

from collections.abc import Iterator

from kafka_quorum.api.features import level_text, supported_by
from kafka_quorum.api.release import parse_release
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known
from kafka_quorum.model.pods import PodRole
from kafka_quorum.model.quorum import FeatureRange, NodeVersions
from kafka_quorum.model.situation import Situation


def restarted(situation: Situation) -> Iterator[tuple[NodeID, Knowable[NodeVersions]]]:
    """The controllers that run from the target revision, and what each one reports that it supports."""
    for node in situation.record.nodes:
        pods = situation.observed.pods_of(node.node_id, PodRole.KAFKA)
        if any(pod.running and pod.revision == situation.target for pod in pods):
            yield node.node_id, situation.observed.versions_of(node.node_id)


def misreported(situation: Situation, release: str) -> tuple[NodeID, str] | None:
    """The first controller on the target revision that is not this release, and how it differs; None without one."""
    claimed = supported_by(numbers) if (numbers := parse_release(release)) is not None else None
    if claimed is None:
        return None
    for node_id, answer in restarted(situation):
        if isinstance(answer, Known) and (lie := _differs(answer.value, claimed, release)):
            return node_id, lie
    return None


def _differs(said: NodeVersions, claimed: tuple[FeatureRange, ...], release: str) -> str:
    """In what a controller differs from the release that its image is said to be; empty if it does not."""
    reported = {each.name: each for each in said.supported}
    for wanted in claimed:
        has = reported.get(wanted.name)
        if has is None or (has.min_level, has.max_level) != (wanted.min_level, wanted.max_level):
            low, high = (level_text(wanted.name, level) for level in (wanted.min_level, wanted.max_level))
            its = f"{level_text(has.name, has.min_level)} to {level_text(has.name, has.max_level)}" if has else "none"
            return f"is not Kafka {release}: it supports {wanted.name} {its}, and that release {low} to {high}"
    return ""
