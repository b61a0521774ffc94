"""Events about a quorum: in order, each piece of news once, repetitions counted, and never many a second.

`kubectl get events` lists by name. `kubectl events`, `kubectl describe` and `--sort-by` compare stamps of whole
seconds. So names begin with the time in microseconds: events with equal stamps then stay in the order of their names.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from kit import stamps
from kit.clock import Clock
from kit.errors import KubeError, KubeNotFound
from kit.ids import IdSource
from kit.key import ObjectKey
from kit.kube.protocol import EVENTS, Json, KubeApi, ResourceType
from kit.report.notice import Notice
from kit.report.report import PassReport
from kit.text import MESSAGE_MAX_CHARS, clean, within_bytes

_SERIES_S: Final = 600.0
"""A repetition within this time is counted on the first event; a later one is an event of its own."""
_COUNTED_EVERY_S: Final = 10.0
"""How often, at most, the count of one event is written."""
_MESSAGE_MAX_BYTES: Final = 1024
"""The API server refuses an event with a longer message."""
_INSTANCE_MAX_CHARS: Final = 128
_BURST: Final = 300
_REFILL_EVERY_S: Final = 2.0
"""A quorum may have this many new events at once, and after them one per this time.

Going from 3.9 to 4.4, level by level, takes more than a hundred; without a soak that takes only minutes.
"""

logger = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class _Series:
    """An event that was written, and how often it was repeated. Times are monotonic seconds."""

    name: str
    count: int
    last_s: float
    written_s: float


@dataclass(slots=True, kw_only=True)
class _Told:
    """The events that were written about one resource."""

    series: dict[tuple[bool, str, str], _Series] = field(default_factory=dict)
    left: float = float(_BURST)
    filled_s: float = 0.0


class Events:
    """Writes events. What it remembers only counts repetitions, and may be lost at any time."""

    def __init__(
        self, kube: KubeApi, clock: Clock, ids: IdSource, about: ResourceType, *, component: str, instance: str
    ) -> None:
        """Events about resources of this type, as this component reports them; `instance` is this process."""
        self._kube = kube
        self._clock = clock
        self._ids = ids
        self._about = about
        self._component = component
        self._instance = instance[:_INSTANCE_MAX_CHARS]
        self._told: dict[ObjectKey, _Told] = {}
        self._last_us = 0

    async def take(self, report: PassReport[object]) -> None:
        """Write the notices of a pass."""
        if report.notices:
            await self.write(report.resource, report.notices)

    def forget(self, key: ObjectKey) -> None:
        """The resource is gone: remember nothing of it."""
        self._told.pop(key, None)

    async def write(self, resource: Json, notices: Iterable[Notice]) -> None:
        """Write or count each notice as an event of the resource. A failure is logged: nothing depends on events."""
        metadata = resource["metadata"]
        key = ObjectKey(namespace=metadata["namespace"], name=metadata["name"])
        told = self._told.setdefault(key, _Told(filled_s=self._clock.monotonic()))
        self._prune(told)
        for notice in notices:
            try:
                await self._one(resource, told, notice)
            except KubeError as error:
                logger.warning("%s: an event was not written: %s", key, error)

    def _prune(self, told: _Told) -> None:
        now_s = self._clock.monotonic()
        told.left = min(_BURST, told.left + (now_s - told.filled_s) / _REFILL_EVERY_S)
        told.filled_s = now_s
        told.series = {key: one for key, one in told.series.items() if now_s - one.last_s < _SERIES_S}

    async def _one(self, resource: Json, told: _Told, notice: Notice) -> None:
        now_s = self._clock.monotonic()
        series = told.series.get(notice.series)
        if series is not None:
            series.count += 1
            series.last_s = now_s
            if now_s - series.written_s < _COUNTED_EVERY_S:
                return
            try:
                await self._count(resource, series, notice)
            except KubeNotFound:
                del told.series[notice.series]  # it has expired: the next lines write another one
            else:
                series.written_s = now_s
                return
        if told.left < 1:
            logger.warning("%s: too many events, not written: %s", resource["metadata"]["name"], notice.message)
            return
        told.left -= 1
        body = self._body(resource, notice)
        told.series[notice.series] = _Series(name=body["metadata"]["name"], count=1, last_s=now_s, written_s=now_s)
        await self._kube.create(EVENTS, resource["metadata"]["namespace"], body)

    async def _count(self, resource: Json, series: _Series, notice: Notice) -> None:
        body = {
            "count": series.count,
            "lastTimestamp": stamps.second(self._clock.now()),
            "message": _message(notice),
        }
        await self._kube.patch(EVENTS, resource["metadata"]["namespace"], series.name, body)

    def _body(self, resource: Json, notice: Notice) -> Json:
        metadata = resource["metadata"]
        self._last_us = max(self._last_us + 1, int(self._clock.now().timestamp() * 1_000_000))
        at = datetime.fromtimestamp(self._last_us / 1_000_000, tz=UTC)
        # 14 digits last until the year 4253; the rest keeps two operators apart.
        name = f"{metadata['name']}.{self._last_us:014x}{self._ids.uuid_bytes().hex()[:4]}"
        return {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": name, "namespace": metadata["namespace"]},
            "eventTime": stamps.microsecond(at),
            "firstTimestamp": stamps.second(at),
            "lastTimestamp": stamps.second(at),
            "count": 1,
            "action": notice.reason,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
            "reason": notice.reason,
            "message": _message(notice),
            "type": "Warning" if notice.warning else "Normal",
            "involvedObject": {
                "apiVersion": self._about.api_version,
                "kind": self._about.kind,
                "name": metadata["name"],
                "namespace": metadata["namespace"],
                "uid": metadata["uid"],
            },
        }


def _message(notice: Notice) -> str:
    return within_bytes(clean(notice.message, max_chars=MESSAGE_MAX_CHARS), max_bytes=_MESSAGE_MAX_BYTES)
