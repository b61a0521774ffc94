"""`recover`: the verdict is shown, and only what was shown is approved."""

import json
from typing import Any

import pytest
from tests.kubectl_kq.fake_kubectl import Fake, gives
from tests.kubectl_kq.worlds import HOSTILE, NOW, ago, prepared, saying

from kubectl_kq import recovery
from kubectl_kq.acts import Refused
from kubectl_kq.page import DONE, MISUSED, REFUSED
from kubectl_kq.program import main
from kubectl_kq.quorum import Quorum, quorum_of
from kubectl_kq.recovery import Decision, deciding, recovery_page
from kubectl_kq.render import as_text, data
from kubectl_kq.sources import Source

Json = dict[str, Any]
Capture = pytest.CaptureFixture[str]
PLAN = "0123456789"


def proposed(**changes: object) -> Json:
    """A quorum whose recovery the operator proposes."""
    row: Json = {
        "stage": "Proposed",
        "verdict": "NoLossUpToWatermark",
        "message": "The log of demo-3000-g1 has every record up to 120",
        "plan": PLAN,
        "survivor": "demo-3000-g1",
        "controller": 3000,
        "watermark": 120,
        "steps": ["Copy demo-3000-g1", f"Retire the others {HOSTILE}"],
        "disks": [
            {
                "claimName": "demo-3000-g1",
                "nodeID": 3000,
                "state": "Read",
                "lastEpoch": 7,
                "endOffset": 121,
                "best": True,
            },
            {"claimName": "demo-3001-g1", "nodeID": 3001, "state": "Unknown", "reason": "its node is down"},
        ],
        "wouldBeLost": [
            {
                "claimName": "demo-3002-g1",
                "nodeID": 3002,
                "state": "Known",
                "records": 12,
                "firstOffset": 121,
                "lastOffset": 132,
                "message": f"It has 12 records: 1 TOPIC_RECORD; topics: orders {HOSTILE}",
            },
            {"state": "Unknown", "message": "What no log has is not known"},
        ],
    }
    return saying({"recovery": row | changes})


def seen(item: Json | None = None) -> Quorum:
    """The quorum as it is read."""
    return quorum_of(item or proposed())


def test_the_verdict_is_shown() -> None:
    """Disks, verdict, plan and steps are on the page, and the next command."""
    page = recovery_page(seen(), NOW, changed=False, message=recovery.next_step(seen(), changed=False))
    found = data(page)
    assert [row["state"] for row in found["disks"]] == ["Read", "Unknown"]
    assert [(row["state"], row["records"]) for row in found["wouldBeLost"]] == [("Known", 12), ("Unknown", None)]
    assert "What no log has is not known" in as_text(page)
    assert [row["step"] for row in found["steps"]] == [1, 2]
    assert found["next"] == f"To approve it: kubectl kq recover demo --approve {PLAN}"
    assert all(character.isprintable() or character == "\n" for character in as_text(page))


def test_what_is_next_after_a_recovery_was_taken_back() -> None:
    """The message has the command that deletes the copies."""
    assert "Delete the copies" in recovery.next_step(seen(proposed(stage="Abandoned")), changed=False)


@pytest.mark.parametrize(
    ("item", "decision", "words"),
    [
        (saying(), Decision(approve=PLAN), "proposed no plan"),
        (proposed(plan="ffffffffff"), Decision(approve=PLAN), "the facts have changed"),
        (proposed(verdict="ProvenLoss", lossAtLeast=3), Decision(approve=PLAN), "at least 3 committed records"),
        (proposed(verdict="UnknownTail"), Decision(approve=PLAN), "--accept-loss"),
        (proposed(), Decision(approve=PLAN, without=(3001,)), "lead to another plan"),
        (proposed(stage="Retire"), Decision(cancel=True), "can only go on"),
        (proposed(stage="Start", epoch=1), Decision(release=1), "when it is Recovered"),
        (proposed(stage="Recovered", epoch=2), Decision(release=1), "the last one is 2"),
    ],
)
def test_what_was_not_shown_is_not_approved(item: Json, decision: Decision, words: str) -> None:
    """Another plan, an unaccepted loss, and what cannot be undone are refused with the reason."""
    found = deciding(seen(item), decision, NOW)
    assert isinstance(found, Refused)
    assert words in found.message


def test_an_old_verdict_is_not_approved() -> None:
    """While no operator looks, a plan may be out of date."""
    item = proposed()
    item["status"]["lastLook"] = ago(3600)
    found = deciding(seen(item), Decision(approve=PLAN), NOW)
    assert isinstance(found, Refused)
    assert "no operator looks" in found.message


@pytest.mark.parametrize(
    ("item", "decision", "patch"),
    [
        (saying(), Decision(), None),
        (saying(), Decision(inspect=True), {"spec": {"recovery": {"inspect": True}}}),
        (
            proposed(),
            Decision(without=(3001,), seeds=("broker-0:data/kraft", "copy")),
            {
                "spec": {
                    "recovery": {
                        "inspect": True,
                        "without": [3001],
                        "seeds": [{"claimName": "broker-0", "path": "data/kraft"}, {"claimName": "copy"}],
                    }
                }
            },
        ),
        (
            proposed(),
            Decision(approve=PLAN),
            {"spec": {"recovery": {"inspect": True, "plan": PLAN, "acceptLoss": False}}},
        ),
        (
            proposed(verdict="ProvenLoss"),
            Decision(approve=PLAN, accept_loss=True),
            {"spec": {"recovery": {"inspect": True, "plan": PLAN, "acceptLoss": True}}},
        ),
        (proposed(stage="Copy"), Decision(cancel=True), {"spec": {"recovery": None}}),
        (
            proposed(stage="Recovered", epoch=1),
            Decision(release=1),
            {"metadata": {"annotations": {"kafkaquorum.io/release-recovery": "1"}}},
        ),
    ],
)
def test_a_decision_is_one_patch(item: Json, decision: Decision, patch: Json | None) -> None:
    """Each decision is one merge patch of the fields that it is about."""
    assert deciding(seen(item), decision, NOW) == patch


def test_the_next_step_follows_from_the_stage() -> None:
    """Each stage has the command that leads on."""
    assert "--inspect" in recovery.next_step(seen(saying()), changed=False)
    assert "--accept-loss" in recovery.next_step(seen(proposed(verdict="UnknownTail")), changed=False)
    ended = proposed(stage="Recovered", epoch=4)
    assert "--release 4" in recovery.next_step(seen(ended), changed=False)
    assert "--cancel" not in recovery.next_step(seen(ended), changed=False)
    left = ended | {"spec": {"recovery": {"inspect": True}}}
    assert "--cancel" in recovery.next_step(seen(left), changed=False)
    assert recovery.next_step(seen(proposed(stage="Copy")), changed=False).startswith("Wait")
    assert "next look" in recovery.next_step(seen(), changed=True)


def test_the_commands(fake: Fake, capsys: Capture) -> None:
    """Without options nothing is changed; an approval is sent; a refusal sends nothing."""
    kept = saying(spec={"recovery": {"inspect": True}})
    fake.prepare([gives("patch", kept), *prepared({Source.QUORUM: proposed()})])
    assert main(["recover", "demo", "-n", "kafka"]) == DONE
    assert "patch" not in {call[0] for call in fake.calls()}
    capsys.readouterr()
    assert main(["recover", "demo", "-n", "kafka", "--approve", PLAN, "-o", "json"]) == DONE
    assert json.loads(capsys.readouterr().out)["changed"] is True
    assert [call[0] for call in fake.calls()].count("patch") == 1
    assert main(["recover", "demo", "-n", "kafka", "--approve", "f" * 10]) == REFUSED
    assert [call[0] for call in fake.calls()].count("patch") == 1
    assert main(["recover", "demo", "-n", "kafka", "--approve", "all"]) == MISUSED


def test_an_older_definition_is_noticed(fake: Fake, capsys: Capture) -> None:
    """If the API server dropped `spec.recovery`, nothing was decided, and the command says so."""
    fake.prepare([gives("patch", saying()), *prepared()])
    assert main(["recover", "demo", "-n", "kafka", "--inspect"]) == REFUSED
    assert "has no spec.recovery" in capsys.readouterr().err


def test_a_quorum_that_is_being_deleted_is_not_recovered() -> None:
    """The refusal names the deletion, and requests no start of the operator."""
    item = proposed()
    item["metadata"]["deletionTimestamp"] = ago(60)
    found = deciding(seen(item), Decision(approve=PLAN), NOW)
    assert isinstance(found, Refused)
    assert "it is being deleted" in found.message
    assert "Start the operator" not in found.message
