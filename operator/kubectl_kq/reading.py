"""Fields of objects of which nothing is certain: another version of the operator, or anyone else, may be the writer.

A field that is missing is None. A field of a wrong type is shown as `?`, and counts as unknown. Fields that this
version does not know are ignored. Pure.
"""

from typing import Any, Final, TypeAlias

from kubectl_kq.text import clean

Json: TypeAlias = dict[str, Any]

UNREADABLE: Final = "?"
"""Stands for a text of a wrong type. No name of Kubernetes and no id of Kafka is like it."""
_NUMBER_MAX: Final = 1 << 63


def at(value: object, *path: str) -> object:
    """What lies at a path of keys; None if there is nothing."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def text(value: object, *path: str) -> str | None:
    """A text as one clean line; None if it is missing or empty."""
    found = at(value, *path)
    if found is None or found == "":
        return None
    return clean(found) or UNREADABLE if isinstance(found, str) else UNREADABLE


def number(value: object, *path: str) -> int | None:
    """A whole number; None if it is missing, or something else."""
    found = at(value, *path)
    known = isinstance(found, int) and not isinstance(found, bool) and abs(found) < _NUMBER_MAX
    return found if known and isinstance(found, int) else None


def flag(value: object, *path: str) -> bool | None:
    """True or False; None if it is missing, or something else."""
    found = at(value, *path)
    return found if isinstance(found, bool) else None


def rows(value: object, *path: str) -> tuple[Json, ...]:
    """The objects in a list; what is no object is left out."""
    found = at(value, *path)
    return tuple(row for row in found if isinstance(row, dict)) if isinstance(found, list) else ()


def numbers(value: object, *path: str) -> tuple[int, ...]:
    """The whole numbers in a list."""
    found = at(value, *path)
    listed = found if isinstance(found, list) else []
    return tuple(each for each in listed if isinstance(each, int) and not isinstance(each, bool))


def listed(value: object, *path: str) -> tuple[str, ...]:
    """The texts in a list, as `text` reads each of them; what is missing or empty is left out."""
    found = at(value, *path)
    read = map(text, found) if isinstance(found, list) else ()
    return tuple(each for each in read if each is not None)


def texts(value: object, *path: str) -> dict[str, str]:
    """The texts of an object by their keys, all clean, such as labels."""
    found = at(value, *path)
    pairs = found.items() if isinstance(found, dict) else ()
    return {clean(key): clean(each) for key, each in pairs if isinstance(key, str) and isinstance(each, str)}


def name(item: object) -> str:
    """The name of an object."""
    return text(item, "metadata", "name") or UNREADABLE


def items(value: object) -> tuple[Json, ...]:
    """The objects of a list of Kubernetes."""
    return rows(value, "items")
