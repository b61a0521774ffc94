"""`kubectl kq` beside a real API server: as a viewer, as an editor, without rights, and without an operator.

The plugin is run as a person runs it, as a program beside kubectl.
"""

import json
import tarfile
import time
from pathlib import Path

import pytest

from harness import nodes, operator
from harness.leaks import Known
from harness.plugin import CRIT, DONE, UNKNOWN, kq, said
from harness.quorum import Quorum
from harness.shell import Json, items, kubectl, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(480)]

STATUS_LIMIT_S = 2.0


def bound(namespace: str, role: str) -> str:
    """A user with one of Kubernetes' own roles in a namespace."""
    user = f"{role}-of-{namespace}"
    kubectl("-n", namespace, "create", "rolebinding", user, f"--clusterrole={role}", f"--user={user}")
    return user


def levels(found: Json) -> dict[str, set[str]]:
    """The results of `doctor` by check."""
    by_check: dict[str, set[str]] = {}
    for row in found["checks"]:
        by_check.setdefault(row["check"], set()).add(row["level"])
    return by_check


def test_a_viewer_reads_everything_and_changes_nothing(ready: Quorum) -> None:
    """With the role view commands that read work; `doctor` skips what is outside the namespace; pause is refused."""
    viewer = bound(ready.namespace, "view")
    for command in ("status", "explain", "history", "logs"):
        code, out, err = kq(ready, command, ready.name, user=viewer)
        assert (code, err) == (DONE, ""), (command, out)
    found = levels(said(ready, "doctor", ready.name, user=viewer))
    assert found["nodes"] == {"SKIP"}
    assert found["operator pods"] == {"SKIP"}
    assert not {"CRIT", "UNKNOWN"} & set().union(*found.values())
    code, _, err = kq(ready, "pause", ready.name, user=viewer)
    assert code == UNKNOWN
    assert "orbidden" in err
    assert not ready.resource()["spec"].get("paused")


def test_an_editor_pauses_and_resumes(ready: Quorum) -> None:
    """With the role edit the quorum is paused and resumed; the operator reports both."""
    editor = bound(ready.namespace, "edit")
    assert kq(ready, "pause", ready.name, user=editor)[0] == DONE
    wait_until("the quorum is paused", lambda: ready.status().get("doing") == "Paused", 60)
    assert "WARN" in levels(said(ready, "doctor", ready.name, user=editor))["paused"]
    assert kq(ready, "resume", ready.name, user=editor)[0] == DONE
    ready.wait_ready()


def test_a_user_without_rights_gets_the_reason(ready: Quorum) -> None:
    """Without a right the answer is UNKNOWN with the words of the API server, and never that there is no quorum."""
    found = said(ready, "doctor", ready.name, user="nobody-special")
    (row,) = found["checks"]
    assert row["level"] == "UNKNOWN"
    assert "forbidden" in row["message"]


def test_a_report_has_no_secret(ready: Quorum, tmp_path: Path) -> None:
    """No content of a Secret of the quorum is in the archive."""
    path = tmp_path / "report.tar.gz"
    code, out, err = kq(ready, "report", ready.name, "--file", str(path))
    assert code == DONE, out + err
    with tarfile.open(path) as tar:
        files = [tar.extractfile(member) for member in tar.getmembers()]
        whole = b"\n".join(file.read() for file in files if file is not None)
    known = Known()
    known.note(items(ready.namespace, "secrets"))
    assert not known.search([("the report", whole)]).checked().leaks


def test_a_dead_node_is_named_in_two_seconds(ready: Quorum) -> None:
    """With a Kubernetes node down `status` ends within two seconds; `doctor` and `explain` name the node."""
    serving = {pod["spec"].get("nodeName") for pod in operator.pods()}
    node = next(name for pod in ready.pods().values() if (name := pod["spec"]["nodeName"]) not in serving)
    with nodes.powered_off(node):
        ready.wait_condition("Degraded", "True", "LostNode")
        began_s = time.monotonic()
        code, out, _ = kq(ready, "status", ready.name)
        took_s = time.monotonic() - began_s
        assert code == DONE
        assert "LostNode" in out
        assert took_s < STATUS_LIMIT_S
        assert node in json.dumps(said(ready, "explain", ready.name)["waits"])
        found = said(ready, "doctor", ready.name)
        assert levels(found)["nodes"] == {"CRIT"}
        assert any(row["about"] == f"node {node}" for row in found["checks"])
        lines = said(ready, "logs", ready.name, "--request-timeout", "3s")
        assert lines["lines"]
        assert len(lines["notRead"]) == 1
    ready.wait_ready(180)


def test_without_an_operator_objects_are_examined(ready: Quorum) -> None:
    """While no operator runs, a deleted pod and the missing operator are found."""
    pod = ready.controller(3002)["podName"]
    operator.stop()
    try:
        ready.delete_pod(pod)
        code, _, _ = kq(ready, "doctor", ready.name)
        found = levels(said(ready, "doctor", ready.name))
        assert code == CRIT
        assert found["pods"] == {"CRIT"}
        assert found["disks"] == {"OK"}
    finally:
        operator.start()
    ready.wait_ready()
