"""The writer of end-to-end tests: a write without an answer ends nothing."""

from typing import Any

from confluent_kafka import KafkaError, KafkaException

from harness.writer import Writer


class Unlucky(Writer):
    """Its writes fail in every way that the client knows, one after the other, and then succeed."""

    def __init__(self) -> None:
        """It has no quorum: nothing is sent."""
        nothing: Any = None
        super().__init__(nothing, (3000,), interval_s=0.0)
        self._failures: list[Exception] = [TimeoutError(), KafkaException(KafkaError(KafkaError._TIMED_OUT))]

    def _write(self, client: Any, number: int) -> None:  # noqa: ANN401, ARG002 - the client is none
        if self._failures:
            raise self._failures.pop(0)
        if number == 5:
            self._stopped.set()


def test_a_write_without_an_answer_is_noted_and_the_next_one_follows() -> None:
    """A request that the client lost, and one that timed out, are unanswered; what follows is acknowledged."""
    writer = Unlucky()
    nothing: Any = None
    writer._run(nothing)
    assert sorted(writer.account.unanswered) == [0, 1]
    assert sorted(writer.account.acknowledged) == [2, 3, 4, 5]
