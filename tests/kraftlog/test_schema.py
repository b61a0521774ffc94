"""The schemas are the facts of Kafka's own descriptions, and no record type is written by hand."""

import hashlib

import pytest
from tests.kraftlog import export_schemas, kafka_schemas

from kraftlog.errors import SchemaError
from kraftlog.program import program
from kraftlog.schema import Kind, catalog, parse, releases

_STRUCT_TAGGED = """{"apiKey": 1, "type": "metadata", "name": "OddRecord", "validVersions": "0",
"flexibleVersions": "0+", "fields": [{"name": "Inner", "type": "Inner", "versions": "0+", "taggedVersions": "0+",
"tag": 0, "fields": []}]}"""
_DIGESTS = {
    "3.3.2": "6ab048b7d0b5d471c3fc86d0ee8e47ec9591ab7060734910ee753e31a710b1f0",
    "3.4.1": "a6523046bcdae70bf2bee2192cad0807865e25e49cd5c00efaaf16abac0586c9",
    "3.5.2": "243df7035060e49c79731ec109a8b1c639aa9b4f5f65297ee3c4658256e0ae37",
    "3.6.2": "4784dfccfa36f17cc2c55acad47eccc4d1247c6ccfee40e12c8d55eb3705ac63",
    "3.7.2": "0131581abbddca89d31c4bde9a25a12f85fb03d88db3ca29e5a39302af99f8db",
    "3.8.1": "4afd6259d7126a2eddd8f67afe1a4356e4d298524096a8977e3a0c6bee41d52b",
    "3.9.2": "49fd0a3e7a14b53596df98c36198da09bdeab8b78a8bea5ba617b9e9d3eeea93",
    "4.0.2": "23c6561683ced45fab1fd3b4509ba5a71dfc6c9f74e51076a9a3e4c46789df23",
    "4.1.2": "23c6561683ced45fab1fd3b4509ba5a71dfc6c9f74e51076a9a3e4c46789df23",
    "4.2.1": "23c6561683ced45fab1fd3b4509ba5a71dfc6c9f74e51076a9a3e4c46789df23",
    "4.3.1": "e400da5b4aa825978950c6295cdffa659951cfa60866bcef4da0a7c8444384b7",
    "4.4.0": "8cb64944cb4bbb1bb62584d5f068b3d6819e8e48169ec194f0334d80717921dc",
    None: "bab603a71bc64608333fac1618ec4cd9790cdbf6e6065b141196fbe0cf80b9fc",
}
"""Of all schemas of a release, computed when they were still read from Kafka's own files."""
_RIGID = (
    '{"apiKey": 1, "type": "metadata", "name": "Odd", "validVersions": "0", "flexibleVersions": "1+", "fields": []}'
)


def test_every_minor_release_is_there() -> None:
    """Kafka 3.3 to 4.4 are there, one patch each, and can be selected by minor or by patch."""
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
    """Metadata records have the names of Kafka's enum, control records those of the tool."""
    names = catalog("4.4").type_names()
    assert names["CLEAR_ELR_RECORD"] == (False, 28)
    assert names["ZK_MIGRATION_STATE_RECORD"] == (False, 21)
    assert names["KRaftVoters"] == (True, 6)


def test_the_union_prefers_the_newest_description() -> None:
    """A renamed field has its new name, and a removed type is still known."""
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
    """The error names the available releases."""
    with pytest.raises(SchemaError, match=r"3\.3\.2"):
        catalog("2.8")


@pytest.mark.parametrize("text", [_STRUCT_TAGGED, _RIGID])
def test_what_the_decoder_cannot_do_is_refused(text: str) -> None:
    """A description that the compiled decoder does not support is an error when it is read."""
    with pytest.raises(SchemaError):
        list(kafka_schemas.parse(text))


@pytest.mark.parametrize("release", _DIGESTS)
def test_schemas_are_what_they_were_in_kafkas_own_files(release: str | None) -> None:
    """The format keeps every name, type, tag, default and nullability of every record and version."""
    schemas = catalog(release).schemas
    text = "\n".join(repr(schemas[key]) for key in sorted(schemas))
    assert hashlib.sha256(text.encode()).hexdigest() == _DIGESTS[release]


def test_the_file_holds_facts_alone() -> None:
    """The file equals what is written for the schemas read from it, so it has no other text."""
    text = export_schemas.TARGET.read_text()
    assert export_schemas.export(releases(), lambda release: catalog(release).schemas) == text
    assert releases() == export_schemas.RELEASES


@pytest.mark.full
@pytest.mark.timeout(1800)
def test_the_file_is_what_the_jars_say() -> None:
    """Generating the file from Kafka's jars again changes nothing."""
    assert export_schemas.export() == export_schemas.TARGET.read_text()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("record 1 ODD 0 1.0", "begins with 'record'"),
        ("metadata 1 ODD 0 2.0", "2.0"),
        ("metadata 1 ODD 0 1.0 a:int3", "unknown type int3"),
        ("metadata 1 ODD 0 1.0 a:{b:int32", "no end"),
        ("metadata 1 ODD 0 1.0 a:int32 !", "no field"),
        ("metadata 1 ODD 0 1.0 a:{b:int32}@0", "tagged struct"),
    ],
)
def test_a_broken_line_is_refused(line: str, said: str) -> None:
    """The error quotes the wrong part."""
    with pytest.raises(SchemaError, match=said):
        parse(f"releases 1.0\n{line}\n")


def test_a_program_describes_every_schema() -> None:
    """Each schema has a span of operations, and the index leads to it."""
    code = program("4.4")
    assert len(code.described) == len(code.spans) == len(catalog("4.4").schemas)
    assert (code.spans[:, 0] <= code.spans[:, 1]).all()
