"""Server-side apply over the version that is there, and over what others set beside it."""

from typing import Final

from kit.kube.protocol import Json, KubeApi, ResourceType

_APART: Final = (("minAvailable", "maxUnavailable"),)
"""A field that we set, and one that the API server refuses beside it. Apply keeps what another field manager set."""


async def apply_over(kube: KubeApi, resource: ResourceType, namespace: str, present: Json | None, body: Json) -> None:
    """Apply exactly over this version, so that a request which comes late is refused; create it if it is None.

    Without a version the budget of an earlier moment could replace a stricter one. No watch would report it. A field of
    others that the API server refuses beside ours is removed in the same write, which is a merge patch then.
    Raises what the API server says (`KubeError`).
    """
    if present is None:
        await kube.apply(resource, namespace, body)
        return
    version = {"resourceVersion": present["metadata"]["resourceVersion"]}
    set_now, wanted = present.get("spec") or {}, body.get("spec") or {}
    refused = [other for ours, other in _APART if ours in wanted and set_now.get(other) is not None]
    if refused:
        selector = {"selector": {**wanted["selector"], "matchExpressions": None}} if "selector" in wanted else {}
        patch = {"metadata": version, "spec": {**wanted, **selector, **dict.fromkeys(refused)}}
        await kube.patch(resource, namespace, body["metadata"]["name"], patch)
    else:
        await kube.apply(resource, namespace, {**body, "metadata": {**body["metadata"], **version}})
