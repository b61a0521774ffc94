"""Which claims of `spec.recovery.seeds` are mounted: those that allow it, and those that the operator made for it."""

from typing import Any

import pytest

from kafka_quorum.resources.seeds import pool_of, why_refused

Json = dict[str, Any]
POOL: Json = {"metadata": {"name": "brokers", "uid": "pool-uid"}, "spec": {"quorum": "alpha"}}
OF_POOL: Json = {"kafkaquorum.io/pool": "brokers"}
OWN: Json = {"kafkaquorum.io/quorum": "alpha"}
OWNED: Json = {"kind": "KafkaBrokerPool", "name": "brokers", "uid": "pool-uid", "controller": True}


def claim(name: str = "data-broker-1", used_by: str = "", labels: Json | None = None, *owners: Json) -> Json:
    """A claim with this annotation, these labels and owners."""
    annotations = {"kafkaquorum.io/used-by": used_by} if used_by else {}
    metadata = {"name": name, "annotations": annotations, "labels": labels or {}, "ownerReferences": list(owners)}
    return {"metadata": metadata}


def refused(item: Json | None, pool: Json | None = None) -> str:
    """Why it is not mounted for quorum alpha."""
    return why_refused(item, pool, name="data-broker-1", namespace="kafka", quorum="alpha")


@pytest.mark.parametrize(
    ("item", "pool"),
    [
        (claim(used_by="KafkaQuorum/alpha"), None),
        (claim(used_by="KafkaQuorum/beta, KafkaQuorum/alpha"), None),
        (claim("alpha-3000-g1", "", OWN), None),
        (claim("alpha-3000-g1-copy-0123456789", "", OWN), None),
        (claim("brokers-1-d0-g1", "", OF_POOL), POOL),
        (claim("brokers-1-d0-g1", "", OF_POOL, OWNED), POOL),
    ],
)
def test_a_claim_that_may_be_mounted(item: Json, pool: Json | None) -> None:
    """It lists the quorum, or the operator made it for the quorum or for one of its pools."""
    assert refused(item, pool) == ""


@pytest.mark.parametrize(
    ("item", "pool"),
    [
        (None, None),
        (claim(), None),
        (claim(used_by="KafkaQuorum/alpha2"), None),
        (claim(used_by="KafkaBrokerPool/alpha"), None),
        (claim("alpha-3000-g1"), None),
        (claim("alpha-3000-g1", "", {"kafkaquorum.io/quorum": "beta"}), None),
        (claim("data-postgres-0", "", OWN), None),
        (claim("alpha-3000-g1", "", OWN, OWNED), None),
        (claim("brokers-1-d0-g1", "", OF_POOL), None),
        (claim("brokers-1-d0-g1", "", OF_POOL), {**POOL, "spec": {"quorum": "beta"}}),
        (claim("brokers-1-d0-g1", "", OF_POOL), {**POOL, "spec": None}),
        (claim("brokers-1-d0-g1", "", {}), POOL),
        (claim("brokers-1-d0-g1", "", OF_POOL, {**OWNED, "uid": "other"}), POOL),
        (claim("brokers-1-d0-g1", "", OF_POOL, {**OWNED, "kind": "StatefulSet"}), POOL),
    ],
)
def test_any_other_claim_is_refused(item: Json | None, pool: Json | None) -> None:
    """Neither a name nor a label alone is enough, and a claim that does not exist looks the same."""
    assert refused(item, pool) == refused(None)


def test_the_refusal_has_the_command() -> None:
    """A person who may change the claim can copy it."""
    command = "kubectl -n kafka annotate pvc data-broker-1 kafkaquorum.io/used-by=KafkaQuorum/alpha"
    assert refused(claim()).endswith(command)


def test_the_pool_of_a_claim() -> None:
    """It is in a label; a claim without it has none."""
    assert [pool_of(each) for each in (None, claim(), claim("c", "", OF_POOL))] == ["", "", "brokers"]
