"""`plan`: the operator's own planner is asked, and nothing else is changed."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.kubectl_kq.fake_kubectl import Fake, Prepared, fails, forbidden, gives, hangs
from tests.kubectl_kq.worlds import HOSTILE, NOW, ago, prepared, quorum

from kubectl_kq import plan, planning, render
from kubectl_kq.answers import Found, NotRead, Why
from kubectl_kq.page import DONE, UNKNOWN, Page
from kubectl_kq.program import main

Json = dict[str, Any]
Capture = pytest.CaptureFixture[str]

ANSWER: Json = {
    "metadata": {"name": "demo-x1"},
    "status": {
        "state": "Answered",
        "message": "One pass would do 1 act",
        "lookedAt": ago(4),
        "changes": ["spec.kafka.version"],
        "older": [3000, 3001],
        "acts": [{"kind": "RestartPod", "nodeID": 3000, "guard": "5-restart", "message": "restarting 3000"}],
        "waits": [
            {
                "severity": "Progress",
                "reason": "Rolling",
                "nodeID": 3001,
                "message": "Waiting for 3000",
                "rule": "5-restart",
                "evidence": ["3000 is not caught up", "no look shows it"],
            }
        ],
        "guards": [
            {"rule": "5-restart", "allowed": False, "reason": "3000 is not back"},
            {"rule": "4-one-change", "allowed": True, "reason": "no change is open"},
        ],
    },
}
NO_KIND = fails("create", 'error: resource mapping not found: no matches for kind "PlanQuestion" in version "x"')


def answered(answer: Json = ANSWER) -> list[Prepared]:
    """A kubectl beside an operator that answers."""
    created = gives("create --validate=false --filename=-", {"metadata": {"name": "demo-x1"}})
    return [gives("/planquestions/demo-x1", answer), created, gives("delete", {}), *prepared()]


def test_an_answer_has_acts_waits_and_refusals() -> None:
    """The page has what would be done, by which guard, what is waited for with its evidence, and what is refused."""
    page = plan.plan_page("kafka", "demo", ANSWER, NOW)
    found = render.data(page)
    assert found["acts"][0]["guard"] == "5-restart"
    assert found["plannedWaits"][0]["evidence"] == "3000 is not caught up; no look shows it"
    assert found["refusals"] == [{"guard": "5-restart", "reason": "3000 is not back"}]
    assert found["older"] == [3000, 3001]
    assert found["changes"] == ["spec.kafka.version"]
    assert page.code == DONE
    text = render.as_text(page)
    assert "RestartPod" in text
    assert "Waiting for 3000" in text


def test_a_manifest_with_errors_is_no_plan() -> None:
    """Errors of the manifest are named with their fields, and the exit code is not 0."""
    status = {"state": "Invalid", "errors": [{"field": "spec.kafka.version", "message": f"wrong {HOSTILE}"}]}
    page = plan.plan_page("kafka", "demo", {"status": status}, NOW)
    assert page.code == UNKNOWN
    text = render.as_text(page)
    assert "spec.kafka.version" in text
    assert all(character.isprintable() or character == "\n" for character in text)


def test_a_question_is_asked_and_deleted(fake: Fake, capsys: Capture) -> None:
    """One question is created for the quorum, its answer is shown, and the question is deleted."""
    fake.prepare(answered())
    assert main(["plan", "demo", "-n", "kafka", "-o", "json"]) == DONE
    assert json.loads(capsys.readouterr().out)["state"] == "Answered"
    assert [call[0] for call in fake.calls()] == ["create", "get", "delete"]


def test_an_edited_file_is_asked_about(fake: Fake, capsys: Capture, tmp_path: Path) -> None:
    """Kubectl reads the file without sending it; only the quorum of this name is taken."""
    (tmp_path / "edited.yaml").write_text("kind: KafkaQuorum\n")
    made = Prepared(on=("--dry-run=client",), out=json.dumps(quorum()) + "\n" + json.dumps({"kind": "ConfigMap"}))
    fake.prepare([made, *answered()])
    assert main(["plan", "demo", "-n", "kafka", "-f", "edited.yaml"]) == DONE
    assert "RestartPod" in capsys.readouterr().out
    fake.prepare([made, *answered()])
    assert main(["plan", "other", "-n", "kafka", "-f", "edited.yaml"]) == UNKNOWN
    assert "it has 0 objects KafkaQuorum other" in capsys.readouterr().err
    assert main(["plan", "demo", "-n", "kafka", "-f", "none.yaml"]) == UNKNOWN


@pytest.mark.parametrize("text", ["{", "[" * 100_000, "null x"])
def test_what_is_no_manifest_is_refused(text: str) -> None:
    """Anything that is no JSON is a sentence, and no error of the plugin."""
    assert plan.manifest_of(text, "demo") == "kubectl did not make JSON of it"


def test_lists_and_documents_are_read() -> None:
    """The quorum is found in a list and among several documents; two of the same name are refused."""
    one = json.dumps(quorum())
    assert plan.manifest_of(json.dumps({"kind": "List", "items": [quorum()]}), "demo") == quorum()
    assert plan.manifest_of(f"7 {one}", "demo") == quorum()
    assert "2 objects" in str(plan.manifest_of(one + one, "demo"))


@pytest.mark.parametrize("refusal", [NO_KIND, forbidden("create")], ids=["older operator", "viewer"])
def test_without_questions_the_last_look_is_shown(fake: Fake, capsys: Capture, refusal: Prepared) -> None:
    """An older operator, or a viewer, gets the last look if there is one, else the status, and a note that says so."""
    fake.prepare([refusal, gives("/quorumlooks/demo", {"status": ANSWER["status"] | {"state": "Acting"}}), *prepared()])
    assert main(["plan", "demo", "-n", "kafka", "-o", "json"]) == DONE
    found = json.loads(capsys.readouterr().out)
    assert found["acts"][0]["kind"] == "RestartPod"
    assert found["note"].startswith("No question was asked")
    fake.prepare([refusal, *prepared()])
    assert main(["plan", "demo", "-n", "kafka"]) == DONE
    out = capsys.readouterr().out
    assert "is not shown" in out
    assert "The quorum waits for nothing." in out
    assert main(["plan", "demo", "-n", "kafka", "-f", "-"]) == UNKNOWN


def test_an_operator_that_does_not_answer(fake: Fake, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question without an answer ends in time with a reason, and is deleted."""
    monkeypatch.setattr(planning, "_WAIT_S", 0.0)
    fake.prepare(answered({"metadata": {"name": "demo-x1"}}))
    assert main(["plan", "demo", "-n", "kafka"]) == UNKNOWN
    assert "has not answered" in capsys.readouterr().err
    assert fake.calls()[-1][0] == "delete"
    fake.prepare([hangs("create"), *prepared()])
    assert main(["plan", "demo", "-n", "kafka", "--request-timeout=1s"]) == UNKNOWN
    assert "was not asked" in capsys.readouterr().err


def test_explain_has_the_look_of_the_planner(fake: Fake, capsys: Capture) -> None:
    """`explain` shows the guards of the last look; without one it says why, and explains from the status."""
    fake.prepare([gives("/quorumlooks/demo", {"status": ANSWER["status"]}), *prepared()])
    assert main(["explain", "demo", "-n", "kafka", "-o", "json"]) == DONE
    assert json.loads(capsys.readouterr().out)["refusals"][0]["guard"] == "5-restart"
    for why in Why:
        (section,) = plan.looked(NotRead(why=why, words="its words"), NOW)
        assert "was not read: " in render.as_text(Page(command="x", sections=(section,)))
    assert len(plan.looked(Found(value={}), NOW)) == 4
