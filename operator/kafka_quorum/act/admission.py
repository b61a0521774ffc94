"""Ask the API server whether it would accept a pod, and remember what it refused.

An answer that allows something is used in the pass that got it, and then forgotten. A refusal is remembered, so that it
can be shown. It is asked about again after a pause that doubles. If the memory is lost, a creation is tried again.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kafka_quorum.act.building import Context, formatter_pod, kafka_pod, node_of
from kafka_quorum.model import admission
from kafka_quorum.model.actions import CreateFormatter, CreatePod
from kafka_quorum.model.admission import Admission, Admissions, PodQuestion
from kafka_quorum.model.identity import FormatMode
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.nodes import config_of
from kafka_quorum.model.observed import Observed, Revision
from kafka_quorum.model.plan import Outcome
from kafka_quorum.model.pods import PodRole
from kafka_quorum.resources.quota import fits_instead
from kafka_quorum.settings import Settings
from kit.clock import Clock
from kit.errors import KubeAlreadyExists, KubeConflict, KubeError, KubeRefused
from kit.kube.protocol import PODS, Json, KubeApi

_FIRST_PAUSE_S: Final = 2.0
_LAST_PAUSE_S: Final = 30.0
_DISTRUST_S: Final = 300.0
"""If a creation from a revision was refused, no running controller is stopped for that revision for this long."""
_REMEMBERED: Final = 256
"""The limit for one quorum: revisions are kept, so their number grows with every change of the spec."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refusal:
    """`times` in a row, last at `at_s`; a creation was refused at `created_at_s`, if ever (monotonic seconds)."""

    words: str
    at_s: float
    times: int
    created_at_s: float | None = None


class PodAdmission:
    """The questions about the pods of every quorum, and the remembered refusals."""

    def __init__(self, kube: KubeApi, clock: Clock, settings: Settings) -> None:
        """Keep the edges."""
        self._kube = kube
        self._clock = clock
        self._settings = settings
        self._refusals: dict[tuple[str, str], dict[PodQuestion, _Refusal]] = {}

    def forget(self, namespace: str, name: str) -> None:
        """Forget a resource that is gone."""
        self._refusals.pop((namespace, name), None)

    def remembered(self, namespace: str, name: str) -> Admissions:
        """The refusals of this quorum's pods."""
        now_s = self._clock.monotonic()
        return tuple(
            (question, Known(value=_as_admission(refusal, now_s)))
            for question, refusal in self._refusals.get((namespace, name), {}).items()
        )

    async def ask(self, questions: tuple[PodQuestion, ...], observed: Observed, context: Context) -> Admissions:
        """What was remembered, and new answers to these questions."""
        desired = context.desired
        answers = await asyncio.gather(*(self._ask(question, observed, context) for question in questions))
        refusals = self._refusals.setdefault((desired.namespace, desired.name), {})
        for question, answer in zip(questions, answers, strict=True):
            if isinstance(answer, Known) and not answer.value.allowed:
                before = refusals.get(question)
                created_at_s = before.created_at_s if before else None
                refusals[question] = self._refusal(before, answer.value.words, created_at_s)
        known = self.remembered(desired.namespace, desired.name)
        return admission.merged(known, zip(questions, answers, strict=True))

    def learn(self, outcomes: tuple[Outcome, ...], context: Context, revisions: Iterable[str]) -> None:
        """Remember the pods that were refused at their creation, and forget the refusals of those that were not.

        Refusals of controllers that no longer exist are forgotten too, and those of revisions that are not among these
        names. Of the others, only a fixed number is kept, the oldest being dropped.
        """
        desired, record = context.desired, context.record
        refusals = self._refusals.setdefault((desired.namespace, desired.name), {})
        known = set(revisions)
        for outcome in outcomes:
            if not isinstance(outcome.action, CreatePod | CreateFormatter):
                continue
            question = PodQuestion(
                node_id=outcome.action.node_id,
                revision=outcome.action.revision.name,
                formatter=isinstance(outcome.action, CreateFormatter),
            )
            if outcome.done:
                refusals.pop(question, None)
            elif outcome.refused:
                now_s = self._clock.monotonic()
                refusals[question] = self._refusal(refusals.get(question), outcome.refused, now_s)
        present = record.node_ids if record else ()
        left = [row for row in refusals.items() if row[0].node_id in present and row[0].revision in known]
        left.sort(key=lambda row: row[1].at_s)
        self._refusals[desired.namespace, desired.name] = dict(left[-_REMEMBERED:])

    def _refusal(self, before: _Refusal | None, words: str, created_at_s: float | None) -> _Refusal:
        times = before.times + 1 if before else 0
        return _Refusal(words=words, at_s=self._clock.monotonic(), times=times, created_at_s=created_at_s)

    async def _ask(self, question: PodQuestion, observed: Observed, context: Context) -> Knowable[Admission]:
        revision = observed.revision(question.revision)
        if revision is None:
            return Unknown(reason=f"ControllerRevision {question.revision} is missing")
        try:
            body = self._body(question, revision, context)
            await self._kube.create(PODS, context.desired.namespace, body, dry_run=True)
        except (KubeAlreadyExists, KubeConflict):
            pass  # everything but the name was accepted, and the pod of that name is the one to be deleted
        except KubeRefused as error:
            words = error.said or str(error)
            if self._has_room(words, question, revision, observed, context):
                return Known(value=Admission(allowed=True))
            return Known(value=Admission(allowed=False, words=words))
        except KubeError as error:
            return Unknown(reason=str(error))
        return Known(value=Admission(allowed=True))

    def _body(self, question: PodQuestion, revision: Revision, context: Context) -> Json:
        record, node = node_of(context, question.node_id)
        initial = question.formatter and node.mode is not FormatMode.NO_INITIAL_CONTROLLERS
        config = config_of(context.desired.name, record, revision, initial=initial)
        build = formatter_pod if question.formatter else kafka_pod
        return build(node.node_id, revision, config, context, self._settings.image_pull_policy)

    def _has_room(
        self, words: str, question: PodQuestion, revision: Revision, observed: Observed, context: Context
    ) -> bool:
        """Whether a quota refuses the new pod only beside the old one, which is gone before the new one is created."""
        _, node = node_of(context, question.node_id)
        old = next(iter(observed.pods_of(node.node_id, PodRole.KAFKA)), None)
        present = observed.revision(old.revision) if old else None
        if question.formatter or present is None:
            return False
        before = self._body(question, present, context)
        return fits_instead(words, before, self._body(question, revision, context))


def _as_admission(refusal: _Refusal, now_s: float) -> Admission:
    pause_s = min(_FIRST_PAUSE_S * 2**refusal.times, _LAST_PAUSE_S)
    created_at_s = refusal.created_at_s
    return Admission(
        allowed=False,
        words=refusal.words,
        current=now_s - refusal.at_s < pause_s,
        created=created_at_s is not None and now_s - created_at_s < _DISTRUST_S,
    )
