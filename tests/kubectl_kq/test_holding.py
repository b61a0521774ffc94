"""`hold`, `unhold` and `replace`: annotations that a person decides about, and that nobody changes by a mistake."""

from typing import Any

import pytest
from tests.kubectl_kq.fake_kubectl import Fake, fails, gives
from tests.kubectl_kq.worlds import directory, prepared, quorum, saying, wait

from kubectl_kq import deciding
from kubectl_kq.acts import Refused
from kubectl_kq.holding import HOLD, REPLACE, confirmed, ending, held, holding, replacing
from kubectl_kq.page import DONE, MISUSED, REFUSED, UNKNOWN
from kubectl_kq.program import main
from kubectl_kq.quorum import Quorum, quorum_of
from kubectl_kq.sources import Source

Json = dict[str, Any]
Capture = pytest.CaptureFixture[str]
REPLICA = f"3001-{directory(3001)}"


def annotated(**annotations: str) -> Json:
    """The quorum with the annotations `hold` and `replace`, at version 8 of the object."""
    item = quorum()
    names = {"hold": HOLD, "replace": REPLACE}
    item["metadata"] |= {
        "resourceVersion": "8",
        "annotations": {names[key]: value for key, value in annotations.items()},
    }
    return item


def seen(**annotations: str) -> Quorum:
    """The same as it is read."""
    return quorum_of(annotated(**annotations))


def patch(key: str, value: str | None) -> Json:
    """A patch of one annotation of the version that was read."""
    return {"metadata": {"resourceVersion": "8", "annotations": {key: value}}}


@pytest.mark.parametrize(
    ("text", "ids"),
    [("", ()), (" ", ()), ("3001", (3001,)), ("3002, 3001,3001", (3001, 3002)), ("x", None), ("3001,", None)],
)
def test_the_annotation_is_read(text: str, ids: tuple[int, ...] | None) -> None:
    """Node ids with commas between them; anything else is not known, and not empty."""
    assert held(seen(hold=text)) == ids


def test_a_hold_adds_and_ends_one_by_one() -> None:
    """A hold adds to the present one, its end removes from it; a repetition changes nothing."""
    assert holding(seen(), [3001]) == patch(HOLD, "3001")
    assert holding(seen(hold="3002"), [3001]) == patch(HOLD, "3001,3002")
    assert holding(seen(hold="3001,3002"), [3001]) is None
    assert ending(seen(hold="3001,3002"), [3001], every=False) == patch(HOLD, "3002")
    assert ending(seen(hold="3001"), [3001], every=False) == patch(HOLD, None)
    assert ending(seen(), [3001], every=False) is None
    assert ending(seen(hold="x"), [], every=True) == patch(HOLD, None)
    assert ending(seen(), [], every=True) is None


def test_what_cannot_be_held_is_refused() -> None:
    """An id that is no controller, and an annotation that cannot be read, are refused with what to do."""
    strange = holding(seen(), [3001, 7])
    assert isinstance(strange, Refused)
    assert "7 is no controller. Name one of 3000, 3001, 3002" in strange.message
    for refused in (holding(seen(hold="x"), [3001]), ending(seen(hold="x"), [3001], every=False)):
        assert isinstance(refused, Refused)
        assert "unhold demo --all" in refused.message


def test_a_hold_counts_when_the_operator_reports_it() -> None:
    """Only `Holding` and `HeldBack` of these controllers confirm a hold."""
    waits = [wait("Holding", "Progress", "m", 3001), wait("HeldBack", "Held", "m", 3002)]
    assert confirmed(quorum_of(saying({"waits": waits})), [3001, 3002])
    assert not confirmed(quorum_of(saying({"waits": waits})), [3000])
    assert not confirmed(quorum_of(saying({"waits": [wait("Rolling", "Progress", "m", 3000)]})), [3000])


def test_a_disk_is_given_up_by_its_whole_name() -> None:
    """Without the name of this replica nothing is given up; a repetition changes nothing."""
    for wrong in ("", "3001", f"3000-{directory(3000)}"):
        refused = replacing(seen(), 3001, wrong)
        assert isinstance(refused, Refused)
        assert f"kubectl kq replace demo 3001 --confirm {REPLICA}" in refused.message
        assert "demo-3001-g1, on Kubernetes node worker-2" in refused.message
    assert replacing(seen(), 3001, REPLICA) == patch(REPLACE, REPLICA)
    assert replacing(seen(replace=REPLICA), 3001, REPLICA) is None
    assert isinstance(replacing(seen(), 9, "9-x"), Refused)


def test_the_commands(fake: Fake, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hold ends with 0 when it is reported, else with 3; a replacement needs its confirmation."""
    monkeypatch.setattr(deciding, "_WAIT_S", 0.0)
    item = annotated()
    fake.prepare([gives("patch", item), *prepared({Source.QUORUM: item})])
    assert main(["hold", "demo", "3001", "-n", "kafka"]) == UNKNOWN
    assert "do not begin yet" in capsys.readouterr().err
    item["status"]["waits"] = [wait("Holding", "Progress", "m", 3001)]
    fake.prepare([gives("patch", item), *prepared({Source.QUORUM: item})])
    assert main(["hold", "demo", "3001", "-n", "kafka"]) == DONE
    assert main(["hold", "demo", "7", "-n", "kafka"]) == REFUSED
    assert main(["hold", "demo", "-n", "kafka"]) == MISUSED
    assert main(["unhold", "demo", "3001", "-n", "kafka"]) == DONE
    assert "None of them was held" in capsys.readouterr().out
    assert main(["replace", "demo", "3001", "-n", "kafka"]) == REFUSED
    assert main(["replace", "demo", "3001", "-n", "kafka", "--confirm", REPLICA]) == DONE
    assert len([call for call in fake.calls() if call[0] == "patch"]) == 3


def test_a_conflict_is_no_success(fake: Fake, capsys: Capture) -> None:
    """If another person changed the quorum meanwhile, the command says that it can be repeated."""
    conflict = fails("patch", "Error from server (Conflict): the object has been modified")
    fake.prepare([conflict, *prepared({Source.QUORUM: annotated(hold="3001")})])
    assert main(["unhold", "demo", "3001", "-n", "kafka"]) == UNKNOWN
    assert "Repeat the command" in capsys.readouterr().err
