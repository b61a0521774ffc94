"""The broker contract as a ConfigMap: what is written is read back, and nothing else counts as a contract."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.model.values import CLUSTER, NAME, UID, desired

from kafka_brokers.model import names as pool_names
from kafka_quorum.model import names
from kafka_quorum.model.contract import Contract, Match, Setting, Turn
from kafka_quorum.model.formats import LaterFormat, Unreadable
from kafka_quorum.model.ids import NodeID
from kafka_quorum.resources.contract import contract_from, contract_object, properties_text, stored_contract

HOSTS = tuple(f"alpha-{node}.alpha-controllers.kafka.svc:9093" for node in (3000, 3001, 3002))


def contract(**changes: Any) -> Contract:  # noqa: ANN401 - whatever the field holds
    """The contract of a dynamic quorum of three."""
    plain = Contract(
        cluster_id=CLUSTER,
        release="4.4.0",
        image="",
        revision=3,
        settings=(
            Setting(key="controller.quorum.bootstrap.servers", value=",".join(HOSTS), match=Match.SOME),
            Setting(key="controller.quorum.voters", value="", match=Match.UNSET),
            Setting(key="controller.listener.names", value="CONTROLLER", match=Match.HAS),
            Setting(key="listener.security.protocol.map", value="CONTROLLER:PLAINTEXT", match=Match.HAS),
        ),
        controllers=HOSTS,
        controller_ids=(NodeID(3000), NodeID(3001), NodeID(3002)),
        next_step="nothing",
        base=HOSTS,
    )
    return replace(plain, **changes)


def stored(of: Contract | None = None, **changes: object) -> dict[str, Any]:
    """The ConfigMap as the API server has it; `changes` are fields of its JSON, None removes one."""
    item = contract_object(desired(), of or contract())
    item["metadata"]["resourceVersion"] = "17"
    body = json.loads(item["data"]["contract.json"]) | changes
    item["data"]["contract.json"] = json.dumps({key: value for key, value in body.items() if value is not None})
    return item


def test_names_are_those_of_the_pools() -> None:
    """Quorum and pools use the same names for the contract and the token."""
    assert names.contract_name(NAME) == pool_names.contract_name(NAME) == "alpha-brokers"
    assert names.token_name(NAME) == pool_names.token_name(NAME) == "alpha-disruption"


def test_what_is_written_is_read_back() -> None:
    """Every field of a contract survives the ConfigMap, with the version that it was read at."""
    assert contract_from(stored()) == contract(resource_version="17")
    given = {"given": True, "principals": ("User:CN=b", "User:CN=o"), "certificate_ends": ((1, 5),)}
    given["turn"] = Turn(ends_s=9, last_s=7)
    assert contract_from(stored(contract(**given))) == contract(resource_version="17", **given)


def test_a_turn_of_the_controllers_is_written_while_there_is_one() -> None:
    """Earlier versions of the operator do not know it. Times that are none are refused: pools show them."""
    assert "turn" not in json.loads(contract_object(desired(), contract())["data"]["contract.json"])
    for turn in ({"ends_s": 7, "last_s": 9}, {"ends_s": 10**15, "last_s": 1}, {"ends_s": 1, "last_s": -1}):
        with pytest.raises(Unreadable, match="impossible time"):
            contract_from(stored(turn=turn))


def test_a_version_makes_it_replace_that_one() -> None:
    """A contract that was read is written over exactly that version; a new one has none."""
    assert contract_object(desired(), contract(resource_version="17"))["metadata"]["resourceVersion"] == "17"
    assert "resourceVersion" not in contract_object(desired(), contract())["metadata"]


def test_text_that_a_person_can_paste() -> None:
    """The properties have one exact line for each setting, and a comment for what must not be set."""
    lines = properties_text(NAME, contract()).splitlines()
    defaults = "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"
    assert [line for line in lines if not line.startswith("#")] == [
        "process.roles=broker",
        f"controller.quorum.bootstrap.servers={','.join(HOSTS)}",
        "controller.listener.names=CONTROLLER",
        f"listener.security.protocol.map=CONTROLLER:PLAINTEXT,{defaults}",
    ]
    assert "# controller.quorum.voters must not be set" in lines
    assert any("revision 3" in line and line.startswith("#") for line in lines)


def test_a_static_quorum_is_an_exact_line() -> None:
    """The static voters are pasted as they are."""
    voters = Setting(key="controller.quorum.voters", value="3000@a:9093", match=Match.EQUALS)
    assert "controller.quorum.voters=3000@a:9093\n" in properties_text(NAME, contract(settings=(voters,)))


SECURED = contract(
    secrets=("alpha-brokers-tls",),
    settings=(
        Setting(key="listener.security.protocol.map", value="CONTROLLER:SSL", match=Match.HAS),
        Setting(key="listener.name.controller.ssl.keystore.location", value="keystore-3.pem", match=Match.FILE),
    ),
)


def test_files_of_a_secret() -> None:
    """A contract with files is read back; its text says where the Secret is mounted, and has a path for each file."""
    assert contract_from(stored(SECURED)) == replace(SECURED, resource_version="17")
    lines = properties_text(NAME, SECURED).splitlines()
    assert "listener.name.controller.ssl.keystore.location=/etc/kafka-quorum-tls/keystore-3.pem" in lines
    assert any("alpha-brokers-tls" in line and "/etc/kafka-quorum-tls" in line for line in lines if line[0] == "#")
    assert not any("sasl.properties" in line for line in lines)


def test_the_lines_with_a_password() -> None:
    """The text says which key of the Secret has the user and the password. They are not in it."""
    plain = Setting(key="sasl.mechanism.controller.protocol", value="PLAIN", match=Match.EQUALS)
    lines = properties_text(NAME, replace(SECURED, settings=(plain, *SECURED.settings))).splitlines()
    assert "sasl.mechanism.controller.protocol=PLAIN" in lines
    assert any("sasl.properties" in line for line in lines if line[0] == "#")


def test_earlier_versions_refuse_only_what_they_cannot_follow() -> None:
    """A contract with files has number 2, which earlier versions refuse; every other one has number 1, as before."""
    number = [json.loads(stored(each)["data"]["contract.json"])["schemaVersion"] for each in (contract(), SECURED)]
    assert number == [1, 2]


@pytest.mark.parametrize(
    "changes",
    [
        {"revision": 0},
        {"revision": "x"},
        {"revision": 2**31},
        {"cluster_id": "no id"},
        {"cluster_id": None},
        {"controller_ids": [-1]},
        {"settings": [{"key": "a", "value": "b", "match": "unheard of"}]},
        {"settings": [{"key": "a\nb", "value": "b", "match": "equals"}]},
        {"release": "4\u00004"},
        {"schemaVersion": "x"},
        {"controllers": ["a:1"] * 1001},
        {"secrets": ["alpha-ca"]},
        {"settings": [{"key": "a", "value": "../trust.pem", "match": "file"}]},
        {"settings": [{"key": "a", "value": "", "match": "file"}]},
    ],
)
def test_what_is_no_contract(changes: dict[str, Any]) -> None:
    """A ConfigMap that anybody edited is refused with its name, and never read as another contract."""
    with pytest.raises(Unreadable, match="alpha-brokers"):
        contract_from(stored(**changes))


@pytest.mark.parametrize("data", [None, {}, {"contract.json": "{"}, {"contract.json": "[]"}])
def test_no_contract_at_all(data: object) -> None:
    """A ConfigMap without the JSON is refused."""
    with pytest.raises(Unreadable, match="alpha-brokers"):
        contract_from({**stored(), "data": data})


@pytest.mark.parametrize("changes", [{"schemaVersion": 3}, {"later": True}, {"schemaVersion": 9, "revision": "x"}])
def test_a_later_contract(changes: dict[str, Any]) -> None:
    """A contract with a later number, or with a field that is not known, is a later version's."""
    with pytest.raises(LaterFormat):
        contract_from(stored(**changes))


def test_whose_it_is() -> None:
    """A ConfigMap of another quorum or controller is not read; one that lost labels or owner is repaired."""
    assert stored_contract(stored(), NAME).adrift is False
    item = stored()
    item["metadata"]["labels"] = {}
    assert stored_contract(item, NAME).adrift is True
    orphan = stored()
    orphan["metadata"]["ownerReferences"] = []
    assert stored_contract(orphan, NAME).adrift is True
    with pytest.raises(Unreadable, match="not this quorum's"):
        stored_contract(stored(), "beta")
    other = stored()
    other["metadata"]["ownerReferences"] = [{"kind": "Deployment", "name": "x", "uid": UID, "controller": True}]
    with pytest.raises(Unreadable, match="not this quorum's"):
        stored_contract(other, NAME)
    going = stored()
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    with pytest.raises(Unreadable, match="being deleted"):
        stored_contract(going, NAME)


def test_the_generation_of_pools_certificates() -> None:
    """It is written only if there is one, so that earlier versions read the others; a negative one is refused."""
    assert '"certificates"' not in stored()["data"]["contract.json"]
    assert contract_from(stored(contract(certificates=3))).certificates == 3
    with pytest.raises(Unreadable, match="its certificates are '-1'"):
        contract_from(stored(contract(certificates=-1)))
    with pytest.raises(Unreadable, match="its certificates are '1000000000'"):
        contract_from(stored(contract(certificates=1_000_000_000)))
