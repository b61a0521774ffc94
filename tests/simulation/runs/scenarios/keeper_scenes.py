"""The parts of a scenario of a migration from ZooKeeper: specs, conditions, and what people and accidents do."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from tests.simulation.model.kafka.zookeeper import BOOTSTRAP
from tests.simulation.model.kafka.zookeeper_broker import CONNECT, MIGRATES, ROLES, Mode
from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.faults import Loss
from tests.simulation.runs.scenarios.scenes import (
    Act,
    Scenario,
    When,
    applies,
    does_nothing,
    has_copies,
    loses,
    resource,
    rests,
    spec_of,
)

from kafka_quorum.model.zookeeper import DriverState, MigrationNode
from kit.kube.protocol import CLAIMS, CONFIG_MAPS, PODS, REVISIONS, Json

VERSION: Final = "3.9.2"
BROKERS: Final = (1, 2, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperScenario(Scenario):
    """A cluster of ZooKeeper with these brokers, and the spec of a quorum beside it. `before`: what is so at first."""

    brokers: tuple[int, ...] = BROKERS
    before: Act = does_nothing


def beside(**more: Any) -> Json:  # noqa: ANN401 - JSON
    """The section of the spec that says what becomes of the migration."""
    return {"zookeeper": {"connect": CONNECT, "finalize": False, "rollBack": False, "dryRun": False} | more}


def keeper_spec(replicas: int = 3, **more: Any) -> Json:  # noqa: ANN401 - JSON
    """A spec beside ZooKeeper with what differs from the defaults."""
    version = {"kafka": {"version": more.pop("version", VERSION)}}
    access = {"brokerAccess": {"bootstrapServers": list(BOOTSTRAP)}}
    return spec_of("ZooKeeper", replicas, **version, **access, **beside(**more))


FINALIZES: Final = applies(beside(finalize=True))
ROLLS_BACK: Final = applies(beside(rollBack=True))
GOES_ON: Final = applies(beside())


# What is so


def record(world: World) -> dict[str, Any]:
    """The identity record as it is stored; empty if there is none that can be read."""
    body = world.kube.view(CONFIG_MAPS, NAMESPACE, f"{NAME}-identity") or {}
    try:
        found: dict[str, Any] = json.loads((body.get("data") or {})["record.json"])
    except (KeyError, ValueError):
        return {}
    return found


def stage(world: World) -> tuple[str, str]:
    """Kind and stage of the migration in the record; two empty texts if there is none."""
    reached = record(world).get("migration") or {}
    return str(reached.get("kind") or ""), str(reached.get("stage") or "")


def modes(world: World) -> set[Mode]:
    """The modes of all brokers."""
    return {one.mode for one in world.zookeeper.brokers}


def reason(world: World, kind: str = "MigratedFromZooKeeper") -> str:
    """The reason of a condition."""
    rows = ((resource(world) or {}).get("status") or {}).get("conditions") or []
    return next((str(row["reason"]) for row in rows if row["type"] == kind), "")


def rests_beside(world: World) -> bool:
    """Whether nothing moves: the migration is parked, or has ended."""
    return rests(world) and (stage(world)[1] in {"", "RolledBack"} or is_parked(world))


# Conditions


def at(kind: str, name: str) -> When:
    """Once the record is at this stage, and the controllers may run."""
    return lambda world: stage(world) == (kind, name) and record(world)["phase"] == "Started"


def is_parked(world: World) -> bool:
    """Once every broker is a KRaft broker, ZooKeeper is kept up to date, and a person has to decide."""
    return reason(world) == "DualWrite" and modes(world) == {Mode.KRAFT} and stage(world)[1] == "DualWrite"


def is_back(world: World) -> bool:
    """Once the cluster uses ZooKeeper as before, and the quorum has ended."""
    return stage(world)[1] == "RolledBack" and not any(world.kube.all(PODS)) and not world.zookeeper.controllers()


def has_ended(world: World) -> bool:
    """Once ZooKeeper is given up, and no migration is left."""
    return bool(record(world)) and record(world).get("migration") is None and record(world)["phase"] == "Started"


# Where it ends


def parked(world: World) -> str:
    """The migration is parked: KRaft leads, ZooKeeper has everything, and the way back is open."""
    leader, keeper = world.zookeeper.kraft_leads, world.zookeeper.kraft
    if leader is None or keeper is None or keeper.state is not DriverState.MIGRATION:
        return "KRaft does not lead, or does not write to ZooKeeper"
    if modes(world) != {Mode.KRAFT}:
        return f"brokers are in modes {sorted(one.value for one in modes(world))}"
    if len(keeper.records - world.zookeeper.records) > 1:
        return "ZooKeeper lacks records"
    return "" if is_parked(world) else f"the record is at {stage(world)}, and the condition says {reason(world)}"


def finalized(world: World) -> str:
    """ZooKeeper is given up, every controller runs without it, and no migration is left."""
    keeper = world.zookeeper.kraft
    if keeper is None or keeper.state is not DriverState.POST_MIGRATION:
        return "the migration is not finalized"
    if modes(world) != {Mode.KRAFT}:
        return f"brokers are in modes {sorted(one.value for one in modes(world))}"
    if left := [str(one.key) for one in world.zookeeper.controllers() if one.migrates]:
        return f"controllers {', '.join(left)} still have the settings of the migration"
    return "" if has_ended(world) else f"the record is at {stage(world)}"


def rolled_back(world: World) -> str:
    """The cluster is as before: a broker leads by ZooKeeper, no broker has a setting of the migration, nothing runs."""
    model = world.zookeeper
    if not model.leads:
        return "no broker leads by ZooKeeper's election"
    if model.migration is not None:
        return "/migration is still there"
    if modes(world) != {Mode.PLAIN}:
        return f"brokers are in modes {sorted(one.value for one in modes(world))}"
    claims = [claim["metadata"]["name"] for claim in world.kube.all(CLAIMS)]
    if claims:
        return f"claims {', '.join(claims)} are left"
    return "" if is_back(world) else f"the record is at {stage(world)}"


def untouched(world: World) -> str:
    """Nothing was made, and nothing was written to ZooKeeper."""
    model = world.zookeeper
    if model.migration is not None or not model.leads or modes(world) != {Mode.PLAIN}:
        return "ZooKeeper or a broker was changed"
    kinds = (PODS, CLAIMS, CONFIG_MAPS, REVISIONS)
    made = [item["metadata"]["name"] for kind in kinds for item in world.kube.all(kind)]
    return f"{', '.join(made)} were made" if made else ""


def waits_before(world: World) -> str:
    """The volumes may be there, and no controller ever ran: ZooKeeper and the brokers are as they were."""
    model = world.zookeeper
    if model.migration is not None or not model.leads or modes(world) != {Mode.PLAIN} or model.controllers():
        return "ZooKeeper or a broker was changed, or a controller runs"
    return "" if record(world).get("phase") == "Formatting" else f"the record is at {stage(world)}"


def needs_help(world: World) -> str:
    """The operator says that it does not know how far it was, and a person has to decide."""
    said = reason(world, "Degraded")
    return "" if said == "IdentityLost" else f"Degraded says {said}"


def either(*endings: Callable[[World], str]) -> Callable[[World], str]:
    """One of these endings."""
    return lambda world: (
        "" if any(not ending(world) for ending in endings) else "; ".join(one(world) for one in endings)
    )


# What a person does, and what happens to ZooKeeper and to brokers


def zookeeper_is_away(steps: int, *, unseen: bool) -> Act:
    """For this number of steps nobody reaches ZooKeeper, or only the operator does not."""

    def act(world: World, _: Checker) -> None:
        name = "unseen" if unseen else "away"
        setattr(world.zookeeper, name, True)
        world.later(steps, lambda: setattr(world.zookeeper, name, False))

    return act


def zookeeper_lags(steps: int) -> Act:
    """For this number of steps the driver does not come to write to ZooKeeper."""

    def act(world: World, _: Checker) -> None:
        world.zookeeper.lags = True
        world.later(steps, lambda: setattr(world.zookeeper, "lags", False))

    return act


def clients_hurry(world: World, _: Checker) -> None:
    """From now on a client changes metadata in each step."""
    world.zookeeper.write_steps = 1


def elects_slowly(steps: int) -> Act:
    """The leader ends. For this number of steps the next one compares everything with ZooKeeper before it writes."""

    def act(world: World, checker: Checker) -> None:
        world.zookeeper.compares = True
        world.later(steps, lambda: setattr(world.zookeeper, "compares", False))
        loses(Loss.SANDBOX, "leader")(world, checker)

    return act


def broker_stops(node_id: int, steps: int) -> Act:
    """A broker is down for this number of steps."""

    def act(world: World, _: Checker) -> None:
        broker = world.zookeeper.broker(node_id)
        if broker.runs:
            world.zookeeper.stop(broker)
            world.later(steps, lambda: world.zookeeper.start(broker, 1.0))

    return act


def owner_sleeps(steps: int) -> Act:
    """For this number of steps the owner of the brokers does nothing."""

    def act(world: World, _: Checker) -> None:
        world.owner.asleep = True
        world.later(steps, lambda: setattr(world.owner, "asleep", False))

    return act


def owner_holds(node_id: int, steps: int) -> Act:
    """For this number of steps the owner does not change this broker."""

    def act(world: World, _: Checker) -> None:
        world.zookeeper.broker(node_id).held = True
        world.later(steps, lambda: setattr(world.zookeeper.broker(node_id), "held", False))

    return act


def becomes_kraft(node_id: int) -> Act:
    """This broker is restarted at once as a KRaft broker: its owner has the page of stage `DualWrite`, or had it."""

    def act(world: World, _: Checker) -> None:
        broker = world.zookeeper.broker(node_id)
        world.zookeeper.stop(broker)
        broker.settings |= {ROLES: "broker", "zookeeper.connect": None, MIGRATES: "false"}
        world.zookeeper.start(broker, 1.0)

    return act


def some(mode: Mode) -> When:
    """Once some broker is in this mode, and not all are."""
    return lambda world: mode in modes(world) and len(modes(world)) > 1


def formats(world: World) -> bool:
    """Once there is an identity, and no controller may start yet."""
    return record(world).get("phase") == "Formatting"


def has_begun(world: World) -> bool:
    """Once the controllers may run, as the status says, too."""
    return (
        stage(world) == ("ZooKeeperToKRaft", "Controllers")
        and record(world)["phase"] == "Started"
        and has_copies(world)
    )


def has_znode(world: World) -> bool:
    """Once a controller has made `/migration`, and no broker was asked for anything."""
    return stage(world)[1] == "Controllers" and world.zookeeper.migration is not None


def runs_one(world: World) -> bool:
    """Once a controller runs."""
    return bool(world.zookeeper.controllers())


def turns_round(world: World) -> bool:
    """Once a roll back has begun."""
    return stage(world)[0] in {"BackToZooKeeper", "LeftZooKeeperAlone"}


def runs_none(world: World) -> bool:
    """Once no controller runs."""
    return not world.zookeeper.controllers()


def both_hold(first: When, second: When) -> When:
    """Once both conditions hold."""
    return lambda world: first(world) and second(world)


def stops_first(world: World) -> bool:
    """Once the first controller of a roll back is told to stop."""
    left = [pod for pod in world.kube.all(PODS) if "deletionTimestamp" not in pod["metadata"]]
    return stage(world)[1] == "ControllersStop" and len(left) < len(record(world)["nodes"])


def is_copied(world: World) -> bool:
    """Once KRaft leads."""
    return world.zookeeper.kraft_leads is not None


def another_claims(steps: int) -> Act:
    """A controller of another quorum claims the cluster; after this number of steps a person removes that claim."""

    def act(world: World, _: Checker) -> None:
        world.zookeeper.claim_by(9000, 70)
        world.later(steps, lambda: world.zookeeper.free(9000))

    return act


def elects_again(times: int) -> Act:
    """The metadata log has seen this many elections, before anything is copied: only its own epoch grows."""

    def act(world: World, _: Checker) -> None:
        for process in world.zookeeper.controllers():
            process.disk.epoch += times

    return act


def breaks_migration(steps: int) -> Act:
    """Somebody writes nonsense into `/migration`; after this number of steps a person deletes it."""

    def act(world: World, checker: Checker) -> None:
        before = world.zookeeper.migration
        version = 0 if before is None else before.version + 1
        world.zookeeper.migration = MigrationNode(version=version, raw="{", fault="it is no JSON object")
        world.later(steps, lambda: _cleaned(world, checker))

    return act


@dataclass(frozen=True, slots=True, kw_only=True)
class Hindrance:
    """Something that is in the way of a migration: how it comes, and how it goes."""

    comes: Act
    goes: Act

    def for_(self, steps: int) -> Act:
        """It comes, and goes after this number of steps."""

        def act(world: World, checker: Checker) -> None:
            self.comes(world, checker)
            world.later(steps, lambda: self.goes(world, checker))

        return act


def _sets(node_id: int, key: str, value: str | None, before: str | None) -> Hindrance:
    def comes(world: World, _: Checker) -> None:
        world.zookeeper.broker(node_id).settings[key] = value

    def goes(world: World, _: Checker) -> None:
        world.zookeeper.broker(node_id).settings[key] = before

    return Hindrance(comes=comes, goes=goes)


def _extra(name: str, value: str) -> Hindrance:
    def comes(world: World, _: Checker) -> None:
        world.zookeeper.extras = replace(world.zookeeper.extras, **{name: (value,)})

    def goes(world: World, _: Checker) -> None:
        world.zookeeper.extras = replace(world.zookeeper.extras, **{name: ()})

    return Hindrance(comes=comes, goes=goes)


def _stale(world: World, _: Checker) -> None:
    world.zookeeper.migration = MigrationNode(version=7, raw="stale", kraft_controller_id=9, kraft_metadata_offset=70)


def _cleaned(world: World, _: Checker) -> None:
    world.zookeeper.migration = None


def _down(world: World, _: Checker) -> None:
    world.zookeeper.stop(world.zookeeper.broker(2))


def _up(world: World, _: Checker) -> None:
    world.zookeeper.start(world.zookeeper.broker(2), 1.0)


def _fails(*paths: str) -> Act:
    def act(world: World, _: Checker) -> None:
        world.zookeeper.broker(3).offline = paths

    return act


def _epoch(by: int) -> Act:
    def act(world: World, _: Checker) -> None:
        model = world.zookeeper
        if by > 0:
            model.state_epoch = model.epoch.epoch + by
        else:
            model.epoch = replace(model.epoch, epoch=model.state_epoch, version=model.epoch.version + 1)

    return act


HINDRANCES: Final = {
    "a-stale-migration": Hindrance(comes=_stale, goes=_cleaned),
    "a-dead-broker": Hindrance(comes=_down, goes=_up),
    "another-protocol": _sets(1, "inter.broker.protocol.version", "3.8-IV0", "3.9-IV0"),
    "a-control-plane": _sets(1, "control.plane.listener.name", "CONTROL", None),
    "an-encoded-setting": _extra("encoded", "broker 1: listener.name.x.ssl.keystore.password"),
    "a-reassignment": _extra("reassigning", "orders-0"),
    "a-missing-right": _extra("denied", "/brokers cannot be written"),
    "an-offline-directory": Hindrance(comes=_fails("/data/1"), goes=_fails()),
    "a-high-epoch": Hindrance(comes=_epoch(3), goes=_epoch(0)),
}
"""What may be in the way, by a word for it."""
