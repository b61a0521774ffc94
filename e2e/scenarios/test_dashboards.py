"""The dashboards on a real Prometheus that has scraped the real operator, and their pictures for docs/dashboards.md.

`make pictures` writes the pictures with what this run has seen.
"""

import os
import time
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from harness import dashboards, prometheus
from harness.alerting import INTERVAL_S, scraped
from harness.dashboards import Query
from harness.pool import Pool
from harness.prometheus import Prometheus
from harness.quorum import GROUP, Quorum
from harness.shell import kubectl, wait_until
from pictures import __main__ as pictures
from pictures.charts import Span
from scenarios.conftest import Make
from scenarios.rolls import ROLL_TIMEOUT_S
from scenarios.test_wiped_disk import lose_disk, wait_cured
from testbed.config import PROJECT

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(900)]

WRITES: Final = os.environ.get("PICTURES") == "write"
HELD: Final = 3002
BEGINS_S: Final = 15.0
"""For how long the quiet state at the beginning is scraped."""
STEP_S: Final = 5.0
_HELD_TIMEOUT_S: Final = 120.0
EMPTY: Final[dict[tuple[str, str], str]] = {
    ("fleet", "Migrations"): "no migration is open",
    ("fleet", "Streams applications"): "there is none",
    ("fleet", "Open operations"): "none is open at the end",
    ("quorum", "Open change"): "none is open at the end",
    ("quorum", "Open operation"): "none is open at the end",
    ("quorum", "Stage of the migration"): "no migration was open",
    ("quorum", "Time in this stage"): "no migration was open",
    ("quorum", "Errors"): "Kafka has made none",
}
"""Panels whose queries may return nothing in this run, and why."""


@pytest.fixture
def fleet(quorums: Make) -> tuple[Quorum, Quorum, Quorum]:
    """A quorum with Kafka's own metrics and a broker; one that gets into trouble; and one of a single controller."""
    orders, payments, audit = (quorums(name) for name in ("orders", "payments", "audit"))
    return orders, payments, audit


def _run(fleet: tuple[Quorum, Quorum, Quorum]) -> None:
    """A roll, a lost disk that is replaced, and at the end a controller that a person holds and that is missing."""
    orders, payments, _ = fleet
    time.sleep(BEGINS_S)
    orders.patch({"kafka": {"config": {"num.io.threads": "9"}}})
    wait_cured(payments, lose_disk(payments, 3001))
    orders.wait_ready(ROLL_TIMEOUT_S)
    kubectl("-n", payments.namespace, "annotate", "kq", payments.name, f"{GROUP}/hold={HELD}")
    wait_until("the hold is seen", partial(_waits, payments, "Holding"), _HELD_TIMEOUT_S)
    payments.delete_pod(payments.controller(HELD)["podName"])
    payments.patch({"kafka": {"config": {"num.io.threads": "9"}}})
    wait_until("the held controller is missed", partial(_waits, payments, "HeldBack"), _HELD_TIMEOUT_S)
    payments.wait_condition("Degraded", "True", timeout_s=_HELD_TIMEOUT_S)
    time.sleep(2 * INTERVAL_S)


def _waits(quorum: Quorum, reason: str) -> bool:
    return reason in {wait["reason"] for wait in quorum.status().get("waits", [])}


def _found(query: Query, server: Prometheus, variables: dict[str, str], span: Span) -> bool:
    asked = query.asked(variables)
    if query.instant:
        return bool(server.instant(asked, span.end_s))
    return bool(server.over(asked, span.begin_s, span.end_s, span.step_s))


def test_every_query_finds_the_operator(fleet: tuple[Quorum, Quorum, Quorum], tmp_path: Path) -> None:
    """After a roll, a lost disk and a held controller every query returns series, or is listed with its reason."""
    orders, payments, audit = fleet
    orders.apply({"metrics": {"jmx": True}})
    payments.apply()
    audit.apply({"controllers": {"replicas": 1}})
    Pool(quorum=orders, name="orders").apply({"replicas": 1, "config": {"default.replication.factor": "1"}})
    with prometheus.running(tmp_path, scraped(each.namespace for each in fleet), INTERVAL_S) as server:
        begin_s = time.time()
        for each in fleet:
            each.wait_ready()
        Pool(quorum=orders, name="orders").wait_ready()
        _run(fleet)
        span = Span(begin_s=begin_s, end_s=time.time(), step_s=STEP_S)
        of_orders = {"namespace": orders.namespace, "quorum": orders.name, "__rate_interval": "30s"}
        of_payments = of_orders | {"namespace": payments.namespace, "quorum": payments.name}
        of_fleet = {"namespace": ".*", "__rate_interval": "30s"}
        variables = {"fleet": (of_fleet,), "quorum": (of_orders, of_payments)}
        missing = {
            (query.board, query.panel): query.expr
            for name in dashboards.NAMES
            for query in dashboards.queries(name)
            if not any(_found(query, server, each, span) for each in variables[name])
        }
        assert {place: expr for place, expr in missing.items() if place not in EMPTY} == {}
        if WRITES:
            names = {each.namespace: f"team-{each.name}" for each in fleet}
            pictures.write("fleet", server, of_fleet, span, names, PROJECT / "docs")
            pictures.write("quorum", server, of_payments, span, names, PROJECT / "docs")
