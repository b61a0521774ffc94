"""Writes a `QuorumLook` for each quorum: when a look shows something new, at a bounded rate, and beside the passes.

A pass only leaves what is new here, which neither waits nor fails. A task of its own writes it later. So an API server
that refuses or hangs delays no pass. A look that says the same as the stored one costs no request.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kafka_quorum.introspection.kind import QUORUM_LOOKS
from kafka_quorum.introspection.look import look
from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.names import FIELD_MANAGER, LABEL_QUORUM
from kafka_quorum.model.observed import Observed
from kafka_quorum.report import Decided
from kit import stamps
from kit.clock import Clock
from kit.conditions.patch import patch_of
from kit.errors import KubeConflict, KubeError, KubeNotFound, OperatorError
from kit.key import ObjectKey
from kit.kube.protocol import Json, KubeApi
from kit.report.report import PassReport
from kit.seldom import Seldom

EVERY_S: Final = 10.0
"""One quorum's look is written at most this often."""
FAILED_S: Final = 60.0
"""The pause after a write that failed."""
_BETWEEN_S: Final = 0.1
"""The pause after each write: all quorums together cost at most ten writes a second."""
_POLL_S: Final = 0.5
_LOOKED_AT: Final = "lookedAt"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _New:
    """What is to be written: the uid of the quorum, the status without its time, and the time of the look."""

    owner_uid: str
    content: Json
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    """The object as the API server has it, and the uid of the quorum that it is of."""

    owner_uid: str
    version: str
    status: Json

    @property
    def content(self) -> Json:
        """The status without its time."""
        return {name: value for name, value in self.status.items() if name != _LOOKED_AT}


class QuorumLooks:
    """A subscriber of passes, and the task that writes. What it remembers may be lost at any time."""

    def __init__(self, kube: KubeApi, clock: Clock, may_act: Callable[[], bool]) -> None:
        """`may_act` says whether this operator holds the lease: without it, nothing is written."""
        self._kube = kube
        self._clock = clock
        self._may_act = may_act
        self._new: dict[ObjectKey, _New] = {}
        self._stored: dict[ObjectKey, _Stored] = {}
        self._not_before_s: dict[ObjectKey, float] = {}
        self._news = asyncio.Event()
        self._warnings = Seldom()

    async def take(self, report: PassReport[Observed]) -> None:
        """Leave a look here if it says something new."""
        decided = report.decided
        if not isinstance(decided, Decided):
            return
        key, uid, content = report.key, str(report.resource["metadata"].get("uid", "")), look(decided)
        stored, waiting = self._stored.get(key), self._new.get(key)
        if stored is not None and (stored.owner_uid, stored.content) == (uid, content):
            self._new.pop(key, None)
        elif waiting is None or (waiting.owner_uid, waiting.content) != (uid, content):
            self._new[key] = _New(owner_uid=uid, content=content, at=stamps.second(report.seen_at or self._clock.now()))
            self._news.set()

    def forget(self, key: ObjectKey) -> None:
        """The quorum is gone: Kubernetes deletes its look with it."""
        for store in (self._new, self._stored, self._not_before_s):
            store.pop(key, None)

    def clear(self) -> None:
        """Forget what is stored: another operator may have written it meanwhile."""
        self._stored.clear()

    async def keep(self) -> None:
        """Write for ever what is new."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._new:
                await self.round()
                await asyncio.sleep(_POLL_S)

    async def round(self) -> None:
        """Write every look whose time has come. No error of one escapes."""
        if not self._may_act():
            self._new.clear()
            self._stored.clear()
            return
        now_s = self._clock.monotonic()
        for key in [key for key in self._new if self._not_before_s.get(key, now_s) <= now_s]:
            if (new := self._new.get(key)) is not None:
                await self._one(key, new)
                await asyncio.sleep(_BETWEEN_S)

    async def _one(self, key: ObjectKey, new: _New) -> None:
        pause_s = EVERY_S
        try:
            stored = await self._written(key, new)
        except (KubeConflict, KubeNotFound):
            self._stored.pop(key, None)  # changed or deleted by another: read again after the pause
        except OperatorError as error:
            self._stored.pop(key, None)
            pause_s = FAILED_S
            self._tell(key, str(error))
        except Exception:
            self._stored.pop(key, None)
            pause_s = FAILED_S
            logger.exception("%s: a fault of this operator prevented the write of its QuorumLook", key)
        else:
            if key in self._new:
                self._stored[key] = stored
                self._not_before_s[key] = self._clock.monotonic() + pause_s
                if self._new[key] is new:
                    del self._new[key]
            return
        if key in self._new:  # else the quorum is gone
            self._not_before_s[key] = self._clock.monotonic() + pause_s

    async def _written(self, key: ObjectKey, new: _New) -> _Stored:
        """The object after the write, or as it is if it says the same already. Raises `OperatorError`."""
        stored = self._stored.get(key)
        if stored is None or stored.owner_uid != new.owner_uid:
            stored = await self._found(key, new.owner_uid)
        if stored.content == new.content:
            return stored
        status = new.content | {_LOOKED_AT: new.at}
        body: Json = {"metadata": {"resourceVersion": stored.version}, "status": patch_of(stored.status, status)}
        written = await self._kube.patch(QUORUM_LOOKS, key.namespace, key.name, body, subresource="status")
        return _Stored(owner_uid=new.owner_uid, version=str(written["metadata"]["resourceVersion"]), status=status)

    async def _found(self, key: ObjectKey, owner_uid: str) -> _Stored:
        """The object of this quorum, created if there is none."""
        found = await self._kube.get(QUORUM_LOOKS, key.namespace, key.name)
        if found is None:
            found = await self._kube.create(QUORUM_LOOKS, key.namespace, _object(key, owner_uid))
        metadata = found["metadata"]
        if owner_uid not in {owner.get("uid") for owner in metadata.get("ownerReferences") or ()}:
            raise KubeError(
                f"QuorumLook {key} is not owned by the present quorum. Kubernetes deletes it if an earlier quorum owns "
                "it; otherwise delete it"
            )
        status = found.get("status")
        return _Stored(
            owner_uid=owner_uid,
            version=str(metadata["resourceVersion"]),
            status=status if isinstance(status, dict) else {},
        )

    def _tell(self, key: ObjectKey, why: str) -> None:
        if self._warnings.is_due(self._clock.monotonic()):
            logger.warning("%s: its QuorumLook was not written: %s", key, why)


def _object(key: ObjectKey, owner_uid: str) -> Json:
    """A new object without a status, owned by its quorum."""
    owner = {
        "apiVersion": QUORUMS.api_version,
        "kind": QUORUMS.kind,
        "name": key.name,
        "uid": owner_uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }
    return {
        "apiVersion": QUORUM_LOOKS.api_version,
        "kind": QUORUM_LOOKS.kind,
        "metadata": {
            "name": key.name,
            "namespace": key.namespace,
            "labels": {"app.kubernetes.io/managed-by": FIELD_MANAGER, LABEL_QUORUM: key.name},
            "ownerReferences": [owner],
        },
        "spec": {"quorum": key.name},
    }
