"""What Prometheus gets from the installed operator: the series of a quorum are true, and end with it."""

import json
import time

import pytest

from demo import NAMESPACE, RELEASE
from harness import operator
from harness.metrics import Samples, names, of, of_quorum, scrape
from harness.quorum import Quorum
from harness.shell import Json, get, kubectl, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(420)]

_SOON_S = 90.0
"""A quorum at rest has a whole look every 60 to 75 seconds; its series are of the last one."""
_VALUES = {"True": 1.0, "False": 0.0, "Unknown": -1.0}


def acting() -> Json:
    """The pod that holds the lease, with its address."""
    name = operator.wait_acting()["metadata"]["name"]
    return next(pod for pod in operator.pods() if pod["metadata"]["name"] == name)


def _is_true(status: Json, condition: str) -> bool:
    return any(row["type"] == condition and row["status"] == "True" for row in status["conditions"])


def test_the_series_of_a_quorum_are_true_and_end_with_it(ready: Quorum) -> None:
    """A ready quorum has the series of its status; a standby shows none; after its deletion nobody does."""

    def shown() -> tuple[Samples, Json] | None:
        """The series and the status, when both are of one look: conditions change for some seconds after Ready."""
        found, status = scrape(acting()), ready.status()
        same = (of_quorum(found, ready, "condition", condition=row["type"]) for row in status["conditions"])
        agree = list(same) == [[_VALUES[row["status"]]] for row in status["conditions"]]
        return (found, status) if agree and _is_true(status, "CertificatesValid") else None

    found, status = wait_until("the conditions of the series are those of the status", shown, _SOON_S)
    assert _is_true(status, "Ready")
    for name, value in (
        ("voters_wanted", 3),
        ("voters_present", 3),
        ("voters_caught_up", 3),
        ("failures_tolerated", 1),
        ("leader_id", status["quorum"]["leaderID"]),
        ("leader_epoch", status["quorum"]["leaderEpoch"]),
        ("uncommitted_voter_change_age_seconds", 0),
    ):
        assert of_quorum(found, ready, name) == [float(value)], name
    for row in status["features"]:
        assert (
            of_quorum(found, ready, "feature_level", feature=row["name"]) == [row["finalized"]] or not row["finalized"]
        )
    assert of_quorum(found, ready, "controllers", state="caught_up") == [3.0]
    assert len(of_quorum(found, ready, "lag_records")) == 3
    assert min(of_quorum(found, ready, "log_end_offset")) > 0
    ends = of_quorum(found, ready, "certificate_end_timestamp_seconds")
    assert len(ends) == 6
    assert min(ends) > time.time()
    assert 0 <= time.time() - of_quorum(found, ready, "last_look_timestamp_seconds")[0] < 120
    assert of_quorum(found, ready, "acts_total", act="MintIdentity", result="done") == [1.0]
    assert of(found, "kafka_quorum_operator_lease_held") == [1.0]
    assert of(found, "kafka_quorum_operator_kube_requests_total", verb="create", resource="pods", code="201")
    assert of(found, "kafka_quorum_operator_kafka_requests_total", request="DescribeQuorum", result="answered")[0] > 0
    assert of(found, "process_resident_memory_bytes")
    holder = operator.holder()
    (standby,) = (pod for pod in operator.pods() if pod["metadata"]["name"] != holder)
    idle = scrape(standby)
    assert of(idle, "kafka_quorum_operator_lease_held") == [0.0]
    assert {name for name, labels in idle if dict(labels).get("namespace")} == set()
    ready.delete()
    wait_until("its series have ended", lambda: not names(scrape(acting()), ready), _SOON_S)


def test_the_service_has_every_pod(serving: str) -> None:
    """The Service of the metrics has the address of each operator's pod, and its name resolves to them."""
    assert serving

    def addresses() -> bool:
        found = json.loads(kubectl("-n", NAMESPACE, "get", "endpoints", f"{RELEASE}-metrics", "-o", "json"))
        known = {each["ip"] for subset in found.get("subsets") or () for each in subset.get("addresses") or ()}
        return known == {pod["status"].get("podIP") for pod in operator.pods()}

    wait_until("every pod is in the Service", addresses, _SOON_S)
    assert get(NAMESPACE, "service", f"{RELEASE}-metrics")["spec"]["clusterIP"] == "None"
