"""How disks are first formatted, how far that is, and whether every copy of the identity is written."""

from collections.abc import Iterable
from typing import Final

from kafka_quorum.api.features import KRAFT
from kafka_quorum.model.desired import BootstrapMode, Desired
from kafka_quorum.model.identity import BootstrapPhase, Format, FormatMode, NodeIdentity
from kafka_quorum.model.observed import Observed, Revision
from kafka_quorum.model.pods import DiskFound, Pod, PodRole, Waiting
from kafka_quorum.model.situation import Situation

TOLD_BY_DISKS: Final = {
    BootstrapMode.STATIC: FormatMode.STATIC,
    BootstrapMode.ZOOKEEPER: FormatMode.STATIC,
    BootstrapMode.ADOPT: FormatMode.ADOPTED,
}
"""Quorums that begin with static voters, or may have them, and whose disks report their directory ids."""
_DIGITS_MAX: Final = 9


def format_of(desired: Desired) -> Format:
    """The format of the initial disks."""
    static = desired.bootstrap in TOLD_BY_DISKS  # it begins at kraft.version 0, even if it becomes dynamic later
    features = tuple(each for each in desired.features if not (static and each.name == KRAFT))
    return Format(mode=desired.bootstrap, release=desired.runtime.release, features=features)


def format_pending(situation: Situation) -> bool:
    """Whether the spec requests another initial format, and nothing was formatted by the old one: then it applies."""
    record = situation.record
    if record.phase is not BootstrapPhase.FORMATTING or format_begun(situation):
        return False
    requested = format_of(situation.desired)
    return (requested.release, requested.features) != (record.format.release, record.format.features)


def format_begun(situation: Situation) -> bool:
    """Whether a disk is formatted, or may be formatted by a formatter that runs."""
    formatters = (pod for pod in situation.observed.pods if pod.role is PodRole.FORMATTER)
    return any(node.formatted for node in situation.record.nodes) or not all(map(_formatted_nothing, formatters))


def _formatted_nothing(pod: Pod) -> bool:
    """Whether a formatter still waits, or reported that it left the disk without an identity."""
    if isinstance(pod.container, Waiting):
        return not pod.finished
    report = pod.report
    return not pod.running and report is not None and not report.accepted and report.found is DiskFound.EMPTY


def is_mirrored(situation: Situation, node: NodeIdentity) -> bool:
    """Whether the status and the claim hold what the record holds of this node: the identity is in three places."""
    record = situation.record
    claim, status = situation.disk(node).claim, situation.observed.status
    entry = next((entry for entry in status.controllers if entry.node_id == node.node_id), None)
    if claim is None or entry is None:
        return False
    initial = {key.node_id: key.directory_id for key in record.initial}
    in_status = {entry.node_id: entry.directory_id for entry in status.initial}
    return (
        (claim.cluster_id, claim.directory_id, claim.phase)
        == (record.cluster_id, node.directory_id, record.phase.value)
        and (entry.directory_id, entry.claim_uid) == (node.directory_id, node.claim_uid)
        and (status.cluster_id, status.phase) == (record.cluster_id, record.phase)
        and in_status == initial
    )


def somebody_started(observed: Observed) -> bool:
    """Whether a copy of the identity, or a pod that runs Kafka, shows that the barrier was passed."""
    return (
        observed.status.phase is BootstrapPhase.STARTED
        or any(claim.phase == BootstrapPhase.STARTED.value for claim in observed.claims)
        or any(pod.role is PodRole.KAFKA for pod in observed.pods)
    )


def release_numbers(text: str) -> tuple[int, ...]:
    """A release as numbers that can be compared: `4.1.2` is (4, 1, 2)."""
    parts = (part for part in text.split(".", maxsplit=4) if part.isascii() and part.isdigit())
    return tuple(int(part) for part in parts if len(part) <= _DIGITS_MAX)


def of_oldest_release(revisions: Iterable[Revision]) -> Revision | None:
    """The first revision of the oldest release: a record that is rebuilt takes the release of the disks from it."""
    return min(revisions, key=lambda revision: release_numbers(revision.runtime.release), default=None)
