"""Objects that no list by a label has: everybody can take a label off, and the object exists as before.

What such an object does goes on: a pod runs Kafka, with or without our label. So it never counts as absent. It is not
used either, because the account of the operator may not give itself an object (`admissionpolicy.yaml`): a person does
that, with the command that is told here.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Protocol

from kit.errors import KubeAlreadyExists
from kit.kube.protocol import PODS, Json, ResourceType


class Gets(Protocol):
    """What gets one object."""

    async def get(self, resource: ResourceType, namespace: str, name: str) -> Json | None:
        """One object; None only if the server answered that there is none. Raises `KubeError`."""


async def unlisted(
    kube: Gets, kind: ResourceType, namespace: str, groups: Iterable[Collection[str]], listed: Iterable[Json]
) -> list[Json]:
    """The objects of these names that exist and that no list had.

    Of a group at most one is expected: none of it is asked for by its name if one of it was listed. So it costs no
    request as long as nothing is missing.
    """
    known = {name_of(item) for item in listed}
    missing = [name for group in groups if known.isdisjoint(group) for name in group]
    found = await asyncio.gather(*(kube.get(kind, namespace, name) for name in missing))
    return [item for item in found if item is not None]


async def sorted_out(
    kube: Gets,
    namespace: str,
    groups: Iterable[Collection[str]],
    own: Collection[Json],
    strange: Iterable[Json],
    why: Callable[[Json], str],
) -> tuple[list[Json], list[tuple[Json, str]]]:
    """Pods that got their labels since they were listed, and those without them; raises `KubeError`.

    `own` and `strange` are those that were listed, and `groups` the names that are asked for if none was. `why` says
    what is wrong with a pod, in a sentence; empty if nothing is.
    """
    others = {name_of(item) for item in strange}
    missing = [item for item in await unlisted(kube, PODS, namespace, groups, own) if name_of(item) not in others]
    bad = [(item, text) for item in (*own, *missing) if (text := why(item))]
    told = {name_of(item) for item, _ in bad}
    return [item for item in missing if name_of(item) not in told], bad


def divided(items: Collection[Json], apart: Callable[[Json], bool]) -> tuple[list[Json], list[Json]]:
    """Those for which this is true, and the others."""
    chosen = [item for item in items if apart(item)]
    return chosen, [item for item in items if not apart(item)]


def name_of(item: Json) -> str:
    """The name of an object."""
    return str(item["metadata"]["name"])


def without_labels(item: Json, wanted: Mapping[str, str]) -> str:
    """What is wrong with the labels of an object, and the command that corrects them; empty if nothing is."""
    metadata = item["metadata"]
    labels = metadata.get("labels") or {}
    other = [f"{key}={value}" for key, value in wanted.items() if labels.get(key) != value]
    if not other:
        return ""
    command = f"kubectl -n {metadata['namespace']} label pod {metadata['name']} --overwrite {' '.join(other)}"
    return f"it lost labels that the operator gave it. Give them back: {command}"


def taken(what: str, error: KubeAlreadyExists) -> str:
    """Why a creation failed whose name is in use; the next look finds out by what, if a list has it."""
    text = f"{what} failed: an object of this name exists already ({error})"
    return f"{text}. If it lost its labels kafkaquorum.io/*, give them back"
