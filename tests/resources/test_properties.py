"""`server.properties`, read as Java reads it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.model.values import IDS, NAME, NAMESPACE, revision, runtime

from kafka_quorum.api import properties as rules
from kafka_quorum.model.desired import ControllerListener
from kafka_quorum.model.ids import Member, NodeID
from kafka_quorum.model.observed import Revision
from kafka_quorum.resources.properties import LOG_DIR, server_properties


def load(text: str) -> dict[str, str]:
    """What `java.util.Properties.load` reads from a Latin-1 file, according to its documentation."""
    text.encode("latin-1")
    found: dict[str, str] = {}
    for line in text.split("\n"):
        bare = line.lstrip(" \t\f")
        if not bare or bare[0] in "#!":
            continue
        key, rest = "", bare
        while rest and rest[0] not in "=: \t\f":
            step = 2 if rest[0] == "\\" else 1
            key, rest = key + rest[:step], rest[step:]
        rest = rest.lstrip(" \t\f")
        if rest and rest[0] in "=:":
            rest = rest[1:].lstrip(" \t\f")
        found[_unescaped(key)] = _unescaped(rest)
    return found


def _unescaped(text: str) -> str:
    units: list[int] = []
    index = 0
    while index < len(text):
        character = text[index]
        index += 1
        if character != "\\":
            units.append(ord(character))
            continue
        escaped = text[index]
        index += 1
        if escaped == "u":
            units.append(int(text[index : index + 4], 16))
            index += 4
        else:
            units.append(ord({"t": "\t", "n": "\n", "r": "\r", "f": "\f"}.get(escaped, escaped)))
    return b"".join(unit.to_bytes(2, "big") for unit in units).decode("utf-16-be")


def written(of: Revision | None = None, node_id: NodeID = IDS[0], ids: tuple[NodeID, ...] = IDS) -> dict[str, str]:
    """The properties of a controller, as Kafka sees them."""
    return load(server_properties(NAMESPACE, Member(NAME, node_id), ids, of or revision()))


def test_whole_file() -> None:
    """The complete properties of a controller."""
    hosts = ",".join(f"alpha-{node_id}.alpha-controllers.kafka.svc:9093" for node_id in IDS)
    assert written(node_id=IDS[1]) == {
        "process.roles": "controller",
        "node.id": "3001",
        "listeners": "CONTROLLER://:9093",
        "advertised.listeners": "CONTROLLER://alpha-3001.alpha-controllers.kafka.svc:9093",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT",
        "controller.quorum.bootstrap.servers": hosts,
        "controller.quorum.auto.join.enable": "false",
        "log.dirs": LOG_DIR,
        "metadata.log.dir": LOG_DIR,
    }


def test_everything_set_here_is_owned() -> None:
    """Validation refuses every property that this file sets."""
    assert all(rules.owned(key) for key in written())


def test_never_the_static_voters() -> None:
    """The properties of a dynamic quorum have no static voter list."""
    assert "controller.quorum.voters" not in written()


def test_static_voters() -> None:
    """A static quorum has its voters in the properties, and no bootstrap servers: with both it would be dynamic."""
    of = revision(runtime(static_voters=IDS, listener=ControllerListener(name="CONTROLLER", port=9094)))
    found = written(of)
    assert found["controller.quorum.voters"] == ",".join(
        f"{node_id}@alpha-{node_id}.alpha-controllers.kafka.svc:9094" for node_id in IDS
    )
    assert "controller.quorum.bootstrap.servers" not in found
    dynamic = written(revision())
    assert {*found} ^ {*dynamic} == {"controller.quorum.voters", "controller.quorum.bootstrap.servers"}


def test_listener_of_the_revision() -> None:
    """Name and port of the listener are in every property that refers to it."""
    of = revision(runtime(listener=ControllerListener(name="QUORUM", port=19093)))
    made = written(of)
    assert made["listeners"] == "QUORUM://:19093"
    assert made["controller.listener.names"] == "QUORUM"
    assert made["controller.quorum.bootstrap.servers"].count(":19093") == 3


VALUES = st.text(st.characters(exclude_categories=["Cs"]), max_size=40).filter(
    lambda text: not rules.has_line_break(text)
)


@settings(max_examples=50)
@given(st.dictionaries(st.from_regex(rules.KEY_FORM, fullmatch=True), VALUES, max_size=8))
def test_every_admitted_setting_arrives(config: dict[str, str]) -> None:
    """Every key and value that validation admits is read by Java as it was written."""
    extra = {key: value for key, value in config.items() if not rules.owned(key)}
    made = written(revision(runtime(config=tuple(sorted(extra.items())))))
    assert {key: made[key] for key in extra} == extra
    assert len(made) == len(written()) + len(extra)


@pytest.mark.parametrize(
    "value",
    [
        "",
        " leading",
        "\tleading tab",
        "  two",
        "trailing ",
        "a=b:c",
        "#no comment",
        "!no",
        "C:\\path\\n",
        "ü → 😀",
        "\\",
    ],
)
def test_hard_values(value: str) -> None:
    """Leading blanks, separators, comment signs, backslashes and other scripts are read as they were written."""
    assert written(revision(runtime(config=(("some.key", value),))))["some.key"] == value
