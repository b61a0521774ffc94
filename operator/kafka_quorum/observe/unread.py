"""Why an object was not read, and what to do about it. Pure."""

from typing import Final

from kafka_quorum.model.known import Unknown
from kit.errors import KubeError, KubeRefused

_SECRETS: Final = "get on Secrets"


def unread(name: str, error: KubeError, *, kind: str = "Secret", needs: str = _SECRETS) -> Unknown:
    """The reason. `needs` are the rights to ask for if the API server refused the question."""
    said = f"{kind} {name} was not read ({error})"
    granted = f". Grant {needs} to the operator's service account" if isinstance(error, KubeRefused) else ""
    return Unknown(reason=said + granted)
