"""Namespaces of measurements."""

import uuid

from harness.shell import kubectl, run


def space(made: list[str]) -> str:
    """A separate namespace."""
    name = f"bench-{uuid.uuid4().hex[:8]}"
    kubectl("create", "namespace", name)
    made.append(name)
    return name


def clear(namespace: str) -> None:
    """Delete all objects of a measurement, and wait for it, so that they do not disturb the next one."""
    run("kubectl", "-n", namespace, "delete", "kbp,kq,statefulset", "--all", "--wait=false")
    run("kubectl", "-n", namespace, "delete", "pods", "--all", "--force", "--grace-period=0")
    run("kubectl", "delete", "namespace", namespace, "--ignore-not-found", "--timeout=120s", timeout_s=130)
