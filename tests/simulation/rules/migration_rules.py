"""Migrations on ground truth: what stays during one, and that no stage begins before the one before it is complete.

The record in the ConfigMap says which stage the operator has decided on. Whether that was right, the processes say.
"""

import json
from typing import Final

from tests.simulation.model.happened import AddSent, Created, Fail, UpdateSent
from tests.simulation.model.kubernetes.kube_model import Written, seen
from tests.simulation.model.kubernetes.pod_words import release_of
from tests.simulation.model.world import World
from tests.simulation.rules.glances import RECENT_S
from tests.simulation.rules.stage_rules import MIGRATION, StageRules

from kafka_quorum.model.ids import ClusterID
from kafka_quorum.model.names import CLUSTER_ID, INPUTS_HASH, LABEL_QUORUM, LABEL_ROLE
from kafka_quorum.model.pods import PodRole
from kit.kube.protocol import CONFIG_MAPS, PODS, Json

VOTERS: Final = "controller.quorum.voters"
STATIC_TO_DYNAMIC: Final = "StaticToDynamic"
_RECORD_SUFFIX: Final = "-identity"
_CONTRACT_SUFFIX: Final = "-brokers"
_KAFKA: Final = PodRole.KAFKA.value


class MigrationRules:
    """Judges what the operator does to a quorum while its record has a migration, and each step of that migration."""

    def __init__(self, world: World, fail: Fail) -> None:
        """Judge by this world, and report the rule and what happened to `fail`."""
        self._world, self._fail, self._stages = world, fail, StageRules(world, fail)
        world.kube.watchers.append(self.written)

    def written(self, written: Written) -> None:
        """The operator wrote a record or a contract."""
        plural, namespace, name = written.key
        if plural != CONFIG_MAPS.plural or not written.by_operator:
            return
        if name.endswith(_RECORD_SUFFIX):
            before, after = (_stored(seen(body), "record.json") for body in (written.before, written.after))
            if before and after:
                self._moved(before, after)
                self._stages.moved(before, after)
        if name.endswith(_CONTRACT_SUFFIX) and (contract := _stored(seen(written.after), "contract.json")):
            record = self._record(namespace, name.removesuffix(_CONTRACT_SUFFIX))
            rows = {row["key"]: row for row in contract["settings"]}
            if record and not rows[VOTERS]["value"] and not _beside(record):
                self._without_voters(record)

    def created(self, event: Created) -> None:
        """A Kafka pod of a controller is created: its release is that of the beginning."""
        metadata = event.body["metadata"]
        record = self._record(metadata["namespace"], metadata["labels"].get(LABEL_QUORUM, ""))
        reached = (record or {}).get("migration")
        if not reached or event.late or metadata["labels"].get(LABEL_ROLE) != _KAFKA:
            return
        release = release_of(event.body["spec"]["containers"][0]["image"], {})
        if release != reached["release"]:
            self._fail(MIGRATION, f"pod {metadata['name']} is created with {release} during a migration")

    def added(self, event: AddSent) -> None:
        """A voter is added: only in place of a lost disk, never a further controller."""
        record, key = self._of_cluster(event.request.cluster_id), event.request.voter
        ids = {node["node_id"] for node in (record or {}).get("nodes", ())}
        if record and record.get("migration") and key.node_id not in ids:
            self._fail(MIGRATION, f"{key} is added during a migration, and is no controller of the record")

    def updated(self, event: UpdateSent) -> None:
        """A level is stepped: in a migration only kraft.version, and only in its first stage."""
        process, step = self._world.kraft.at(event.endpoint.host, event.endpoint.port), event.request.step
        if event.request.validate_only or process is None:
            return
        reached = (self._of_cluster(process.cluster_id) or {}).get("migration")
        if reached and (step.name != "kraft.version" or reached["stage"] != "RaiseLevel"):
            self._fail(MIGRATION, f"{step} is sent at stage {reached['stage']} of a migration")

    # Ground truth

    def _moved(self, before: Json, after: Json) -> None:
        """The stage changes: what the stage before it was for must be so."""
        was, is_ = before.get("migration"), after.get("migration")
        ids = ({node["node_id"] for node in one["nodes"]} for one in (before, after))
        if was and is_ and len(set(map(frozenset, ids))) > 1:
            self._fail(MIGRATION, "the controllers of the record change during a migration")
        stages = [one and one["stage"] for one in (was, is_)]
        if stages[0] == stages[1] or _beside(before) or _beside(after):
            return  # `zookeeper_rules` judges a migration from ZooKeeper
        if is_ and stages[1] == "RaiseLevel":
            self._rolled(after)
        if is_ and stages[1] == "Brokers":
            self._without_voters(after)
        if was and not is_ and stages[0] == "Brokers":
            left = [node_id for node_id, broker in self._brokers(after) if broker.get(VOTERS)]
            if left:
                self._fail(MIGRATION, f"the migration ends, and brokers {left} run with {VOTERS}")
        if was and not is_ and stages[0] == "Controllers":
            self._fail(MIGRATION, "the migration ends before its last stage")

    def _rolled(self, record: Json) -> None:
        """A migration begins: no roll is under way."""
        pods = (pod["metadata"] for pod in self._world.kube.all(PODS))
        annotations = (
            one.get("annotations") or {} for one in pods if (one.get("labels") or {}).get(LABEL_ROLE) == _KAFKA
        )
        hashes = {one.get(INPUTS_HASH) for one in annotations if one.get(CLUSTER_ID) in {None, record["cluster_id"]}}
        if len(hashes) > 1:
            self._fail(MIGRATION, "a migration begins while the pods of controllers are made from two revisions")

    def _without_voters(self, record: Json) -> None:
        """Brokers are told to drop the voters: no controller may have them any more."""
        left = sorted(
            one.meta.node_id
            for one in self._world.kraft.processes
            if one.cluster_id == ClusterID(record["cluster_id"])
            and not one.broker
            and one.static
            and self._world.clock.elapsed_s - one.started_s > RECENT_S
        )
        if left:
            self._fail(MIGRATION, f"brokers drop {VOTERS}, and controllers {left} run with it")

    def _brokers(self, record: Json) -> list[tuple[int, dict[str, str]]]:
        """The properties of each running broker that has registered."""
        cluster = self._world.pools.clusters.get(ClusterID(record["cluster_id"]))
        found = cluster.brokers if cluster is not None else ()
        return [(int(one.node_id), one.properties) for one in found if one.serves]

    def _of_cluster(self, cluster_id: ClusterID) -> Json | None:
        """The record of the quorum with this cluster id."""
        maps = (_stored(body, "record.json") for body in self._world.kube.all(CONFIG_MAPS))
        return next((one for one in maps if one and one["cluster_id"] == cluster_id), None)

    def _record(self, namespace: str, quorum: str) -> Json | None:
        return _stored(self._world.kube.view(CONFIG_MAPS, namespace, f"{quorum}{_RECORD_SUFFIX}"), "record.json")


def _beside(record: Json) -> bool:
    """Whether the migration is one from ZooKeeper, or back."""
    return bool((record.get("migration") or {}).get("kind", STATIC_TO_DYNAMIC) != STATIC_TO_DYNAMIC)


def _stored(body: Json | None, key: str) -> Json | None:
    """What the operator stored under this key; None if it is not there, or cannot be read."""
    try:
        found = json.loads((body or {})["data"][key])
    except (KeyError, TypeError, ValueError):
        return None
    return found if isinstance(found, dict) else None
