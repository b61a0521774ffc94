"""What runs, by the pods of this look: the container of each controller, and what its leader runs with. Pure.

Both come from the existing pod and the revision that it was made from, never from the present spec: a roll takes
minutes, and a spec may be unreadable.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kafka_quorum.api.properties import DEFAULT_FETCH_TIMEOUT_MS, FETCH_TIMEOUT
from kafka_quorum.model.identity import IdentityRecord
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.observed import Revision
from kafka_quorum.model.pods import Pod, PodRole

_NUMBER: Final = re.compile(r"[1-9][0-9]{0,8}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchTimeout:
    """The `controller.quorum.fetch.timeout.ms` of a leader, in milliseconds.

    If it cannot be read, there are two safe values. `least_ms` is for accepting a leader by the voters that fetch from
    it. `most_ms` is for accepting that a replica does not fetch any more.
    """

    least_ms: int
    most_ms: int


_DEFAULT: Final = FetchTimeout(least_ms=DEFAULT_FETCH_TIMEOUT_MS, most_ms=DEFAULT_FETCH_TIMEOUT_MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchTimeouts:
    """The fetch timeouts of controllers, and the value for controllers without a pod."""

    by_node: Mapping[NodeID, FetchTimeout] = field(default_factory=dict)
    otherwise: FetchTimeout = _DEFAULT

    def of(self, node_id: NodeID) -> FetchTimeout:
        """The fetch timeout that this controller runs with."""
        return self.by_node.get(node_id, self.otherwise)

    @property
    def longest_ms(self) -> int:
        """The longest one with which any controller may run."""
        return max((one.most_ms for one in self.by_node.values()), default=self.otherwise.most_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instances:
    """Which container each controller of ours runs in.

    `running` names it by pod and container, only if Kafka runs and the pod is not being deleted. `own` are the node ids
    whose containers can be seen; only the leader reports anything about the others.
    """

    own: frozenset[NodeID] = frozenset()
    running: Mapping[ReplicaKey, str] = field(default_factory=dict)

    def of(self, key: ReplicaKey) -> str | None:
        """The container of a replica: empty if none can be seen, None if it is ours and does not run."""
        return self.running.get(key) if key.node_id in self.own else ""


NOBODY: Final = Instances()


def instances_of(pods: Iterable[Pod], record: IdentityRecord | None) -> Instances:
    """The containers that these pods show. Pods of controllers that left the record count as ours."""
    kafka = [pod for pod in pods if pod.role is PodRole.KAFKA]
    ids = record.node_ids if record else ()
    return Instances(
        own=frozenset((*ids, *(pod.node_id for pod in kafka))),
        running={
            ReplicaKey(node_id=pod.node_id, directory_id=pod.directory_id): pod.instance for pod in kafka if pod.serves
        },
    )


def fetch_timeouts(pods: Iterable[Pod], revisions: tuple[Revision, ...]) -> FetchTimeouts:
    """The fetch timeout that each controller runs with: that of the revision from which its pod was made.

    A controller whose revision is missing or unreadable may run with any known value, or with the default.
    """
    by_name = {revision.name: revision for revision in revisions}
    known = (DEFAULT_FETCH_TIMEOUT_MS, *filter(None, map(_configured, revisions)))
    otherwise = FetchTimeout(least_ms=min(known), most_ms=max(known))
    found: dict[NodeID, FetchTimeout] = {}
    for pod in pods:
        if pod.role is not PodRole.KAFKA:
            continue
        revision = by_name.get(pod.revision)
        timeout_ms = None if revision is None else _configured(revision)
        one = otherwise if timeout_ms is None else FetchTimeout(least_ms=timeout_ms, most_ms=timeout_ms)
        found[pod.node_id] = _either(one, found.get(pod.node_id, one))
    return FetchTimeouts(by_node=found, otherwise=otherwise)


def _either(one: FetchTimeout, other: FetchTimeout) -> FetchTimeout:
    return FetchTimeout(least_ms=min(one.least_ms, other.least_ms), most_ms=max(one.most_ms, other.most_ms))


def _configured(revision: Revision) -> int | None:
    """The fetch timeout in a revision; None if its value is no number that Kafka accepts."""
    text = dict(revision.runtime.config).get(FETCH_TIMEOUT, str(DEFAULT_FETCH_TIMEOUT_MS)).strip()
    return int(text) if _NUMBER.fullmatch(text) else None
