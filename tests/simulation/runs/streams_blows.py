"""What strikes a Streams application in a storm: its pods, threads, machines, brokers, its claims, its record."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from tests.simulation.model.kafka.streams_group import StreamsGroupModel
from tests.simulation.model.kubernetes.kube_model import copied
from tests.simulation.model.kubernetes.sandbox import Sandbox
from tests.simulation.model.kubernetes.streams_pods import LABEL_APPLICATION
from tests.simulation.model.place import NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.streams_rules import StreamsRules
from tests.simulation.runs.streams_edge import BrokersOf

from kit.kube.protocol import CLAIMS, CONFIG_MAPS, PODS, Json

APPLICATION: Final = "counts"
HOLD: Final = "kafkaquorum.io/hold"
_RECORD: Final = f"{APPLICATION}-streams"


class StreamsBlows:
    """Strikes one application. `records`: whether its record may be lost, too."""

    def __init__(
        self,
        world: World,
        rules: StreamsRules,
        draw: random.Random,
        faults: Counter[str],
        brokers: BrokersOf,
        *,
        records: bool,
    ) -> None:
        """Begin without a blow."""
        self._world, self._rules, self._draw, self._faults, self._brokers = world, rules, draw, faults, brokers
        self._older: list[Json] = []
        blows: list[tuple[str, Callable[[], bool]]] = [
            *(("pod deleted", self._delete_pod), ("process killed", self._kill), ("pod evicted", self._evict)) * 2,
            ("thread died", self._end_thread),
            ("image unwell", self._unwell),
            ("machine off", self._machine_off),
            ("kubelet silent", self._kubelet_silent),
            ("brokers silent", lambda: self._for_a_while("silent", (6, 30, 80))),
            ("no coordinator", lambda: self._for_a_while("lost", (4, 12))),
            ("rebalance", self._world.kubelet.streams.group.disturb),
            ("stranger", self._stranger),
            ("held", self._hold),
            ("claim deleted", self._delete_claim),
            ("machine lost", self._lose_machine),
            ("power cut", self._power_cut),
        ]
        if records:
            blows += [("record lost", self._lose_record), ("older record", self._older_record)]
        self._blows = blows

    @property
    def _group(self) -> StreamsGroupModel:
        return self._world.kubelet.streams.group

    def strike(self) -> None:
        """One of them, if it can happen."""
        name, blow = self._draw.choice(self._blows)
        if blow():
            self._faults[name] += 1

    def note(self) -> None:
        """Now and then somebody makes a copy of the record."""
        body = self._world.kube.get(CONFIG_MAPS, NAMESPACE, _RECORD)
        if body is not None and self._draw.random() < 0.02:
            self._older.append(body)

    def pods(self) -> Iterator[Json]:
        """The pods of the application."""
        for pod in list(self._world.kube.all(PODS)):
            if (pod["metadata"].get("labels") or {}).get(LABEL_APPLICATION) == APPLICATION:
                yield pod

    def heal(self) -> None:
        """Everything that a person can put right is right."""
        self._brokers.silent = self._brokers.lost = False
        self._group.strangers = 0
        self._world.kubelet.streams.unwell.clear()
        for pod in self.pods():
            self._annotate(pod, None)
        for sandbox in self._running():
            process = sandbox.streams
            if process is not None and len(self._group.of(process)) != process.threads:
                self._world.kubelet.kill_process(sandbox)

    def stop_all(self, *, claims: bool) -> None:
        """A person deletes every pod, and every claim with them."""
        pods = [pod for pod in self.pods() if "deletionTimestamp" not in pod["metadata"]]
        for pod in pods:
            self._world.kube.delete(PODS, NAMESPACE, pod["metadata"]["name"])
        for claim in list(self._world.kube.all(CLAIMS)) if claims and pods else ():
            if "deletionTimestamp" not in claim["metadata"]:
                self._world.kube.delete(CLAIMS, NAMESPACE, claim["metadata"]["name"])

    def _running(self) -> list[Sandbox]:
        found = [one for one in self._world.kubelet.sandboxes.values() if one.streams is not None]
        return sorted(found, key=lambda one: one.uid)

    def _one(self) -> Sandbox | None:
        running = self._running()
        return self._draw.choice(running) if running else None

    def _delete_pod(self) -> bool:
        sandbox = self._one()
        if sandbox is None or self._world.kube.view(PODS, NAMESPACE, sandbox.name) is None:
            return False
        self._world.kube.delete(PODS, NAMESPACE, sandbox.name)
        return True

    def _kill(self) -> bool:
        sandbox = self._one()
        if sandbox is None:
            return False
        self._world.kubelet.kill_process(sandbox)
        return True

    def _evict(self) -> bool:
        sandbox = self._one()
        if sandbox is None:
            return False
        self._world.kubelet.fail(sandbox, "Evicted")
        return True

    def _end_thread(self) -> bool:
        sandbox = self._one()
        if sandbox is None or sandbox.streams is None or not self._group.end_thread(sandbox.streams):
            return False
        self._world.later(self._draw.choice((40, 80)), lambda: self._world.kubelet.kill_process(sandbox))
        return True

    def _unwell(self) -> bool:
        """For a while no process of this image can start, and one ends."""
        sandbox = self._one()
        if sandbox is None:
            return False
        pod = self._world.kube.view(PODS, NAMESPACE, sandbox.name)
        if pod is None:
            return False
        image = str(pod["spec"]["containers"][0]["image"])
        unwell = self._world.kubelet.streams.unwell
        unwell.add(image)
        self._world.later(self._draw.choice((20, 60, 120)), lambda: unwell.discard(image))
        self._world.kubelet.kill_process(sandbox)
        return True

    def _machine_off(self) -> bool:
        sandbox = self._one()
        if sandbox is None:
            return False
        node = sandbox.node
        self._world.switch_off(node)
        self._world.later(self._draw.choice((6, 30, 60)), lambda: self._world.switch_on(node))
        return True

    def _kubelet_silent(self) -> bool:
        sandbox = self._one()
        if sandbox is None:
            return False
        machine = self._world.machines.by_name[sandbox.node]
        machine.cut_off = True
        self._world.later(self._draw.choice((10, 40)), lambda: setattr(machine, "cut_off", False))
        return True

    def _lose_machine(self) -> bool:
        """A machine is gone, and its node object is deleted; network volumes are attached elsewhere."""
        sandbox = self._one()
        if sandbox is None or self._faults["machine lost"]:
            return False
        self._world.lose_machine(sandbox.node)
        self._world.machines.delete(sandbox.node)
        return True

    def _power_cut(self) -> bool:
        """Every process ends at once."""
        if self._draw.random() < 0.5:
            return False
        for sandbox in self._running():
            self._world.kubelet.kill_process(sandbox)
        image = self._draw.random() < 0.5
        unwell = self._world.kubelet.streams.unwell
        if image:
            images = {str(pod["spec"]["containers"][0]["image"]) for pod in self.pods()}
            unwell |= images
            self._world.later(self._draw.choice((40, 80)), lambda: unwell.difference_update(images))
        return True

    def _for_a_while(self, what: str, steps: tuple[int, ...]) -> bool:
        setattr(self._brokers, what, True)
        self._world.later(self._draw.choice(steps), lambda: setattr(self._brokers, what, False))
        return True

    def _stranger(self) -> bool:
        self._group.strangers = 1
        self._world.later(self._draw.choice((10, 40)), lambda: setattr(self._group, "strangers", 0))
        return True

    def _hold(self) -> bool:
        """A person holds a pod, and lets go of it later."""
        pods = list(self.pods())
        if not pods:
            return False
        pod = self._draw.choice(pods)
        name = pod["metadata"]["name"]
        self._annotate(pod, "true")

        def lets_go() -> None:
            found = self._world.kube.view(PODS, NAMESPACE, name)
            if found is not None:
                self._annotate(found, None)

        self._world.later(self._draw.choice((20, 60)), lets_go)
        return True

    def _annotate(self, pod: Json, value: str | None) -> None:
        if (pod["metadata"].get("annotations") or {}).get(HOLD) != value:
            body = {"metadata": {"annotations": {HOLD: value}}}
            self._world.kube.patch(PODS, NAMESPACE, pod["metadata"]["name"], body)

    def _delete_claim(self) -> bool:
        """A person deletes a claim: it goes with its pod."""
        claims = [one for one in self._world.kube.all(CLAIMS) if "deletionTimestamp" not in one["metadata"]]
        if not claims or self._draw.random() < 0.5:
            return False
        self._world.kube.delete(CLAIMS, NAMESPACE, self._draw.choice(claims)["metadata"]["name"])
        return True

    def _lose_record(self) -> bool:
        if self._world.kube.view(CONFIG_MAPS, NAMESPACE, _RECORD) is None:
            return False
        self._rules.forget()
        self._world.kube.delete(CONFIG_MAPS, NAMESPACE, _RECORD)
        return True

    def _older_record(self) -> bool:
        """A person puts an older copy there."""
        if not self._older:
            return False
        older = copied(self._draw.choice(self._older))
        present = self._world.kube.get(CONFIG_MAPS, NAMESPACE, _RECORD)
        if present is None or present["data"] == older["data"]:
            return False
        self._rules.forget()
        self._world.kube.patch(CONFIG_MAPS, NAMESPACE, _RECORD, {"data": older["data"]})
        return True
