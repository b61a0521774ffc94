"""Another kind of resource needs only its own packages and kit."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.clocks import MovingClock
from tests.kit.crd import cel
from tests.kit.kube.recording import Call, RecordingKube
from tests.kit.toy.model import COLOURS_ONCE, COUNT_RANGE, KIND, WIDGETS, WidgetSpec
from tests.kit.toy.observe import Observed
from tests.kit.toy.reconcile import End, Reconciler

from kit.crd.definition import chart_template, manifest
from kit.crd.model import wrongs
from kit.crd.page import field_rules
from kit.errors import KubeUnavailable, NotActing
from kit.key import ObjectKey
from kit.kube.protocol import CONFIG_MAPS, EVENTS, Json, ResourceType
from kit.loops import Loops
from kit.report.report import PassReport
from kit.selector import EVERYTHING, Selector
from kit.sweep import Sweep
from kit.turns import Turns

KEY = ObjectKey(namespace="ns", name="w")


class Ids:
    """Different bytes each time."""

    def __init__(self) -> None:
        """Starts at one."""
        self._count = 0

    def uuid_bytes(self) -> bytes:
        """The next sixteen."""
        self._count += 1
        return self._count.to_bytes(2, "big") * 8


class Noting:
    """A subscriber that records its reports."""

    def __init__(self) -> None:
        """Starts without reports."""
        self.reports: list[PassReport[Observed]] = []
        self.forgotten: list[ObjectKey] = []
        self._told = asyncio.Event()

    async def take(self, report: PassReport[Observed]) -> None:
        """Records the report."""
        self.reports.append(report)
        self._told.set()

    def forget(self, key: ObjectKey) -> None:
        """Records the key."""
        self.forgotten.append(key)
        self._told.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Waits until this holds, after any report or forgotten key."""
        async with asyncio.timeout(10):
            while not holds():
                self._told.clear()
                await self._told.wait()


class Failing(Noting):
    """A subscriber that fails at every report."""

    async def take(self, report: PassReport[Observed]) -> None:
        """Fails."""
        await super().take(report)
        raise KeyError("a fault of this subscriber")


def _always() -> bool:
    return True


class Bench:
    """A widget on an API server in memory."""

    def __init__(self, **spec: Any) -> None:  # noqa: ANN401 - any JSON
        """Creates the widget with this spec."""
        self.kube, self.clock, self.acting = RecordingKube(), MovingClock(100.0), _always
        self.failing, self.noting = Failing(), Noting()
        self.reconciler = Reconciler(self.kube, self.clock, Ids(), self.may_act, self.failing, self.noting)
        self.turns = Turns[End](self.reconciler, KEY)
        self.ask(**spec)

    def ask(self, **spec: Any) -> None:  # noqa: ANN401 - any JSON
        """Changes the spec."""
        before = self.kube.objects.get((WIDGETS.plural, KEY.name), {})
        metadata = {"name": KEY.name, "namespace": KEY.namespace, "uid": "u", "resourceVersion": "1", "generation": 3}
        self.kube.put(WIDGETS, {"metadata": metadata, "spec": spec, "status": before.get("status", {})})

    def may_act(self) -> bool:
        """Whether the operator holds the lease at this moment, as the test sets it."""
        return self.acting()

    async def settle(self) -> None:
        """Runs passes until nothing is left to do."""
        for _ in range(10):
            self.clock.seconds += 1
            rest = await self.turns.take(lambda: False)
            assert self.turns.error is None
            if rest.seconds > 0:
                return
        raise AssertionError("it does not settle")

    @property
    def parts(self) -> dict[str, str]:
        """The colours of the present parts."""
        found = {name: item for (plural, name), item in self.kube.objects.items() if plural == CONFIG_MAPS.plural}
        return {name: item["data"]["colour"] for name, item in sorted(found.items())}

    @property
    def status(self) -> Json:
        """The widget's status."""
        status: Json = self.kube.objects[WIDGETS.plural, KEY.name]["status"]
        return status

    def condition(self, kind: str) -> tuple[str, str]:
        """Status and reason of a condition."""
        row = next(row for row in self.status["conditions"] if row["type"] == kind)
        return row["status"], row["reason"]

    def events(self) -> list[str]:
        """The messages of the events, in order."""
        return [call.body["message"] for call in self.kube.calls if _is_event(call) and call.body]


def _is_event(call: Call) -> bool:
    return call.verb == "create" and call.plural == EVENTS.plural


async def test_a_widget_is_made_and_says_so() -> None:
    """The parts are created, the conditions report it with their transition time, and each action is an event."""
    bench = Bench(count=3, colours=["red", "blue"])
    await bench.settle()
    assert bench.parts == {"w-0": "red", "w-1": "blue", "w-2": "red"}
    assert (bench.condition("Ready"), bench.status["parts"]) == (("True", "Complete"), 3)
    assert bench.status["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:01:42Z"
    assert bench.status["lastLook"] == "2026-01-01T00:01:42Z"
    assert bench.events() == ["part w-0 is made", "part w-1 is made", "part w-2 is made"]


async def test_what_is_too_much_is_dropped() -> None:
    """A smaller count deletes the last parts."""
    bench = Bench(count=3)
    await bench.settle()
    bench.ask(count=1)
    await bench.settle()
    assert list(bench.parts) == ["w-0"]
    assert bench.events()[-2:] == ["part w-1 is dropped", "part w-2 is dropped"]


async def test_a_bad_spec_changes_nothing_and_is_told_by_field() -> None:
    """An invalid spec is refused by field, with the sentence of the API server's rule, and the parts are kept."""
    bench = Bench(count=2)
    await bench.settle()
    bench.ask(count=6, colours=["red", "red"])
    await bench.settle()
    assert list(bench.parts) == ["w-0", "w-1"]
    assert bench.condition("SpecAccepted") == ("False", "Invalid")
    message = next(row["message"] for row in bench.status["conditions"] if row["type"] == "SpecAccepted")
    assert message == f"spec.count: {COUNT_RANGE.message}; spec.colours: {COLOURS_ONCE.message}"


async def test_a_subscriber_that_fails_keeps_nobody_from_the_report() -> None:
    """If a subscriber always fails, another one still gets every report, and no pass ends in an error."""
    bench = Bench(count=1)
    await bench.settle()
    assert len(bench.noting.reports) == len(bench.failing.reports) > 1
    assert all(report.error is None for report in bench.noting.reports)


async def test_nothing_is_written_without_the_lease() -> None:
    """Without the lease nothing is read; if it lapses during a pass, nothing is written."""
    bench = Bench(count=1)
    bench.acting = lambda: False
    await bench.turns.take(lambda: False)
    assert bench.kube.calls == []
    bench.acting = lambda: all(call.verb != "list" for call in bench.kube.calls)
    await bench.turns.take(lambda: False)
    assert isinstance(bench.turns.error, NotActing)
    assert bench.kube.writes() == []


async def test_an_error_ends_the_pass_and_backs_off() -> None:
    """A failing API server ends a pass with an error, and a pause follows."""
    bench = Bench(count=1)
    bench.kube.errors["list", CONFIG_MAPS.plural] = KubeUnavailable("no answer")
    rest = await bench.turns.take(lambda: False)
    assert isinstance(bench.turns.error, KubeUnavailable)
    assert rest.seconds > 0


async def test_the_sweep_finds_it_and_its_loop_makes_it() -> None:
    """From a list of names, the sweep starts the loop of a widget, which creates its parts and ends with the widget."""
    bench = Bench(count=2)
    loops = Loops(bench.reconciler)

    class Listing:
        async def list_metadata(self, resource: ResourceType, namespace: str, selector: Selector) -> tuple[Json, ...]:
            assert (resource, namespace, selector) == (WIDGETS, "", EVERYTHING)
            return ({"name": KEY.name, "namespace": KEY.namespace, "uid": "u"},)

    sweep = Sweep(Listing(), bench.clock, WIDGETS, (), loops.keys, lambda key: loops.wake(key, create=True))
    await sweep.once()
    await bench.noting.until(lambda: bench.noting.reports != [] and bench.noting.reports[-1].notices == ())
    assert list(bench.parts) == ["w-0", "w-1"]
    del bench.kube.objects[WIDGETS.plural, KEY.name]
    loops.wake(KEY, create=False)
    await bench.noting.until(lambda: bench.noting.forgotten == [KEY])
    await asyncio.sleep(0)
    assert tuple(loops.keys()) == ()
    await loops.stop()


def test_the_definition_has_the_rules() -> None:
    """The CRD, the chart's template and the page come from the same models and rules."""
    definition = yaml.safe_load(manifest(KIND))
    fields = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert fields["count"]["x-kubernetes-validations"] == [COUNT_RANGE.as_json()]
    assert definition["metadata"]["name"] == "widgets.example.org"
    assert '{{- include "toy.labels" . | nindent 4 }}' in chart_template(KIND, "toy.labels")
    page = list(field_rules(definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]))
    assert page == [f"- `spec.count`: {COUNT_RANGE.message}.", f"- `spec.colours`: {COLOURS_ONCE.message}."]


@pytest.mark.parametrize("count", range(-1, 8))
def test_both_sides_of_its_rule_agree(count: int) -> None:
    """The API server and the operator accept the same counts."""
    spec = WidgetSpec(count=count)
    assert (not list(wrongs(spec, "spec"))) == cel.holds(COUNT_RANGE, count)


def test_it_needs_nothing_of_another_kind() -> None:
    """A process with the widget's whole operator has not loaded KafkaQuorum's packages, Kafka's or Kopf."""
    root = Path(__file__).parents[3]
    program = "import sys, tests.kit.toy.reconcile; print(*sorted(name.partition('.')[0] for name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=root,
        env={"PYTHONPATH": f"{root / 'operator'}:{root}"},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.split())
    assert {"kit", "pydantic"} <= loaded
    assert not loaded & {"kafka_quorum", "kafka_brokers", "kraftlog", "kio", "kopf", "confluent_kafka"}
