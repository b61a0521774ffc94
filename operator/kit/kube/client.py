"""The Kubernetes API over HTTP: the only module that uses the official client (`kubernetes.aio`).

Requests are JSON on paths that we build, without the generated models, because these cost more than the request.
Nothing is retried here: the caller looks again first.
"""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlencode
from urllib.request import getproxies

import aiohttp
from kubernetes.aio import config
from kubernetes.aio.client import ApiClient, Configuration

from kit.errors import KubeAlreadyExists, KubeConflict, KubeError, KubeHeld, KubeNotFound, KubeRefused, KubeUnavailable
from kit.kube.asked import Ask, Ended, Seen, ask_for
from kit.kube.pages import METADATA_PAGE, Item, Page, identity, metadata_page, objects_page
from kit.kube.protocol import PODS, Chosen, Json, ResourceType
from kit.kube.words import without_go
from kit.selector import EVERYTHING, Selector
from kit.text import MESSAGE_MAX_CHARS, clean

_REQUEST_TIMEOUT_S: Final = 15.0
_APPLY: Final = "application/apply-patch+yaml"
_MERGE: Final = "application/merge-patch+json"
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_BUDGET: Final = "DisruptionBudget"
"""The cause in a refused eviction if a budget refused it, and not an overloaded API server."""
_TWO_BUDGETS: Final = "more than one PodDisruptionBudget"
"""The API server evicts no pod that two budgets select. Its answer has status 500, although nothing was done."""
_METADATA: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_METADATA_LIST: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_FINE: Final = 200
_PAGE: Final = 64
"""At most this many objects are requested at once; fewer if they are large."""
_PAGE_MAX_BYTES: Final = 2 * 1024 * 1024
"""The limit of several objects in one answer: reading JSON of this length takes up to a tenth of a second."""
_OBJECT_MAX_BYTES: Final = 4 * 1024 * 1024
"""The limit of any other answer. The API server accepts 3 MiB at most, and stores less."""
_LIST_MAX_BYTES: Final = 8 * 1024 * 1024
"""The limit of all objects with the same labels together. Anybody can set a label, so we do not control their size."""
_NOT_FOUND, _CONFLICT, _TOO_MANY, _TIMEOUT, _SERVER_ERROR = 404, 409, 429, 408, 500


async def connect(field_manager: str, seen: Seen | None = None) -> "KubeClient":
    """A client for the cluster of this process, or for the present kubeconfig; it writes under this name."""
    # With trust in the environment each request looks for a proxy and for a file with passwords, in a thread: an eighth
    # of the processor time of an operator that starts with a hundred quorums.
    configuration = Configuration(client_session_kwargs={"trust_env": bool(getproxies())})
    try:
        config.load_incluster_config(client_configuration=configuration)
    except config.ConfigException:
        await config.load_kube_config(client_configuration=configuration)
    return KubeClient(ApiClient(configuration=configuration), field_manager, seen)


class KubeClient:
    """`KubeApi` over the network. One pool of connections, one deadline for every request."""

    def __init__(self, api: ApiClient, field_manager: str, seen: Seen | None = None) -> None:
        """`api` has address, trust and token (which it renews); `field_manager` is the name of the writer."""
        self._api = api
        self._field_manager = field_manager
        self._seen = seen
        self._at_once: dict[str, int] = {}
        """By kind, how many objects' metadata fitted into a page the last time."""

    async def close(self) -> None:
        """Close every connection."""
        await self._api.close()

    async def get(self, resource: ResourceType, namespace: str, name: str) -> Json | None:
        """One object; None only if the server answered that there is none."""
        try:
            return await self._request(ask_for("get", "GET", resource, namespace, name))
        except KubeNotFound:
            return None

    async def list(
        self, resource: ResourceType, namespace: str, labels: Mapping[str, str], *, only: Chosen | None = None
    ) -> list[Json]:
        """Every object with these labels. Without a resource version the answer comes from the store, not from a cache.

        Raises `KubeError` if they have more than `_LIST_MAX_BYTES` together. With `only`, the others are dropped page
        by page, and do not count.
        """
        query = {"labelSelector": ",".join(f"{key}={value}" for key, value in labels.items())}
        ask, size_bytes = ask_for("list", "GET", resource, namespace), 0
        items: list[Json] = []
        async for page in self._pages(ask, query, objects_page):
            for item in page.items:  # items of a list come without their type
                item.setdefault("apiVersion", resource.api_version)
                item.setdefault("kind", resource.kind)
            kept = page.items if only is None else [item for item in page.items if only(item)]
            size_bytes += page.size_bytes * len(kept) // max(len(page.items), 1)
            if size_bytes > _LIST_MAX_BYTES:
                raise _too_much(ask, f"labels {query['labelSelector']}", _LIST_MAX_BYTES)
            items += kept
        return items

    async def list_metadata(
        self, resource: ResourceType, namespace: str, selector: Selector = EVERYTHING
    ) -> tuple[Json, ...]:
        """What identifies every selected object, and its state; without a namespace, of all namespaces."""
        return tuple([each async for each in self.each_metadata(resource, namespace, selector)])

    async def each_metadata(
        self, resource: ResourceType, namespace: str, selector: Selector = EVERYTHING, *, label: str = ""
    ) -> AsyncGenerator[Json, None]:
        """The same one by one, with the value of this label.

        Other labels, annotations and managed fields are not even read: a user decides how long they are.
        """
        query = {"labelSelector": selector.text} if selector.text else {}
        ask = ask_for("list", "GET", resource, namespace)
        at_once = self._at_once.get(resource.plural, METADATA_PAGE)
        pages = self._pages(ask, query, metadata_page, accept=_METADATA_LIST, at_once=at_once, most=METADATA_PAGE)
        async for page in pages:
            self._at_once[resource.plural] = page.at_once
            for item in page.items:
                yield identity(item, label)

    async def create(self, resource: ResourceType, namespace: str, body: Json, *, dry_run: bool = False) -> Json:
        """Create, or with `dry_run` ask for the answer to a creation; `KubeAlreadyExists` if the name is taken."""
        query = {"fieldManager": self._field_manager} | ({"dryRun": "All"} if dry_run else {})
        return await self._request(ask_for("create", "POST", resource, namespace), body=body, query=query)

    async def replace(self, resource: ResourceType, namespace: str, body: Json) -> Json:
        """Replace; `KubeConflict` if the resource version in `body` is not the present one."""
        ask = ask_for("replace", "PUT", resource, namespace, body["metadata"]["name"])
        return await self._request(ask, body=body, query={"fieldManager": self._field_manager})

    async def apply(self, resource: ResourceType, namespace: str, body: Json) -> Json:
        """Server-side apply, which also takes fields that others own."""
        ask = ask_for("apply", "PATCH", resource, namespace, body["metadata"]["name"])
        query = {"fieldManager": self._field_manager, "force": "true"}
        return await self._request(ask, body=body, query=query, content_type=_APPLY)

    async def patch(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        body: Json,
        *,
        subresource: str = "",
        strategic: bool = False,
    ) -> Json:
        """Merge patch or strategic merge patch; conditional if `body` names a resource version or uid."""
        ask = ask_for("patch", "PATCH", resource, namespace, name, subresource)
        query = {"fieldManager": self._field_manager}
        content_type = _STRATEGIC if strategic else _MERGE
        return await self._request(ask, body=body, query=query, content_type=content_type)

    async def delete(
        self,
        resource: ResourceType,
        namespace: str,
        name: str,
        *,
        uid: str,
        resource_version: str | None = None,
        ended: bool = False,
        orphan: bool = False,
    ) -> None:
        """Delete exactly this object; a pod that has ended, without grace; with `orphan` without what it owns."""
        preconditions = {"uid": uid} | ({"resourceVersion": resource_version} if resource_version else {})
        body: Json = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions}
        if ended:
            body["gracePeriodSeconds"] = 0
        if orphan:
            body["propagationPolicy"] = "Orphan"
        await self._request(ask_for("delete", "DELETE", resource, namespace, name), body=body)

    async def evict(self, namespace: str, name: str, *, uid: str, resource_version: str, dry_run: bool = False) -> None:
        """Evict exactly this pod, if its disruption budget allows it; with the grace period of the pod."""
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        body: Json = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions},
        }
        ask = ask_for("evict", "POST", PODS, namespace, name, "eviction")
        await self._request(ask, body=body, query={"dryRun": "All"} if dry_run else {})

    async def watch(
        self, resource: ResourceType, namespace: str, *, label: str, version: str, server_s: int
    ) -> AsyncGenerator[bytes, None]:
        """The bytes of a watch of objects with this label, their metadata only, until the server ends it.

        `namespace` is empty for all; `version` is where an earlier watch ended, empty to begin with the existing
        objects. The server ends it after `server_s` seconds. Raises `KubeError`.
        """
        query = {
            "watch": "true",
            "labelSelector": label,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(server_s),
        }
        query |= {"resourceVersion": version} if version else {}
        ask, headers = ask_for("watch", "GET", resource, namespace), {"Accept": _METADATA}
        try:
            with self._noted(ask) as ended:
                async with asyncio.timeout(_REQUEST_TIMEOUT_S):
                    await self._api.update_params_for_auth(headers, [], ["BearerToken"], ask.path, "GET", None)
                    url = f"{self._api.configuration.host}{ask.path}?{urlencode(query)}"
                    longest_s = server_s + _REQUEST_TIMEOUT_S
                    answer = await self._api.call_api("GET", url, header_params=headers, _request_timeout=longest_s)
                    ended.status = answer.status
                    if answer.status != _FINE:
                        raise _error(ask, answer.status, _said(await answer.read()))
            try:
                async for chunk in answer.response.content.iter_any():
                    yield chunk
            finally:
                answer.response.close()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _unanswered(ask, error) from error

    async def _pages(
        self,
        ask: Ask,
        query: Mapping[str, str],
        read: Callable[[bytes], Page[Item]],
        *,
        accept: str = "application/json",
        at_once: int = _PAGE,
        most: int = _PAGE,
    ) -> AsyncGenerator[Page[Item], None]:
        """The pages of a list, first with `at_once` objects, and never with more than `most`. All are of one moment.

        A page that is too long is requested again with fewer objects, down to one.
        """
        count, place = at_once, ""
        while True:
            asked = {**query, "limit": str(count)} | ({"continue": place} if place else {})
            most_bytes = _PAGE_MAX_BYTES if count > 1 else _OBJECT_MAX_BYTES
            try:
                data = await self._data(ask, query=asked, accept=accept, most_bytes=most_bytes)
            except _TooLongError:
                if count == 1:
                    raise _too_much(ask, "one object", most_bytes) from None
                count = max(count // 4, 1)
                continue
            try:
                page = read(data)
            except (ValueError, RecursionError) as error:
                raise _unreadable(ask, data, f"no list of objects ({error})") from error
            if len(data) < _PAGE_MAX_BYTES // 4:
                count = min(count * 2, most)
            yield replace(page, size_bytes=len(data), at_once=count)
            place = page.place
            if not place:
                return

    async def _request(
        self,
        ask: Ask,
        *,
        body: Json | None = None,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Json:
        try:
            data = await self._data(
                ask, body=body, query=query, content_type=content_type, most_bytes=_OBJECT_MAX_BYTES
            )
        except _TooLongError:
            raise _too_much(ask, "the answer", _OBJECT_MAX_BYTES) from None
        return _answer(ask, data)

    async def _data(
        self,
        ask: Ask,
        *,
        body: Json | None = None,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
        accept: str = "application/json",
        most_bytes: int,
    ) -> bytes:
        """The answer's bytes, if it is a success. No more than `most_bytes` are read (`_TooLongError`)."""
        headers = {"Accept": accept, "Content-Type": content_type}
        try:
            with self._noted(ask) as ended:
                async with asyncio.timeout(_REQUEST_TIMEOUT_S):
                    await self._api.update_params_for_auth(headers, [], ["BearerToken"], ask.path, ask.method, body)
                    url = f"{self._api.configuration.host}{ask.path}" + (f"?{urlencode(query)}" if query else "")
                    response = await self._api.call_api(ask.method, url, header_params=headers, body=body)
                    ended.status = response.status
                    data = await _read(response.response, most_bytes)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _unanswered(ask, error) from error
        if response.status < 300:  # noqa: PLR2004 - HTTP: success
            return data
        raise _error(ask, response.status, _said(data))

    @contextmanager
    def _noted(self, ask: Ask) -> Iterator[Ended]:
        """Measures a request, and passes on how it ended, whatever that is."""
        ended, began_s = Ended(), time.monotonic()
        try:
            yield ended
        except (aiohttp.ClientError, TimeoutError, OSError):
            ended.status = None  # an answer that broke off is none
            raise
        finally:
            if self._seen is not None:
                self._seen(ask.verb, ask.of.plural, ended.status, time.monotonic() - began_s)


class _TooLongError(Exception):
    """An answer has more bytes than the limit."""


async def _read(response: aiohttp.ClientResponse, most_bytes: int) -> bytes:
    """A whole answer (`_TooLongError`); if it is too long, its connection is closed."""
    data = bytearray()
    async for chunk in response.content.iter_any():
        data += chunk
        if len(data) > most_bytes:
            response.close()
            raise _TooLongError
    return bytes(data)


def _too_much(what: Ask, which: str, most_bytes: int) -> KubeUnavailable:
    """An answer is too long: its content is unknown, and the request may have been carried out."""
    return KubeUnavailable(
        f"{what}: {which} came with more than {most_bytes // 1024} KiB, which is not read; delete objects with this "
        "label that are not needed, or shorten them"
    )


def _unanswered(what: Ask, error: Exception) -> KubeUnavailable:
    return KubeUnavailable(f"{what}: no answer from the API server ({str(error) or type(error).__name__})")


def _answer(what: Ask, data: bytes) -> Json:
    try:
        answer: Json = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _unreadable(what, data, "no JSON") from error
    return answer


def _unreadable(what: Ask, data: bytes, why: str) -> KubeUnavailable:
    """A proxy's page, say: the result of the request is unknown."""
    return KubeUnavailable(f"{what}: the answer is {why}: {data[:200]!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """The fields of a Status object; from any other answer, its beginning as `message`."""

    reason: str = ""
    message: str = ""
    held_by: str = ""
    """The words of a disruption budget; empty if none refused."""


def _error(what: Ask, status: int, said: _Said) -> KubeError:
    error = _error_of(what, status, said)
    error.said = clean(said.message, max_chars=MESSAGE_MAX_CHARS)
    return error


def _error_of(what: Ask, status: int, said: _Said) -> KubeError:
    words = f"{what}: {said.message or f'HTTP status {status}'}"
    if status == _NOT_FOUND:
        return KubeNotFound(words)
    if status == _CONFLICT:
        return KubeAlreadyExists(words) if said.reason == "AlreadyExists" else KubeConflict(words)
    if status == _TOO_MANY and said.held_by:
        return KubeHeld(f"{words} {said.held_by}")
    if _TWO_BUDGETS in said.message:
        return KubeRefused(f"{words} Change the selector of the other budget, so that it does not select this pod")
    if status >= _SERVER_ERROR or status in (_TOO_MANY, _TIMEOUT):
        return KubeUnavailable(words)
    return KubeRefused(words)


def _said(data: bytes) -> _Said:
    try:
        body: Any = json.loads(data)
        causes = (body.get("details") or {}).get("causes") or []
        held_by = " ".join(str(row.get("message", "")) for row in causes if row.get("reason") == _BUDGET)
        message = without_go(str(body.get("message", "")))
        return _Said(reason=str(body.get("reason", "")), message=message, held_by=held_by)
    except (ValueError, AttributeError, TypeError, RecursionError):
        return _Said(message=data[:200].decode(errors="replace"))
