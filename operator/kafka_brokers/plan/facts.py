"""Questions that concerns and guards share; they decide nothing. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from kafka_brokers.model import names
from kafka_brokers.model.contracted import but_for_the_certificate, certificate_of, keystore, secret_keys
from kafka_brokers.model.disks import BrokerIdentity, PoolRecord
from kafka_brokers.model.observed import ClusterView, Leader, Observed, Pod, Revision
from kafka_brokers.model.pool import BrokerRuntime, PoolDesired
from kafka_quorum.model.contract import Turn
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.names import keystore_file
from kafka_quorum.model.pools import lowest_free, uncovered
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import Security
from kit.stamps import second_of

CHANGED: Final = 2
"""Kafka's number for a setting that was changed for one broker while it ran."""
CORDON: Final = "cordoned.log.dirs"
NO_SECRET: Final = "WaitingForSecret"  # noqa: S105 - a reason
"""The reason of a wait for a Secret that pods mount."""
_WAITS: Final = ", and the status of the KafkaQuorum says what it waits for"
CLOCKS_S: Final = 30.0
"""How far the clocks of servers may differ from the operator's."""
MIGRATION_ENABLE: Final = "zookeeper.metadata.migration.enable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What follows from the spec, the look and the record together; each is computed once for a pass.

    `image` is the resolved image of the release. `now_s` is wall-clock seconds since the epoch. `repair_only`: the
    present spec is invalid, so that nothing new is begun but the roll to a renewed certificate.
    """

    desired: PoolDesired
    observed: Observed
    record: PoolRecord
    image: str
    now_s: float
    repair_only: bool = False
    target: str = field(init=False, repr=False, compare=False)
    """The name of the revision that every pod shall be made from."""

    def __post_init__(self) -> None:
        """Compute the name once: it is a digest of the whole runtime, and every concern asks for it."""
        object.__setattr__(self, "target", target_name(self.desired))

    @property
    def leader(self) -> Leader | None:
        """The leader, if it is known."""
        return self.observed.leader.value if isinstance(self.observed.leader, Known) else None

    @property
    def view(self) -> ClusterView | None:
        """The partitions, if they are known."""
        return self.observed.cluster.value if isinstance(self.observed.cluster, Known) else None

    def endpoint(self, node_id: NodeID) -> Endpoint | None:
        """Where a running broker of this pool is asked; None if it does not run."""
        pod = self.observed.broker_pod(node_id)
        if pod is None or not pod.serves or not pod.ip:
            return None
        return endpoint_at(self.desired.namespace, self.desired.name, pod, self.observed.security)

    @property
    def migrates(self) -> bool:
        """Whether the cluster uses ZooKeeper, or migrates from it: then no broker leaves the pool."""
        contract = self.observed.contract
        if isinstance(contract, Unknown):
            return False
        return contract.value.zookeeper is not None or contract.value.setting(MIGRATION_ENABLE) is not None

    @property
    def is_between_controllers(self) -> bool:
        """Whether ZooKeeper's controller or a KRaft one may be active: brokers use ZooKeeper, and migrate."""
        contract = self.observed.contract
        if isinstance(contract, Unknown) or contract.value.zookeeper is None:
            return False
        enabled = contract.value.setting(MIGRATION_ENABLE)
        return enabled is not None and enabled.value == "true"

    @property
    def requested(self) -> tuple[NodeID, ...]:
        """The node ids that the pool shall have."""
        return requested_ids(self.desired, self.record, self.observed)

    @property
    def renews_only(self) -> bool:
        """Whether a restart from the target brings a renewed certificate and nothing else: of every pod, and successor.

        Only such a roll begins while the spec is invalid: without it, the certificates end that brokers show. What a
        pod is made from is not known if its revision is gone.
        """
        names = {one.revision for one in self.record.brokers if one.revision is not None}
        made = map(self.observed.revision, names | {pod.revision for pod in self.observed.pods})
        wanted = but_for_the_certificate(self.desired.runtime)
        return all(each is not None and but_for_the_certificate(each.runtime) == wanted for each in made)

    @property
    def held_by_faults(self) -> bool:
        """Whether faults in the spec keep every broker from a new restart."""
        return self.repair_only and not self.renews_only

    def revision_of(self, broker: BrokerIdentity) -> Revision | None:
        """The revision that this broker's pod is made from."""
        return self.observed.revision(broker.revision)

    def fenced(self, node_id: NodeID) -> Knowable[bool]:
        """Whether the quorum has fenced this broker, or does not know it."""
        match self.observed.cluster:
            case Known(value=view) if node_id in view.doubtful:
                return Unknown(reason="some brokers list it, others do not")
            case Known(value=view):
                row = view.broker(node_id)
                return Known(value=row is None or row.fenced)
            case Unknown(reason=reason):
                return Unknown(reason=reason)


def has_ended(desired: PoolDesired, observed: Observed, pod: Pod, now_s: float) -> bool:
    """Whether the certificate has ended that this running broker shows, and a later one waits for its next start."""
    revision = observed.revision(pod.revision)
    if revision is None or not pod.serves:
        return False
    own, due = certificate_of(revision.runtime), certificate_of(desired.runtime)
    end_s = certificate_end_s(observed, revision.runtime)
    return 0 < own < due and end_s is not None and end_s < now_s - CLOCKS_S


def ended(desired: PoolDesired, observed: Observed, now_s: float) -> frozenset[NodeID]:
    """The running brokers of this pool whose certificates have ended.

    Their open connections last, but nobody opens another one to them: a replica that lost its own does not come back.
    """
    return frozenset(pod.node_id for pod in observed.pods if has_ended(desired, observed, pod, now_s))


def is_shut_out(situation: Situation, pod: Pod) -> bool:
    """Whether the certificate has ended that this running broker shows, and the controllers do not hear from it.

    It loads another one only when it starts again. A connection outlives its certificate: so a broker that the quorum
    hears from is never shut out.
    """
    if not has_ended(situation.desired, situation.observed, pod, situation.now_s):
        return False
    match situation.fenced(pod.node_id):
        case Known(value=fenced):
            return fenced
        case Unknown():
            return situation.leader is not None and pod.node_id not in situation.leader.observers


def certificate_end_s(observed: Observed, runtime: BrokerRuntime) -> int | None:
    """When the certificate ends with which a broker of this runtime starts (Unix seconds); None if it is not known.

    Brokers with TLS of their own show that of their pool, which ends later than the contract's of the same generation
    if the pool came later. Without its file the next generation counts: it was made later than each pool's.
    """
    own = certificate_of(runtime)
    if isinstance(observed.contract, Unknown) or not own:
        return None
    contract = observed.contract.value
    if not runtime.encrypted:
        return contract.end_s_of(own)
    later_s = None if contract.given else contract.end_s_of(own + 1)
    return dict(observed.certificate_ends).get(keystore_file(own), later_s)


def lacks_secret(observed: Observed, runtime: BrokerRuntime, node_ids: Iterable[NodeID] = ()) -> str:
    """What a pod of this runtime could not mount, as a clause; empty if all of it is there.

    The certificate must be for the hosts of these brokers, too: a broker loads it only when it starts.
    """
    wanted = secret_keys(runtime)
    if not wanted:
        return ""
    name = runtime.secrets[0]
    match observed.secret(name):
        case Unknown(reason=reason):
            return f"Secret {name} cannot be read ({reason})"
        case Known(value=None):
            return f"Secret {name} does not exist. The operator of the quorum creates it{_WAITS}"
        case Known(value=keys):
            missing = sorted(set(wanted) - (keys or frozenset()))
    missing = missing or _uncertified(observed, runtime, node_ids)
    text = f"Secret {name} has no {', '.join(missing)} yet. The operator of the quorum adds it{_WAITS}"
    return text if missing else ""


def _uncertified(observed: Observed, runtime: BrokerRuntime, node_ids: Iterable[NodeID]) -> list[str]:
    """The first host of these brokers that the certificate lacks, in words."""
    hosts = [each.host for each in runtime.listeners if each.encrypted and each.host]
    wanted = {host.replace("{id}", str(node_id)).lower() for host in hosts for node_id in node_ids}
    file = keystore(runtime).rpartition("/")[2]
    lacking = uncovered(wanted, dict(observed.certified).get(file, frozenset()))
    return [f"certificate for {min(lacking)}"] if lacking else []


def endpoint_of(node_id: NodeID, ip: str) -> Endpoint:
    """The listener of a broker that the operator asks, without TLS."""
    return Endpoint(node_id=node_id, host=ip, port=names.REPLICATION_PORT)


def endpoint_at(namespace: str, pool: str, pod: Pod, security: Security) -> Endpoint:
    """The same of a pod. With TLS, its certificate must have its host name."""
    found = endpoint_of(pod.node_id, pod.ip)
    if not pod.replication_tls:
        return found
    return replace(found, security=security, name=names.host_name(namespace, pool, pod.node_id))


def target_name(desired: PoolDesired) -> str:
    """The name of the revision of the present spec and contract."""
    return names.revision_name(desired.name, names.inputs_hash(desired.runtime))


def requested_ids(desired: PoolDesired, record: PoolRecord, observed: Observed) -> tuple[NodeID, ...]:
    """The exact ids of the spec; or so many: those that the pool has, then the lowest free ones from the first id."""
    if desired.node_ids:
        return desired.node_ids
    staying = [broker.node_id for broker in record.brokers if not broker.leaving]
    leaving = [broker.node_id for broker in record.brokers if broker.leaving]
    present = [*sorted(staying), *sorted(leaving)][: desired.replicas]
    taken = {*record.node_ids, *dict(observed.taken_ids)}
    if not desired.adopt:  # an earlier broker may run until its volumes are adopted
        taken |= registered_elsewhere(observed, record)
    if isinstance(observed.contract, Known):
        taken |= set(observed.contract.value.controller_ids)
    added = lowest_free(desired.first_node_id, desired.replicas - len(present), taken)
    return tuple(sorted((*present, *map(NodeID, added))))


def registered_elsewhere(observed: Observed, record: PoolRecord) -> frozenset[NodeID]:
    """Node ids of other servers: those that fetch the metadata log now, or are registered, and are not this pool's."""
    found: set[NodeID] = set()
    if isinstance(observed.leader, Known):
        found |= observed.leader.value.observers_caught_up
    if isinstance(observed.cluster, Known):
        found |= {row.node_id for row in observed.cluster.value.registered}
    return frozenset(found - set(record.node_ids))


def controllers_turn(observed: Observed, now_s: float) -> Turn | None:
    """Set while the controllers restart before any further broker: the certificate of one ends soon."""
    return observed.contract.value.turn_at(now_s) if isinstance(observed.contract, Known) else None


def why_controllers_first(observed: Observed, now_s: float) -> str:
    """Why no broker is stopped before controllers have restarted; empty if brokers may be."""
    turn = controllers_turn(observed, now_s)
    if turn is None:
        return ""
    return f"the controllers restart first, because the certificate of one ends at {second_of(turn.ends_s)}"


def owns_token(desired: PoolDesired, observed: Observed) -> bool:
    """Whether this pool has the disruption token, perhaps one that ends."""
    return isinstance(observed.token, Known) and observed.token.value.holder == holder_of(desired)


def holds_token(desired: PoolDesired, observed: Observed) -> bool:
    """Whether this pool may stop a broker with the token: not with one that ends, which it has to take again."""
    return owns_token(desired, observed) and isinstance(observed.token, Known) and not observed.token.value.ends


def holder_of(desired: PoolDesired) -> str:
    """The name under which a pool holds the token."""
    return f"pool/{desired.name}"
