"""KRaft, as far as membership needs it: replica keys, epochs, elections, replication, voter changes, partitions.

A deterministic Raft in rounds (KIP-595, KIP-853): in each round leaders without a majority resign, a controller with
the best log is elected, all others fetch, high watermarks move, and leaders write a record. So the lag rarely reads 0.
The log of a replica is on its disk. The newest voter set that a process has read from it counts, committed or not
(`voter_history.py`). Without any, at kraft.version 0, the node ids of the configuration count, on any disk. Every
leader stamps with its own clock, which may jump. `kraft_api.py` and `features_api.py` have Kafka's order of checks and
its error codes.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.kafka.cluster_image import ClusterImage
from tests.simulation.model.kafka.disk import Disk, Entry, Registration
from tests.simulation.model.kafka.keeper_image import KeeperImage
from tests.simulation.model.kafka.process import CONTROLLER, Process, Software
from tests.simulation.model.kafka.releases import Levels, defaults, supported, why_not
from tests.simulation.model.kafka.tls import Connections

from kafka_quorum.model.ids import ClusterID, NodeID, ReplicaKey
from kafka_quorum.model.scram import ScramCredential

ELECTION_S: Final = 1.0
OBSERVER_FORGOTTEN_S: Final = 300.0
CAUGHT_UP_WITHIN_S: Final = 3600.0
"""AddRaftVoter itself only requires that a newcomer was at the log's end within the last hour."""


class CannotStartError(Exception):
    """Kafka exits at once: the disk does not match its configuration."""


class KraftModel:
    """Every controller process of every cluster, and the state that they agree on."""

    def __init__(self, clock: VirtualClock) -> None:
        """Begin with no process."""
        self._clock = clock
        self._started = 0
        self.processes: list[Process] = []
        self.ever_ran: set[ClusterID] = set()
        self.led_since_s: dict[ClusterID, float] = {}
        self.committed: dict[ClusterID, list[Entry]] = {}
        self.cut: set[str] = set()
        """Machines whose processes have no connection to processes on other machines."""
        self.unseen: set[str] = set()
        """Machines whose processes the operator cannot reach."""
        self.jumped_ms: dict[NodeID, int] = {}
        """The offset of the clock of a controller's machine, in addition to its steady difference."""
        self.connections = Connections(clock)
        self.refused_settings = 0
        """How many settings of controllers leaders have refused."""
        self.broken: list[str] = []
        self.voter_listeners: dict[tuple[ClusterID, NodeID], tuple[tuple[str, int], ...]] = {}
        """The listeners of voters as the metadata has them: those with which they fetched last."""
        """What no quorum may do, whatever the cause: committed records that a new leader does not have."""

    # Processes come and go

    def start(
        self,
        disk: Disk,
        *,
        node_id: NodeID,
        address: str,
        host: str,
        port: int,
        listener: str,
        node: str = "",
        as_: Software = CONTROLLER,
    ) -> Process:
        """Start Kafka on a disk; it exits if the disk, the release and the configuration do not match."""
        if disk.meta is None:
            raise CannotStartError("No readable meta.properties files found")
        if disk.meta.node_id != node_id:
            raise CannotStartError(f"Stored node id {disk.meta.node_id} doesn't match previous node id {node_id}")
        if disk.static and not disk.voter_set and not as_.static:
            raise CannotStartError("kraft.version is 0, and controller.quorum.voters is empty: voters=[]")
        if why := why_not(as_.release, disk.image.levels):
            raise CannotStartError(why)
        self._started += 1
        now_s, pace = self._clock.elapsed_s, as_.pace
        process = Process(
            disk=disk,
            meta=disk.meta,
            address=address,
            host=host,
            port=port,
            listener=as_.listens[0][0] if as_.listens else listener,
            listens=as_.listens or ((listener, port),),
            plain=as_.plain,
            node=node,
            tls=as_.tls,
            release=as_.release,
            static=frozenset(ReplicaKey(node_id=one, directory_id=None) for one in as_.static),
            broker=as_.broker,
            registers=as_.registers,
            migrates=as_.migrates,
            incarnation=f"process {self._started}",
            started_s=now_s,
            up_s=now_s + pace.startup_s,
            named_s=(now_s if as_.addressed_s is None else as_.addressed_s) + pace.dns_s,
            records=pace.records,
            fetch_timeout_s=as_.fetch_timeout_s,
            leaderless_since_s=now_s + pace.startup_s,
        )
        if why := process.history.read(disk.log):
            raise CannotStartError(why)
        disk.ran = True
        self.ever_ran.add(process.cluster_id)
        self.processes.append(process)
        return process

    def stop(self, process: Process) -> None:
        """The process is gone; the other processes notice that by themselves."""
        self.processes.remove(process)
        process.leads = False

    def resign(self, process: Process) -> None:
        """SIGTERM: a leader lets its followers fetch all records; its successor leads before the process is gone."""
        if not process.leads or process.frozen:
            return
        self.replicate(process.cluster_id)
        process.leads, process.high_watermark = False, -1
        now_s = self._clock.elapsed_s
        others = [one for one in self._running(process.cluster_id) if self.connected(one, process)]
        for one in others:
            one.leader, one.leaderless_since_s = None, now_s if one is process else now_s - ELECTION_S
        self._elect(others)

    def at(self, address: str, port: int) -> Process | None:
        """The process that listens there."""
        return next((one for one in self.processes if one.address == address and _has_port(one, port)), None)

    def named(self, host: str, port: int) -> Process | None:
        """The process that advertises this."""
        return next((one for one in self.processes if one.host == host and _has_port(one, port)), None)

    def leader_of(self, cluster_id: ClusterID) -> Process | None:
        """The leader of the highest epoch that a majority follows, by ground truth."""
        leaders = [one for one in self.processes if one.leads and one.cluster_id == cluster_id and self.is_up(one)]
        leaders = [one for one in leaders if self._has_majority(one)]
        return max(leaders, key=lambda one: one.disk.epoch, default=None)

    def _running(self, cluster_id: ClusterID) -> list[Process]:
        return [one for one in self.processes if one.cluster_id == cluster_id and self.is_up(one)]

    def is_up(self, process: Process) -> bool:
        """Whether the process has started, and is not frozen."""
        return not process.frozen and process.up_s <= self._clock.elapsed_s

    def connected(self, one: Process, other: Process) -> bool:
        """Whether two processes reach each other."""
        return one.node == other.node or not {one.node, other.node} & self.cut

    def finds(self, one: Process, other: Process) -> bool:
        """Whether a process finds another one by its name, and both accept each other's certificate."""
        if not self.connected(one, other) or other.named_s > self._clock.elapsed_s:
            return False
        if one.listener and not other.broker and all(name != one.listener for name, _ in other.listens):
            return False
        if one.is_plain(one.listener) and other.is_plain(one.listener):
            return True
        if one.is_plain(one.listener) or other.is_plain(one.listener):
            return False
        return self.connections.reach(one, other, self.wall(one), self.wall(other))

    @property
    def true_now(self) -> datetime:
        """The operator's time."""
        return self._clock.now()

    def wall(self, process: Process) -> datetime:
        """The time by which a process judges certificates."""
        return self._clock.now() + timedelta(milliseconds=self.jumped_ms.get(process.meta.node_id, 0))

    # One round

    def step(self) -> None:
        """One round of every cluster: elections, fetches, watermarks, a record of the leader."""
        for cluster_id in sorted({one.cluster_id for one in self.processes}):
            running = sorted(self._running(cluster_id), key=lambda one: str(one.key))
            self._resign(running)
            self._elect(running)
            self.replicate(cluster_id)
            self._end_too_old(running)
            for one in running:
                if one.leads:
                    self._register([one, *(other for other in running if other.leader is one)], one)
                    self.append(one, "no-op")

    def _end_too_old(self, running: list[Process]) -> None:
        """A process ends at once if its release does not support a level that it reads."""
        for one in running:
            levels = one.committed.levels
            if levels is one.vetted:
                continue
            one.failed = why_not(one.release, levels)
            if one.failed:
                self.stop(one)
            one.vetted = levels

    def _register(self, nodes: list[Process], leader: Process) -> None:
        """Each running process with a missing or old registration registers, once the leader has a high watermark."""
        if leader.high_watermark < 0:
            return
        known = {one.incarnation for one in leader.disk.image.registered}
        for node in nodes:
            if node.registers and node.incarnation not in known and node.high_watermark >= 0 and not node.failed:
                self.append_registration(
                    leader,
                    Registration(
                        node_id=node.meta.node_id,
                        broker=node.broker,
                        incarnation=node.incarnation,
                        supported=supported(node.release),
                        at_s=self.now_s,
                    ),
                )

    def replicate(self, cluster_id: ClusterID) -> None:
        """All followers fetch, and the high watermarks move."""
        running = sorted(self._running(cluster_id), key=lambda one: str(one.key))
        ranked = sorted((one for one in running if one.leads), key=lambda one: one.disk.epoch, reverse=True)
        followed: set[int] = set()
        for leader in ranked:  # a leader beyond a partition leads its side until it finds that no majority fetches
            if id(leader) in followed:
                continue
            side = [one for one in running if one is not leader and self.finds(one, leader)]
            followers = [one for one in side if id(one) not in followed]
            followed.update(map(id, (leader, *followers)))
            self._round(leader, followers)

    def _round(self, leader: Process, followers: list[Process]) -> None:
        for _ in range(2):  # the second fetch reports to the leader what the first one brought, as pipelined fetches do
            for one in followers:
                self._fetch(one, leader)
            self._advance(leader)
        for one in followers:
            reached = min(leader.high_watermark, one.disk.end)
            # What a broker has read as committed stays so, while a new leader does not know its high watermark yet.
            one.high_watermark = max(reached, one.high_watermark) if one.broker else reached

    def _resign(self, running: list[Process]) -> None:
        now_s = self._clock.elapsed_s
        for one in running:
            top = max(other.disk.epoch for other in running if self.connected(one, other))
            if one.leads and (one.disk.epoch < top or not self._has_majority(one) or self._is_removed(one)):
                one.leads, one.high_watermark = False, -1
                one.leaderless_since_s = now_s
            leader = one.leader
            if leader is not None and not self._follows(one, leader):
                gone = leader not in self.processes or leader.frozen or not self.connected(one, leader)
                until_s = one.fetched_s + one.fetch_timeout_s  # on a known resignation it does not wait
                one.leader, one.leaderless_since_s = None, max(now_s, until_s) if gone else now_s

    def _follows(self, one: Process, leader: Process) -> bool:
        return leader in self.processes and self.is_up(leader) and leader.leads and self.finds(one, leader)

    def _is_removed(self, leader: Process) -> bool:
        """A leader that is no longer a voter leads only until its removal is committed."""
        return leader.known(leader.key) not in leader.voters and not self.knows_of_change(leader)

    def _has_majority(self, leader: Process) -> bool:
        """Check-quorum: a majority has fetched within the timeout, or the leader was elected within it."""
        now_s = self._clock.elapsed_s
        voters = leader.voters
        since_s = now_s - 1.5 * leader.fetch_timeout_s
        if (
            leader.elected_s > since_s or len(voters) == 1
        ):  # with one voter no leader waits for fetches, not even one that is no voter
            return leader in self.processes
        own = leader.known(leader.key)
        alive = sum(1 for key in voters if key == own or leader.row(key).fetched_s >= since_s)
        return alive > len(voters) // 2

    def _elect(self, running: list[Process]) -> None:
        now_s = self._clock.elapsed_s
        ranked = sorted(running, key=lambda one: (-one.disk.last_epoch, -one.disk.end, one.meta.node_id))
        for candidate in ranked:
            voters = candidate.voters
            waited = now_s - candidate.leaderless_since_s >= ELECTION_S
            if candidate.leads or candidate.leader is not None or not waited:
                continue
            if candidate.known(candidate.key) not in voters:
                continue
            asked = [one for one in running if candidate.known(one.key) in voters]
            votes = [one for one in asked if self._votes_for(one, candidate)]
            if len(votes) > len(voters) // 2:
                self._lead(candidate, votes)

    def _votes_for(self, voter: Process, candidate: Process) -> bool:
        if voter is candidate:
            return True
        if not self.finds(candidate, voter):
            return False
        best = (candidate.disk.last_epoch, candidate.disk.end) >= (voter.disk.last_epoch, voter.disk.end)
        return best and voter.leader is None and not voter.leads

    def _lead(self, leader: Process, voters: list[Process]) -> None:
        epoch = max(one.disk.epoch for one in [leader, *voters]) + 1
        self.connections.broke()
        for one in [leader, *voters]:
            one.disk.epoch = epoch
        done = self.committed.get(leader.cluster_id, [])
        if leader.disk.log[: len(done)] != done:
            self.broken.append(
                f"{leader.key} leads cluster {leader.cluster_id} in epoch {epoch} without committed records"
            )
        now_s = self._clock.elapsed_s
        leader.leads, leader.leader, leader.high_watermark = True, None, -1
        leader.elected_s = now_s
        self.voter_listeners[leader.cluster_id, leader.meta.node_id] = leader.listens
        leader.rows = {}
        leader.epoch_start = leader.disk.end
        self.append(leader, f"leader {leader.key}")
        if not leader.disk.image.levels:  # the first leader of all: from here on the levels of the format hold
            levels = leader.disk.levels or defaults(leader.release, static=leader.is_static)
            self.append(leader, "features", levels=levels)
        self.led_since_s.setdefault(leader.cluster_id, now_s)

    def _fetch(self, follower: Process, leader: Process) -> None:
        disk, source = follower.disk, leader.disk
        if disk.epoch > source.epoch or follower.failed:
            return
        if follower.leads:
            follower.leads, follower.high_watermark = False, -1
        now_s = self._clock.elapsed_s
        disk.epoch, follower.leader, follower.fetched_s = source.epoch, leader, now_s
        self.voter_listeners[leader.cluster_id, follower.meta.node_id] = follower.listens
        common = min(disk.end, source.end)
        while common and disk.log[common - 1].epoch != source.log[common - 1].epoch:
            common -= 1
        del disk.log[common:]
        follower.history.truncated(common)
        row, now_ms = leader.row(follower.key), self.stamp_ms(leader, now_s)
        if disk.end >= source.end:
            row.caught_up_s, row.caught_up_ms = now_s, now_ms
        elif row.end_at_last_fetch >= 0 and disk.end >= row.end_at_last_fetch and row.fetched_s > row.caught_up_s:
            row.caught_up_s, row.caught_up_ms = row.fetched_s, row.fetched_ms
        row.end, row.fetched_s, row.fetched_ms, row.end_at_last_fetch = disk.end, now_s, now_ms, source.end
        row.directory = follower.meta.directory_id
        if not follower.slow:
            disk.log.extend(source.log[common : common + follower.records])
            follower.failed = follower.history.read(disk.log)
            if follower.failed:
                self.stop(follower)

    def _advance(self, leader: Process) -> None:
        voters, own = leader.voters, leader.known(leader.key)
        ends = sorted((leader.disk.end if key == own else leader.row(key).end for key in voters), reverse=True)
        reached = ends[len(voters) // 2] if ends else -1
        if reached > leader.epoch_start and reached > leader.high_watermark:
            leader.high_watermark = reached
            done, log = self.committed.get(leader.cluster_id, []), leader.disk.log[:reached]
            if log[: len(done)] != done[:reached]:
                self.broken.append(
                    f"{leader.key} commits other records of cluster {leader.cluster_id} than another did"
                )
            elif reached > len(done):
                self.committed[leader.cluster_id] = log

    # The leader's data

    @property
    def now_s(self) -> float:
        """The present moment, as rows have it."""
        return self._clock.elapsed_s

    def fresh_within(self, at_s: float, within_s: float) -> bool:
        """Whether a moment was at most that many seconds ago."""
        return at_s >= 0 and self._clock.elapsed_s - at_s <= within_s

    def stamp_ms(self, leader: Process, at_s: float) -> int:
        """A moment on the leader's own clock at its present offset; -1 for never."""
        if at_s < 0:
            return -1
        skew_ms = 61_000 * (1 + leader.meta.node_id % 5) - self.jumped_ms.get(leader.meta.node_id, 0)
        return self._clock.now_ms() - int((self._clock.elapsed_s - at_s) * 1000) - skew_ms

    def knows_of_change(self, leader: Process) -> bool:
        """Whether a leader has read a voter change that is not committed yet."""
        return leader.history.changed_at >= max(leader.high_watermark, 0)

    def uncommitted_change(self, leader: Process) -> bool:
        """Whether its log has a voter change that is not committed yet."""
        beyond = leader.disk.log[max(leader.high_watermark, 0) :]
        return any(entry.voters is not None for entry in beyond)

    def is_caught_up(self, leader: Process, key: ReplicaKey, within_s: float) -> bool:
        """Whether a replica was at the log's end recently, by ground truth of this leader."""
        return leader.known(key) == leader.known(leader.key) or self.fresh_within(leader.row(key).caught_up_s, within_s)

    # What a leader writes

    def append(
        self,
        leader: Process,
        what: str,
        *,
        voters: frozenset[ReplicaKey] | None = None,
        levels: Levels | None = None,
        registered: tuple[Registration, ...] | None = None,
        cluster: ClusterImage | None = None,
        keeper: KeeperImage | None = None,
        users: tuple[ScramCredential, ...] | None = None,
    ) -> None:
        """Write one record; its change holds from this record on, before it is committed."""
        log, image = leader.disk.log, leader.disk.image
        if voters is not None:
            image = replace(image, voters=voters)
        if levels is not None:
            image = replace(image, levels=levels, changed_at=len(log))
        if registered is not None:
            image = replace(image, registered=registered)
        if cluster is not None:
            image = replace(image, cluster=cluster)
        if keeper is not None:
            image = replace(image, keeper=keeper)
        if users is not None:
            image = replace(image, users=users)
        log.append(Entry(epoch=leader.disk.epoch, what=what, voters=voters, image=image))
        leader.history.read(log)  # a leader changes the voter set in its memory by one voter: it never ends by this

    def append_voters(self, leader: Process, voters: frozenset[ReplicaKey]) -> bool:
        """Write a VotersRecord and replicate it; returns whether it was committed at once."""
        self.append(leader, "voters", voters=voters)
        self.replicate(leader.cluster_id)
        return not self.uncommitted_change(leader)

    def append_levels(self, leader: Process, levels: Levels, voters: frozenset[ReplicaKey] | None = None) -> bool:
        """Write the finalized levels and replicate them; with `voters` the static quorum becomes dynamic."""
        rows = {key: leader.row(key) for key in voters or ()}
        self.append(leader, "features", voters=voters, levels=levels)
        leader.rows |= rows
        self.replicate(leader.cluster_id)
        return leader.high_watermark > leader.disk.image.changed_at

    def append_registration(self, leader: Process, new: Registration) -> None:
        """Write a registration in the place of an older one of the same node."""
        same = (new.broker, new.node_id)
        others = (one for one in leader.disk.image.registered if (one.broker, one.node_id) != same)
        registered = sorted((*others, new), key=lambda one: (not one.broker, one.node_id))
        self.append(leader, f"registers {new}", registered=tuple(registered))

    def levels_of(self, cluster_id: ClusterID) -> Levels:
        """The finalized levels that are committed, by ground truth."""
        done = self.committed.get(cluster_id)
        return done[-1].image.levels if done else ()


def _has_port(process: Process, port: int) -> bool:
    return any(each == port for _, each in process.listens)
