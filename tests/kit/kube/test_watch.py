"""A watch: what it reports, and how the next watch follows after each way of ending."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from tests import virtual_time

from kit.errors import KubeRefused, KubeUnavailable
from kit.kube.protocol import CONFIG_MAPS, Json, ResourceType
from kit.kube.watch import Noted, Watch
from kit.kube.watched import Watched


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
        self,
        resource: ResourceType,
        namespace: str,
        *,
        label: str,
        version: str,
        server_s: int,
        opened: Callable[[], None],
    ) -> AsyncGenerator[bytes, None]:
        """The next stream; after the last one, silence. One that begins with an exception is never opened."""
        assert (resource, namespace, label) == (CONFIG_MAPS, "ns", "l")
        assert server_s > 0
        self.versions.append(version)
        chunks = self._streams.pop(0) if self._streams else [3600.0]
        if not isinstance(chunks[0], Exception):
            opened()
        for chunk in chunks:
            if isinstance(chunk, Exception):
                raise chunk
            if isinstance(chunk, bytes):
                yield chunk
            else:
                await asyncio.sleep(chunk)


async def _followed(streams: Streams, for_s: float = 30.0, noted: Noted | None = None) -> list[str]:
    """The names that are reported within this many seconds."""
    seen: list[Json] = []
    kube: Any = streams
    task = asyncio.create_task(Watch(kube, CONFIG_MAPS, "ns", "l", noted).follow(seen.append))
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


def _notes(streams: Streams) -> list[str]:
    """What becomes of a watch, in words."""
    found: list[str] = []
    noted = Noted(
        opened=lambda: found.append("opened"),
        interrupted=lambda: found.append("interrupted"),
        missed=lambda: found.append("missed"),
    )
    virtual_time.run(_followed(streams, noted=noted))
    return found


def test_a_watch_that_continues_where_it_ended_misses_nothing() -> None:
    """Only the first watch, which begins with the existing objects, may have missed something."""
    notes = _notes(Streams([line("ADDED", "a", "5")], [line("ADDED", "b", "6")], [3600.0]))
    assert notes == ["missed", "opened", "interrupted", "opened", "interrupted", "opened", "interrupted"]


def test_a_watch_that_begins_anew_may_have_missed_something() -> None:
    """After 410 Gone deletions may be missed, and so may the change of an object that is nested too deeply."""
    gone = json.dumps({"type": "ERROR", "object": {"code": 410, "message": "too old"}}).encode() + b"\n"
    notes = _notes(Streams([line("ADDED", "a", "5"), gone], [3600.0]))
    assert notes == ["missed", "opened", "interrupted", "missed", "opened", "interrupted"]
    deep = line("ADDED", "deep").rstrip(b"}}\n") + b',"spec":' + b'{"a":' * 30_000 + b"1" + b"}" * 30_002 + b"\n"
    assert _notes(Streams([deep, 3600.0])) == ["missed", "opened", "missed", "interrupted"]


def test_an_object_that_is_gone_has_the_mark_of_a_deletion() -> None:
    """An object that is deleted at once has no deletionTimestamp of its own."""

    async def metadata() -> list[Json]:
        seen: list[Json] = []
        kube: Any = Streams([line("MODIFIED", "a", "5"), line("DELETED", "a", "6"), 3600.0])
        task = asyncio.create_task(Watch(kube, CONFIG_MAPS, "ns", "l").follow(seen.append))
        await asyncio.wait({task}, timeout=5)
        task.cancel()
        return seen

    assert ["deletionTimestamp" in one for one in virtual_time.run(metadata())] == [False, True]


def test_watches_are_complete_while_all_of_them_are_open() -> None:
    """One watch that is not open is enough, and without watches nothing is watched."""
    missed: list[None] = []
    watched = Watched(lambda: missed.append(None))
    assert not watched.complete()
    first, second = watched.noted("first"), watched.noted("second")
    first.opened()
    assert not watched.complete()
    second.opened()
    assert watched.complete()
    first.interrupted()
    assert not watched.complete()
    assert missed == []
    second.missed()
    assert missed == [None]
