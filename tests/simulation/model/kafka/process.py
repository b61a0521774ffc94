"""A process of the KRaft model: what runs on a disk, and what a leader records about the other replicas."""

from dataclasses import dataclass, field
from typing import Final

from tests.simulation.model.kafka.disk import NOTHING, Disk, Image, Meta
from tests.simulation.model.kafka.releases import NEWEST, Levels
from tests.simulation.model.kafka.startup import INSTANT, UNBOUNDED, Pace
from tests.simulation.model.kafka.tls import Tls
from tests.simulation.model.kafka.voter_history import VoterHistory

from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey

FETCH_TIMEOUT_S: Final = 2.0
"""Kafka's default of controller.quorum.fetch.timeout.ms."""


@dataclass(slots=True, kw_only=True)
class Row:
    """What a leader records about another replica: moments (negative for never), and its own clock's stamps of them."""

    end: int = 0
    fetched_s: float = -1.0
    caught_up_s: float = -1.0
    fetched_ms: int = -1
    caught_up_ms: int = -1
    end_at_last_fetch: int = -1
    directory: DirectoryID | None = None
    """The directory id that the last fetch named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """What runs: the release, as controller or broker, and `controller.quorum.voters` if it is set."""

    release: str = NEWEST
    static: frozenset[NodeID] = frozenset()
    broker: bool = False
    registers: bool = True
    """Whether it registers as soon as it follows; a broker of a pool registers by itself."""
    fetch_timeout_s: float = FETCH_TIMEOUT_S
    pace: Pace = INSTANT
    migrates: bool = False
    """A controller with `zookeeper.metadata.migration.enable`."""
    addressed_s: float | None = None
    """When its pod got its address; None if that was at the start."""
    tls: Tls | None = None
    """What secures its listener and its connections; None without TLS."""
    listens: tuple[tuple[str, int], ...] = ()
    """Names and ports of the listeners of a controller, the one first by which it reaches others."""
    plain: frozenset[str] = frozenset()
    """Names of listeners without TLS, beside those that have it."""


CONTROLLER: Final = Software()


@dataclass(slots=True, kw_only=True, eq=False)
class Process:
    """One controller or broker. `host` is what it advertises, `address` where it listens, `node` the machine.

    `static` are the voters of its configuration, without directory ids.
    """

    disk: Disk
    meta: Meta
    address: str
    host: str
    port: int
    listener: str
    """The one by which it reaches controllers; empty for a broker of which that is not modelled."""
    listens: tuple[tuple[str, int], ...] = ()
    """Names and ports of all its listeners."""
    plain: frozenset[str] = frozenset()
    node: str = ""
    tls: Tls | None = None
    release: str = NEWEST
    static: frozenset[ReplicaKey] = frozenset()
    broker: bool = False
    registers: bool = True
    migrates: bool = False
    incarnation: str = ""
    started_s: float = 0.0
    up_s: float = 0.0
    """The moment from which it listens, fetches and votes."""
    told: Image | None = None
    """The levels that it reports in place of the committed ones: its image is published late."""
    named_s: float = 0.0
    """The moment from which the others find it by its name."""
    records: int = UNBOUNDED
    """How many records one fetch brings at most."""
    fetch_timeout_s: float = FETCH_TIMEOUT_S
    fetched_s: float = -1.0
    """When it last fetched from a leader."""
    failed: str = ""
    """Why it ended by itself."""
    vetted: Levels = ()
    """The levels that it is known to support."""
    frozen: bool = False
    slow: bool = False
    """It fetches, and each fetch brings almost nothing."""
    leads: bool = False
    leader: "Process | None" = None
    leaderless_since_s: float = 0.0
    high_watermark: int = -1
    epoch_start: int = 0
    elected_s: float = 0.0
    rows: dict[ReplicaKey, Row] = field(default_factory=dict)
    history: VoterHistory = field(default_factory=VoterHistory)
    """The voter sets that it has read from the log."""

    @property
    def key(self) -> ReplicaKey:
        """The replica that runs."""
        return ReplicaKey(node_id=self.meta.node_id, directory_id=self.meta.directory_id)

    def is_plain(self, listener: str) -> bool:
        """Whether this listener of it has no TLS."""
        return self.tls is None or listener in self.plain

    @property
    def cluster_id(self) -> ClusterID:
        """The cluster that it runs for."""
        return self.meta.cluster_id

    @property
    def is_static(self) -> bool:
        """Whether its voters are those of its configuration: it has no voter set with directory ids."""
        return bool(self.static) and not self._dynamic

    @property
    def voters(self) -> frozenset[ReplicaKey]:
        """The voter set in its memory: it decides in elections and about majorities, also if the log has another."""
        return self._dynamic or self.static

    @property
    def _dynamic(self) -> frozenset[ReplicaKey]:
        newest = self.history.newest
        return self.disk.voters if newest is None else newest

    def known(self, key: ReplicaKey) -> ReplicaKey:
        """A replica as in the voter set of this process: a static voter is its node id, on any disk."""
        if not self.static or not self.is_static:
            return key
        bare = ReplicaKey(node_id=key.node_id, directory_id=None)
        return bare if bare in self.static else key

    @property
    def committed(self) -> Image:
        """The committed part of the log that this process has fetched."""
        return self.disk.log[self.high_watermark - 1].image if self.high_watermark > 0 else NOTHING

    @property
    def reported(self) -> Image:
        """The levels that it reports."""
        return self.committed if self.told is None else self.told

    def row(self, key: ReplicaKey) -> Row:
        """What this leader records about a replica."""
        known = self.known(key)
        found = self.rows.get(known)
        if found is None:
            found = self.rows[known] = Row()
        return found
