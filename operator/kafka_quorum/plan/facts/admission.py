"""Uses of the API server's answers about pods: what may be stopped, and from which revision a pod is created.

A running controller is stopped for another revision only after its new pod was accepted. A controller without a pod,
whose pod is refused, moves to the newest revision that is accepted: first the spec's, then the applied one.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from kafka_quorum.model.admission import Admission, PodQuestion
from kafka_quorum.model.identity import NodeIdentity
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import Severity, Wait
from kafka_quorum.model.pods import PodRole
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.part import Part

POD_REFUSED: Final = "PodRefused"
_WAY_OUT: Final = "Correct the spec, or remove the cause"


def before_stop(observed: Observed, node: NodeIdentity, revision: str, *, reason: str, held: str) -> Part | None:
    """What prevents the stop of a running controller to run it from `revision`; None if its new pod is accepted.

    `reason` is that of the wait for an answer, `held` that of the wait after a refusal. The API server may refuse a pod
    although it accepted the dry run. Such a revision is not trusted for some minutes, because otherwise one controller
    after another would stop.
    """
    question = PodQuestion(node_id=node.node_id, revision=revision)
    first = f"Did not restart controller {node.node_id}"
    if (failed := _refused_lately(observed, revision)) is not None:
        refused = f"the API server refused a pod from revision {revision} a short time ago"
        text = f"{first}: {refused} ({failed.words}). {_WAY_OUT}"
        return Part(waits=(_wait(Severity.HELD, held, text, node.node_id),))
    waiting = f"Waiting to restart controller {node.node_id}"
    if observed.admission(question) is None:
        text = f"{waiting}: the operator first asks the API server whether it accepts the new pod"
        return Part(waits=(_wait(Severity.PROGRESS, reason, text, node.node_id),), questions=(question,))
    unchecked = _wait(Severity.PROGRESS, reason, f"{waiting}: the API server could not check its new pod", node.node_id)
    text = f"{first}: the API server refuses its new pod from revision {revision}"
    return _unless_accepted(observed, question, unchecked, _wait(Severity.HELD, held, text, node.node_id))


def before_create(observed: Observed, node: NodeIdentity, revision: str, *, formatter: bool = False) -> Part | None:
    """What prevents the creation of a pod: the refusal of an earlier attempt, until a dry run is accepted."""
    question = PodQuestion(node_id=node.node_id, revision=revision, formatter=formatter)
    subject = f"the {'formatter' if formatter else 'pod'} of controller {node.node_id}"
    waiting = f"Waiting to create {subject}: the API server could not check it"
    unchecked = _wait(Severity.DEGRADED, POD_REFUSED, waiting, node.node_id)
    text = f"Did not create {subject} from revision {revision}"
    return _unless_accepted(observed, question, unchecked, _wait(Severity.DEGRADED, POD_REFUSED, text, node.node_id))


def refuses_next(observed: Observed, node: NodeIdentity, revision: str) -> bool:
    """Whether the API server refused the pod with which this controller would run from `revision` a moment ago."""
    answer = observed.admission(PodQuestion(node_id=node.node_id, revision=revision))
    refused = isinstance(answer, Known) and answer.value.current and not answer.value.allowed
    return refused or _refused_lately(observed, revision) is not None


def _unless_accepted(observed: Observed, question: PodQuestion, unchecked: Wait, refused: Wait) -> Part | None:
    """Wait for an answer, or after a refusal, which is asked about again later; None if neither applies.

    The messages of both waits are the beginnings of sentences, which the API server's words complete.
    """
    match observed.admission(question):
        case Unknown(reason=why):
            return Part(waits=(replace(unchecked, message=f"{unchecked.message} ({why})"),))
        case Known(value=answer) if not answer.allowed:
            said = replace(refused, message=f"{refused.message}: {answer.words}. {_WAY_OUT}")
            return Part(waits=(said,), questions=() if answer.current else (question,))
    return None


def is_refused(situation: Situation, node: NodeIdentity) -> bool:
    """Whether a controller has no pod because the API server refused the pod."""
    return refused_pod(situation, node) is not None


def refused_pod(situation: Situation, node: NodeIdentity) -> tuple[PodQuestion, Admission] | None:
    """The refused pod of a controller, and the refusal; None if the controller has a pod, or none is refused."""
    role = PodRole.KAFKA if node.formatted else PodRole.FORMATTER
    revision = node.revision or situation.record.applied_revision
    if revision is None or situation.observed.pods_of(node.node_id, role):
        return None
    question = PodQuestion(node_id=node.node_id, revision=revision, formatter=not node.formatted)
    answer = situation.observed.admission(question)
    if not isinstance(answer, Known) or answer.value.allowed:
        return None
    return question, answer.value


def _refused_lately(observed: Observed, revision: str) -> Admission | None:
    return next(_created_in_vain(observed, revision), None)


def _created_in_vain(observed: Observed, revision: str) -> Iterator[Admission]:
    for question, answer in observed.admissions:
        if question.revision == revision and isinstance(answer, Known) and answer.value.created:
            yield answer.value


def _wait(severity: Severity, reason: str, message: str, node_id: NodeID) -> Wait:
    return Wait(severity=severity, reason=reason, message=message, node_id=node_id)
