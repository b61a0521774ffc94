"""The disruption token: who may stop running servers on purpose now, among several kinds of resources.

It is a Lease object of Kubernetes that nothing renews: a holder has it until it gives it back. Every write compares the
resource version, so of two that take it at the same moment one is refused (`KubeConflict`, `KubeAlreadyExists`). A
holder is text such as `quorum/NAME`; the empty text means that the token is free. A Lease that does not exist is free,
too.

A write without an answer may have its effect later. So the token is given back in two writes: the first one says
that it ends, and only over that one it is freed. A holder whose token ends takes it again before it stops anything,
which refuses every such write that is still under way: no token is freed in the middle of a stop.
"""

from dataclasses import dataclass
from typing import Final

from kit import stamps
from kit.clock import Clock
from kit.kube.protocol import LEASES, Json, KubeApi
from kit.parsing import INT32_MAX
from kit.text import clean

HOLDER_MAX_CHARS: Final = 300
"""A name of Kubernetes has 253 characters at most, and the kind stands before it."""
_ENDS_S: Final = 1
"""The duration in the Lease of a token that is being given back. Any other one has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """The token as one look showed it.

    `holder` is empty if it is free. `since` is when it was taken (RFC 3339), empty if that is not stored.
    `resource_version` is that of the Lease; empty if there is none. `ends`: its holder has begun to give it back.
    """

    holder: str
    since: str
    resource_version: str
    ends: bool = False

    @property
    def free(self) -> bool:
        """Whether it can be taken."""
        return not self.holder


ABSENT: Final = Token(holder="", since="", resource_version="")
"""There is no Lease: nobody ever took the token, or a person deleted it."""


async def read(kube: KubeApi, namespace: str, name: str) -> Token:
    """The token now. Raises `KubeError` if the Lease cannot be read: that is not the same as a free one."""
    item = await kube.get(LEASES, namespace, name)
    return ABSENT if item is None else token_from(item)


def token_from(item: Json) -> Token:
    """The token in a Lease, as the API server writes it. A spec of another form is a free one, as for an empty spec."""
    found = item.get("spec")
    spec = found if isinstance(found, dict) else {}
    return Token(
        holder=clean(str(spec.get("holderIdentity") or ""), max_chars=HOLDER_MAX_CHARS),
        since=clean(str(spec.get("acquireTime") or ""), max_chars=HOLDER_MAX_CHARS),
        resource_version=str(item["metadata"]["resourceVersion"]),
        ends=bool(spec.get("holderIdentity") and spec.get("leaseDurationSeconds")),
    )


async def take(
    kube: KubeApi, clock: Clock, namespace: str, name: str, *, holder: str, seen: Token, metadata: Json | None = None
) -> None:
    """Take the token that was free when it was `seen`. To take it while holding it changes nothing, unless it ends.

    `metadata` (labels, ownerReferences) is given to a Lease that is created. Raises `ValueError` if another holder was
    seen, and `KubeError` if it was not taken, or perhaps not: `KubeConflict`, `KubeNotFound` and `KubeAlreadyExists`
    say that the Lease changed since.
    """
    if seen.holder == holder and not seen.ends:
        return
    if seen.holder not in {"", holder}:
        raise ValueError(f"{seen.holder} holds the token: only its holder gives it back")
    body = _body(namespace, name, holder, since=stamps.microsecond(clock.now()))
    if seen.resource_version:
        await _replace(kube, namespace, body, seen)
    else:
        body["metadata"] |= metadata or {}
        await kube.create(LEASES, namespace, body)


async def give_back(kube: KubeApi, namespace: str, name: str, *, holder: str, seen: Token) -> None:
    """Give back the token that was held when it was `seen`; nothing is done if `holder` did not have it then.

    Raises `KubeError` if it was not given back, or perhaps not.
    """
    if seen.holder != holder:
        return
    if not seen.ends:
        ending = _body(namespace, name, holder, since=seen.since)
        ending["spec"]["leaseDurationSeconds"] = _ENDS_S
        seen = await _replace(kube, namespace, ending, seen)
    await _replace(kube, namespace, _body(namespace, name, "", since=""), seen)


async def _replace(kube: KubeApi, namespace: str, body: Json, seen: Token) -> Token:
    """Write exactly over what was seen, with its labels and owners. One that is gone is refused by its version."""
    present = await kube.get(LEASES, namespace, body["metadata"]["name"]) or {"metadata": {}}
    metadata, before = present["metadata"], _transitions(present)
    kept = {key: metadata[key] for key in ("labels", "annotations", "ownerReferences") if key in metadata}
    body["metadata"] |= {**kept, "resourceVersion": seen.resource_version}
    taken = body["spec"]["holderIdentity"] not in {"", seen.holder}
    body["spec"]["leaseTransitions"] = min(before + taken, INT32_MAX)
    return token_from(await kube.replace(LEASES, namespace, body))


def _transitions(item: Json) -> int:
    spec = item.get("spec")
    found = spec.get("leaseTransitions") if isinstance(spec, dict) else 0
    return found if isinstance(found, int) and found > 0 else 0


def _body(namespace: str, name: str, holder: str, *, since: str) -> Json:
    spec: Json = {"holderIdentity": holder, **({"acquireTime": since, "renewTime": since} if since else {})}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata, "spec": spec}
