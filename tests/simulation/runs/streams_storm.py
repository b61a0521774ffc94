"""A storm around one Streams application: real passes between the API server, kubelets and a group, under blows.

A person changes releases and turns round, gives bad images, changes the number of instances, pauses, approves and takes
it back, allows a stop for a release, and deletes the resource. It has its own seeds.
"""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from tests.simulation.model.kafka.streams_group import Habits
from tests.simulation.model.kafka.streams_releases import Runs, forbidden, program_of
from tests.simulation.model.kubernetes.kube_model import Written
from tests.simulation.model.kubernetes.streams_pods import LABEL_APPLICATION, VARIABLE
from tests.simulation.model.place import NAMESPACE
from tests.simulation.rules.streams_rules import StreamsRules
from tests.simulation.runs.driver import QUIET_STEPS, Make, real
from tests.simulation.runs.endings import Ending
from tests.simulation.runs.faults import Call
from tests.simulation.runs.kube_edge import KubeEdge
from tests.simulation.runs.storm import Storm
from tests.simulation.runs.streams_blows import APPLICATION, StreamsBlows
from tests.simulation.runs.streams_edge import BrokersOf, StreamsEdge
from tests.simulation.runs.streams_endings import application, application_rests, judge_application
from tests.simulation.runs.weather import Hand, Round, StormWire, Weather

from kafka_quorum.settings import Settings
from kafka_streams.kind import APPLICATIONS
from kafka_streams.observe.gather import Edges
from kafka_streams.reconcile import ApplicationReconciler
from kit.key import ObjectKey
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, Json

KEY: Final = ObjectKey(namespace=NAMESPACE, name=APPLICATION)
_FILE: Final = "settings"
FAMILIES: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("3.9", ("1.1.1", "2.0.1", "2.1.1")),
    ("3.9", ("2.3.1", "3.9.1", "4.3.1")),
    ("3.9", ("2.3.1", "2.4.1", "2.8.2")),
    ("4.3", ("2.4.1", "2.8.2", "3.2.3")),
    ("4.3", ("2.8.2", "3.9.1", "4.3.1")),
    ("4.3", ("3.9.1", "4.2.1", "4.3.1")),
    ("4.3", ("4.2.1", "4.3.1", "4.3.1-streams")),
)
"""The line of the brokers, and the releases that a person goes between; `-streams` is the other protocol."""


class StreamsWire(StormWire):
    """What arrives late here: the creation or the deletion of a pod."""

    def matters(self, call: Call) -> bool:
        """No write of Kubernetes depends on another object's version."""
        return call.what == "pods" and call.verb in ("create", "delete")


class StreamsStorm(Storm):
    """One storm of a Streams application."""

    kind = "streams"
    wires = StreamsWire
    quiet_steps = 2 * QUIET_STEPS

    def __init__(self, seed: int, *, make: Make = real) -> None:
        """Draw the weather and the application."""
        self.brokers = BrokersOf()
        self._family: tuple[str, ...] = ()
        self._build = 0
        super().__init__(seed, make=make)
        self.world.volumes.local = False
        self.rules = StreamsRules(self.world, self.checker.fail, NAMESPACE, APPLICATION)
        streams = self.world.kubelet.streams
        streams.threads = self._spec["gate"]["threads"] or 1
        streams.group.draw = random.Random(f"group {seed}")
        streams.group.habits = self._habits()
        records = self.draw.random() < 0.25
        self.blows = StreamsBlows(self.world, self.rules, self.draw, self.faults, self.brokers, records=records)

    def _habits(self) -> Habits:
        draw = self.draw
        return Habits(
            session_s=draw.choice((3.0, 10.0, 25.0)),
            leaves=draw.random() < 0.2,
            static=draw.random() < 0.2,
            traffic=draw.choice((0.0, 0.3, 0.9)),
            flickers=draw.random() < 0.7,
        )

    def forecast(self) -> Weather:
        """Longer than other storms, because a change takes its time."""
        weather = super().forecast()
        accident = weather.accident * self.draw.choice((0.0, 0.5, 1.0))
        change = self.draw.choice((0.004, 0.01, 0.03))
        return replace(weather, steps=self.draw.randint(300, 700), accident=accident, change=change)

    def first_spec(self) -> Json:
        """The first spec: one release of a family."""
        draw = self.draw
        self.brokers.line, self._family = draw.choice(FAMILIES)
        claim = {"type": "VolumeClaim", "size": "1Gi", "path": "/state"}
        by_file = {"configMap": _FILE, "key": "properties", "path": "/etc/app.properties"}
        return {
            "applicationID": APPLICATION,
            "bootstrap": {"servers": "kafka:9092", "pools": []},
            "replicas": draw.choice((1, 2, 3, 3, 3)),
            "upgradeFrom": {"variable": VARIABLE} if draw.random() < 0.7 else by_file,
            "state": claim if draw.random() < 0.8 else {"type": "Ephemeral"},
            "gate": {"stableSeconds": draw.choice((1, 2, 5)), "threads": draw.choice((0, 1, 2))},
            "approve": draw.choice(("Automatic", "Automatic", "Manual")),
            "template": {"metadata": {}, "spec": {"containers": [{"name": "app"}]}},
            **self._released(draw.choice(self._family[:2])),
        }

    def _released(self, name: str, words: str = "") -> Json:
        """What the spec says for a release of the family; each build has an image of its own name."""
        release, _, streams = name.partition("-")
        self._build += 1
        protocol = "Streams" if streams else "Classic"
        return {"release": release, "protocol": protocol, "image": f"app:{name}{words}.b{self._build}"}

    def begin(self) -> None:
        """The resource is created."""
        file = {"metadata": {"name": _FILE}, "data": {"properties": "threads=1\n"}}
        self.world.kube.create(CONFIG_MAPS, NAMESPACE, file)
        self._create()

    def _create(self) -> None:
        if application(self.world) is None:
            self.world.kube.create(APPLICATIONS, NAMESPACE, {"metadata": {"name": APPLICATION}, "spec": self._spec})

    def serves(self, hand: Hand, may_act: Callable[[], bool]) -> list[Round]:
        """The application by one reconciler."""
        edge = StreamsEdge(self._wire, hand.life, self.brokers)
        operator = ApplicationReconciler(
            kube=KubeEdge(self._wire, hand.life),
            edges=Edges(groups=edge, versions=edge),
            clock=hand.clock,
            ids=self._ids,
            settings=Settings(holder="simulation"),
            may_act=may_act,
        )
        return [self.round(hand, KEY, operator)]

    def concerns(self, own: Round, written: Written) -> bool:
        """As the watches report it."""
        del own
        mine = written.key[0] == APPLICATIONS.plural and written.key[2] == APPLICATION
        return mine or written.labels.get(LABEL_APPLICATION) == APPLICATION

    def rests(self) -> bool:
        """Whether it is Ready, and nothing is in progress."""
        kept = sum(LABEL_APPLICATION in (one["metadata"].get("labels") or {}) for one in self.world.kube.all(CLAIMS))
        return application_rests(self.world) and (self.rules.forgotten or kept <= len(self.rules.indexes()))

    def judge(self, *, settled: bool) -> Ending:
        """Ready, and truly so."""
        return judge_application(self.world, settled=settled, claims=not self.rules.forgotten)

    # Blows

    def prepare(self) -> None:
        """A person approves what waits for it, and makes copies of the record."""
        self.blows.note()
        body = application(self.world)
        if body is None:
            return
        status = body.get("status") or {}
        way = status.get("way") or {}
        if body["spec"]["approve"] == "Manual" and way.get("hash") and self.draw.random() < 0.02:
            self._ask("approves", approved=way["hash"])
        if "OnlyOffline" in _waits(status) and self.draw.random() < 0.02:
            self._ask("consents", offlineTo=body["spec"]["release"])

    def accident(self) -> None:
        """Something of the application is lost."""
        self.blows.strike()

    def change(self) -> None:
        """A person changes the spec."""
        draw, body = self.draw, application(self.world)
        if body is None:
            self._create()
            return
        match draw.choice(
            ("release",) * 4 + ("back", "back", "bad", "replicas", "template", "paused", "offline", "deleted")
        ):
            case "release":
                self._go(draw.choice([one for one in self._family if one != _named(body["spec"])]))
            case "back" if (change := self._open()) is not None:
                self._go(_name(_release_text(change["start"]), change["start_protocol"]))
            case "bad":
                self._go(_named(body["spec"]), draw.choice(("-bad", "-typo", "-mute")))
            case "replicas":
                self._ask("replicas", replicas=draw.choice((0, 1, 2, 3, 3, 4)))
            case "template":
                self._ask("template", template={"metadata": {"labels": {"build": str(draw.randint(1, 3))}}})
            case "paused":
                self._ask("paused", paused=True)
                self.world.later(draw.choice((10, 60)), lambda: self._ask("goes on", paused=False))
            case "offline":
                release = str(body["spec"]["release"]) if draw.random() < 0.7 else ""
                self._ask("offline", offlineTo=release, approved="")
            case "deleted" if draw.random() < 0.3:
                self._delete()
            case _:
                pass

    def _delete(self) -> None:
        self.faults["deleted"] += 1
        self.rules.forget()
        body = application(self.world)
        if body is not None:
            self._spec = body["spec"]
            self.world.kube.delete(APPLICATIONS, NAMESPACE, APPLICATION)
        self.world.later(self.draw.choice((2, 20)), self._create)

    def _go(self, name: str, words: str = "") -> None:
        """Ask for a release. Back over 3.5 no way of the operator is right yet (docs/streams-measured.md)."""
        record = self.rules.record()
        if record is not None and record["change"] is None and words == "":
            present, asked = program_of(_image(record)), program_of(f"app:{name}")
            high, low = Runs(program=present), Runs(program=asked)
            if asked.line < present.line and low.program.line >= (2, 4) and forbidden(high, low):
                return
        self._ask(f"release{words}", **self._released(name, words))

    def _open(self) -> Json | None:
        change: Json | None = (self.rules.record() or {}).get("change")
        return change

    def _ask(self, what: str, **spec: object) -> None:
        body = application(self.world)
        if body is None:
            return
        self.faults[f"spec {what}"] += 1
        self.world.kube.patch(APPLICATIONS, NAMESPACE, APPLICATION, {"spec": spec})

    async def _step(self) -> None:
        await super()._step()
        body = application(self.world)
        told = _waits((body or {}).get("status") or {})
        if not self._raging and {"GroupInUse", "RecordDiffers"} & told:
            self.blows.stop_all(claims="RecordDiffers" in told)  # what these messages say

    def calm(self) -> None:
        """In the end the spec can be fulfilled, and a person has put right what only a person can."""
        super().calm()
        self.blows.heal()
        self._create()
        record, change = self.rules.record(), self._open()
        body = application(self.world)
        name = _named(body["spec"]) if body is not None else self._family[0]
        if change is not None:
            end = self.draw.choice(("start", "target"))
            name = _name(_release_text(change[end]), change[f"{end}_protocol"])
        elif record is not None:
            name = _name(_release_text(record["release"]), record["protocol"])
        wanted = self._released(name)
        replicas = self.draw.choice((2, 3))
        self._ask("calm", **wanted, paused=False, approve="Automatic", offlineTo=wanted["release"], replicas=replicas)


def _waits(status: Json) -> set[str]:
    """The reasons of what the application waits for."""
    return {str(row.get("reason")) for row in status.get("waits") or ()}


def _name(release: str, protocol: str) -> str:
    return f"{release}-streams" if protocol == "streams" else release


def _named(spec: Json) -> str:
    return _name(str(spec["release"]), str(spec["protocol"]).lower())


def _release_text(release: Json) -> str:
    """A release as the record has it."""
    return ".".join(map(str, (*release["line"], release["patch"])))


def _image(record: Json) -> str:
    return f"app:{_name(_release_text(record['release']), record['protocol'])}"


class StreamsRoughStorm(StreamsStorm):
    """The same with three instances that are struck and changed all the time: mutants are noticed sooner."""

    kind = "streams-rough"

    def forecast(self) -> Weather:
        """Many blows, and many changes."""
        return replace(super().forecast(), accident=0.06, change=0.03, steps=500)

    def first_spec(self) -> Json:
        """Three instances."""
        return {**super().first_spec(), "replicas": 3}


class StreamsRivalStorm(StreamsStorm):
    """The same with two operators, both of which act until the calm."""

    kind = "streams-rivals"

    def forecast(self) -> Weather:
        """Two operators."""
        return replace(super().forecast(), operators=2)

    def serves(self, hand: Hand, may_act: Callable[[], bool]) -> list[Round]:
        """Each acts, whoever holds the lease."""
        return super().serves(hand, lambda: not self.leased or may_act())

    def begin(self) -> None:
        """Both operators believe that they hold the lease."""
        super().begin()
        self.leased = False

    def calm(self) -> None:
        """In the end one of them learns that it does not hold the lease."""
        super().calm()
        self.leased = True
