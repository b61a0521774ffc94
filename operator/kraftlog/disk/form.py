"""Frozen values to JSON and back, strictly: the text may come from a pod that another person controls.

A text has exactly the fields of its value, each of the declared type. Texts, lists and numbers have bounds, so that
hostile input ends in a `FormError` that names the field, and never in anything else.
"""

import json
import types
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from typing import Any, Final, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from kraftlog.errors import KraftLogError, quoted

T = TypeVar("T")

TEXT_MAX_CHARS: Final = 4 << 20
STRING_MAX_CHARS: Final = 4096
LIST_MAX: Final = 10_000
NUMBER_MAX: Final = 2**63 - 1
_SHOWN_CHARS = 60


class FormError(KraftLogError):
    """A text that is not the JSON of the expected value; the message names the field."""


def to_json(value: object) -> str:
    """A frozen value as one line of JSON, in ASCII."""
    if not is_dataclass(value) or isinstance(value, type):
        raise TypeError(f"{value!r} is no frozen value")
    return json.dumps(asdict(value), ensure_ascii=True, separators=(",", ":"))


def from_json(kind: type[T], text: str, *, schema: int) -> T:
    """The value in a text, which must have this schema number (`FormError`)."""
    name = kind.__name__
    if len(text) > TEXT_MAX_CHARS:
        raise FormError(f"{name}: {len(text)} characters, at most {TEXT_MAX_CHARS} are read")
    try:
        data = json.loads(text, object_pairs_hook=_once, parse_float=_no_float, parse_constant=_no_float)
    except FormError:
        raise
    except (ValueError, RecursionError) as error:
        raise FormError(f"{name}: not valid JSON: {_shown(str(error))}") from error
    given = data.get("schema") if isinstance(data, dict) else None
    if type(given) is int and given != schema:
        raise FormError(
            f"{name}: schema {_shown(str(given))}, this version reads {schema}: use the version that wrote it"
        )
    value: T = _value(kind, data, name)
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise FormError("a field is there twice")
    return found


def _no_float(text: str) -> NoReturn:
    raise FormError(f"{_shown(text)} is no whole number")


def _value(kind: Any, data: object, at: str) -> Any:  # noqa: ANN401 -- any declared type
    """The data as a value of a declared type: a dataclass, a tuple, a choice with None, or a plain type."""
    if get_origin(kind) in {Union, types.UnionType}:
        (only,) = (each for each in get_args(kind) if each is not type(None))
        return None if data is None else _value(only, data, at)
    if get_origin(kind) is tuple:
        if not isinstance(data, list) or len(data) > LIST_MAX:
            raise FormError(f"{at}: must be a list of at most {LIST_MAX}, not {_shown(data)}")
        return tuple(_value(get_args(kind)[0], each, f"{at}[{place}]") for place, each in enumerate(data))
    if is_dataclass(kind) and isinstance(kind, type):
        return _object(kind, data, at)
    return _plain(kind, data, at)


def _object(kind: type[Any], data: object, at: str) -> Any:  # noqa: ANN401 -- an instance of the kind
    if not isinstance(data, Mapping):
        raise FormError(f"{at}: must be an object, not {_shown(data)}")
    wanted = [field.name for field in fields(kind)]
    for name in data:
        if name not in wanted:
            raise FormError(f"{at}: has the unknown field {_shown(name)}")
    for name in wanted:
        if name not in data:
            raise FormError(f"{at}: the field {name} is missing")
    hints = get_type_hints(kind)
    return kind(**{name: _value(hints[name], data[name], f"{at}.{name}") for name in wanted})


def _plain(kind: type[Any], data: object, at: str) -> Any:  # noqa: ANN401 -- an instance of the kind
    if type(data) is not kind:
        words = {int: "a whole number", str: "text", bool: "true or false"}
        raise FormError(f"{at}: must be {words[kind]}, not {_shown(data)}")
    if isinstance(data, int) and not 0 <= data <= NUMBER_MAX:
        raise FormError(f"{at}: must be a number from 0 to {NUMBER_MAX}, not {_shown(data)}")
    if isinstance(data, str) and len(data) > STRING_MAX_CHARS:
        raise FormError(f"{at}: {len(data)} characters, at most {STRING_MAX_CHARS} are read")
    return data


def _shown(data: object) -> str:
    """The beginning of anything, without characters that control a terminal; of an object or list only its kind."""
    if isinstance(data, Mapping | list):
        return "an object" if isinstance(data, Mapping) else f"a list of {len(data)}"
    if isinstance(data, int) and abs(data) > NUMBER_MAX:
        return "a larger number"
    text = data if isinstance(data, str) else json.dumps(data)
    return quoted(text[:_SHOWN_CHARS])
