"""Upgrades of real Kafka Streams applications: a share of `make streams-matrix`, with a real broker."""

from collections.abc import Iterator

import pytest
from tests.live.streams.matrix import SHARE
from tests.live.streams.measured import Pair, difference, load
from tests.live.streams.running import Brokers, brokers

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    """Brokers for all pairs, one at a time."""
    with brokers(tmp_path_factory.mktemp("streams")) as made:
        yield made


@pytest.mark.parametrize("pair", SHARE, ids=str)
def test_a_pair_does_what_was_measured(started: Brokers, pair: Pair) -> None:
    """The outcome, and the versions that the members use in the end, are those of the file."""
    result = started.measure(pair)
    found = difference(load().row(pair), result)
    assert not found, (found, result)
