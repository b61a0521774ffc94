"""Which properties a pool's spec may set, and how dynamic ones change."""

import pytest

from kafka_brokers.api.properties import dynamic_names, dynamic_step, is_dynamic, owned


def test_no_dynamic_property_is_owned() -> None:
    """What the operator or the quorum owns is never set on a running broker for the spec."""
    assert [name for name in dynamic_names() if owned(name) is not None] == []


def test_the_table_has_no_listeners_and_no_security() -> None:
    """Listeners, TLS, SASL and classes are never changed on a running broker."""
    words = ("listener", "ssl.", "sasl.", "class", "reporters", "security")
    assert [name for name in dynamic_names() if any(word in name for word in words)] == []
    assert is_dynamic("log.retention.ms")
    assert not is_dynamic("log.retention.hours")


@pytest.mark.parametrize(
    ("present", "wanted", "now"),
    [
        ("8", "8", "8"),
        ("8", "9", "9"),
        ("8", "16", "16"),
        ("8", "64", "16"),
        ("8", "4", "4"),
        ("8", "1", "4"),
        ("3", "1", "2"),
        ("1", "100", "2"),
        (None, "64", "64"),
        ("x", "64", "64"),
        ("8", "many", "many"),
    ],
)
def test_threads_change_in_steps(present: str | None, wanted: str, now: str) -> None:
    """A number of threads goes by half or to the double at most; what cannot be read is left to Kafka to refuse."""
    assert dynamic_step("num.io.threads", present, wanted) == now
    assert dynamic_step("log.retention.ms", present, wanted) == wanted


def test_steps_end() -> None:
    """Repeated steps reach the wanted number from any other, each within Kafka's bounds."""
    for start, goal in ((1, 1000), (1000, 1), (7, 3), (3, 7)):
        present = start
        for _ in range(20):
            after = int(dynamic_step("num.network.threads", str(present), str(goal)))
            assert present // 2 <= after <= present * 2
            present = after
        assert present == goal
