"""What a person says of single controllers, on ground truth: held ones are left alone, and a named disk is given up.

The annotations are read as a person would read them. A hold counts when it is older than the greatest age of a look.
"""

from collections.abc import Iterator
from typing import Final

from tests.simulation.model.happened import ClaimDeleted, Created, Fail, PodDeleted, RemoveSent
from tests.simulation.model.world import World
from tests.simulation.rules.committed_rules import WRITTEN_S
from tests.simulation.rules.feature_rules import quorum_of
from tests.simulation.rules.glances import RECENT_S

from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.ids import DirectoryID
from kit.kube.protocol import Json

HELD: Final = "5, held"
_HOLD, _REPLACE = "kafkaquorum.io/hold", "kafkaquorum.io/replace"
_NODE_ID, _QUORUM = "kafkaquorum.io/node-id", "kafkaquorum.io/quorum"
_ALL: Final = -1
"""In the place of a node id: nobody can read which controllers are held, so all may be."""


class WordRules:
    """Judges every act on the pod or the disk of a controller that a person holds."""

    def __init__(self, world: World, fail: Fail) -> None:
        """Judge by this world, and report the rule and what happened to `fail`."""
        self._world, self._fail = world, fail
        self._held_s: dict[tuple[str, int], float] = {}
        """By quorum and node id: since when a person has held it."""
        self._named_s: dict[tuple[str, str], float] = {}
        """By quorum and replica: when a person named it last as one whose disk is given up."""

    def look(self) -> None:
        """Note what a person says now."""
        now_s = self._world.clock.elapsed_s
        held = {(name, node_id) for name, body in self._resources() for node_id in _held(_said(body, _HOLD))}
        self._held_s = {key: self._held_s.get(key, now_s) for key in held}
        for name, body in self._resources():
            if text := _said(body, _REPLACE):
                self._named_s[name, text] = now_s

    def is_held(self, quorum: str, node_id: int) -> bool:
        """Whether a person has held this controller for longer than a look can be old."""
        since = [self._held_s[key] for key in ((quorum, node_id), (quorum, _ALL)) if key in self._held_s]
        return any(self._world.clock.elapsed_s - since_s > RECENT_S for since_s in since)

    def is_named(self, quorum: str, node_id: int, directory: DirectoryID) -> bool:
        """Whether a person gives up the disk of this replica, or did so when the act was decided."""
        self.look()
        named_s = self._named_s.get((quorum, f"{node_id}-{directory}"))
        return named_s is not None and self._world.clock.elapsed_s - named_s <= WRITTEN_S

    def stop_sent(self, event: PodDeleted) -> None:
        """The operator asks for the stop of a pod, whether Kafka runs in it or not."""
        self._judge(event.quorum, _node_id_of(event.name), f"pod {event.name} is stopped")

    def created(self, event: Created) -> None:
        """The operator creates a pod, a formatter or a claim."""
        labels = event.body["metadata"].get("labels") or {}
        if event.plural in ("pods", "persistentvolumeclaims") and not event.late and labels.get(_NODE_ID):
            what = f"{event.plural} {event.body['metadata']['name']} are created"
            self._judge(str(labels.get(_QUORUM)), int(labels[_NODE_ID]), what)

    def claim_deleted(self, event: ClaimDeleted) -> None:
        """The operator deletes a claim."""
        quorum, _, node_id = event.name.rpartition("-g")[0].rpartition("-")
        self._judge(quorum, int(node_id) if node_id.isdigit() else None, f"claim {event.name} is deleted")

    def removed(self, event: RemoveSent, retired: frozenset[DirectoryID]) -> None:
        """The operator asks for the removal of a vote; that of a retired disk is on no disk of the controller."""
        leader = self._world.kraft.at(event.endpoint.host, event.endpoint.port)
        target = event.request.voter
        if leader is not None and target.directory_id not in retired:
            self._judge(quorum_of(leader), target.node_id, f"voter {target} is removed")

    def retired(self, quorum: str, node_id: int, directory: DirectoryID) -> None:
        """The record gives up a disk of a controller."""
        self._judge(quorum, node_id, f"directory id {directory} of controller {node_id} is given up")

    def _judge(self, quorum: str, node_id: int | None, what: str) -> None:
        if node_id is not None and self.is_held(quorum, node_id):
            self._fail(HELD, f"{what}, and a person holds controller {node_id}")

    def _resources(self) -> Iterator[tuple[str, Json]]:
        for body in self._world.kube.all(QUORUMS):
            yield str(body["metadata"]["name"]), body


def _said(body: Json, name: str) -> str:
    return str((body["metadata"].get("annotations") or {}).get(name) or "")


def _held(text: str) -> set[int]:
    """The node ids of a hold; all of them if nobody can read it."""
    words = [word.strip() for word in text.split(",")] if text else []
    return {int(word) for word in words} if all(word.isdecimal() and word.isascii() for word in words) else {_ALL}


def _node_id_of(pod: str) -> int | None:
    """The node id in the name of a Kafka pod or a formatter of a controller."""
    node_id = pod.removesuffix("-format").rpartition("-g")[0].rpartition("-")[2]
    return int(node_id) if node_id.isdigit() else None
