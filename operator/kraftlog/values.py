"""Record bodies to plain Python values and back: the reference that the compiled decoder is compared with.

Values have the form of Kafka's JSON: UUIDs in unpadded URL-safe base64, bytes in base64, tagged fields only if they
differ from their default. Slow and plain; it also decodes what `render` leaves to it.
"""

import base64
import binascii
import struct
from collections.abc import Mapping
from typing import cast

from kraftlog.errors import KraftLogError
from kraftlog.schema import Field, Kind, Schema

Value = bool | int | float | str | None | list["Value"] | dict[str, "Value"]
Data = dict[str, Value]

_FORMATS = {
    Kind.INT8: ">b",
    Kind.INT16: ">h",
    Kind.UINT16: ">H",
    Kind.INT32: ">i",
    Kind.UINT32: ">I",
    Kind.INT64: ">q",
    Kind.FLOAT64: ">d",
}
_MAX_STRING_BYTES = 32767


class MalformedError(KraftLogError):
    """Bytes that are no record of the schema, or values that cannot be written by it."""


def decode(schema: Schema, body: bytes) -> Data:
    """The values of a record body, which must end where its record ends (MalformedError)."""
    cursor = _Cursor(body)
    data = _read_struct(cursor, schema.fields)
    if cursor.left:
        raise MalformedError(f"{schema.type_name}: {cursor.left} bytes too many")
    return data


def encode(schema: Schema, data: Mapping[str, Value]) -> bytes:
    """The body of a record with these values (MalformedError)."""
    out = bytearray()
    try:
        _write_struct(out, schema.fields, data)
    except (KeyError, TypeError, struct.error, binascii.Error) as error:
        raise MalformedError(f"{schema.type_name}: {error!r}") from error
    return bytes(out)


def unsigned_varint(value: int) -> bytes:
    """The form of lengths, tags and frames in Kafka."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


class _Cursor:
    """Reads from bytes, never past their end."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def left(self) -> int:
        return len(self._data) - self._at

    def take(self, size: int) -> bytes:
        if size > self.left:
            raise MalformedError(f"{size} bytes wanted, {self.left} left")
        self._at += size
        return self._data[self._at - size : self._at]

    def varint(self) -> int:
        value = 0
        for shift in range(0, 35, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & 0xFFFFFFFF
        raise MalformedError("a varint of more than five bytes")


def _read_struct(cursor: _Cursor, fields: tuple[Field, ...]) -> Data:
    data = {field.name: _read_field(cursor, field) for field in fields if not field.tagged}
    by_tag = {field.tag: field for field in fields if field.tagged}
    for _ in range(_bounded(cursor, cursor.varint())):
        tag, content = cursor.varint(), _Cursor(cursor.take(cursor.varint()))
        if field := by_tag.get(tag):
            value = _read_field(content, field)
            if content.left:
                raise MalformedError(f"{field.name}: {content.left} bytes too many")
            data.pop(field.name, None)  # of a tag that is there twice, the last one counts, as in Kafka
            if not is_default(field, value):
                data[field.name] = value
    return data


def is_default(field: Field, value: Value) -> bool:
    """Whether a tagged field has the value that is not written."""
    if field.array:
        return value is None if field.default is None else value == []
    return value == field.default


def _read_field(cursor: _Cursor, field: Field) -> Value:
    if not field.array:
        return _read_value(cursor, field, nullable=field.nullable)
    count = cursor.varint() - 1
    if count < 0:
        return _checked_null(field, nullable=field.nullable)
    return [_read_value(cursor, field, nullable=False) for _ in range(_bounded(cursor, count))]


def _read_value(cursor: _Cursor, field: Field, *, nullable: bool) -> Value:
    match field.kind:
        case Kind.STRUCT:
            return cast("Value", _read_struct(cursor, field.fields))
        case Kind.BOOL:
            return cursor.take(1)[0] != 0
        case Kind.UUID:
            return base64.urlsafe_b64encode(cursor.take(16)).decode().rstrip("=")
        case Kind.STRING | Kind.BYTES:
            return _read_sized(cursor, field, nullable=nullable)
        case numeric:
            return cast("Value", struct.unpack(_FORMATS[numeric], cursor.take(struct.calcsize(_FORMATS[numeric])))[0])


def _read_sized(cursor: _Cursor, field: Field, *, nullable: bool) -> Value:
    size = cursor.varint() - 1
    if size < 0:
        return _checked_null(field, nullable=nullable)
    if field.kind is Kind.STRING and size > _MAX_STRING_BYTES:
        raise MalformedError(f"{field.name}: a string of {size} bytes")
    content = cursor.take(size)
    return content.decode(errors="replace") if field.kind is Kind.STRING else base64.b64encode(content).decode()


def _checked_null(field: Field, *, nullable: bool) -> Value:
    if not nullable:
        raise MalformedError(f"{field.name} is null")
    return None


def _bounded(cursor: _Cursor, count: int) -> int:
    """A number of elements that take at least one byte each."""
    if count > cursor.left:
        raise MalformedError(f"{count} elements in {cursor.left} bytes")
    return count


def _write_struct(out: bytearray, fields: tuple[Field, ...], data: Mapping[str, Value]) -> None:
    for field in fields:
        if not field.tagged:
            _write_field(out, field, data[field.name])
    given = [field for field in fields if field.tagged and field.name in data]
    tagged = sorted((field for field in given if not is_default(field, data[field.name])), key=lambda field: field.tag)
    out += unsigned_varint(len(tagged))
    for field in tagged:
        content = bytearray()
        _write_field(content, field, data[field.name])
        out += unsigned_varint(field.tag) + unsigned_varint(len(content)) + content


def _write_field(out: bytearray, field: Field, value: Value) -> None:
    if not field.array:
        _write_value(out, field, value)
    elif value is None:
        out += unsigned_varint(0)
    else:
        elements = cast("list[Value]", value)
        out += unsigned_varint(len(elements) + 1)
        for element in elements:
            _write_value(out, field, element)


def _write_value(out: bytearray, field: Field, value: Value) -> None:
    match field.kind:
        case Kind.STRUCT:
            _write_struct(out, field.fields, cast("Data", value))
        case Kind.BOOL:
            out.append(1 if value else 0)
        case Kind.UUID:
            out += base64.urlsafe_b64decode(f"{value}==")
        case Kind.STRING | Kind.BYTES if value is None:
            out += unsigned_varint(0)
        case Kind.STRING | Kind.BYTES:
            text = cast("str", value)
            content = text.encode() if field.kind is Kind.STRING else base64.b64decode(text)
            out += unsigned_varint(len(content) + 1) + content
        case numeric:
            out += struct.pack(_FORMATS[numeric], value)
