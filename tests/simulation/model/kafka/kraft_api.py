"""The requests of `wire.protocol.Controllers`: the KRaft model answers at once, with Kafka's own error codes.

The order of the checks of AddRaftVoter is Kafka's: cluster id, leadership, the form of the request, a change in flight,
an established high watermark, a voter of that id, whether the newcomer answers, whether it has caught up.
RemoveRaftVoter begins with the same checks. Then it requires only a voter of that replica key, which is not the last
one. The tables in `tests/live/answers.py` compare this with real servers.
"""

from collections.abc import Callable
from typing import NoReturn

from kio.schema.errors import ErrorCode
from tests.simulation.model.kafka.kraft_model import CAUGHT_UP_WITHIN_S, OBSERVER_FORGOTTEN_S, KraftModel
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kafka.releases import supported
from tests.simulation.model.kafka.tls import NO_TLS, leaf_in, trust_in, why_refused

from kafka_quorum.errors import KafkaUnreachable
from kafka_quorum.model.ids import NodeID, ReplicaKey, uuid_to_bytes
from kafka_quorum.model.quorum import (
    AddVoter,
    ClusterAnswer,
    Endpoint,
    Listener,
    NodeVersions,
    QuorumAnswer,
    RemoveVoter,
    Replica,
)
from kafka_quorum.model.security import Secured
from kafka_quorum.wire.api import Api, Effect
from kafka_quorum.wire.refusals import refused
from kafka_quorum.wire.requests import (
    add_raft_voter,
    api_versions,
    describe_cluster,
    describe_quorum,
    remove_raft_voter,
)
from kit.errors import Fault


def unreachable(
    endpoint: Endpoint, api: Api, why: str, error: type[KafkaUnreachable] = KafkaUnreachable
) -> KafkaUnreachable:
    """No answer arrived; a request that writes may have been carried out."""
    return error(
        f"{api.name} got no answer from controller {endpoint}: {why}",
        fault=Fault.PATH,
        retry_safe=api.effect is Effect.READS,
        outcome_unknown=api.effect is Effect.WRITES,
    )


def process_at(kraft: KraftModel, endpoint: Endpoint, api: Api) -> Process:
    """The process that answers at this endpoint; KafkaUnreachable if none does."""
    process = kraft.at(endpoint.host, endpoint.port)
    if process is None or kraft.now_s < process.up_s:
        raise unreachable(endpoint, api, "connection refused")
    if process.frozen or process.node in kraft.unseen:
        raise unreachable(endpoint, api, "the deadline passed")
    if why := why_unsecured(kraft, process, endpoint):
        raise unreachable(endpoint, api, f"its security does not match: {why}")
    return process


def why_unsecured(kraft: KraftModel, process: Process, endpoint: Endpoint) -> str:
    """Why a server and the operator do not accept each other; empty if they do."""
    tls = endpoint.security.tls if isinstance(endpoint.security, Secured) else None
    plain = any(process.is_plain(name) for name, port in process.listens if port == endpoint.port)
    if process.tls is None or tls is None or plain:
        return "" if plain and tls is None else NO_TLS
    shown, now = leaf_in(tls.certificate), kraft.true_now
    refused_by_us = why_refused(process.tls.served, trust_in(tls.ca), now, endpoint.certified_name)
    sasl = endpoint.security.sasl if isinstance(endpoint.security, Secured) else None
    if not refused_by_us and sasl is not None and process.tls.users:
        known = f'user_{sasl.username}="{sasl.password}"' in process.tls.users
        return "" if known else "the password is wrong"
    if refused_by_us or shown is None:
        return refused_by_us or NO_TLS
    return why_refused(shown, process.tls.trust, kraft.wall(process))


class ModelControllers:
    """Every controller of the model, found by address."""

    def __init__(self, kraft: KraftModel) -> None:
        """Answer for this model."""
        self._kraft = kraft

    def versions(self, endpoint: Endpoint) -> NodeVersions:
        """What its release supports, and the finalized levels once this node has a high watermark."""
        process = self._process(endpoint, api_versions.API)
        image = process.reported
        return NodeVersions(
            supported=supported(process.release), finalized=image.levels, finalized_epoch=image.changed_at
        )

    def cluster(self, endpoint: Endpoint) -> ClusterAnswer:
        """The cluster id of the process that listens there, and the controllers that it sees registered."""
        process = self._process(endpoint, describe_cluster.API)
        ids = (one.node_id for one in process.committed.registered if not one.broker)
        return ClusterAnswer(cluster_id=process.cluster_id, controller_ids=tuple(sorted(ids)))

    def quorum(self, endpoint: Endpoint) -> QuorumAnswer:
        """The leader's view; NOT_LEADER_OR_FOLLOWER from every other process."""
        leader = self._process(endpoint, describe_quorum.API)
        if not leader.leads:
            raise refused(endpoint, describe_quorum.API, ErrorCode.not_leader_or_follower, "")
        voters = leader.voters
        observers = [
            key
            for key, row in leader.rows.items()
            if key not in voters and self._kraft.fresh_within(row.fetched_s, OBSERVER_FORGOTTEN_S)
        ]
        if (
            leader.known(leader.key) not in voters
        ):  # its own removal is not committed yet: until then its row is an observer's
            observers.append(leader.key)
        return QuorumAnswer(
            leader_id=leader.meta.node_id,
            leader_epoch=leader.disk.epoch,
            high_watermark=leader.high_watermark,
            voters=tuple(self._replica(leader, key) for key in sorted(voters, key=str)),
            listeners=tuple(self._listeners(leader, key) for key in sorted(voters, key=lambda key: key.node_id)),
            observers=tuple(self._replica(leader, key) for key in sorted(observers, key=str)),
        )

    def _listeners(self, leader: Process, key: ReplicaKey) -> tuple[NodeID, tuple[Listener, ...]]:
        """The listeners of a voter as it had them when it fetched last: the leader writes them into the voter set."""
        found = self._kraft.voter_listeners.get((leader.cluster_id, key.node_id), ())
        host = next(
            (one.host for one in self._kraft.processes if one.meta.node_id == key.node_id and not one.broker), ""
        )
        return key.node_id, tuple(Listener(name=name, host=host, port=port) for name, port in found)

    def add(self, endpoint: Endpoint, request: AddVoter, *, before_append: Callable[[], None] = lambda: None) -> None:
        """AddRaftVoter, with Kafka's checks in Kafka's order; `before_append` runs between the checks and the write."""
        leader = self._process(endpoint, add_raft_voter.API)
        if request.cluster_id != leader.cluster_id:
            self._refuse(endpoint, add_raft_voter.API, ErrorCode.inconsistent_cluster_id)
        if not leader.leads:
            self._refuse(endpoint, add_raft_voter.API, ErrorCode.not_leader_or_follower)
        directory = request.voter.directory_id
        listener = next((one for one in request.listeners if one.name == leader.listener), None)
        if listener is None or directory is None or not any(uuid_to_bytes(directory)):
            self._refuse(endpoint, add_raft_voter.API, ErrorCode.invalid_request)
        if leader.high_watermark < 0 or self._kraft.knows_of_change(leader):
            self._refuse(endpoint, add_raft_voter.API, ErrorCode.request_timed_out)
        if leader.is_static:
            self._refuse(endpoint, add_raft_voter.API, ErrorCode.unsupported_version)
        if any(voter.node_id == request.voter.node_id for voter in leader.voters):
            self._refuse(endpoint, add_raft_voter.API, ErrorCode.duplicate_voter)
        newcomer = self._kraft.named(listener.host, listener.port)
        if newcomer is None or not self._kraft.is_up(newcomer) or not self._kraft.finds(leader, newcomer):
            self._refuse(endpoint, add_raft_voter.API, ErrorCode.request_timed_out)
        if not self._kraft.is_caught_up(leader, request.voter, CAUGHT_UP_WITHIN_S):
            self._refuse(endpoint, add_raft_voter.API, ErrorCode.request_timed_out)
        before_append()
        if not self._kraft.append_voters(leader, leader.voters | {request.voter}):
            self._refuse(endpoint, add_raft_voter.API, ErrorCode.request_timed_out)

    def remove(
        self, endpoint: Endpoint, request: RemoveVoter, *, before_append: Callable[[], None] = lambda: None
    ) -> None:
        """RemoveRaftVoter, with Kafka's checks in its order. No check asks whether the remaining voters live."""
        api = remove_raft_voter.API
        leader = self._process(endpoint, api)
        if request.cluster_id != leader.cluster_id:
            self._refuse(endpoint, api, ErrorCode.inconsistent_cluster_id)
        if not leader.leads:
            self._refuse(endpoint, api, ErrorCode.not_leader_or_follower)
        directory = request.voter.directory_id
        if directory is None or not any(uuid_to_bytes(directory)):
            self._refuse(endpoint, api, ErrorCode.invalid_request)
        if leader.high_watermark < 0 or self._kraft.knows_of_change(leader):
            self._refuse(endpoint, api, ErrorCode.request_timed_out)
        if leader.is_static:
            self._refuse(endpoint, api, ErrorCode.unsupported_version)
        remaining = leader.voters - {request.voter}
        if request.voter not in leader.voters or not remaining:
            self._refuse(endpoint, api, ErrorCode.voter_not_found)
        before_append()
        if not self._kraft.append_voters(leader, remaining):
            self._refuse(endpoint, api, ErrorCode.request_timed_out)

    def _process(self, endpoint: Endpoint, api: Api) -> Process:
        return process_at(self._kraft, endpoint, api)

    def _refuse(self, endpoint: Endpoint, api: Api, code: ErrorCode) -> NoReturn:
        raise refused(endpoint, api, code, "")

    def _replica(self, leader: Process, key: ReplicaKey) -> Replica:
        if key == leader.known(leader.key):
            now_ms = self._kraft.stamp_ms(leader, self._kraft.now_s)
            return Replica(key=key, log_end_offset=leader.disk.end, last_fetch_ms=now_ms, last_caught_up_ms=now_ms)
        row = leader.row(key)
        return Replica(
            key=key,
            log_end_offset=row.end,
            last_fetch_ms=row.fetched_ms,
            last_caught_up_ms=row.caught_up_ms,
        )
