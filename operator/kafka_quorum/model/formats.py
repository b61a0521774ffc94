"""The schema number of everything that the operator stores in a cluster and reads back, and what a higher one means.

0.1.0 wrote no number. So a missing number means 1, and 1 is not written: an upgrade changes nothing that is stored. A
number above the highest one here was written by a later version. Its meaning is not guessed: nothing is changed.
"""

from typing import Final

from kit.parsing import quoted

RECORD: Final = 1
"""`record.json` in the ConfigMap of the identity."""
ACCEPTED_SPEC: Final = 1
"""`accepted-spec.json` in the same ConfigMap."""
REVISION: Final = 1
"""The data of a ControllerRevision."""
STATUS: Final = 1
"""The parts of the status that are read back: the copy of the identity, and the soak."""
OPERATION: Final = 1
"""`status.operation`."""
CLAIM: Final = 1
"""The annotations of a volume claim."""
POD: Final = 1
"""The annotations of a pod."""
CONTRACT: Final = 2
"""`contract.json` in the ConfigMap of the broker contract. One without files of a Secret is written as 1."""

_DIGITS_MAX: Final = 9


class Unreadable(ValueError):
    """A stored object exists and cannot be understood; the text says what is wrong and what to do."""


class LaterFormat(Unreadable):
    """A stored object has a schema number of a later version of this operator."""


def check(found: object, newest: int, where: str) -> int:
    """The schema number `found`: a whole number, or one as text; None is 1.

    Raises `LaterFormat` above `newest`, `Unreadable` if it is no number. `where` names the object for the message.
    """
    number = 1 if found is None else _number(found)
    if number is None or number < 1:
        raise Unreadable(f"{where} has schema version {quoted(found)}, which is not a valid one")
    if number > newest:
        raise LaterFormat(
            f"{where} has schema version {quoted(found)}, and this version of the operator reads {newest} at most. "
            "Run the operator version that wrote it, or a later one"
        )
    return number


def unknown_field(stored: object, understood: object) -> str:
    """The path of the first field in `stored` that is not in `understood`; empty if there is none.

    A later version may add a field and keep the number. Writing the object again without that field would lose it.
    """
    if isinstance(stored, dict) and isinstance(understood, dict):
        for name, value in stored.items():
            if name not in understood:
                return str(name)
            if found := unknown_field(value, understood[name]):
                return f"{name}{found}" if found[0] == "[" else f"{name}.{found}"
    if isinstance(stored, list) and isinstance(understood, list):
        for index, (one, other) in enumerate(zip(stored, understood, strict=False)):
            if found := unknown_field(one, other):
                return f"[{index}]{found}" if found[0] == "[" else f"[{index}].{found}"
    return ""


def _number(found: object) -> int | None:
    """A whole number, or the digits of one, as an annotation has them."""
    if type(found) is int:
        return found
    is_digits = isinstance(found, str) and found.isascii() and found.isdigit() and len(found) <= _DIGITS_MAX
    return int(str(found)) if is_digits else None
