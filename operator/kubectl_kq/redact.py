"""What leaves the cluster in a report: objects and logs without anything that looks like a key or a password. Pure.

Secrets are never read, so this is the second lock: for values that a person wrote where they do not belong, such as a
password in `spec.kafka.config`, in a variable or in a line of a log. A name that speaks of a secret loses its value;
a text that looks like key material is replaced wherever it is. Rather too much is removed than too little.
"""

import re
from typing import Any, Final, TypeAlias

Json: TypeAlias = dict[str, Any]

REDACTED: Final = "REDACTED"
_DROPPED: Final = frozenset({"managedFields"})
_DROPPED_ANNOTATIONS: Final = frozenset({"kubectl.kubernetes.io/last-applied-configuration"})
_SPEAKS: Final = re.compile(
    r"passw(?:or)?d|passphrase|secret|token|credential|jaas|salt|scram|storedkey|serverkey"
    r"|(?:private|access|api|keystore|ssl)[._-]?key|certificate[._-]?chain|truststore[._-]?certificates"
    r"|(?:^|[._-])(?:pwd|pw|pass)(?:$|[._-])",
    re.IGNORECASE,
)
"""Names whose texts are removed."""
_SAYS_WHERE: Final = re.compile(r"(?:names?|refs?|location|type|path|alias|format)$", re.IGNORECASE)
"""Names that only say where a secret is, such as `secretName`."""
_MATERIAL: Final = re.compile(
    r"-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|\Z)"  # PEM, also one that is cut off
    r"|(?:\b[A-Za-z0-9+/]{1,76}={0,2}\s+)?-----END [A-Z0-9 ]+-----"  # its end: a log has its last lines only
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"  # JSON web tokens, such as those of service accounts
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|(?<![\w/+-])(?=[A-Za-z0-9+/_-]*[a-z])(?=[A-Za-z0-9+/_-]*[A-Z])(?=[A-Za-z0-9+/_-]*[0-9])"
    r"[A-Za-z0-9+/_-]{40,}={0,2}(?![\w/+-])",  # long base64; digests in hex and ids of Kafka (22) stay
    re.DOTALL,
)
_VALUE: Final = (
    r"(?:\\\"[^\"\\\n]*\\\"|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'"
    r"|[|>][+-]?[ \t]*\n(?:[ \t]+[^\n]*\n?)+|[^\s,;}\]]+)"  # in YAML, a block of lines
)
_ASSIGNED: Final = re.compile(
    r"((?:(?:passw(?:or)?d|passphrase|credential|jaas\.config|private[._-]?key|api[._-]?key|salt|storedkey"
    r"|serverkey|(?<![a-z0-9])(?:pwd|pass)(?![a-z0-9]))[\w.-]{0,64})\\?[\"']?\s*[=:]\s*)" + _VALUE,
    re.IGNORECASE,
)
"""`name=value` or `name: value` in a text. The value goes.

Every run that is not anchored has a limit: a line of a log may be a megabyte without a blank, and would be searched
again from each of its characters.
"""
_ASSIGNED_SECRET: Final = re.compile(
    r"((?:(?:secret|token)[\w.-]{0,64})(?:\s*=|\\?[\"']\s*:)\s*)" + _VALUE, re.IGNORECASE
)
"""The same for words that sentences have before a colon: there only `name=value` and `"name": value` count."""
_OPTION: Final = re.compile(
    r"((?<![\w-])--?[\w.-]{0,64}(?:passw(?:or)?d|passphrase|secret|token|private[._-]?key|api[._-]?key)(?![\w.-])\s+)(?!-)"
    + _VALUE,
    re.IGNORECASE,
)
"""An option of a command, and its value as the next word."""
_BEARER: Final = re.compile(r"\b((?:bearer|basic)\s+)[\w.~+/=-]{6,}", re.IGNORECASE)
_URL: Final = re.compile(r"(\b[a-z][a-z0-9+.-]{0,30}://)[^\s/]+@", re.IGNORECASE)


def redacted_text(text: str) -> str:
    """A text of one line or several, without key material."""
    found = _MATERIAL.sub(REDACTED, text)
    found = _URL.sub(rf"\1{REDACTED}@", found)
    found = _BEARER.sub(rf"\1{REDACTED}", found)
    found = _ASSIGNED_SECRET.sub(rf"\1{REDACTED}", found)
    found = _OPTION.sub(rf"\1{REDACTED}", found)
    return _ASSIGNED.sub(rf"\1{REDACTED}", found)


def redacted(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """An object without key material, and without what only repeats it (managed fields, the last applied object)."""
    if isinstance(value, str):
        return redacted_text(value)
    if isinstance(value, list):
        before = (None, *value)
        return [REDACTED if _is_option(one, each) else redacted(each) for one, each in zip(before, value, strict=False)]
    if not isinstance(value, dict):
        return value
    if _is_variable(value):
        return {**value, "value": REDACTED}
    return {
        redacted_text(str(key)): _hidden(inner) if speaks(str(key), inner) else redacted(inner)
        for key, inner in value.items()
        if key not in _DROPPED and key not in _DROPPED_ANNOTATIONS
    }


def speaks(name: str, value: object) -> bool:
    """Whether a field of this name holds a secret: a text, or texts, under a name that says so."""
    texts = value if isinstance(value, list) else [value]
    held = any(isinstance(each, str) for each in texts)
    return held and bool(_SPEAKS.search(name)) and not _SAYS_WHERE.search(name)


def _hidden(value: object) -> object:
    return [REDACTED for _ in value] if isinstance(value, list) else REDACTED


def _is_option(one: object, following: object) -> bool:
    """Whether one word of a command names a secret, so that the next word is it."""
    option = isinstance(one, str) and one.startswith("-") and "=" not in one and speaks(one, following)
    return option and not str(following).startswith("-")


def _is_variable(value: Json) -> bool:
    """Whether this is a variable of a container, or a pair like it, whose name speaks of a secret."""
    name = value.get("name")
    return isinstance(name, str) and isinstance(value.get("value"), str) and speaks(name, value["value"])
