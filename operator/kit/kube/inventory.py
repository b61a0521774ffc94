"""What exists, with its versions: one list of each kind for all resources, instead of the same lists for each of them.

Objects that a resource read earlier are still the same if the API server lists exactly these, each with the uid and
resource version that it had. This confirms them as well as reading them again does, and a thousand resources cost some
requests together. Whatever differs is read again by its own resource. A list that fails confirms nothing.
"""

import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Container, Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final, Protocol

from kit.clock import Clock
from kit.errors import KubeError, KubeUnavailable
from kit.key import ObjectKey
from kit.kube.protocol import Json, ResourceType
from kit.selector import EVERYTHING, Selector, parse

OBJECTS_MAX: Final = 200_000
"""Of one inventory: anybody can set a label. A thousand quorums have some 15,000 objects."""
_DIGEST_BYTES: Final = 16

logger = logging.getLogger(__name__)


class Lists(Protocol):
    """What lists metadata."""

    def each_metadata(
        self, resource: ResourceType, namespace: str, selector: Selector = EVERYTHING, *, label: str = ""
    ) -> AsyncIterator[Json]:
        """What identifies every selected object, with this label of it; without a namespace, of all namespaces.

        Read from the store and not from a cache. Raises `KubeError`.
        """


def digest_of(kind: ResourceType, metadata: Json) -> bytes:
    """What tells one state of one object from any other."""
    parts = (kind.plural, *(str(metadata.get(name)) for name in ("namespace", "name", "uid", "resourceVersion")))
    return blake2b("\n".join(parts).encode(), digest_size=_DIGEST_BYTES).digest()


def together(digests: Iterable[bytes]) -> bytes:
    """The digest of a set of objects, in any order."""
    return blake2b(b"".join(sorted(digests)), digest_size=_DIGEST_BYTES).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """What existed at some moment after `began_s` (monotonic seconds), by resource."""

    began_s: float
    versions: dict[ObjectKey, tuple[str, str]] = field(repr=False)
    """The uid and resource version of each resource."""
    parts: dict[ObjectKey, bytes] = field(repr=False)
    """`together` of the objects with the label of each resource that has any."""

    def confirms(self, key: ObjectKey, resource: Json, parts: bytes) -> bool:
        """Whether exactly these objects existed: the resource itself, and those with its label."""
        metadata: dict[str, Any] = resource["metadata"]
        version = (str(metadata.get("uid")), str(metadata.get("resourceVersion")))
        return self.versions.get(key) == version and self.parts.get(key, NOTHING) == parts


NOTHING: Final = together(())


async def take(
    kube: Lists,
    clock: Clock,
    resource: ResourceType,
    kinds: Iterable[ResourceType],
    label: str,
    namespace: str,
    wanted: Container[ObjectKey],
) -> Inventory | None:
    """List each kind once, in one namespace or in all (empty). Only what belongs to `wanted` is kept.

    None if any list failed, or had more than `OBJECTS_MAX` objects: then nothing is confirmed.
    """
    began_s, selector, count = clock.monotonic(), parse(label), 0
    versions: dict[ObjectKey, tuple[str, str]] = {}
    parts: defaultdict[ObjectKey, list[bytes]] = defaultdict(list)
    try:
        async for each in kube.each_metadata(resource, namespace):
            key = ObjectKey(namespace=str(each.get("namespace")), name=str(each.get("name")))
            if key in wanted:
                versions[key] = (str(each.get("uid")), str(each.get("resourceVersion")))
        for kind in kinds:
            async for each in kube.each_metadata(kind, namespace, selector, label=label):
                key = ObjectKey(namespace=str(each.get("namespace")), name=str(each["labels"][label]))
                if key in wanted:
                    parts[key].append(digest_of(kind, each))
                count += 1
                if count > OBJECTS_MAX:
                    raise KubeUnavailable(f"more than {OBJECTS_MAX} objects have label {label}")
    except KubeError as error:
        logger.warning("what belongs to the %s cannot be listed together: %s", resource.plural, error)
        return None
    return Inventory(
        began_s=began_s, versions=versions, parts={key: together(digests) for key, digests in parts.items()}
    )
