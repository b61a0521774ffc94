"""The edge of `recover`: the quorum is read, a decision is sent, and the quorum is read again."""

from kubectl_kq import acts, recovery
from kubectl_kq.acts import Refused
from kubectl_kq.page import REFUSED, Page
from kubectl_kq.quorum import Quorum, quorum_of
from kubectl_kq.recovery import Decision, Json
from kubectl_kq.run import Run, StoppedError, read_quorum, sent
from kubectl_kq.sources import Source


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
