"""The schemas are Kafka's own, and nothing about a record type is written by hand."""

import pytest

from kraftlog.errors import SchemaError
from kraftlog.program import program
from kraftlog.schema import Kind, catalog, parse, releases

_STRUCT_TAGGED = """{"apiKey": 1, "type": "metadata", "name": "OddRecord", "validVersions": "0",
"flexibleVersions": "0+", "fields": [{"name": "Inner", "type": "Inner", "versions": "0+", "taggedVersions": "0+",
"tag": 0, "fields": []}]}"""
_RIGID = (
    '{"apiKey": 1, "type": "metadata", "name": "Odd", "validVersions": "0", "flexibleVersions": "1+", "fields": []}'
)


def test_every_minor_release_is_there() -> None:
    """Kafka 3.3 to 4.4, one patch each, can be asked for by minor or by patch."""
    assert [release.rsplit(".", 1)[0] for release in releases()] == [
        *(f"3.{minor}" for minor in range(3, 10)),
        *(f"4.{minor}" for minor in range(5)),
    ]
    assert catalog("4.4").schemas == catalog("4.4.0").schemas


@pytest.mark.parametrize(("release", "count"), [("3.3", 20), ("3.9", 33), ("4.1", 36), ("4.3", 38), ("4.4", 39)])
def test_what_a_release_knows(release: str, count: int) -> None:
    """Types and versions grow with the releases."""
    assert len(catalog(release).schemas) >= count


def test_names_as_dump_log_prints_them() -> None:
    """Metadata records are called as in Kafka's enum, control records as the tool calls them."""
    names = catalog("4.4").type_names()
    assert names["CLEAR_ELR_RECORD"] == (False, 28)
    assert names["ZK_MIGRATION_STATE_RECORD"] == (False, 21)
    assert names["KRaftVoters"] == (True, 6)


def test_the_union_prefers_the_newest_description() -> None:
    """A field that was renamed has its new name, and a type that went away is still known."""
    union = catalog()
    partition = union.find(3, 2)
    assert partition is not None
    assert "lastKnownElr" in {field.name for field in partition.fields}
    assert union.find(6, 0) is not None, "the access control record of 3.3"
    old = catalog("3.7").find(3, 2)
    assert old is not None
    assert "lastKnownELR" in {field.name for field in old.fields}


def test_nested_structs_are_read() -> None:
    """The endpoints of a voter are structs within structs."""
    voters = catalog("4.4").find(6, 0, control=True)
    assert voters is not None
    inner = next(field for field in voters.fields if field.name == "voters")
    assert inner.kind is Kind.STRUCT
    assert {"endpoints", "kRaftVersionFeature"} <= {field.name for field in inner.fields}


def test_an_unknown_release_is_refused() -> None:
    """The error names the releases that are there."""
    with pytest.raises(SchemaError, match=r"3\.3\.2"):
        catalog("2.8")


@pytest.mark.parametrize("text", [_STRUCT_TAGGED, _RIGID])
def test_what_the_decoder_cannot_do_is_refused(text: str) -> None:
    """A description beyond what the compiled decoder knows is an error when it is read, not a wrong record later."""
    with pytest.raises(SchemaError):
        list(parse(text))


def test_a_program_describes_every_schema() -> None:
    """Each schema has a span of operations, and the index leads to it."""
    code = program("4.4")
    assert len(code.described) == len(code.spans) == len(catalog("4.4").schemas)
    assert (code.spans[:, 0] <= code.spans[:, 1]).all()
