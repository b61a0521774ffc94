"""Values from text that is stored in the cluster, within bounds: records, labels, annotations, termination messages.

Any author of such an object chooses its text. A number of five thousand digits, or JSON of a thousand levels, must not
end a pass in an exception. So every fault is one `Malformed`, which the caller turns into "not known".
"""

import json
from typing import Any, Final, NoReturn

from kit.text import WORDS_MAX_CHARS, clean

INT32_MAX: Final = 2**31 - 1
_DIGITS_MAX: Final = 19
_FLOAT_CHARS_MAX: Final = 40
INT64_MAX: Final = 2**63 - 1
JSON_MAX_CHARS: Final = 1 << 20
"""The largest content of a ConfigMap."""
JSON_MAX_DEPTH: Final = 32
"""Among what the operator writes, an identity record has four levels, and a pod template rarely more than ten."""


class Malformed(ValueError):
    """Text that does not have the required form. The message is one clause, to be put into a sentence."""


def number(text: object, *, high: int = INT32_MAX) -> int:
    """A whole number from 0 to `high`, written in decimal ASCII digits and nothing else (`Malformed`)."""
    if not isinstance(text, str) or not text.isascii() or not text.isdigit():
        raise Malformed(f"{quoted(text)} is no whole number")
    if len(text) > _DIGITS_MAX or (value := int(text)) > high:
        raise Malformed(f"{quoted(text)} is above {high}")
    return value


def json_of(text: object, *, max_chars: int = JSON_MAX_CHARS) -> Any:  # noqa: ANN401 - any JSON
    """The JSON in a text: at most `JSON_MAX_DEPTH` levels, whole numbers of 64 bits, finite numbers (`Malformed`)."""
    if not isinstance(text, str):
        raise Malformed("it is not text")
    if len(text) > max_chars:
        raise Malformed(f"it has {len(text)} characters, at most {max_chars} are read")
    try:
        value = json.loads(text, parse_int=_integer, parse_float=_float, parse_constant=_refuse)
    except Malformed:
        raise
    except RecursionError as error:
        raise Malformed(f"it has more than {JSON_MAX_DEPTH} levels") from error
    except ValueError as error:
        raise Malformed(f"it is not valid JSON: {clean(str(error), max_chars=WORDS_MAX_CHARS)}") from error
    if deeper_than(value, JSON_MAX_DEPTH):
        raise Malformed(f"it has more than {JSON_MAX_DEPTH} levels")
    return value


def json_object(text: object, *, max_chars: int = JSON_MAX_CHARS) -> dict[str, Any]:
    """The JSON object in a text, as `json_of` reads it (`Malformed`)."""
    value = json_of(text, max_chars=max_chars)
    if not isinstance(value, dict):
        raise Malformed("it is not a JSON object")
    return value


def quoted(value: object) -> str:
    """A value from outside, for a message: visible, short, in quotation marks."""
    text = value if isinstance(value, str) else type(value).__name__ if _is_large(value) else repr(value)
    return f"'{clean(text, max_chars=80)}'"


def _is_large(value: object) -> bool:
    """Whether writing it out would take long, or fail: a container, or a number of many digits."""
    return isinstance(value, dict | list | tuple) or (isinstance(value, int) and abs(value) > INT64_MAX)


def _integer(text: str) -> int:
    if len(text) > _DIGITS_MAX + 1 or abs(value := int(text)) > INT64_MAX:
        raise Malformed("it has a number that is longer than 64 bits")
    return value


def _float(text: str) -> float:
    value = float(text) if len(text) <= _FLOAT_CHARS_MAX else float("inf")
    if abs(value) == float("inf"):
        raise Malformed("it has a number that is too large")
    return value


def _refuse(constant: str) -> NoReturn:
    raise Malformed(f"it has {constant}, which is no JSON")


def larger_than(value: object, *, values: int, chars: int) -> bool:
    """Whether JSON has more values at all levels, or more characters in all texts and keys. It stops at the limit."""
    left, found, length = [value], 1, 0
    while left:
        item = left.pop()
        if isinstance(item, dict | list):
            found += len(item)
            if found > values:
                return True
            length += sum(map(len, item)) if isinstance(item, dict) else 0
            left.extend(item.values() if isinstance(item, dict) else item)
        elif isinstance(item, str):
            length += len(item)
        if length > chars:
            return True
    return False


def deeper_than(value: object, levels: int) -> bool:
    """Whether JSON's containers are nested deeper. It goes level by level, because recursion could itself fail."""
    present: list[object] = [value]
    for _ in range(levels + 1):
        containers = [item for item in present if isinstance(item, dict | list)]
        if not containers:
            return False
        present = [inner for item in containers for inner in (item.values() if isinstance(item, dict) else item)]
    return True
