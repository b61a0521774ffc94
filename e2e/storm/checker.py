"""The one checker of a storm: it gets everything that is seen, and keeps each broken rule. No I/O.

Several threads report to it, so every method takes the lock.
"""

import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from kafka_quorum.model.quorum import QuorumAnswer
from storm.contradictions import contradictions

Json: TypeAlias = dict[str, Any]

FATAL: Final = frozenset({"identity", "one quorum", "acknowledged writes"})
"""A breach of these rules ends a storm at once, so that the evidence stays as it is."""
TOOL: Final = "the storm itself"
"""Used in place of a rule if this program itself failed: the storm continues, and has not passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A broken rule: which, how, in which round, and what was seen."""

    rule: str
    text: str
    round: int
    seen: Json | None = None

    def __str__(self) -> str:
        """One line for a person."""
        return f"{self.rule} (round {self.round}): {self.text}"


def kind_of(rule: str, text: str) -> tuple[str, str]:
    """The kind of a breach: the text after a colon differs from one breach to the next."""
    return rule, text.partition(":")[0]


@dataclass(slots=True)
class Checker:
    """What was seen, and which of it is forbidden."""

    round: int = 0
    failures: list[Failure] = field(default_factory=list)
    """The first breach of each kind."""
    repeated: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each kind was seen."""
    leaders: dict[int, str] = field(default_factory=dict)
    """The replica key of the leader of each epoch."""
    answers: int = 0
    statuses: int = 0
    _record: Json = field(default_factory=dict)
    _disks: dict[str, int] = field(default_factory=dict)
    """The node id of every directory id that was ever in the record."""
    _retired: set[str] = field(default_factory=set)
    _voters: set[str] = field(default_factory=set)
    _clusters: set[str] = field(default_factory=set)
    _formatted: dict[str, str] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def fatal(self) -> bool:
        """Whether a broken rule forbids further acts on the cluster."""
        with self._lock:
            return any(failure.rule in FATAL for failure in self.failures)

    @property
    def leader(self) -> int | None:
        """The node id of the leader of the latest epoch."""
        with self._lock:
            return int(self.leaders[max(self.leaders)].partition("-")[0]) if self.leaders else None

    def fail(self, rule: str, text: str, seen: Json | None = None) -> None:
        """A rule is broken. The same breach again is only counted: the same up to the first colon."""
        with self._lock:
            self.repeated[kind_of(rule, text)] += 1
            if self.repeated[kind_of(rule, text)] == 1:
                self.failures.append(Failure(rule=rule, text=text, round=self.round, seen=seen))

    def saw_resource(self, resource: Json) -> None:
        """A version of the resource: its status may not contradict itself, nor change the cluster id."""
        with self._lock:
            self.statuses += 1
            for said in contradictions(resource):
                self.fail("no contradicting conditions", said, resource)
            cluster = (resource.get("status") or {}).get("clusterID")
            if cluster:
                self._saw_cluster(cluster, "the status")

    def saw_record(self, record: Json) -> None:
        """A version of the identity record: some decisions may never change."""
        with self._lock:
            before = self._record
            for name in ("cluster_id", "initial"):
                if before and record[name] != before[name]:
                    self.fail("identity", f"{name} changed from {before[name]} to {record[name]}", record)
            if before.get("phase") == "Started" and record["phase"] != "Started":
                self.fail("identity", f"the phase went back from Started to {record['phase']}", record)
            self._saw_cluster(record["cluster_id"], "the record")
            self._saw_disks(record)
            self._record = record

    def _saw_disks(self, record: Json) -> None:
        former = record.get("former") or ()
        self._retired.update(directory for row in (*record["nodes"], *former) for directory in row.get("lost") or ())
        for node in record["nodes"]:
            directory, node_id = node["directory_id"], int(node["node_id"])
            if directory is None:
                continue
            if self._disks.setdefault(directory, node_id) != node_id:
                text = f"directory id {directory} of controller {self._disks[directory]} is now controller {node_id}'s"
                self.fail("identity", text, record)
            if directory in self._retired:
                self.fail("identity", f"the retired directory id {directory} is controller {node_id}'s again", record)

    def saw_cluster(self, cluster_id: str, where: str) -> None:
        """A cluster id: there must be only one."""
        with self._lock:
            self._saw_cluster(cluster_id, where)

    def _saw_cluster(self, cluster_id: str, where: str) -> None:
        self._clusters.add(cluster_id)
        if len(self._clusters) > 1:
            self.fail("one quorum", f"a second cluster id, in {where}: {sorted(self._clusters)}")

    def saw_answer(self, answer: QuorumAnswer) -> None:
        """A leader's own description of the quorum: no other controller leads in the same epoch."""
        with self._lock:
            self.answers += 1
            self._voters.update(str(row.key) for row in answer.voters)
            own = (row.key for row in (*answer.voters, *answer.observers) if row.key.node_id == answer.leader_id)
            key = str(next(own, f"{answer.leader_id}-"))
            known = self.leaders.setdefault(answer.leader_epoch, key)
            if known != key:
                self.fail("one quorum", f"{known} and {key} both lead in epoch {answer.leader_epoch}")

    def saw_first_voters(self, claims: Iterable[tuple[str, str]]) -> None:
        """The claims (uid and name) that were formatted with first voters: none may be added to the first ones."""
        with self._lock:
            found = dict(claims)
            if not self._formatted:
                self._formatted = found
            for uid, name in found.items():
                if uid not in self._formatted:
                    self.fail("identity", f"claim {name} was formatted with first voters after the quorum had started")

    def saw_disks(self, disks: dict[str, dict[str, str]]) -> None:
        """`meta.properties` of every claim, at rest: the cluster's id, and the record's directory ids."""
        with self._lock:
            recorded = {node["directory_id"]: int(node["node_id"]) for node in self._record["nodes"]}
            for claim, disk in disks.items():
                if disk:
                    self._saw_cluster(disk["cluster.id"], f"claim {claim}")
            found = {disk["directory.id"]: int(disk["node.id"]) for disk in disks.values() if disk}
            wrong = {directory for directory, node_id in recorded.items() if found.get(directory) != node_id}
            if wrong:
                self.fail("identity", f"no disk has what the record says: {sorted(map(str, wrong))}", self._record)

    def saw_rest(self) -> None:
        """The quorum rests: every replica that was ever a voter was in the record."""
        with self._lock:
            had = {f"{node_id}-{directory}" for directory, node_id in self._disks.items()}
            if strange := self._voters - had:
                self.fail("one quorum", f"voters that the record never had: {sorted(strange)}", self._record)
