"""Certificates of cert-manager: what it is asked for, and how the Secrets that it fills prove that they belong to one.

Pure. A Certificate asks for exactly what the operator would issue itself: the same subject, names and usages.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kafka_quorum.model.certified import dns_names, subject
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.material import Holder, Role
from kafka_quorum.model.names import LABEL_QUORUM, LABEL_ROLE, USED_BY, reader
from kafka_quorum.model.pools import PoolSeen
from kafka_quorum.resources.meta import Json, labels, owner
from kafka_quorum.resources.secrets import LEAF_ROLE, pool_owner
from kit.kube.protocol import ResourceType

CERTIFICATES: Final = ResourceType(api_version="cert-manager.io/v1", kind="Certificate", plural="certificates")
FILLED_FOR: Final = "cert-manager.io/certificate-name"
"""On a Secret, set by cert-manager: the Certificate that it was filled for."""


def certificate_object(desired: Desired, holder: Holder, pools: Iterable[PoolSeen] = ()) -> Json:
    """What cert-manager is asked for. The Secret lists the quorum, as one that a person gives does.

    That of a pool goes away with the pool: brokers are servers, too.
    """
    name, policy, asked = holder.request(desired.name), desired.trust, subject(desired, holder.role)
    usages = ["digital signature", "client auth"]
    if holder.role == Role.CONTROLLERS.value or holder.pool:
        usages.append("server auth")
    spec: Json = {
        "secretName": name,
        "secretTemplate": {"annotations": {USED_BY: reader(desired.name)}},
        "issuerRef": {"name": policy.issuer.ref.name, "kind": policy.issuer.ref.kind, "group": policy.issuer.ref.group},
        "commonName": asked.cn,
        "subject": {"organizations": [asked.o], "organizationalUnits": [asked.ou]},
        "privateKey": {"algorithm": "ECDSA", "size": 256, "encoding": "PKCS8", "rotationPolicy": "Always"},
        "usages": usages,
        "duration": _duration(policy.leaf_s),
        "renewBefore": _duration(int(policy.renew_before(policy.leaf_s))),
    }
    if found := dns_names(desired, holder, pools):
        spec["dnsNames"] = list(found)
    metadata = {
        "name": name,
        "namespace": desired.namespace,
        "labels": labels(desired.name, **{LABEL_ROLE: LEAF_ROLE}),
        "ownerReferences": pool_owner(holder) if holder.pool else owner(desired),
    }
    return {
        "apiVersion": CERTIFICATES.api_version,
        "kind": CERTIFICATES.kind,
        "metadata": metadata,
        "spec": spec,
    }


def is_owned(item: Json, desired: Desired, holder: Holder) -> bool:
    """Whether this Certificate is one of exactly this resource: by its owner, not by its labels alone.

    That of a pool belongs to the pool, and nothing else controls it.
    """
    owners = item["metadata"].get("ownerReferences") or ()
    if holder.pool:
        ours = any(one.get("uid") == holder.uid for one in owners) and not any(one.get("controller") for one in owners)
    else:
        ours = any(one.get("controller") and one.get("uid") == desired.uid for one in owners)
    return ours and _is_labelled(item, desired)


def is_of_earlier(item: Json, desired: Desired, holder: Holder) -> bool:
    """Whether this Certificate is of an earlier pool of the same name, so that Kubernetes deletes it."""
    (wanted,) = pool_owner(holder)
    owners = item["metadata"].get("ownerReferences") or ()
    return (
        _is_labelled(item, desired)
        and bool(owners)
        and all(one.get("uid") != holder.uid for one in owners)
        and all((one.get("kind"), one.get("name")) == (wanted["kind"], wanted["name"]) for one in owners)
    )


def is_issued(item: Json) -> bool:
    """Whether cert-manager reports that the Secret has what this Certificate asks for now."""
    status = item.get("status")
    rows = status.get("conditions") if isinstance(status, dict) else None
    generation = item["metadata"].get("generation", 0)
    return any(
        isinstance(one, dict)
        and (one.get("type"), one.get("status")) == ("Ready", "True")
        and one.get("observedGeneration", generation) == generation
        for one in (rows if isinstance(rows, list) else ())
    )


def _is_labelled(item: Json, desired: Desired) -> bool:
    return bool((item["metadata"].get("labels") or {}).get(LABEL_QUORUM) == desired.name)


def is_current(item: Json, wanted: Json) -> bool:
    """Whether a Certificate asks for what is needed. The API server and others may have added fields."""
    return _covers(item.get("spec"), wanted["spec"])


def is_filled_for(item: Json, name: str, desired: Desired) -> bool:
    """Whether cert-manager has filled this Secret for the Certificate of this name, as it was asked to.

    A Secret of others has none of the two annotations, or those of another Certificate.
    """
    annotations = item["metadata"].get("annotations") or {}
    return annotations.get(FILLED_FOR) == name and annotations.get(USED_BY) == reader(desired.name)


def _covers(present: Any, wanted: Any) -> bool:  # noqa: ANN401 - any JSON
    if isinstance(wanted, Mapping):
        return isinstance(present, Mapping) and all(_covers(present.get(key), value) for key, value in wanted.items())
    return bool(present == wanted)


def _duration(seconds: int) -> str:
    """As Go writes a duration, so that it stays the same when cert-manager writes it again."""
    hours, minutes, rest = seconds // 3600, seconds % 3600 // 60, seconds % 60
    return f"{hours}h{minutes}m{rest}s" if hours else f"{minutes}m{rest}s" if minutes else f"{rest}s"
