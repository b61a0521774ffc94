"""The safety rules of `docs/safety.md`, with their numbers, checked on ground truth as soon as something happens.

Nothing here takes the truth from the operator, its record or its code: disks have serial numbers, processes run on
disks, and the API server's store has every write. The record's JSON is read as a person would read it.
"""

import json
import re
from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

from tests.simulation.model.happened import (
    AddSent,
    Asked,
    BrokerFormatted,
    BrokerStarted,
    BrokerStop,
    ClaimDeleted,
    Created,
    DiskLost,
    Formatted,
    GaveBack,
    GhostCured,
    Happened,
    KeeperBrokerStarted,
    Moved,
    OfStreams,
    PodDeleted,
    RemoveSent,
    RevisionDeleted,
    Rewrote,
    ScramSent,
    Shared,
    Started,
    StepAllowed,
    StopSent,
    Unregistered,
    UpdateSent,
)
from tests.simulation.model.kubernetes.kube_model import Written, seen
from tests.simulation.model.kubernetes.pool_pods import LABEL_POOL
from tests.simulation.model.kubernetes.streams_pods import LABEL_APPLICATION
from tests.simulation.model.world import World
from tests.simulation.rules.book import RULES
from tests.simulation.rules.committed_rules import DONE, CommittedRules
from tests.simulation.rules.feature_rules import FEATURES_BY_KNOWLEDGE, FeatureRules
from tests.simulation.rules.glances import Glances
from tests.simulation.rules.kept_rules import KEPT, KeptRules
from tests.simulation.rules.membership_rules import FORMATTER, MembershipRules, retired_in
from tests.simulation.rules.migration_rules import MigrationRules
from tests.simulation.rules.pool_rules import POOLS_BY_KNOWLEDGE, PoolRules
from tests.simulation.rules.recovery_rules import RecoveryRules, stage_of
from tests.simulation.rules.roll_rules import NEEDLESS, RollRules
from tests.simulation.rules.streams_rules import STREAMS_BY_KNOWLEDGE
from tests.simulation.rules.trust_rules import TrustRules
from tests.simulation.rules.user_rules import UserRules
from tests.simulation.rules.word_rules import HELD, WordRules
from tests.simulation.rules.zookeeper_rules import ZooKeeperRules
from tests.status.contradictions import contradictions

from kafka_quorum.model.disk_work import COPY_ROLE, ROLE
from kafka_quorum.model.ids import ClusterID, DirectoryID, NodeID, ReplicaKey
from kafka_quorum.model.names import REVISION
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Plan
from kit.kube.protocol import CONFIG_MAPS as _CONFIG_MAPS
from kit.kube.protocol import PODS as _PODS
from kit.kube.protocol import Json

BY_KNOWLEDGE: Final = (
    FEATURES_BY_KNOWLEDGE
    | POOLS_BY_KNOWLEDGE
    | STREAMS_BY_KNOWLEDGE
    | {
        "3",
        "4",
        "5",
        "5, needless",
        DONE,
        "given up",
        "2, removed by another",
        KEPT,
        HELD,
    }
)
"""Rules that an operator keeps by the state that it has observed, because Kafka has no compare-and-swap.

Nothing excuses an operator that could have known, however many there are: only the holder of the lease acts. `excused`
says when a request takes effect that was decided too long before. By then another operator may have acted. For example,
the late request creates the pod of a controller that the other operator has just removed: no write of Kubernetes
depends on another object's.
"""
_RECORD_SUFFIX: Final = "-identity"
_COPY: Final = re.compile("-copy-[0-9a-f]{10}$")
"""The end of the name of a claim with a copy."""
_POOL_FORMATTER: Final = re.compile(r"-broker-format(-[0-9]+)*$")
"""The end of the name of a pod that formats volumes of a broker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A broken rule, and how it was broken."""

    rule: str
    text: str
    step: int

    def __str__(self) -> str:
        """The line in a report."""
        return f"step {self.step}: rule {self.rule}: {self.text}"


@dataclass(slots=True, kw_only=True)
class Lineage:
    """What has ever been true of one quorum: of all that shares its claims, or must share them."""

    recorded: set[str] = field(default_factory=set)
    formatted: set[ClusterID] = field(default_factory=set)
    initial_voters: set[frozenset[ReplicaKey]] = field(default_factory=set)
    initial_formats: set[ReplicaKey] = field(default_factory=set)
    phase_started: bool = False
    ran: bool = False
    lost: list[DiskLost] = field(default_factory=list)
    """Disks that were lost after the record had phase Started, or so shortly before that the order is unknown."""
    lost_at_s: float = 0.0
    """When the last of these disks was lost."""
    retired: dict[DirectoryID, str] = field(default_factory=dict)
    """Directory ids that the record retires, and since when: no pod that is created later ever runs one."""
    given_up: frozenset[DirectoryID] = frozenset()
    """Directory ids that were retired with their machine, which may return. No other disk with data is retired."""
    record: Json | None = None
    """The record as the operator wrote it last."""
    static: set[NodeID] = field(default_factory=set)
    """The controllers that were formatted for a static quorum."""


class Checker:
    """Checks the rules on every quorum of a world."""

    def __init__(self, world: World) -> None:
        """Listen to everything that happens."""
        self._world = world
        self._lineages: dict[tuple[str, str], Lineage] = {}
        self._ended: list[Lineage] = []
        self._formatted_on: dict[DirectoryID, int] = {}
        self._ran_on: dict[DirectoryID, int] = {}
        self.tolerated: Counter[str] = Counter()
        """How often each rule was broken without a fault of the operator: not observed yet, or a late request."""
        self.excused = _never
        """Whether a request takes effect now that was decided too long ago: it may break the rules by knowledge."""
        self.misled = _never
        """Whether the API server gave an old answer: the operator may create a pod from the record before the last."""
        self._late_pods: set[str] = set()
        """Formatters whose creation arrived late."""
        self._released: set[int] = set()
        """Serial numbers of disks whose claims the operator itself deleted."""
        self.violations: list[Violation] = []
        self._glances = Glances(world)
        self._rolls = RollRules(world, self._glances, self.fail)
        self._words = WordRules(world, self.fail)
        self._membership = MembershipRules(world, self._rolls, self._words, self.fail)
        self._features = FeatureRules(world, self._glances, self.fail)
        self._kept = KeptRules(world, self._glances, self.fail)
        self._committed = CommittedRules(world, self._glances, self.fail)
        self._pools = PoolRules(world, self.fail)
        self._recovery = RecoveryRules(world, self.fail)
        self._migrations = MigrationRules(world, self.fail)
        self._zookeeper = ZooKeeperRules(world, self.fail)
        self.trust = TrustRules(world, self.fail)
        self._users = UserRules(world, self.fail)
        self.led_looks_s = self._committed.led_looks_s
        world.witness = self
        world.listeners.append(self.hear)
        world.lookers.append(self.look)
        world.kube.watchers.append(self._written)

    def saw(self, namespace: str, name: str, observed: Observed) -> None:
        """A pass has looked."""
        self._committed.saw(namespace, name, observed)
        self.trust.saw(observed)
        self._users.saw(observed)

    def planned(self, plan: Plan | None) -> None:
        """A pass has made its plan."""
        self._committed.planned(plan)
        self.trust.planned(plan)
        self._users.planned(plan)

    def lineage(self, namespace: str, quorum: str) -> Lineage:
        """The recorded truth about a quorum."""
        return self._lineages.setdefault((namespace, quorum), Lineage())

    def end(self, namespace: str, quorum: str) -> None:
        """A quorum is deleted together with its volumes: a later quorum of that name is another one."""
        self._ended.append(self._lineages.pop((namespace, quorum), Lineage()))

    def abandoned(self, namespace: str, quorum: str) -> None:
        """Only the disks of a quorum are left: their record begins again, and none of them is formatted again."""
        before = self.lineage(namespace, quorum)
        self._lineages[namespace, quorum] = Lineage(ran=before.ran, formatted=before.formatted, static=before.static)

    def look(self) -> None:
        """Judge the present state: after every step of the world, and after every pass."""
        for text in self._world.kraft.broken:
            self.fail("committed records", text)
        self._world.kraft.broken.clear()
        self._glances.look()
        self._words.look()
        self._rolls.look()
        self._kept.look()
        self._pools.look()
        self._recovery.look()
        self._zookeeper.look()
        self.trust.look()
        running: set[ReplicaKey] = set()
        for process in self._world.kraft.processes:
            if process.key in running:
                self.fail("2", f"replica {process.key} runs twice")
            running.add(process.key)

    def hear(self, event: Happened) -> None:
        """Judge one thing that happened."""
        match event:
            case Formatted() | Started() | Rewrote():
                self._of_a_disk(event)
            case Shared(pods=pods) if self._late_pods & set(pods):
                self.tolerated["one user of a claim"] += 1  # a late formatter finds its own format, and does nothing
            case Shared(claim=claim, pods=pods):
                self.fail("one user of a claim", f"{' and '.join(pods)} use claim {claim} at the same time")
            case DiskLost():
                self._disk_lost(event)
            case RevisionDeleted():
                self._revision_deleted(event)
            case Moved() | Unregistered() | BrokerFormatted() | BrokerStarted() | BrokerStop():
                self._pools.hear(event)
            case GaveBack():
                self._zookeeper.gave_back(event)
            case KeeperBrokerStarted(broker=broker):
                self._zookeeper.broker_started(broker)
            case _:
                self._asked(event)

    def _of_a_disk(self, event: Formatted | Started | Rewrote) -> None:
        match event:
            case Formatted():
                self._formatted(event)
            case Started():
                self._started(event)
            case Rewrote():
                lineage = self.lineage(event.namespace, event.quorum)
                self._recovery.rewrote(event, lineage.record, frozenset(map(str, lineage.retired)))

    def _asked(self, event: Asked | OfStreams) -> None:
        """A request of the operator; `StreamsRules` judge what happens to applications."""
        match event:
            case ClaimDeleted():
                self._claim_deleted(event)
            case StopSent() | PodDeleted():
                self._stopped(event)
            case AddSent():
                self._membership.added(event)
                self._migrations.added(event)
                self._kept.change_sent(event)
            case RemoveSent():
                self._membership.removed(event)
                self._words.removed(event, self._every_retired())
                self._kept.change_sent(event)
            case UpdateSent():
                self._features.sent(event)
                self._migrations.updated(event)
            case StepAllowed():
                self._features.allowed(event)
            case GhostCured():
                self._features.cured(event)
            case ScramSent():
                self._users.sent(event)
            case Created(body=body) if LABEL_APPLICATION not in (body["metadata"].get("labels") or {}):
                self._created(event)

    def _every_retired(self) -> frozenset[DirectoryID]:
        return frozenset(directory for lineage in self._lineages.values() for directory in lineage.retired)

    def _claim_deleted(self, event: ClaimDeleted) -> None:
        self._words.claim_deleted(event)
        if event.disk is not None:
            self._released.add(event.disk.serial)
        self._pools.claim_deleted(event.name, event.disk)
        if not self._zookeeper.has_gone_back() and _COPY.search(event.name) is None:
            self._membership.claim_deleted(event)

    def _stopped(self, event: StopSent | PodDeleted) -> None:
        stop = event.stop if isinstance(event, StopSent) else event
        if isinstance(event, StopSent):
            self._words.stop_sent(stop)
        if self._zookeeper.is_going_back():
            self._zookeeper.pod_deleted(stop)
            return
        lineage = self.lineage(stop.namespace, stop.quorum)
        if stage_of(lineage.record):
            self._recovery.stopped(stop, lineage.record)
            return
        retired = lineage.retired.keys()
        if isinstance(event, StopSent):
            self._membership.stop_sent(stop, retired)
            self._kept.stop_sent(stop, frozenset(retired))
            self._pools.quorum_stopped(stop)
        else:
            self._membership.pod_deleted(stop, retired)

    def _revision_deleted(self, event: RevisionDeleted) -> None:
        """If the deletion arrives late, the spec may have returned to the revision: then it is created again."""
        pods = [pod["metadata"] for pod in self._world.kube.all(_PODS)]
        users = [str(one["name"]) for one in pods if (one.get("annotations") or {}).get(REVISION) == event.name]
        for item in self._world.kube.all(_CONFIG_MAPS):
            record = _record(item) or {}
            named = {record.get("applied_revision"), *(node["revision"] for node in record.get("nodes", ()))}
            users += [str(item["metadata"]["name"])] if event.name in named else []
        if users and not event.late:
            self.fail("revisions", f"revision {event.name} is deleted, and {', '.join(users)} is made from it")

    def _disk_lost(self, event: DiskLost) -> None:
        self._pools.disk_lost(event)
        lineage = self.lineage(event.namespace, event.quorum)
        if event.serial not in self._released and (lineage.phase_started or event.reported):
            lineage.lost.append(event)
            lineage.lost_at_s = self._world.clock.elapsed_s

    def fail(self, rule: str, text: str) -> None:
        """Note that a rule of the book was broken; a rule by knowledge counts only if nothing excuses it."""
        if rule not in RULES:
            raise ValueError(f"there is no rule {rule!r} in the book: add it there, with what it says")
        if (rule in BY_KNOWLEDGE and self.excused()) or (rule in (NEEDLESS, HELD) and self.misled()):
            self.tolerated[rule] += 1
            return
        self.violations.append(Violation(rule=rule, text=text, step=self._world.steps))

    # Rule 1: one cluster id, one set of initial voters, no initial format once the quorum may have started

    def _formatted(self, event: Formatted) -> None:
        lineage = self.lineage(event.namespace, event.quorum)
        self._formatted_on[event.key.directory_id or DirectoryID("")] = event.serial
        lineage.formatted.add(event.cluster_id)
        self._zookeeper.formatted(event)
        if len(lineage.formatted) > 1:
            self.fail("1", f"disks are formatted for clusters {sorted(lineage.formatted)}")
        if any(event.cluster_id in ended.formatted for ended in self._ended):
            self.fail("1", f"cluster id {event.cluster_id} of a deleted quorum is used again")
        self._features.formatted(event, ran=lineage.ran)
        if event.static:
            lineage.static.add(event.key.node_id)
            if lineage.phase_started:
                self.fail("1", f"{event.key} is formatted with static voters behind the barrier")
        if not event.initial:
            return
        lineage.initial_voters.add(event.voters)
        lineage.initial_formats.add(event.key)
        if lineage.phase_started:
            self.fail("1", f"{event.key} is formatted with initial voters behind the barrier")
        if lineage.ran:
            self.fail("1", f"{event.key} is formatted with initial voters after the quorum has started")
        if event.key not in event.voters:
            self.fail("1", f"{event.key} is formatted with initial voters that do not contain it")
        if len(lineage.initial_voters) > 1:
            self.fail("1", f"disks are formatted with {len(lineage.initial_voters)} sets of initial voters")

    # Rule 2: a directory id runs on its own disk only

    def _started(self, event: Started) -> None:
        lineage = self.lineage(event.namespace, event.quorum)
        directory = event.key.directory_id or DirectoryID("")
        lineage.ran = True
        self._rolls.started(event)
        self._static_started(lineage, event)
        self._recovery.started(event, lineage.record)
        if not lineage.phase_started:
            self.fail("1", f"{event.key} runs before the record says Started")
        for voters in lineage.initial_voters:
            if missing := voters - lineage.initial_formats:
                names = ", ".join(sorted(map(str, missing)))
                self.fail("1", f"{event.key} runs before {names} was ever formatted")
        if self._formatted_on.get(directory) != event.serial:
            self.fail("2", f"{event.key} runs on disk {event.serial}, which was not formatted as it")
        if event.pod_made > lineage.retired.get(directory, event.pod_made):
            self.fail("2, removed by another", f"{event.key} is retired, and runs in a pod that was made after that")
        if self._ran_on.setdefault(directory, event.serial) != event.serial:
            self.fail("2", f"{event.key} runs on disk {event.serial}, and ran on {self._ran_on[directory]} before")

    def _static_started(self, lineage: Lineage, event: Started) -> None:
        """The barrier of a static quorum: every voter of the configuration is formatted before any of them runs."""
        for process in self._world.kraft.processes:
            if process.key == event.key and process.is_static:
                missing = {key.node_id for key in process.static} - lineage.static
                if missing:
                    self.fail("1", f"{event.key} runs before static voters {sorted(missing)} were ever formatted")

    # Rule 8 and names

    def _created(self, event: Created) -> None:
        plural, body = event.plural, event.body
        name, namespace = str(body["metadata"]["name"]), str(body["metadata"]["namespace"])
        labels = body["metadata"].get("labels") or {}
        if LABEL_POOL in labels or labels.get("kafkaquorum.io/role") in (ROLE, COPY_ROLE):
            self._created_apart(event, name, labels)
            return
        quorum = labels.get("kafkaquorum.io/quorum", "")
        self._words.created(event)
        if plural == "persistentvolumeclaims" and not re.fullmatch(rf"{quorum}-\d+-g\d+", name):
            self.fail("names", f"claim {name} does not carry node id and generation")
        if plural != "pods":
            return
        role, node_id = labels.get("kafkaquorum.io/role"), labels.get("kafkaquorum.io/node-id")
        self._pod_created(self.lineage(namespace, quorum), event, formats=role == FORMATTER)
        if int(node_id or 0) < 3000:
            self.fail("names", f"pod {name} has node id {node_id}")
        if role != FORMATTER and body["spec"].get("hostname") != f"{quorum}-{node_id}":
            self.fail("names", f"pod {name} has host name {body['spec'].get('hostname')}")
        if event.late and role == FORMATTER:
            self._late_pods.add(name)
        if event.late:
            return  # its volume and its kubelet decide what it does then: `Shared` and `Started` report it
        self._shares(namespace, quorum, body, formats=role == FORMATTER)

    def _shares(self, namespace: str, quorum: str, body: Json, *, formats: bool) -> None:
        """A pod is made: no other pod may use its claim, but one in which Kafka can never run again."""
        name, volume = body["metadata"]["name"], _claim_of(body)
        for other in self._world.kube.list(_PODS, namespace, {"kafkaquorum.io/quorum": quorum}):
            works = (other["metadata"].get("labels") or {}).get("kafkaquorum.io/role") == ROLE
            if other["metadata"]["name"] == name or works or _claim_of(other) != volume:
                continue
            if not (formats and self._is_over(namespace, quorum, other)):
                self.fail("one user of a claim", f"pod {name} is made while {other['metadata']['name']} is there")

    def _is_over(self, namespace: str, quorum: str, pod: Json) -> bool:
        """Whether Kafka can never run again in a pod: it does not run, the pod ends, and its directory id is retired.

        A kubelet starts nothing in a pod that is being deleted, not even after its machine had no power: then there is
        no sandbox (`e2e/scenarios/test_lingering.py` measures it).
        """
        metadata = pod["metadata"]
        sandbox = self._world.kubelet.of_pod(namespace, metadata["name"])
        made_for = metadata["annotations"].get("kafkaquorum.io/directory-id", "")
        ends = (sandbox is None or sandbox.process is None) and "deletionTimestamp" in metadata
        return ends and made_for in self.lineage(namespace, quorum).retired

    def _created_apart(self, event: Created, name: str, labels: Json) -> None:
        """What belongs to a pool; `RecoveryRules` judge what pods do that work on disks."""
        if LABEL_POOL not in labels:
            if event.late:  # it finds Kafka's lock, or its own work
                self._late_pods.add(name)
            return
        if event.late and _POOL_FORMATTER.search(name):
            self._late_pods.add(name)
        self._pools.created(event)

    def _pod_created(self, lineage: Lineage, event: Created, *, formats: bool) -> None:
        """Rules 2, 7 and 9: the disk, the image and the format of a new pod."""
        body = event.body
        name, container = str(body["metadata"]["name"]), body["spec"]["containers"][0]
        expected = next((row.get("value", "") for row in container["env"] if row["name"] == "KQ_DIRECTORY_ID"), "")
        if not formats and not event.late and expected in lineage.retired:
            self.fail("2, removed by another", f"pod {name} is made to run {expected}, which is retired")
        if not formats and not event.late:
            self._features.pod_created(event)
        if not formats:
            self._rolls.created(event)
            self._migrations.created(event)
        if "--release-version" in container.get("command", ()):
            self.fail("9", f"pod {name} formats with --release-version")

    def _said(self, written: Written) -> None:
        """A status must not contradict itself. It may describe an older spec, but not a later one."""
        body = seen(written.after)
        if body is None or not body.get("status", {}).get("conditions"):
            return
        for text in contradictions(body["status"]):
            self.fail("conditions", text)
        if body["status"]["observedGeneration"] > body["metadata"]["generation"]:
            self.fail("conditions", "the status is of a later generation than the spec")

    def _begun_before(self, lineage: Lineage, before: Json | None, *, started: bool) -> Json | None:
        """The record before; None if the cluster went back to ZooKeeper, and another attempt begins.

        What was retired stays so.
        """
        last = lineage.record
        if last is None or started or last["phase"] != "Started" or self._zookeeper.may_begin_again(last):
            return before
        lineage.phase_started = lineage.ran = False
        lineage.static.clear()
        self._world.zookeeper.forget_quorum()
        return None

    def _written(self, written: Written) -> None:
        plural, namespace, name = written.key
        if plural == "kafkaquorums" and written.by_operator:
            self._said(written)
        if plural != "configmaps" or not name.endswith(_RECORD_SUFFIX) or written.after is None:
            return
        if not written.by_operator:
            return  # a person with an editor
        quorum = name.removesuffix(_RECORD_SUFFIX)
        lineage = self.lineage(namespace, quorum)
        record, before = _record(seen(written.after)), _record(seen(written.before))
        if record is None:
            self.fail("identity", f"the record of {quorum} cannot be read")
            return
        cluster_id, started = str(record["cluster_id"]), record["phase"] == "Started"
        lineage.recorded.add(cluster_id)
        if len(lineage.recorded) > 1:
            self.fail("8", f"a new identity is made, {cluster_id}, where there was one: {lineage.recorded}")
        before = self._begun_before(lineage, before, started=started)
        lineage.record = record
        if lineage.phase_started and not started:
            self.fail("1", "the record goes back from Started to Formatting")
        if before is not None and _changed(before["initial"], record["initial"]):
            self.fail("1", "the initial voters in the record change")
        lineage.phase_started = lineage.phase_started or started
        retired = retired_in(record)
        self._given_up((namespace, quorum), lineage, record, retired)
        if forgotten := set(lineage.retired) - retired:
            self.fail("2", f"the record forgets that {', '.join(sorted(forgotten))} are retired")
        for directory in retired:
            lineage.retired.setdefault(directory, self._world.clock.stamp())

    def _given_up(self, of: tuple[str, str], lineage: Lineage, record: Json, retired: AbstractSet[DirectoryID]) -> None:
        """The record retires disks. What a recovery gives up is judged when it rewrites a log."""
        if stage_of(record):
            return
        kept = {node["node_id"] for node in record.get("nodes", ())}
        lineage.given_up |= self._membership.retired(of, retired - set(lineage.retired), kept)
        of_nodes = retired_in({**record, "former": ()}) - set(lineage.retired)
        self._committed.retired(ClusterID(str(record["cluster_id"])), of_nodes)


def _never() -> bool:
    return False


def _changed(before: list[Json], now: list[Json]) -> bool:
    """Whether the initial voters have changed; a static one has no directory id until it is formatted."""
    if len(before) != len(now):
        return True
    return any(old not in (new, {**new, "directory_id": None}) for old, new in zip(before, now, strict=True))


def _claim_of(pod: Json) -> str:
    volumes = pod["spec"].get("volumes") or []
    return next((v["persistentVolumeClaim"]["claimName"] for v in volumes if "persistentVolumeClaim" in v), "")


def _record(body: Json | None) -> Json | None:
    if body is None:
        return None
    try:
        record: Json = json.loads(body["data"]["record.json"])
    except (KeyError, ValueError):
        return None
    return record
