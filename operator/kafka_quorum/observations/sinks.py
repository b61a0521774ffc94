"""Which sinks the settings ask for."""

from pathlib import Path

from kafka_quorum.observations.files import Directory, Files, Remote
from kafka_quorum.observations.recorder import Recorder, Sink
from kafka_quorum.observations.topic import Topic
from kafka_quorum.settings import Settings, SettingsError
from kit.clock import Clock

_MEBIBYTE = 1 << 20


def recorder(settings: Settings, clock: Clock) -> Recorder:
    """A recorder for the sinks in the settings (SettingsError if a file that they name cannot be used)."""
    wanted = settings.observations
    sinks: list[Sink] = []
    if wanted.target:
        store = Remote(wanted.target) if "://" in wanted.target else Directory(Path(wanted.target))
        limit_bytes = int(wanted.max_mebibytes * _MEBIBYTE)
        sinks.append(Files(store, clock, holder=settings.holder, hold_s=wanted.file_s, max_bytes=limit_bytes))
    if wanted.topic:
        sinks.append(Topic(wanted.topic, wanted.bootstrap, properties(wanted.kafka_config)))
    return Recorder(sinks, clock)


def properties(path: str) -> dict[str, str]:
    """Read a file of librdkafka's properties, `key=value` a line; none if no file is named."""
    if not path:
        return {}
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"KQ_OBSERVATIONS_KAFKA_CONFIG is {path!r}, which cannot be read: {error}") from error
    found = {}
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        key, equals, value = text.partition("=")
        if not equals:
            raise SettingsError(f"KQ_OBSERVATIONS_KAFKA_CONFIG is {path!r}: line {number} is not key=value")
        found[key.strip()] = value.strip()
    return found
