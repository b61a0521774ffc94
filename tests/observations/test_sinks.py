"""From settings to sinks: each configured sink exists, and a file that cannot be used is named before the start."""

import re
from pathlib import Path

import pytest

from kafka_quorum.observations.sinks import properties, recorder
from kafka_quorum.settings import ObservationSettings, Settings, SettingsError
from kit.clock import SystemClock


def _sinks(**wanted: str) -> list[str]:
    made = recorder(Settings(observations=ObservationSettings(**wanted)), SystemClock())  # type: ignore[arg-type]  # texts
    made.close(10.0)
    return [str(sink) for sink in made._sinks]


def test_what_is_asked_for(tmp_path: Path) -> None:
    """No sink, a volume, a URL, and a URL with a topic."""
    assert _sinks() == []
    assert _sinks(target=str(tmp_path)) == [str(tmp_path)]
    url, topic = _sinks(target="s3://bucket/folder", topic="looks", bootstrap="kafka:9092")
    assert url == "s3://bucket/folder"
    assert "looks" in topic
    assert "kafka:9092" in topic


def test_properties(tmp_path: Path) -> None:
    """Each line is key=value, except comments and empty lines; a value may contain an equals sign."""
    path = tmp_path / "client.properties"
    path.write_text("# who we are\n\nsecurity.protocol = SASL_SSL\nsasl.password=a=b\n")
    assert properties(str(path)) == {"security.protocol": "SASL_SSL", "sasl.password": "a=b"}
    assert properties("") == {}


@pytest.mark.parametrize(("text", "said"), [(None, ""), ("a=b\nno sign\n", r"\b2\b")])
def test_properties_that_cannot_be_used(tmp_path: Path, text: str | None, said: str) -> None:
    """The error names the variable, the file and the fault, but not the content, which may be secret."""
    path = tmp_path / "client.properties"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SettingsError, match=f"KQ_OBSERVATIONS_KAFKA_CONFIG .*{re.escape(str(path))}.*{said}"):
        properties(str(path))
