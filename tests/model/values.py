"""A quorum at rest, as values: every test starts from here and changes one thing.

Controllers 3000, 3001 and 3002 of the resource `kafka/alpha`; everything is in order, so that a plan for an unchanged
`at_rest()` does nothing.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, TypeAlias, TypeVar

from kafka_quorum.api.features import default_levels, supported_by
from kafka_quorum.api.release import parse_release
from kafka_quorum.model import names
from kafka_quorum.model.actions import DECISIONS, DecideRecord, RecordChange, WriteRecord
from kafka_quorum.model.desired import (
    BootstrapMode,
    ControllerListener,
    Cure,
    Desired,
    Downgrade,
    FeaturePolicy,
    Replacement,
    Runtime,
    Storage,
    VolumeFate,
)
from kafka_quorum.model.identity import (
    BootstrapPhase,
    Format,
    IdentityRecord,
    NodeIdentity,
    mint,
    with_claim,
    with_levels,
    with_report,
    with_started,
)
from kafka_quorum.model.ids import ClusterID, DirectoryID, Member, NodeID, ReplicaKey, uuid_from_bytes
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.memory import BlankDisk, GoneVolume, Memory
from kafka_quorum.model.nodes import all_initial_formatted
from kafka_quorum.model.observed import (
    Claim,
    KubeNode,
    Observed,
    QuorumView,
    RecordedController,
    RecordedStatus,
    Revision,
    SupportObject,
    Tenure,
)
from kafka_quorum.model.operation import FeatureOperation, VoterAddition, VoterChange, VoterOperation
from kafka_quorum.model.permit import Guard, Permit
from kafka_quorum.model.pods import DiskFound, DiskReport, Pod, PodRole, Running
from kafka_quorum.model.quorum import FeatureStep, FinalizedFeature, NodeVersions, QuorumAnswer, Replica
from kafka_quorum.model.situation import Situation

Versions: TypeAlias = tuple[tuple[NodeID, Knowable[NodeVersions]], ...]

G = TypeVar("G", bound=Guard)
NAMESPACE: Final = "kafka"
NAME: Final = "alpha"
UID: Final = "uid-of-alpha"
GIBIBYTE: Final = 1024**3
NOW_S: Final = 1_767_225_600.0
LOOKED_S: Final = 50.0
"""The time of a leader's answer, in monotonic seconds."""
SETTLED: Final = Tenure(for_s=30.0, settles_after_s=10.0)
"""The present leader has led for long, with the default fetch timeout."""
LEADER_NOW_MS: Final = 1_767_225_600_000
IDS: Final = (NodeID(3000), NodeID(3001), NodeID(3002))
SILENT: Final = Unknown(reason="no controller runs yet")


def uuid(number: int) -> str:
    """A UUID in Kafka's notation, always the same for a number."""
    return uuid_from_bytes(number.to_bytes(4, "big") * 4)


CLUSTER: Final = ClusterID(uuid(7))
OTHER_CLUSTER: Final = ClusterID(uuid(8))


def directory(node_id: int, disk: int = 1) -> DirectoryID:
    """The directory id of a node's first, second, … disk."""
    return DirectoryID(uuid(node_id + 1000 * disk))


def key(node_id: int, disk: int = 1) -> ReplicaKey:
    """The replica key on a node's first, second, … disk."""
    return ReplicaKey(node_id=NodeID(node_id), directory_id=directory(node_id, disk))


def claim_uid(node_id: int, generation: int = 1) -> str:
    """The uid of a node's claim of this generation."""
    return f"claim-{node_id}-{generation}"


def runtime(**changes: Any) -> Runtime:  # noqa: ANN401 - whatever the field holds
    """Kafka 4.4.0 with half a gigabyte of heap."""
    plain = Runtime(
        release="4.4.0",
        image="",
        config=(),
        listener=ControllerListener(name="CONTROLLER", port=9093),
        heap="512Mi",
        jvm_options=(),
        template_metadata='{"annotations":{},"labels":{}}',
        template_spec="{}",
    )
    return replace(plain, **changes)


def revision(of: Runtime | None = None, number: int = 1) -> Revision:
    """The ControllerRevision of a runtime."""
    made_from = of or runtime()
    hash_ = names.inputs_hash(made_from)
    return Revision(
        name=names.revision_name(NAME, hash_),
        number=number,
        image=made_from.image or f"apache/kafka:{made_from.release}",
        inputs_hash=hash_,
        runtime=made_from,
    )


def storage(**changes: Any) -> Storage:  # noqa: ANN401 - whatever the field holds
    """Ten gibibytes, retained."""
    plain = Storage(
        size="10Gi",
        size_bytes=10 * GIBIBYTE,
        storage_class="",
        when_deleted=VolumeFate.RETAIN,
        when_scaled=VolumeFate.DELETE,
    )
    return replace(plain, **changes)


def desired(**changes: Any) -> Desired:  # noqa: ANN401 - whatever the field holds
    """Three controllers by initial controllers."""
    plain = Desired(
        namespace=NAMESPACE,
        name=NAME,
        uid=UID,
        generation=1,
        paused=False,
        cluster_id=None,
        bootstrap=BootstrapMode.INITIAL_CONTROLLERS,
        replicas=3,
        node_ids=(),
        allow_interruption=False,
        storage=storage(),
        replacement=Replacement(lost_disk=Cure.AUTOMATIC, lost_node=Cure.MANUAL, lost_node_after_s=600),
        feature_policy=FeaturePolicy.HOLD,
        features=(),
        downgrade=Downgrade.FORBID,
        soak_s=60,
        runtime=runtime(),
    )
    return replace(plain, **changes)


def manual() -> Replacement:
    """Lost disks wait for a person."""
    return Replacement(lost_disk=Cure.MANUAL, lost_node=Cure.MANUAL, lost_node_after_s=600)


def minted(replicas: int = 3, mode: BootstrapMode = BootstrapMode.INITIAL_CONTROLLERS) -> IdentityRecord:
    """A new record: no claim, nothing formatted."""
    ids = [NodeID(3000 + index) for index in range(replicas)]
    first = ids[:1] if mode is BootstrapMode.STANDALONE else ids
    record = mint(
        CLUSTER,
        Format(mode=mode, release="4.4.0", features=()),
        [key(node_id) for node_id in first],
        [node_id for node_id in ids if node_id not in first],
    )
    return replace(record, applied_revision=revision().name, resource_version="1")


def bound(replicas: int = 3, mode: BootstrapMode = BootstrapMode.INITIAL_CONTROLLERS) -> IdentityRecord:
    """A record with its claims."""
    record = minted(replicas, mode)
    for node_id in record.node_ids:
        record = with_claim(record, node_id, claim_uid(node_id))
    return record


def started(replicas: int = 3, mode: BootstrapMode = BootstrapMode.INITIAL_CONTROLLERS) -> IdentityRecord:
    """A record after the barrier, before the first leader."""
    record = bound(replicas, mode)
    for initial in record.initial:
        record = with_report(record, initial.node_id, directory(initial.node_id))
    return with_started(record, ControllerListener(name="CONTROLLER", port=9093))


def running(replicas: int = 3) -> IdentityRecord:
    """A record of a quorum that has had a leader."""
    return replace(started(replicas), had_leader=True)


def node(record: IdentityRecord, node_id: int) -> NodeIdentity:
    """A controller that must be in the record."""
    found = record.node(NodeID(node_id))
    assert found is not None
    return found


def claim(record: IdentityRecord, of: NodeIdentity, **changes: Any) -> Claim:  # noqa: ANN401 - whatever the field holds
    """The claim of a node, with an exact copy of the identity."""
    plain = Claim(
        name=names.claim_name(Member(NAME, of.node_id), of.generation),
        uid=of.claim_uid or claim_uid(of.node_id, of.generation),
        resource_version="10",
        node_id=of.node_id,
        generation=of.generation,
        owner_uid=None,
        deleting=False,
        volume_gone=False,
        cluster_id=record.cluster_id,
        directory_id=of.directory_id,
        phase=record.phase.value,
        requested_bytes=10 * GIBIBYTE,
        volume=f"pvc-{of.node_id}",
        selected_node=f"worker-{of.node_id}",
        bound_to=f"worker-{of.node_id}",
        recovery=record.recovery_epoch,
    )
    return replace(plain, **changes)


def report(record: IdentityRecord, of: NodeIdentity, **changes: Any) -> DiskReport:  # noqa: ANN401 - as above
    """The report of a script that found the expected disk."""
    plain = DiskReport(
        found=DiskFound.FORMATTED,
        cluster_id=record.cluster_id,
        node_id=of.node_id,
        directory_id=of.directory_id,
        accepted=True,
        message="as expected",
    )
    return replace(plain, **changes)


def empty_report() -> DiskReport:
    """The report of a script that found an empty disk."""
    return DiskReport(
        found=DiskFound.EMPTY,
        cluster_id=None,
        node_id=None,
        directory_id=None,
        accepted=False,
        message="the disk is empty",
    )


def blank(of: Pod, for_s: float = 20.0) -> BlankDisk:
    """The disk of a pod whose runs have found it empty for this long."""
    return BlankDisk(
        pod_uid=of.uid,
        claim_uid=of.claim_uid,
        directory_id=of.directory_id,
        first_s=NOW_S - for_s,
        last_s=NOW_S,
        first_seen_s=LOOKED_S - for_s,
        last_seen_s=LOOKED_S,
        unseen_s=LOOKED_S - 1.0,
        looked_s=LOOKED_S,
    )


def still_blank(observed: Observed, for_s: float = 20.0) -> Observed:
    """The same, after every pod that reports an empty disk has examined it again this much later.

    Volumes that are reported as lost have been lost for as long.
    """
    empty = (one for one in observed.pods if one.report and one.report.found is DiskFound.EMPTY)
    rows = tuple(blank(one, for_s) for one in empty)
    gone = (one for one in observed.claims if one.volume_gone)
    volumes = tuple(GoneVolume(claim_uid=one.uid, for_s=for_s, seen_s=LOOKED_S) for one in gone)
    return replace(observed, memory=replace(observed.memory, blank_disks=rows, gone_volumes=volumes))


def pod(record: IdentityRecord, of: NodeIdentity, **changes: Any) -> Pod:  # noqa: ANN401 - whatever the field holds
    """A Kafka pod that runs on the node's disk, as a caught-up voter."""
    revision_name = of.revision or record.applied_revision or ""
    plain = Pod(
        name=names.pod_name(Member(NAME, of.node_id), of.generation),
        uid=f"pod-{of.node_id}-{of.generation}",
        resource_version="20",
        role=PodRole.KAFKA,
        node_id=of.node_id,
        owner_uid=UID,
        deleting=False,
        finished=False,
        claim_name=names.claim_name(Member(NAME, of.node_id), of.generation),
        claim_uid=of.claim_uid or "",
        directory_id=of.directory_id,
        mode=of.mode,
        revision=revision_name,
        config_name=names.config_name(NAME, revision().inputs_hash, record.node_ids, record.recovery_epoch),
        ip=f"10.0.0.{of.node_id - 2999}",
        node_name=f"worker-{of.node_id}",
        scheduled=True,
        unschedulable="",
        container=Running(started_at="2026-01-01T00:00:00Z"),
        report=report(record, of),
        marked_voter=True,
        finished_at_s=0.0,
        gate="True",
    )
    return replace(plain, **changes)


def formatter(record: IdentityRecord, of: NodeIdentity, **changes: Any) -> Pod:  # noqa: ANN401 - as above
    """A formatter that runs on the node's disk."""
    plain = pod(
        record,
        of,
        name=names.formatter_name(Member(NAME, of.node_id), of.generation),
        uid=f"formatter-{of.node_id}-{of.generation}",
        role=PodRole.FORMATTER,
        report=None,
        marked_voter=False,
        gate="",
    )
    return replace(plain, **changes)


def row(of: ReplicaKey, **changes: Any) -> Replica:  # noqa: ANN401 - whatever the field holds
    """A replica that fetched and was caught up at the leader's present time."""
    plain = Replica(key=of, log_end_offset=100, last_fetch_ms=LEADER_NOW_MS, last_caught_up_ms=LEADER_NOW_MS)
    return replace(plain, **changes)


def answer(voters: Iterable[ReplicaKey], observers: Iterable[ReplicaKey] = (), **changes: Any) -> QuorumAnswer:  # noqa: ANN401 - as above
    """DescribeQuorum of a healthy quorum; the first voter leads."""
    listed = tuple(voters)
    plain = QuorumAnswer(
        leader_id=listed[0].node_id,
        leader_epoch=5,
        high_watermark=100,
        voters=tuple(row(voter) for voter in listed),
        observers=tuple(row(observer) for observer in observers),
    )
    return replace(plain, **changes)


def view(
    voters: Iterable[ReplicaKey],
    observers: Iterable[ReplicaKey] = (),
    *,
    behind: Iterable[ReplicaKey] = (),
    committed: bool = True,
    tenure: Tenure = SETTLED,
    unsure: Iterable[ReplicaKey] = (),
) -> QuorumView:
    """A judged answer: all except `behind` are live and caught up."""
    said = answer(voters, observers)
    own = frozenset(replica.key for replica in said.voters)
    well = (own | {replica.key for replica in said.observers}) - set(behind)
    return QuorumView(
        answer=said,
        live=well,
        caught_up=well,
        committed=committed,
        committed_voters=own if committed else None,
        taken_at_s=LOOKED_S,
        tenure=tenure,
        unsure=frozenset(unsure),
    )


def looks(view_: QuorumView, count: int = 3) -> Memory:
    """Every caught-up replica was so in this many looks."""
    return Memory(caught_up_looks=tuple((caught_up, count) for caught_up in sorted(view_.caught_up, key=str)))


def mirrored(record: IdentityRecord, **changes: Any) -> RecordedStatus:  # noqa: ANN401 - whatever the field holds
    """A status that agrees exactly with the record."""
    uids = {of.node_id: of.claim_uid for of in record.nodes}
    plain = RecordedStatus(
        cluster_id=record.cluster_id,
        phase=record.phase,
        initial=tuple(
            RecordedController(node_id=of.node_id, directory_id=of.directory_id, claim_uid=uids.get(of.node_id))
            for of in record.initial
        ),
        controllers=tuple(
            RecordedController(node_id=of.node_id, directory_id=of.directory_id, claim_uid=of.claim_uid)
            for of in record.nodes
        ),
        open=None,
    )
    return replace(plain, **changes)


NO_STATUS: Final = RecordedStatus(cluster_id=None, phase=None, initial=(), controllers=(), open=None)


def operation(target: ReplicaKey, kind: type[VoterChange] = VoterAddition) -> VoterOperation:
    """The open change that adds this voter, or of another kind."""
    return VoterOperation(
        id="op-1",
        change=kind(target=target),
        holder="operator-1",
        started_at="2026-01-01T00:00:00Z",
        waiting_for="",
    )


def support(record: IdentityRecord, min_available: int | None = None, port: int = 9093) -> tuple[SupportObject, ...]:
    """The correct service, budget and config maps."""
    wanted = len(record.initial) // 2 + 1 if min_available is None else min_available
    rows = [
        ("Service", names.service_name(NAME), names.service_facts(NAME, port)),
        ("PodDisruptionBudget", names.budget_name(NAME), names.budget_facts(NAME, wanted)),
        ("ConfigMap", names.config_name(NAME, revision().inputs_hash, record.node_ids, record.recovery_epoch), ""),
    ]
    if not all_initial_formatted(record):
        rows.append(("ConfigMap", names.format_config_name(NAME, revision().inputs_hash, record.node_ids), ""))
    return tuple(
        SupportObject(kind=kind, name=name, uid=f"uid-{name}", owner_uid=UID, resource_version="30", facts=facts)
        for kind, name, facts in rows
    )


def at_rest(record: IdentityRecord | None = None, **changes: Any) -> Observed:  # noqa: ANN401 - as above
    """A complete quorum for a record: claims, status, pods after the barrier, and a healthy quorum."""
    known = running() if record is None else record
    behind_barrier = known.phase is BootstrapPhase.STARTED
    formatted = [of for of in known.nodes if of.formatted]
    quorum: Knowable[QuorumView] = SILENT
    memory = Memory()
    if known.had_leader:
        seen = view([of.key for of in formatted])
        quorum, memory = Known(value=seen), looks(seen)
    plain = Observed(
        record=known,
        record_owner_uid=None,
        record_fault="",
        status=mirrored(known),
        claims=tuple(claim(known, of) for of in known.nodes if of.claim_uid is not None),
        pods=tuple(pod(known, of) for of in formatted) if behind_barrier else (),
        support=support(known),
        revisions=(revision(),),
        quorum=quorum,
        versions=(),
        memory=memory,
        kube_nodes=kube_nodes(f"worker-{of.node_id}" for of in known.nodes),
    )
    return replace(plain, **changes)


def kube_nodes(names_: Iterable[str], **changes: Any) -> tuple[tuple[str, Knowable[KubeNode]], ...]:  # noqa: ANN401 - as above
    """Kubernetes nodes that are ready, and take pods."""
    well = KubeNode(name="", exists=True, ready=True)
    return tuple((name, Known(value=replace(well, name=name, **changes))) for name in names_)


def permit(of: type[G]) -> Permit[G]:
    """A permit of a guard."""
    return Permit(rule=of.id, reason="it may be done")


def write(record: IdentityRecord, change: RecordChange, message: str = "m") -> WriteRecord:
    """A write of the record, with its guard's permit if it needs one."""
    if change not in DECISIONS:
        return WriteRecord(record=record, change=change, message=message)
    decided: Any = permit(DECISIONS[change])
    return DecideRecord(record=record, change=change, message=message, permit=decided)


def situation(
    desired: Desired | None = None,
    observed: Observed | None = None,
    record: IdentityRecord | None = None,
    **changes: Any,  # noqa: ANN401 - whatever the field holds
) -> Situation:
    """The situation of a pass; by default three controllers at rest, and the observed record."""
    look = observed if observed is not None else at_rest(record)
    known = record if record is not None else look.record
    assert known is not None
    return Situation(
        desired=desired if desired is not None else _plain_desired(), observed=look, record=known, **changes
    )


_plain_desired = desired


def nothing() -> Observed:
    """A resource that was just created, without other objects."""
    return Observed(
        record=None,
        record_owner_uid=None,
        record_fault="",
        status=NO_STATUS,
        claims=(),
        pods=(),
        support=(),
        revisions=(),
        quorum=SILENT,
    )


def with_pod(observed: Observed, of: int, /, **changes: Any) -> Observed:  # noqa: ANN401 - whatever the field holds
    """The same, with changes of one controller's pods."""
    return replace(observed, pods=tuple(replace(one, **changes) if one.node_id == of else one for one in observed.pods))


def with_the_claim(observed: Observed, of: int, /, **changes: Any) -> Observed:  # noqa: ANN401 - as above
    """The same, with changes of one controller's claims."""
    return replace(
        observed, claims=tuple(replace(one, **changes) if one.node_id == of else one for one in observed.claims)
    )


def without_pod(observed: Observed, node_id: int) -> Observed:
    """The same, without one controller's pods."""
    return replace(observed, pods=tuple(one for one in observed.pods if one.node_id != node_id))


def without_claim(observed: Observed, node_id: int) -> Observed:
    """The same, without one controller's claims."""
    return replace(observed, claims=tuple(one for one in observed.claims if one.node_id != node_id))


def saying(release: str = "4.4.0", *, epoch: int = 7, **levels: int) -> NodeVersions:
    """The report of a controller of this release, at its levels, except for these (`metadata_version=27`; 0 is off)."""
    numbers = parse_release(release)
    assert numbers is not None
    supported, defaults = supported_by(numbers), default_levels(numbers)
    assert supported is not None
    assert defaults is not None
    wanted = defaults | {name.replace("_", "."): level for name, level in levels.items()}
    finalized = tuple(FinalizedFeature(name=name, level=level) for name, level in sorted(wanted.items()) if level)
    return NodeVersions(supported=supported, finalized=finalized, finalized_epoch=epoch)


def answering(record: IdentityRecord, *, said: NodeVersions | None = None) -> Versions:
    """The same report from every controller."""
    return tuple((of.node_id, Known(value=said or saying())) for of in record.nodes)


def speaking(record: IdentityRecord | None = None, said: NodeVersions | None = None, **changes: Any) -> Observed:  # noqa: ANN401 - as above
    """A quorum at rest whose controllers report their versions, and whose levels are in the record."""
    says = said or saying()
    known = with_levels(record or running(), says.finalized)
    return at_rest(known, **{"versions": answering(known, said=says), **changes})


def stepping(name: str, level: int, *, downgrade: bool = False) -> FeatureOperation:
    """The open step of a feature to this level."""
    step = FeatureStep(name=name, level=level, downgrade=downgrade)
    return FeatureOperation(id="op-2", step=step, holder="operator-1", started_at="2026-01-01T00:00:00Z")
