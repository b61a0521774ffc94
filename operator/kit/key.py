"""Which resource, of a kind whose resources live in namespaces."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectKey:
    """Namespace and name."""

    namespace: str
    name: str

    def __str__(self) -> str:
        """As kubectl writes it."""
        return f"{self.namespace}/{self.name}"
