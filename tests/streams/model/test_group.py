"""Lag is known only where both the committed offset and the end of the log are."""

from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.groups import Committed
from kafka_quorum.model.known import Known, Unknown
from kafka_streams.model.group import lags

A, B, C, D = (TopicPartition(topic=name, index=0) for name in "abcd")


def test_lag_is_what_follows_the_committed_offset() -> None:
    """A group at the end has no lag, and one behind it has the records between."""
    committed = (Committed(at=A, offset=10), Committed(at=B, offset=3))
    assert lags(committed, {A: Known(value=10), B: Known(value=10)}) == {A: Known(value=0), B: Known(value=7)}


def test_lag_is_unknown_without_both_numbers() -> None:
    """An end that is unknown, or was not asked for, and an offset behind the end give no number."""
    committed = (Committed(at=A, offset=1), Committed(at=B, offset=1), Committed(at=C, offset=9))
    found = lags(committed, {A: Unknown(reason="no leader"), C: Known(value=5), D: Known(value=5)})
    assert found[A] == Unknown(reason="no leader")
    assert found[B] == Unknown(reason="the end of b-0 was not looked at")
    assert found[C] == Unknown(reason="offset 9 of c-0 is committed, and its log ends at 5")
    assert set(found) == {A, B, C}
