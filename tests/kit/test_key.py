"""Keys of resources."""

from kit.key import ObjectKey


def test_key_reads_as_kubectl_writes_it() -> None:
    """The text of a key is namespace and name, as in kubectl."""
    assert str(ObjectKey(namespace="kafka", name="alpha")) == "kafka/alpha"
