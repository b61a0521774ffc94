"""What a person sees during a bootstrap: `kubectl get kq -w`, the conditions, the events."""

import subprocess
from pathlib import Path

import pytest

from harness.quorum import Quorum
from harness.shell import wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(240)]


def rows(written: Path) -> list[tuple[str, str]]:
    """The columns DOING and READY of every line so far."""
    lines = (line.split() for line in written.read_text().splitlines())
    return [(line[0], line[1]) for line in lines if len(line) == 2]


def test_the_table_tells_the_story(quorum: Quorum, tmp_path: Path) -> None:
    """The column DOING goes from Formatting over Starting to Done, and READY is not True before."""
    columns = "custom-columns=D:.status.doing,"
    columns += "R:.status.conditions[?(@.type=='Ready')].status"
    watch = ("kubectl", "-n", quorum.namespace, "get", "kq", "-w", "--no-headers", "-o", columns)
    written = tmp_path / "table"
    with written.open("w") as file, subprocess.Popen(watch, stdout=file) as table:
        try:
            quorum.apply()
            quorum.wait_ready()
            wait_until("the table says so", lambda: rows(written)[-1:] == [("Done", "True")], 30)
        finally:
            table.terminate()
    told = rows(written)
    story = [word for index, (word, _) in enumerate(told) if index == 0 or told[index - 1][0] != word]
    print(" → ".join(story))
    assert story.index("Formatting") < story.index("Starting") < story.index("Done")
    assert "ActionFailed" not in story
    assert all(ready != "True" for word, ready in told if word in {"Formatting", "Starting"})


def test_every_act_is_an_event(quorum: Quorum) -> None:
    """From the identity to the first pod, each act has an event, in the order of the barrier, and none is a warning."""
    quorum.apply()
    quorum.wait_ready()
    reasons = [reason for reason, _ in quorum.events()]
    order = ["IdentityMade", "ClaimCreated", "FormatterCreated", "Formatted", "Started", "PodCreated"]
    places = [reasons.index(reason) for reason in order]
    assert places == sorted(places)
    assert len(reasons) - 1 - reasons[::-1].index("Formatted") < reasons.index("Started") < reasons.index("PodCreated")
    assert not [row["message"] for row in quorum.event_objects() if row["type"] == "Warning"]
