"""One complete read of what Kafka keeps in ZooKeeper.

A read is complete or it is an error. A node that does not exist is a value; a node that cannot be read, or that does
not hold what Kafka writes, ends the read. The session began with a sync, so the read shows everything that was
committed before it. The nodes are read one after another: a write meanwhile may show in some of them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, ParamSpec, TypeVar

from kafka_quorum.errors import ZooKeeperError
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.zookeeper import ControllerNode, EpochNode, MigrationNode, ZooKeeperBroker, ZooKeeperSeen
from kafka_quorum.wire import zookeeper_nodes as nodes
from kafka_quorum.wire.bounds import MAX_BROKERS, MAX_PARTITIONS
from kafka_quorum.wire.zookeeper_rights import denied
from kafka_quorum.wire.zookeeper_session import Node, Session
from kit.parsing import Malformed

MAX_ENCRYPTED: Final = 1_000
"""How many encrypted settings are named, of all brokers."""
P = ParamSpec("P")
T = TypeVar("T")


def read_all(session: Session, *, rights: bool, states: bool) -> ZooKeeperSeen:
    """Everything that a migration depends on, as `ZooKeepers.read` says (ZooKeeperError)."""
    reader = Reader(session)
    controller, epoch, migration = reader.claims()
    brokers = reader.brokers()
    topics = reader.topics(states=states)
    return ZooKeeperSeen(
        cluster_id=reader.one("/cluster/id", lambda node: nodes.cluster_id(node.data)) or "",
        controller=controller,
        controller_epoch=epoch,
        migration=migration,
        brokers=brokers,
        assigned=topics.assigned,
        topics=topics.topics,
        partitions=topics.partitions,
        state_epoch=topics.state_epoch,
        behind=topics.behind,
        denied=reader.checked("/", denied, session, topics.names) if rights else (),
        encoded=reader.encrypted(),
        acls=reader.any_acl(),
        users=reader.any_user(),
        reassigning=reader.reassigning(topics.moving),
        deleting=reader.names("/admin/delete_topics", nodes.topic_names),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Topics:
    names: tuple[str, ...]
    topics: int
    partitions: int
    assigned: dict[NodeID, str]
    moving: frozenset[str]
    state_epoch: int | None
    behind: dict[NodeID, int] | None


@dataclass(slots=True)
class Reader:
    """The parts of a read; each is complete, or an error that names the node."""

    session: Session

    def claims(self) -> tuple[ControllerNode | None, EpochNode | None, MigrationNode | None]:
        """The three nodes that a controller and the driver write."""
        return (
            self.one(
                "/controller",
                lambda node: nodes.controller(node.data, version=node.version, ephemeral=node.ephemeral),
            ),
            self.one("/controller_epoch", lambda node: nodes.controller_epoch(node.data, version=node.version)),
            self.one("/migration", lambda node: nodes.migration(node.data, version=node.version)),
        )

    def one(self, path: str, parse: Callable[[Node], T]) -> T | None:
        """One node, None if it does not exist."""
        node = self.session.get(path)
        return None if node is None else self.checked(path, parse, node)

    def checked(self, path: str, parse: Callable[P, T], *args: P.args, **named: P.kwargs) -> T:
        """What a parser makes of a node; its fault gets the node's path."""
        try:
            return parse(*args, **named)
        except Malformed as error:
            raise self.session.malformed(path, error) from None

    def names(self, path: str, parse: Callable[[list[str]], tuple[T, ...]]) -> tuple[T, ...]:
        """The children of a node, none if it does not exist."""
        return self.checked(path, parse, self.session.children(path) or [])

    def present(self, paths: Iterable[str]) -> Iterator[tuple[str, Node]]:
        """The nodes that still exist."""
        return ((path, node) for path, node in self.session.get_all(paths) if node is not None)

    def brokers(self) -> tuple[ZooKeeperBroker, ...]:
        """Those that are registered."""
        ids = self.names("/brokers/ids", nodes.broker_ids)
        found = []
        for path, node in self.present(f"/brokers/ids/{node_id}" for node_id in ids):
            found.append(self.checked(path, nodes.broker, path.rpartition("/")[2], node.data))
        return tuple(found)

    def topics(self, *, states: bool) -> _Topics:
        """Every topic's assignment, and with `states` the highest epoch in its partitions' states."""
        names = self.names("/brokers/topics", nodes.topic_names)
        topics, partitions = 0, 0
        assigned: dict[NodeID, str] = {}
        moving = set[str]()
        places: dict[str, frozenset[NodeID]] = {}
        for path, node in self.present(f"/brokers/topics/{name}" for name in names):
            assignment = self.checked(path, nodes.assignment, node.data)
            found, topic = assignment.partitions, path.rpartition("/")[2]
            moving.update(f"{topic}-{index}" for index in assignment.moving)
            topics, partitions = topics + 1, partitions + len(found)
            if partitions > MAX_PARTITIONS:
                raise self.too_much(f"more than {MAX_PARTITIONS} partitions")
            for index, replicas in found.items():
                for node_id in replicas:
                    assigned.setdefault(node_id, f"{topic}-{index}")
            if len(assigned) > MAX_BROKERS:
                raise self.too_much(f"replicas on more than {MAX_BROKERS} brokers")
            if states:
                places |= {f"{path}/partitions/{index}/state": replicas for index, replicas in found.items()}
        states_ = self._states(places) if states else None
        return _Topics(
            names=names,
            topics=topics,
            partitions=partitions,
            assigned=assigned,
            moving=frozenset(moving),
            state_epoch=None if states_ is None else states_[0],
            behind=None if states_ is None else states_[1],
        )

    def reassigning(self, moving: frozenset[str]) -> tuple[str, ...]:
        """The partitions that are moved: those of the topics' own znodes (KIP-455), and those of the old znode."""
        old = self.one("/admin/reassign_partitions", lambda node: nodes.reassigning(node.data)) or ()
        return tuple(sorted(moving.union(old)))

    def too_much(self, what: str) -> ZooKeeperError:
        """The error for more topics or partitions than are read."""
        return self.session.malformed("/brokers/topics", Malformed(f"it has {what}"))

    def _states(self, places: Mapping[str, frozenset[NodeID]]) -> tuple[int, dict[NodeID, int]]:
        """The highest epoch, and for each broker of how many of its partitions it is not in sync."""
        highest, behind = 0, Counter[NodeID]()
        for path, node in self.present(places):
            found = self.checked(path, nodes.state, node.data)
            highest = max(highest, found.epoch)
            behind.update(places[path] - found.isr)
        return highest, dict(behind)

    def encrypted(self) -> tuple[str, ...]:
        """The names of the brokers' encrypted settings: every one is in the way, so the first ones are enough."""
        names = self.names("/config/brokers", nodes.child_names)
        found: list[str] = []
        for path, node in self.present(f"/config/brokers/{name}" for name in names):
            found.extend(self.checked(path, nodes.encrypted, path.rpartition("/")[2], node.data))
            if len(found) >= MAX_ENCRYPTED:
                break
        return tuple(found[:MAX_ENCRYPTED])

    def any_user(self) -> bool:
        """Whether any user has a SCRAM credential. Every user is read: a malformed one would stop the driver too."""
        names = self.names("/config/users", nodes.child_names)
        found = [
            self.checked(path, nodes.is_scram_user, node.data)
            for path, node in self.present(f"/config/users/{name}" for name in names)
        ]
        return any(found)

    def any_acl(self) -> bool:
        """Whether any resource has an ACL of Kafka's: the nodes of the types of resources always exist."""
        paths = [f"/kafka-acl/{kind}" for kind in self.names("/kafka-acl", nodes.child_names)]
        for pattern in self.names("/kafka-acl-extended", nodes.child_names):
            root = f"/kafka-acl-extended/{pattern}"
            paths += [f"{root}/{kind}" for kind in self.names(root, nodes.child_names)]
        return any(children for _, children in self.session.children_all(paths))
