"""The answer to a `PlanQuestion`, from the last look at its quorum, by the operator's own planner. Pure.

Nothing is asked and nothing is touched: the planner gets the remembered look with the edited spec in place of the
present one. What that look did not ask about is unknown, as in any pass: then a guard refuses, or a wait says so. The
person who asks chooses the manifest, so its size and its depth are bounded before anything reads it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from kafka_quorum.api.shapes import parsed, part
from kafka_quorum.api.spec import KafkaQuorumSpec
from kafka_quorum.introspection.passes import LastPass
from kafka_quorum.introspection.rows import Json, bounded, error_rows, plan_rows
from kafka_quorum.judge import judge
from kafka_quorum.kind import QUORUMS
from kafka_quorum.model.desired import FieldFault
from kafka_quorum.model.names import RESTARTED_AT
from kafka_quorum.observe.snapshot import Snapshot
from kafka_quorum.planning import decide
from kafka_quorum.settings import PodException
from kit import stamps
from kit.parsing import deeper_than, larger_than, quoted
from kit.text import NAME_MAX_CHARS, is_clean

ANSWERED: Final = "Answered"
INVALID: Final = "Invalid"
"""The manifest is not that of the quorum, or its spec has faults. Acts are the repairs that a pass would still do."""
UNKNOWN: Final = "Unknown"
"""There is no look that the question could be answered from."""
REFUSED: Final = "Refused"
"""The question was not read."""
VALUES_MAX: Final = 5000
CHARS_MAX: Final = 128 * 1024
LEVELS_MAX: Final = 32
"""The same depth as of stored JSON (`kit.parsing`); a long pod template has about twelve levels."""
_PARTS: Final = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
_CHANGES_MAX: Final = 200
_NEVER_LOOKED: Final = (
    "the spec of this quorum was never valid, so the operator has not asked its controllers. Apply a valid spec"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked: which quorum, and its edited manifest, None for the present one."""

    quorum: str
    manifest: Json | None


def question_of(body: Json) -> Question | tuple[FieldFault, ...]:
    """The question in an object of the API server, or why it is not read."""
    spec = body.get("spec")
    if not isinstance(spec, dict):
        return (FieldFault(field="spec", message="it is no object: write spec.quorum"),)
    quorum, manifest = spec.get("quorum"), spec.get("manifest")
    if not isinstance(quorum, str) or not is_clean(quorum, max_chars=NAME_MAX_CHARS):
        return (FieldFault(field="spec.quorum", message="this field is required: write the name of a KafkaQuorum"),)
    if manifest is not None and (why := _unreadable(manifest)):
        return (FieldFault(field="spec.manifest", message=why),)
    return Question(quorum=quorum, manifest=manifest)


def _unreadable(manifest: object) -> str:
    """Why a manifest is not read; empty if it is."""
    if not isinstance(manifest, dict):
        return "it is no object: write the manifest of the quorum"
    if deeper_than(manifest, LEVELS_MAX):
        return f"it has more than {LEVELS_MAX} levels: leave out what is not its spec"
    if larger_than(manifest, values=VALUES_MAX, chars=CHARS_MAX):
        return f"at most {VALUES_MAX} values and {CHARS_MAX} characters are read: leave out what is not its spec"
    return ""


def refused(faults: tuple[FieldFault, ...]) -> Json:
    """The answer to a question that is not read."""
    first = f"Did not answer: {faults[0].field}: {faults[0].message}"
    return bounded({"state": REFUSED, "message": first, "errors": error_rows(faults)})


def unknown(why: str) -> Json:
    """The answer while there is no look. `why` is a clause."""
    return bounded({"state": UNKNOWN, "message": f"Did not answer: {why}"})


def answer(question: Question, last: LastPass, allowed: frozenset[PodException]) -> Json:
    """The status of a question, without the time of the answer. `allowed`: the exceptions from the policy for pods."""
    taken, done = last.decided.taken, last.decided.done
    asked = taken
    if question.manifest is not None:
        if faults := tuple(_manifest_faults(question.manifest, taken.resource)):
            return _invalid(last, faults, {})
        asked = replace(taken, resource=_edited(taken.resource, question.manifest))
    judged = judge(asked, allowed)
    changed = _changed(taken, asked)
    if done is None or judged.desired is None:
        return _invalid(last, judged.faults, changed) if judged.faults else unknown(_NEVER_LOOKED)
    seen = replace(done.observed, spec_kept=asked.spec_kept)
    planned = decide(judged.desired, seen, now_s=done.now_s, repair_only=bool(judged.faults))
    rows = changed | plan_rows(planned, (), seen)
    if judged.faults:
        return _invalid(last, judged.faults, rows)
    return bounded({"state": ANSWERED, "message": f"{_summary(rows)}{_early(last)}", **_of(last), **rows})


def _invalid(last: LastPass, faults: tuple[FieldFault, ...], rows: Json) -> Json:
    message = "This manifest would be refused, or would change nothing until it is corrected"
    return bounded({"state": INVALID, "message": message, **_of(last), "errors": error_rows(faults), **rows})


def _of(last: LastPass) -> Json:
    generation = int(last.decided.taken.resource["metadata"].get("generation", 0))
    return {"lookedAt": stamps.second(last.at), "observedGeneration": generation}


def _early(last: LastPass) -> str:
    return f". The pass after this look ended early: {last.error}" if last.error else ""


def _summary(rows: Json) -> str:
    acts, waits = (len(rows.get(name, ())) for name in ("acts", "waits"))
    if rows.get("dryRuns"):
        asks = "The next pass first asks the API server whether it accepts the pods in dryRuns"
        return f"{asks}. Before that, it has acts ({acts}) and waits ({waits})"
    if not acts and not waits:
        return "The next pass changes nothing, and waits for nothing"
    return f"The next pass has acts ({acts}) and waits ({waits})"


def _manifest_faults(manifest: Json, resource: Json) -> Iterator[FieldFault]:
    """Why this is no manifest of the quorum. A part that is left out contradicts nothing, except the spec."""
    metadata = part(manifest, "metadata")
    expected = (
        ("apiVersion", manifest.get("apiVersion"), QUORUMS.api_version),
        ("kind", manifest.get("kind"), QUORUMS.kind),
        ("metadata.name", metadata.get("name"), resource["metadata"].get("name")),
        ("metadata.namespace", metadata.get("namespace"), resource["metadata"].get("namespace")),
    )
    for field, found, right in expected:
        if found is not None and found != right:
            message = f"it is {quoted(found)}, but the quorum has {quoted(right)}: correct it, or leave it out"
            yield FieldFault(field=f"spec.manifest.{field}", message=message)
    for name in sorted(set(manifest) - _PARTS):
        yield FieldFault(field="spec.manifest", message=f"a KafkaQuorum has no field {quoted(name)}: remove it")
    if not isinstance(manifest.get("spec"), dict):
        yield FieldFault(field="spec.manifest.spec", message="this field is required: write the spec of the quorum")


def _edited(resource: Json, manifest: Json) -> Json:
    """The resource with the manifest's spec, and its annotation that asks for a restart."""
    metadata = resource["metadata"]
    annotation = part(part(manifest, "metadata"), "annotations").get(RESTARTED_AT)
    if isinstance(annotation, str):
        metadata = {**metadata, "annotations": {**part(metadata, "annotations"), RESTARTED_AT: annotation}}
    return {**resource, "metadata": metadata, "spec": manifest["spec"]}


def _changed(before: Snapshot, after: Snapshot) -> Json:
    """The paths of the fields that differ, with the defaults of both filled in; nothing if one cannot be read."""
    if before is after:
        return {}
    old, new = (parsed(KafkaQuorumSpec, each.resource) for each in (before, after))
    if not isinstance(old, KafkaQuorumSpec) or not isinstance(new, KafkaQuorumSpec):
        return {}
    paths: list[str] = []
    for path in _paths(old.model_dump(mode="json"), new.model_dump(mode="json"), "spec"):
        paths.append(path)
        if len(paths) == _CHANGES_MAX:
            break
    return {"changes": paths} if paths else {}


def _paths(old: object, new: object, path: str) -> Iterator[str]:
    """The deepest objects' fields that differ. A list is one value."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted({*old, *new}):
            yield from _paths(old.get(name), new.get(name), f"{path}.{name}")
    elif old != new:
        yield path
