"""Which properties a pool's spec may set, and how dynamic ones change."""

from kafka_brokers.api.properties import dynamic_names, is_dynamic, owned, thread_counts


def test_no_dynamic_property_is_owned() -> None:
    """What the operator or the quorum owns is never set on a running broker for the spec."""
    assert [name for name in dynamic_names() if owned(name) is not None] == []


def test_the_table_has_no_listeners_and_no_security() -> None:
    """Listeners, TLS, SASL and classes are never changed on a running broker."""
    words = ("listener", "ssl.", "sasl.", "class", "reporters", "security")
    assert [name for name in dynamic_names() if any(word in name for word in words)] == []
    assert is_dynamic("log.retention.ms")
    assert not is_dynamic("log.retention.hours")


def test_numbers_of_threads_are_dynamic() -> None:
    """Every number of threads is a dynamic property, and the ones that Kafka bounds are among them."""
    assert thread_counts() < dynamic_names()
    assert {"num.io.threads", "num.replica.fetchers", "remote.log.reader.threads"} <= thread_counts()
