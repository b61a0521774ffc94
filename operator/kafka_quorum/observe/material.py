"""Which certificates the Secrets of a quorum have, and which ones its listeners serve.

Secrets are read by name. What they show without keys is the `Material` of a look; the operator's own key stays in
`Access`, with which it reaches the controllers. Listeners are asked beside the looks (`listeners.py`).
"""

import asyncio
import logging
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kafka_quorum.model import names
from kafka_quorum.model.actions import ReloadListener
from kafka_quorum.model.bundles import bundle_of, union
from kafka_quorum.model.certified import holders, needs_certificates, sasl_listeners
from kafka_quorum.model.desired import Desired, Runtime
from kafka_quorum.model.identity import IdentityRecord
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.material import (
    BROKERS,
    OPERATOR,
    Holder,
    LeafSeen,
    Material,
    OwnAuthorities,
    Role,
    UsersSeen,
)
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Outcome
from kafka_quorum.model.pools import PoolSeen
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.observe.access import NO_LEAF, Access
from kafka_quorum.observe.given import NOTHING, before, is_in_use, other_issuer, read_bundle, read_leafs, trusted_first
from kafka_quorum.observe.judging import judged
from kafka_quorum.observe.listeners import ListenerReads
from kafka_quorum.observe.pools import pools_of
from kafka_quorum.observe.probing import Probe, Probes, given_probe, probe_of
from kafka_quorum.observe.snapshot import Snapshot
from kafka_quorum.observe.unread import unread
from kafka_quorum.resources.secrets import authorities_from, leaf_from
from kafka_quorum.resources.users import OPERATOR as OPERATOR_USER
from kafka_quorum.resources.users import users_from
from kafka_quorum.wire.protocol import Controllers
from kit.clock import Clock
from kit.conditions.last_look import share
from kit.errors import KubeError
from kit.key import ObjectKey
from kit.kube.protocol import Json, KubeApi
from kit.kube.secrets import SECRETS
from kit.parsing import Malformed
from kit.pki.bundle import Bundle
from kit.pki.leaf import Leaf
from kit.term import Term

logger = logging.getLogger(__name__)
OWN_SECRETS_S: Final = 600.0
"""How old what the Secrets of the operator's own authority have may be, in a look that leads to no act.

No watch reports them, because that takes the right to list every Secret. A look that leads to an act reads them again,
as one after an event does. What ends with time is judged in each look.
"""
GIVEN_SECRETS_S: Final = 120.0
"""The same for Secrets that others fill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """Secrets as one round of requests found them. They are used as long as the other objects of that look are."""

    reading: object
    desired: Desired
    material: Material
    access: Access
    probe: Probe | None
    read_s: float = 0.0
    """When it was read, by the operator's monotonic clock."""
    kept: float = 1.0
    """For which share of the usual time it is kept."""

    @property
    def due_s(self) -> float:
        """Until when it may be used, by the same clock, while the other objects stay as they are."""
        material, own = self.material, self.desired.trust.issuer.own
        read = (
            material.pools,
            material.users,
            *(seen for _, seen in material.leafs),
            *((material.own,) if own else ()),
        )
        if any(isinstance(each, Unknown) for each in read):  # an answer that did not come is asked for in each look
            return self.read_s
        return self.read_s + self.kept * (OWN_SECRETS_S if own else GIVEN_SECRETS_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    """What the quorum's own Secrets have. `used` is what servers trust in this stage, `ours` what the operator does."""

    own: Knowable[OwnAuthorities]
    leafs: tuple[tuple[Holder, Knowable[LeafSeen | None]], ...]
    access: Access
    used: tuple[Bundle, ...]
    ours: Bundle


class MaterialReads:
    """Reads Secrets in a look, and asks listeners beside it. Nothing here outlives the process."""

    def __init__(self, kube: KubeApi, clock: Clock, controllers: Controllers, term: Term | None = None) -> None:
        """Nothing is read yet. Without `term` it begins now."""
        self._kube, self._clock, self._controllers = kube, clock, controllers
        self._term = term or Term(clock)
        self._probes, self._listeners = Probes(clock, controllers), ListenerReads(clock, controllers)
        self._last: dict[ObjectKey, _Read] = {}
        self._left: set[ObjectKey] = set()
        """The quorums with a listener that did not show yet what its Secret has, or whose authorities are changed."""

    def forget(self, key: ObjectKey) -> None:
        """The resource is gone."""
        self._last.pop(key, None)
        self._left.discard(key)
        self._probes.forget(key)
        self._listeners.forget(key)

    def access(self, key: ObjectKey, observed: Observed) -> Callable[[Endpoint], Endpoint]:
        """How an endpoint of a plan is reached, by the last look."""
        last = self._last.get(key)
        if last is None:
            return lambda at: at
        return lambda at: last.access.of(at, observed.pods, observed.revisions)

    async def look(self, key: ObjectKey, taken: Snapshot, desired: Desired) -> tuple[Material | None, Access]:
        """The certificates of this quorum, None if it needs none; and how its controllers are reached."""
        bare = Access(namespace=key.namespace, quorum=key.name, listener=desired.runtime.listener)
        record = taken.record
        encrypted = any(each.runtime.encrypted for each in taken.revisions)
        if record is None or not (encrypted or needs_certificates(desired, record)):
            self._last.pop(key, None)
            self._left.discard(key)
            return None, bare
        last, now_s = self._last.get(key), self._clock.monotonic()
        same = last is not None and last.reading is taken.reading and last.desired == desired
        if last is None or not same or now_s >= last.due_s:
            pools = await pools_of(self._kube, desired.namespace, desired.name, own=desired.trust.issuer.own)
            had = None if last is None else last.access.leaf
            last = await self._read(taken, desired, record, replace(bare, leaf=had), pools)
            last = replace(last, read_s=now_s, kept=self._kept(key, now_s))
            self._last[key] = last
        learned = self._listeners.ask(key, taken, last.material, last.access)
        (self._left.discard if learned and last.probe is None else self._left.add)(key)
        self._probes.ask(key, taken.pods, taken.revisions, last.probe)
        shown, probed = self._listeners.shown(key), self._probes.found(key)
        return replace(last.material, shown=shown, probed=probed), last.access

    def _kept(self, key: ObjectKey, now_s: float) -> float:
        """From a half to the whole in the first minutes of a term, so that not all are read again at once."""
        return (1 + share(str(key))) / 2 if self._term.began_lately(now_s) else 1.0

    def is_settled(self, key: ObjectKey) -> bool:
        """Whether the last look found that every listener shows what its Secret has, and nothing is to be learned."""
        return key not in self._left

    def due_s(self, key: ObjectKey) -> float:
        """When a look must read the Secrets again, in monotonic seconds; infinite if none are needed."""
        last = self._last.get(key)
        return math.inf if last is None else last.due_s

    def reloads(self, key: ObjectKey, outcomes: Iterable[Outcome]) -> None:
        """Listeners that were asked to load their certificate again: what they showed before is no reason any more."""
        for outcome in outcomes:
            if isinstance(outcome.action, ReloadListener):
                self._listeners.reloads(key, outcome.action.node_id, outcome.action.listener)

    async def _read(
        self,
        taken: Snapshot,
        desired: Desired,
        record: IdentityRecord,
        bare: Access,
        pools: Knowable[tuple[PoolSeen, ...]],
    ) -> _Read:
        listed = holders(record, pools.value if isinstance(pools, Known) else ())
        secret_names = [names.authority_name(desired.name), *(one.secret(desired.name) for one in listed)]
        items = await asyncio.gather(*(self._get(desired.namespace, name) for name in secret_names))
        runtimes = [each.runtime for each in taken.revisions]
        users, password = _users(await self._users(desired, record, runtimes), desired)
        bundle, wrong = await self._bundle(desired)
        given_trust = bundle.value if isinstance(bundle, Known) else ""
        secured = replace(bare, password=password)
        found = await judged(lambda: _stored(items, listed, taken, desired, record, given_trust, secured))
        access, used = found.access, found.used
        material = Material(own=found.own, leafs=found.leafs, users=users, pools=pools)
        in_use = is_in_use(taken.revisions, record)
        if in_use and (other := other_issuer(material, desired)):
            material = replace(
                material, own=Unknown(reason=other), given_trust=Unknown(reason=other), other_issuer=True
            )
            return _Read(reading=taken.reading, desired=desired, material=material, access=access, probe=None)
        now = self._clock.now()
        if desired.trust.issuer.own:
            probe = await judged(lambda: probe_of(items[0], desired, record, access, now))
            return _Read(reading=taken.reading, desired=desired, material=material, access=access, probe=probe)
        kept = before(material.known_leafs()) if in_use else NOTHING
        trusted = await judged(lambda: (*used, bundle_of(given_trust)))
        given = await read_leafs(self._kube, desired, listed, kept, trusted, material.known_pools, now, found.ours)
        refused = tuple(filter(None, (wrong, *given.refused)))
        material = replace(
            material,
            given_trust=bundle,
            sources=given.sources,
            refused=refused,
            pending=given.pending,
            requests=given.requests,
        )
        probe = await judged(lambda: given_probe(given.operator, record, access))
        return _Read(reading=taken.reading, desired=desired, material=material, access=access, probe=probe)

    async def _bundle(self, desired: Desired) -> tuple[Knowable[str], str]:
        """What the issuer's Secret says that everybody shall trust, and what is wrong with it."""
        if desired.trust.issuer.own:
            return Unknown(reason=""), ""
        return await read_bundle(self._kube, desired, self._clock.now())

    async def _users(self, desired: Desired, record: IdentityRecord, runtimes: list[Runtime]) -> Knowable[Json | None]:
        """The Secret with users, if a listener has any."""
        if not sasl_listeners(desired, record, runtimes):
            return Known(value=None)
        return await self._get(desired.namespace, names.users_name(desired.name))

    async def _get(self, namespace: str, name: str) -> Knowable[Json | None]:
        """A Secret, None if there is none; Unknown if it cannot be read."""
        try:
            return Known(value=await self._kube.get(SECRETS, namespace, name))
        except KubeError as error:
            return unread(name, error)


def _stored(
    items: Sequence[Knowable[Json | None]],
    listed: Sequence[Holder],
    taken: Snapshot,
    desired: Desired,
    record: IdentityRecord,
    given_trust: str,
    access: Access,
) -> _Stored:
    """The first item is the Secret with the authorities, the others are those of the holders.

    The operator trusts what any stored revision does: a pod may still show a certificate from before its own revision.
    """
    own, own_trust = _own(items[0], desired)
    change = None if record.migration is None else record.migration.trust
    changing = () if change is None else (change.before, change.after)
    bundles = frozenset(
        filter(None, (own_trust, given_trust, *(each.runtime.trust for each in taken.revisions), *changing))
    )
    ours = union(*bundles)
    used = tuple(map(bundle_of, trusted_first(taken.revisions, record)))
    had = access.leaf
    access = replace(access, trust=ours.pem, bundles=len(bundles))
    of_brokers: Leaf | None = None
    leafs: list[tuple[Holder, Knowable[LeafSeen | None]]] = []
    for holder, item in zip(listed, items[1:], strict=True):
        seen, leaf = _leaf(item, desired, holder, (*used, ours))
        leafs.append((holder, seen))
        if holder == OPERATOR:
            why = seen.reason if isinstance(seen, Unknown) else NO_LEAF
            access = replace(access, leaf=leaf, why=why)
        elif holder == BROKERS:
            of_brokers = leaf
    if dict(leafs)[OPERATOR] == Known(value=None) and _have_leafs(leafs):
        access = replace(access, leaf=had or of_brokers)
    return _Stored(own=own, leafs=tuple(leafs), access=access, used=used, ours=ours)


def _have_leafs(leafs: Iterable[tuple[Holder, Knowable[LeafSeen | None]]]) -> bool:
    """Whether each controller's Secret is there, so that every controller can restart.

    Then the operator, whose own Secret was deleted, goes on with the certificate that it had, or with the brokers'.
    Otherwise a lost NAME-ca would lock it out for good.
    """
    listed = [seen for holder, seen in leafs if holder.role == Role.CONTROLLERS.value]
    return all(isinstance(seen, Known) and seen.value is not None for seen in listed)


def _users(item: Knowable[Json | None], desired: Desired) -> tuple[Knowable[UsersSeen | None], str]:
    """The users, and the operator's password."""
    if isinstance(item, Unknown):
        return item, ""
    if item.value is None:
        return Known(value=None), ""
    try:
        seen, passwords = users_from(item.value, desired.name)
    except Malformed as error:
        return Unknown(reason=f"{error}"), ""
    return Known(value=seen), passwords[OPERATOR_USER]


def _own(item: Knowable[Json | None], desired: Desired) -> tuple[Knowable[OwnAuthorities], str]:
    """The quorum's own authorities, and both in PEM."""
    if not desired.trust.issuer.own:
        return Unknown(reason=""), ""
    if isinstance(item, Unknown):
        return item, ""
    if item.value is None:
        return Known(value=OwnAuthorities()), ""
    try:
        seen = authorities_from(item.value, desired).seen
    except Malformed as error:
        return Unknown(reason=f"{error}"), ""
    both = (seen.present, seen.following)
    return Known(value=seen), "".join(each.pem for each in both if each is not None)


def _leaf(
    item: Knowable[Json | None], desired: Desired, holder: Holder, known: tuple[Bundle, ...]
) -> tuple[Knowable[LeafSeen | None], Leaf | None]:
    if isinstance(item, Unknown):
        return item, None
    if item.value is None:
        return Known(value=None), None
    try:
        return _as_known(*leaf_from(item.value, desired, holder, *known))
    except Malformed as error:
        return Unknown(reason=f"{error}"), None


def _as_known(seen: LeafSeen, leaf: Leaf) -> tuple[Knowable[LeafSeen | None], Leaf]:
    return Known(value=seen), leaf
