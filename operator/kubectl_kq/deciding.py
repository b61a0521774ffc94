"""The edge of `recover`, `hold`, `unhold` and `replace`: the quorum is read, a decision is sent, its effect is read."""

import time
from typing import Final

from kubectl_kq import acts, holding, recovery
from kubectl_kq.acts import Refused
from kubectl_kq.page import REFUSED, UNKNOWN, Page
from kubectl_kq.quorum import Quorum, quorum_of
from kubectl_kq.recovery import Decision, Json
from kubectl_kq.run import Run, StoppedError, read_quorum, sent
from kubectl_kq.sources import Source

_POLL_S: Final = 1.0
_WAIT_S: Final = 30.0
"""How long the operator may take to report that it holds a controller: it looks every ten seconds."""


def run_recover(run: Run) -> Page:
    """What is left of the quorum, and the decision that was given."""
    quorum, chosen = _read(run), run.chosen
    decision = Decision(
        inspect=chosen.inspect,
        approve=chosen.approve or "",
        accept_loss=chosen.accept_loss,
        without=tuple(chosen.without),
        seeds=tuple(chosen.seed),
        release=chosen.release,
        cancel=chosen.cancel,
    )
    patch = recovery.deciding(quorum, decision, run.now)
    if _send(run, patch, f"the recovery of {run.name}") is not None:
        quorum = _read(run)
    words = recovery.next_step(quorum, changed=patch is not None)
    return recovery.recovery_page(quorum, run.now, changed=patch is not None, message=words)


def run_hold(run: Run) -> Page:
    """Keep the operator from these controllers; done when it reports that it holds them."""
    quorum, node_ids = _read(run), run.chosen.nodes
    changed = _send(run, holding.holding(quorum, node_ids), f"the hold of {run.name}") is not None
    deadline_s = time.monotonic() + _WAIT_S
    while not holding.confirmed(_read(run), node_ids):
        if time.monotonic() > deadline_s:
            words = f"The operator has not reported within {_WAIT_S:.0f}s that it holds them, so do not begin yet"
            raise StoppedError(UNKNOWN, f"{words}: check with kubectl kq status {run.name}")
        time.sleep(_POLL_S)
    listed = ", ".join(map(str, node_ids))
    message = f"The operator holds {listed}: it does nothing to their pods and disks until kubectl kq unhold"
    return acts.acted_page("hold", quorum, changed=changed, message=message)


def run_unhold(run: Run) -> Page:
    """Let the operator act on controllers again."""
    quorum, chosen = _read(run), run.chosen
    patch = holding.ending(quorum, chosen.nodes, every=chosen.all)
    changed = _send(run, patch, f"the hold of {run.name}") is not None
    message = "The operator acts on them with its next look" if changed else "None of them was held"
    return acts.acted_page("unhold", quorum, changed=changed, message=message)


def run_replace(run: Run) -> Page:
    """Give the present disk of a controller up."""
    quorum, chosen = _read(run), run.chosen
    patch = holding.replacing(quorum, chosen.node, chosen.confirm)
    changed = _send(run, patch, f"the replacement in {run.name}") is not None
    message = f"The operator gives the disk up when every rule allows it: kubectl kq explain {run.name}"
    return acts.acted_page("replace", quorum, changed=changed, message=message)


def _read(run: Run) -> Quorum:
    return read_quorum(run.look((Source.QUORUM,)))


def _send(run: Run, patch: Json | Refused | None, what: str) -> Quorum | None:
    """The quorum after a change; None if there is nothing to change (StoppedError)."""
    if isinstance(patch, Refused):
        raise StoppedError(REFUSED, patch.message)
    if patch is None:
        return None
    item = sent(run, acts.patch_command(run.namespace, run.name, patch), what).value
    if not recovery.is_kept(item, patch):
        words = "the definition of KafkaQuorum has no spec.recovery. Upgrade the operator with its definitions"
        raise StoppedError(REFUSED, f"Nothing was decided about {run.name}: {words}")
    return quorum_of(item)
