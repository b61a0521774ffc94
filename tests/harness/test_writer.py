"""The writer of end-to-end tests continues after a write without an answer."""

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from harness import writer
from harness.writer import Account, Writer


class Unlucky(Writer):
    """A writer whose writes fail in every way of the client, one after the other, and then succeed."""

    def __init__(self) -> None:
        """Starts without a quorum, so nothing is sent."""
        nothing: Any = None
        super().__init__(nothing, (3000,), interval_s=0.0)
        self._failures: list[Exception] = [TimeoutError(), KafkaException(KafkaError(KafkaError._TIMED_OUT))]

    def _write(self, client: Any, number: int) -> None:  # noqa: ANN401, ARG002 - the client is none
        if self._failures:
            raise self._failures.pop(0)
        if number == 5:
            self._stopped.set()


def test_a_write_without_an_answer_is_noted_and_the_next_one_follows() -> None:
    """A request that the client lost, and one that timed out, are unanswered; later ones are acknowledged."""
    unlucky = Unlucky()
    nothing: Any = None
    unlucky._run(nothing)
    assert sorted(unlucky.account.unanswered) == [0, 1]
    assert sorted(unlucky.account.acknowledged) == [2, 3, 4, 5]


class Broker:
    """A broker that has just started, and gives no readable answer."""

    def start(self) -> None:
        """Does nothing, because it runs already."""

    stop = start

    def client(self) -> None:
        """Returns nothing usable, because no request is made."""


def _reading(monkeypatch: pytest.MonkeyPatch, answers: list[Exception | frozenset[str]], timeout_s: float) -> Account:
    """The result of reading back one acknowledged write, with these answers in turn, the last one repeated."""

    def read(*_: object) -> frozenset[str]:
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(writer, "_read", read)
    monkeypatch.setattr(writer, "_READ_TIMEOUT_S", timeout_s)
    unlucky = Unlucky()
    monkeypatch.setattr(unlucky, "_brokers", None)
    monkeypatch.setattr(unlucky, "_reader", Broker(), raising=False)
    unlucky.account.acknowledged[0] = 0.0
    return unlucky.read_back()


_FAILURE = KafkaException(KafkaError(KafkaError._BAD_MSG))
_NAME = "topic-0"


def test_a_broker_that_has_just_started_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """After an answer that cannot be read, or lacks a write, the broker is asked again."""
    answers: list[Exception | frozenset[str]] = [_FAILURE, TimeoutError(), frozenset(), frozenset({_NAME})]
    assert not _reading(monkeypatch, answers, 30.0).lost


def test_what_was_not_answered_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that never answers is an error, and no loss; one that answers without the write is a loss."""
    with pytest.raises(KafkaException):
        _reading(monkeypatch, [_FAILURE], 0.0)
    assert _reading(monkeypatch, [frozenset()], 0.0).lost == (_NAME,)


class Credentials:
    """A client with the limits of Kafka's own: 10,000 users per answer, and an error for each unknown one."""

    def __init__(self, users: dict[str, int]) -> None:
        """Takes its users, each with a number of iterations."""
        self._users = users

    def list_topics(self, timeout: float) -> SimpleNamespace:  # noqa: ARG002 - the client's own name
        """One topic."""
        return SimpleNamespace(topics={"topic-0": None})

    def describe_user_scram_credentials(self, users: list[str], request_timeout: float) -> dict[str, Future[Any]]:  # noqa: ARG002
        """A future for each."""
        if not 0 < len(users) <= 10_000:
            raise KafkaException(KafkaError(KafkaError._BAD_MSG))
        answers = {user: Future[Any]() for user in users}
        for user, answer in answers.items():
            if user in self._users:
                answer.set_result(
                    SimpleNamespace(scram_credential_infos=[SimpleNamespace(iterations=self._users[user])])
                )
            else:
                answer.set_exception(KafkaException(KafkaError(KafkaError.RESOURCE_NOT_FOUND)))
        return answers


def test_more_users_are_read_back_than_one_answer_holds() -> None:
    """Users beyond one answer are all read, each with its number; a missing one is missing, and no error."""
    there = {f"user-{number}": number for number in range(25_000)}
    client: Any = Credentials(there)
    found = writer._read(client, (*there, "user-lost"))
    assert found == {"topic-0", *(f"user-{number}/{number}" for number in range(25_000))}


def test_any_other_error_of_a_user_is_no_absence() -> None:
    """A user that cannot be read is an error, and does not count as missing."""
    client: Any = Credentials({})
    refused: Future[Any] = Future()
    refused.set_exception(KafkaException(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED)))
    client.describe_user_scram_credentials = lambda users, **_: dict.fromkeys(users, refused)
    with pytest.raises(KafkaException):
        writer._read(client, ("user-1",))
