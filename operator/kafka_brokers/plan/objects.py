"""Services and the disruption budget. Pure."""

import json
from collections.abc import Iterator, Sequence

from kafka_brokers.model import names
from kafka_brokers.model.actions import Action, ApplyBudget, ApplyService, DeleteService
from kafka_brokers.model.disks import BrokerIdentity
from kafka_brokers.model.observed import Support
from kafka_brokers.model.plan import Part, Severity, Wait
from kafka_brokers.plan.facts import Situation, holder_of, owns_token
from kafka_brokers.plan.guards.rule11_stops import may_stop
from kafka_brokers.plan.leaving import is_lost
from kafka_brokers.plan.rolls import still_runs
from kafka_brokers.resources import objects as builders
from kafka_quorum.model.known import Known
from kit.kube.protocol import Json


def objects(situation: Situation) -> Part:
    """The services that the listeners need, and a budget that lets a drain stop a broker only if we would."""
    built = builders.services(situation.desired, situation.desired.runtime, situation.record.node_ids)
    waits = tuple(_foreign(situation, {body["metadata"]["name"] for body in built}))
    return Part(actions=(*_services(situation, built), *_budget(situation)), waits=waits)


def _services(situation: Situation, built: tuple[Json, ...]) -> Iterator[Action]:
    present = {one.name: one for one in situation.observed.support if one.kind == "Service"}
    for body in built:
        name = body["metadata"]["name"]
        one = present.get(name)
        if one is None or (not one.foreign and not _same(one, body)):
            yield ApplyService(name=name)
    if situation.repair_only:
        return
    wanted = {body["metadata"]["name"] for body in built}
    for one in present.values():
        ours = one.owner_uid == situation.desired.uid and not one.foreign
        if one.name not in wanted and ours and not one.deleting:
            yield DeleteService(name=one.name, uid=one.uid)


def _same(present: Support, body: Json) -> bool:
    asked = {port["name"]: port["nodePort"] for port in body["spec"]["ports"] if "nodePort" in port}
    found = dict(present.node_ports)
    return present.facts == builders.facts_of(body) and all(found.get(name) == port for name, port in asked.items())


def _foreign(situation: Situation, wanted: set[str]) -> Iterator[Wait]:
    for one in situation.observed.support:
        if one.kind == "Service" and one.foreign and one.name in wanted:
            text = f"Did not use service {one.name}: something else controls it. Delete it, or rename the pool"
            yield Wait(severity=Severity.DEGRADED, reason="ForeignObject", message=text)


def _budget(situation: Situation) -> Iterator[Action]:
    """A broker that leaves, is lost and has no pod is not waited for: it never comes back."""
    brokers = [one for one in situation.record.brokers if one.ran and not one.empty and not _never_back(situation, one)]
    if not brokers:
        return
    least = len(brokers) - _allowance(situation, brokers)
    body = builders.budget(situation.desired, least)
    name = names.budget_name(situation.desired.name)
    budgets = (one for one in situation.observed.support if one.kind == "PodDisruptionBudget")
    present = next((one for one in budgets if one.name == name), None)
    if present is None or (not present.foreign and present.facts != builders.facts_of(body)):
        before = _least(present)
        yield ApplyBudget(min_available=least, looser=before is not None and least < before)


def _never_back(situation: Situation, broker: BrokerIdentity) -> bool:
    gone = situation.observed.broker_pod(broker.node_id) is None
    return broker.leaving and gone and is_lost(situation, broker)


def _allowance(situation: Situation, brokers: Sequence[BrokerIdentity]) -> int:
    """How many of these brokers may be away: those that we stop; or one, if each could be stopped by itself now."""
    if any(one.stopped for one in situation.record.brokers) and owns_token(situation.desired, situation.observed):
        return sum(_may_be_away(situation, one) for one in brokers)
    token = situation.observed.token
    if not isinstance(token, Known) or token.value.holder not in {"", holder_of(situation.desired)}:
        return 0
    ids = [one.node_id for one in situation.record.brokers if one.ran and not one.empty]
    return int(
        all(may_stop(situation.desired, situation.observed, (node_id,), situation.now_s).allowed for node_id in ids)
    )


def _may_be_away(situation: Situation, broker: BrokerIdentity) -> bool:
    """Whether a broker is to be stopped by us, or is away because we stopped it, or has no replica and is away.

    No stop of ours waits for one that is away without a replica, so the budget must not refuse it for that one.

    It is away as long as Kubernetes does not count its pod as ready. One that is ready again, and not in sync yet, or
    that is on a machine that has just failed, would let a drain stop another broker in its place.
    """
    pod, view = situation.observed.broker_pod(broker.node_id), situation.view
    if broker.stopped and still_runs(situation, broker):
        return True
    if pod is not None and pod.ready and not pod.deleting:
        return False
    if broker.stopped:
        return True
    idle = view is not None and broker.node_id not in view.by_broker
    return idle and situation.observed.fenced(broker.node_id) is True


def _least(present: Support | None) -> int | None:
    """The number in the facts of a budget; None if there is none."""
    if present is None:
        return None
    found = json.loads(present.facts)[0]
    return found if isinstance(found, int) else None
