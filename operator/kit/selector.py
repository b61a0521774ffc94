"""Label selectors in the form of Kubernetes, as in `kubectl get -l`.

    a=b   a==b   a!=b   a in (b,c)   a notin (b,c)   a   !a

Requirements are separated by commas, and all of them must hold. As in Kubernetes, `!=` and `notin` also hold for an
object without the label. https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_NAME: Final = r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
_PREFIX: Final = r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?"
_KEY: Final = rf"(?:{_PREFIX}/)?{_NAME}"
_VALUE: Final = rf"(?:{_NAME})?"
_VALUES: Final = rf"\s*{_VALUE}\s*(?:,\s*{_VALUE}\s*)*"
_SET: Final = re.compile(rf"\s*(?P<key>{_KEY})\s+(?P<kind>in|notin)\s*\((?P<values>{_VALUES})\)\s*(?:,|\Z)", re.ASCII)
_EQUAL: Final = re.compile(rf"\s*(?P<key>{_KEY})\s*(?P<kind>==|=|!=)\s*(?P<values>{_VALUE})\s*(?:,|\Z)", re.ASCII)
_THERE: Final = re.compile(rf"\s*(?P<kind>!?)\s*(?P<key>{_KEY})\s*(?:,|\Z)", re.ASCII)
_MAX_CHARS: Final = 4096


class SelectorError(ValueError):
    """A text that is no label selector; the message says from where on."""


@dataclass(frozen=True, slots=True)
class _Requirement:
    """One requirement of a label. `values` is None if only its presence counts."""

    key: str
    values: frozenset[str] | None
    wanted: bool

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether labels fulfil it."""
        value = labels.get(self.key)
        has = value is not None and (self.values is None or value in self.values)
        return has is self.wanted


@dataclass(frozen=True, slots=True)
class Selector:
    """A label selector: its text, and the requirements in it. The empty one selects everything."""

    text: str = ""
    requirements: tuple[_Requirement, ...] = ()

    def selects(self, labels: Mapping[str, str] | None) -> bool:
        """Whether an object with these labels is selected."""
        return all(each.holds(labels or {}) for each in self.requirements)


EVERYTHING: Final = Selector()


def parse(text: str) -> Selector:
    """The selector that a text means (`SelectorError`)."""
    text = text.strip()
    if len(text) > _MAX_CHARS:
        raise SelectorError(f"it has {len(text)} characters, at most {_MAX_CHARS} are read")
    found, at = list[_Requirement](), 0
    while at < len(text):
        match = _SET.match(text, at) or _EQUAL.match(text, at) or _THERE.match(text, at)
        if match is None:
            raise SelectorError(f"from {text[at : at + 40]!r} on it is no requirement such as a=b, a in (b,c) or !a")
        found.append(_requirement(match.groupdict()))
        at = match.end()
    if text.endswith(","):
        raise SelectorError("nothing follows its last comma")
    return Selector(text=text, requirements=tuple(found))


def _requirement(parts: Mapping[str, str]) -> _Requirement:
    """One requirement, from the parts of its text."""
    if "values" not in parts:
        return _Requirement(key=parts["key"], values=None, wanted=parts["kind"] == "")
    values = frozenset(value.strip() for value in parts["values"].split(","))
    return _Requirement(key=parts["key"], values=values, wanted=parts["kind"] in ("=", "==", "in"))
