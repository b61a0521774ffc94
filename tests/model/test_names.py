"""Names and hashes: what they depend on, and what does not change them."""

from dataclasses import fields, make_dataclass, replace
from itertools import combinations
from typing import Any

import pytest
from tests.model.values import CLUSTER, IDS, NAME, NAMESPACE, at_rest, minted, node, running, runtime

from kafka_quorum.api.validation import validate
from kafka_quorum.model import names
from kafka_quorum.model.desired import BesideZooKeeper, ControllerListener, Desired, OtherListener, Protocol, Runtime
from kafka_quorum.model.identity import without_claim
from kafka_quorum.model.ids import Member, NodeID
from kafka_quorum.model.nodes import target_runtime
from kafka_quorum.model.zookeeper import ZooKeeperAccess

CHANGES: dict[str, Any] = {
    "release": "4.3.0",
    "image": "registry/kafka",
    "config": (("a", "b"),),
    "listener": ControllerListener(name="CONTROLLER", port=9094),
    "heap": "1Gi",
    "jvm_options": ("-Da=b",),
    "template_metadata": '{"labels":{}}',
    "template_spec": '{"affinity":{}}',
    "static_voters": IDS,
    "restarted_at": "2026-01-31T12:00:00Z",
    "other": OtherListener(listener=ControllerListener(name="SECURED", port=9094, protocol=Protocol.SSL)),
    "trust": "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n",
    "certificates": 2,
    "users": 1,
    "super_users": ("User:CN=operator",),
    "jmx": True,
    "zookeeper": BesideZooKeeper(
        access=ZooKeeperAccess(connect="zk-0:2181/kafka"), listener="PLAINTEXT", protocol="PLAINTEXT"
    ),
}
NO_INPUTS = {"measured"}
"""Fields of a runtime that restart nothing."""


def test_hash_of_now() -> None:
    """The hash of the smallest spec of 4.4.0 never changes, because a change would restart every pod.

    A quorum that had started before TLS was the default keeps PLAINTEXT.
    """
    spec = {"kafka": {"version": "4.4.0"}, "controllers": {"replicas": 3}}
    least = validate({"metadata": {"name": NAME, "namespace": NAMESPACE, "uid": "u", "generation": 1}, "spec": spec})
    assert isinstance(least, Desired)
    assert least.runtime == runtime(listener=replace(runtime().listener, protocol=Protocol.SSL))
    for look in (at_rest(), at_rest(revisions=())):
        assert target_runtime(least, look, running()) == runtime()
    assert names.inputs_hash(runtime()) == "c2e3f48cd0"


@pytest.mark.parametrize("field", [field.name for field in fields(Runtime) if field.name not in NO_INPUTS])
def test_every_input_matters(field: str) -> None:
    """Every field of a runtime changes the hash, except those that are no inputs."""
    assert names.inputs_hash(runtime(**{field: CHANGES[field]})) != names.inputs_hash(runtime())


def test_the_end_of_the_measuring_restarts_nothing() -> None:
    """Whether the controllers report the state of a migration is no input: its end changes no hash."""
    for made in (runtime(), runtime(static_voters=IDS), runtime(zookeeper=CHANGES["zookeeper"])):
        assert names.inputs_hash(replace(made, measured=True)) == names.inputs_hash(made)


def test_the_address_and_the_secret_of_zookeeper_matter() -> None:
    """Another ZooKeeper, another Secret or another listener of the brokers restarts the controllers."""
    beside: BesideZooKeeper = CHANGES["zookeeper"]
    others = (
        replace(beside, listener="INTERNAL"),
        replace(beside, protocol="SSL"),
        replace(beside, access=ZooKeeperAccess(connect="zk-1:2181/kafka")),
        replace(beside, access=replace(beside.access, secret_name="zk")),  # noqa: S106 - a name
    )
    hashes = {names.inputs_hash(runtime(zookeeper=each)) for each in (beside, *others)}
    assert len(hashes) == 5


def test_no_static_voters_are_no_input() -> None:
    """Without static voters the hash is the earlier one; which static voters there are matters."""
    assert names.inputs_hash(runtime(static_voters=())) == "c2e3f48cd0"
    assert names.inputs_hash(runtime(static_voters=IDS)) != names.inputs_hash(runtime(static_voters=IDS[:2]))


AT = "2026-01-31T12:00:00Z"


@pytest.mark.parametrize(
    ("changes", "hash_"),
    [
        ({"restarted_at": AT}, "2bf89d9df9"),
        ({"static_voters": IDS}, "ddd89620ba"),
        ({"static_voters": IDS[:2]}, "58f8d80729"),
        ({"static_voters": IDS, "restarted_at": AT}, "ed848cb7f4"),
        (
            {
                "config": (("a", "b"), ("c", "ü")),
                "listener": ControllerListener(name="QUORUM", port=19093),
                "restarted_at": AT,
            },
            "1b1c35bd37",
        ),
        ({"jvm_options": (), "restarted_at": "2026-02-01T12:00:00+01:00"}, "c5d752d123"),
        (
            {"jvm_options": ("-Da=b",), "heap": "1Gi", "image": "r/k:1", "template_spec": '{"affinity":{}}'},
            "fd0e988dd0",
        ),
    ],
)
def test_existing_hashes_keep_their_value(changes: dict[str, Any], hash_: str) -> None:
    """Hashes of later inputs keep their values, because they are names of existing objects."""
    assert names.inputs_hash(runtime(**changes)) == hash_


LATER_LISTENER = make_dataclass(
    "LATER_LISTENER",
    [("protocol", str, "PLAINTEXT")],
    bases=(ControllerListener,),
    frozen=True,
    slots=True,
    kw_only=True,
)
LATER = make_dataclass(
    "LATER",
    [("observers", tuple[NodeID, ...], ()), ("trust_store", str, "")],
    bases=(Runtime,),
    frozen=True,
    slots=True,
    kw_only=True,
)


def later(**changes: Any) -> Runtime:  # noqa: ANN401 - whatever the field holds
    """The inputs of a later version, with another optional list, another text, and a protocol of the listener."""
    plain = {field.name: getattr(runtime(), field.name) for field in fields(Runtime)}
    made: Runtime = LATER(**plain | {"listener": LATER_LISTENER(name="CONTROLLER", port=9093)} | changes)
    return made


def test_a_new_field_restarts_nothing() -> None:
    """Fields with their default do not change the hash, at any depth, so a version that adds them restarts nothing."""
    assert names.inputs_hash(later()) == names.inputs_hash(runtime())
    assert names.inputs_hash(later(static_voters=IDS)) == names.inputs_hash(runtime(static_voters=IDS))
    assert names.inputs_hash(later(restarted_at=AT)) == names.inputs_hash(runtime(restarted_at=AT))


def test_optional_inputs_do_not_collide() -> None:
    """A new input is never ignored, and a list of one kind is never equal to the same list of another kind."""
    tls = LATER_LISTENER(name="CONTROLLER", port=9093, protocol="SSL")
    given: list[dict[str, Any]] = [
        {},
        {"static_voters": IDS},
        {"observers": IDS},
        {"static_voters": IDS, "observers": IDS},
        {"static_voters": IDS[:1], "observers": IDS[1:]},
        {"restarted_at": AT},
        {"trust_store": AT},
        {"restarted_at": AT, "trust_store": AT},
        {"observers": IDS, "restarted_at": AT},
        {"listener": tls},
        {"listener": tls, "static_voters": IDS},
    ]
    hashes = [names.inputs_hash(later(**changes)) for changes in given]
    same = [(given[a], given[b]) for a, b in combinations(range(len(given)), 2) if hashes[a] == hashes[b]]
    assert same == []


def test_order_of_config_matters_not_by_key() -> None:
    """The hash of a JSON object does not depend on the order of its keys."""
    assert names.digest({"a": 1, "b": 2}) == names.digest({"b": 2, "a": 1})
    assert names.digest([1, 2]) != names.digest([2, 1])


def test_long_runtimes_are_not_all_kept() -> None:
    """Hashes are kept within a limit of the characters that their runtimes hold."""
    for number in range(20):
        names.inputs_hash(replace(runtime(), template_spec=f"{number}" + "a" * 1_000_000))
    assert 1_000_000 < sum(len(each.template_spec) for each in names._HASHES._found) <= 8 << 20


def test_generation_in_names() -> None:
    """The names of claims and pods have the generation, host names do not."""
    member = Member(NAME, IDS[1])
    first = node(minted(), 3001)
    second = node(without_claim(minted(), IDS[1]), 3001)
    assert [names.claim_name(member, each.generation) for each in (first, second)] == ["alpha-3001-g1", "alpha-3001-g2"]
    assert names.pod_name(member, second.generation) == "alpha-3001-g2"
    assert names.formatter_name(member, second.generation) == "alpha-3001-g2-format"
    assert names.host_label(member) == "alpha-3001"


def test_advertised() -> None:
    """Advertised host names are complete except for the cluster's own domain."""
    listener = names.advertised(NAMESPACE, Member(NAME, IDS[0]), runtime())
    assert (listener.name, listener.host, listener.port) == (
        "CONTROLLER",
        "alpha-3000.alpha-controllers.kafka.svc",
        9093,
    )


def test_config_names_tell_contents() -> None:
    """Config maps of another revision, other controllers or another use have other names."""
    made = {
        names.config_name(NAME, "hash", IDS),
        names.config_name(NAME, "other", IDS),
        names.config_name(NAME, "hash", IDS[:2]),
        names.format_config_name(NAME, "hash", IDS),
    }
    assert len(made) == 4


def test_longest_names_fit() -> None:
    """With the longest valid name and the highest node id, host labels still fit."""
    longest = "a" * 51
    assert len(names.host_label(Member(longest, NodeID(2**31 - 1)))) <= 63
    assert len(names.service_name(longest)) <= 63


def test_facts_are_canonical() -> None:
    """Facts are compared as text, independent of the order of keys."""
    assert names.facts({"b": 1, "a": [True, None]}) == '{"a":[true,null],"b":1}'
    assert CLUSTER not in names.service_facts(NAME, 9093)


def test_names_of_two_members_differ() -> None:
    """No two servers share an object's name, whatever their pools are called, and each name identifies its server."""
    pools = ("alpha", "alpha-1", "alpha-1-g1", "1", "g1")
    members = [Member(pool, NodeID(node_id)) for pool in pools for node_id in (0, 1, 11, 3000)]
    made = {(member, generation): names.claim_name(member, generation) for member in members for generation in (1, 11)}
    assert {names.claim_parts(name): name for name in made.values()} == made
    assert len({names.host_name(NAMESPACE, member) for member in members}) == len(members)
