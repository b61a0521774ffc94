"""The table of failures agrees with the plugin and the documentation, and answers are compared with it correctly."""

from dataclasses import replace
from typing import Any

import pytest

from harness.named import Named, doctor_lacks, explain_lacks
from harness.quorum import _SMALL, merged
from kafka_quorum.api.validation import validate
from kafka_quorum.model.desired import Desired
from kubectl_kq import rules
from kubectl_kq.doctor import CHECKS
from scenarios.failures_named import EVERY, FAILURES, WRONG, Wrong

Json = dict[str, Any]

NAMED = Named(
    check="degraded",
    says=("LostDisk", "3001"),
    todo="bring",
    reasons=("LostDisk",),
    shows=("3001", "caught up"),
    rule=2,
    unblocks="bring",
)
RESULT: Json = {"check": "degraded", "level": "CRIT", "about": None, "message": "LostDisk: 3001", "todo": "bring it"}
ROW: Json = {
    "reason": "LostDisk",
    "message": "the disk of 3001",
    "evidence": "not caught up",
    "rule": "2, a controller",
    "unblocks": "bring it back",
}


def ids(named: Named) -> str:
    """A name of a row for a report."""
    return f"{named.check}-{'-'.join(named.reasons)}"


@pytest.mark.parametrize("named", EVERY, ids=ids)
def test_each_row_is_what_the_plugin_can_say(named: Named) -> None:
    """The check exists; every reason has this rule, and advice that has these words."""
    assert named.check in {check.key for check in CHECKS}
    kind = rules.POOL if named.table == "poolWaits" else rules.QUORUM
    for reason in named.reasons:
        if named.rule:
            assert rules.RULE_OF[kind][reason] == named.rule
        texts = [rules.unblocks(kind, reason), *(rules.mends(each, reason) for each in ("CertificatesValid", "Ready"))]
        assert any(named.unblocks in text for text in texts), texts


def test_failures_have_names_of_their_own() -> None:
    """A report names each case."""
    names = [each.name for each in (*FAILURES, *WRONG)]
    assert len(names) == len(set(names)) > 15


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.name)
def test_specs_that_do_not_start_are_valid(wrong: Wrong) -> None:
    """The failure is in the cluster: the operator accepts the spec."""
    metadata = {"name": "q", "namespace": "scenario", "uid": "u", "generation": 1}
    body = {"apiVersion": "kafkaquorum.io/v1alpha1", "kind": "KafkaQuorum", "metadata": metadata}
    found = validate(body | {"spec": merged(_SMALL, wrong.spec)})
    assert isinstance(found, Desired), found


@pytest.mark.parametrize(
    ("change", "lacks"),
    [
        ({}, False),
        ({"level": "WARN"}, True),
        ({"check": "waits"}, True),
        ({"message": "LostDisk: 3002"}, True),
        ({"todo": "wait"}, True),
        ({"todo": None}, True),
        ({"todo": "bring it; this version does not know the reason"}, True),
    ],
)
def test_doctor_lacks(change: Json, *, lacks: bool) -> None:
    """Level, check, sentence and advice must be those of the row."""
    assert bool(doctor_lacks(NAMED, 2, {"checks": [RESULT | change]})) == lacks


def test_the_exit_code_counts() -> None:
    """With another exit code the findings that are bad are shown."""
    assert "the exit code is 1" in doctor_lacks(NAMED, 1, {"checks": [RESULT]})


@pytest.mark.parametrize(
    ("change", "lacks"),
    [
        ({}, ""),
        ({"reason": "LostNode"}, "none of"),
        ({"evidence": None}, "does not show"),
        ({"rule": "3, no change"}, "has rule"),
        ({"rule": None}, "has rule"),
        ({"unblocks": "wait"}, "is unblocked by"),
    ],
)
def test_explain_lacks(change: Json, lacks: str) -> None:
    """Reason, evidence, rule and advice must be those of the row."""
    assert lacks in explain_lacks(NAMED, {"waits": [ROW | change]})
    assert bool(lacks) == bool(explain_lacks(NAMED, {"waits": [ROW | change]}))


def test_what_only_objects_show_is_not_explained() -> None:
    """Without reasons nothing is compared."""
    assert explain_lacks(replace(NAMED, reasons=()), {}) == ""
