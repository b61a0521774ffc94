"""Rules 3, 4 and 5 for restarts, on ground truth: which running controller is stopped, in which order, and why.

A controller that the operator has stopped is away until its next process runs and is a caught-up voter again.
"""

from dataclasses import dataclass
from typing import Final

from tests.simulation.model.happened import Created, Fail, PodDeleted, Started
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.world import World
from tests.simulation.rules.glances import RECENT_S, Glance, Glances
from tests.simulation.rules.spoken import asked, changed_meanwhile, operation_of, resource_of

from kafka_quorum.model.ids import ReplicaKey
from kafka_quorum.model.material import controller
from kafka_quorum.model.names import HOLD, INPUTS_HASH, LABEL_NODE, LABEL_QUORUM, token_holder, token_name
from kit.kube.protocol import LEASES, PODS, Json
from kit.kube.secrets import SECRETS

_PAIR: Final = 2
_RAN_S: Final = 10.0
_SOON_S: Final = 60.0


@dataclass(slots=True, kw_only=True)
class Away:
    """A voter whose pod the operator has stopped; `back_s` is the start of its next process."""

    process: Process
    back_s: float | None = None


NEEDLESS: Final = "5, needless"
SUCCESSOR: Final = "5, a successor"
NO_PLACE: Final = "5, no place"
NO_TOKEN: Final = "5, token"  # noqa: S105 - the name of a rule
_ASKED_S: Final = 4.0
"""The greatest age of the API server's consent to the new pod at the stop of the old one."""


class RollRules:
    """Judges restarts."""

    def __init__(self, world: World, glances: Glances, fail: Fail) -> None:
        """Judge by this world, and report the rule and what happened to `fail`."""
        self._world, self._glances, self._fail = world, glances, fail
        self._away: dict[ReplicaKey, Away] = {}
        self._restarted: dict[tuple[str, str, str], tuple[str, int]] = {}
        """By namespace, quorum and node id: the inputs of the stopped pod, and the generation at that moment."""
        self._stopped_s: dict[tuple[str, str, str], float] = {}
        """When the operator stopped the pod."""
        self._refused: set[tuple[str, str, str]] = set()
        """The controllers with a refused pod since their last created pod."""
        self._token_s: dict[tuple[str, str], float] = {}
        """By namespace and quorum: when its quorum had the disruption token last."""
        world.kube.admission.listeners.append(self.refused)

    def look(self) -> None:
        """A controller is no longer away once it is a caught-up voter again, or no longer a voter."""
        for lease in self._world.kube.all(LEASES):
            kind, _, quorum = str((lease.get("spec") or {}).get("holderIdentity", "")).partition("/")
            if kind == "quorum" and lease["metadata"]["name"] == token_name(quorum):
                self._token_s[lease["metadata"]["namespace"], quorum] = self._world.clock.elapsed_s
        for key, away in list(self._away.items()):
            leader = self._world.kraft.leader_of(away.process.cluster_id)
            if leader is None:
                continue
            known = leader.known(key)
            back = away.back_s is not None and (
                known == leader.known(leader.key) or leader.row(key).caught_up_s > away.back_s
            )
            if back or known not in leader.voters:
                del self._away[key]

    def started(self, event: Started) -> None:
        """Kafka runs, perhaps after a restart."""
        if event.key in self._away:
            self._away[event.key].back_s = self._world.clock.elapsed_s

    def stopped(self, event: PodDeleted, process: Process) -> None:
        """The operator stopped a pod whose Kafka runs, on a disk that is not retired."""
        leader, key = self._world.kraft.leader_of(process.cluster_id), process.key
        if leader is not None and leader.known(key) not in leader.voters:
            return
        if event.late:
            self._others_are_back(event, key)
        self._away[key] = Away(process=process)
        self._note(event)

    def _others_are_back(self, event: PodDeleted, key: ReplicaKey) -> None:
        for other in self._away.keys() - {key}:
            self._fail("5", f"pod {event.name} is stopped before {other} is a caught-up voter again")

    def stop_sent(self, event: PodDeleted, process: Process) -> None:
        """The operator requests the stop of a pod whose Kafka runs, on a disk that is not retired."""
        glances, key = self._glances.of(process.cluster_id), process.key
        if self._has_ended(process) and not all(_has_majority(glance) for glance in glances):
            self._others_run(event, key)
            return
        votes = [glance for glance in glances if glance.leader and glance.leader.known(key) in glance.voters]
        if not votes:
            if not any(glance.leader for glance in glances):
                self._fail("3", f"pod {event.name} is stopped, perhaps a voter, and there is no leader")
            return
        if all(self._too_few(event, glance, key) for glance in votes):
            last = votes[-1]
            told = f"{len(last.caught_up)} of {len(last.voters)} voters are caught up"
            self._fail("3", f"pod {event.name} of voter {key} is stopped, and {told}, itself included")
        if all(glance.changing for glance in votes) or operation_of(self._world, event.quorum).endswith("Voter"):
            self._fail("4", f"pod {event.name} is stopped during a voter change")
        self._others_are_back(event, key)
        if self._has_no_place(event, votes[-1], key):
            self._fail(NO_PLACE, f"pod {event.name} of voter {key} is stopped, and its Kubernetes node takes no pods")
        if key in votes[-1].caught_up and not self.has_token(event):
            self._fail(NO_TOKEN, f"pod {event.name} of voter {key} is stopped without the disruption token")
        if not event.evicted and len(votes[-1].voters) > 1:
            self._fail("5", f"pod {event.name} is deleted while its Kafka runs, and no budget is asked")
        if all(glance.leader is process for glance in glances) and (left := self._left(event, votes[-1])):
            self._fail("5", f"the active controller's pod {event.name} is stopped before {', '.join(left)}")

    def _others_run(self, event: PodDeleted, key: ReplicaKey) -> None:
        """Without a leader nobody shows that a restarted controller is back: it has run for a while."""
        for other, away in self._away.items():
            since_s = self._world.clock.elapsed_s if away.back_s is None else away.back_s
            if other != key and self._world.clock.elapsed_s - since_s < _RAN_S:
                self._fail("5", f"pod {event.name} is stopped before {other} has run for a while")

    def _has_ended(self, process: Process) -> bool:
        """Whether the certificate that it shows as a client has ended: the others accept no connection from it."""
        return process.tls is not None and process.tls.shown.not_after <= self._world.clock.now()

    def _ends_soon(self, process: Process) -> bool:
        now = self._world.clock.now()
        return process.tls is not None and (process.tls.shown.not_after - now).total_seconds() < _SOON_S

    def _is_held(self, event: PodDeleted, process: Process) -> bool:
        """Whether a person holds this controller, or its Secret is missing, or somebody made it another quorum's."""
        said = (resource_of(self._world, event.quorum).get("metadata") or {}).get("annotations") or {}
        if str(process.meta.node_id) in str(said.get(HOLD) or ""):
            return True
        holder = controller(process.meta.node_id)
        item = self._world.kube.view(SECRETS, event.namespace, holder.secret(event.quorum))
        return item is None or (item["metadata"].get("labels") or {}).get(LABEL_QUORUM) != event.quorum

    def has_token(self, event: PodDeleted) -> bool:
        """Whether the quorum of this pod has the token."""
        return self.quorum_has_token(event.namespace, event.quorum)

    def quorum_has_token(self, namespace: str, quorum: str) -> bool:
        """Whether the quorum has the token, or had it so lately that a look may have shown it."""
        lease = self._world.kube.view(LEASES, namespace, token_name(quorum))
        holder = (lease or {}).get("spec", {}).get("holderIdentity")
        seen_s = self._token_s.get((namespace, quorum), -RECENT_S)
        return holder == token_holder(quorum) or self._world.clock.elapsed_s - seen_s < RECENT_S

    def _has_no_place(self, event: PodDeleted, glance: Glance, key: ReplicaKey) -> bool:
        """Whether the new pod of a caught-up voter would have to wait for its node, and readers could see that."""
        sandbox = self._world.kubelet.of_pod(event.namespace, event.name)
        if sandbox is None or glance.leader is None or glance.leader.known(key) not in glance.caught_up:
            return False
        return self._world.machines.takes_no_pods_s(sandbox.node) > RECENT_S

    def created(self, event: Created) -> None:
        """A Kafka pod is created: after a restart its inputs must differ, else the restart was needless.

        This does not hold if the API server refused other inputs meanwhile.
        """
        metadata = event.body["metadata"]
        at = (metadata["namespace"], metadata["labels"][LABEL_QUORUM], metadata["labels"][LABEL_NODE])
        self._stopped_s.pop(at, None)
        before, inputs = self._restarted.pop(at, None), (metadata.get("annotations") or {}).get(INPUTS_HASH, "")
        refused = at in self._refused
        self._refused.discard(at)
        if before is not None and not event.late and not refused and before == (inputs, self._generation(at[1])):
            self._fail(NEEDLESS, f"pod {metadata['name']} was stopped, and is made of the very same again")

    def refused(self, body: Json) -> None:
        """A pod is refused. If a Kafka pod would have been refused before the restart, the operator did not ask."""
        metadata = body["metadata"]
        if LABEL_QUORUM not in metadata["labels"]:
            return
        at = (metadata["namespace"], metadata["labels"][LABEL_QUORUM], metadata["labels"][LABEL_NODE])
        stopped_s = self._stopped_s.pop(at, None)
        self._refused.add(at)
        if stopped_s is not None and stopped_s - self._world.kube.admission.changed_s > _ASKED_S:
            self._fail(SUCCESSOR, f"pod {metadata['name']} was stopped, and the API server refuses its successor")

    def _too_few(self, event: PodDeleted, glance: Glance, key: ReplicaKey) -> bool:
        """Whether the remaining voters are too few; one or two voters need a permission for the interruption."""
        if glance.leader is None:
            return True
        gone = {glance.leader.known(other) for other in (*self._away, key)}
        staying = len(glance.caught_up - gone)
        if len(glance.voters) > _PAIR:
            return staying <= len(glance.voters) // 2
        return not self._may_interrupt(event.quorum) or staying < len(glance.voters) - 1

    def _may_interrupt(self, quorum: str) -> bool:
        if changed_meanwhile(self._world, quorum):
            return True
        said = asked(self._world, quorum, "controllers", "allowInterruption")
        return bool(asked(self._world, quorum, "controllers", "replicas") == 1 if said is None else said)

    def _left(self, event: PodDeleted, glance: Glance) -> list[str]:
        """Other voters that still run with the inputs of the stopped pod: they come before it.

        One that its own Secret holds does not, if the certificate of the stopped one ends within a minute.
        """
        names, hurries = [], event.process is not None and self._ends_soon(event.process)
        for pod in self._world.kube.all(PODS):
            metadata = pod["metadata"]
            sandbox = self._world.kubelet.sandboxes.get(metadata["uid"])
            process = sandbox.process if sandbox else None
            if process is None or metadata["name"] == event.name or glance.leader is None:
                continue
            same = (metadata.get("annotations") or {}).get(INPUTS_HASH, "") == event.inputs
            ours = (metadata.get("labels") or {}).get(LABEL_QUORUM) == event.quorum
            held = hurries and self._is_held(event, process)
            if ours and same and event.inputs and not held and glance.leader.known(process.key) in glance.voters:
                names.append(str(metadata["name"]))
        return names

    def _note(self, event: PodDeleted) -> None:
        node_id = event.process.meta.node_id if event.process else 0
        at = (event.namespace, event.quorum, str(node_id))
        self._restarted[at] = (event.inputs, self._generation(event.quorum))
        self._stopped_s[at] = self._world.clock.elapsed_s

    def _generation(self, quorum: str) -> int:
        body: Json = resource_of(self._world, quorum)
        return int(body["metadata"]["generation"]) if body else 0


def _has_majority(glance: Glance) -> bool:
    """Whether a leader had a caught-up majority: only then does the stop of a controller take something away."""
    return glance.leader is not None and len(glance.caught_up) > len(glance.voters) // 2
