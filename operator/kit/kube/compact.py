"""Objects that are remembered for long: without what nobody reads, and with equal names kept once. Pure.

JSON from the API server brings its own copy of each name of a field. A thousand resources have some 300,000 of them.
"""

import sys
from typing import Any, Final

from kit.kube.protocol import Json

_MANAGED: Final = "managedFields"
"""Who wrote which field: half of an object, and of no use while nothing is applied."""


def compact(item: Json) -> Json:
    """An equal object without its managed fields, for reading only; only without them if it is nested too deeply."""
    metadata = item.get("metadata")
    if isinstance(metadata, dict) and _MANAGED in metadata:
        item = item | {"metadata": {name: value for name, value in metadata.items() if name != _MANAGED}}
    try:
        found: Json = shared(item)
    except RecursionError:
        return item
    return found


def shared(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Equal JSON, in which all equal names of fields are one text in memory."""
    if isinstance(value, dict):
        return {sys.intern(name): shared(inner) for name, inner in value.items()}
    return [shared(inner) for inner in value] if isinstance(value, list) else value
