"""What can go wrong at the edges, as types: whose fault it is, and whether the act may have happened all the same.

Rule 8 of the safety list stands behind this file: an answer that did not come is `outcome_unknown`, and must not be
read as a "no". The planner never sees an exception: observing turns one into `Unknown`, acting into an outcome.
"""

from enum import Enum

from kit.text import MESSAGE_MAX_CHARS, clean


class Fault(Enum):
    """Whose fault an error is, as seen from the operator."""

    OURS = "ours"
    """We sent something wrong, or may not send it: repeating it changes nothing."""
    THEIRS = "theirs"
    """The server answered against the protocol, or refused for a reason of its own."""
    PATH = "path"
    """No answer came: the network, a dead process, a deadline."""


class OperatorError(Exception):
    """Base of every error that this operator raises on purpose.

    Its text is one visible line of bounded length: it often quotes what a server answered.
    """

    def __init__(self, message: str) -> None:
        """Say what happened, in one sentence."""
        super().__init__(clean(message, max_chars=MESSAGE_MAX_CHARS))


class NotActing(OperatorError):
    """Another operator holds the lease, or may hold it: nothing was sent."""


class KubeError(OperatorError):
    """A request to the Kubernetes API server failed.

    `outcome_unknown` says that the request may have been carried out although it failed.
    """

    fault = Fault.THEIRS
    outcome_unknown = False
    said = ""
    """The API server's own sentence, where it sent one."""


class KubeConflict(KubeError):
    """409 on a write: the object is not at the resource version, or has not the uid, that the request named."""


class KubeAlreadyExists(KubeError):
    """409 on a create: an object of that name is there already."""


class KubeNotFound(KubeError):
    """404 on a write: the object that the request names does not exist."""


class KubeRefused(KubeError):
    """4xx: the API server understood and refused (invalid, forbidden, quota, admission)."""

    fault = Fault.OURS


class KubeHeld(KubeError):
    """429 on an eviction: a disruption budget does not let the pod go now. Nothing was done."""


class KubeUnavailable(KubeError):
    """5xx, 429, a time-out or a broken connection: the request may or may not have been carried out."""

    fault = Fault.PATH
    outcome_unknown = True
