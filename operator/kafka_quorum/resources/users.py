"""The Secret with the users of SASL_SSL: who they are, their passwords, and the lines that servers need. Pure.

A listener with SASL_SSL has three users (PLAIN): the controllers themselves, the brokers and the operator. Servers get
their lines as a file of properties, from this Secret and from that of the brokers, and from nowhere else.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from kafka_quorum.model.certified import USERS
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.material import UsersSeen
from kafka_quorum.model.names import users_name
from kafka_quorum.resources.meta import Json, owner
from kafka_quorum.resources.secrets import secret_object, texts_of
from kafka_quorum.resources.tls import USERS_KEY
from kit.parsing import Malformed

CONTROLLERS, BROKERS, OPERATOR = USERS
ROLE: Final = "users"
SOURCE_KEYS: Final = {CONTROLLERS: "controllers", BROKERS: "brokers", OPERATOR: "operator"}
"""The keys of a Secret that a person gives, by user."""
_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
_LISTENERS: Final = "listeners"
_WORD: Final = re.compile(r"[A-Za-z0-9_.~+/=-]{12,256}")
"""A password that neither JAAS nor a file of properties changes."""


def users_from(item: Json, quorum: str) -> tuple[UsersSeen, dict[str, str]]:
    """The Secret without passwords, and the passwords by user (`Malformed`)."""
    texts = texts_of(item, quorum)
    passwords = {user: texts.get(user, "") for user in USERS}
    if missing := [user for user, word in passwords.items() if not _WORD.fullmatch(word)]:
        raise Malformed(f"Secret {users_name(quorum)} has no usable password of {', '.join(missing)}")
    listeners = frozenset(filter(None, texts.get(_LISTENERS, "").split(",")))
    return UsersSeen(listeners=listeners, version=str(item["metadata"]["resourceVersion"])), passwords


def given(texts: Mapping[str, str], where: str) -> dict[str, str]:
    """The passwords by user in a Secret that a person gives (`Malformed`)."""
    found = {}
    for user, key in SOURCE_KEYS.items():
        word = texts.get(key, "").rstrip("\r\n")
        if not _WORD.fullmatch(word):
            form = "12 to 256 characters of A-Z, a-z, 0-9 and _.~+/=-"
            raise Malformed(f"Secret {where} has no usable password in its key {key}: it needs {form}")
        found[user] = word
    return found


def new_passwords(word: Callable[[], str]) -> dict[str, str]:
    """A new password for each user; `word` makes one."""
    return {user: word() for user in USERS}


def users_object(desired: Desired, passwords: Mapping[str, str], listeners: Iterable[str], version: str) -> Json:
    """The Secret with these users, and with the lines of the controllers for these listeners."""
    names = sorted(listeners)
    lines = "".join(_server_line(name, passwords) for name in names)
    texts = {**passwords, _LISTENERS: ",".join(names), USERS_KEY: lines}
    return secret_object(desired, users_name(desired.name), ROLE, texts, version, owner(desired))


def broker_lines(passwords: Mapping[str, str], listeners: Iterable[str]) -> str:
    """What a broker needs to log in at these listeners, as lines of properties."""
    return "".join(_line(name, f"{_login(BROKERS, passwords)};") for name in sorted(listeners))


def _server_line(listener: str, passwords: Mapping[str, str]) -> str:
    """What a controller needs: who may log in, and how it logs in at the others."""
    accepted = " ".join(f'user_{user}="{word}"' for user, word in sorted(passwords.items()))
    return _line(listener, f"{_login(CONTROLLERS, passwords)} {accepted};")


def _login(user: str, passwords: Mapping[str, str]) -> str:
    return f'{_MODULE} required username="{user}" password="{passwords[user]}"'


def _line(listener: str, value: str) -> str:
    return f"listener.name.{listener.lower()}.plain.sasl.jaas.config={value}\n"
