"""Parts of a reference page, made from a definition's schema, so that a page never contradicts the models."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

Json = dict[str, Any]


def titled(title: str, lines: Iterable[str]) -> str:
    """A section of a page."""
    return f"## {title}\n\n" + "\n".join(lines) + "\n"


def resource_rules(node: Json) -> Iterator[str]:
    """The rules over the whole resource, one a line."""
    for rule in node.get("x-kubernetes-validations", []):
        yield f"- {rule['message']}."


def rows(node: Json, path: str, *, closed: str = "") -> Iterator[tuple[str, Json]]:
    """Every field below a node with its path, in the models' order. The inside of `closed` is described elsewhere."""
    if path == closed:
        return
    inner = node["items"] if node.get("type") == "array" else node
    below = f"{path}[]" if node.get("type") == "array" else path
    for name, child in inner.get("properties", {}).items():
        yield f"{below}.{name}", child
        yield from rows(child, f"{below}.{name}", closed=closed)


def table(fields: Iterable[tuple[str, Json]]) -> Iterator[str]:
    """Fields with their types, defaults and descriptions."""
    yield "| field | type | default | |"
    yield "|---|---|---|---|"
    for path, node in fields:
        yield f"| `{path}` | {_type(node)} | {_default(node)} | {_cell(node.get('description', ''))} |"


def field_rules(spec: Json, *, closed: str = "") -> Iterator[str]:
    """The requirements for the fields of a spec, one a line."""
    for path, node in rows(spec, "spec", closed=closed):
        if path == closed:
            continue
        for rule in node.get("x-kubernetes-validations", []):
            yield f"- `{path}{rule.get('fieldPath', '')}`: {rule['message']}."
        if "minimum" in node:
            yield f"- `{path}`: {node['minimum']} to {node['maximum']}."


def columns(described: Iterable[Json]) -> Iterator[str]:
    """The columns of `kubectl get`."""
    yield "| column | | with `-o wide` only |"
    yield "|---|---|---|"
    for column in described:
        yield f"| {column['name']} | {column['description']} | {'yes' if column.get('priority') else ''} |"


def codes(names: Iterable[str]) -> str:
    """Names as code, with commas between them."""
    return ", ".join(f"`{name}`" for name in names)


def _type(node: Json) -> str:
    if "enum" in node:
        return " \\| ".join(f"`{value}`" for value in node["enum"])
    if "x-kubernetes-int-or-string" in node:
        return "integer or string"
    if node.get("type") == "array":
        return f"list of {_type(node['items'])}s"
    if isinstance(node.get("additionalProperties"), dict):
        return f"map of {_type(node['additionalProperties'])}s"
    return str(node["type"])


def _default(node: Json) -> str:
    if "default" not in node or node["default"] == {}:
        return ""
    return f"`{json.dumps(node['default'])}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
