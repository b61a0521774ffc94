"""Users of the test-bed's API server with exactly these rights, and what they may do."""

import json

from harness.shell import Json, kubectl, run

_RBAC = "rbac.authorization.k8s.io"


def grant(namespace: str, user: str, rules: list[Json]) -> None:
    """Give a user these rights in a namespace, and no others."""
    metadata = {"name": user, "namespace": namespace}
    bodies: list[Json] = [
        {"kind": "Role", "metadata": metadata, "rules": rules},
        {
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": user},
            "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": user}],
        },
    ]
    for body in bodies:
        kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": f"{_RBAC}/v1", **body}))


def may(namespace: str, user: str, *what: str) -> bool:
    """Whether the API server allows this to the user."""
    _, out, _ = run("kubectl", "-n", namespace, f"--as={user}", "auth", "can-i", *what)
    return out.strip() == "yes"


def core(resource: str, *verbs: str, names: tuple[str, ...] = ()) -> Json:
    """A rule about a resource of Kubernetes' core."""
    rule: Json = {"apiGroups": [""], "resources": [resource], "verbs": list(verbs)}
    return rule | {"resourceNames": list(names)} if names else rule
