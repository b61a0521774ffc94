"""The preflight of a migration from ZooKeeper (KIP-866): everything that is in its way, before anything moves.

It only looks. Each blocker names the object, what was found, and the way out. What cannot be read is a blocker, too.
The reasons are in docs/zookeeper.md.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Final

from kafka_quorum.api.properties import ZNODE_ACLS
from kafka_quorum.model.conformance import is_confirmed_by
from kafka_quorum.model.desired import BesideZooKeeper, BootstrapMode, Desired, Migrate
from kafka_quorum.model.identity import BootstrapPhase, IdentityRecord
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.nodes import requested_node_ids
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Blocker
from kafka_quorum.model.registered import Settings
from kafka_quorum.model.situation import Situation
from kafka_quorum.model.zookeeper import ZooKeeperSeen
from kafka_quorum.plan.facts.formats import release_numbers
from kit.parsing import Malformed, number

RELEASE: Final = (3, 9, 1)
"""The first release that should migrate; no release after 3.9 can."""
IBP: Final = ("3.9", "3.9-IV0")
"""inter.broker.protocol.version of 3.9: as it is set, and its default."""
STANDARD: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
ACL: Final = "kafka.security.authorizer.AclAuthorizer"
_MAX_ID: Final = 1000
_SHOWN: Final = 5
_TOLD: Final = 3


def blockers(desired: Desired, observed: Observed, record: IdentityRecord | None) -> tuple[Blocker, ...]:
    """Everything in the way of the migration that the spec requests, in a fixed order."""
    migrate = desired.migrate
    if migrate is None:
        return ()
    found = [*_release(desired)]
    if isinstance(observed.zookeeper, Unknown):
        way_out = "If this lasts, correct spec.zookeeper.connect, let the operator read the Secret, or repair ZooKeeper"
        where = f"ZooKeeper {migrate.beside.access.connect}"
        why = f"what it has is not known: {observed.zookeeper.reason}"
        return (*found, Blocker(code="ZooKeeper", object=where, found=why, way_out=way_out, unknown=True))
    seen = observed.zookeeper.value
    found += [*_cluster(desired, record, seen), *_znodes(record, seen), *_ids(desired, record, seen), *_rights(seen)]
    found += [*_configs(seen), *_epochs(seen), *_brokers(desired, observed, seen, migrate)]
    return (*found, *_directories(desired, observed, seen))


def in_the_way(desired: Desired, observed: Observed) -> tuple[Blocker, ...] | None:
    """The blockers until the controllers run; None if there is no migration from ZooKeeper to begin."""
    record = observed.record
    begins = desired.bootstrap is BootstrapMode.ZOOKEEPER and not observed.record_fault
    if not begins or (record is not None and record.phase is BootstrapPhase.STARTED):
        return None
    return blockers(desired, observed, record)


def why_preflight(situation: Situation) -> str:
    """What the preflight found, in words; empty if nothing is in the way, or the quorum is not beside ZooKeeper."""
    found = blockers(situation.desired, situation.observed, situation.record)
    return f"the preflight found {listed(found)}" if found else ""


def why_not_beside(situation: Situation) -> str:
    """Why controllers beside ZooKeeper must not start: their start writes to ZooKeeper. Empty for any other quorum."""
    if situation.record.format.mode is not BootstrapMode.ZOOKEEPER:
        return ""
    migrate = situation.desired.migrate
    if migrate is None:
        return "set spec.zookeeper.connect"
    if migrate.roll_back:
        return "spec.zookeeper.rollBack is true"
    return "spec.zookeeper.dryRun is true" if migrate.dry_run else why_preflight(situation)


def listed(found: Sequence[Blocker]) -> str:
    """The first blockers as one text."""
    told = "; ".join(map(str, found[:_TOLD]))
    more = f" (and {len(found) - _TOLD} more in status.preflight)" if len(found) > _TOLD else ""
    return f"{told}{more}"


def _release(desired: Desired) -> Iterator[Blocker]:
    release = desired.runtime.release
    numbers = release_numbers(release)
    if numbers[:2] != RELEASE[:2]:
        yield Blocker(
            code="Release",
            object="spec.kafka.version",
            found=f"Kafka {release} cannot migrate from ZooKeeper, only 3.9 can",
            way_out="Set 3.9.1 or a later 3.9. The release goes on after the migration",
        )
    elif numbers < RELEASE:
        yield Blocker(
            code="Release",
            object="spec.kafka.version",
            found=f"Kafka {release} has faults in the migration that 3.9.1 corrects",
            way_out="Set 3.9.1 or a later 3.9",
        )


def _cluster(desired: Desired, record: IdentityRecord | None, seen: ZooKeeperSeen) -> Iterator[Blocker]:
    if not seen.cluster_id:
        yield Blocker(
            code="ClusterID",
            object="znode /cluster/id",
            found="it does not exist, so no Kafka broker ever used this ZooKeeper and chroot",
            way_out="Correct the chroot in spec.zookeeper.connect: it is that of the brokers",
        )
        return
    for where, id_ in (
        ("spec.clusterID", desired.cluster_id),
        ("the identity", None if record is None else record.cluster_id),
    ):
        if id_ and id_ != seen.cluster_id:
            yield Blocker(
                code="ClusterID",
                object="znode /cluster/id",
                found=f"it is {seen.cluster_id}, and {where} has {id_}",
                way_out="Correct spec.zookeeper.connect: it leads to another cluster",
            )


def _znodes(record: IdentityRecord | None, seen: ZooKeeperSeen) -> Iterator[Blocker]:
    """Who leads, and whether another attempt has left something.

    That also counts while our controllers run: until the brokers migrate they copy nothing, and no KRaft controller
    leads. What says otherwise is of another quorum, or of a ZooKeeper that was restored.
    """
    runs = record is not None and record.phase is BootstrapPhase.STARTED
    leads = seen.controller
    if leads is None:
        yield Blocker(
            code="NoController",
            object="znode /controller",
            found="it does not exist: no broker is the controller",
            way_out="Repair the cluster first: a broker that runs becomes the controller",
        )
    elif leads.kraft_epoch is not None or not leads.ephemeral:
        yield Blocker(
            code="ControllerIsKRaft",
            object="znode /controller",
            found=f"KRaft controller {leads.node_id} leads: another quorum migrates this cluster, or a roll back of it "
            "was not completed",
            way_out="End that migration, or complete its roll back, first",
        )
    if (left := seen.migration) is not None and left.copied:
        what = f"it is malformed ({left.fault})" if left.fault else f"it is left from an earlier attempt: {left.raw}"
        yield Blocker(
            code="StaleMigration",
            object="znode /migration",
            found=f"{what}. With it, this migration would not copy the metadata, and would then delete it in ZooKeeper",
            way_out="If no other KRaft controllers run, set spec.zookeeper.rollBack, save and delete it when the "
            "controllers have stopped, and begin again"
            if runs  # they have read it, and would not see that it is gone
            else "If no other KRaft controllers run, save its text, and delete it: "
            "zookeeper-shell.sh ADDRESS delete /migration, with the chroot in ADDRESS",
        )


def _ids(desired: Desired, record: IdentityRecord | None, seen: ZooKeeperSeen) -> Iterator[Blocker]:
    dead = sorted(set(seen.assigned) - seen.registered)
    for node_id in dead[:_SHOWN]:
        yield Blocker(
            code="DeadBroker",
            object=f"broker {node_id}",
            found=f"it does not run, and has replicas (one of {seen.assigned[node_id]}): the migration would wait for "
            f"it for ever{_more(dead)}",
            way_out="Start it, or move its replicas away with kafka-reassign-partitions.sh",
        )
    shared = sorted(seen.expected & set(requested_node_ids(desired, record)))
    for node_id in shared[:_SHOWN]:
        yield Blocker(
            code="SharedID",
            object=f"broker {node_id}",
            found=f"a controller would have the same id{_more(shared)}",
            way_out="Choose other ids in spec.controllers.nodeIDs",
        )


def _more(ids: list[NodeID]) -> str:
    return _others(len(ids), _SHOWN)


def _others(count: int, shown: int = 1) -> str:
    return f" (so it is with {count - shown} others)" if count > shown else ""


def _rights(seen: ZooKeeperSeen) -> Iterator[Blocker]:
    for denied in seen.denied:
        yield Blocker(
            code="Rights",
            object="ZooKeeper's ACLs",
            found=denied,
            way_out="Use the credentials of the brokers in the Secret of spec.zookeeper.secretName, or extend the ACLs",
        )


def _configs(seen: ZooKeeperSeen) -> Iterator[Blocker]:
    for encoded in seen.encoded:
        yield Blocker(
            code="EncodedSetting",
            object=encoded,
            found="it is encrypted with password.encoder.secret, which the controllers do not have",
            way_out="Set it in the broker's server.properties, and delete the dynamic setting with kafka-configs.sh",
        )
    for node_id, count in sorted((seen.behind or {}).items()):
        if node_id in seen.registered:
            yield Blocker(
                code="NotInSync",
                object=f"broker {node_id}",
                found=f"it is not in sync with {count} of its partitions",
                way_out="Wait until it is, or repair it first",
            )
    if seen.reassigning:
        yield Blocker(
            code="Reassignment",
            object=f"partition {seen.reassigning[0]}",
            found=f"its replicas are being moved{_others(len(seen.reassigning))}",
            way_out="Wait until it ends, or cancel it: kafka-reassign-partitions.sh --cancel",
        )


def _epochs(seen: ZooKeeperSeen) -> Iterator[Blocker]:
    epoch, highest = seen.controller_epoch, seen.state_epoch
    if epoch is None:
        yield Blocker(
            code="Epoch",
            object="znode /controller_epoch",
            found="it does not exist",
            way_out="Repair the cluster first: every controller writes it",
        )
    elif (highest or 0) > epoch.epoch:
        yield Blocker(
            code="Epoch",
            object="znode /controller_epoch",
            found=f"it is {epoch.epoch}, and the state of a partition has {highest}: after a roll back its leader "
            "could not be changed (KAFKA-20488)",
            way_out=f"Set it to {highest}, and let a broker be elected with a higher one: zookeeper-shell.sh ADDRESS "
            f"set /controller_epoch {highest}, then delete /controller, with the chroot in ADDRESS",
        )


def _brokers(desired: Desired, observed: Observed, seen: ZooKeeperSeen, migrate: Migrate) -> Iterator[Blocker]:
    """The running settings of every broker."""
    brokers = observed.brokers
    if isinstance(brokers, Unknown):
        if not is_confirmed_by(desired, observed):
            yield _not_asked("the brokers", brokers.reason)
        return
    settings = {broker.node_id: broker.settings for broker in brokers.value}
    for node_id in sorted(seen.registered):
        said = settings.get(node_id, Unknown(reason="no broker that was asked lists it"))
        if isinstance(said, Known):
            yield from _settings(node_id, said.value, desired, migrate.beside)
        elif not is_confirmed_by(desired, observed):
            yield _not_asked(f"broker {node_id}", said.reason)


def _not_asked(which: str, why: str) -> Blocker:
    return Blocker(
        code="BrokerUnknown",
        object=which,
        found=f"the running settings are not known: {why}",
        way_out="Set spec.brokerAccess.bootstrapServers, and a Secret if they need one, start the broker, or confirm "
        "the present contract in spec.brokerAccess.confirmedRevision",
        unknown=True,
    )


def _settings(node_id: NodeID, running: Settings, desired: Desired, beside: BesideZooKeeper) -> Iterator[Blocker]:
    def one(code: str, found: str, way_out: str) -> Blocker:
        return Blocker(code=code, object=f"broker {node_id}", found=found, way_out=way_out)

    ibp = running.get("inter.broker.protocol.version")
    if ibp is None:
        yield one("BrokerRelease", "it does not report inter.broker.protocol.version", "Let every broker run Kafka 3.9")
    elif ibp not in IBP:
        way_out = "Let it run Kafka 3.9, then set inter.broker.protocol.version=3.9, or remove it"
        yield one("BrokerRelease", f"inter.broker.protocol.version is {ibp}", way_out)
    if running.get("control.plane.listener.name"):
        name = running["control.plane.listener.name"]
        yield one(
            "ControlPlane", f"control.plane.listener.name is {name}", "Remove it: KRaft controllers cannot use it"
        )
    if running.get("process.roles"):
        yield one(
            "ProcessRoles",
            f"process.roles is {running['process.roles']}",
            "It does not use ZooKeeper: stop it, or correct spec.brokerAccess.bootstrapServers",
        )
    if running.get("zookeeper.metadata.migration.enable") == "true":
        found = "zookeeper.metadata.migration.enable is true already"
        yield one("MigrationMode", found, "Remove it, and restart the broker: its turn comes later")
    yield from _reserved(node_id, running)
    yield from _listener(node_id, running, beside)
    yield from _authorizer(node_id, running, desired)
    yield from _znode_acls(node_id, running, desired)


def _reserved(node_id: NodeID, running: Settings) -> Iterator[Blocker]:
    highest = _MAX_ID
    with contextlib.suppress(Malformed):  # the text is the broker's own
        highest = number(running.get("reserved.broker.max.id"))
    if node_id > highest and running.get("broker.id.generation.enable") != "false":
        yield Blocker(
            code="ReservedID",
            object=f"broker {node_id}",
            found=f"its id is above reserved.broker.max.id ({highest}): it was generated, and KRaft generates none",
            way_out=f"Set broker.id={node_id} and broker.id.generation.enable=false in its server.properties",
        )


def _listener(node_id: NodeID, running: Settings, beside: BesideZooKeeper) -> Iterator[Blocker]:
    """The controllers speak to brokers of ZooKeeper at the listener that the brokers use among themselves."""
    name = running.get("inter.broker.listener.name") or running.get("security.inter.broker.protocol") or "PLAINTEXT"
    listed = (part.strip().split(":", 1) for part in (running.get("listener.security.protocol.map") or "").split(","))
    pairs = dict(part for part in listed if len(part) == 2)  # noqa: PLR2004 - a name and its protocol
    protocol = pairs.get(name, name)
    if (name, protocol) != (beside.listener, beside.protocol):
        yield Blocker(
            code="InterBrokerListener",
            object=f"broker {node_id}",
            found=f"brokers speak to each other at listener {name} ({protocol}), and "
            f"spec.zookeeper.interBrokerListener has {beside.listener} ({beside.protocol})",
            way_out=f"Set spec.zookeeper.interBrokerListener to {{name: {name}, protocol: {protocol}}}",
        )


def _authorizer(node_id: NodeID, running: Settings, desired: Desired) -> Iterator[Blocker]:
    present, ours = (
        running.get("authorizer.class.name") or "",
        dict(desired.runtime.config).get("authorizer.class.name"),
    )
    wanted = STANDARD if present == ACL else present
    if wanted and ours != wanted:
        yield Blocker(
            code="Authorizer",
            object=f"broker {node_id}",
            found=f"authorizer.class.name is {present}, and the controllers would have {ours or 'none'}",
            way_out=f"Set authorizer.class.name to {wanted} in spec.controllers.config, with super.users",
        )
    elif ours and not present:
        yield Blocker(
            code="Authorizer",
            object="spec.controllers.config",
            found=f"authorizer.class.name is {ours}, and broker {node_id} has none",
            way_out="Remove it until the migration has ended",
        )


def _znode_acls(node_id: NodeID, running: Settings, desired: Desired) -> Iterator[Blocker]:
    """Who creates a znode says whose it is: in dual write that is the controllers' setting (measured on 3.9.2)."""
    theirs = running.get(ZNODE_ACLS) == "true"
    ours = dict(desired.runtime.config).get(ZNODE_ACLS, "").strip().lower() == "true"
    if theirs and not ours:
        yield Blocker(
            code="ZNodeACLs",
            object=f"broker {node_id}",
            found="zookeeper.set.acl is true, and what controllers create (credentials too) would be open to everybody",
            way_out="Set zookeeper.set.acl to true in spec.controllers.config, and use the brokers' user in the Secret",
        )
    elif ours and not theirs:
        yield Blocker(
            code="ZNodeACLs",
            object="spec.controllers.config",
            found=f"zookeeper.set.acl is true, and broker {node_id} does not have it",
            way_out="Remove it, or set it on every broker",
        )


def _directories(desired: Desired, observed: Observed, seen: ZooKeeperSeen) -> Iterator[Blocker]:
    """A log directory that is offline kills its broker when it changes (KAFKA-16431)."""
    read = observed.log_dirs
    for node_id in sorted(seen.registered):
        said = read if isinstance(read, Unknown) else read.value.get(node_id, Unknown(reason="it was not asked"))
        match said:
            case Known(value=failed):
                for what in failed[:_SHOWN]:
                    yield Blocker(
                        code="OfflineDirectory",
                        object=f"broker {node_id}",
                        found=f"its log directory {what} is offline",
                        way_out="Repair or remove it: the broker would end in the migration (KAFKA-16431)",
                    )
            case Unknown(reason=why):
                if not is_confirmed_by(desired, observed):
                    yield Blocker(
                        code="DirectoriesUnknown",
                        object=f"broker {node_id}",
                        found=f"its log directories are not known: {why}",
                        way_out="Let the operator reach a PLAINTEXT listener of it, or confirm the present contract "
                        "in spec.brokerAccess.confirmedRevision",
                        unknown=True,
                    )
