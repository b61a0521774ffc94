"""A file of properties is read as Java reads it, and `upgrade.from` in it is always a line of its own."""

import pytest

from kafka_streams.model.properties import UPGRADE_FROM, keys, with_upgrade_from

READ: dict[str, list[str]] = {
    "a=1\nb:2\rc 3\r\nd\te\nf": ["a", "b", "c", "d", "f"],
    "# a=1\n ! b=2\n\n \t\f\n\fc=3": ["c"],
    "list=one,\\\n    two,\\\n    # three\nb=4": ["list", "b"],
    "a=1\\\\\nb=2": ["a", "b"],
    "upgrade.from=2.3": [UPGRADE_FROM],
    "  upgrade.from = 2.3": [UPGRADE_FROM],
    "upgrade.from:2.3": [UPGRADE_FROM],
    "upgrade.from 2.3": [UPGRADE_FROM],
    "upgrade.from\t: 2.3": [UPGRADE_FROM],
    "upgrade.\\\n   from=2.3": [UPGRADE_FROM],
    "upgrade\\.from=2.3": [UPGRADE_FROM],
    "\\u0075pgrade.fro\\m=2.3": [UPGRADE_FROM],
    "upgrade.from\\=2.3": ["upgrade.from=2.3"],
    "a\\ b\\:c=1": ["a b:c"],
    "a=1\u2028upgrade.from=2.3": ["a"],
    "#upgrade.from=2.3\\\na=1": ["a"],
    "\\\n#a\nb": ["b"],
    "": [],
}
"""Files, and what `java.util.Properties` of Java 17 read: its keys, in order."""


@pytest.mark.parametrize("text", READ, ids=repr)
def test_keys_are_those_that_java_reads(text: str) -> None:
    """Whatever separates a key from its value, continues its line or stands for its characters."""
    assert list(keys(text)) == READ[text]


@pytest.mark.parametrize("end", ["", "\n", "\r\n\n", "\\", "\\\n", "\\\r\n", "\\\\", "\\ ", "\\\\\\", "\n\\", "\n#\\"])
def test_upgrade_from_is_a_line_of_its_own(end: str) -> None:
    """The last line of the file may go on: then the value of its key would take the new line in."""
    made = with_upgrade_from(f"bootstrap.servers=a:9092,b:9092,{end}", "2.3")
    assert [key for key in keys(made) if key] == ["bootstrap.servers", UPGRADE_FROM]
    assert made.endswith("\nupgrade.from=2.3\n")
