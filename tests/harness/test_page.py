"""The owner of foreign brokers mounts what a page names, where its settings look for it, and misses nothing."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from harness.access import PLAIN, Access, to_controllers
from harness.page import APPEND, FURTHER, absent, folders, mounts, page_of
from kafka_quorum.model.security import PLAINTEXT, Mechanism, Sasl, Secured, Tls

TEXT = """\
# What every broker of KafkaQuorum demo must have now: contract revision 4.
process.roles=broker
controller.listener.names=SECURE
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SECURE:SSL
controller.quorum.bootstrap.servers=demo-3000.demo:9193,demo-3001.demo:9193
listener.name.secure.ssl.keystore.location=/etc/kafka-tls/keystore-3.pem
listener.name.secure.ssl.truststore.location=/etc/kafka-tls/trust-ab12.pem
"""
SECRETS = {"demo-brokers-tls": {"tls.crt": "CERT", "tls.key": "KEY", "keystore-3.pem": "", "trust-ab12.pem": "TRUST"}}
WORD = "pw"
JAAS = f'a.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="b" password="{WORD}";'


def item(text: str = TEXT, secrets: tuple[str, ...] = ("demo-brokers-tls",)) -> dict[str, object]:
    """A ConfigMap as the quorum publishes it."""
    body = {
        "cluster_id": "c",
        "release": "4.4.0",
        "controllers": ["demo-3000.demo:9193", "demo-3001.demo:9193"],
        "secrets": secrets,
    }
    metadata = {"name": "demo-brokers", "annotations": {"kafkaquorum.io/contract-revision": "4"}}
    return {"metadata": metadata, "data": {"server.properties": text, "contract.json": json.dumps(body)}}


PAGE = page_of(item())


def test_a_page_is_read() -> None:
    """Revision, Secrets, port and protocol are those of the ConfigMap."""
    assert (PAGE.revision, PAGE.secrets, PAGE.port, PAGE.protocol) == (4, ("demo-brokers-tls",), 9193, "SSL")


def test_what_is_no_page_is_an_error() -> None:
    """A ConfigMap without the keys of a page is named, not read as an empty page."""
    with pytest.raises(ValueError, match="ConfigMap x is no page"):
        page_of({"metadata": {"name": "x"}, "data": {}})


def test_a_secret_is_mounted_where_the_settings_look_for_it() -> None:
    """Both stores are in one folder, so it is mounted there, once, as a whole and for its group only."""
    volumes, places = mounts(PAGE, SECRETS)
    assert places == [{"name": "page-0", "mountPath": "/etc/kafka-tls", "readOnly": True}]
    sources = [{"secret": {"name": "demo-brokers-tls"}}]
    assert volumes == [{"name": "page-0", "projected": {"sources": sources, "defaultMode": 0o440}}]


def test_a_secret_without_a_store_is_mounted_by_itself() -> None:
    """A Secret with lines of settings goes to a folder of its own, beside that of the stores."""
    page = page_of(item(secrets=("demo-brokers-tls", "demo-users")))
    found = folders(page, {**SECRETS, "demo-users": {"brokers.properties": JAAS}})
    assert found == {"/etc/kafka-tls": ("demo-brokers-tls",), f"{FURTHER}/demo-users": ("demo-users",)}


def test_a_secret_with_a_store_and_further_lines_is_mounted_twice() -> None:
    """The start script finds the lines of a user beside the stores, too."""
    keys = {**SECRETS["demo-brokers-tls"], "sasl.properties": JAAS}
    found = folders(PAGE, {"demo-brokers-tls": keys})
    assert found == dict.fromkeys(("/etc/kafka-tls", f"{FURTHER}/demo-brokers-tls"), ("demo-brokers-tls",))


def test_what_is_missing_is_named() -> None:
    """A Secret, and a file, that do not exist yet are named; with all of them nothing is."""
    assert absent(PAGE, SECRETS) == ()
    later = {"demo-brokers-tls": {"tls.crt": "", "keystore-3.pem": ""}}
    assert absent(PAGE, later) == ("no Secret of the page has trust-ab12.pem",)
    assert "there is no Secret demo-brokers-tls" in absent(PAGE, {})


def test_other_hosts_are_reached_at_the_port_of_the_page() -> None:
    """Only the hosts of the first contact change."""
    found = PAGE.reached_at(["a", "b"])
    assert found["controller.quorum.bootstrap.servers"] == "a:9193,b:9193"
    assert found["controller.listener.names"] == "SECURE"


def test_lines_of_secrets_are_appended_by_the_start_script(tmp_path: Path) -> None:
    """Each file of properties is printed; a folder without one prints nothing and fails nothing."""
    command = APPEND.replace(FURTHER, str(tmp_path))
    empty = subprocess.run(["sh", "-euc", command], capture_output=True, text=True, check=True)
    assert empty.stdout == ""
    (tmp_path / "demo-users").mkdir()
    (tmp_path / "demo-users" / "brokers.properties").write_text(JAAS)
    full = subprocess.run(["sh", "-euc", command], capture_output=True, text=True, check=True)
    assert full.stdout == JAAS


def test_a_broker_reaches_controllers_with_its_certificate() -> None:
    """Trust is the store that the page names, not a `ca.crt`, which lacks the other authority during a change."""
    secrets = {"demo-brokers-tls": SECRETS["demo-brokers-tls"] | {"ca.crt": "OLD"}}
    found = to_controllers(PAGE, secrets)
    assert found == Access(protocol="SSL", ca="TRUST", certificate="CERT", key="KEY")
    assert found.security() == Secured(tls=Tls(ca="TRUST", certificate="CERT", key="KEY"))


def test_a_broker_reaches_controllers_with_its_user() -> None:
    """With SASL_SSL the user is that of the JAAS line, and no certificate is presented."""
    page = page_of(item(TEXT.replace("SECURE:SSL", "SECURE:SASL_SSL"), ("demo-brokers-tls", "demo-users")))
    found = to_controllers(page, {**SECRETS, "demo-users": {"brokers.properties": JAAS}})
    assert found.settings() == {
        "security.protocol": "SASL_SSL",
        "ssl.ca.pem": "TRUST",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "b",
        "sasl.password": WORD,
    }
    assert found.security() == Secured(
        tls=Tls(ca="TRUST"), sasl=Sasl(mechanism=Mechanism.PLAIN, username="b", password=WORD)
    )


@pytest.mark.parametrize(
    ("protocol", "lacks", "says"),
    [("SSL", "trust-ab12.pem", "trust"), ("SSL", "tls.key", "tls.key"), ("SASL_SSL", "", "JAAS")],
)
def test_a_page_whose_secrets_lack_something_is_an_error(protocol: str, lacks: str, says: str) -> None:
    """Nobody connects with less than the protocol needs: a missing file is not an empty one."""
    page = page_of(item(TEXT.replace("SECURE:SSL", f"SECURE:{protocol}")))
    texts = {key: text for key, text in SECRETS["demo-brokers-tls"].items() if key != lacks}
    with pytest.raises(ValueError, match=says):
        to_controllers(page, {"demo-brokers-tls": texts})


def test_a_page_in_clear_text_needs_no_secret() -> None:
    """PLAINTEXT is reached as ever."""
    page = replace(page_of(item(TEXT.replace("SECURE:SSL", "SECURE:PLAINTEXT"))), secrets=())
    assert to_controllers(page, {}) == PLAIN
    assert PLAIN.security() == PLAINTEXT
    assert PLAIN.settings() == {"security.protocol": "PLAINTEXT"}


def test_no_text_of_an_access_has_a_key_or_a_password() -> None:
    """Reports and errors print values: they never print these."""
    text = repr(Access(protocol="SASL_SSL", ca="CA", key="the key", certificate="C", password=f"the {WORD}"))
    assert "the " not in text
