"""Two pools that would need a service of the same name: the younger one is refused by field."""

from typing import Any

from tests.brokers.values import CONTRACT, resource

from kafka_brokers.api.validation import validate
from kafka_brokers.model.names import service_prefixes
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.observe.snapshot import _rivals

Json = dict[str, Any]
OUTSIDE: Json = {"listeners": [{"name": "HOT", "port": 9094, "external": "NodePort"}]}
INSIDE: Json = {"listeners": [{"name": "HOT", "port": 9094}]}


def faults(of: Json, *others: Json) -> list[str]:
    """The fields of the faults of a pool beside these others."""
    found = validate(of, CONTRACT, rivals=dict(_rivals(of, [of, *others])))
    return [] if isinstance(found, PoolDesired) else [one.field for one in found]


def pool(name: str, spec: Json, age: int) -> Json:
    """A pool that was created in this second."""
    return resource(spec, name=name, creationTimestamp=f"2026-01-01T00:00:{age:02}Z")


def test_a_listener_whose_services_an_older_pool_has() -> None:
    """Pool `pay` with listener HOT needs `pay-hot-bootstrap`, which is that of pool `pay-hot`."""
    assert faults(pool("pay", OUTSIDE, 2), pool("pay-hot", {}, 1)) == ["spec.listeners[0].name"]
    assert faults(pool("pay", INSIDE, 2), pool("pay-hot", {}, 1)) == []


def test_a_name_whose_services_an_older_pool_has() -> None:
    """The same the other way round: the pool that came second is refused."""
    assert faults(pool("pay-hot", {}, 2), pool("pay", OUTSIDE, 1)) == ["metadata.name"]
    assert faults(pool("pay", OUTSIDE, 1), pool("pay-hot", {}, 2)) == []


def test_two_external_listeners() -> None:
    """Pool `pay` with listener HOT_X, and pool `pay-hot` with listener X."""
    wide: Json = {"listeners": [{"name": "HOT_X", "port": 9094, "external": "LoadBalancer"}]}
    short: Json = {"listeners": [{"name": "X", "port": 9094, "external": "LoadBalancer"}]}
    assert faults(pool("pay-hot", short, 2), pool("pay", wide, 1)) == ["spec.listeners[0].name"]
    assert faults(pool("pay-hot", short, 2), pool("other", wide, 1)) == []


def test_prefixes() -> None:
    """The pool's own one, and one for each external listener."""
    assert service_prefixes("a", ("B", "C_D")) == ("a", "a-b", "a-c-d")
