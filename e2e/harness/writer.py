"""A user of the quorum: writes metadata through plain brokers all the time, and reads all of it back at the end.

If a scenario has no brokers, the writer has its own one; otherwise it uses any of theirs.

Each write is a value of its own (a SCRAM user with its own number of iterations; every tenth a topic), so that each
acknowledged write can be found. One write follows the other, as fast as `INTERVAL_S` allows: a user waits from one
acknowledgement to the next. A write without a good answer may have happened or not: it is counted. The values are read
through another broker, with an empty disk: it has only what the quorum still has.
"""

import itertools
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._scram import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from confluent_kafka.cimpl import NewTopic

from harness.broker import Broker
from harness.brokers import Brokers
from harness.quorum import Quorum
from harness.shell import wait_until

INTERVAL_S = 0.1
_REQUEST_TIMEOUT_S = 15.0
_READ_TIMEOUT_S = 120.0
_EVERY_TOPIC = 10
_USERS_AT_ONCE = 1000
_LEAST_ITERATIONS = 4096
_WRITER_ID, _READER_ID = 1, 2


@dataclass(slots=True)
class Account:
    """The results of the writes. Times are monotonic seconds of this process."""

    acknowledged: dict[int, float] = field(default_factory=dict)
    """The time of each acknowledgement, by the write's number."""
    unanswered: dict[int, str] = field(default_factory=dict)
    """The answer in place of an acknowledgement."""
    lost: tuple[str, ...] = ()
    """Acknowledged, and missing at the end."""
    happened: int = 0
    """Not acknowledged, and there at the end."""

    def longest_gap_s(self, since_s: float, until_s: float) -> float:
        """The longest time within a window without an acknowledgement."""
        inside = [at for at in sorted(self.acknowledged.values()) if since_s < at < until_s]
        edges = [since_s, *inside, until_s]
        return max(after - before for before, after in itertools.pairwise(edges))

    @property
    def last_s(self) -> float:
        """The time of the last acknowledgement."""
        return max(self.acknowledged.values())

    def __str__(self) -> str:
        """One line for a person."""
        refused = f"{len(self.unanswered)} not ({self.happened} of them happened)"
        return f"{len(self.acknowledged)} writes acknowledged, {refused}, {len(self.lost)} lost"


class Writer:
    """Writes between enter and exit; `finish` reads everything back."""

    def __init__(
        self,
        quorum: Quorum,
        node_ids: Iterable[int],
        interval_s: float = INTERVAL_S,
        brokers: Brokers | None = None,
        every_topic: int = _EVERY_TOPIC,
        *,
        fresh_names: bool = False,
    ) -> None:
        """`node_ids` are all controllers that will ever exist: the ways into the quorum for its own broker.

        With `brokers`, which already run, it writes through all of them, and reads through another one of their
        release. One write of `every_topic` is a topic, the others are users. `fresh_names` is for its own brokers.
        """
        self._interval_s, self._brokers, self._every_topic = interval_s, brokers, every_topic
        ids = tuple(node_ids)
        own = Broker(quorum=quorum, node_id=_WRITER_ID, controllers=ids, fresh_names=fresh_names)
        self._own = own if brokers is None else None
        self._reader = Broker(quorum=quorum, node_id=_READER_ID, controllers=ids, fresh_names=fresh_names)
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._account = Account()

    def __enter__(self) -> Self:
        """Start the broker, and write: returns when the first writes are acknowledged."""
        if self._own is not None:
            self._own.start()
        self._begin()
        self.wait_acknowledged()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop writing, and stop its brokers."""
        self._stop()
        for broker in (self._own, self._reader):
            if broker is not None:
                broker.stop()

    @property
    def account(self) -> Account:
        """The acknowledgements so far."""
        return self._account

    def wait_acknowledged(self, more: int = 3, timeout_s: float = 90.0) -> None:
        """Wait until this number of further writes is acknowledged: the quorum accepts writes now."""
        enough = len(self._account.acknowledged) + more
        wait_until(f"{more} more writes", lambda: len(self._account.acknowledged) >= enough, timeout_s)

    def pause(self) -> None:
        """Stop writing for a while: returns when the last write has its answer."""
        self._stop()

    def resume(self) -> None:
        """Continue to write, with the next number, through a new client."""
        self._stopped.clear()
        self._begin()

    def finish(self) -> Account:
        """Stop, and read everything back through a new broker."""
        self._stop()
        return self.read_back()

    def read_back(self) -> Account:
        """Read back all acknowledged writes through a new broker; the writes continue meanwhile."""
        if self._brokers is not None:
            self._reader = self._brokers.newcomer()
        self._reader.stop()
        self._reader.start()
        client, account = self._reader.client(), self._account
        acknowledged, unanswered = sorted(account.acknowledged.copy()), tuple(account.unanswered.copy())

        names = (self._name(number) for number in (*acknowledged, *unanswered))
        users = tuple(name.partition("/")[0] for name in names if "/" in name)

        def missing() -> tuple[str, ...]:
            there = _read(client, users)
            account.happened = sum(self._name(number) in there for number in unanswered)
            return tuple(self._name(number) for number in acknowledged if self._name(number) not in there)

        def all_there() -> bool:
            account.lost = missing()
            return not account.lost

        deadline = time.monotonic() + _READ_TIMEOUT_S
        while True:
            late = time.monotonic() >= deadline
            try:
                if all_there() or late:
                    break
            except (KafkaException, TimeoutError):
                if late:
                    raise  # the result of a write without an answer is unknown
            time.sleep(0.5)  # a broker that has just started still catches up, or answers with an error
        print(account)
        return account

    def _client(self) -> AdminClient:
        if self._brokers is not None:
            return self._brokers.client()
        assert self._own is not None
        return self._own.client()

    def _begin(self) -> None:
        self._thread = threading.Thread(target=self._run, args=(self._client(),), daemon=True)
        self._thread.start()

    def _stop(self) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(_REQUEST_TIMEOUT_S * 2)
            assert not self._thread.is_alive(), "the writer hangs"

    def _run(self, client: AdminClient) -> None:
        number = len(self._account.acknowledged) + len(self._account.unanswered)
        while not self._stopped.is_set():
            began_s = time.monotonic()
            try:
                self._write(client, number)
                self._account.acknowledged[number] = time.monotonic()
            except (KafkaException, TimeoutError) as error:  # the client never gives up a lost request
                self._account.unanswered[number] = str(error) or "no answer"
            number += 1
            self._stopped.wait(max(0.0, began_s + self._interval_s - time.monotonic()))

    def _write(self, client: AdminClient, number: int) -> None:
        if number % self._every_topic == 0:
            topic = NewTopic(self._name(number), num_partitions=1, replication_factor=1)
            (answer,) = client.create_topics([topic], request_timeout=_REQUEST_TIMEOUT_S).values()
        else:
            user, secret = self._name(number), b"not a secret"
            credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, _LEAST_ITERATIONS + number % 1000)
            upsertion = UserScramCredentialUpsertion(user.partition("/")[0], credential, secret)
            (answer,) = client.alter_user_scram_credentials([upsertion], request_timeout=_REQUEST_TIMEOUT_S).values()
        answer.result(_REQUEST_TIMEOUT_S + 5)

    def _name(self, number: int) -> str:
        """The result of a write: a topic, or a user with a number of iterations."""
        is_topic = number % self._every_topic == 0
        return f"topic-{number}" if is_topic else f"user-{number}/{_LEAST_ITERATIONS + number % 1000}"


def _read(client: AdminClient, users: Sequence[str]) -> frozenset[str]:
    """All topics, and those of these users that exist, as `_name` names them.

    Users are requested by name, some at a time: the client cannot read an answer about more than 10,000.
    """
    topics = client.list_topics(timeout=_REQUEST_TIMEOUT_S).topics
    described = []
    for first in range(0, len(users), _USERS_AT_ONCE):
        asked = list(users[first : first + _USERS_AT_ONCE])
        answers = client.describe_user_scram_credentials(asked, request_timeout=_REQUEST_TIMEOUT_S)
        assert isinstance(answers, dict), answers
        for user, answer in answers.items():
            try:
                found = answer.result(_REQUEST_TIMEOUT_S + 5)
            except KafkaException as error:
                if error.args[0].code() == KafkaError.RESOURCE_NOT_FOUND:
                    continue
                raise
            described += [f"{user}/{info.iterations}" for info in found.scram_credential_infos]
    return frozenset((*topics, *described))
