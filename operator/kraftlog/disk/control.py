"""The control records that recovery is about: voter sets, levels of kraft.version, and the frame of a checkpoint."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import cast

from kraftlog.disk.batches import Batch, RawRecord, control_type, records
from kraftlog.disk.errors import DiskError
from kraftlog.disk.model import Endpoint, Voter, Voters
from kraftlog.schema import catalog
from kraftlog.values import Data, MalformedError, decode, encode


class Control(IntEnum):
    """The types of control records (Kafka's `ControlRecordType`)."""

    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


@dataclass(slots=True)
class Controls:
    """The last voter set and level that were read so far."""

    voters: Voters | None = None
    kraft_version: int | None = None

    def take(self, batch: Batch, where: str) -> frozenset[int]:
        """Read a control batch; returns the types of its records (`DiskError`: it cannot be decoded)."""
        found = set()
        try:
            for kind, record in self._each(batch):
                found.add(kind)
                if kind == Control.KRAFT_VOTERS:
                    self.voters = Voters(offset=record.offset, voters=_voters(_decoded(kind, record.value)))
                elif kind == Control.KRAFT_VERSION:
                    self.kraft_version = cast("int", _decoded(kind, record.value)["kRaftVersion"])
        except MalformedError as error:
            raise DiskError(
                f"{where}: position {batch.position}: a control record of offset {batch.base_offset} cannot be read"
                f" ({error}), so the voter set is not known: use a later version of this program, or another disk"
            ) from error
        return frozenset(found)

    @staticmethod
    def _each(batch: Batch) -> Iterator[tuple[int, RawRecord]]:
        for record in records(batch):
            kind = control_type(record)
            if kind is None:
                raise MalformedError("a key without a type")
            yield kind, record


def _decoded(kind: int, value: bytes) -> Data:
    """The values of a control record, whose first field is its version (MalformedError)."""
    version = struct.unpack_from(">h", value)[0] if len(value) > 1 else -1
    schema = catalog().find(kind, version, control=True)
    if schema is None:
        raise MalformedError(f"version {version} of type {kind} is not known")
    return decode(schema, value)


def _voters(data: Data) -> tuple[Voter, ...]:
    rows = cast("list[Data]", data["voters"])
    return tuple(
        Voter(
            node_id=cast("int", row["voterId"]),
            directory_id=cast("str", row["voterDirectoryId"]),
            endpoints=tuple(
                Endpoint(name=cast("str", each["name"]), host=cast("str", each["host"]), port=cast("int", each["port"]))
                for each in cast("list[Data]", row["endpoints"])
            ),
            min_kraft_version=cast("int", cast("Data", row["kRaftVersionFeature"])["minSupportedVersion"]),
            max_kraft_version=cast("int", cast("Data", row["kRaftVersionFeature"])["maxSupportedVersion"]),
        )
        for row in rows
    )


def voters_of(value: bytes) -> tuple[Voter, ...]:
    """The voters of a VotersRecord (MalformedError)."""
    return _voters(_decoded(Control.KRAFT_VOTERS, value))


def voters_value(voters: tuple[Voter, ...]) -> bytes:
    """The value of a VotersRecord, version 0 (MalformedError: a number or text that does not fit)."""
    schema = catalog().find(Control.KRAFT_VOTERS, 0, control=True)
    if schema is None:
        raise MalformedError("schemas.txt has no VotersRecord")
    rows: list[Data] = [
        {
            "voterId": each.node_id,
            "voterDirectoryId": each.directory_id,
            "endpoints": [{"name": at.name, "host": at.host, "port": at.port} for at in each.endpoints],
            "kRaftVersionFeature": {
                "minSupportedVersion": each.min_kraft_version,
                "maxSupportedVersion": each.max_kraft_version,
            },
        }
        for each in voters
    ]
    return encode(schema, {"version": 0, "voters": list(rows)})
