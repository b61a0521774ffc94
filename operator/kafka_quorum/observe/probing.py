"""Whether listeners accept a client of an authority, while authorities are changed: only they themselves say so.

The client's certificate is made here, in memory, and is stored nowhere. Before the earlier authority is given up, it is
one of the new authority; after that one of the earlier, which must be refused.
"""

import asyncio
import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from kafka_quorum.errors import KafkaError
from kafka_quorum.model.bundles import bundle_of
from kafka_quorum.model.certified import subject
from kafka_quorum.model.desired import ControllerListener, Desired, Protocol
from kafka_quorum.model.handshakes import Served, refuses_client
from kafka_quorum.model.identity import IdentityRecord
from kafka_quorum.model.known import Knowable, Known
from kafka_quorum.model.material import OPERATOR, Probed
from kafka_quorum.model.observed import Revision
from kafka_quorum.model.pods import Pod
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.observe.access import Access
from kafka_quorum.observe.listeners import secured
from kafka_quorum.resources.secrets import StoredAuthorities, authorities_from, signed_by
from kafka_quorum.wire.protocol import Controllers
from kit.clock import Clock
from kit.key import ObjectKey
from kit.kube.protocol import Json
from kit.parsing import Malformed
from kit.pki.authority import Authority, CannotIssue, Request, issue
from kit.pki.leaf import Leaf

AGAIN_S: Final = 5.0
"""How long after a probe the same listener is asked again, until it has answered as it must."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """How the listeners are asked: with a leaf of `authority` (its digest). `accepted`: they must accept it."""

    authority: str
    accepted: bool
    access: Access


def probe_of(
    item: Knowable[Json | None], desired: Desired, record: IdentityRecord, access: Access, now: datetime
) -> Probe | None:
    """The probe of the present stage; None if no authority is changed, or the key of its authority is not there."""
    reached = record.migration
    if reached is None or reached.trust is None or not isinstance(item, Known) or item.value is None:
        return None
    try:
        stored = authorities_from(item.value, desired)
    except Malformed:
        return None  # the look says so
    signer = _signer(stored, drops_old=reached.drops_trust)
    if signer is None:
        return None
    request = Request(
        subject=subject(desired, OPERATOR.role), names=(), life_s=desired.trust.leaf_s, server=False, client=True
    )
    try:
        leaf = issue(signer, request, now)
    except CannotIssue:
        return None
    sha256 = signer.certificate.fingerprint
    return Probe(authority=sha256, accepted=not reached.drops_trust, access=replace(access, leaf=leaf))


def given_probe(leaf: Leaf | None, record: IdentityRecord, access: Access) -> Probe | None:
    """The same with certificates of another issuer: the leaf that it gave the operator is shown, if it proves anything.

    Nobody has a client's certificate of the earlier authority that could be shown after it was given up.
    """
    reached = record.migration
    if leaf is None or reached is None or reached.trust is None or reached.drops_trust:
        return None
    after = bundle_of(reached.trust.after)
    new = after - bundle_of(reached.trust.before)
    sha256 = signed_by(leaf, new if new.authorities else after)
    return Probe(authority=sha256, accepted=True, access=replace(access, leaf=leaf)) if sha256 else None


def _signer(stored: StoredAuthorities, *, drops_old: bool) -> Authority | None:
    """The authority whose client is to be accepted, or to be refused."""
    if not drops_old:
        return stored.following or stored.present
    return None if stored.following is None else stored.present


class Probes:
    """Asks listeners beside the looks, because a server may be silent. Nothing here outlives the process."""

    def __init__(self, clock: Clock, controllers: Controllers) -> None:
        """Nothing is asked yet."""
        self._clock, self._controllers = clock, controllers
        self._found: dict[ObjectKey, dict[tuple[int, str], Probed]] = {}
        self._begun_s: dict[ObjectKey, dict[tuple[int, str], float]] = {}
        self._tasks: dict[ObjectKey, dict[tuple[int, str], asyncio.Task[None]]] = {}

    def forget(self, key: ObjectKey) -> None:
        """The resource is gone, or no authority is changed."""
        self._found.pop(key, None)
        self._begun_s.pop(key, None)
        for task in self._tasks.pop(key, {}).values():
            task.cancel()

    def found(self, key: ObjectKey) -> tuple[Probed, ...]:
        """The last answers."""
        answers = self._found.get(key, {})
        return tuple(answers[place] for place in sorted(answers))

    def ask(self, key: ObjectKey, pods: Iterable[Pod], revisions: Iterable[Revision], probe: Probe | None) -> None:
        """Begin the probes that are due, and forget containers that do not run any more."""
        if probe is None:
            self.forget(key)
            return
        present: set[tuple[int, str]] = set()
        found = self._found.setdefault(key, {})
        for pod, listener in secured(pods, revisions):
            if listener.protocol is not Protocol.SSL:
                continue
            place: tuple[int, str] = (pod.node_id, listener.name)
            present.add(place)
            last = found.get(place)
            if last is not None and (last.instance, last.authority) != (pod.instance, probe.authority):
                found.pop(place)
                last = None
            if last is None or not _as_it_must(last, probe):
                self._begin(key, place, pod, listener, probe)
        for place in set(found) - present:
            del found[place]

    def _begin(
        self, key: ObjectKey, place: tuple[int, str], pod: Pod, listener: ControllerListener, probe: Probe
    ) -> None:
        tasks, begun_s = self._tasks.setdefault(key, {}), self._begun_s.setdefault(key, {})
        now_s, task, at = self._clock.monotonic(), tasks.get(place), probe.access.endpoint(pod, listener)
        if not isinstance(at, Known) or (task is not None and not task.done()):
            return
        if now_s - begun_s.get(place, -AGAIN_S) < AGAIN_S:
            return
        begun_s[place] = now_s
        tasks[place] = asyncio.create_task(self._shake(key, pod, listener, probe, at.value))

    async def _shake(self, key: ObjectKey, pod: Pod, listener: ControllerListener, probe: Probe, at: Endpoint) -> None:
        with contextlib.suppress(KafkaError):
            answer = await self._controllers.handshake(at)
            self._found.setdefault(key, {})[pod.node_id, listener.name] = Probed(
                node_id=pod.node_id,
                listener=listener.name,
                authority=probe.authority,
                handshake=answer,
                instance=pod.instance,
            )


def _as_it_must(last: Probed, probe: Probe) -> bool:
    answer = last.handshake
    if probe.accepted:
        return isinstance(answer, Served) and answer.accepted
    return refuses_client(answer)
