"""The brokers' users of SCRAM: what a person's Secret has, what the operator made, and what Kafka has.

Both Secrets are read by name with each new list of the other objects, and every `EVERY_S`. Then the active controller
is asked, too: so every act follows an answer of its own look. Nothing that is kept of this leaves the process.
"""

import asyncio
from dataclasses import dataclass, field, replace
from typing import Final

from kafka_quorum.errors import KafkaError
from kafka_quorum.model import names
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.identity import BootstrapPhase
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.scram import WHERE, RecordedUsers, ScramHeld, ScramMechanism, ScramSeen
from kafka_quorum.observe.snapshot import Snapshot
from kafka_quorum.observe.unread import unread
from kafka_quorum.resources.scram import Stored, StoredUser, given_users, is_of, recorded, stored_from
from kafka_quorum.wire.protocol import Controllers
from kit.clock import Clock
from kit.errors import KubeError
from kit.key import ObjectKey
from kit.kube.protocol import KubeApi
from kit.kube.secrets import SECRETS, Use, read_bytes
from kit.parsing import Malformed

EVERY_S: Final = 30.0
SOON_S: Final = 5.0
"""The pause before the controllers are asked again that did not answer."""
_Judged = dict[tuple[StoredUser, bytes], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """Secrets, and an answer, as one round of requests found them. `judged` are passwords compared with credentials."""

    taken: Snapshot
    source: str
    seen: ScramSeen
    judged: _Judged = field(repr=False)
    read_s: float
    asked_s: float


class ScramReads:
    """Reads in looks, and what the last one showed for each quorum. Nothing here outlives the process."""

    def __init__(self, kube: KubeApi, clock: Clock, controllers: Controllers) -> None:
        """Nothing is read yet."""
        self._kube, self._clock, self._controllers = kube, clock, controllers
        self._last: dict[ObjectKey, _Read] = {}

    def forget(self, key: ObjectKey) -> None:
        """The resource is gone."""
        self._last.pop(key, None)

    async def look(
        self, key: ObjectKey, taken: Snapshot, desired: Desired, leader: Endpoint | None
    ) -> ScramSeen | None:
        """The users; None if the spec names none, or the quorum has not started."""
        source, record = desired.trust.scram_users_secret, taken.record
        if not source or record is None or record.phase is not BootstrapPhase.STARTED:
            self._last.pop(key, None)
            return None
        last, now_s = self._last.get(key), self._clock.monotonic()
        old = last is None or last.taken is not taken or last.source != source or now_s - last.read_s >= EVERY_S
        if old or last is None:
            last = await self._read(taken, desired, record.cluster_id, {} if last is None else last.judged)
        silent = isinstance(last.seen.held, Unknown) and now_s - last.asked_s >= SOON_S
        if leader is not None and (old or silent):
            last = replace(last, seen=replace(last.seen, held=await self._ask(leader, last.seen)), asked_s=now_s)
        self._last[key] = last
        return last.seen

    async def _read(self, taken: Snapshot, desired: Desired, cluster_id: str, judged: _Judged) -> _Read:
        source, now_s = desired.trust.scram_users_secret, self._clock.monotonic()
        stored, seen = await self._recorded(desired, cluster_id)
        kept: _Judged = {}
        try:
            use = Use(reader=names.reader(desired.name), where=WHERE, annotation=names.USED_BY)
            values = await read_bytes(self._kube, desired.namespace, source, use)
            pairs = [(user, (row, values[user])) for user, row in stored.items() if user in values]
            for _, pair in pairs:
                if pair not in judged:
                    await asyncio.sleep(0)  # each takes milliseconds, and every quorum has this event loop
                kept[pair] = judged[pair] if pair in judged else is_of(*pair)
            given = Known(value=given_users(values, stored, {user: kept[pair] for user, pair in pairs}))
            found = ScramSeen(given=given, recorded=seen)
        except Malformed as error:
            found = ScramSeen(given=Unknown(reason=f"{error}"), recorded=seen)
        except KubeError as error:
            found = ScramSeen(given=unread(source, error), recorded=seen)
        return _Read(taken=taken, source=source, seen=found, judged=kept, read_s=now_s, asked_s=-SOON_S)

    async def _recorded(self, desired: Desired, cluster_id: str) -> tuple[Stored, Knowable[RecordedUsers]]:
        name = names.scram_name(desired.name)
        try:
            item = await self._kube.get(SECRETS, desired.namespace, name)
            if item is None:
                return {}, Known(value=RecordedUsers())
            stored = stored_from(item, desired.name, cluster_id)
        except Malformed as error:
            return {}, Unknown(reason=f"{error}")
        except KubeError as error:
            return {}, unread(name, error)
        return stored, Known(value=recorded(stored, str(item["metadata"]["resourceVersion"])))

    async def _ask(self, leader: Endpoint, seen: ScramSeen) -> Knowable[ScramHeld]:
        """Which of these users Kafka has; Unknown on any error."""
        if isinstance(seen.given, Unknown) or isinstance(seen.recorded, Unknown):
            return Unknown(reason="it is not known which users are asked for")
        ours = (user for user, _ in seen.recorded.value.users)
        users = sorted({*ours, *(each.user for each in seen.given.value if not each.fault)})
        if not users:
            return Known(value=ScramHeld(sha_256=frozenset(), sha_512=frozenset()))
        try:
            sha_256 = await self._controllers.scram_present(leader, users, ScramMechanism.SHA_256)
            sha_512 = await self._controllers.scram_present(leader, users, ScramMechanism.SHA_512)
        except KafkaError as error:
            return Unknown(reason=str(error))
        return Known(value=ScramHeld(sha_256=sha_256, sha_512=sha_512))
