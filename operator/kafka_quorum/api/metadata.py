"""The forms that Kubernetes prescribes for names, label keys and label values."""

import re

_NAME = r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_PREFIX = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)*"
_MAX_PREFIX_CHARACTERS = 253


def qualified_name(key: str) -> bool:
    """Whether this is a label's or annotation's key: `name` or `prefix/name`."""
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > _MAX_PREFIX_CHARACTERS or re.fullmatch(_PREFIX, prefix) is None):
        return False
    return re.fullmatch(_NAME, name) is not None


def label_value(value: str) -> bool:
    """Whether this can be a label's value; the empty one can."""
    return value == "" or re.fullmatch(_NAME, value) is not None
