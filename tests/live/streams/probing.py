"""What a release of Kafka Streams does by itself: its subscription's version, and each value of `upgrade.from`."""

import subprocess
from pathlib import Path
from typing import Final

from tests.live.streams.application import Application
from tests.live.streams.gate import pass_gate
from tests.live.streams.matrix import OLD_BROKER, UPGRADE_FROM
from tests.live.streams.measured import Release
from tests.live.streams.releases import ensure_streams
from tests.live.streams.running import Brokers

_PROBE_S: Final = 90.0


def probe(brokers: Brokers, version: str) -> Release:
    """Runs one instance alone for the version, and a program without a broker for the values."""
    results = upgrade_from_values(brokers.directory, version)
    return Release(
        version=version,
        subscription=subscription(brokers, version),
        upgrade_from={value: result for value, (result, _) in results.items()},
        errors={value: error for value, (said, error) in results.items() if said == "fails"},
    )


def upgrade_from_values(directory: Path, version: str) -> dict[str, tuple[str, str]]:
    """For each value: ignored, refused, fails or accepted, and the error (AssertionError)."""
    release = ensure_streams(version)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"probe-{version}.properties"
    state = directory / f"probe-{version}"
    path.write_text(f"application.id=probe\nbootstrap.servers=127.0.0.1:9\nstate.dir={state}\n")
    command = release.command("Probe", str(path), "upgrade.from", *UPGRADE_FROM)
    result = subprocess.run(command, capture_output=True, text=True, timeout=_PROBE_S, check=False)
    rows = [line.split("\t") for line in result.stdout.splitlines() if line.count("\t") == 2]
    found = {value: (said, error[:200]) for value, said, error in rows}
    assert set(found) == set(UPGRADE_FROM), result.stderr[-2000:]
    return found


def subscription(brokers: Brokers, version: str) -> int:
    """The version that one instance sends when it is alone (GateFailedError)."""
    brokers.count += 1
    name = f"case-{brokers.count}"
    application = Application(broker=brokers.broker(OLD_BROKER), name=name, home=brokers.directory / name)
    application.open(1)
    try:
        application.start(application.instances[0], ensure_streams(version))
        pass_gate(application, 1, None, set())
        ((used, supported),) = application.group().versions()
        assert used == supported
        return used
    finally:
        application.close()
