"""What pages tell people to type: patches, paths and examples have fields that the definitions have, and are valid."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.api.specs import merged

from kafka_brokers.api import crd as brokers_crd
from kafka_quorum.api import crd as quorum_crd
from kafka_quorum.api.validation import validate
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.known import Known
from kafka_streams.api import crd as streams_crd
from kafka_streams.api.validation import validate as validate_application
from kafka_streams.model.application import Desired as DesiredApplication

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted({ROOT / "README.md", *(ROOT / "docs").glob("*.md")})
PATCH = re.compile(r"patch kq \S+ --type[= ]merge -p '(\{.*?\})'")
PATH = re.compile(r"get kq \S+(?: -A)? \\?\s*-o jsonpath='([^']*)'")
APPLICATION_PATCH = re.compile(r"patch ksa \S+ --type[= ]merge -p '(\{.*?\})'(?=$|`)", re.MULTILINE)
APPLICATION_PATH = re.compile(r"get ksa \S+ -o jsonpath='([^']*)'")
CRDS = {"KafkaQuorum": quorum_crd, "KafkaBrokerPool": brokers_crd, "KafkaStreamsApplication": streams_crd}
Json = dict[str, Any]


def schema(kind: str) -> Json:
    """The definition of a kind."""
    found: Json = CRDS[kind].crd()
    return dict(found["spec"]["versions"][0]["schema"]["openAPIV3Schema"])


def unknown(value: object, at: Json, where: str = "") -> Iterator[str]:
    """The fields of a value that a schema does not have, and the values that it does not list."""
    if isinstance(value, dict) and "properties" in at:
        for name, child in value.items():
            if name not in at["properties"]:
                yield f"{where}.{name}"
            else:
                yield from unknown(child, at["properties"][name], f"{where}.{name}")
    if isinstance(value, list):
        for child in value:
            yield from unknown(child, at.get("items", {}), f"{where}[]")
    if "enum" in at and value not in at["enum"]:
        yield f"{where}={value}"


def fields(path: str) -> Iterator[list[str]]:
    """The fields that a template of jsonpath reads, from the top: those of a `range` begin with its list."""
    within: list[str] = []
    for text in re.findall(r"\{([^{}]+)\}", path):
        begun = re.fullmatch(r"range (\.\S+)", text)
        if begun:
            within = _names(begun[1])
            yield within
        elif text == "end":
            within = []
        elif text.startswith("."):
            yield [*within, *_names(text)]


def _names(text: str) -> list[str]:
    return re.findall(r"\.(\w+)", re.sub(r"\[[^\]]*\]", "", text))


def missing(names: list[str], at: Json) -> str:
    """The first of these fields that the schema does not have; empty if it has all."""
    for name in names:
        at = at.get("items", at)
        if name not in at.get("properties", {}):
            return ".".join(names)
        at = at["properties"][name]
    return ""


def found(pattern: re.Pattern[str]) -> list[tuple[str, str]]:
    """Every match on every page, with the page's name."""
    return [(page.name, text) for page in PAGES for text in pattern.findall(page.read_text())]


@pytest.mark.parametrize(("page", "patch"), found(PATCH))
def test_a_patch_is_one_that_the_definition_takes(page: str, patch: str) -> None:
    """Every merge patch of a page is JSON, and has fields and values that the definition has."""
    assert list(unknown(json.loads(patch), schema("KafkaQuorum"))) == [], page


@pytest.mark.parametrize(("page", "path"), found(PATH))
def test_a_path_leads_to_a_field(page: str, path: str) -> None:
    """Every path of a page names fields that the definition has."""
    read = [names for names in fields(path) if names and names[0] in ("spec", "status")]
    assert read, f"{page}: {path}"
    assert [wrong for names in read if (wrong := missing(names, schema("KafkaQuorum")))] == [], page


@pytest.mark.parametrize(("page", "patch"), found(APPLICATION_PATCH))
def test_a_patch_of_an_application_is_one_that_the_definition_takes(page: str, patch: str) -> None:
    """The same for applications; a variable of the shell stands for a text."""
    patch = patch.replace("'$hash'", "0123456789")
    assert list(unknown(json.loads(patch), schema("KafkaStreamsApplication"))) == [], page


@pytest.mark.parametrize(("page", "path"), found(APPLICATION_PATH))
def test_a_path_of_an_application_leads_to_a_field(page: str, path: str) -> None:
    """The same for paths of applications."""
    read = [names for names in fields(path) if names and names[0] in ("spec", "status")]
    assert read, f"{page}: {path}"
    assert [wrong for names in read if (wrong := missing(names, schema("KafkaStreamsApplication")))] == [], page


def examples() -> list[tuple[str, Json]]:
    """Every whole resource of ours that a page shows."""
    blocks = (
        (page.name, text) for page in PAGES for text in re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)
    )
    whole = ((page, body) for page, text in blocks if "\nkind: Kafka" in text for body in yaml.safe_load_all(text))
    return [(page, body) for page, body in whole if body and body.get("kind") in CRDS]


@pytest.mark.parametrize(("page", "body"), examples(), ids=lambda value: value if isinstance(value, str) else "")
def test_an_example_is_valid(page: str, body: Json) -> None:
    """Every example of a page has fields that the definition has; one of a quorum or an application has no faults."""
    assert list(unknown(body, schema(body["kind"]))) == [], page
    if body["kind"] == "KafkaQuorum":
        assert isinstance(validate(body), Desired), (page, validate(body))
    if body["kind"] == "KafkaStreamsApplication":
        followed = validate_application(body, Known(value="application.id=counts"))
        assert isinstance(followed, DesiredApplication), (page, followed)


def test_the_way_of_a_migration_is_valid_at_each_step() -> None:
    """The patches of docs/zookeeper.md, one after the other upon its example, leave a spec without faults each time."""
    (spec,) = (body for page, body in examples() if page == "zookeeper.md")
    patches = [json.loads(text) for page, text in found(PATCH) if page == "zookeeper.md"]
    asked = [next(iter(patch["spec"]["zookeeper"])) for patch in patches]
    assert asked == ["dryRun", "finalize", "finalize", "rollBack"]
    for patch in patches:
        spec = merged(spec, patch)
        assert isinstance(validate(spec), Desired), (patch, validate(spec))


def test_wrong_commands_are_noticed() -> None:
    """A field or a value that there is not is found, at any depth and within a range."""
    at = schema("KafkaQuorum")
    assert list(unknown({"spec": {"zookeeper": {"finalise": True}}}, at)) == [".spec.zookeeper.finalise"]
    assert list(unknown({"spec": {"bootstrap": {"mode": "Zookeeper"}}}, at)) == [".spec.bootstrap.mode=Zookeeper"]
    path = '{range .status.preflight.blockers[*]}{.code}{"\\t"}{.wayout}{"\\n"}{end}{.status.migrations}'
    assert [wrong for names in fields(path) if (wrong := missing(names, at))] == [
        "status.preflight.blockers.wayout",
        "status.migrations",
    ]
    assert len(found(PATCH)) > 6
    assert len(found(PATH)) > 6
    assert {body["kind"] for _, body in examples()} == set(CRDS)
    assert len(found(APPLICATION_PATCH)) > 2
    assert len(found(APPLICATION_PATH)) > 2
