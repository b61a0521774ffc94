"""What the measurements rely on: counts are compared by key, and metadata and logs are read correctly."""

import struct
from collections import Counter
from pathlib import Path

from tests.live.streams.feed import compare
from tests.live.streams.gate import telling_line
from tests.live.streams.groups import UNKNOWN, _versions
from tests.live.streams.measured import Measured, Pair, difference, load
from tests.live.streams.releases import minor, parsed
from tests.live.streams.ways import FAILS, WORKS, WRONG, Result

PAIR = Pair(old="2.3.1", new="3.9.1", broker="3.9.2", way="two", upgrade_from="2.3")


def _subscription(data: bytes) -> bytes:
    return struct.pack(">hi", 0, 1) + struct.pack(">h", 5) + b"input" + struct.pack(">i", len(data)) + data


def test_counts_are_compared_by_key() -> None:
    """A lost count of one key is not made up for by a doubled one of another."""
    found = compare(Counter({"a": 3, "b": 2, "c": 1}), {"a": 2, "b": 3})
    assert (found.lost, found.doubled, found.keys, found.exact) == (2, 1, 3, False)
    assert compare(Counter({"a": 1}), {"a": 1}).exact


def test_the_versions_are_those_of_the_user_data() -> None:
    """Versions 1 and 2 name no supported version, and no metadata is unknown, not zero of something."""
    assert _versions(_subscription(struct.pack(">i", 2) + b"rest")) == {"used": 2, "supported": 2}
    assert _versions(_subscription(struct.pack(">ii", 4, 11))) == {"used": 4, "supported": 11}
    assert _versions(b"") == {"used": UNKNOWN, "supported": UNKNOWN}


def test_the_telling_line_is_about_versions() -> None:
    """The first exception that says something about versions is preferred to one that only follows it."""
    log = """12:00:00.000 [main] WARN a.b.C - org.apache.kafka.common.errors.DisconnectException: gone
12:00:01.000 [main] ERROR a.b.C - java.lang.NullPointerException: something
java.lang.IllegalStateException: unable to decode subscription data: version=3
\tat a.b.C(D.java:1)
"""
    assert telling_line(log) == "java.lang.IllegalStateException: unable to decode subscription data: version=3"
    assert telling_line("nothing") is None


def test_releases_are_compared_as_numbers() -> None:
    """0.10.1 is later than 0.10.0.1, and 4.10 would be later than 4.9."""
    assert parsed("0.10.0.1") < parsed("0.10.1.0") < parsed("4.9.0") < parsed("4.10.0")
    assert (minor("0.10.0.1"), minor("2.3.1")) == ("0.10.0", "2.3")


def test_a_row_collects_its_runs(tmp_path: Path) -> None:
    """A way that works once and fails once varies, whatever came first, and is read back as written."""
    measured = Measured()
    measured.add(PAIR, Result(outcome=WORKS, after=[[11, 11]]))
    row = measured.add(PAIR, Result(outcome=FAILS, reason="broken", died=("app-0 (2.3.1)",)))
    assert (row.outcome, row.reason) == ("varies", "broken")
    measured.save(tmp_path / "file.json")
    assert load(tmp_path / "file.json") == measured


def test_a_fresh_result_is_compared_with_all_runs() -> None:
    """Only an outcome that was never seen, other versions, or a pair that was not measured, is a difference."""
    measured = Measured()
    row = measured.add(PAIR, Result(outcome=WORKS, after=[[11, 11]]))
    assert not difference(row, Result(outcome=WORKS, after=[[11, 11]]))
    assert "wrong counts" in difference(row, Result(outcome=WRONG, after=[[11, 11]]))
    assert "versions" in difference(row, Result(outcome=WORKS, after=[[4, 11]]))
    assert difference(None, Result(outcome=WORKS))
