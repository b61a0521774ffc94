"""Questions about certificates: who needs one, for which names, what servers trust, and when a client's one ends.

Of which generation they are, `generations` answers.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from kafka_quorum.model.bundles import has_authority, have_ended, together
from kafka_quorum.model.cutoff import accept_nobody
from kafka_quorum.model.desired import Desired, Protocol, Runtime
from kafka_quorum.model.generations import FIRST, generation_due
from kafka_quorum.model.identity import BootstrapPhase, IdentityRecord
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import BROKERS, OPERATOR, Holder, LeafSeen, Role, controller, pool
from kafka_quorum.model.names import host_name
from kafka_quorum.model.observed import Observed, Revision
from kafka_quorum.model.pods import PodRole
from kafka_quorum.model.pools import PoolSeen
from kit.pki.names import DistinguishedName

USERS: Final = ("quorum-controllers", "quorum-brokers", "quorum-operator")
"""The users of a listener with SASL_SSL."""
_LOGINS: Final = frozenset(f"User:{user}" for user in USERS)
_ANONYMOUS: Final = "User:ANONYMOUS"
_DOMAIN: Final = "cluster.local"


def sasl_listeners(desired: Desired, record: IdentityRecord, runtimes: Iterable[Runtime]) -> frozenset[str]:
    """The listeners with users: of every runtime in use, and the one that is requested."""
    known = [listener for each in runtimes for listener in each.listeners]
    if desired.says_protocol or record.phase is not BootstrapPhase.STARTED:
        known.append(desired.runtime.listener)
    return frozenset(each.name for each in known if each.protocol is Protocol.SASL_SSL)


def needs_certificates(desired: Desired, record: IdentityRecord) -> bool:
    """Whether this quorum has an encrypted listener, or shall have one."""
    present = record.listener if record.phase is BootstrapPhase.STARTED else None
    if present is not None and present.protocol.encrypted:
        return True
    if record.migration is not None and (change := record.migration.listeners) is not None:
        return change.old.protocol.encrypted or change.new.protocol.encrypted
    if record.phase is BootstrapPhase.STARTED and not desired.says_protocol:
        return False
    return desired.runtime.listener.protocol.encrypted


def holders(record: IdentityRecord, pools: Iterable[PoolSeen] = ()) -> tuple[Holder, ...]:
    """Everybody who needs a leaf: each controller of the record, the operator, the brokers, the `pools`."""
    return (*(controller(node_id) for node_id in record.node_ids), OPERATOR, BROKERS, *(pool(each) for each in pools))


def dns_names(desired: Desired, holder: Holder, pools: Iterable[PoolSeen] = ()) -> tuple[str, ...]:
    """The names that the holder's certificate must have: a controller is asked by its host name.

    The operator's own leafs have the same with the cluster's domain, too.
    """
    if holder in {OPERATOR, BROKERS}:
        return ()
    if holder.pool:
        return next((each.names for each in pools if each.name == holder.pool), ())
    host = host_name(desired.namespace, desired.member(NodeID(holder.node_id)))
    return (host, f"{host}.{_DOMAIN}") if desired.trust.issuer.own else (host,)


def given_hosts(desired: Desired, holder: Holder, pools: Iterable[PoolSeen] = ()) -> tuple[str, ...]:
    """The hosts that a certificate of another issuer must cover."""
    if holder.pool:
        return next((each.hosts for each in pools if each.name == holder.pool), ())
    return dns_names(desired, holder)


def shown_until_s(observed: Observed, holder: Holder, seen: LeafSeen | None, due: int) -> int:
    """When the leaf ends that this holder may show as a client, if the one in its Secret is replaced now; 0: not known.

    A controller that was not restarted since the last renewal shows an even earlier leaf than the one that is replaced.
    So do brokers until their contract names that one: `due` is the generation that it names. Of a leaf that a person
    put over the holder's own one, nothing says when that one ends.
    """
    if seen is None or not seen.authority:
        return 0
    if holder.role == BROKERS.role:
        ends_s = seen.ends_s
        return ends_s if due >= seen.generation else min(ends_s, seen.before_ends_s)
    made = [observed.revision(pod.revision) for pod in observed.pods_of(NodeID(holder.node_id), PodRole.KAFKA)]
    if any(each is not None and _is_foreign(each.runtime, seen) for each in made):
        return 0
    shows_it = all(each is not None and each.runtime.certificates >= seen.generation for each in made)
    return seen.ends_s if shows_it else seen.before_ends_s


def _is_foreign(made: Runtime, leaf: LeafSeen) -> bool:
    """Whether this leaf is of an authority that a controller does not trust: then it was not made for it."""
    return made.encrypted and not has_authority(made.trust, leaf.authority)


def with_trust(runtime: Runtime, desired: Desired, observed: Observed, record: IdentityRecord, now_s: float) -> Runtime:
    """The same runtime with what its listeners trust, and with the generation of its certificates."""
    if not runtime.encrypted:
        return runtime
    applied = observed.revision(record.applied_revision)
    return replace(
        runtime,
        trust=_trust(observed, record, applied, now_s),
        certificates=generation_due(desired, observed, record, now_s),
        users=_users(runtime, observed, applied),
        super_users=_super_users(runtime, desired, observed, record) or (),
    )


def _users(runtime: Runtime, observed: Observed, applied: Revision | None) -> int:
    """1 if a listener has users, and the Secret with them is there, or was when the controllers were made."""
    if not runtime.needs_users:
        return 0
    if applied is not None and applied.runtime.users:
        return applied.runtime.users
    seen = None if observed.material is None else observed.material.users
    return FIRST if isinstance(seen, Known) and seen.value is not None else 0


def _super_users(
    runtime: Runtime, desired: Desired, observed: Observed, record: IdentityRecord
) -> tuple[str, ...] | None:
    """The servers, the operator, and those of the spec; empty without an authorizer. None while they are not known.

    While a listener has no TLS, everybody is anonymous there, and must be one of them, too. With users and passwords
    brokers still replicate with mutual TLS: they pass on requests under the name in a certificate. A Secret that
    cannot be read takes no right away: the newest revision that a controller is made from has the same servers.
    """
    if not desired.trust.authorizer:
        return ()
    found = set(desired.trust.super_users)
    protocols = {each.protocol for each in runtime.listeners}
    if Protocol.SASL_SSL in protocols:
        found |= _LOGINS
    if Protocol.PLAINTEXT in protocols:
        found.add(_ANONYMOUS)
    subjects = _subjects(desired, observed, _shown_to(protocols))
    if subjects is not None:
        return tuple(sorted(found | {f"User:{subject}" for subject in subjects}))
    before = _begun_users(observed, record, protocols)
    return None if before is None else tuple(sorted(found | (before - {_ANONYMOUS, *_LOGINS})))


def _shown_to(protocols: Iterable[Protocol]) -> frozenset[str]:
    """Whose certificates are shown to servers. With users and passwords, controllers show each other none."""
    every = frozenset(role.value for role in Role)
    return every if Protocol.SSL in protocols else every - {Role.CONTROLLERS.value}


def _begun_users(observed: Observed, record: IdentityRecord, protocols: Iterable[Protocol]) -> frozenset[str] | None:
    """The super users of the newest revision that a controller is made from, and that has such certificates, too."""
    names = {record.applied_revision, *(node.revision for node in record.nodes)}
    needed = {Protocol.SSL} if Protocol.SSL in protocols else {Protocol.SSL, Protocol.SASL_SSL}
    begun = [
        each
        for each in map(observed.revision, names)
        if each is not None and each.runtime.super_users and needed & {one.protocol for one in each.runtime.listeners}
    ]
    newest = max(begun, key=lambda each: each.number, default=None)
    return None if newest is None else frozenset(newest.runtime.super_users)


def why_no_users(runtime: Runtime, desired: Desired, observed: Observed, record: IdentityRecord) -> str:
    """Why it is not known who the super users are; empty if it is. Then no revision may be made."""
    if not runtime.encrypted or _super_users(runtime, desired, observed, record) is not None:
        return ""
    material = observed.material
    seen = () if material is None else material.leafs
    why = [each.reason for one, each in seen if not one.pool and isinstance(each, Unknown) and each.reason]
    text = "Waiting to make a revision: the subjects of the certificates are super users, and not all of them are known"
    return f"{text} ({'; '.join(why)})" if why else text


def _subjects(desired: Desired, observed: Observed, roles: frozenset[str]) -> frozenset[str] | None:
    """The subjects of the certificates of these roles; None while one of them is not known."""
    material = observed.material
    if desired.trust.issuer.own and (material is None or not material.other_issuer):
        return frozenset(subject(desired, role).principal for role in roles)
    rows = () if material is None else material.known_leafs()
    leafs = tuple(row for row in rows if row[0].role in roles and not row[0].pool)
    if {holder.role for holder, _ in leafs} != roles:
        return None
    return frozenset(leaf.certificate.subject for _, leaf in leafs)


def subject(desired: Desired, role: str) -> DistinguishedName:
    """Whose certificate it is, with an own authority. It stays the same at every scale, so that rights stay, too."""
    return DistinguishedName(cn=role, ou=desired.name, o=desired.namespace)


def _trust(observed: Observed, record: IdentityRecord, applied: Revision | None, now_s: float) -> str:
    """What a quorum that has started trusts stays what it is: only a migration changes it.

    If nobody is accepted any more, no leader begins a migration: then the wanted authority takes the place of those
    that have ended, and joins those whose key is gone.
    """
    reached = record.migration
    if reached is not None and reached.trust is not None:
        change = reached.trust
        return change.after if reached.drops_trust else together(change.before, change.after)
    present = ""
    if applied is not None and record.phase is BootstrapPhase.STARTED:
        present = applied.runtime.trust or _begun_trust(observed, record)
    if present and not accept_nobody(observed, record, present, now_s):
        return present
    wanted = None if observed.material is None else observed.material.wanted_trust
    if not isinstance(wanted, Known):
        return present
    if _is_gone(observed, record) and not _trusts_leafs(observed, record, wanted.value):
        return ""
    return together(present, wanted.value) if present and not have_ended(present, now_s) else wanted.value


def _begun_trust(observed: Observed, record: IdentityRecord) -> str:
    """What the first controllers with TLS trust, while the others have none; empty if there are none yet.

    A stored leaf is one that these accept. The others would never start with another trust.
    """
    names = {node.revision for node in record.nodes}
    names |= {pod.revision for pod in observed.pods if pod.role is PodRole.KAFKA}
    begun = [each for each in map(observed.revision, names) if each is not None and each.runtime.trust]
    newest_ = max(begun, key=lambda each: each.number, default=None)
    return "" if newest_ is None else newest_.runtime.trust


def _is_gone(observed: Observed, record: IdentityRecord) -> bool:
    """Whether the quorum has started from a revision that does not exist any more."""
    started = record.phase is BootstrapPhase.STARTED and record.applied_revision is not None
    return started and observed.revision(record.applied_revision) is None


def _trusts_leafs(observed: Observed, record: IdentityRecord, trust: str) -> bool:
    """Whether `trust` has the authority of each leaf. Every server trusts these: no leaf is stored before that."""
    material = observed.material
    if material is None:
        return False
    seen = [material.leaf(controller(node_id)) for node_id in record.node_ids]
    has_one = any(isinstance(one, Known) and one.value is not None for one in seen)
    known = all(isinstance(one, Known) for one in seen)
    return has_one and known and all(has_authority(trust, leaf.authority) for _, leaf in material.known_leafs())


def why_trust_unknown(runtime: Runtime, observed: Observed, record: IdentityRecord) -> str:
    """Why nothing is made from this runtime: what the controllers trust is not known. Empty if it is."""
    if not runtime.encrypted or runtime.trust or not _is_gone(observed, record):
        return ""
    way_out = "or delete the pods of all controllers at once: then they start with the present authority"
    return (
        f"Waiting for ControllerRevision {record.applied_revision}, which is gone: it is not known what the "
        f"controllers trust. Restore it, or the Secret with their authority, from a backup, {way_out}"
    )


def why_no_trust(runtime: Runtime) -> str:
    """Why nothing can be made from this runtime; empty if it can."""
    if not runtime.encrypted:
        return ""
    if runtime.needs_users and not runtime.users:
        return "Waiting for the users of the controllers' listener"
    if runtime.trust and runtime.certificates:
        return ""
    missing = "the certificates of every controller" if runtime.trust else "the authority that everybody trusts"
    return f"Waiting for {missing}"


def client_ends(observed: Observed, record: IdentityRecord) -> Iterator[tuple[NodeID, int]]:
    """When the leaf ends that each running controller shows as a client, at the latest (Unix seconds)."""
    material = observed.material
    if material is None:
        return
    for node in record.nodes:
        seen = material.leaf(controller(node.node_id))
        if not isinstance(seen, Known) or seen.value is None:
            continue
        for pod in observed.serving(node.node_id):
            made = observed.revision(pod.revision)
            if made is None or not made.runtime.encrypted:
                continue
            leaf = seen.value
            shows_new = made.runtime.certificates >= leaf.generation
            yield node.node_id, leaf.ends_s if shows_new else leaf.before_ends_s
