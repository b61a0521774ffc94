"""Rule 7: the gates of a change of the controllers' listener. No listener is dropped that a running server needs."""

from typing import Final

from kafka_quorum.api.release import parse_release
from kafka_quorum.model.bundles import bundle_of
from kafka_quorum.model.conformance import is_confirmed, why_brokers_hold
from kafka_quorum.model.desired import ControllerListener
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.migration import LISTENERS, Keeper, ListenerChange
from kafka_quorum.model.names import host_name
from kafka_quorum.model.permit import (
    BeginListeners,
    BrokersToListener,
    DropListener,
    ListenersChanged,
    PreferListener,
    ReturnToListener,
)
from kafka_quorum.model.pods import PodRole
from kafka_quorum.model.quorum import Listener
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.contract import everywhere, is_published
from kafka_quorum.plan.guards.registry import Answer, guard, no, unless, yes
from kafka_quorum.plan.guards.rule3_voters import CAUGHT_UP_LOOKS
from kafka_quorum.plan.guards.rule7_migrations import may_begin_migration

SINCE: Final = (4, 4)
"""The first release on which it was measured."""


def what_listeners_lack(situation: Situation, asked: ControllerListener) -> str:
    """What a person must correct before the change can begin; empty if nothing."""
    present, record = situation.runtime.listener, situation.record
    if asked.name == present.name or asked.port == present.port:
        both = f"the present one is {present.name} on port {present.port}"
        return (
            "the controllers have both listeners for a while, so the new one needs another name and another port "
            f"({both}). Change name and port in spec.controllers.listeners"
        )
    if record.static:
        return "the quorum is static. Request kraft.version 1 in spec.kafka.features.levels first"
    if record.overlay.keeper is not Keeper.NONE:
        return "the quorum migrates from ZooKeeper. Complete that first, or restore spec.controllers.listeners"
    release = parse_release(situation.runtime.release)
    if release is None or release[:2] < SINCE:
        return f"Kafka {situation.runtime.release} is too old for it. Roll out {'.'.join(map(str, SINCE))} or later"
    return ""


@guard(BeginListeners)
def may_begin_listeners(situation: Situation, asked: ControllerListener) -> Answer:
    """Rule 7: as every migration; and the new listener can run beside the present one, with certificates if it must."""
    began = may_begin_migration(situation, LISTENERS.title, what_listeners_lack(situation, asked))
    if not began.allowed:
        return no(began.reason)
    wanted = None if situation.observed.material is None else situation.observed.material.wanted_trust
    trusted = isinstance(wanted, Known) and bool(bundle_of(wanted.value).authorities)
    missing = asked.protocol.encrypted and not trusted
    first = f"Waiting to begin the migration {LISTENERS.title}"
    return unless(((missing, f"{first}: the certificates of the controllers are not made yet"),), began.reason)


@guard(BrokersToListener)
def may_send_brokers(situation: Situation, change: ListenerChange) -> Answer:
    """Rule 7: every controller runs with both listeners, and the voter set has both."""
    first = "Waiting for every controller to have both listeners"
    return _when(first, (*_not_steady(situation), *_lacking(situation, (change.old, change.new))))


@guard(PreferListener)
def may_prefer(situation: Situation, change: ListenerChange) -> Answer:
    """Rule 7: every broker uses the new listener, and every voter has it in the voter set."""
    first = "Waiting for the brokers to use the new listener"
    both = _lacking(situation, (change.old, change.new))
    return _when(first, (*_not_steady(situation), *both, *_brokers(situation)))


@guard(DropListener)
def may_drop_listener(situation: Situation, change: ListenerChange) -> Answer:
    """Rule 7: no controller and no broker uses the earlier listener."""
    first = "Waiting to drop the earlier listener"
    both = _lacking(situation, (change.old, change.new))
    return _when(first, (*_not_steady(situation), *both, *_brokers(situation)))


@guard(ListenersChanged)
def may_end_listeners(situation: Situation, change: ListenerChange) -> Answer:
    """Rule 7: every controller runs without the earlier listener."""
    first = "Waiting for every controller to restart without the earlier listener"
    return _when(first, (*_not_steady(situation), *_lacking(situation, (change.new,)), *_brokers(situation)))


@guard(ReturnToListener)
def may_return(situation: Situation, change: ListenerChange, index: int) -> Answer:
    """Rule 7: one stage back. Each way back leads to a stage in which everybody has what they use now.

    From the first stage the new listener is dropped, so no broker and no controller may use it. From the third one the
    controllers use the earlier listener again, so every controller must have it. None of them has to keep up: the new
    listener may be what does not work.
    """
    first = "Waiting to go back to the earlier listener"
    if index == 0:
        return _when(first, (*_using_new(situation, change), *_brokers(situation)))
    if index < _PREFER:
        return _when(first, _using_new(situation, change))
    if index == _PREFER:
        both = (change.old, change.new)
        return _when(first, (*_without(situation, both), *_lacking(situation, both)))
    return yes("every server keeps a listener that it uses")


_PREFER: Final = 2


def _using_new(situation: Situation, change: ListenerChange) -> tuple[str, ...]:
    """Which controllers are made so that they reach the others by the new listener, now or next. Unknown is one."""
    observed = situation.observed
    made = [(pod.node_id, observed.revision(pod.revision)) for pod in observed.pods if pod.role is PodRole.KAFKA]
    made += [(node.node_id, situation.revision_of(node)) for node in situation.record.nodes]
    using = sorted({str(node_id) for node_id, each in made if each is None or each.runtime.preferred == change.new})
    return (f"controllers {', '.join(using)} reach the others by {change.new.name}",) if using else ()


def _without(situation: Situation, wanted: tuple[ControllerListener, ...]) -> tuple[str, ...]:
    """Which controllers are not known to have all these listeners, now and next."""
    observed = situation.observed
    made = [(pod.node_id, observed.revision(pod.revision)) for pod in observed.pods if pod.role is PodRole.KAFKA]
    made += [(node.node_id, situation.revision_of(node)) for node in situation.record.nodes]
    lacking = {str(node_id) for node_id, each in made if each is None or not set(wanted) <= set(each.runtime.listeners)}
    names = " and ".join(each.name for each in wanted)
    return (f"controllers {', '.join(sorted(lacking))} are not known to have {names}",) if lacking else ()


def _when(first: str, wrong: tuple[str, ...]) -> Answer:
    found = next(filter(None, wrong), "")
    return unless(((bool(found), f"{first}: {found}"),), "every server has what the next stage needs")


def _not_steady(situation: Situation) -> tuple[str, ...]:
    """Why the controllers are not all made from this stage, caught up for some looks."""
    observed = situation.observed
    if isinstance(observed.quorum, Unknown):
        return (f"the quorum has no leader ({observed.quorum.reason})",)
    view = observed.quorum.value
    older = ", ".join(str(node.node_id) for node in situation.older)
    new = [node.key for node in situation.record.nodes if observed.memory.looks(node.key) < CAUGHT_UP_LOOKS]
    return (
        f"controllers {older} do not run from revision {situation.target} yet" if older else "",
        "" if everywhere(situation) else "one of the controllers does not run, or is not caught up",
        "" if view.committed and not view.changing else "the voter set is not committed",
        f"controller {new[0].node_id} was not caught up in {CAUGHT_UP_LOOKS} looks" if new else "",
    )


def _lacking(situation: Situation, wanted: tuple[ControllerListener, ...]) -> tuple[str, ...]:
    """Which voters do not have these listeners in the leader's voter set. One that is not in its answer is unknown."""
    quorum = situation.observed.quorum
    if isinstance(quorum, Unknown):
        return ("the quorum has no leader",)
    known, desired = dict(quorum.value.answer.listeners), situation.desired
    missing = []
    for key in sorted(quorum.value.voters, key=str):
        host = host_name(desired.namespace, desired.member(key.node_id))
        has = known.get(key.node_id, ())
        missing += [
            f"{key.node_id} ({each.name})"
            for each in wanted
            if Listener(name=each.name, host=host, port=each.port) not in has
        ]
    return (f"the voter set does not have the listeners of {', '.join(missing)} yet",) if missing else ()


def _brokers(situation: Situation) -> tuple[str, ...]:
    """Why not every registered broker is known to use the listener of this stage."""
    if not is_published(situation):
        return ("the settings of brokers are not published yet",)
    if brokers := why_brokers_hold(situation):
        return (brokers,)
    seen = situation.observed.brokers
    rows = seen.value if isinstance(seen, Known) else ()
    fenced = ", ".join(str(one.node_id) for one in rows if one.fenced)
    unknown = "" if is_confirmed(situation) else ", ".join(str(one.node_id) for one in rows if one.fenced is None)
    return (
        f"broker {fenced} is fenced: it does not reach the controllers" if fenced else "",
        f"it is not known whether broker {unknown} reaches the controllers" if unknown else "",
    )
