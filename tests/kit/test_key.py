"""Keys of resources."""

from kit.key import ObjectKey


def test_key_reads_as_kubectl_writes_it() -> None:
    """A key names namespace and resource."""
    assert str(ObjectKey(namespace="kafka", name="alpha")) == "kafka/alpha"
