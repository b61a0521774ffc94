"""Rule 13 on ground truth: what running servers have loaded decides who reaches whom, and keys are in Secrets only."""

import base64
import re
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Final

from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kafka.tls import NOT_TRUSTED, OTHER_NAME, Secured, why_not_connected
from tests.simulation.model.kubernetes.kube_model import Written, seen
from tests.simulation.model.world import World
from tests.simulation.rules.broker_trust_rules import BrokerTrustRules
from tests.simulation.rules.glances import WINDOW_S

from kafka_quorum.model.names import LABEL_QUORUM
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Plan
from kit.kube.protocol import PODS
from kit.kube.secrets import SECRETS
from kit.pki.authority import SKEW
from kit.pki.certificate import Certificate

_KEY: Final = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----\n(.+?)\n-----END", re.DOTALL)
_USER: Final = re.compile(r'\buser_([a-z-]+)="([^"]*)"')
_MARK: Final = "PRIVATE KEY"
_MARKED: Final = base64.b64encode(b"-----BEGIN PRIVATE KEY-----").decode()[:-1]


ENDED: Final = "13, ended"
_IN_TIME_S: Final = 30.0
"""How long nothing may be in the way of a restart that is due: for so long a lost answer can delay the operator."""
_PAIR: Final = 2
_DUE: Final = 6
"""A restart is due in the middle of the last third of a certificate's life: a sixth of it before its end."""


class TrustRules:
    """What every step, every write and every plan must keep."""

    def __init__(self, world: World, fail: Callable[[str, str], None]) -> None:
        """Listen to each write."""
        self._world, self._fail = world, fail
        self._keys: set[str] = set()
        """Lines of every key that a Secret has had."""
        self._whole_s: dict[str, float] = {}
        """Since when nothing is in the way of a restart."""
        self._neglected: set[str] = set()
        """The processes whose restart was due, and which nothing prevented."""
        world.kube.watchers.append(self._written)
        self._brokers = BrokerTrustRules(world, fail, self.ends_in_time)

    def look(self) -> None:
        """Judge the servers that run."""
        self._listeners()
        running = [one for one in self._world.kraft.processes if one.tls is not None and not one.broker]
        for _, group in groupby(sorted(running, key=lambda one: one.cluster_id), key=lambda one: one.cluster_id):
            self._quorum(list(group))
        self._brokers.look(lambda cluster_id: self._whole_s.get(cluster_id, self._world.clock.elapsed_s))

    def _listeners(self) -> None:
        """No listener is dropped that a running controller needs: each one can reach a majority by its first one."""
        controllers = [one for one in self._world.kraft.processes if not one.broker]
        for one in controllers:
            voters = [
                each for each in controllers if each.cluster_id == one.cluster_id and one.known(each.key) in one.voters
            ]
            if one not in voters or not any(each.listens != one.listens for each in voters):
                continue
            reached = sum(any(name == one.listener for name, _ in each.listens) for each in voters)
            if 2 * reached <= len(voters):
                self._fail("7, listener", f"controller {one.meta.node_id} reaches no majority by {one.listener}")

    def _quorum(self, members: list[Process]) -> None:
        voters = [one for one in members if one.known(one.key) in one.voters]
        for one in voters:
            reached = [other for other in voters if other is not one and self._trusts(one, other)]
            if 2 * (len(reached) + 1) <= len(voters):
                text = f"controller {one.meta.node_id} has no majority that accepts its certificate, and it theirs"
                self._fail("13", text)
        self._passwords(members)
        whole_s = self._since_whole(members)
        if self._world.certificates_may_end:
            return
        for one in members:
            self.ends_in_time(one, whole_s)

    def _passwords(self, members: list[Process]) -> None:
        """Controllers log in to each other: a user has one password at all of them."""
        known: dict[str, str] = {}
        for one in members:
            for user, word in _USER.findall("" if one.tls is None else one.tls.users):
                if known.setdefault(user, word) != word:
                    self._fail("13, users", f"controller {one.meta.node_id} has another password of {user} than others")

    def ends_in_time(self, one: Secured, whole_s: float) -> None:
        """A certificate ends only if, since the restart was due, something was in the way of it again and again."""
        now, now_s, tls = self._world.clock.now(), self._world.clock.elapsed_s, one.tls
        if tls is None:
            return
        left_s = (tls.shown.not_after - now).total_seconds()
        due_s = now_s + left_s - (tls.shown.not_after - tls.shown.not_before - SKEW).total_seconds() / _DUE
        if now_s - max(due_s, whole_s) >= _IN_TIME_S:
            self._neglected.add(one.incarnation)
        if tls.served.not_after <= now and (one.incarnation in self._neglected or tls.shown.not_after > now):
            self._fail(ENDED, f"{one.host} shows a certificate as a server that has ended")
        if left_s <= 0 and one.incarnation in self._neglected:
            self._fail(ENDED, f"{one.host} shows a certificate as a client that has ended")

    def _since_whole(self, members: list[Process]) -> float:
        """Since when any voter may restart: all are caught up, more than two, and no pod or machine is on its way."""
        kraft, now_s, cluster_id = self._world.kraft, self._world.clock.elapsed_s, members[0].cluster_id
        leader = kraft.leader_of(cluster_id)
        whole = (
            leader is not None
            and len(leader.voters) == len(members) > _PAIR
            and not kraft.uncommitted_change(leader)
            and all(kraft.is_caught_up(leader, key, WINDOW_S) for key in leader.voters)
            and all(self._may_be_replaced(one) for one in members)
        )
        since_s = self._whole_s.get(cluster_id, now_s) if whole else now_s
        self._whole_s[cluster_id] = since_s
        return since_s

    def _may_be_replaced(self, one: Process) -> bool:
        """Whether its pod is not on its way out, and its machine takes another one."""
        sandboxes = self._world.kubelet.sandboxes.values()
        pods = (self._world.kube.view(PODS, each.namespace, each.name) for each in sandboxes if each.process is one)
        going = any(pod is None or "deletionTimestamp" in pod["metadata"] for pod in pods)
        return not going and self._world.machines.takes_no_pods_s(one.node) == 0

    def _trusts(self, one: Process, other: Process) -> bool:
        """Whether both may connect to each other, whatever the time is.

        What a certificate's end has cut already, no other trust can cut.
        """
        now = self._world.clock.now()
        if any(each.tls is not None and each.tls.shown.not_after <= now for each in (one, other)):
            return True
        for client, server in ((one, other), (other, one)):
            if client.is_plain(client.listener) or server.is_plain(client.listener):
                continue
            at = max(each.not_before for each in _shown(client, server))
            if why_not_connected(client, server, at, at) in {NOT_TRUSTED, OTHER_NAME}:
                return False
        return True

    def _written(self, written: Written) -> None:
        if written.after is None:
            return
        if written.key[0] == SECRETS.plural:
            self._overwritten(written)
            data = (seen(written.after) or {}).get("data") or {}
            texts = (base64.b64decode(value).decode() for value in data.values())
            self._keys.update(line for text in texts for block in _KEY.findall(text) for line in block.splitlines())
        elif self._keys:
            self._search(written.after.decode("latin-1"), f"{written.key[0]} {written.key[2]}")

    def _overwritten(self, written: Written) -> None:
        """Whose Secret it was before the operator wrote it."""
        before = seen(written.before)
        owner = ((before or {}).get("metadata", {}).get("labels") or {}).get(LABEL_QUORUM)
        if written.by_operator and before is not None and owner != written.labels.get(LABEL_QUORUM):
            self._fail("13, others", f"Secret {written.key[2]} of {owner} is written")

    def planned(self, plan: Plan | None) -> None:
        """No plan has a key: it is logged."""
        if plan is not None and self._keys:
            self._search(repr(plan), "a plan")

    def saw(self, observed: Observed) -> None:
        """No look has a key: it is stored as an observation."""
        if self._keys and observed.material is not None:
            self._search(repr(observed), "a look")

    def _search(self, text: str, where: str) -> None:
        if _MARK in text or _MARKED in text or any(line in text for line in self._keys):
            self._fail("13, secret", f"{where} has a private key")


def _shown(client: Process, server: Process) -> Iterator[Certificate]:
    if client.tls is not None and server.tls is not None:
        yield client.tls.shown
        yield server.tls.served
