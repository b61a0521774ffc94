"""`recover`: what is left of a quorum that lost its majority, and what a person decides about it. Pure.

The operator reads the disks, judges them and makes a plan; this shows it, and writes the decision into `spec.recovery`.
A plan is approved by its hash, which covers every fact that it relies on. So an approval of facts that have changed has
no effect. Nothing is approved here that the operator has not shown.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

from kubectl_kq import reading
from kubectl_kq.acts import Refused
from kubectl_kq.freshness import Looks, freshness
from kubectl_kq.page import Cell, Column, Fact, Facts, Page, Section, Table
from kubectl_kq.quorum import Quorum

Json: TypeAlias = dict[str, Any]

RELEASE: Final = "kafkaquorum.io/release-recovery"
_LOSSES: Final = frozenset({"ProvenLoss", "UnknownTail"})
"""Verdicts with which committed records are, or may be, lost."""
_OPEN: Final = frozenset({"Stop", "Copy", "Retire", "Format", "Rewrite", "Start"})
_REVERSIBLE: Final = frozenset({"Stop", "Copy"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a person asks for. `approve` is the hash of a plan, `seeds` are claims with an optional `:PATH`."""

    inspect: bool = False
    approve: str = ""
    accept_loss: bool = False
    without: tuple[int, ...] = ()
    seeds: tuple[str, ...] = ()
    release: int = 0
    cancel: bool = False


def recovery_page(quorum: Quorum, now: datetime, *, changed: bool, message: str) -> Page:
    """The verdict with its disks, the plan with its steps, and what to do next."""
    text, number = quorum.text, quorum.number
    look = freshness(quorum, now)
    facts = [
        Fact(key="namespace", label="Namespace", value=quorum.namespace),
        Fact(key="name", label="Quorum", value=quorum.name),
        Fact(key="changed", label="Changed", value=changed),
        Fact(key="stage", label="Stage", value=text("recovery", "stage")),
        Fact(key="verdict", label="Verdict", value=text("recovery", "verdict")),
        Fact(key="message", label="Message", value=text("recovery", "message")),
        Fact(key="lossAtLeast", label="Lost at least", value=number("recovery", "lossAtLeast")),
        Fact(key="watermark", label="Committed to", value=number("recovery", "watermark")),
        Fact(key="survivor", label="Survivor", value=text("recovery", "survivor")),
        Fact(key="controller", label="Starts alone", value=number("recovery", "controller")),
        Fact(key="plan", label="Plan", value=text("recovery", "plan")),
        Fact(key="epoch", label="Recovery", value=number("recovery", "epoch")),
    ]
    if look.looks is not Looks.FRESH:
        facts.append(Fact(key="stale", label="Stale", value=look.message))
    facts.append(Fact(key="next", label="Next", value=message))
    return Page(command="recover", sections=(Facts(facts=tuple(facts)), *_tables(quorum)))


_Read: TypeAlias = Callable[[object, str], Cell]
_DISKS: Final[tuple[tuple[_Read, Column], ...]] = (
    (reading.text, Column(key="claimName", label="CLAIM")),
    (reading.number, Column(key="nodeID", label="ID")),
    (reading.text, Column(key="state", label="STATE")),
    (reading.number, Column(key="lastEpoch", label="LAST EPOCH")),
    (reading.number, Column(key="endOffset", label="END")),
    (reading.number, Column(key="checkpointOffset", label="CHECKPOINT")),
    (reading.number, Column(key="tornBytes", label="TORN BYTES")),
    (reading.flag, Column(key="best", label="BEST")),
    (reading.text, Column(key="reason", label="", below=True)),
)
_LOST: Final[tuple[tuple[_Read, Column], ...]] = (
    (reading.text, Column(key="claimName", label="CLAIM")),
    (reading.number, Column(key="nodeID", label="ID")),
    (reading.text, Column(key="state", label="STATE")),
    (reading.number, Column(key="records", label="RECORDS")),
    (reading.number, Column(key="firstOffset", label="FIRST")),
    (reading.number, Column(key="lastOffset", label="LAST")),
    (reading.number, Column(key="committedAtLeast", label="COMMITTED")),
    (reading.text, Column(key="message", label="", below=True)),
)


def _tables(quorum: Quorum) -> tuple[Section, ...]:
    shown = reading.at(quorum.item, "status", "recovery")
    steps = enumerate(reading.listed(shown, "steps"), start=1)
    copies: tuple[tuple[Cell, ...], ...] = tuple((each,) for each in reading.listed(shown, "copies"))
    of_steps = (Column(key="step", label="STEP"), Column(key="does", label="", below=True))
    of_copies = (Column(key="claimName", label="CLAIM"),)
    return (
        _table(quorum, "disks", "Disks", _DISKS),
        _table(quorum, "wouldBeLost", "Would be lost", _LOST),
        Table(key="steps", title="Steps of the plan", columns=of_steps, rows=tuple(steps)),
        Table(key="copies", title="Kept copies and old disks", columns=of_copies, rows=copies),
    )


def _table(quorum: Quorum, key: str, title: str, fields: tuple[tuple[_Read, Column], ...]) -> Table:
    """The rows of a list in the status, whose fields have the names of the columns."""
    rows = tuple(tuple(read(row, column.key) for read, column in fields) for row in quorum.rows("recovery", key))
    return Table(key=key, title=title, columns=tuple(column for _, column in fields), rows=rows)


def deciding(quorum: Quorum, decision: Decision, now: datetime) -> Json | Refused | None:
    """The merge patch for a decision; None if nothing is decided, and it is only shown."""
    if decision.release:
        return _releasing(quorum, decision.release)
    if decision.cancel:
        return _cancelling(quorum)
    if decision.approve:
        return _approving(quorum, decision, now)
    if decision.inspect or decision.without or decision.seeds:
        asked: Json = {"inspect": True}
        asked |= {"without": list(decision.without)} if decision.without else {}
        asked |= {"seeds": [_seed(each) for each in decision.seeds]} if decision.seeds else {}
        return {"spec": {"recovery": asked}}
    return None


def _approving(quorum: Quorum, decision: Decision, now: datetime) -> Json | Refused:
    shown, verdict = quorum.text("recovery", "plan"), quorum.text("recovery", "verdict")
    why = ""
    if quorum.is_being_deleted:
        why = "it is being deleted, and the operator changes nothing during a deletion"
    elif freshness(quorum, now).looks not in {Looks.FRESH, Looks.LATE}:
        why = "no operator looks at it now, so the plan may be out of date. Start the operator"
    elif decision.without or decision.seeds:
        why = "--without and --seed lead to another plan. First give them alone, then approve the plan that follows"
    elif shown is None:
        why = "the operator has proposed no plan. `kubectl kq recover` shows what it waits for"
    elif shown != decision.approve:
        why = f"the present plan is {shown}, because the facts have changed. Read it, and approve that one"
    elif verdict in _LOSSES and not decision.accept_loss:
        least = quorum.number("recovery", "lossAtLeast")
        lost = f"at least {least} committed records are lost" if least else "it is not known what is lost at the end"
        why = f"the verdict is {verdict}: {lost}. Repeat with --accept-loss if that is acceptable"
    if why:
        return Refused(message=f"Did not approve a recovery of {quorum.name}: {why}")
    return {"spec": {"recovery": {"inspect": True, "plan": decision.approve, "acceptLoss": decision.accept_loss}}}


def _cancelling(quorum: Quorum) -> Json | Refused:
    stage = quorum.text("recovery", "stage")
    if stage in _OPEN - _REVERSIBLE:
        return Refused(
            message=f"Did not cancel the recovery of {quorum.name}: in stage {stage} disks are given up already, so it "
            "can only go on"
        )
    return {"spec": {"recovery": None}}


def _releasing(quorum: Quorum, epoch: int) -> Json | Refused:
    present, stage = quorum.number("recovery", "epoch"), quorum.text("recovery", "stage")
    if stage in _OPEN or present != epoch:
        return Refused(
            message=f"Did not release what recovery {epoch} of {quorum.name} kept: the last one is {present}, in stage "
            f"{stage}. Release it by its number when it is Recovered"
        )
    return {"metadata": {"annotations": {RELEASE: str(epoch)}}}


def _seed(text: str) -> Json:
    claim, _, path = text.partition(":")
    return {"claimName": claim} | ({"path": path} if path else {})


def is_kept(item: Json, patch: Json) -> bool:
    """Whether the API server kept what was sent: an older definition has no `spec.recovery`, and drops it."""
    asked = reading.at(patch, "spec", "recovery")
    return not isinstance(asked, dict) or isinstance(reading.at(item, "spec", "recovery"), dict)


def next_step(quorum: Quorum, *, changed: bool) -> str:
    """What a person does next."""
    name, stage = quorum.name, quorum.text("recovery", "stage")
    if changed:
        return f"The operator acts on it with its next look: kubectl kq recover {name}"
    if stage is None:
        return f"To have every disk read, without a change of any: kubectl kq recover {name} --inspect"
    if stage == "Proposed":
        losing = quorum.text("recovery", "verdict") in _LOSSES
        words = " --accept-loss" if losing else ""
        return f"To approve it: kubectl kq recover {name} --approve {quorum.text('recovery', 'plan')}{words}"
    if stage == "Recovered":
        epoch = quorum.number("recovery", "epoch")
        left = reading.at(quorum.item, "spec", "recovery", "inspect") is True
        first = f"To remove the request: kubectl kq recover {name} --cancel. " if left else ""
        kept = "When the old disks and copies are not needed any more"
        return f"{first}{kept}: kubectl kq recover {name} --release {epoch}"
    if stage == "Abandoned":
        return "Delete the copies when they are not needed any more: the message has the command"
    return "Wait: the message says for what"
