"""Every request that this operator can send. A new one is a file beside this one, and a line here."""

from collections.abc import Mapping
from typing import Final

from kio.static.protocol import RequestPayload, ResponsePayload

from kafka_quorum.wire.api import Api
from kafka_quorum.wire.bounds import MAX_ROWS, Bound
from kafka_quorum.wire.requests import (
    add_raft_voter,
    alter_configs,
    alter_reassignments,
    alter_scram,
    api_versions,
    controller_registration,
    describe_brokers,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_quorum,
    describe_scram,
    describe_topic_partitions,
    elect_leaders,
    find_coordinator,
    list_groups,
    list_offsets,
    list_reassignments,
    metadata,
    offset_fetch,
    remove_raft_voter,
    sasl_authenticate,
    sasl_handshake,
    streams_group_describe,
    unregister_broker,
    unregister_controller,
    update_features,
)

ALL: Final[tuple[Api, ...]] = (
    api_versions.API,
    describe_quorum.API,
    update_features.API,
    describe_cluster.API,
    controller_registration.API,
    add_raft_voter.API,
    remove_raft_voter.API,
    unregister_controller.API,
    describe_brokers.API,
    describe_topic_partitions.API,
    describe_configs.API,
    describe_log_dirs.API,
    list_reassignments.API,
    alter_reassignments.API,
    elect_leaders.API,
    alter_configs.API,
    unregister_broker.API,
    metadata.API,
    find_coordinator.API,
    describe_groups.API,
    streams_group_describe.API,
    list_groups.API,
    offset_fetch.API,
    list_offsets.API,
    sasl_handshake.API,
    sasl_authenticate.API,
    describe_scram.API,
    alter_scram.API,
)
OWN: Final[Mapping[tuple[int, int], tuple[type[RequestPayload], type[ResponsePayload]]]] = {
    (api.key, version): classes for api in ALL for version, classes in api.own.items()
}
"""The classes that kio does not have, by api key and version."""
_LISTS: Final[Mapping[tuple[type, str], Bound]] = {row: bound for api in ALL for row, bound in api.lists.items()}
_OTHER: Final = Bound(count=MAX_ROWS, plural="rows")


def list_bound(schema: type, field: str) -> Bound:
    """The bound of a list; a list that no request names has `MAX_ROWS`."""
    return _LISTS.get((schema, field), _OTHER)
