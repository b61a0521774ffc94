"""From the former operator to the present one and back: quorums stay as they are, and open operations are completed."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from demo import CHART, helm_upgrade
from harness import operator
from harness.quorum import Quorum
from harness.shell import Json, holds_for, succeed, wait_until
from scenarios.expectations import assert_one_quorum
from scenarios.test_wiped_disk import lose_disk, wait_cured
from testbed.config import PROJECT

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(900)]

PREVIOUS = "069cd0035380d36a755208e2d01797bf13b1b7fd"
ALL = {3000, 3001, 3002}
_LEFT_ALONE_S = 45.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """An operator's chart and its image on the workers."""

    chart: Path
    image: str

    def install(self) -> None:
        """Install or upgrade to this operator; returns when it is rolled out."""
        command = [str(self.chart) if word == str(CHART) else word for word in helm_upgrade(self.image)]
        succeed(*command, timeout_s=240)


@pytest.fixture(scope="session")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """The operator of the former commit, from its own sources; its image is built once."""
    checkout, archive = tmp_path_factory.mktemp("previous"), tmp_path_factory.mktemp("archive") / "previous.tar"
    known = subprocess.run(("git", "-C", PROJECT, "cat-file", "-e", f"{PREVIOUS}^{{commit}}"), check=False)
    if known.returncode:
        pytest.skip(f"this checkout does not have the commit {PREVIOUS}: fetch the whole history")
    succeed("git", "-C", str(PROJECT), "archive", "-o", str(archive), PREVIOUS)
    succeed("tar", "-xf", str(archive), "-C", str(checkout))
    image = succeed(sys.executable, str(checkout / "e2e" / "testbed"), "operator-image", timeout_s=900).strip()
    return Release(chart=checkout / CHART.relative_to(PROJECT), image=image)


@pytest.fixture
def on_previous(previous: Release, serving: str) -> Iterator[Release]:
    """The former operator runs; afterwards the present one does, whatever the scenario's result."""
    previous.install()
    yield previous
    operator.install(serving)


def claims_of(quorum: Quorum) -> dict[str, tuple[str, Json]]:
    """The constant part of the claims: uid and spec."""
    return {name: (claim["metadata"]["uid"], claim["spec"]) for name, claim in quorum.claims().items()}


def settled(quorum: Quorum) -> None:
    """Ready, with nothing left to do."""
    quorum.wait_ready(180)
    quorum.wait_condition("Progressing", "False", "Done")


def test_a_quorum_of_the_operator_before(on_previous: Release, quorum: Quorum, serving: str) -> None:
    """After a roll, a scaling and a replaced disk by an earlier operator, this one changes no pod, claim or identity.

    Then the present one rolls the quorum, replaces a disk and scales it down.
    """
    quorum.apply()
    quorum.wait_ready()
    quorum.patch({"kafka": {"config": {"num.io.threads": "5"}}})
    settled(quorum)
    quorum.patch({"controllers": {"replicas": 5}})
    settled(quorum)
    wait_cured(quorum, lose_disk(quorum, 3001))
    settled(quorum)
    assert operator.image() == on_previous.image
    running, claims, record, voters = quorum.running(), claims_of(quorum), quorum.record(), quorum.voters()
    operator.install(serving)
    assert operator.image() == serving
    wait_until("the present operator acts", lambda: _acts(serving), 60)

    def untouched() -> bool:
        return quorum.running() == running and claims_of(quorum) == claims and quorum.voters() == voters

    holds_for("nothing of the quorum changes", untouched, _LEFT_ALONE_S, poll_s=1.0)
    settled(quorum)
    for name in ("cluster_id", "initial", "nodes", "former", "applied_revision"):
        assert quorum.record()[name] == record[name], name
    assert quorum.accepted() == quorum.resource()["spec"]
    quorum.patch({"kafka": {"config": {"num.io.threads": "6"}}})
    settled(quorum)
    assert claims_of(quorum) == claims
    wait_cured(quorum, lose_disk(quorum, 3002))
    quorum.patch({"controllers": {"replicas": 3}})
    settled(quorum)
    assert_one_quorum(quorum, initial=ALL, voters=ALL)


@pytest.mark.parametrize("replicas", [5, 1], ids=["adds", "removes"])
def test_an_operation_that_the_operator_before_began(
    replicas: int, on_previous: Release, quorum: Quorum, serving: str
) -> None:
    """The present operator completes a voter change of the former one; no staying pod restarts."""
    quorum.apply()
    quorum.wait_ready()
    assert operator.image() == on_previous.image
    running = quorum.running()
    quorum.patch({"controllers": {"replicas": replicas}})
    wait_until("a voter change is open", lambda: quorum.status().get("operation"), 120, poll_s=0.1)
    operator.crash()
    operator.install(serving)
    wait_until("the present operator acts", lambda: _acts(serving), 60)
    settled(quorum)
    assert "operation" not in quorum.status()
    kept = {node_id: row for node_id, row in quorum.running().items() if node_id in running}
    assert kept == {node_id: row for node_id, row in running.items() if node_id in kept}
    assert len(quorum.voters()) == replicas


def test_back_to_the_operator_before(on_previous: Release, quorum: Quorum, serving: str) -> None:
    """The present operator's objects do not disturb the former one: no pod restarts, and it can scale."""
    operator.install(serving)
    quorum.apply()
    quorum.wait_ready()
    quorum.patch({"kafka": {"config": {"num.io.threads": "5"}}})
    settled(quorum)
    assert quorum.accepted() == quorum.resource()["spec"]
    running, claims, record, voters = quorum.running(), claims_of(quorum), quorum.record(), quorum.voters()
    on_previous.install()
    wait_until("the operator before acts", lambda: _acts(on_previous.image), 60)

    def untouched() -> bool:
        return quorum.running() == running and claims_of(quorum) == claims and quorum.voters() == voters

    holds_for("nothing of the quorum changes", untouched, _LEFT_ALONE_S, poll_s=1.0)
    assert quorum.record()["nodes"] == record["nodes"]
    quorum.patch({"controllers": {"replicas": 5}})
    quorum.wait_ready(180)
    operator.install(serving)
    settled(quorum)
    assert {node_id: quorum.running()[node_id] for node_id in running} == running
    assert len(quorum.voters()) == len(ALL) + 2


def test_an_operation_of_a_later_operator(quorum: Quorum) -> None:
    """An operation of an unknown type stops all acts and stays unchanged; without it the quorum is scaled."""
    quorum.apply()
    quorum.wait_ready()
    unknown = {"id": "x", "type": "RecoverMajority", "target": "3000", "holder": "later", "journal": {"step": 3}}
    quorum.patch_status({"operation": unknown})
    quorum.wait_condition("Degraded", "True", "UnknownOperation")
    running, voters = quorum.running(), quorum.voters()
    quorum.patch({"controllers": {"replicas": 5}})

    def untouched() -> bool:
        as_it_was = quorum.status()["operation"] == unknown
        return as_it_was and quorum.running() == running and quorum.voters() == voters

    holds_for("nothing of the quorum changes", untouched, 20.0, poll_s=1.0)
    quorum.patch_status({"operation": None})
    settled(quorum)
    assert len(quorum.voters()) == len(ALL) + 2


def _acts(image: str) -> bool:
    name = operator.holder()
    return any(pod["metadata"]["name"] == name for pod in operator.pods() if _image(pod) == image)


def _image(pod: Json) -> str:
    return str(pod["spec"]["containers"][0]["image"])
