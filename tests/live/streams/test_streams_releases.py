"""What a release of Kafka Streams does with the values of `upgrade.from`: a share of `make streams-matrix`."""

from pathlib import Path

import pytest
from tests.live.streams.matrix import SHARE_RELEASES
from tests.live.streams.measured import load
from tests.live.streams.probing import upgrade_from_values

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]


@pytest.mark.parametrize("version", SHARE_RELEASES)
def test_upgrade_from_is_accepted_as_measured(tmp_path: Path, version: str) -> None:
    """Each value is ignored, refused, accepted, or fails while the client is made, as in the file."""
    known = load().release(version)
    assert known is not None, f"{version} was not measured"
    assert {value: said for value, (said, _) in upgrade_from_values(tmp_path, version).items()} == known.upgrade_from
