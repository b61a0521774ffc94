"""A condition as one pass finds it, before it is stamped."""

from dataclasses import dataclass
from enum import Enum


class Truth(Enum):
    """A condition's status. `UNKNOWN` means that it could not be found out."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A condition without its times: `reason` is CamelCase, `message` a sentence."""

    type: str
    truth: Truth
    reason: str
    message: str
