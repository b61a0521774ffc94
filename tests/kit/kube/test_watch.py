"""A watch: what it reports, and how the next watch follows after each way of ending."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from tests import virtual_time

from kit.errors import KubeRefused, KubeUnavailable
from kit.kube.protocol import CONFIG_MAPS, Json, ResourceType
from kit.kube.watch import Watch


def line(type_: str, name: str = "x", version: str = "1", **more: Any) -> bytes:  # noqa: ANN401 - any JSON
    """One event as the API server sends it."""
    metadata = {"name": name, "resourceVersion": version, "labels": {"l": "q"}}
    return json.dumps({"type": type_, "object": {"metadata": metadata, **more}}).encode() + b"\n"


class Streams:
    """An API server whose watches send these chunks, one watch after the other; an exception ends a watch."""

    def __init__(self, *streams: list[bytes | Exception | float]) -> None:
        """A number is a silence of that many seconds."""
        self._streams = list(streams)
        self.versions: list[str] = []

    async def watch(
        self, resource: ResourceType, namespace: str, *, label: str, version: str, server_s: int
    ) -> AsyncGenerator[bytes, None]:
        """The next stream; after the last one, silence."""
        assert (resource, namespace, label) == (CONFIG_MAPS, "ns", "l")
        assert server_s > 0
        self.versions.append(version)
        for chunk in self._streams.pop(0) if self._streams else [3600.0]:
            if isinstance(chunk, Exception):
                raise chunk
            if isinstance(chunk, bytes):
                yield chunk
            else:
                await asyncio.sleep(chunk)


async def _followed(streams: Streams, for_s: float = 30.0) -> list[str]:
    """The names that are reported within this many seconds."""
    seen: list[Json] = []
    kube: Any = streams
    task = asyncio.create_task(Watch(kube, CONFIG_MAPS, "ns", "l").follow(seen.append))
    await asyncio.wait({task}, timeout=for_s)
    if task.done():
        task.result()
    task.cancel()
    return [metadata["name"] for metadata in seen]


def test_an_object_that_is_nested_too_deeply_is_left_out() -> None:
    """Whoever may create an object decides how deep it is: one such object does not end the watch of all others."""
    deep = line("ADDED", "deep").rstrip(b"}}\n") + b',"spec":' + b'{"a":' * 30_000 + b"1" + b"}" * 30_002 + b"\n"
    streams = Streams([deep + line("ADDED", "next"), 3600.0])
    assert virtual_time.run(_followed(streams)) == ["next"]
    assert len(streams.versions) == 1


def test_changes_are_reported_and_bookmarks_are_not() -> None:
    """Events may arrive in any chunks; a bookmark is not reported, and only moves the start of the next watch."""
    text = (
        line("ADDED", "a", "5") + line("MODIFIED", "b", "6") + line("BOOKMARK", "no", "9") + line("DELETED", "c", "8")
    )
    streams = Streams([text[:50], text[50:51], text[51:]])
    assert virtual_time.run(_followed(streams)) == ["a", "b", "c"]
    assert streams.versions == ["", "8"]


def test_a_place_that_is_forgotten_begins_anew() -> None:
    """After 410 Gone the next watch starts with the present objects."""
    gone = json.dumps({"type": "ERROR", "object": {"code": 410, "message": "too old"}}).encode() + b"\n"
    streams = Streams([line("ADDED", "a", "5")], [gone], [line("ADDED", "a", "99")])
    assert virtual_time.run(_followed(streams)) == ["a", "a"]
    assert streams.versions == ["", "5", "", "99"]


@pytest.mark.parametrize(
    ("stream", "error"),
    [
        ([b"<html>\n"], KubeUnavailable),
        ([b"[]\n"], KubeUnavailable),
        ([b'{"object": 7}\n'], KubeUnavailable),
        ([b"x" * 5_000_000], KubeUnavailable),
        ([1000.0], KubeUnavailable),
        ([KubeRefused("forbidden")], KubeRefused),
        ([b'{"type": "ERROR", "object": {"code": 500, "message": "etcd"}}\n'], KubeRefused),
    ],
    ids=["no JSON", "a list", "no object", "no line", "silence", "forbidden", "an error event"],
)
def test_what_is_no_watch_ends_with_an_error(stream: list[bytes | Exception | float], error: type[Exception]) -> None:
    """Any other end of a watch is an error that the caller receives; nothing hangs."""
    with pytest.raises(error):
        virtual_time.run(_followed(Streams(stream), for_s=200.0))


def test_after_two_silences_a_watch_begins_with_the_existing_objects() -> None:
    """A store that was restored from a backup has lower versions: it says nothing until it has passed the old one."""
    streams = Streams([line("ADDED", version="900000"), 1000.0], [1000.0], [line("ADDED", version="7"), 1000.0])
    kube: Any = streams
    watch = Watch(kube, CONFIG_MAPS, "ns", "l")

    async def follows() -> None:
        for _ in range(4):
            with pytest.raises(KubeUnavailable, match="silent"):
                await watch.follow(lambda _: None)

    virtual_time.run(follows())
    assert streams.versions == ["", "900000", "", "7"]
