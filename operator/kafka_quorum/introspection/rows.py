"""A plan and a look as rows of a status: in words, within bounds, and without any content of a Secret. Pure.

Numbers that change with every look (offsets, lag, ages) stay out, so that a look that shows nothing new has equal rows.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

from kafka_quorum.act.narrate import narrate
from kafka_quorum.model.actions import Action
from kafka_quorum.model.admission import PodQuestion
from kafka_quorum.model.desired import FieldFault
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Unknown
from kafka_quorum.model.observed import Observed, QuorumView
from kafka_quorum.model.permit import Permit, Verdict
from kafka_quorum.model.plan import Outcome, Plan, Wait
from kafka_quorum.model.pods import Pod, PodRole
from kit.text import MESSAGE_MAX_CHARS, cleaned

Json: TypeAlias = dict[str, Any]

BYTES_MAX: Final = 64 * 1024
"""The size of a whole status, as JSON. A quorum of five voters, with every guard refusing, has about 20 KiB."""
_KEPT: Final = 0.5
"""The share of the longest list that stays each time if a status is too large."""
_MOST: Final = {
    "acts": 50,
    "waits": 50,
    "guards": 100,
    "errors": 50,
    "dryRuns": 20,
    "older": 50,
    "features": 30,
    "changes": 50,
}
"""The largest number of rows in each list."""
_ROWS_MAX: Final = 50
"""The same for the lists of what was observed."""


def plan_rows(plan: Plan, outcomes: Iterable[Outcome], observed: Observed) -> Json:
    """The parts of a plan, those that are empty left out. `outcomes` are empty if nothing was tried."""
    tried, situation = tuple(outcomes), plan.situation
    rows: Json = {
        "acts": [_act(action, next((one for one in tried if one.action == action), None)) for action in plan.actions],
        "waits": [_wait(wait, plan.verdicts, observed) for wait in plan.waits],
        "guards": _guards(plan.verdicts),
        "dryRuns": [_dry_run(question) for question in plan.questions],
        "older": [] if situation is None else sorted(node.node_id for node in situation.older),
        "features": [
            _present(
                name=each.name, present=each.present, level=each.level, requested=each.requested, against=each.against
            )
            for each in plan.features
        ],
    }
    if plan.migration is not None:
        of = plan.migration
        rows["migration"] = _present(
            kind=of.kind, stage=of.stage, stages=of.stages, name=of.name, message=of.sentence, wayBack=of.way_back
        )
    return {name: value for name, value in rows.items() if value}


def error_rows(faults: Iterable[FieldFault]) -> list[Json]:
    """The faults of a spec."""
    return [{"field": fault.field, "message": fault.message} for fault in faults]


def observed_row(observed: Observed) -> Json:
    """The look in brief."""
    record, quorum = observed.record, observed.quorum
    row: Json = {}
    if record is not None:
        row = {"clusterID": record.cluster_id, "phase": record.phase.value}
        row["controllers"] = [_controller(observed, node_id) for node_id in sorted(record.node_ids)][:_ROWS_MAX]
    if isinstance(quorum, Unknown):
        return row | {"unknownReason": quorum.reason}
    view = quorum.value
    voters = sorted(view.voters, key=lambda key: (key.node_id, key.directory_id or ""))
    return row | {
        "leaderID": view.answer.leader_id,
        "leaderEpoch": view.answer.leader_epoch,
        "committed": view.committed,
        "voters": [
            _present(
                nodeID=key.node_id, directoryID=key.directory_id, live=key in view.live, caughtUp=key in view.shown
            )
            for key in voters[:_ROWS_MAX]
        ],
        "observers": len(view.observers),
        "levels": [{"name": each.name, "level": each.level} for each in observed.finalized[:_ROWS_MAX]],
    }


def bounded(status: Json) -> Json:
    """The status with visible text only, cut to `BYTES_MAX`: `leftOut` counts the rows that are left out of each list.

    The longest list loses rows first, from its end.
    """
    kept: Json = dict(cleaned(status, max_chars=MESSAGE_MAX_CHARS))
    left_out: dict[str, int] = {}
    for name, most in _MOST.items():
        if (more := len(kept.get(name, ())) - most) > 0:
            kept[name], left_out[name] = kept[name][:most], more
    while _size(kept) > BYTES_MAX:
        longest = max((name for name in _MOST if kept.get(name)), key=lambda name: _size(kept[name]), default=None)
        if longest is None:
            break
        shorter = int(len(kept[longest]) * _KEPT)
        left_out[longest] = left_out.get(longest, 0) + len(kept[longest]) - shorter
        kept[longest] = kept[longest][:shorter]
    return kept | ({"leftOut": left_out} if left_out else {})


def _size(value: object) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode(errors="replace"))


def _present(**fields: object) -> Json:
    """The fields that are known: neither None nor an empty text."""
    return {name: value for name, value in fields.items() if value is not None and value != ""}


def _act(action: Action, outcome: Outcome | None) -> Json:
    reason, message = narrate(action)
    subject = getattr(action, "pod", None) or getattr(action, "claim", None) or action
    permit: object = getattr(action, "permit", None)
    row = _present(
        kind=type(action).__name__,
        reason=reason,
        nodeID=getattr(subject, "node_id", None),
        guard=permit.rule if isinstance(permit, Permit) else None,
        message=message,
    )
    return row if outcome is None else row | _result(outcome)


def _result(outcome: Outcome) -> Json:
    if outcome.done:
        return {"result": "Done"}
    result = "Held" if outcome.held else "Unknown" if outcome.unknown else "NotDone"
    return _present(result=result, said=outcome.message)


def _wait(wait: Wait, verdicts: tuple[Verdict, ...], observed: Observed) -> Json:
    quoted = [each for each in verdicts if not each.allowed and each.reason and each.reason in wait.message]
    refusal = max(quoted, key=lambda each: len(each.reason), default=None)
    return _present(
        severity=wait.severity.value.capitalize(),
        reason=wait.reason,
        nodeID=wait.node_id,
        message=wait.message,
        rule=None if refusal is None else refusal.rule,
        evidence=list(_evidence(observed, wait.node_id)) or None,
    )


def _guards(verdicts: tuple[Verdict, ...]) -> list[Json]:
    """Each answer once, refusals first."""
    answers = dict.fromkeys((each.allowed, each.rule, each.reason) for each in verdicts)
    return [
        {"rule": rule, "allowed": allowed, "reason": reason}
        for allowed, rule, reason in sorted(answers, key=lambda answer: answer[0])
    ]


def _dry_run(question: PodQuestion) -> str:
    role = "formatter" if question.formatter else "Kafka"
    return f"the {role} pod of controller {question.node_id}, from revision {question.revision}"


def _evidence(observed: Observed, node_id: NodeID | None) -> Iterator[str]:
    """What this look showed of a controller, a sentence each; of the quorum only that it is unknown."""
    if isinstance(observed.quorum, Unknown):
        yield f"the quorum is unknown: {observed.quorum.reason}"
    elif node_id is not None:
        yield _part_of(observed.quorum.value, node_id)
    if node_id is not None:
        pods = [pod for pod in observed.pods if pod.node_id == node_id]
        yield from map(_pod, pods) if pods else (f"controller {node_id} has no pod",)


def _part_of(view: QuorumView, node_id: NodeID) -> str:
    key = view.voter_of(node_id)
    if key is None:
        observes = any(each.node_id == node_id for each in view.observers)
        return f"controller {node_id} is {'an observer' if observes else 'neither a voter nor an observer'}"
    fetches = "fetches" if key in view.live else "does not fetch"
    return f"voter {node_id} {fetches}, and {'is' if key in view.shown else 'is not'} caught up"


def _pod(pod: Pod) -> str:
    does = "is being deleted" if pod.deleting else "runs" if pod.running else "does not run"
    where = f" on Kubernetes node {pod.node_name}" if pod.node_name else ""
    return f"pod {pod.name} {does}{where}, from revision {pod.revision or 'none'}"


def _controller(observed: Observed, node_id: NodeID) -> Json:
    pod = next(iter(observed.pods_of(node_id, PodRole.KAFKA)), None)
    if pod is None:
        return {"nodeID": node_id}
    revision = observed.revision(pod.revision)
    return _present(
        nodeID=node_id,
        podName=pod.name,
        running=pod.running,
        revision=pod.revision,
        kafkaVersion=None if revision is None else revision.runtime.release,
    )
