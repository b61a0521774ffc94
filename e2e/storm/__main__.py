"""The command line: a quorum and a writer, and rounds of faults and changes until the time is over.

A round strikes its blows, undoes those that last, and then the quorum has two minutes to be ready. What is checked
throughout is in `checker.py`; at the end every acknowledged write is read back.
"""

import argparse
import itertools
import json
import random
import sys
import time
import uuid
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from harness import nodes, operator
from harness.broker import KAFKA_IMAGE
from harness.quorum import Quorum
from harness.shell import CommandFailed, Json, kubectl, run, succeed, wait_until
from harness.writer import Writer
from storm.actions import Undo, strike
from storm.checker import TOOL, Checker
from storm.eyes import Eyes
from storm.report import Ended, Report
from storm.rounds import LOST_AFTER_S, NODE_IDS, Blow, Kind, Round, rounds
from storm.stage import NoVictim, Stage
from testbed.config import SOURCE, default_paths

T = TypeVar("T")

READY_WITHIN_S: Final = 120.0
"""The goal: how long after the last blow of a round the quorum may take to be ready."""
_GIVEN_UP_AFTER_S: Final = 600.0
_READ_BACK_EVERY: Final = 10
_WRITE_INTERVAL_S: Final = 0.25
_EVERY_TOPIC: Final = 50
_LOOKS: Final = 3
_POLL_S: Final = 1.0
_LABEL: Final = "storm"
_SPEC: Final[Json] = {"controllers": {"replacement": {"lostNodeAfterSeconds": LOST_AFTER_S}}}


def main() -> int:
    """Run a storm; 0 if no rule was broken."""
    options = _options()
    kinds = [Kind(name) for name in options.only.split(",")] if options.only else list(Kind)
    without = {Kind(name) for name in options.without.split(",") if name}
    seed = options.seed or random.SystemRandom().randrange(1, 1_000_000)
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    where = Path(options.evidence or default_paths().cache / "storm") / f"{stamp}-seed-{seed}"
    where.mkdir(parents=True)
    report = Report(seed=seed, where=where)
    report.say(f"seed {seed}, {options.minutes:g} minutes; what is seen goes to {where}")
    image = operator.current_image()
    operator.install(image)
    succeed(sys.executable, str(SOURCE), "load", KAFKA_IMAGE, "--all-nodes", timeout_s=240)
    report.say(f"operator {image}")
    drawn = rounds(seed, [kind for kind in kinds if kind not in without])
    storm = Storm(report, drawn, first=options.first_round, until_s=report.began_s + options.minutes * 60)
    return storm.run()


def _options() -> argparse.Namespace:
    names = ", ".join(kind.value for kind in Kind)
    parser = argparse.ArgumentParser(prog="storm", description=__doc__, epilog=f"Kinds of blows: {names}.")
    parser.add_argument("--minutes", type=float, default=120.0, help="how long rounds begin; the last one ends later")
    parser.add_argument("--seed", type=int, default=0, help="0 draws one")
    parser.add_argument("--first-round", type=int, default=1, help="begin with this round of the seed")
    parser.add_argument("--only", default="", metavar="KINDS", help="these kinds of blows, with commas")
    parser.add_argument("--without", default="", metavar="KINDS", help="all kinds but these")
    parser.add_argument("--evidence", default="", metavar="DIR", help="where to keep what is seen")
    return parser.parse_args()


class Storm:
    """One storm, from the creation of its quorum to the reading of the last write."""

    def __init__(self, report: Report, drawn: Iterable[Round], *, first: int, until_s: float) -> None:
        """Begin without a quorum. `until_s` is a monotonic time: no round begins after it."""
        self._report, self._until_s = report, until_s
        self._drawn = (row for row in drawn if row.number >= first)
        self._checker, self._kept, self._stuck = Checker(), 0, False
        quorum = Quorum(namespace=f"storm-{uuid.uuid4().hex[:8]}", name="q")
        self._quorum = quorum
        self._stage = Stage(quorum=quorum, checker=self._checker, say=report.say)

    def run(self) -> int:
        """The whole storm: the exit code."""
        first = next(iter(self._drawn))
        self._make(first)
        writer = Writer(self._quorum, NODE_IDS, _WRITE_INTERVAL_S, every_topic=_EVERY_TOPIC, fresh_names=True)
        try:
            with Eyes(quorum=self._quorum, checker=self._checker, where=self._report.where) as eyes, writer:
                self._attempt("a round", lambda: self._rage(first, writer))
                self._attempt("reading back", lambda: self._read_back(writer, last=True))
                if eyes.blind:
                    self._checker.fail("everything is seen", f"{eyes.blind} of the looks ended early")
                self._keep()
                code = self._report.end(self._checker, writer.account)
        finally:
            self._clear()
        return code

    def _attempt(self, what: str, act: Callable[[], T]) -> T | None:
        """Do something that may fail without a broken rule. Then the storm has not passed, and still reports."""
        try:
            return act()
        except Exception as error:  # noqa: BLE001 - whatever fails here must keep nothing from being undone and told
            text = f"{what} failed: {type(error).__name__} {error}"
            self._report.say(text)
            self._checker.fail(TOOL, text)
            return None

    # --- before and after ---------------------------------------------------------------------------------------------

    def _make(self, first: Round) -> None:
        """A ready quorum, as the first round requires it, alone: kept quorums of earlier storms are deleted first."""
        for earlier in kubectl("get", "namespaces", "-l", _LABEL, "-o", "name").split():
            _delete(earlier.partition("/")[2])
        name = self._quorum.namespace
        labels = {_LABEL: "yes"} | {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        kubectl("create", "-f", "-", stdin=json.dumps(body))
        text = f"{first.found} controllers, before round {first.number}"
        self._report.say(f"quorum {self._quorum.namespace}/{self._quorum.name} of {text}")
        self._quorum.apply({"controllers": {**_SPEC["controllers"], "replicas": first.found}})
        self._quorum.wait_ready()

    def _clear(self) -> None:
        """Start nodes that are off, and delete the quorum unless a person should still look at it."""
        for node in sorted(self._stage.off):
            run(sys.executable, str(SOURCE), "node-heal", node)
            nodes.power_on(node)
        if self._checker.fatal or self._stuck:
            self._report.say(f"namespace {self._quorum.namespace} is left as it is")
        else:
            _delete(self._quorum.namespace)

    # --- rounds -------------------------------------------------------------------------------------------------------

    def _rage(self, first: Round, writer: Writer) -> None:
        wait_until("the record was seen", lambda: self._checker.leaders, 30)
        self._look_at_disks()
        for drawn in itertools.chain([first], self._drawn):
            if time.monotonic() > self._until_s or self._checker.fatal:
                return
            self._checker.round = drawn.number
            self._report.begins(drawn)
            struck, missed = self._strike(drawn)
            ready_s = self._ready(drawn.replicas, writer)
            ended = Ended(number=drawn.number, struck=struck, missed=missed, ready_s=ready_s)
            self._report.ends(ended, writer.account)
            self._keep()
            if ready_s is None:
                self._stuck = True
                return
            self._attempt("looking at the disks", self._look_at_disks)
            if drawn.number % _READ_BACK_EVERY == 0:
                self._attempt("reading back", lambda: self._read_back(writer))

    def _strike(self, drawn: Round) -> tuple[tuple[str, ...], int]:
        """Strike the blows at their times and undo them at theirs: returns which struck, and how many had no victim."""
        began_s, open_, struck, missed = time.monotonic(), list[tuple[float, Blow, Undo]](), list[str](), 0
        for blow in drawn.blows:
            self._undo(open_, began_s, blow.at_s)
            _sleep_until(began_s + blow.at_s)
            done = self._attempt(blow.kind.value, partial(self._hit, blow))
            if done is None:
                missed += 1
                continue
            self._report.blows[blow.kind.value] += 1
            struck.append(str(blow))
            open_ += [(blow.at_s + blow.hold_s, blow, undo) for undo in done]
        self._undo(open_, began_s, None)
        return tuple(struck), missed

    def _hit(self, blow: Blow) -> tuple[Undo, ...] | None:
        """Strike a blow: returns its undoing, if it has one; None if it had no victim."""
        try:
            undo = strike(self._stage, blow)
        except (NoVictim, CommandFailed, KeyError) as error:  # the cluster changes while a victim is chosen
            self._report.say(f"no {blow.kind.value}: {error}")
            return None
        return () if undo is None else (undo,)

    def _undo(self, open_: list[tuple[float, Blow, Undo]], began_s: float, before_s: float | None) -> None:
        """Undo what is due before this time of the round; with None, all of it. A failed undoing delays no other."""
        for row in sorted(open_, key=lambda row: row[0]):
            due_s, blow, undo = row
            if before_s is not None and due_s > before_s:
                return
            _sleep_until(began_s + due_s)
            open_.remove(row)
            if self._attempt(f"undoing {blow.kind.value}", partial(_true, undo)):
                self._report.say(f"undone: {blow.kind.value}")

    # --- checks -------------------------------------------------------------------------------------------------------

    def _ready(self, replicas: int, writer: Writer) -> float | None:
        """Seconds until the quorum was ready, for the last spec and by ground truth; None after ten minutes."""
        began_s, late = time.monotonic(), False
        ready_s: float | None = None
        looks = 0
        while looks < _LOOKS:
            why, passed_s = self._why_not(replicas), time.monotonic() - began_s
            if not why:
                looks, ready_s = looks + 1, ready_s or passed_s
            else:
                looks, ready_s = 0, None
                if passed_s > READY_WITHIN_S and not late:
                    late = True
                    self._checker.fail("ready within two minutes", f"after {READY_WITHIN_S:.0f} s still: {why}")
                    self._keep()
                if passed_s > _GIVEN_UP_AFTER_S:
                    self._checker.fail("ready within ten minutes", why)
                    return None
            time.sleep(_POLL_S)
        try:
            writer.wait_acknowledged(timeout_s=max(1.0, READY_WITHIN_S - (time.monotonic() - began_s)))
        except AssertionError:
            self._checker.fail("ready means that writes are taken", "no write was acknowledged within two minutes")
        return ready_s

    def _why_not(self, replicas: int) -> str:
        try:
            return self._lacking(replicas)
        except CommandFailed as error:
            return str(error)

    def _lacking(self, replicas: int) -> str:
        """What still keeps the quorum from rest; empty if nothing does."""
        resource = self._quorum.resource()
        generation, status = resource["metadata"]["generation"], resource.get("status") or {}
        conditions = {row["type"]: row for row in status.get("conditions", [])}
        for type_, wanted in (("Ready", "True"), ("Degraded", "False"), ("Progressing", "False")):
            row = conditions.get(type_, {})
            if row.get("status") != wanted:
                return f"{type_}={row.get('status')} {row.get('reason')}: {row.get('message')}"
            if row.get("observedGeneration") != generation:
                return f"{type_} speaks of generation {row.get('observedGeneration')}, not of {generation}"
        running = self._quorum.pods()
        waiting = sorted(node_id for node_id, pod in running.items() if not _pod_ready(pod))
        if waiting or len(running) != replicas:
            return f"Ready=True, with pods of {sorted(running)}, of which {waiting} are not ready"
        voters = self._quorum.voters()
        has = {f"{row['nodeID']}-{row['directoryID']}" for row in status["controllers"]}
        if voters != has or len(voters) != replicas:
            return f"Ready=True, with the voters {sorted(voters)}, and controllers {sorted(has)}"
        return ""

    def _look_at_disks(self) -> None:
        """The identity on the disks, at rest."""
        host = f".{self._quorum.name}-controllers."
        claims = self._quorum.claims()
        formatted = {
            claim["metadata"]["uid"]: name
            for name, claim in claims.items()
            if nodes.holds_first_voters(self._quorum.namespace, name, host)
        }
        self._checker.saw_first_voters(formatted.items())
        self._checker.saw_disks(self._quorum.disks())
        self._checker.saw_rest()

    def _read_back(self, writer: Writer, *, last: bool = False) -> None:
        """Every acknowledged write, read through a new broker."""
        account = writer.finish() if last else writer.read_back()
        if account.lost:
            self._checker.fail("acknowledged writes", f"lost: {account.lost[:20]}, {len(account.lost)} in all")
        if last and self._checker.round and not account.acknowledged:
            self._checker.fail("acknowledged writes", "none was acknowledged")

    def _keep(self) -> None:
        """Keep the evidence of new failures."""
        while self._kept < len(self._checker.failures):
            self._report.keep(self._quorum, self._checker.failures[self._kept])
            self._kept += 1


def _true(act: Undo) -> bool:
    act()
    return True


def _delete(namespace: str) -> None:
    """Delete a quorum and its namespace: the resource first, so that no operator creates pods again."""
    where = ("-n", namespace)
    run("kubectl", *where, "delete", "kq", "--all", "--wait=false")
    run("kubectl", *where, "delete", "pods", "--all", "--force", "--grace-period=0", "--wait=false")
    run("kubectl", "delete", "namespace", namespace, "--wait=false")


def _pod_ready(pod: Json) -> bool:
    conditions = pod.get("status", {}).get("conditions", [])
    return any(row["type"] == "Ready" and row["status"] == "True" for row in conditions)


def _sleep_until(at_s: float) -> None:
    time.sleep(max(0.0, at_s - time.monotonic()))  # the seed has drawn the moments of a round


if __name__ == "__main__":
    raise SystemExit(main())
