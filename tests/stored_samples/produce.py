"""Writes samples of everything that an earlier version of the operator stores, with its own code and simulation.

Run it in a checkout of that version, with an interpreter that has its requirements, and give the target directory:

    cd CHECKOUT && PYTHONPATH=operator:. python HERE/produce.py HERE/0.1.0

`worlds/` holds every object of a quorum at one moment, `operations/` the status while an operation is open, `reports/`
termination messages, `observations.jsonl` lines of observations, and `hashes.json` the restart hash of some specs.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tests.model.values import at_rest, running, speaking
from tests.resources.test_scripts import OTHER, Volume
from tests.simulation.driver import Driver
from tests.simulation.explore import scenario
from tests.simulation.kube_model import Written, loaded

from kafka_quorum.api.validation import validate
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.names import inputs_hash
from kafka_quorum.observations.line import observation
from kafka_quorum.resources import scripts

Json = dict[str, Any]

ENDS: Final = {
    "initial-3": "rested",
    "roll-config": "rolled",
    "scale-3-to-5": "grown",
    "scale-5-to-3": "shrunk",
    "lost-disk-of-leader": "disk-replaced",
    "scale-3-to-1-retained": "claims-kept",
    "static-3": "static",
    "static-to-dynamic": "turned-dynamic",
    "adopted": "adopted",
    "levels-explicit": "levels-raised",
}
"""The scenarios whose last world is kept, and its name."""
BETWEEN: Final = {"initial-3": ("Formatting", "formatting"), "roll-config": ("half", "half-rolled")}
OPERATIONS: Final = ("scale-3-to-5", "scale-5-to-3", "lost-disk-of-leader", "levels-explicit", "downgrade-safe")

_TEMPLATE: Final[Json] = {
    "metadata": {"labels": {"team": "a"}, "annotations": {"note": "ü"}},
    "spec": {
        "tolerations": [{"key": "dedicated", "operator": "Exists"}],
        "containers": [{"name": "kafka", "resources": {"requests": {"cpu": "1"}}}],
    },
}
SPECS: Final[dict[str, Json]] = {
    "least": {},
    "release": {"kafka": {"version": "4.1.2"}},
    "image": {"kafka": {"version": "4.4.0", "image": "registry.example/kafka:4.4.0"}},
    "config": {"kafka": {"version": "4.4.0", "config": {"num.io.threads": "5", "socket.send.buffer.bytes": "-1"}}},
    "empty config": {"kafka": {"version": "4.4.0", "config": {}}, "controllers": {"config": {}}},
    "config of the controllers": {
        "kafka": {"version": "4.4.0", "config": {"num.io.threads": "5"}},
        "controllers": {"config": {"num.io.threads": "6"}},
    },
    "heap": {"controllers": {"jvm": {"heap": "1Gi"}}},
    "options": {"controllers": {"jvm": {"options": ["-XX:+UseZGC", "-Da=b"]}}},
    "options the other way round": {"controllers": {"jvm": {"options": ["-Da=b", "-XX:+UseZGC"]}}},
    "listener": {"controllers": {"listeners": [{"name": "QUORUM", "port": 19093, "protocol": "PLAINTEXT"}]}},
    "template": {"controllers": {"template": _TEMPLATE}},
    "empty lists": {"controllers": {"jvm": {"options": []}, "template": {"spec": {"tolerations": []}}}},
    "nothing that restarts": {"controllers": {"replicas": 5, "storage": {"size": "20Gi"}}},
    "everything": {
        "kafka": {"version": "4.2.0", "image": "registry.example/kafka:4.2.0", "config": {"num.io.threads": "5"}},
        "controllers": {"jvm": {"heap": "1Gi", "options": ["-Da=b"]}, "template": _TEMPLATE},
    },
}
"""Specs, without the fields that every spec has."""


class Recorder:
    """Stores what a run writes."""

    def __init__(self, name: str, out: Path) -> None:
        """Observes the store of a run of this scenario."""
        self._name, self._out = name, out
        self.driver = Driver(scenario(name))
        self.driver.world.kube.watchers.append(self.look)

    def objects(self) -> list[Json]:
        """Every object that the operator reads, by kind and name."""
        kept = [item for (plural, _, _), item in self.driver.world.kube.snapshot().items() if plural not in _NOT_OURS]
        return sorted(kept, key=lambda item: (item["kind"], item["metadata"]["name"]))

    def keep(self, name: str) -> None:
        """Stores the present world."""
        write(self._out / "worlds" / f"{name}.json", self.objects())

    def look(self, written: Written) -> None:
        """Stores worlds and operations that were not stored yet."""
        body = loaded(written.after)
        if body is None:
            return
        if written.key[0] == "configmaps" and written.key[2].endswith("-identity"):
            self._between(json.loads(body["data"]["record.json"]))
        operation = (body.get("status") or {}).get("operation") if written.key[0] == "kafkaquorums" else None
        if operation and self._name in OPERATIONS:
            path = self._out / "operations" / f"{operation['type']}.json"
            if not path.exists() and operation.get("waitingFor") is not None:
                write(path, body["status"])

    def _between(self, record: Json) -> None:
        wanted, name = BETWEEN.get(self._name, ("", ""))
        formatted = any(node["formatted"] for node in record["nodes"])
        moved = {node["revision"] for node in record["nodes"]}
        reached = (wanted == "Formatting" and formatted and record["phase"] == wanted) or (
            wanted == "half" and len(moved) > 1
        )
        if reached and not (self._out / "worlds" / f"{name}.json").exists():
            self.keep(name)


_NOT_OURS: Final = ("nodes", "persistentvolumes", "events")


def write(path: Path, value: object) -> None:
    """Writes JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")


def reports(out: Path) -> None:
    """The reports of the scripts about disks, run by `sh` as in a pod."""
    for name, script, prepare in (
        ("formatted", scripts.FORMAT, lambda _: None),
        ("formatted-already", scripts.VERIFY, Volume.formatted),
        ("empty", scripts.VERIFY, lambda _: None),
        ("partial", scripts.FORMAT, Volume.partial),
        ("another-disk", scripts.VERIFY, lambda volume: volume.formatted(directory_id=OTHER)),
    ):
        one(out / "reports" / f"{name}.json", script, prepare)


def one(path: Path, script: str, prepare: Callable[[Volume], None]) -> None:
    """Runs one script on a disk of its own."""
    with tempfile.TemporaryDirectory() as directory:
        volume = Volume(Path(directory), ["sh"])
        prepare(volume)
        write(path, volume.run(script).report)


def hashes(out: Path) -> None:
    """The restart hash of each spec."""
    rows = []
    for name, given in SPECS.items():
        spec = {"kafka": {"version": "4.4.0"}, **given}
        spec["controllers"] = {"replicas": 3, **given.get("controllers", {})}
        metadata = {"name": "alpha", "namespace": "kafka", "uid": "u", "generation": 1}
        found = validate({"metadata": metadata, "spec": spec})
        if not isinstance(found, Desired):
            raise SystemExit(f"{name}: {found}")
        rows.append({"name": name, "spec": spec, "hash": inputs_hash(found.runtime)})
    write(out / "hashes.json", rows)


def observations(out: Path) -> None:
    """Lines of a quorum at rest, and of one that does not answer."""
    now = datetime(2026, 1, 31, 12, tzinfo=UTC)
    looks = (speaking(running()), at_rest(quorum=Unknown(reason="no controller answers")))
    lines = [json.dumps(observation("kafka", "alpha", look, now), separators=(",", ":")) for look in looks]
    (out / "observations.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    """Writes every sample."""
    out = Path(sys.argv[1])
    for name in dict.fromkeys((*ENDS, *OPERATIONS)):
        recorder = Recorder(name, out)
        run = recorder.driver.run()
        if not run.ok:
            raise SystemExit(f"{name}: {run.ending.why}")
        if name in ENDS:
            recorder.keep(ENDS[name])
    reports(out)
    hashes(out)
    observations(out)


if __name__ == "__main__":
    main()
