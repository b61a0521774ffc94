"""kubectl as a subprocess: every call has a deadline, and every error has a reason."""

import json
import time

import pytest
from tests.kubectl_kq.fake_kubectl import Fake, Prepared, fails, forbidden, gives, hangs
from tests.kubectl_kq.worlds import HOSTILE

from kubectl_kq.answers import Found, NotRead, Ran, Why, answer_of
from kubectl_kq.kubectl import Kubectl


def test_an_object_is_read(fake: Fake) -> None:
    """A path is asked for with the flags of the person and the deadline of one request."""
    fake.prepare([gives("/pods/p", {"kind": "Pod"})])
    assert Kubectl(["--context=c"], timeout_s=5).get("/pods/p") == Found(value={"kind": "Pod"})
    assert fake.calls() == [["get", "--raw=/pods/p", "--context=c", "--request-timeout=5s"]]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ('Error from server (NotFound): kafkaquorums.kafkaquorum.io "demo" not found', Why.MISSING),
        ("Error from server (NotFound): the server could not find the requested resource", Why.NO_KIND),
        ('Error from server (Forbidden): pods is forbidden: User "ada" cannot list resource', Why.FORBIDDEN),
        ("error: You must be logged in to the server (Unauthorized)", Why.FORBIDDEN),
        ("Please enter Username: error: EOF", Why.FORBIDDEN),
        ("Unable to connect to the server: dial tcp 10.0.0.1:443: i/o timeout", Why.SILENT),
        ("The connection to the server localhost:8080 was refused - did you specify", Why.SILENT),
        ("Unable to connect to the server: context deadline exceeded", Why.SILENT),
        ("error: something else", Why.FAILED),
        ("", Why.FAILED),
    ],
)
def test_every_error_has_its_reason(words: str, why: Why) -> None:
    """What kubectl prints says whether an object is missing, forbidden or unknown; only the API server says missing."""
    found = answer_of(Ran(code=1, out="", err=words))
    assert isinstance(found, NotRead)
    assert found.why is why
    assert found.words


@pytest.mark.parametrize("out", ["", "<html>sign in</html>", "[1]", "7", '{"a": ', "[" * 100_000])
def test_what_is_no_object_is_no_answer(out: str) -> None:
    """A proxy's page, a cut-off object and other JSON are no answer, and no error of the plugin."""
    found = answer_of(Ran(code=0, out=out, err=""))
    assert isinstance(found, NotRead)
    assert found.why is Why.FAILED


def test_hostile_words_are_cleaned() -> None:
    """Control characters of an error do not get further than the edge."""
    found = answer_of(Ran(code=1, out="", err=HOSTILE))
    assert isinstance(found, NotRead)
    assert found.words.isprintable()


@pytest.mark.parametrize("answer", [hangs("/p"), Prepared(on=("/p",), hangs_s=60, child=True)], ids=["self", "child"])
def test_a_call_that_hangs_ends(fake: Fake, answer: Prepared) -> None:
    """A kubectl that hangs, or whose child keeps the pipes open, ends at the deadline."""
    fake.prepare([answer])
    began_s = time.monotonic()
    found = Kubectl([], timeout_s=1).get("/p")
    assert time.monotonic() - began_s < 10
    assert isinstance(found, NotRead)
    assert found.why is Why.SILENT


def test_one_that_hangs_holds_up_no_other(fake: Fake) -> None:
    """Calls are made at the same time: one that hangs is an answer of its own."""
    fake.prepare([hangs("/a"), gives("/b", {"b": 1}), forbidden("/c")])
    began_s = time.monotonic()
    found = Kubectl([], timeout_s=1).get_all({each: f"/{each}" for each in "abc"})
    assert time.monotonic() - began_s < 10
    assert [type(each).__name__ for each in found.values()] == ["NotRead", "Found", "NotRead"]
    assert isinstance(found["c"], NotRead)
    assert found["c"].why is Why.FORBIDDEN


def test_texts_are_read_or_refused(fake: Fake) -> None:
    """What a command prints is a text; a command that fails is none."""
    fake.prepare([Prepared(on=("logs", "a"), out="line\n"), fails("logs", "Error from server: no kubelet")])
    found = Kubectl([], timeout_s=5).texts({"a": ("logs", "a"), "b": ("logs", "b")})
    assert found["a"] == "line\n"
    assert isinstance(found["b"], NotRead)
    assert Kubectl([], timeout_s=5).texts({}) == {}


def test_a_missing_kubectl_is_said(fake: Fake) -> None:
    """Without kubectl the error names it."""
    found = Kubectl([], timeout_s=5, executable=str(fake.folder / "none")).get("/p")
    assert isinstance(found, NotRead)
    assert "cannot run" in found.words


def test_input_is_passed(fake: Fake) -> None:
    """What a command reads on stdin reaches it."""
    fake.prepare([gives("create", {"kind": "K"})])
    ran = Kubectl([], timeout_s=5).run("create", "-f", "-", stdin="{}")
    assert isinstance(ran, Ran)
    assert json.loads(ran.out) == {"kind": "K"}
