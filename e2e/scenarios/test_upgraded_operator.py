"""From the former operator to the present one and back: quorums stay as they are, and open operations are completed."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from demo import CHART, helm_upgrade
from harness import operator
from harness.quorum import Quorum
from harness.shell import Json, holds_for, succeed, wait_until
from scenarios.expectations import assert_one_quorum
from scenarios.rolls import wait_features
from scenarios.test_releases import METADATA, NEW, NEW_TOP, levels, release
from scenarios.test_wiped_disk import lose_disk, wait_cured
from testbed.config import PROJECT

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(900)]

PREVIOUS = "069cd0035380d36a755208e2d01797bf13b1b7fd"
ALL = {3000, 3001, 3002}
_LEFT_ALONE_S = 45.0
_LOW = 25
"""A level of metadata.version with many steps above it, so that one is open when somebody looks."""


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


def begin_voter_change(quorum: Quorum, replicas: int) -> None:
    """Ask for so many controllers, and return as soon as a voter change is open."""
    quorum.patch({"controllers": {"replicas": replicas}})
    wait_until("a voter change is open", lambda: quorum.status().get("operation"), 120, poll_s=0.1)


def crash_in_a_feature_step(quorum: Quorum) -> None:
    """Ask for the highest metadata.version, and kill the operator while a step is open.

    A step may end just before the operator does: then its next process begins the next step.
    """
    quorum.patch({"kafka": {"features": {"levels": levels(metadata_version=NEW_TOP)}}})
    for _ in range(_LOW, NEW_TOP):
        wait_until("a feature step is open", lambda: quorum.status().get("operation"), 120, poll_s=0.05)
        operator.crash()
        if quorum.status().get("operation"):
            return
    raise AssertionError("every step ended before the operator did")


def assert_those_that_stay(quorum: Quorum, running: dict[int, Any], claims: dict[str, tuple[str, Json]]) -> None:
    """No controller that was there before and still is has restarted, or has another claim."""
    kept = {node_id: row for node_id, row in quorum.running().items() if node_id in running}
    assert kept
    assert kept == {node_id: running[node_id] for node_id in kept}
    now = claims_of(quorum)
    assert all(now[name] == claims[name] for name in now if name in claims)
    assert sum(name in claims for name in now) >= len(kept)


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
    """The present operator completes a voter change of the former one; no staying pod restarts, no claim changes."""
    quorum.apply()
    quorum.wait_ready()
    assert operator.image() == on_previous.image
    running, claims = quorum.running(), claims_of(quorum)
    begin_voter_change(quorum, replicas)
    operator.crash()
    operator.install(serving)
    wait_until("the present operator acts", lambda: _acts(serving), 60)
    settled(quorum)
    assert "operation" not in quorum.status()
    assert_those_that_stay(quorum, running, claims)
    assert len(quorum.voters()) == replicas


def test_a_feature_step_that_the_operator_before_began(on_previous: Release, quorum: Quorum, serving: str) -> None:
    """The present operator completes an open feature step of the former one, and takes the steps after it."""
    quorum.apply(release(NEW, features={"soakSeconds": 1, "levels": levels(metadata_version=_LOW)}))
    quorum.wait_ready()
    assert operator.image() == on_previous.image
    running, claims, voters = quorum.running(), claims_of(quorum), quorum.voters()
    crash_in_a_feature_step(quorum)
    operator.install(serving)
    wait_features(quorum, "True", "Settled", "Held", timeout_s=180)
    settled(quorum)
    assert "operation" not in quorum.status()
    assert quorum.levels()[METADATA] == NEW_TOP
    assert (quorum.running(), claims_of(quorum), quorum.voters()) == (running, claims, voters)


@pytest.mark.parametrize("replicas", [5, 1], ids=["adds", "removes"])
def test_back_with_an_open_operation(replicas: int, on_previous: Release, quorum: Quorum, serving: str) -> None:
    """The former operator continues a voter change of the present one: no staying pod restarts, no claim changes."""
    operator.install(serving)
    quorum.apply()
    quorum.wait_ready()
    running, claims = quorum.running(), claims_of(quorum)
    begin_voter_change(quorum, replicas)
    operator.crash()
    on_previous.install()
    wait_until("the operator before acts", lambda: _acts(on_previous.image), 60)
    quorum.wait_ready(240)
    wait_until("the change is completed", lambda: len(quorum.voters() or ()) == replicas, 240, poll_s=1.0)
    wait_until("the operation is ended", lambda: "operation" not in quorum.status(), 60)
    assert_those_that_stay(quorum, running, claims)
    operator.install(serving)
    settled(quorum)
    assert_those_that_stay(quorum, running, claims)
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
