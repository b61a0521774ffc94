"""What can be wrong with given certificates and keys: one value for each fault, with a sentence for a person."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kit.text import WORDS_MAX_CHARS, clean

QUOTED_MAX: Final = 5
"""At most this many names are written in one sentence."""


class Problem(StrEnum):
    """The kinds of faults."""

    TOO_LARGE = "TooLarge"
    NOT_PEM = "NotPem"
    OTHER_BLOCK = "OtherBlock"
    NO_KEY = "NoKey"
    MANY_KEYS = "ManyKeys"
    KEY_FORMAT = "KeyFormat"
    ENCRYPTED = "Encrypted"
    KEY_KIND = "KeyKind"
    WEAK_KEY = "WeakKey"
    BAD_KEY = "BadKey"
    NO_CERTIFICATE = "NoCertificate"
    BAD_CERTIFICATE = "BadCertificate"
    OTHER_KEY = "OtherKey"
    CHAIN_ORDER = "ChainOrder"
    CHAIN_BROKEN = "ChainBroken"
    EXPIRED = "Expired"
    NOT_YET_VALID = "NotYetValid"
    NAMES = "Names"
    FEWER_NAMES = "FewerNames"
    PURPOSE = "Purpose"
    AUTHORITY = "Authority"
    NO_AUTHORITY = "NoAuthority"
    SUBJECT = "Subject"
    WEAK_SIGNATURE = "WeakSignature"
    TOO_MANY = "TooMany"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A key of a Secret or a ConfigMap: `tls.crt of Secret team/demo`."""

    owner: str
    key: str

    def __str__(self) -> str:
        """As a sentence names it."""
        return f"{self.key} of {self.owner}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MaterialFault:
    """One fault. Its message never has a part of a key."""

    problem: Problem
    place: Place
    message: str


@dataclass(frozen=True, slots=True)
class Faults:
    """Everything that is wrong with what was read: one fault or more."""

    all: tuple[MaterialFault, ...]

    @property
    def problems(self) -> frozenset[Problem]:
        """Their kinds."""
        return frozenset(each.problem for each in self.all)


def fault(problem: Problem, place: Place, words: str) -> MaterialFault:
    """A fault, whose message begins with its place."""
    return MaterialFault(problem=problem, place=place, message=f"{place} {words}")


def shown(text: str) -> str:
    """A name of a certificate, for a sentence."""
    return clean(text, max_chars=WORDS_MAX_CHARS) or "an empty name"


def listed(names: tuple[str, ...]) -> str:
    """Names for a sentence, at most `QUOTED_MAX` of them."""
    shown = ", ".join(names[:QUOTED_MAX])
    more = len(names) - QUOTED_MAX
    return f"{shown} and {more} more" if more > 0 else shown
