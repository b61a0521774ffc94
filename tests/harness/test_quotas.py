"""The text of a quota's entity names its parts, the default entity apart from one of that name."""

from harness.quotas import parts


def test_an_entity_is_read_into_its_parts() -> None:
    """Types in their order, names with equals signs and spaces, and None for the default."""
    assert parts("user=alice, client-id=<default>") == [("user", "alice"), ("client-id", None)]
    assert parts("user=CN=a b") == [("user", "CN=a b")]
