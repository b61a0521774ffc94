"""What cert-manager is asked for, and what it has put into its Secrets.

A Secret counts only if it was filled for a Certificate that belongs to this very quorum: cert-manager itself writes
that into it, with the annotation that the Certificate asks for. Where a Secret of others has the name, no Certificate
is made, because cert-manager would replace what is there.
"""

import base64
import binascii
from dataclasses import dataclass, field
from typing import Final

from kafka_quorum.model.desired import Desired
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.material import Holder, RequestSeen
from kafka_quorum.model.pools import PoolSeen
from kafka_quorum.observe.unread import unread
from kafka_quorum.resources.certmanager import (
    CERTIFICATES,
    certificate_object,
    is_current,
    is_filled_for,
    is_issued,
    is_of_earlier,
    is_owned,
)
from kit.errors import KubeError
from kit.kube.protocol import Json, KubeApi, ResourceType
from kit.kube.secrets import SECRETS
from kit.text import WORDS_MAX_CHARS, clean

_KEYS: Final = ("tls.crt", "tls.key")
_READY: Final = "Ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The Certificate of one holder, and the texts of its Secret.

    `texts` have a key. `pending`: cert-manager was asked, and has not issued yet. `refused` is the sentence of what is
    read and not used. `issuing` says, of a Secret that is filled, that cert-manager does not report it as what is asked
    for now.
    """

    request: Knowable[RequestSeen | None]
    texts: Knowable[dict[str, str]] = field(repr=False)
    pending: bool = False
    refused: str = ""
    issuing: Unknown | None = None


async def filled(kube: KubeApi, desired: Desired, holder: Holder, pools: tuple[PoolSeen, ...] = ()) -> Asked:
    """The Certificate of this holder, and what its Secret has."""
    name = holder.request(desired.name)
    item = await _get(kube, CERTIFICATES, desired, name, "get, create and patch on certificates of cert-manager.io")
    secret = await _get(kube, SECRETS, desired, name, "get on Secrets")
    if isinstance(item, Unknown):
        return Asked(request=item, texts=item)
    if isinstance(secret, Unknown):
        return Asked(request=secret, texts=secret)
    return _answer(item.value, secret.value, desired, holder, pools)


def _answer(
    item: Json | None, secret: Json | None, desired: Desired, holder: Holder, pools: tuple[PoolSeen, ...]
) -> Asked:
    """What both of them say together."""
    name = holder.request(desired.name)
    ours = secret is None or is_filled_for(secret, name, desired)
    if item is not None and not is_owned(item, desired, holder):
        return _of_others(item, desired, holder)
    if item is None:
        if not ours:
            return _foreign(f"Secret {name} exists, and cert-manager has not filled it for this quorum")
        return Asked(request=Known(value=None), texts=_not_issued(name, ""), pending=True)
    current = is_current(item, certificate_object(desired, holder, pools))
    request = Known(value=RequestSeen(current=current))
    if secret is None or not ours:
        return Asked(request=request, texts=_not_issued(name, _said(item)), pending=True)
    try:
        issuing = None if current and is_issued(item) else _not_issued(name, _said(item))
        return Asked(request=request, texts=Known(value=_texts(secret)), issuing=issuing)
    except (binascii.Error, UnicodeDecodeError, AttributeError, TypeError, ValueError):
        words = f"Secret {name} has a value that is no text: delete it, and cert-manager fills it again"
        return Asked(request=request, texts=Unknown(reason=words), refused=words)


def _of_others(item: Json, desired: Desired, holder: Holder) -> Asked:
    """A Certificate that belongs to something else: an earlier pool of the same name goes away by itself."""
    name = holder.request(desired.name)
    if holder.pool and is_of_earlier(item, desired, holder):
        reason = Unknown(reason=f"Certificate {name} is of an earlier pool of this name, and Kubernetes deletes it")
        return Asked(request=reason, texts=reason, pending=True)
    return _foreign(f"Certificate {name} exists, and is not of this quorum")


def _foreign(words: str) -> Asked:
    """Something of others has a name that is needed: nothing is made, and nothing of it is read."""
    reason = Unknown(reason=f"{words}: delete it, or use another name for the quorum")
    return Asked(request=reason, texts=reason, refused=reason.reason)


def _not_issued(name: str, said: str) -> Unknown:
    more = f" ({said})" if said else ""
    return Unknown(reason=f"cert-manager has not issued Certificate {name} yet{more}: look at it, and at its issuer")


def _said(item: Json) -> str:
    """The message of the Certificate's condition Ready."""
    status = item.get("status")
    rows = status.get("conditions") if isinstance(status, dict) else None
    listed = rows if isinstance(rows, list) else ()
    found = [one for one in listed if isinstance(one, dict) and one.get("type") == _READY]
    return clean(str(found[0].get("message", "")), max_chars=WORDS_MAX_CHARS) if found else ""


def _texts(secret: Json) -> dict[str, str]:
    data = secret.get("data") or {}
    return {key: base64.b64decode(data[key]).decode() for key in _KEYS if key in data}


async def _get(kube: KubeApi, resource: ResourceType, desired: Desired, name: str, needs: str) -> Knowable[Json | None]:
    try:
        return Known(value=await kube.get(resource, desired.namespace, name))
    except KubeError as error:
        return unread(name, error, kind=resource.kind, needs=needs)
