"""The brokers' users of SCRAM: what a person gives, and the Secret with what the operator made of it. Pure.

The record has for each user how far it is, the salt, the number of iterations, and a digest of the salted password: so
a password that changes is noticed, and a request that was lost half-way is sent again as it was.
"""

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from kafka_quorum.model.certified import USERS
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.names import scram_name
from kafka_quorum.model.scram import (
    ITERATIONS,
    MOST_USERS,
    GivenUser,
    RecordedUsers,
    ScramCredential,
    ScramMechanism,
    UserState,
)
from kafka_quorum.resources.meta import Json
from kafka_quorum.resources.objects import volume_owner
from kafka_quorum.resources.secrets import secret_object, texts_of
from kit.parsing import Malformed, json_object, quoted
from kit.text import is_clean

ROLE: Final = "scram-users"
MECHANISM: Final = ScramMechanism.SHA_512
_SCHEMA: Final = 1
_USERS_KEY: Final = "users.json"
_NAME: Final = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_MOST_BYTES: Final = 1024
_SALTS: Final = range(16, 65)
"""Bytes of a salt."""
_ITERATIONS: Final = range(4096, 16385)
"""What Kafka allows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredUser:
    """A user as the record has it. Whoever has the salt and the digest can try passwords."""

    state: UserState
    iterations: int
    salt: bytes = field(repr=False)
    digest: str = field(repr=False)


Stored = dict[str, StoredUser]


def fault_of(user: str, value: bytes) -> str:
    """Why this user cannot be made, as a clause; empty if it can."""
    if _NAME.fullmatch(user) is None:
        return "its name needs 1 to 253 characters of A-Z, a-z, 0-9 and -._"
    if user in USERS:
        return "this name belongs to the quorum itself: use another name"
    return _fault_of_password(_trimmed(value))


def _fault_of_password(word: bytes) -> str:
    if not word:
        return "its password is empty"
    if len(word) > _MOST_BYTES:
        return f"its password has more than {_MOST_BYTES} bytes"
    try:
        visible = is_clean(word.decode(), max_chars=_MOST_BYTES)
    except UnicodeDecodeError:
        return "its password is not UTF-8"
    return "" if visible else "its password has control characters, or others that cannot be seen"


def given_users(data: Mapping[str, bytes], stored: Stored, same: Mapping[str, bool]) -> tuple[GivenUser, ...]:
    """The users of a person's Secret, without passwords (`Malformed` if there are too many)."""
    if len(data) > MOST_USERS:
        raise Malformed(f"the Secret has {len(data)} users, and at most {MOST_USERS} are made: use fewer")
    return tuple(
        GivenUser(user=user, fault=fault, same=not fault and user in stored and same.get(user, False))
        for user, value in sorted(data.items())
        for fault in (fault_of(user, value),)
    )


def is_of(stored: StoredUser, value: bytes) -> bool:
    """Whether this credential is of this password. It takes milliseconds."""
    return hmac.compare_digest(_digest(_salted(value, stored.salt, stored.iterations)), stored.digest)


def begun(value: bytes, salt: bytes) -> StoredUser:
    """A new credential of this password, before it is sent."""
    digest = _digest(_salted(value, salt, ITERATIONS))
    return StoredUser(state=UserState.MAKING, iterations=ITERATIONS, salt=salt, digest=digest)


def credential(user: str, value: bytes, stored: StoredUser) -> ScramCredential:
    """What is sent to Kafka."""
    return ScramCredential(
        user=user,
        mechanism=MECHANISM,
        iterations=stored.iterations,
        salt=stored.salt,
        salted_password=_salted(value, stored.salt, stored.iterations),
    )


def with_state(stored: StoredUser, state: UserState) -> StoredUser:
    """The same credential, further or back."""
    return replace(stored, state=state)


def stored_from(item: Json, quorum: str, cluster_id: str) -> Stored:
    """The record (`Malformed`). That of another cluster is none: its users are not those of this one."""
    texts, name = texts_of(item, quorum), scram_name(quorum)
    try:
        content = json_object(texts.get(_USERS_KEY, ""))
        later = content["schemaVersion"] > _SCHEMA
        found = {} if later else {str(user): _stored(row) for user, row in content["users"].items()}
    except (Malformed, AttributeError, KeyError, TypeError, ValueError, binascii.Error):
        text = f"Secret {name} cannot be read, so it is not known which users this operator made"
        raise Malformed(f"{text}: restore it") from None
    if not later and content.get("clusterID") != cluster_id:
        raise Malformed(f"Secret {name} has the users of another cluster: delete it if that cluster is gone")
    if later:
        raise Malformed(f"a later version of this operator wrote Secret {name}: use that version")
    return found


def recorded(stored: Stored, version: str) -> RecordedUsers:
    """The record without salts and digests."""
    return RecordedUsers(users=tuple((user, row.state) for user, row in sorted(stored.items())), version=version)


def stored_object(desired: Desired, cluster_id: str, stored: Stored, version: str) -> Json:
    """The record as a Secret. With a resource version it replaces exactly that one.

    It outlives the resource if the volumes do: the metadata on them has the users.
    """
    rows = {
        user: {
            "state": row.state.value,
            "iterations": row.iterations,
            "salt": base64.b64encode(row.salt).decode(),
            "digest": row.digest,
        }
        for user, row in sorted(stored.items())
    }
    content = {"schemaVersion": _SCHEMA, "clusterID": cluster_id, "users": rows}
    texts = {_USERS_KEY: json.dumps(content, separators=(",", ":"))}
    return secret_object(desired, scram_name(desired.name), ROLE, texts, version, volume_owner(desired))


def _stored(row: Json) -> StoredUser:
    salt, iterations, digest = base64.b64decode(row["salt"], validate=True), row["iterations"], row["digest"]
    whole = isinstance(iterations, int) and iterations in _ITERATIONS  # 8192.0 is in this range, too
    if len(salt) not in _SALTS or not whole or re.fullmatch("[0-9a-f]{64}", digest) is None:
        raise Malformed(f"{quoted(row)} is no user")
    return StoredUser(state=UserState(row["state"]), iterations=iterations, salt=salt, digest=digest)


def _trimmed(value: bytes) -> bytes:
    """Without the line break at the end that editors and `echo` add."""
    return value.rstrip(b"\r\n")


def _salted(value: bytes, salt: bytes, iterations: int) -> bytes:
    return hashlib.pbkdf2_hmac("sha512", _trimmed(value), salt, iterations)


def _digest(salted: bytes) -> str:
    return hashlib.sha256(salted).hexdigest()
