"""Upgrades of real Kafka Streams applications: each pair does what `measured.json` says, with real brokers."""

from collections.abc import Iterator

import pytest
from tests.live.streams.matrix import SHARE, pairs
from tests.live.streams.measured import Pair, difference, load
from tests.live.streams.running import Brokers, brokers

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]


def _cases() -> list[object]:
    full = (pytest.param(pair, id=str(pair), marks=pytest.mark.full) for pair in pairs() if pair not in SHARE)
    return [*(pytest.param(pair, id=str(pair)) for pair in SHARE), *full]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    """Brokers for all pairs, one at a time."""
    with brokers(tmp_path_factory.mktemp("streams")) as made:
        yield made


@pytest.mark.parametrize("pair", _cases())
def test_a_pair_does_what_was_measured(started: Brokers, pair: Pair) -> None:
    """The outcome, and the versions that the members use in the end, are those of the file."""
    result = started.measure(pair)
    assert not difference(load().row(pair), result), (difference(load().row(pair), result), result)
