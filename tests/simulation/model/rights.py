"""The rights that the chart grants to the operator: the tests of the chart compare them with what it renders.

The simulation refuses every request that is not in these tables.
"""

from kit.kube.protocol import ResourceType

QUORUM_RULES: dict[str, set[str]] = {
    "kafkaquorum.io/kafkaquorums": {"get", "list", "watch"},
    "kafkaquorum.io/kafkaquorums/status": {"patch"},
    "kafkaquorum.io/kafkabrokerpools": {"get", "list", "watch"},
    "kafkaquorum.io/kafkabrokerpools/status": {"patch"},
    "kafkaquorum.io/kafkastreamsapplications": {"get", "list", "watch"},
    "kafkaquorum.io/kafkastreamsapplications/status": {"patch"},
    "coordination.k8s.io/leases": {"get", "create", "update"},
    "/pods": {"get", "list", "watch", "create", "patch", "delete"},
    "/pods/eviction": {"create"},
    "/pods/status": {"patch"},
    "/persistentvolumeclaims": {"get", "list", "watch", "create", "patch", "delete"},
    "/configmaps": {"get", "list", "watch", "create", "update", "patch", "delete"},
    "/secrets": {"get", "create", "update"},
    "cert-manager.io/certificates": {"get", "create", "patch"},
    "/services": {"get", "list", "watch", "create", "patch", "delete"},
    "policy/poddisruptionbudgets": {"get", "list", "create", "patch"},
    "apps/controllerrevisions": {"get", "list", "create", "delete"},
    "apps/statefulsets": {"get", "delete"},
    "apps/deployments": {"get", "delete"},
    "apps/replicasets": {"list", "delete"},
    "autoscaling/horizontalpodautoscalers": {"list"},
    "/events": {"create", "patch"},
}
"""The rights in a namespace that the operator needs to act. Secrets are read by name: neither listed nor watched."""
LOOK_RULES: dict[str, set[str]] = {
    "introspect.kafkaquorum.io/quorumlooks": {"get", "create"},
    "introspect.kafkaquorum.io/quorumlooks/status": {"patch"},
    "introspect.kafkaquorum.io/planquestions": {"get", "watch", "delete"},
    "introspect.kafkaquorum.io/planquestions/status": {"patch"},
}
"""Its rights for the read-only look."""
ALL_RULES = QUORUM_RULES | LOOK_RULES
CLUSTER_RULES: dict[str, set[str]] = {
    "apiextensions.k8s.io/customresourcedefinitions": {"list", "watch"},
    "/nodes": {"get"},
    "/persistentvolumes": {"get"},
}
"""Its rights to what is in no namespace."""
_GRANTED = ALL_RULES | CLUSTER_RULES


def granted(verb: str, resource: ResourceType, subresource: str = "") -> bool:
    """Whether the operator has the right for this verb of the API server."""
    group = resource.api_version.rpartition("/")[0]
    name = f"{group}/{resource.plural}" + (f"/{subresource}" if subresource else "")
    return verb in _GRANTED.get(name, set())
