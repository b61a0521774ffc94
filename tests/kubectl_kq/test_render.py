"""Text, JSON and YAML of a page: they say the same, and nothing from outside controls the terminal."""

import json
import re
from collections.abc import Iterator

import pytest
import yaml
from tests.kubectl_kq.worlds import HOSTILE, NOW, ago, listed, look, pool, saying, silent, wait

from kubectl_kq import render
from kubectl_kq.ages import When
from kubectl_kq.doctor import doctor_page
from kubectl_kq.explain import explain_page
from kubectl_kq.history import history_page
from kubectl_kq.page import Column, Fact, Facts, Page, Table
from kubectl_kq.sources import Look, Source
from kubectl_kq.status import list_page, status_page


def troubled() -> Look:
    """A quorum of which much is wrong, and of which something does not answer."""
    waits = [
        wait("LostNode", "Degraded", "Kubernetes node worker-3 is not ready", 3002, seconds=300),
        wait("RollHeld", "Held", "Did not restart controllers 3000, 3001", 3000, 3001),
    ]
    status = {
        "doing": "LostNode",
        "waits": waits,
        "quorum": {"summary": "2/3", "leaderID": 3001, "voters": 3, "failureTolerance": 0},
        "staleReplicas": [{"nodeID": 3002, "directoryID": "old", "kind": "Voter"}],
        "operation": {"type": "ReplaceVoter", "target": "3002", "step": "Removed", "startedAt": ago(30)},
        "migration": {"kind": "Listeners", "stage": 1, "stages": 4, "name": "Open", "missing": "every broker"},
        "features": [{"name": "metadata.version", "finalized": 30, "wanted": 33, "blockedBy": "controller 3002"}],
        "brokers": [{"nodeID": 0, "release": "4.3", "conforms": "False", "reason": "process.roles"}],
        "certificates": {"validUntil": ago(-86_400)},
    }
    item = saying(status, {"paused": True}, Degraded=("True", "LostNode", "Kubernetes node worker-3 is not ready"))
    held = pool()
    held["status"] |= {
        "doing": "RollHeld",
        "message": "a partition",
        "waits": [wait("RollHeld", "Held", "a partition")],
    }
    return look({Source.QUORUM: item, Source.POOLS: listed(held), Source.BUDGET: silent(), Source.EVENTS: silent()})


def pages(seen: Look) -> list[Page]:
    """Every page that shows a look."""
    item = seen.object(Source.QUORUM) or {}
    return [
        status_page(seen, NOW),
        explain_page(seen, NOW),
        doctor_page(seen, NOW),
        history_page(seen, NOW),
        list_page([item], "kafka", NOW),
    ]


def leaves(value: object) -> Iterator[str]:
    """Every value of JSON as the text shows it; of a time its age."""
    if isinstance(value, dict):
        yield from leaves(value["age"] if set(value) == {"at", "age"} else list(value.values()))
    elif isinstance(value, list):
        for each in value:
            yield from leaves(each)
    elif value is not None:
        yield {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def labels(page: Page) -> str:
    """Every word of the text that is a name of a value."""
    words: list[str] = []
    for section in page.sections:
        words.append(section.title)
        if isinstance(section, Table):
            words += [section.empty, *(column.label for column in section.columns)]
        else:
            words += [fact.label for fact in section.facts]
    return " ".join(words)


@pytest.mark.parametrize("seen", [look(), troubled()], ids=["well", "troubled"])
def test_text_json_and_yaml_say_the_same(seen: Look) -> None:
    """Each value of JSON is in the text, each word of the text is a label or in JSON, and YAML is the same as JSON."""
    for page in pages(seen):
        said, text = json.loads(render.as_json(page)), " ".join(render.as_text(page, width=100_000).split())
        assert yaml.safe_load(render.as_yaml(page)) == said
        del said["command"]
        found = list(leaves(said))
        missing = [each for each in found if " ".join(each.split()) not in text]
        assert missing == [], page.command
        known = set(re.findall(r"[\w.-]+", " ".join(found) + " " + labels(page)))
        assert set(re.findall(r"[\w.-]+", text)) - known - {"-"} == set(), page.command


def test_every_row_is_in_the_text() -> None:
    """A table has as many rows in the text as in JSON."""
    page = explain_page(troubled(), NOW)
    said = json.loads(render.as_json(page))
    text = render.as_text(page)
    assert len(said["waits"]) == 2
    assert text.count("Evidence: ") == 2
    assert text.count("What unblocks it: ") == len(said["waits"]) + len(said["conditions"]) + len(said["poolWaits"])


def test_a_value_that_looks_like_another_type_stays_a_text_in_yaml() -> None:
    """Texts such as `no`, `1e3` and `null`, and characters beyond ASCII, are the same after YAML."""
    texts = ("no", "1e3", "null", "- a: b", "#x", "'\"", "é ü 😀", "~", "2026-01-01")
    page = Page(
        command="status",
        sections=(
            Facts(facts=tuple(Fact(key=f"k{n}", label="L", value=text) for n, text in enumerate(texts))),
            Facts(key="on", facts=(Fact(key="ids", label="L", value=()),)),
            Table(
                key="t",
                title="T",
                columns=(Column(key="a", label="A"), Column(key="b", label="B")),
                rows=((1, ("x",)),),
            ),
        ),
    )
    found = yaml.safe_load(render.as_yaml(page))
    assert found == render.data(page)
    assert [found[f"k{n}"] for n in range(len(texts))] == list(texts)


def hostile() -> Look:
    """A quorum whose texts all have control characters."""

    def spoilt(value: object) -> object:
        if isinstance(value, dict):
            return {key: spoilt(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [spoilt(each) for each in value]
        return f"{value} {HOSTILE}" if isinstance(value, str) else value

    seen = troubled()
    item = seen.object(Source.QUORUM)
    assert item is not None
    changed = {"status": spoilt(item["status"]), "metadata": item["metadata"] | {"labels": {HOSTILE: HOSTILE}}}
    events = listed({"type": "Warning", "reason": HOSTILE, "message": HOSTILE, "lastTimestamp": ago(5)})
    return look(
        {
            Source.QUORUM: item | changed,
            Source.EVENTS: events,
            Source.BUDGET: silent(HOSTILE),
            Source.CLAIMS: silent(HOSTILE),
        }
    )


def test_hostile_text_is_never_printed_raw() -> None:
    """No page has a control character but line breaks, in text, JSON and YAML, also if a page was made without care."""
    careless = Page(
        command="status",
        sections=(Facts(facts=(Fact(key="a", label="A", value=HOSTILE), Fact(key="b", label="B", value=(HOSTILE,)))),),
    )
    aged = Facts(facts=(Fact(key="c", label="C", value=When(stamp=HOSTILE, age=HOSTILE)),))
    for page in [*pages(hostile()), careless, Page(command="x", sections=(aged,))]:
        for text in (render.as_text(page), render.as_json(page), render.as_yaml(page)):
            assert all(character.isprintable() or character == "\n" for character in text), page.command
            assert "goes on" in text


def test_colours_are_for_words_of_state_only() -> None:
    """With colours the text has escape sequences around words of state; without them it is the same text."""
    page = doctor_page(troubled(), NOW)
    coloured, plain = render.as_text(page, colour=True), render.as_text(page)
    assert "\x1b[31mCRIT\x1b[0m" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == plain
    assert "\x1b" not in plain


@pytest.mark.parametrize("width", [10, 80, 100, 160])
def test_sentences_are_wrapped(width: int) -> None:
    """No line of facts and sentences is wider than the terminal; the narrowest is 40 columns."""
    page = Page(
        command="status",
        sections=(
            Facts(facts=(Fact(key="m", label="Message", value="word " * 200),)),
            Table(
                key="t",
                title="T",
                columns=(Column(key="a", label="A"), Column(key="b", label="", below=True)),
                rows=(("x", "word " * 200),),
            ),
        ),
    )
    assert max(map(len, render.as_text(page, width=width).splitlines())) <= max(width, 40)
