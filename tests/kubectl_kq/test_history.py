"""`history`: what happened, in order, from everything that keeps a time."""

import json

from tests.kubectl_kq.worlds import HOSTILE, NOW, ago, claim, event, listed, look, pod, record, saying, silent, wait

from kubectl_kq.history import from_observations, history_page
from kubectl_kq.page import UNKNOWN
from kubectl_kq.render import as_text, data
from kubectl_kq.sources import Source


def test_the_story_is_in_order() -> None:
    """Entries of every source stand by their time, the newest last."""
    retired, ended = claim(3000), pod(3001)
    retired["metadata"] |= {"annotations": {"kafkaquorum.io/bootstrap-phase": "Retired"}, "deletionTimestamp": ago(10)}
    last = {"terminated": {"reason": "Error", "exitCode": 1, "finishedAt": ago(500)}}
    ended["status"]["containerStatuses"][0]["lastState"] = last
    operation = {"type": "AddVoter", "target": "3002", "startedAt": ago(20)}
    found = data(
        history_page(
            look(
                {
                    Source.QUORUM: saying(
                        {"waits": [wait("Rolling", "Progress", "m", seconds=30)], "operation": operation}
                    ),
                    Source.CLAIMS: listed(retired),
                    Source.PODS: listed(ended),
                    Source.EVENTS: listed(event("NodeLost", "worker-3", kind="Warning", seconds=5, count=3)),
                }
            ),
            NOW,
        )
    )["history"]
    assert [row["at"]["at"] for row in found] == sorted(row["at"]["at"] for row in found)
    by_what = {row["what"]: row for row in found}
    assert "given up" in by_what["ClaimCreated"]["message"]
    assert by_what["ContainerEnded"]["message"] == "pod demo-3001-g1, container kafka: Error, exit code 1"
    assert by_what["NodeLost"]["source"] == "Warning"
    assert by_what["NodeLost"]["message"] == "worker-3 (3 times)"
    order = [
        "Created",
        "ClaimCreated",
        "PodCreated",
        "ContainerEnded",
        "Rolling",
        "AddVoter",
        "ClaimDeleted",
        "NodeLost",
    ]
    assert [row["what"] for row in found if row["what"] in order] == order


def test_the_identity_record_is_shown() -> None:
    """The record's controllers, their disks and the ids that were removed stand before the story."""
    found = data(history_page(look(), NOW))
    assert found["identity"]["formerNodeIDs"] == [3003]
    assert [row["nodeID"] for row in found["disks"]] == [3000, 3001, 3002]


def test_an_open_recovery_is_shown() -> None:
    """The journal of a recovery in the record is shown with its stage and its plan."""
    item = record()
    body = json.loads(item["data"]["record.json"]) | {"recovery_epoch": 2, "recovery": {"stage": "Copy", "plan": "abc"}}
    item["data"]["record.json"] = json.dumps(body)
    found = data(history_page(look({Source.RECORD: item}), NOW))["identity"]
    assert (found["recoveryEpoch"], found["recovery"]) == (2, "Copy, plan abc")


def test_old_and_many_entries_are_left_out() -> None:
    """`since_s` leaves out what is older, `limit` all but the newest, and says how many."""
    seen = look()
    every = data(history_page(seen, NOW))["history"]
    recent = data(history_page(seen, NOW, since_s=3600))["history"]
    assert 0 < len(recent) < len(every)
    few = data(history_page(seen, NOW, limit=2))
    assert few["history"] == every[-2:]
    assert few["leftOut"] == len(every) - 2


def test_what_was_not_read_is_named() -> None:
    """Events that do not answer are a row, and not an empty list."""
    page = history_page(look({Source.EVENTS: silent()}), NOW)
    assert [row["what"] for row in data(page)["notRead"]] == ["Events"]
    assert page.code == UNKNOWN


def observation(seconds: float, leader: int, **more: object) -> str:
    """A line of an observation file."""
    voters = [{"nodeID": 3000, "directoryID": "d", "live": True, "lagRecords": seconds}]
    quorum = {"leaderID": leader, "leaderEpoch": 5, "highWatermark": seconds, "voters": voters}
    row = {"observedAt": ago(seconds), "namespace": "kafka", "name": "demo", "quorum": quorum, "features": []}
    return json.dumps(row | more)


def test_observations_become_changes() -> None:
    """Only what changed between two observations of this quorum is an entry; broken and foreign lines are ignored."""
    lines = [
        observation(10, 3001),
        "{broken",
        "[1]",
        observation(30, 3000),
        observation(40, 3000, namespace="other"),
        observation(20, -1),
        observation(25, 3000),
        observation(5, 3001, quorum=None, unknownReason=HOSTILE),
    ]
    found = [(each.what, each.message.split(",")[0]) for each in from_observations(lines, "kafka", "demo")]
    assert found[:3] == [("Leader", "controller 3000 leads"), ("Voters", "3000-d"), ("Live", "every voter fetches")]
    assert [words for what, words in found if what == "Leader"][1:3] == ["no controller leads", "controller 3001 leads"]
    assert found[-1][1].startswith("not known: ends here")
    text = as_text(history_page(look(), NOW, observed=lines))
    assert "\x1b" not in text
    assert "observation" in text


def test_the_samples_of_the_first_version_are_read() -> None:
    """Observations that version 0.1.0 wrote give a story."""
    from pathlib import Path  # noqa: PLC0415

    path = Path(__file__).parents[1] / "stored_samples" / "0.1.0" / "observations.jsonl"
    lines = path.read_text().splitlines()
    found = list(from_observations(lines, "kafka", json.loads(lines[0])["name"]))
    assert {each.what for each in found} >= {"Leader", "Voters"}
