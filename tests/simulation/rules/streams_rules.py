"""Rule 12: what a Streams application has to keep through every change, judged on its processes, disks and group.

The truth is what runs, and what a person wrote into the spec. The record is read only to know which instances there
are.
"""

import json
from collections.abc import Iterator
from typing import Final

from tests.simulation.model.happened import Created, Fail, Happened, InstanceStarted, InstanceStop, StateDropped
from tests.simulation.model.kafka.streams_group import Phase, StreamsProcess
from tests.simulation.model.kafka.streams_releases import Program, Runs, forbidden, program_of, unreadable
from tests.simulation.model.kubernetes.kube_model import Written, seen
from tests.simulation.model.kubernetes.streams_pods import GENERATION, LABEL_APPLICATION, LABEL_INSTANCE
from tests.simulation.model.world import World

from kit.kube.protocol import CONFIG_MAPS, PODS, REVISIONS, Json

ONE: Final = "12"
OTHERS: Final = "12, others"
MIXED: Final = "12, mixed"
DROPPED: Final = "12, claims"
PAUSED: Final = "12, paused"
STREAMS_BY_KNOWLEDGE: Final = frozenset({ONE, OTHERS, MIXED, DROPPED, PAUSED, "12, asked", "12, wipe", "12, state"})
_KNOWN_S: Final = 4.0
"""How old a truth may be by which a request was decided: two seconds of a look, and the time of the request."""
_HEEDED_S: Final = 12.0
"""How long a pass may go on with a spec that a person has changed."""
_APPLICATIONS: Final = "kafkastreamsapplications"


class StreamsRules:
    """Judges one application."""

    def __init__(self, world: World, fail: Fail, namespace: str, name: str) -> None:
        """Listen to everything that happens."""
        self._world, self._fail, self._namespace, self._name = world, fail, namespace, name
        self._spec: Json = {}
        self._asked: set[str] = set()
        """The images that a person has asked for."""
        self._consented: set[str] = set()
        """The releases that a person has let begin."""
        self._offline_s = -1e9
        self._offline = False
        """Whether an act is open for which a person has let all instances stop."""
        self._nobody = False
        """Whether it was decided that all stop while none took part; none may be stopped that did so for long."""
        self._since_s: dict[str, float] = {}
        """Since when each process takes part, by the uid of its pod."""
        self._sent: dict[str, frozenset[int]] = {}
        """Which instances were away when the stop of a process was sent, by the uid of its pod."""
        self._paused_s: float | None = None
        self._away: dict[int, StreamsProcess] = {}
        """The instances that the operator has stopped, and that are not back: the process that it stopped."""
        self._well_s: dict[int, float] = {}
        self._may_use: dict[tuple[int, int], set[Program]] = {}
        """What the record has named, by instance and generation of its state."""
        self._began: set[tuple[int, int]] = set()
        """The generations with which pods were created."""
        self._wanted_s: dict[int, float] = {}
        """Since when a person has asked for each instance."""
        self.stops = 0
        self.forgotten = False
        """Whether a person took the record away, or put an older one there: what it said is not known any more."""
        world.listeners.append(self.hear)
        world.lookers.append(self.look)
        world.kube.watchers.append(self._written)

    def hear(self, event: Happened) -> None:
        """Judge one thing that happened."""
        match event:
            case Created(plural="pods", body=body) if LABEL_APPLICATION in (body["metadata"].get("labels") or {}):
                self._created(body)
            case InstanceStarted():
                self._started(event.process, event.wrote)
            case InstanceStop(sent=True):
                self._stop_sent(event)
            case InstanceStop():
                self._stopped(event)
            case StateDropped():
                self._dropped(event)
            case _:
                pass

    def look(self) -> None:
        """Judge the present state."""
        group, now_s = self._world.kubelet.streams.group, self._world.clock.elapsed_s
        together: list[Runs] = list(dict.fromkeys(group.together()))
        for at, one in enumerate(together):
            for other in together[at + 1 :]:
                if why := forbidden(one, other):
                    self._fail(MIXED, f"{one} and {other} run together: {why}")
        working = {one.index: one for one in self._world.kubelet.streams.processes if group.settled_with(one)}
        for index in {*working, *self._unheard()}:
            self._well_s[index] = now_s
        present = {one.process for one in group.members.values()}
        indexes = self.indexes()
        for index, before in list(self._away.items()):
            back = working.get(index)
            is_back = back is not None and back is not before and group.phase is Phase.STABLE
            gone = index not in indexes and not before.alive
            if before not in present and (is_back or gone):
                del self._away[index]
        all_work = bool(indexes) and set(working) >= indexes and len({one.runs for one in working.values()}) == 1
        stage = ((self.record() or {}).get("change") or {}).get("stage")
        if all_work and stage not in {"Stopping", "Starting"}:  # a person may turn it round until it is done
            self._offline = False
        if self._nobody:
            self._since_s = {one.uid: self._since_s.get(one.uid, now_s) for one in working.values()}
            known = any(now_s - since_s > _KNOWN_S for since_s in self._since_s.values())
            self._nobody = not (known and (all_work or stage == "Stopping"))

    def _unheard(self) -> Iterator[int]:
        """Instances that have ended while their kubelet is silent: until the session ends, nothing shows it."""
        for joined in self._world.kubelet.streams.group.members.values():
            one = joined.process
            pod = None if one.alive else self._world.kube.view(PODS, self._namespace, one.pod)
            if pod is None or pod["metadata"]["uid"] != one.uid or not _is_ready(pod):
                continue
            machine = self._world.machines.by_name.get(pod["spec"].get("nodeName", ""))
            if machine is not None and not machine.heard:
                yield one.index

    def indexes(self) -> set[int]:
        """The instances of the record; empty if it cannot be read."""
        return {int(slot["index"]) for slot in (self.record() or {}).get("slots", ())}

    def record(self) -> Json | None:
        """The record, as a person reads it."""
        body = self._world.kube.view(CONFIG_MAPS, self._namespace, f"{self._name}-streams")
        try:
            found: Json = json.loads((body or {})["data"]["application.json"])
        except (KeyError, ValueError):
            return None
        return found

    def forget(self) -> None:
        """A person takes the record away or back, or deletes the application: what follows is another life of it."""
        self.forgotten = True
        self._lose_record()
        self._away.clear()

    def _lose_record(self) -> None:
        """Nothing says any more which release wrote the state that is there: the next record gives it to nobody."""
        self._may_use.clear()
        self._began.clear()

    def _lose_revision(self, name: str) -> None:
        """The same for one revision: it goes with its application, and the record of the next one may still name it."""
        for slot in (self.record() or {}).get("slots", ()):
            if slot["revision"] == name:
                at = (int(slot["index"]), int(slot["generation"]))
                self._may_use.pop(at, None)
                self._began.discard(at)

    # What a person asks for

    def _written(self, written: Written) -> None:
        plural, namespace, name = written.key
        if (plural, name) == (CONFIG_MAPS.plural, f"{self._name}-streams"):
            if written.after is None and not written.by_operator:
                self._lose_record()  # with its application, some time after a person deleted that
            self._recorded()
        if plural == REVISIONS.plural and written.after is None and not written.by_operator:
            self._lose_revision(name)
        if (plural, namespace, name) != (_APPLICATIONS, self._namespace, self._name) or written.by_operator:
            return
        body, now_s = seen(written.after), self._world.clock.elapsed_s
        if body is None:
            return
        spec, first = body["spec"], not self._spec
        self._spec = spec
        self._asked.add(str(spec["image"]))
        manual = spec.get("approve") == "Manual"
        said = (body.get("status") or {}).get("way") or {}
        approved = (
            spec.get("approved") and spec["approved"] == said.get("hash") and said.get("target") == spec["release"]
        )
        if first or not manual or approved or self.forgotten or self.record() is None:
            self._consented.add(str(spec["release"]))
        if spec.get("offlineTo") == spec["release"]:
            self._offline_s = now_s
            self._consented.add(str(spec["release"]))
        since_s = {index: self._wanted_s.get(index, now_s) for index in range(int(spec["replicas"]))}
        self._wanted_s = since_s
        if not spec.get("paused"):
            self._paused_s = None
        elif self._paused_s is None:
            self._paused_s = now_s

    def _recorded(self) -> None:
        """What the record says of an instance may have been made, and may have used its state."""
        record = self.record() or {}
        if (record.get("change") or {}).get("stage") == "Stopping" and not self._world.kubelet.streams.processes:
            self._nobody = True  # nobody takes part, so nothing is lost
            self._since_s.clear()
        for slot in record.get("slots", ()):
            made = self._world.kube.view(REVISIONS, self._namespace, str(slot["revision"]))
            if made is not None:
                program = program_of(str(made["data"]["runtime"]["image"]))
                self._may_use.setdefault((int(slot["index"]), int(slot["generation"])), set()).add(program)
        present = {int(slot["index"]) for slot in record.get("slots", ())}
        for index, generation in list(self._may_use):
            if index not in present and self._may_leave(index):
                del self._may_use[index, generation]
                self._began.discard((index, generation))

    def _may_leave(self, index: int) -> bool:
        """Whether a person asks for fewer instances, or did so a moment ago. The state of one that leaves goes."""
        return self._world.clock.elapsed_s - self._wanted_s.get(index, 1e9) <= _HEEDED_S

    def _consents_to_offline(self) -> bool:
        now_s = self._world.clock.elapsed_s
        if self._spec.get("offlineTo") == self._spec.get("release"):
            self._offline_s = now_s
        if now_s - self._offline_s <= _HEEDED_S:
            self._offline = True
        return self._offline or self._nobody

    def _heeds_pause(self, what: str) -> None:
        if self._paused_s is not None and self._world.clock.elapsed_s - self._paused_s > _HEEDED_S:
            self._fail(PAUSED, f"{what}, and the application is paused")

    # What the operator does

    def _created(self, body: Json) -> None:
        metadata, image = body["metadata"], str(body["spec"]["containers"][0]["image"])
        index, generation = int(metadata["labels"][LABEL_INSTANCE]), int(metadata["annotations"][GENERATION])
        program = program_of(image)
        self._heeds_pause(f"pod {metadata['name']} is created")
        if image not in self._asked:
            self._fail("12, asked", f"pod {metadata['name']} runs {image}, which nobody asked for")
        release = str(program).removesuffix("-streams")
        if release not in self._consented:
            self._fail("12, asked", f"pod {metadata['name']} runs {release}, which nobody approved")
        before = self._may_use.get((index, generation - 1))
        named = {one.line for one in self._may_use.get((index, generation), ())} <= {program.line}
        if before and named and (index, generation) not in self._began and _has_claim(body):
            needed = [one for one in before if unreadable(one, program)]
            if not needed:
                some = ", ".join(map(str, before))
                self._fail("12, wipe", f"instance {index} of {program} loses the state of {some}, which it could use")
        self._began.add((index, generation))

    def _started(self, process: StreamsProcess, wrote: Program | None) -> None:
        if wrote is not None and (why := unreadable(wrote, process.runs.program)):
            self._fail("12, state", f"instance {process.index} starts on state that it must not read: {why}")

    def _stop_sent(self, event: InstanceStop) -> None:
        """Nobody else is away, and every other instance takes part."""
        self._heeds_pause(f"pod {event.pod} is stopped")
        process, group = event.process, self._world.kubelet.streams.group
        if process is None or not process.alive or not group.of(process):
            return
        self._sent[process.uid] = frozenset(self._away)
        for rule, why in self._against(event.index):
            if not self._consents_to_offline():
                self._fail(rule, f"instance {event.index} is stopped while {why}")

    def _against(self, index: int) -> Iterator[tuple[str, str]]:
        now_s = self._world.clock.elapsed_s
        if not self.indexes() and self._spec.get("replicas") == 0:
            return  # nobody is to take over from the last one
        for other in sorted(self._away.keys() - {index}):
            yield ONE, f"instance {other} was stopped before, and is not back"
        for other in sorted(self.indexes() - {index}):
            if now_s - self._well_s.get(other, -1e9) > _KNOWN_S:
                yield OTHERS, f"instance {other} does not take part"

    def _stopped(self, event: InstanceStop) -> None:
        process = event.process
        if process is None or not process.alive or not self._world.kubelet.streams.group.of(process):
            return
        pod = self._world.kube.view(PODS, self._namespace, event.pod) or {"metadata": {}}
        if (pod["metadata"].get("annotations") or {}).get("kafkaquorum.io/hold") == "true":
            self._fail("12, held", f"pod {event.pod} is stopped, and a person holds it")
        for other in sorted(self._away.keys() - self._sent.get(process.uid, frozenset(self._away)) - {event.index}):
            if not self._consents_to_offline():
                self._fail(ONE, f"instance {event.index} is stopped while a stop of instance {other} is under way")
        self.stops += 1
        self._away[event.index] = process

    def _dropped(self, event: StateDropped) -> None:
        slots = {int(slot["index"]): slot for slot in (self.record() or {}).get("slots", ())}
        slot, now_s = slots.get(event.index), self._world.clock.elapsed_s
        if slot is None:
            return
        if int(slot["generation"]) <= event.generation:
            self._fail(DROPPED, f"claim {event.claim} is deleted, and instance {event.index} uses it")
        elif now_s - self._well_s.get(event.index, -1e9) > _KNOWN_S:
            self._fail(DROPPED, f"claim {event.claim} is deleted while instance {event.index} does not work without it")


def _has_claim(pod: Json) -> bool:
    return any("persistentVolumeClaim" in volume for volume in pod["spec"].get("volumes") or [])


def _is_ready(pod: Json) -> bool:
    rows = (pod.get("status") or {}).get("conditions") or []
    return any((row["type"], row["status"]) == ("Ready", "True") for row in rows)
