"""Which pairs are measured, in the order of their importance, and with which broker."""

from collections.abc import Iterator
from typing import Final

from tests.live.streams.measured import Pair
from tests.live.streams.releases import minor

OLD_BROKER: Final = "3.9.2"
NEW_BROKER: Final = "4.4.0"
CORRUPTING_BROKER: Final = "4.2.0"
"""KAFKA-20254: a group that changes to the streams protocol is damaged."""

SHARE: Final = (
    Pair(old="1.1.1", new="2.0.1", broker=OLD_BROKER, way="two", upgrade_from="1.1"),
    Pair(old="4.3.1", new="3.9.1", broker=OLD_BROKER, way="one"),
    Pair(old="2.3.1", new="4.3.1", broker=OLD_BROKER, way="stale"),
)
"""What `make test` measures again: an upgrade with two bounces, a way back that fails, and the loss of counts."""

SHARE_RELEASES: Final = ("1.1.0", "4.1.2")
"""One that ignores `upgrade.from`, and one that accepts a value and fails later."""

RELEASES: Final = (
    *("0.10.0.1", "0.10.1.1", "0.10.2.0", "0.10.2.2", "0.11.0.3", "1.0.2", "1.1.0", "1.1.1"),
    *("2.0.1", "2.1.1", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.3", "2.7.2", "2.8.2"),
    *("3.0.2", "3.1.2", "3.2.3", "3.3.2", "3.4.1", "3.5.2", "3.6.2", "3.7.2", "3.8.1", "3.9.1"),
    *("4.0.1", "4.1.2", "4.2.0", "4.3.1"),
)
"""The last patch of each minor release; where patches differ (KAFKA-6054), an earlier one too."""

UPGRADE_FROM: Final = (
    *("0.10.0", "0.10.1", "0.10.2", "0.11.0", "1.0", "1.1", "2.0", "2.1", "2.2", "2.3"),
    *("2.4", "2.5", "2.6", "2.7", "2.8"),
    *("3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4"),
)

_OFFLINE: Final = "offline"
_TABLE: Final = (
    ("0.10.0.1", "0.10.1.1", ("one", _OFFLINE)),
    ("0.10.0.1", "1.1.1", ("one", "two")),
    ("0.10.0.1", "2.0.1", ("one", "two")),
    ("1.1.1", "2.0.1", ("one", "two", "turned")),
    ("2.0.1", "2.1.1", ("one", "two:1.1", "two:2.0")),
    ("2.3.1", "2.4.1", ("one", "two")),
    ("2.3.1", "3.9.1", ("one", "two", _OFFLINE, "turned")),
    ("2.3.1", "4.3.1", ("one", "two:2.3", "two:2.4", _OFFLINE)),
    ("1.1.1", "4.3.1", ("one", "two:1.1", _OFFLINE)),
    ("2.4.1", "2.8.2", ("one", "two")),
    ("2.4.1", "4.3.1", ("one", "two")),
    ("2.8.2", "3.9.1", ("one",)),
    ("3.9.1", "4.3.1", ("one",)),
)
"""The table of pairs that an operator meets; `two` takes `upgrade.from` from the old release unless it says more."""

_RETURNS: Final = tuple(
    Pair(old=old, new=new, broker=OLD_BROKER, way=way, upgrade_from=minor(old), wiped=True)
    for way in ("turned", "late")
    for old, new in (("1.1.1", "2.0.1"), ("2.3.1", "3.9.1"))
)
"""The way back of an upgrade with two bounces, from the first and from the second."""
_BRIDGES: Final = tuple(
    Pair(old=old, new="4.3.1", broker=OLD_BROKER, way="bridge", upgrade_from=minor(old), over="3.9.1", wiped=True)
    for old in ("2.3.1", "1.1.1")
)

_STALE: Final = (
    ("2.3.1", ("2.3.1", "2.4.1", "2.5.1", "2.6.3", "2.7.2", "2.8.2", "3.9.1", "4.3.1")),
    ("2.4.1", ("2.5.1", "2.6.3", "2.8.2", "4.3.1")),
    ("2.5.1", ("2.6.3", "2.8.2")),
    ("2.6.3", ("2.8.2",)),
    ("2.8.2", ("3.9.1", "4.3.1")),
    ("3.9.1", ("4.3.1",)),
    ("1.1.1", ("2.0.1", "4.3.1")),
    ("3.9.1", ("2.3.1",)),
)
_WIPED: Final = (("2.3.1", "4.3.1"), ("2.3.1", "3.9.1"), ("2.4.1", "4.3.1"), ("1.1.1", "4.3.1"))

_WIPED_BOUNCES: Final = (
    Pair(old="2.3.1", new="3.9.1", broker=OLD_BROKER, way="two", upgrade_from="2.3", wiped=True),
    Pair(old="2.4.1", new="4.3.1", broker=OLD_BROKER, way="two", upgrade_from="2.4", wiped=True),
    Pair(old="2.4.1", new="2.8.2", broker=OLD_BROKER, way="one", wiped=True),
    Pair(old="2.3.1", new="4.3.1", broker=OLD_BROKER, way="one", wiped=True),
)
_HEAVIER: Final = (
    Pair(old="2.8.2", new="3.9.1", broker=OLD_BROKER, way="two", upgrade_from="2.8"),
    Pair(old="3.9.1", new="4.3.1", broker=OLD_BROKER, way="two", upgrade_from="3.9"),
)
"""More than is needed."""

_BACK: Final = (
    ("4.3.1", "3.9.1", (False, True)),
    ("4.3.1", "4.2.0", (False, True)),
    ("3.9.1", "2.8.2", (False, True)),
    ("3.9.1", "2.4.1", (False, True)),
    ("3.9.1", "2.3.1", (False, True)),
    ("2.8.2", "2.4.1", (False, True)),
    ("2.4.1", "2.3.1", (False,)),
    ("2.0.1", "1.1.1", (False,)),
)

_BACK_OFFLINE: Final = (("3.9.1", "2.3.1"), ("2.4.1", "2.3.1"), ("2.0.1", "1.1.1"))

_KIP: Final = (
    ("0.10.0.1", ("0.10.2.2", "0.11.0.3", "1.0.2")),
    ("0.10.1.1", ("0.10.2.2", "0.11.0.3", "1.0.2", "1.1.1", "2.0.1")),
    ("0.10.2.2", ("0.11.0.3", "1.0.2", "1.1.1", "2.0.1")),
    ("0.11.0.3", ("1.0.2", "1.1.1", "2.0.1")),
    ("1.0.2", ("1.1.1", "2.0.1")),
)
"""The other pairs of KIP-268's test matrix; its 1.2 became 2.0."""

_WITH_NEW_BROKER: Final = (
    Pair(old="0.10.1.1", new="0.10.2.2", broker=NEW_BROKER, way="one"),
    Pair(old="0.10.2.2", new="0.11.0.3", broker=NEW_BROKER, way="one"),
    Pair(old="0.11.0.3", new="1.1.1", broker=NEW_BROKER, way="one"),
    Pair(old="1.1.1", new="2.0.1", broker=NEW_BROKER, way="two", upgrade_from="1.1"),
    Pair(old="2.3.1", new="3.9.1", broker=NEW_BROKER, way="two", upgrade_from="2.3", wiped=True),
    Pair(old="2.4.1", new="4.3.1", broker=NEW_BROKER, way="two", upgrade_from="2.4", wiped=True),
    Pair(old="3.9.1", new="4.3.1", broker=NEW_BROKER, way="one"),
    Pair(old="2.3.1", new="4.3.1", broker=NEW_BROKER, way=_OFFLINE, wiped=True),
)

_PROTOCOL: Final = tuple(
    Pair(old=old, new="4.3.1", broker=broker, way=way, protocol="streams")
    for broker in (NEW_BROKER, CORRUPTING_BROKER, OLD_BROKER)
    for old, way in (("4.3.1", _OFFLINE), ("4.3.1", "one"), ("3.9.1", _OFFLINE))
    if broker != OLD_BROKER or way == _OFFLINE
)


def pairs() -> tuple[Pair, ...]:
    """Every pair once, the most important first."""
    every = (
        *(*SHARE, *_table(), *_WIPED_BOUNCES, *_BRIDGES, *_back(), *_RETURNS, *_kip(), *_stale()),
        *(*_WITH_NEW_BROKER, *_HEAVIER, *_PROTOCOL),
    )
    return tuple(dict.fromkeys(every))


def _way(old: str, new: str, text: str) -> Pair:
    """`two:1.1` names its `upgrade.from`."""
    way, _, named = text.partition(":")
    upgrade_from = named or (minor(old) if way in {"two", "turned"} else None)
    return Pair(old=old, new=new, broker=OLD_BROKER, way=way, upgrade_from=upgrade_from)


def _table() -> Iterator[Pair]:
    for old, new, ways in _TABLE:
        yield from (_way(old, new, way) for way in ways)


def _stale() -> Iterator[Pair]:
    for old, targets in _STALE:
        yield from (Pair(old=old, new=new, broker=OLD_BROKER, way="stale") for new in targets)
    for old, new in _WIPED:
        yield Pair(old=old, new=new, broker=OLD_BROKER, way="stale", wiped=True)
        yield Pair(old=old, new=new, broker=OLD_BROKER, way=_OFFLINE, wiped=True)


def _back() -> Iterator[Pair]:
    for old, new, wipes in _BACK:
        yield from (Pair(old=old, new=new, broker=OLD_BROKER, way="one", wiped=wiped) for wiped in wipes)
    for old, new in _BACK_OFFLINE:
        yield Pair(old=old, new=new, broker=OLD_BROKER, way=_OFFLINE, wiped=True)


def _kip() -> Iterator[Pair]:
    for old, targets in _KIP:
        for new in targets:
            yield _way(old, new, "one")
            if old.startswith("0.10.0") or new.startswith("2."):
                yield _way(old, new, "two")
