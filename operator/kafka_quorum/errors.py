"""What can go wrong at a Kafka controller and at ZooKeeper, as types; `kit.errors` has those of the Kubernetes API.

The reason for this file is rule 8 of the safety list: an answer that did not come is `outcome_unknown`, and must not be
read as a "no". The planner never sees an exception: observing turns it into `Unknown`, acting turns it into an outcome.
"""

from kit.errors import Fault, OperatorError
from kit.text import MESSAGE_MAX_CHARS, clean


class KafkaError(OperatorError):
    """A request to a Kafka server, or to the ZooKeeper of one, failed.

    `fault` names the side that caused it. `retry_safe` says whether the same request may be sent again without another
    look. `outcome_unknown` says whether the server may have acted on the request in spite of the error.
    """

    def __init__(self, message: str, *, fault: Fault, retry_safe: bool, outcome_unknown: bool) -> None:
        """Describe the failure in one sentence that names the server and the request."""
        super().__init__(message)
        self.fault = fault
        self.retry_safe = retry_safe
        self.outcome_unknown = outcome_unknown


class KafkaUnreachable(KafkaError):
    """No connection, a broken one, or a deadline: nothing was answered."""


class KafkaExpired(KafkaUnreachable):
    """The server shows a certificate that is not valid now: the connection ended before anything was sent."""


class KafkaProtocolError(KafkaError):
    """Bytes that are no answer to what was asked: too large, a wrong correlation id, or a body that does not parse."""


class KafkaVersionUnsupported(KafkaError):
    """The server and this operator have no version of a request in common. Nothing was sent."""


class KafkaDenied(KafkaError):
    """The server does not accept the client: its user, its password, or the mechanism. The request was not sent.

    The sentence says what to correct, and has no secret in it.
    """


class KafkaUnsecured(KafkaError):
    """The operator lacks what a secured connection to the server needs. Nothing was sent, in plain text neither."""


class KafkaRefused(KafkaError):
    """The server answered with an error code.

    `code` is Kafka's number, `name` Kafka's name of it (`DUPLICATE_VOTER`), `server_message` its own words.
    """

    def __init__(
        self,
        message: str,
        *,
        code: int,
        name: str,
        server_message: str,
        fault: Fault,
        retry_safe: bool,
        outcome_unknown: bool,
    ) -> None:
        """Keep the server's own code and words beside our sentence."""
        super().__init__(message, fault=fault, retry_safe=retry_safe, outcome_unknown=outcome_unknown)
        self.code = code
        self.name = name
        self.server_message = clean(server_message, max_chars=MESSAGE_MAX_CHARS)


class ZooKeeperError(KafkaError):
    """A read of ZooKeeper, or the write of a roll back, failed; each fault is one of the types below.

    The sentence names ZooKeeper's address, the node if there is one, and what to do.
    """


class ZooKeeperUnreachable(ZooKeeperError):
    """No connection, a broken one, or a deadline: not everything was answered."""


class ZooKeeperDenied(ZooKeeperError):
    """ZooKeeper refused the client, or refused it a node: its user, its certificate, or the node's ACL."""


class ZooKeeperMalformed(ZooKeeperError):
    """A node's content, or an answer, is not what Kafka or ZooKeeper writes, or is larger than what is read."""


class ZooKeeperChanged(ZooKeeperError):
    """What a write depends on has changed since the look. Nothing was written."""


class ZooKeeperUnusable(ZooKeeperError):
    """The spec's address or the Secret cannot be used. Nothing was sent."""
