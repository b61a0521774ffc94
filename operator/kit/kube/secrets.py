"""Secrets, read by name. What is read stays in memory: it is never logged, shown or stored.

The operator may read more Secrets than the person who writes a name into a spec. So the Secret itself lists, in an
annotation, which resources may use it: only a person who may write the Secret can add one.
"""

import base64
import binascii
import contextlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from kit.kube.protocol import Json, KubeApi, ResourceType
from kit.parsing import Malformed

SECRETS: Final = ResourceType(api_version="v1", kind="Secret", plural="secrets")


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What a Secret is used for: `where` is the field that names it, and `reader` the resource, as KIND/NAME.

    `annotation` is the key under which a Secret lists its readers, separated by commas.
    """

    reader: str
    where: str
    annotation: str


async def read_secret(
    kube: KubeApi, namespace: str, name: str, use: Use, keys: Collection[str] | None = None
) -> dict[str, str]:
    """The texts of a Secret that allows this use (`KubeError`), of these keys only if they are given.

    Raises `Malformed` if it does not exist, does not allow the use, or has a value that is no text. The sentence is the
    same for the first two: a name in a spec shows nothing about the Secrets of others.
    """
    item = await _allowed(kube, namespace, name, use)
    data = item.get("data") or {}
    with contextlib.suppress(binascii.Error, UnicodeDecodeError, AttributeError, TypeError, ValueError):
        used = {str(key): value for key, value in data.items() if keys is None or key in keys}
        return {key: base64.b64decode(value).decode() for key, value in used.items()}
    raise Malformed(f"Secret {name} of {use.where} has a value that is no text: correct it")


async def read_bytes(kube: KubeApi, namespace: str, name: str, use: Use) -> dict[str, bytes]:
    """The values of a Secret that allows this use, whatever they are (`KubeError`, and `Malformed` as above)."""
    item = await _allowed(kube, namespace, name, use)
    with contextlib.suppress(binascii.Error, AttributeError, TypeError, ValueError):
        return {str(key): base64.b64decode(value, validate=True) for key, value in (item.get("data") or {}).items()}
    raise Malformed(f"Secret {name} of {use.where} has a value that is no base64: correct it")


async def check_use(kube: KubeApi, namespace: str, name: str, use: Use) -> None:
    """Raise `Malformed` if this Secret does not exist, or does not allow the use (`KubeError`)."""
    await _allowed(kube, namespace, name, use)


async def _allowed(kube: KubeApi, namespace: str, name: str, use: Use) -> Json:
    item = await kube.get(SECRETS, namespace, name)
    if item is not None and allows(item, use):
        return item
    raise Malformed(
        f"Secret {name} of {use.where} does not exist, or its annotation {use.annotation} does not list {use.reader}: "
        "create it, or let a person who may change it add this"
    )


def allows(item: Json, use: Use) -> bool:
    """Whether an object lists the reader of this use in its annotation: a Secret, or any other object of a person."""
    annotations = item["metadata"].get("annotations") or {}
    return use.reader in {each.strip() for each in str(annotations.get(use.annotation, "")).split(",")}
