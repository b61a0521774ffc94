"""The words of the API server, for people who do not know that it is written in Go."""

import re
from typing import Final

_LOOKED_AT: Final = 4096
"""Characters of a message that are looked at. Others decide what it quotes, so the work must have a limit."""
_MARK: Final = "cannot unmarshal "
_PREFIX: Final = re.compile(r"\w{1,60} in version \"[^\"]{0,40}\" cannot be handled as an? \w{1,60}: ")
_UNMARSHAL: Final = re.compile(
    r"(?:json: )?cannot unmarshal (?P<given>\w{1,20})(?: (?P<value>\S{1,40}))? into Go "
    r"(?:struct field (?P<field>\S{1,500})|value) of type (?P<type>\S{1,200}(?: \{\})?)"
)
_GIVEN: Final = {"array": "a list", "bool": "true or false", "number": "a number", "object": "an object"}
_WANTED: Final = (
    (re.compile(r"\*?\[\]"), "a list"),
    (re.compile(r"\*?map\["), "an object"),
    (re.compile(r"\*?string\b"), "a text"),
    (re.compile(r"\*?u?int\d*\b"), "a whole number"),
    (re.compile(r"\*?float\d*\b"), "a number"),
    (re.compile(r"\*?bool\b"), "true or false"),
)


def without_go(message: str) -> str:
    """A message in which a fault of a JSON type names the field and the type that it must have, and no type of Go."""
    if _MARK not in message[:_LOOKED_AT]:
        return message
    return _UNMARSHAL.sub(_fault, _PREFIX.sub("", message[:_LOOKED_AT])) + message[_LOOKED_AT:]


def _fault(match: re.Match[str]) -> str:
    _, dot, path = (match["field"] or "").partition(".")
    field = f"field {path}" if dot else f"field {match['field']}" if match["field"] else "the object"
    wrong = match["value"] if match["given"] == "number" and match["value"] else _GIVEN.get(match["given"], "a text")
    wanted = next((words for form, words in _WANTED if form.match(match["type"])), "")
    if not wanted and match["given"] == "string" and match["field"]:
        wanted = "an object"  # a named type that takes no text
    return f"{field} must be {wanted}, not {wrong}" if wanted else f"{field} must not be {wrong}"
