"""Waits until the plugin names a failure of a quorum, and until it does not any more."""

from typing import Final

from harness.named import Named, doctor_lacks, explain_lacks
from harness.plugin import CRIT, answered, kq, said
from harness.quorum import Quorum
from harness.shell import wait_until

_NAMED_TIMEOUT_S: Final = 120.0
_RESTORED_TIMEOUT_S: Final = 180.0
_POLL_S: Final = 1.0


def wait_named(quorum: Quorum, named: Named, timeout_s: float = _NAMED_TIMEOUT_S) -> None:
    """Wait until `doctor` and `explain` name a failure; the error has what they lack."""
    lacks = [""]

    def both() -> bool:
        code, answer = answered(quorum, "doctor", quorum.name)
        lacks[0] = doctor_lacks(named, code, answer)
        if not lacks[0] and named.reasons:
            lacks[0] = explain_lacks(named, said(quorum, "explain", quorum.name))
        return not lacks[0]

    try:
        wait_until("the failure is named", both, timeout_s, _POLL_S)
    except AssertionError:
        raise AssertionError(f"after {timeout_s:.0f} s: {lacks[0]}") from None
    for command in ("doctor", "explain"):
        print(kq(quorum, command, quorum.name)[1], flush=True)


def wait_forgotten(quorum: Quorum, named: Named) -> None:
    """Wait until the quorum is Ready, and `doctor` does not name the failure any more."""
    quorum.wait_ready(_RESTORED_TIMEOUT_S)

    def forgotten() -> bool:
        code, answer = answered(quorum, "doctor", quorum.name)
        return bool(doctor_lacks(named, code, answer)) and code != CRIT

    wait_until("doctor does not name it any more", forgotten, _RESTORED_TIMEOUT_S, _POLL_S)
