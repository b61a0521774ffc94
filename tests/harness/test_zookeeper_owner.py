"""The owner of foreign brokers does what a page says, key by key, and nothing else."""

import pytest

from harness.zookeeper_brokers import with_page

OWN = {"broker.id": "1", "zookeeper.connect": "zk:2181", "authorizer.class.name": "AclAuthorizer", "log.dirs": "/data"}
MIGRATING = """\
# What every broker must have now: contract revision 2.
zookeeper.connect=zk:2181
zookeeper.metadata.migration.enable=true
controller.quorum.voters=3000@a:9093,3001@b:9093
inter.broker.protocol.version=3.9
"""
KRAFT = """\
process.roles=broker
authorizer.class.name=StandardAuthorizer
controller.quorum.voters=3000@a:9093,3001@b:9093
# zookeeper.connect must not be set
# zookeeper.metadata.migration.enable must not be set
# inter.broker.protocol.version must not be set
"""


def test_a_page_in_zookeeper_mode_is_added_to_the_owners_settings() -> None:
    """Its lines are there, a broker without roles has a broker id, and values keep their equals signs."""
    found = with_page(OWN, MIGRATING + "a.b=x=y;\n", 1)
    assert found["zookeeper.metadata.migration.enable"] == "true"
    assert found["controller.quorum.voters"] == "3000@a:9093,3001@b:9093"
    assert found["a.b"] == "x=y;"
    assert (found["broker.id"], "node.id" in found, found["log.dirs"]) == ("1", False, "/data")


def test_a_page_in_kraft_mode_removes_what_must_not_be_set() -> None:
    """The id is the node id, ZooKeeper's settings are gone, the authorizer is replaced."""
    found = with_page(OWN, KRAFT, 2)
    assert found["node.id"] == "2"
    assert not [
        key for key in found if key.startswith("zookeeper.") or key in ("broker.id", "inter.broker.protocol.version")
    ]
    assert found["authorizer.class.name"] == "StandardAuthorizer"


def test_a_key_that_the_page_does_not_name_any_more_has_the_owners_value() -> None:
    """After a roll back the owner's authorizer and ZooKeeper are there again, and no role."""
    with_page(OWN, KRAFT, 1)
    found = with_page(OWN, MIGRATING, 1)
    assert found["authorizer.class.name"] == "AclAuthorizer"
    assert "process.roles" not in found


def test_an_unreadable_line_is_an_error() -> None:
    """A line that is neither a comment nor a setting is not left out silently."""
    with pytest.raises(ValueError, match="no setting: nonsense"):
        with_page(OWN, "nonsense", 1)
