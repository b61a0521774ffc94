"""The edge of `plan`: a question is created, its answer is waited for, and the question is deleted again."""

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

from kubectl_kq import plan
from kubectl_kq.answers import Answer, Found, NotRead, Why, answer_of
from kubectl_kq.kubectl import printed
from kubectl_kq.page import UNKNOWN, Fact, Facts, Page
from kubectl_kq.plan import Json
from kubectl_kq.run import Run, StoppedError, read_quorum
from kubectl_kq.sources import Source
from kubectl_kq.status import waits_table

_POLL_S: Final = 0.3
_WAIT_S: Final = 10.0
"""How long the operator may take to answer. It looks at a quorum every ten seconds, and needs no look for an answer."""


def run_plan(run: Run) -> Page:
    """What the operator would do next, or with the file that was given."""
    manifest = _manifest(run) if run.chosen.file else None
    body = json.dumps(plan.question(run.namespace, run.name, manifest))
    created = answer_of(run.kubectl.run("create", "--validate=false", "--filename=-", "--output=json", stdin=body))
    name = plan.found_name(created)
    if isinstance(created, NotRead) and manifest is None and created.why in {Why.NO_KIND, Why.FORBIDDEN}:
        return _without_question(run, created)
    if name is None:
        words = created.words if isinstance(created, NotRead) else "the question that was created has no name"
        raise StoppedError(UNKNOWN, f"The operator was not asked about {run.name}: {words}")
    try:
        return plan.plan_page(run.namespace, run.name, _answered(run, name), run.now)
    finally:
        run.kubectl.run("delete", f"planquestions.{plan.GROUP}", name, f"--namespace={run.namespace}", "--wait=false")


def _answered(run: Run, name: str) -> Json:
    """The question with its answer (StoppedError if none comes)."""
    deadline_s = time.monotonic() + _WAIT_S
    while True:
        answer = run.kubectl.get(plan.question_path(run.namespace, name))
        if isinstance(answer, Found) and plan.is_answered(answer.value):
            return answer.value
        if time.monotonic() > deadline_s:
            words = answer.words if isinstance(answer, NotRead) else "check that an operator runs: kubectl kq doctor"
            raise StoppedError(UNKNOWN, f"The operator has not answered within {_WAIT_S:.0f}s: {words}")
        time.sleep(_POLL_S)


def _manifest(run: Run) -> Json:
    """The quorum in the file, which kubectl reads (StoppedError)."""
    place = run.chosen.file
    text = sys.stdin.read(plan.FILE_MAX_BYTES + 1) if place == "-" else _text(place)
    if len(text) > plan.FILE_MAX_BYTES:
        raise StoppedError(UNKNOWN, f"{place} is longer than {plan.FILE_MAX_BYTES} characters: give the quorum alone")
    words = ("create", "--dry-run=client", "--validate=false", "--filename=-", "--output=json")
    ran = printed(run.kubectl.run(*words, f"--namespace={run.namespace}", stdin=text))
    if isinstance(ran, NotRead):
        raise StoppedError(UNKNOWN, f"kubectl did not read {place}: {ran.words}")
    found = plan.manifest_of(ran, run.name)
    if isinstance(found, str):
        raise StoppedError(UNKNOWN, f"{place} is not the manifest of {run.name}: {found}")
    return found


def _text(place: str) -> str:
    with Path(place).open(encoding="utf-8", errors="replace") as file:
        return file.read(plan.FILE_MAX_BYTES + 1)


def _without_question(run: Run, refused: NotRead) -> Page:
    """The last look and the status, if no question can be asked."""
    quorum = read_quorum(run.look((Source.QUORUM,)))
    answer: Answer = run.kubectl.get(plan.look_path(run.namespace, run.name))
    note = f"No question was asked, so this is what the operator wrote of its own accord: {refused.words}"
    facts = (
        Fact(key="namespace", label="Namespace", value=run.namespace),
        Fact(key="name", label="Quorum", value=run.name),
        Fact(key="note", label="Note", value=note),
    )
    waits = replace(waits_table(quorum, run.now), empty="The quorum waits for nothing.")
    return Page(command="plan", sections=(Facts(facts=facts), *plan.looked(answer, run.now), waits))
