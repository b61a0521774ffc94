"""The way of an application from one release to another: what is done in which order, and why (rows S1 S2 S5)."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from kafka_streams.model.release import StreamsRelease


class Protocol(StrEnum):
    """How the instances share the work: `group.protocol`."""

    CLASSIC = "classic"
    STREAMS = "streams"


class Kind(StrEnum):
    """How the instances get from one release to the other."""

    ONE_BOUNCE = "OneBounce"
    """Each instance restarts once. Between releases of different formats the instances find a common one themselves."""
    TWO_BOUNCES = "TwoBounces"
    """First each instance gets the new release with `upgrade.from`, then each one restarts without it."""
    OFFLINE = "Offline"
    """All instances stop, the group becomes empty, then all start with the new release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One sentence, and where it is from: a KIP, an issue of Kafka, its upgrade guide, a measurement."""

    text: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One restart of every instance: one after the other, or `together` after all of them have stopped.

    `upgrade_from` is what the instances get as `upgrade.from`; empty for none. With `wipe` each instance starts with an
    empty state directory, and restores its stores from their changelog topics.
    """

    release: StreamsRelease
    protocol: Protocol = Protocol.CLASSIC
    upgrade_from: str = ""
    wipe: bool = False
    together: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A way that leads there. `no_return` says what cannot be turned back once an instance has the new release."""

    kind: Kind
    steps: tuple[Step, ...]
    reasons: tuple[Reason, ...]
    no_return: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoWay:
    """Nothing leads there while instances run. `bridge` is a line of releases that leads there in two ways.

    `offline` is the way for a person who accepts that the application stops; None if that would not work either.
    """

    reasons: tuple[Reason, ...]
    bridge: str = ""
    offline: Way | None = None


WayFound: TypeAlias = Way | NoWay
