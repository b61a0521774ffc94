"""The schema of a definition, walked in tests."""

from collections.abc import Iterator
from typing import Any


def nodes(node: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """A part of a schema with its path, and every part below it; items of a list end with `[]`."""
    yield path, node
    for name, child in node.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    if "items" in node:
        yield from nodes(node["items"], f"{path}[]")
