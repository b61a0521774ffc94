"""Parse many objects: one that cannot be understood does not stop the others. Pure."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from kit.kube.protocol import Json

T = TypeVar("T")
U = TypeVar("U")


def parsed_with(
    items: Iterable[Json], parse: Callable[[Json], T | None], unreadable: Callable[[Json, Exception], U]
) -> tuple[tuple[T, ...], tuple[U, ...]]:
    """The results of `parse` without its Nones, and what `unreadable` makes of each object that it raises for.

    The API server has checked every type. So any error here means: the object is not written as this operator expects
    it.
    """
    found: list[T] = []
    bad: list[U] = []
    for item in items:
        try:
            value = parse(item)
        except Exception as error:  # noqa: BLE001 - any fault of one object makes only that object Unknown
            bad.append(unreadable(item, error))
        else:
            if value is not None:
                found.append(value)
    return tuple(found), tuple(bad)
