"""Secrets, read by name. What is read stays in memory: it is never logged, shown or stored."""

import base64
import binascii
import contextlib
from collections.abc import Collection
from typing import Final

from kit.kube.protocol import KubeApi, ResourceType
from kit.parsing import Malformed

SECRETS: Final = ResourceType(api_version="v1", kind="Secret", plural="secrets")


async def read_secret(
    kube: KubeApi, namespace: str, name: str, where: str, keys: Collection[str] | None = None
) -> dict[str, str]:
    """The texts of a Secret (`KubeError`), of these keys only if they are given. `where` names the field that asks.

    Raises `Malformed` if it does not exist, or has a value that is no text.
    """
    item = await kube.get(SECRETS, namespace, name)
    if item is None:
        raise Malformed(f"Secret {name} of {where} does not exist")
    data = item.get("data") or {}
    with contextlib.suppress(binascii.Error, UnicodeDecodeError, AttributeError, TypeError, ValueError):
        used = {str(key): value for key, value in data.items() if keys is None or key in keys}
        return {key: base64.b64decode(value).decode() for key, value in used.items()}
    raise Malformed(f"Secret {name} of {where} has a value that is no text")
