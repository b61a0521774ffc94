"""Controllers that get no request that changes anything unless this operator holds the lease."""

from collections.abc import Callable
from typing import Final

from kafka_quorum.wire.protocol import Controllers
from kafka_quorum.wire.zookeeper import ZooKeepers
from kit.leased import leased

_READS: Final = frozenset(
    {"api_versions", "describe_cluster", "describe_quorum", "handshake", "scram_present", "close"}
)
"""Requests that change nothing, and need no lease. Every other request needs the lease."""


_KEEPER_READS: Final = frozenset({"read", "close"})


def leased_zookeepers(zookeepers: ZooKeepers, may_act: Callable[[], bool]) -> ZooKeepers:
    """The same ZooKeepers; the write of a roll back raises `NotActing` without the lease."""
    return leased(zookeepers, _KEEPER_READS, may_act)


def leased_controllers(controllers: Controllers, may_act: Callable[[], bool]) -> Controllers:
    """The same controllers; changes raise `NotActing` without the lease."""
    return leased(controllers, _READS, may_act)
