"""What a person says of single controllers, in annotations of the resource: the held ones, and a disk that is given up.

A person who may annotate the resource chooses the text: it is read within bounds. A hold that cannot be read may be
that of any controller: then all of them are held. A disk that is not named exactly is not given up.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kafka_quorum.api.shapes import annotation
from kafka_quorum.model.desired import FieldFault
from kafka_quorum.model.ids import NodeID, ReplicaKey, parse_directory_id
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.names import HOLD, REPLACE
from kit.parsing import Malformed, number

HOLD_FIELD: Final = f"metadata.annotations[{HOLD}]"
REPLACE_FIELD: Final = f"metadata.annotations[{REPLACE}]"
_HELD_MAX: Final = 256
"""As many controllers as an identity record may have."""
_HOLD_MAX_CHARS: Final = 4096
_REPLACE_MAX_CHARS: Final = 64


def held(metadata: Mapping[str, Any]) -> Knowable[frozenset[NodeID]]:
    """The node ids in the annotation, separated by commas; none without it, `Unknown` if it cannot be read."""
    text = annotation(metadata, HOLD).strip(" ")
    if len(text) > _HOLD_MAX_CHARS:
        return Unknown(reason=f"it has {len(text)} characters, and at most {_HOLD_MAX_CHARS} are read")
    parts = text.split(",") if text else []
    if len(parts) > _HELD_MAX:
        return Unknown(reason=f"it has {len(parts)} node ids, and at most {_HELD_MAX} are read")
    try:
        return Known(value=frozenset(NodeID(number(part.strip(" "))) for part in parts))
    except Malformed as error:
        return Unknown(reason=str(error))


def given_up(metadata: Mapping[str, Any]) -> ReplicaKey | None:
    """The replica in the annotation, its directory id None if it is not there; None without it, or if it has faults."""
    text = annotation(metadata, REPLACE).strip(" ")
    try:
        return _replica(text) if text else None
    except ValueError:
        return None


def faults(metadata: Mapping[str, Any]) -> Iterator[FieldFault]:
    """What cannot be read in the two annotations, and what that means."""
    if isinstance(hold := held(metadata), Unknown):
        until = "every controller is held until it is corrected"
        ask = "Write node ids with commas between them, such as 3000,3001, or remove the annotation"
        yield FieldFault(field=HOLD_FIELD, message=f"{hold.reason}, so {until}. {ask}")
    try:
        if text := annotation(metadata, REPLACE).strip(" "):
            _replica(text)
    except ValueError as error:
        until = "nothing is replaced until it is corrected"
        ask = "Write one node id and its directory id as NODEID-DIRECTORYID; status.controllers has both"
        yield FieldFault(field=REPLACE_FIELD, message=f"{error}, so {until}. {ask}")


def _replica(text: str) -> ReplicaKey:
    """One replica, written as Kafka's messages have it, or only its node id (`ValueError`)."""
    if len(text) > _REPLACE_MAX_CHARS:
        raise Malformed(f"it has {len(text)} characters, and at most {_REPLACE_MAX_CHARS} are read")
    node_id, named, directory_id = text.partition("-")
    return ReplicaKey(node_id=NodeID(number(node_id)), directory_id=parse_directory_id(directory_id) if named else None)
