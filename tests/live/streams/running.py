"""One measurement after another, on brokers that are started once."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.live.jars import ensure_kafka
from tests.live.streams.application import STREAMS
from tests.live.streams.broker import Broker
from tests.live.streams.measured import Pair
from tests.live.streams.releases import ensure_streams
from tests.live.streams.ways import Case, Result, measure

_PROTOCOLS: Final = {"group.coordinator.rebalance.protocols": "classic,consumer,streams"}
_SHORT: Final = {"group.streams.min.session.timeout.ms": "1000", "group.streams.session.timeout.ms": "3000"}
_HEARTBEAT: Final = {"group.streams.min.heartbeat.interval.ms": "300", "group.streams.heartbeat.interval.ms": "500"}


@dataclass(slots=True)
class Brokers:
    """The brokers of a run, one for each release."""

    directory: Path
    open: dict[str, Broker] = field(default_factory=dict)
    count: int = 0

    def broker(self, version: str) -> Broker:
        """A running broker of this release; the others end."""
        if version not in self.open:
            self.close()
            modern = version.startswith("4.")
            config = {**_PROTOCOLS, **_SHORT, **_HEARTBEAT} if modern else {}
            made = Broker(kafka=ensure_kafka(version), home=self.directory / f"broker-{self.count}", config=config)
            self.open = {version: made}
            made.open()
        return self.open[version]

    def measure(self, pair: Pair) -> Result:
        """One run of a pair."""
        self.count += 1
        config = {"group.protocol": pair.protocol} if pair.protocol == STREAMS else {}
        case = Case(
            old=ensure_streams(pair.old),
            new=ensure_streams(pair.new),
            way=pair.way,
            upgrade_from=pair.upgrade_from,
            wiped=pair.wiped,
            over=ensure_streams(pair.over) if pair.over else None,
            config=config,
        )
        return measure(self.broker(pair.broker), case, f"case-{self.count}", self.directory)

    def close(self) -> None:
        """Ends them."""
        for each in self.open.values():
            each.close()
        self.open = {}


@contextmanager
def brokers(directory: Path) -> Iterator[Brokers]:
    """Brokers that end with the block."""
    made = Brokers(directory)
    try:
        yield made
    finally:
        made.close()
