"""The migration from ZooKeeper on ground truth: what is acknowledged, who leads, and what cannot be undone.

The models of ZooKeeper and of the driver say what is so. The record in the ConfigMap says what the operator has
decided; whether that was right, the models say.
"""

import json
from collections.abc import Iterator
from typing import Final

from tests.simulation.model.happened import Fail, Formatted, GaveBack, PodDeleted
from tests.simulation.model.kafka.zookeeper_broker import KeeperBroker, Mode
from tests.simulation.model.kubernetes.kube_model import Written, seen
from tests.simulation.model.place import NAME
from tests.simulation.model.world import World
from tests.simulation.rules.spoken import resource_of

from kafka_quorum.model.zookeeper import DriverState
from kit.kube.protocol import CONFIG_MAPS, Json

RECORDS: Final = "7, records"
GIVEN_UP: Final = "7, given up"
GIVEN_BACK: Final = "7, given back"
BARRIER: Final = "7, preflight"
MODES: Final = "7, modes"
AGAIN: Final = "7, again"
RECENT_S: Final = 6.0
"""The greatest age of what the operator has read of the spec when a write of it is done."""
READ_S: Final = 8.0
"""The greatest age of what it has read of ZooKeeper, if no read failed: one every 5 s."""
ASKED_S: Final = 50.0
"""The greatest age of what it has read of brokers, if no read failed: one every 30 s."""
_RECORD_SUFFIX: Final = "-identity"
_STOPPED: Final = frozenset({"ControllersStop", "ZooKeeperLeads", "BrokersLeave", "RolledBack"})
_KINDS: Final = frozenset({"ZooKeeperToKRaft", "BackToZooKeeper", "LeftZooKeeperAlone"})
_STALE: Final = "/migration exists"
_LED: Final = "a KRaft controller leads"
_EPOCH: Final = "a partition has a higher epoch than /controller_epoch"
_OURS: Final = frozenset({_STALE, _LED, _EPOCH})
"""What is in the way of another quorum, and is our own once the controllers run; or is not read any more."""
_OLD: Final = frozenset({"3.9", "3.9-IV0"})


class ZooKeeperRules:
    """Judges what the operator does to a cluster that migrates."""

    def __init__(self, world: World, fail: Fail) -> None:
        """Judge by this world, and report the rule and what happened to `fail`."""
        self._world, self._model, self._fail = world, world.zookeeper, fail
        self._asked_s: dict[str, float] = {}
        """When the spec last said each of these."""
        self._since_s: dict[str, float] = {}
        """Since when each of these is in the way of a migration."""
        self._ready_s = 0.0
        """When every controller last ran with the settings of the migration."""
        self._broker_led_s = -READ_S
        """When a broker last led by ZooKeeper's election."""
        world.kube.watchers.append(self.written)

    def look(self) -> None:
        """Note what the spec says and what is in the way, and report what the models have found broken."""
        if not self._model.cluster_id:
            return
        now_s = self._world.clock.elapsed_s
        spec = (resource_of(self._world, NAME).get("spec") or {}).get("zookeeper") or {}
        self._asked_s |= {name: now_s for name in ("finalize", "rollBack", "dryRun") if spec.get(name)}
        self._asked_s |= {f"not {name}": now_s for name in ("finalize", "rollBack", "dryRun") if not spec.get(name)}
        if self._all_ready():
            self._ready_s = now_s
        if self._model.controller is not None and self._model.controller.kraft_epoch is None:
            self._broker_led_s = now_s
        found = self._in_the_way()
        self._since_s = {what: self._since_s.get(what, now_s) for what in found}
        for rule, text in self._model.broken:
            self._fail(rule, text)
        self._model.broken.clear()
        self._finalized()
        self._kraft_brokers()

    # What the operator writes

    def written(self, written: Written) -> None:
        """The operator wrote a record, or something while only a dry run is asked for."""
        plural, _, name = written.key
        if not self._model.cluster_id or not written.by_operator:
            return
        if plural != CONFIG_MAPS.plural or not name.endswith(_RECORD_SUFFIX):
            return
        before, after = (_record(seen(body)) for body in (written.before, written.after))
        if after is None:
            return
        if before is None or before["phase"] != after["phase"]:
            self._phase(before, after)
        if _reached(before) != _reached(after):
            self._moved(_reached(before), _reached(after))

    def _phase(self, before: Json | None, after: Json) -> None:
        """The barrier: nothing that was seen for long is in the way, and the spec asks for it."""
        if after["phase"] != "Started" or before is None:
            return
        now_s = self._world.clock.elapsed_s
        self._clear()
        for name in ("rollBack", "dryRun"):
            if now_s - self._asked_s.get(f"not {name}", -RECENT_S) > RECENT_S:
                self._fail(BARRIER, f"the controllers may start, and spec.zookeeper.{name} is true")

    def _moved(self, before: tuple[str, str], after: tuple[str, str]) -> None:
        """A stage is entered: what the stage before it was for must be so."""
        state = None if self._model.kraft is None else self._model.kraft.state
        brokers = {one.mode for one in self._model.brokers}
        match before, after:
            case (_, ("ZooKeeperToKRaft", "Finalize")):
                self._finalizes(brokers)
            case (("ZooKeeperToKRaft", "Brokers"), (_, "DualWrite")) if state is not DriverState.MIGRATION:
                self._fail(MODES, f"brokers become KRaft brokers, and Kafka's migration is in state {state}")
            case (("ZooKeeperToKRaft", "Controllers"), (_, "Brokers")):
                self._brokers_begin(state)
            case (("ZooKeeperToKRaft", "Finalize"), ("", "")):
                self._ends(state)
            case (("ZooKeeperToKRaft", "Controllers" | "Brokers" | "DualWrite"), ("", "")):
                self._fail(GIVEN_UP, f"the migration ends at {before}")
            case (_, (_, "ControllersStop")) if before[1] != "ControllersStop":
                self._stops(brokers)
            case (_, ("BackToZooKeeper", "BrokersLeave")) | (("LeftZooKeeperAlone", _), (_, "RolledBack")):
                self._led_by_zookeeper()
            case (("BackToZooKeeper", _), (_, "RolledBack")) if brokers != {Mode.PLAIN}:
                self._fail(MODES, "the roll back ends, and not every broker is as before")
            case _:
                pass
        if after[0] in {"BackToZooKeeper", "LeftZooKeeperAlone"} and before[0] == "ZooKeeperToKRaft":
            self._turns(state)

    def _brokers_begin(self, state: DriverState | None) -> None:
        """The first change of brokers: every controller is ready, and nothing is in the way."""
        if state is not DriverState.PRE_MIGRATION:
            self._fail(MODES, f"brokers go into migration mode, and Kafka's migration is in state {state}")
        if self._world.clock.elapsed_s - self._ready_s > RECENT_S:
            self._fail(MODES, "brokers go into migration mode, and not every controller is ready")
        self._clear(_OURS)

    def _ends(self, state: DriverState | None) -> None:
        if state is not DriverState.POST_MIGRATION:
            self._fail(GIVEN_UP, f"the migration ends, and Kafka's migration is in state {state}")
        if left := [str(one.key) for one in self._model.controllers() if one.migrates]:
            self._fail(GIVEN_UP, f"the migration ends, and controllers {', '.join(left)} still write to ZooKeeper")

    def _clear(self, ours: frozenset[str] = frozenset()) -> None:
        """Nothing that the operator can have seen is in the way."""
        now_s = self._world.clock.elapsed_s
        for what, since_s in self._since_s.items():
            limit_s = ASKED_S if "broker" in what else READ_S
            if what not in ours and now_s - since_s > limit_s:
                self._fail(BARRIER, f"the migration goes on, and for {now_s - since_s:.0f} s {what}")

    def _finalizes(self, brokers: set[Mode]) -> None:
        if self._world.clock.elapsed_s - self._asked_s.get("finalize", -RECENT_S) > RECENT_S:
            self._fail(GIVEN_UP, "ZooKeeper is given up, and spec.zookeeper.finalize is not true")
        if brokers != {Mode.KRAFT}:
            self._fail(GIVEN_UP, "ZooKeeper is given up, and not every broker is a KRaft broker")

    def _turns(self, state: DriverState | None) -> None:
        if self._world.clock.elapsed_s - self._asked_s.get("rollBack", -RECENT_S) > RECENT_S:
            self._fail(GIVEN_BACK, "the migration is rolled back, and spec.zookeeper.rollBack is not true")
        if state is DriverState.POST_MIGRATION:
            self._fail(GIVEN_UP, "the migration is rolled back after it was finalized")

    def _stops(self, brokers: set[Mode]) -> None:
        if Mode.KRAFT in brokers:
            self._fail(MODES, "the controllers stop, and a broker is a KRaft broker")

    def _led_by_zookeeper(self) -> None:
        """No trace of KRaft is left, and a broker leads, or led a moment ago: its owner may just restart it."""
        held = self._model.controller
        if self._model.migration is not None or (held is not None and held.kraft_epoch is not None):
            self._fail(GIVEN_BACK, "the roll back goes on, and ZooKeeper still has a KRaft controller or /migration")
        if held is None and self._world.clock.elapsed_s - self._broker_led_s > READ_S:
            self._fail(GIVEN_BACK, "the roll back goes on, and no broker leads by ZooKeeper's election")

    # What happens

    def gave_back(self, event: GaveBack) -> None:
        """The znodes are deleted: no controller runs, and ZooKeeper has everything that was acknowledged."""
        if left := [str(one.key) for one in self._model.controllers()]:
            self._fail(GIVEN_BACK, f"the znodes are deleted, and controllers {', '.join(left)} run")
        if lost := self._model.acknowledged - self._model.records:
            self._fail(RECORDS, f"ZooKeeper is given back without {len(lost)} acknowledged records")
        if _reached(self._record())[1] not in _STOPPED:
            self._fail(GIVEN_BACK, f"the znodes are deleted at stage {_reached(self._record())}")
        keeper = self._model.kraft
        if keeper is not None and keeper.state is DriverState.POST_MIGRATION:
            self._fail(GIVEN_UP, "the znodes are deleted after the migration was finalized")
        ours = {node["node_id"] for node in (self._record() or {}).get("nodes", ())}
        leads, said = event.what.controller, event.what.migration
        if leads is not None and leads.node_id not in ours:
            self._fail(GIVEN_BACK, f"controller {leads.node_id} is deleted in ZooKeeper, and is not of this quorum")
        if said is not None and said.fault:
            self._fail(GIVEN_BACK, "/migration is deleted, and nobody knows what it says")
        elif said is not None and said.copied and said.kraft_controller_id not in ours:
            self._fail(GIVEN_BACK, f"/migration of another controller ({said.kraft_controller_id}) is deleted")

    def formatted(self, event: Formatted) -> None:
        """A disk is formatted with static voters: no metadata log may be needed, and ZooKeeper must lead."""
        keeper = self._model.kraft
        if event.cluster_id != self._model.cluster_id or not event.static or keeper is None:
            return
        if keeper.state in {DriverState.MIGRATION, DriverState.POST_MIGRATION}:
            self._fail(AGAIN, f"{event.key} is formatted anew, and the metadata log of the quorum is needed")

    def pod_deleted(self, event: PodDeleted) -> None:
        """The operator stops a controller because the cluster goes back."""
        if event.process is None or not self.is_going_back():
            return
        if left := [str(one.node_id) for one in self._model.brokers if one.mode is Mode.KRAFT]:
            self._fail(MODES, f"pod {event.name} is stopped for good, and brokers {', '.join(left)} are KRaft brokers")

    def broker_started(self, broker: KeeperBroker) -> None:
        """The owner started a broker with what the contract said: it must be able to work with it."""
        keeper, leads = self._model.kraft, self._model.controller
        state = None if keeper is None else keeper.state
        led_by_kraft = leads is not None and leads.kraft_epoch is not None
        match broker.mode:
            case Mode.KRAFT if state not in {DriverState.MIGRATION, DriverState.POST_MIGRATION}:
                self._fail(MODES, f"broker {broker.node_id} becomes a KRaft broker, and nothing was copied to KRaft")
            case Mode.PLAIN if led_by_kraft:
                self._fail(MODES, f"broker {broker.node_id} leaves the migration, and a KRaft controller leads")
            case Mode.PLAIN | Mode.MIGRATES if state is DriverState.POST_MIGRATION:
                self._fail(GIVEN_UP, f"broker {broker.node_id} uses ZooKeeper, which was given up")
            case _:
                pass

    def may_begin_again(self, before: Json | None) -> str:
        """Why the record must not go back to `Formatting`; empty if the cluster has gone back to ZooKeeper."""
        model = self._model
        if not model.cluster_id or _reached(before)[1] != "RolledBack":
            return "it was not rolled back"
        if model.controllers():
            return "a controller runs"
        held = model.controller
        if model.migration is not None or (held is not None and held.kraft_epoch is not None):
            return "ZooKeeper does not lead"
        return "ZooKeeper lacks records" if model.acknowledged - model.records else ""

    def has_gone_back(self) -> bool:
        """Whether the cluster uses ZooKeeper again, so that no volume of the quorum is needed."""
        return _reached(self._record())[1] == "RolledBack" and not self.may_begin_again(self._record())

    def is_going_back(self) -> bool:
        """Whether the record says that the controllers stop, because the cluster goes back to ZooKeeper."""
        kind, stage = _reached(self._record())
        return kind in _KINDS and stage in _STOPPED

    # What is so

    def _finalized(self) -> None:
        """KRaft gives ZooKeeper up only when the record says so, and then it stays."""
        keeper = self._model.kraft
        if keeper is None or keeper.state is not DriverState.POST_MIGRATION:
            return
        kind, stage = _reached(self._record())
        if self._record() and kind in _KINDS and stage != "Finalize":
            self._fail(GIVEN_UP, f"Kafka has finalized the migration, and the record is at {kind} {stage}")

    def _kraft_brokers(self) -> None:
        """A KRaft broker always has a quorum that is meant to run."""
        if not self.is_going_back():
            return
        if left := [str(one.node_id) for one in self._model.brokers if one.mode is Mode.KRAFT and one.runs]:
            self._fail(MODES, f"the controllers stop, and brokers {', '.join(left)} are KRaft brokers")

    def _all_ready(self) -> bool:
        """Whether every controller of the record runs with the settings of the migration."""
        wanted = {node["node_id"] for node in (self._record() or {}).get("nodes", ())}
        ready = {one.meta.node_id for one in self._model.controllers() if one.migrates and self._world.kraft.is_up(one)}
        return bool(wanted) and wanted <= ready

    def _in_the_way(self) -> list[str]:
        """What is in the way of a migration, by ground truth."""
        model, now = self._model, []
        there = {one.node_id for one in model.brokers if model.serves(one)}
        if gone := sorted(model.assigned - there):
            now.append(f"assigned broker {gone[0]} does not run")
        if model.migration is not None:
            now.append(_STALE)
        if model.controller is not None and model.controller.kraft_epoch is not None:
            now.append(_LED)
        if model.extras.denied or model.extras.encoded or model.extras.reassigning:
            now.append("ZooKeeper has something that cannot be migrated")
        if model.state_epoch > model.epoch.epoch:
            now.append(_EPOCH)
        return [*now, *(text for one in model.brokers for text in _of_broker(one))]

    def _record(self) -> Json | None:
        for body in self._world.kube.all(CONFIG_MAPS):
            if body["metadata"]["name"].endswith(_RECORD_SUFFIX):
                return _record(body)
        return None


def _of_broker(broker: KeeperBroker) -> Iterator[str]:
    """What is in the way at one broker."""
    name = f"broker {broker.node_id}"
    if broker.offline:
        yield f"a log directory of {name} is offline"
    if broker.settings["inter.broker.protocol.version"] not in _OLD:
        yield f"{name} has another inter.broker.protocol.version"
    if broker.settings["control.plane.listener.name"]:
        yield f"{name} has a control plane listener"
    if broker.mode is not Mode.PLAIN:
        yield f"{name} is in mode {broker.mode.value}"


def _reached(record: Json | None) -> tuple[str, str]:
    """Kind and stage of the migration in a record; two empty texts if there is none."""
    reached = (record or {}).get("migration") or {}
    return str(reached.get("kind") or ""), str(reached.get("stage") or "")


def _record(body: Json | None) -> Json | None:
    try:
        found = json.loads((body or {})["data"]["record.json"])
    except (KeyError, TypeError, ValueError):
        return None
    return found if isinstance(found, dict) else None
