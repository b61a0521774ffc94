"""The objects of a storm: one quorum, its Kubernetes nodes, and the installed operator; the victims of blows."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from harness import operator
from harness.quorum import Quorum
from harness.shell import Json
from storm.checker import Checker
from storm.rounds import Blow

T = TypeVar("T")


class NoVictim(Exception):
    """At this moment the blow has nothing to hit; the text names what is missing."""


@dataclass(slots=True)
class Stage:
    """The quorum, the storm's data about it, and the last blow's victim."""

    quorum: Quorum
    checker: Checker
    say: Callable[[str], None]
    off: set[str] = field(default_factory=set)
    """The Kubernetes nodes that have no power, or are cut off."""

    def victim(self, blow: Blow) -> int:
        """The node id that a blow hits: the leader's, or one of the others by `pick`."""
        present = sorted(node_id for node_id, pod in self.quorum.pods().items() if self._reachable(pod))
        leader = self.checker.leader
        if blow.leader and leader in present:
            return int(leader)
        return _picked([node_id for node_id in present if node_id != leader] or present, blow, "controller's pod")

    def claimed(self, blow: Blow) -> Json:
        """The row of `status.controllers` of a controller with a reachable disk: the leader's, or another one's."""
        pods = {node_id: pod for node_id, pod in self.quorum.pods().items() if self._reachable(pod)}
        rows = [row for row in self.quorum.status().get("controllers", []) if row["nodeID"] in pods]
        rows = [row for row in rows if row.get("claimName") and row.get("podName") and row.get("role") != "Observer"]
        leader = [row for row in rows if row["nodeID"] == self.checker.leader]
        if blow.leader and leader:
            return dict(leader[0])
        found = _picked([row for row in rows if row not in leader] or rows, blow, "controller with a disk")
        return dict(found)

    def worker(self, blow: Blow, *, alone: bool = False) -> str:
        """The Kubernetes node of a controller; with `alone`, a node that has no other controller."""
        if self.off:
            raise NoVictim(f"{sorted(self.off)} is away already")
        places = {node_id: pod["spec"].get("nodeName", "") for node_id, pod in self.quorum.pods().items()}
        nodes = [node for node in places.values() if node]
        fit = sorted({node for node in nodes if not alone or nodes.count(node) == 1})
        leader = places.get(self.checker.leader or -1)
        if blow.leader and leader in fit:
            return str(leader)
        found: str = _picked(fit, blow, "Kubernetes node with one controller" if alone else "Kubernetes node")
        return found

    def operators(self, blow: Blow, *, every: bool = False) -> list[Json]:
        """The operator's pods that a blow hits: the acting one, or all of them."""
        found = [pod for pod in operator.pods() if self._reachable(pod) and "deletionTimestamp" not in pod["metadata"]]
        acting = [pod for pod in found if pod["metadata"]["name"] == operator.holder()]
        chosen = found if every else acting or found[:1]
        if not chosen:
            raise NoVictim("no operator's pod can be reached")
        return random.Random(blow.pick).sample(chosen, len(chosen))  # noqa: S311 - an order that a seed repeats

    def _reachable(self, pod: Json) -> bool:
        return bool(pod["spec"].get("nodeName")) and pod["spec"]["nodeName"] not in self.off


def _picked(candidates: Sequence[T], blow: Blow, what: str) -> T:
    """The element that `pick` chooses; `NoVictim` if there is none."""
    if not candidates:
        raise NoVictim(f"there is no {what}")
    return candidates[int(blow.pick * len(candidates)) % len(candidates)]
