"""What can go wrong at the edges, as types: the side at fault, and whether the act may have happened in spite of it.

The reason for this file is rule 8 of the safety list: an answer that did not come is `outcome_unknown`, and must not be
read as a "no". The planner never sees an exception: observing turns it into `Unknown`, acting turns it into an outcome.
"""

from enum import Enum

from kit.text import MESSAGE_MAX_CHARS, clean


class Fault(Enum):
    """The side that caused an error, as seen from the operator."""

    OURS = "ours"
    """We sent something wrong, or may not send it: repeating it changes nothing."""
    THEIRS = "theirs"
    """The server answered against the protocol, or refused for a reason of its own."""
    PATH = "path"
    """No answer came: the network, a dead process, a deadline."""


class OperatorError(Exception):
    """Base of every error that this operator raises on purpose.

    Its text is one visible line of bounded length, because it often quotes a server's answer.
    """

    def __init__(self, message: str) -> None:
        """Say what happened, in one sentence."""
        super().__init__(clean(message, max_chars=MESSAGE_MAX_CHARS))


class NotActing(OperatorError):
    """Another operator holds the lease, or may hold it: nothing was sent."""


class KubeError(OperatorError):
    """A request to the Kubernetes API server failed.

    `outcome_unknown` says that the request may have been carried out in spite of the error.
    """

    fault = Fault.THEIRS
    outcome_unknown = False
    said = ""
    """The API server's own sentence, if it sent one."""


class KubeConflict(KubeError):
    """409 on a write: the object does not have the resource version, or the uid, that the request named."""


class KubeAlreadyExists(KubeError):
    """409 on a create: an object of that name exists already."""


class KubeNotFound(KubeError):
    """404 on a write: the object that the request names does not exist."""


class KubeRefused(KubeError):
    """4xx: the API server understood and refused (invalid, forbidden, quota, admission)."""

    fault = Fault.OURS


class KubeHeld(KubeError):
    """429 on an eviction: a disruption budget does not allow the pod to stop now. Nothing was done."""


class KubeUnavailable(KubeError):
    """5xx, 429, a time-out or a broken connection: the request may or may not have been carried out."""

    fault = Fault.PATH
    outcome_unknown = True
