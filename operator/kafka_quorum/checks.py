"""The leader's answers to feature steps that it only validates: the next one in every look, others once a minute."""

from dataclasses import dataclass
from typing import Final

from kafka_quorum.model.known import Knowable
from kafka_quorum.model.memory import Announced, StepCheck
from kafka_quorum.model.quorum import FeatureStep
from kafka_quorum.model.situation import Situation
from kafka_quorum.observe import gather
from kafka_quorum.plan.releases.wants import announced, questions
from kafka_quorum.wire.protocol import Controllers
from kit.clock import Clock

_ANNOUNCED_FOR_S: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """The leader's answers to validated steps, and those of them that are remembered."""

    answers: tuple[tuple[FeatureStep, Knowable[StepCheck]], ...]
    announced: Announced | None


async def checked(controllers: Controllers, clock: Clock, situation: Situation | None, looked: gather.Look) -> Checks:
    """The leader's answer to the next step, in every look; and to steps that could be taken, once a minute."""
    if situation is None:
        return Checks(answers=(), announced=None)
    asked = await gather.checks(controllers, looked.leader, questions(situation))
    could = announced(situation)
    told, now_s = situation.observed.memory.announced, clock.monotonic()
    fresh = told is not None and now_s - told.at_s < _ANNOUNCED_FOR_S
    if could and (told is None or not fresh or tuple(step for step, _ in told.checks) != could):
        answers = await gather.checks(controllers, looked.leader, could)
        told = Announced(at_s=now_s, checks=answers) if answers else None
    kept = told.checks if told is not None and could else ()
    return Checks(answers=(*asked, *kept), announced=told if could else None)
