"""What each release of Kafka Streams does with the values of `upgrade.from`: the rules of an upgrade rely on it."""

from collections.abc import Iterator

import pytest
from tests.live.streams.matrix import RELEASES, SHARE_RELEASES
from tests.live.streams.measured import Release, load
from tests.live.streams.probing import subscription, upgrade_from_values
from tests.live.streams.running import Brokers, brokers

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]


def _cases() -> list[object]:
    full = (pytest.param(each, marks=pytest.mark.full) for each in RELEASES if each not in SHARE_RELEASES)
    return [*(pytest.param(each) for each in SHARE_RELEASES), *full]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    """A broker for all releases, started when it is needed first."""
    with brokers(tmp_path_factory.mktemp("releases")) as made:
        yield made


def _known(version: str) -> Release:
    release = load().release(version)
    assert release is not None, f"{version} was not measured"
    return release


@pytest.mark.parametrize("version", _cases())
def test_upgrade_from_is_accepted_as_measured(started: Brokers, version: str) -> None:
    """Each value is ignored, refused, accepted, or fails while the client is made, as in the file."""
    fresh = {value: said for value, (said, _) in upgrade_from_values(started, version).items()}
    assert fresh == _known(version).upgrade_from


@pytest.mark.full
@pytest.mark.parametrize("version", RELEASES)
def test_the_subscription_has_the_measured_version(started: Brokers, version: str) -> None:
    """One instance alone sends the version of the file."""
    assert subscription(started, version) == _known(version).subscription
