"""A request to the API server: what it asks for, and how it ended."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from kit.kube.protocol import ResourceType

Seen: TypeAlias = Callable[[str, str, int | None, float], None]
"""Is called for each request that has ended: verb, plural of the resource type, HTTP status (None without an answer),
and how many seconds it took. Of a watch, it is the request that begins it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A request: the verb and the type that it counts as, and what it is in HTTP."""

    verb: str
    of: ResourceType
    method: str
    path: str

    def __str__(self) -> str:
        """For messages."""
        return f"{'WATCH' if self.verb == 'watch' else self.method} {self.path}"


@dataclass(slots=True)
class Ended:
    """How a request ended: its HTTP status, if there was an answer."""

    status: int | None = None


def ask_for(
    verb: str, method: str, resource: ResourceType, namespace: str, name: str = "", subresource: str = ""
) -> Ask:
    """The request for an object, or for a type; without a namespace, for a namespaced type in all of them."""
    prefix = "/apis" if "/" in resource.api_version else "/api"
    space = f"/namespaces/{namespace}" if resource.namespaced and namespace else ""
    path = f"{prefix}/{resource.api_version}{space}/{resource.plural}"
    parts = (part for part in (path, name, subresource) if part)
    return Ask(verb=verb, of=resource, method=method, path="/".join(parts))
