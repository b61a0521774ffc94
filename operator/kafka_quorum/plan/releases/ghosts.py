"""Ghosts: controllers that were removed and are still registered. A ghost can block every feature step.

From metadata.version 4.4 on Kafka can forget them, and each one is unregistered when it is seen. Below that version a
ghost is left alone until it blocks a step. Then it is registered again with the ranges of the controllers that run.
"""

import re
from typing import Final

from kafka_quorum.api.features import METADATA
from kafka_quorum.model.actions import CureGhost
from kafka_quorum.model.identity import BootstrapPhase
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.names import all_advertised
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.permit import Refusal
from kafka_quorum.model.quorum import FeatureRange
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.facts.leader import leader_endpoint
from kafka_quorum.plan.guards.rule7_releases import may_cure_ghost
from kafka_quorum.plan.part import Part

UNREGISTER_SINCE: Final = 33
"""4.4-IV2, the metadata.version from which a controller can be unregistered (measured, tests/live/test_ghosts.py)."""
_NAMED: Final = re.compile(r"[Cc]ontroller ([0-9]{1,10}) only supports")


def ghosts_in_the_way(situation: Situation) -> Part:
    """Unregister, or register again, one ghost that blocks a step."""
    return _ghosts(situation, in_the_way=True)


def other_ghosts(situation: Situation) -> Part:
    """Unregister one ghost that can be forgotten, when nothing else is to do."""
    return _ghosts(situation, in_the_way=False)


def _ghosts(situation: Situation, *, in_the_way: bool) -> Part:
    desired, observed, record = situation.desired, situation.observed, situation.record
    leader = leader_endpoint(situation)
    if record.phase is not BootstrapPhase.STARTED or leader is None or isinstance(observed.quorum, Unknown):
        return Part()
    forgets = situation.present.get(METADATA, 0) >= UNREGISTER_SINCE
    refused = Part()
    for node_id in _in_the_way(observed) if in_the_way else _registered(observed) if forgets else ():
        if record.node(node_id) is not None:
            continue
        verdict = may_cure_ghost(situation, node_id)
        if isinstance(verdict, Refusal):
            # It belongs to another quorum, or is not gone yet: the search for other ghosts goes on.
            refused = Part(verdicts=(*refused.verdicts, verdict))
            continue
        anew = "is registered with the levels of the active controller: its old registration blocks a step"
        how = "is unregistered" if forgets else anew
        cure = CureGhost(
            leader=leader,
            node_id=node_id,
            listeners=all_advertised(desired.namespace, desired.member(node_id), situation.runtime),
            supported=() if forgets else _ranges(observed, leader.node_id),
            message=f"controller {node_id} {how}: {verdict.reason}",
            permit=verdict,
            judged_at_s=observed.quorum.value.taken_at_s,
        )
        if forgets or cure.supported:
            return Part(exclusive=cure, verdicts=(verdict,))
    return refused


def _registered(observed: Observed) -> tuple[NodeID, ...]:
    return observed.registered.value if isinstance(observed.registered, Known) else ()


def _in_the_way(observed: Observed) -> tuple[NodeID, ...]:
    """The controllers that the active controller named when it refused a step."""
    refusals = (
        check.value.words for _, check in observed.checks if isinstance(check, Known) and not check.value.allowed
    )
    return tuple(dict.fromkeys(NodeID(int(number)) for words in refusals for number in _NAMED.findall(words)))


def _ranges(observed: Observed, node_id: NodeID) -> tuple[FeatureRange, ...]:
    answer = observed.versions_of(node_id)
    return answer.value.supported if isinstance(answer, Known) else ()
