"""Reads an answer from its bytes, by the fields that kio's classes declare, within bounds. Pure.

kio's own reader reserves memory for as many elements as an array announces, before it reads any: eleven bytes end the
process if memory is not overcommitted. It also refuses unknown tagged fields, which a newer server may send at any
time. So answers are read here. Every count is compared with the bytes that are left and with its bound. Unknown tagged
fields are skipped. Any other fault is a `ReadError`.
"""

import struct
import types
import uuid
from collections.abc import Callable, Hashable, Sequence
from dataclasses import Field, dataclass, fields, is_dataclass
from datetime import timedelta
from functools import cache
from typing import Any, Final, TypeVar, Union, cast, get_args, get_origin

from kio.schema.errors import ErrorCode

from kafka_quorum.wire.bounds import MAX_BLOB_BYTES, MAX_TAGGED_FIELDS, UNCLEAN, Bound, string_bound
from kafka_quorum.wire.requests.table import list_bound
from kit.text import is_clean

_INT8: Final = struct.Struct(">b")
_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")
_UUID_BYTES: Final = 16
_NO_UUID: Final = bytes(_UUID_BYTES)
_VARINT_BYTES: Final = 5
_MORE: Final = 0x80
_ABSENT, _PRESENT = -1, 1
"""Of an entity that may be null."""
_UINT32_MAX: Final = 2**32 - 1


class ReadError(Exception):
    """Bytes that are no such message, or exceed a bound. The text is one clause, to be put into a sentence."""


class Cursor:
    """Bytes, and how far they have been read."""

    __slots__ = ("_data", "_end", "_position")

    def __init__(self, data: bytes) -> None:
        """Begin with the first byte."""
        self._data = data
        self._position = 0
        self._end = len(data)

    @property
    def left(self) -> int:
        """How many bytes have not been read."""
        return self._end - self._position

    def take(self, count: int, what: str) -> bytes:
        """The next bytes (ReadError if there are fewer)."""
        if count > self._end - self._position:
            raise ReadError(f"{what} needs {count} bytes, {self.left} are left")
        start = self._position
        self._position = start + count
        return self._data[start : self._position]

    def numbers(self, shape: struct.Struct, what: str) -> tuple[Any, ...]:
        """The next values of this shape (ReadError)."""
        start, size = self._position, shape.size
        if size > self._end - start:
            raise ReadError(f"{what} needs {size} bytes, {self.left} are left")
        self._position = start + size
        return shape.unpack_from(self._data, start)

    def varint(self, what: str) -> int:
        """The next unsigned number of variable length, at most 32 bits."""
        value = 0
        for index in range(_VARINT_BYTES):
            if self._position >= self._end:
                raise ReadError(f"{what} needs 1 byte, 0 are left")
            byte = self._data[self._position]
            self._position += 1
            value |= (byte & ~_MORE) << (7 * index)
            if byte < _MORE:
                if value > _UINT32_MAX:
                    break
                return value
        raise ReadError(f"{what} is longer than 32 bits")


_Read = Callable[[Cursor], Any]
_Step = Callable[[Cursor, dict[str, Any]], None]
"""Reads some fields of an entity into a dict by their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """How one class is read. `least_bytes` is the length of its shortest form."""

    schema: Callable[..., Any]
    steps: tuple[_Step, ...]
    tagged: dict[int, tuple[str, _Read]]
    defaults: dict[str, object]
    flexible: bool
    least_bytes: int


E = TypeVar("E")


def read(schema: type[E], cursor: Cursor) -> E:
    """The next entity of this class (ReadError)."""
    entity: E = _entity(_plan(cast("Hashable", schema)), cursor)
    return entity


def _entity(plan: _Plan, cursor: Cursor) -> Any:  # noqa: ANN401 - an entity of the plan's class
    values = dict(plan.defaults)
    for step in plan.steps:
        step(cursor, values)
    if plan.flexible:
        count = cursor.varint("the number of tagged fields")
        if count:
            values |= _tagged(plan, cursor, count)
    return plan.schema(**values)


def _tagged(plan: _Plan, cursor: Cursor, count: int) -> dict[str, object]:
    """The tagged fields that the class declares; all others are skipped, as the protocol requires."""
    if count > MAX_TAGGED_FIELDS:
        raise ReadError(f"{count} tagged fields in one struct, at most {MAX_TAGGED_FIELDS} are read")
    values: dict[str, object] = {}
    for _ in range(count):
        tag = cursor.varint("a tag")
        content = cursor.take(cursor.varint("the size of a tagged field"), f"tagged field {tag}")
        if tag not in plan.tagged:
            continue
        name, read_value = plan.tagged[tag]
        if name in values:
            raise ReadError(f"tagged field {tag} comes twice")
        inner = Cursor(content)
        values[name] = read_value(inner)
        if inner.left:
            raise ReadError(f"{inner.left} bytes are left over in tagged field {tag}")
    return values


@cache
def _plan(schema: Any) -> _Plan:  # noqa: ANN401 - a class of kio's kind
    """What to read for a class, from its fields' declarations (TypeError for a kind that our answers do not have)."""
    flexible = bool(schema.__flexible__)
    steps: list[_Step] = []
    tagged, defaults, run, least_bytes = {}, {}, [], int(flexible)
    for field in fields(schema):
        tag, fixed = field.metadata.get("tag"), _fixed(field)
        if tag is not None:
            tagged[int(tag)] = (field.name, _one(fixed, field.name) if fixed else _field(schema, field, flexible)[0])
            defaults[field.name] = field.default
        elif fixed is not None:
            run.append((field.name, *fixed))
        else:
            steps += [_run(run)] if run else []
            least_bytes += _length(run)
            read_value, least = _field(schema, field, flexible)
            steps.append(_single(field.name, read_value))
            least_bytes, run = least_bytes + least, []
    steps += [_run(run)] if run else []
    return _Plan(
        schema=schema,
        steps=tuple(steps),
        tagged=tagged,
        defaults=defaults,
        flexible=flexible,
        least_bytes=least_bytes + _length(run),
    )


_Fixed = tuple[str, str, Callable[[Any], Any] | None]
"""A field of fixed length: its name, its character in a struct's format, and the conversion of the raw value."""


def _fixed(field: "Field[Any]") -> tuple[str, Callable[[Any], Any] | None] | None:
    """How a field of fixed length is read; None for any other one, such as a list of numbers."""
    if get_origin(_present(field.type)) is tuple:
        return None
    return _FIXED.get(field.metadata.get("kafka_type"))


def _shape(run: Sequence[_Fixed]) -> struct.Struct:
    return struct.Struct(">" + "".join(character for _, character, _ in run))


def _length(run: Sequence[_Fixed]) -> int:
    return _shape(run).size


def _run(run: Sequence[_Fixed]) -> _Step:
    """Fields of fixed length in a row are read at once: a row of DescribeQuorum has no other fields."""
    shape, what = _shape(run), " and ".join(dict.fromkeys((run[0][0], run[-1][0])))
    fields_ = tuple((name, make) for name, _, make in run)

    def step(cursor: Cursor, values: dict[str, Any]) -> None:
        for (name, make), raw in zip(fields_, cursor.numbers(shape, what), strict=True):
            values[name] = raw if make is None else make(raw)

    return step


def _one(fixed: tuple[str, Callable[[Any], Any] | None], name: str) -> _Read:
    step = _run([(name, *fixed)])

    def read_value(cursor: Cursor) -> Any:  # noqa: ANN401 - any value of the field
        values: dict[str, Any] = {}
        step(cursor, values)
        return values[name]

    return read_value


def _single(name: str, read_value: _Read) -> _Step:
    def step(cursor: Cursor, values: dict[str, Any]) -> None:
        values[name] = read_value(cursor)

    return step


def _field(schema: type, field: "Field[Any]", flexible: bool) -> tuple[_Read, int]:  # noqa: FBT001 - a message's form
    """How a list, an entity, bytes or a text are read, and the fewest bytes that they take."""
    kind, name, optional = _present(field.type), field.name, _is_optional(field.type)
    if get_origin(kind) is tuple:
        return _list(schema, field, get_args(kind)[0], flexible=flexible), 1 if flexible else 4
    if is_dataclass(kind):
        inner = _plan(cast("Hashable", kind))
        if optional:
            return (lambda cursor: _nullable(inner, cursor, name)), 1
        return (lambda cursor: _entity(inner, cursor)), inner.least_bytes
    if field.metadata.get("kafka_type") == "bytes" and not optional:
        return (lambda cursor: _blob(cursor, name, flexible=flexible)), 1 if flexible else 4
    if field.metadata.get("kafka_type") != "string":
        raise TypeError(f"{schema.__qualname__}.{name} is of a type that is not read here")
    most = string_bound(name)
    return (
        lambda cursor: _string(cursor, name, most, flexible=flexible, optional=optional),
        1 if flexible else 2,
    )


def _list(schema: type, field: "Field[Any]", inner: Any, *, flexible: bool) -> _Read:  # noqa: ANN401 - a type
    """How a list of entities, texts or whole numbers is read; None for one that is null, if it may be."""
    bound, optional = list_bound(schema, field.name), _is_optional(field.type)
    if is_dataclass(inner):
        hashable = cast("Hashable", inner)
        return lambda cursor: _array(_plan(hashable), bound, cursor, flexible=flexible, optional=optional)
    if field.metadata.get("kafka_type") == "string" and not optional:
        return lambda cursor: _strings(bound, field.name, cursor, flexible=flexible)
    if field.metadata.get("kafka_type") != "int32":
        raise TypeError(f"{schema.__qualname__}.{field.name} is a list of {inner}, which is not read here")
    return lambda cursor: _integers(bound, cursor, flexible=flexible, optional=optional)


def _present(kind: object) -> Any:  # noqa: ANN401 - a type
    """The type of a value that is not None."""
    if not _is_optional(kind):
        return kind
    (present,) = (each for each in get_args(kind) if each is not type(None))
    return present


def _is_optional(kind: object) -> bool:
    return get_origin(kind) in (types.UnionType, Union) and type(None) in get_args(kind)


def _count(bound: Bound, least_bytes: int, cursor: Cursor, *, flexible: bool, optional: bool) -> int | None:
    """How many elements follow; None for a list that is null."""
    what = f"the number of {bound.plural}"
    count: int = cursor.varint(what) - 1 if flexible else cursor.numbers(_INT32, what)[0]
    if count == -1 and optional:
        return None
    if count < 0:
        raise ReadError(f"{what} is {count}")
    if count * least_bytes > cursor.left:
        raise ReadError(f"{count} {bound.plural} are announced in {cursor.left} bytes")
    if count > bound.count:
        raise ReadError(f"it has {count} {bound.plural}, at most {bound.count} are read")
    return count


def _array(
    plan: _Plan, bound: Bound, cursor: Cursor, *, flexible: bool, optional: bool = False
) -> tuple[Any, ...] | None:
    count = _count(bound, plan.least_bytes, cursor, flexible=flexible, optional=optional)
    return None if count is None else tuple(_entity(plan, cursor) for _ in range(count))


def _integers(bound: Bound, cursor: Cursor, *, flexible: bool, optional: bool) -> tuple[int, ...] | None:
    count = _count(bound, _INT32.size, cursor, flexible=flexible, optional=optional)
    return None if count is None else cursor.numbers(_int32s(count), bound.plural)


@cache
def _int32s(count: int) -> struct.Struct:
    """So many numbers; `count` is within a bound."""
    return struct.Struct(f">{count}i")


def _nullable(plan: _Plan, cursor: Cursor, name: str) -> Any:  # noqa: ANN401 - an entity of the plan's class, or None
    """An entity behind one byte that says whether it is there (KIP-893)."""
    (mark,) = cursor.numbers(_INT8, f"the presence of {name}")
    if mark not in (_ABSENT, _PRESENT):
        raise ReadError(f"the presence of {name} is {mark}")
    return None if mark == _ABSENT else _entity(plan, cursor)


def _strings(bound: Bound, name: str, cursor: Cursor, *, flexible: bool) -> tuple[str | None, ...]:
    count = _count(bound, 1 if flexible else 2, cursor, flexible=flexible, optional=False) or 0
    most = string_bound(name)
    return tuple(_string(cursor, name, most, flexible=flexible, optional=False) for _ in range(count))


def _blob(cursor: Cursor, name: str, *, flexible: bool) -> bytes:
    """Bytes whose form the message does not say."""
    what = f"the length of {name}"
    length: int = cursor.varint(what) - 1 if flexible else cursor.numbers(_INT32, what)[0]
    if length < 0:
        raise ReadError(f"{what} is {length}")
    if length > MAX_BLOB_BYTES:
        raise ReadError(f"{name} has {length} bytes, at most {MAX_BLOB_BYTES} are read")
    return cursor.take(length, name)


def _string(cursor: Cursor, name: str, most: int, *, flexible: bool, optional: bool) -> str | None:
    what = f"the length of {name}"
    length = cursor.varint(what) - 1 if flexible else cursor.numbers(_INT16, what)[0]
    if length < 0:
        if optional and length == -1:
            return None
        raise ReadError(f"{what} is {length}")
    if length > most:
        raise ReadError(f"{name} has {length} bytes, at most {most} are read")
    raw = cursor.take(length, name)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise ReadError(f"{name} is not UTF-8") from error
    if name not in UNCLEAN and text and not is_clean(text, max_chars=most):
        raise ReadError(f"{name} has characters that cannot be shown")
    return text


def _identifier(raw: bytes) -> uuid.UUID | None:
    return None if raw == _NO_UUID else uuid.UUID(bytes=raw)


def _error(code: int) -> ErrorCode:
    try:
        return ErrorCode(code)
    except ValueError as error:
        raise ReadError(f"error code {code} is not known") from error


def _milliseconds(count: int) -> timedelta:
    return timedelta(milliseconds=count)


_FIXED: Final[dict[object, tuple[str, Callable[[Any], Any] | None]]] = {
    "bool": ("?", None),
    "int8": ("b", None),
    "int16": ("h", None),
    "int32": ("i", None),
    "int64": ("q", None),
    "uint16": ("H", None),
    "uuid": (f"{_UUID_BYTES}s", _identifier),
    "error_code": ("h", _error),
    "timedelta_i32": ("i", _milliseconds),
}
"""By kio's name of a type."""
