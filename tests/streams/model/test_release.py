"""Releases of Kafka Streams, as text."""

import pytest

from kafka_streams.model.release import StreamsRelease, parse_release


@pytest.mark.parametrize("text", ["0.10.0.0", "0.10.2.2", "0.11.0.3", "1.0.2", "2.3.1", "4.3.1", "10.11.12"])
def test_a_release_is_read_and_written_back(text: str) -> None:
    """Three numbers since 1.0, four before."""
    assert str(parse_release(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "4",
        "4.3",
        "4.3.1.0",
        "0.10.2",
        "0.10",
        "v4.3.1",
        "4.3.1-SNAPSHOT",
        "04.3.1",
        "4.3.1 ",
        "4.3.1\n",
        "٤.3.1",
        None,
        4,
    ],
)
def test_anything_else_is_no_release(text: object) -> None:
    """Neither a line nor a suffix, nor digits of another script."""
    assert parse_release(text) is None


def test_releases_compare_as_kafka_orders_them() -> None:
    """Lines by their numbers, then patches."""
    texts = ["0.10.0.1", "0.10.1.0", "0.10.2.2", "0.11.0.0", "1.0.0", "1.1.1", "2.0.0", "2.8.2", "2.10.0", "10.0.0"]
    parsed = [parse_release(text) for text in texts]
    assert all(isinstance(one, StreamsRelease) for one in parsed)
    assert sorted(one for one in parsed if one is not None) == parsed
    assert StreamsRelease((0, 10, 2), 2).line_text == "0.10.2"
