"""Watches of the API server: something that belongs to a resource changed.

Only names and labels are read, never the objects. A watch begins with the existing objects, and continues where it was
interrupted. If the API server no longer has that place, it begins again with the existing objects. A watch ends only
with an error, so its caller repeats it for ever (`supervise`).
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Final

from kit.errors import KubeRefused, KubeUnavailable
from kit.kube.client import KubeClient
from kit.kube.protocol import Json, ResourceType

SERVER_S: Final = 240
"""After this time the API server ends a watch, and the next one continues."""
_SILENT_S: Final = 90.0
"""The API server writes a bookmark every minute: after this time without one, the connection is dead."""
_LINE_MAX_BYTES: Final = 4 * 1024 * 1024
_REOPEN_S: Final = 0.2
_GONE: Final = 410

logger = logging.getLogger(__name__)


class Watch:
    """One resource type in one namespace (empty for all), by a label that its objects have."""

    def __init__(self, kube: KubeClient, resource: ResourceType, namespace: str, label: str) -> None:
        """Begin with the existing objects."""
        self._kube = kube
        self._resource = resource
        self._namespace = namespace
        self._label = label
        self._version = ""
        self._was_silent = False

    async def follow(self, seen: Callable[[Json], None]) -> None:
        """Call `seen` with the metadata of each object that exists, changes, or goes. Ends with `KubeError` only.

        Of an object that is gone, the metadata has a deletionTimestamp in any case.
        """
        while True:
            chunks = self._kube.watch(
                self._resource, self._namespace, label=self._label, version=self._version, server_s=SERVER_S
            )
            async with aclosing(chunks):
                await self._read(chunks, seen)
            await asyncio.sleep(_REOPEN_S)

    async def _read(self, chunks: AsyncGenerator[bytes, None], seen: Callable[[Json], None]) -> None:
        """One watch, until the API server ends it."""
        rest = b""
        while (chunk := await self._next(chunks)) is not None:
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) > _LINE_MAX_BYTES:
                raise KubeUnavailable(f"the watch of {self._resource.plural} sent a line that is too long")
            for line in lines:
                event = _event(line, self._resource) if line.strip() else None
                if event is not None:
                    self._take(event, seen)

    async def _next(self, chunks: AsyncGenerator[bytes, None]) -> bytes | None:
        try:
            async with asyncio.timeout(_SILENT_S):
                return await anext(chunks, None)
        except TimeoutError as error:
            if self._was_silent:
                self._version = ""  # a store restored from a backup says nothing until it has passed this version
            self._was_silent = True
            raise KubeUnavailable(f"the watch of {self._resource.plural} was silent for {_SILENT_S:g} s") from error

    def _take(self, event: Json, seen: Callable[[Json], None]) -> None:
        body = event.get("object") or {}
        self._was_silent = False
        if event.get("type") == "ERROR":
            self._version = ""  # for any error, the next watch begins with the existing objects
            if body.get("code") != _GONE:
                raise KubeRefused(f"the watch of {self._resource.plural} ended: {body.get('message', '')}")
            return
        metadata = body.get("metadata") or {}
        self._version = str(metadata.get("resourceVersion") or self._version)
        if event.get("type") == "DELETED":
            metadata.setdefault("deletionTimestamp", "")
        if event.get("type") != "BOOKMARK":
            seen(metadata)


def _event(line: bytes, resource: ResourceType) -> Json | None:
    """The event in a line; None if it is nested too deeply to be read.

    Everybody who may create an object decides how deep its managed fields are. So one such object is left out, and does
    not end the watch of all others.
    """
    try:
        event = json.loads(line)
    except RecursionError:
        logger.warning("the watch of %s sent an object that is nested too deeply; it is left out", resource.plural)
        return None
    except ValueError as error:
        raise KubeUnavailable(f"the watch of {resource.plural} sent no JSON: {line[:100]!r}") from error
    if not isinstance(event, dict) or not isinstance(event.get("object") or {}, dict):
        raise KubeUnavailable(f"the watch of {resource.plural} sent no event: {line[:100]!r}")
    return event
