"""The owner who reads only the page: which broker is next, and what its pod has."""

import pytest
from tests.harness.test_page import PAGE, SECRETS

from harness.owner import MADE_FROM, SASL_PORT, Broker, Owner, Step, looked_at, next_step, stamp

OLD, NEW = "3 4.4.0", stamp(PAGE)
GOOD = Broker(made_from=OLD)
DONE = Broker(made_from=NEW)
NONE = Broker(made_from="", fault="its pod is not ready", out=True)
DOWN = Broker(made_from=OLD, fault="its pod is not ready", out=True)
LATE = Broker(made_from=NEW, fault="it is not in sync with a-0")
OLD_AND_LATE = Broker(made_from=OLD, fault="it is not in sync with a-0")


@pytest.mark.parametrize(
    ("brokers", "step"),
    [
        pytest.param((DONE, DONE, DONE), Step(), id="all is done"),
        pytest.param((NONE, NONE, NONE), Step(node_id=1), id="the first is created"),
        pytest.param(
            (Broker(made_from=NEW, fault="x", out=True), NONE, NONE), Step(node_id=2), id="nobody waits to begin"
        ),
        pytest.param((GOOD, GOOD, GOOD), Step(node_id=1), id="the lowest restarts"),
        pytest.param((DONE, GOOD, GOOD), Step(node_id=2), id="then the next"),
        pytest.param(
            (LATE, GOOD, GOOD), Step(why="broker 1: it is not in sync with a-0"), id="not before it is in sync"
        ),
        pytest.param(
            (DONE, GOOD, OLD_AND_LATE), Step(why="broker 3: it is not in sync with a-0"), id="nor beside another"
        ),
        pytest.param((GOOD, GOOD, DOWN), Step(node_id=3), id="what serves nothing comes first"),
        pytest.param((DONE, NONE, GOOD), Step(node_id=2), id="what was stopped is created, whatever was lost between"),
        pytest.param((DONE, LATE, DONE), Step(why="broker 2: it is not in sync with a-0"), id="done is in sync"),
    ],
)
def test_one_broker_at_a_time(brokers: tuple[Broker, ...], step: Step) -> None:
    """A broker that serves stops only while every other one serves."""
    assert next_step(PAGE, dict(enumerate(brokers, 1))) == step


def test_nothing_stops_for_a_secret_that_is_not_there() -> None:
    """A broker that stopped could not start again without its files, so it goes on."""
    step = next_step(PAGE, {1: GOOD, 2: NONE}, ["there is no Secret x", "there is no Secret y"])
    assert step == Step(why="there is no Secret x; there is no Secret y")
    assert next_step(PAGE, {1: DONE}, ["there is no Secret x"]) == Step()


def test_a_broker_serves_if_it_is_a_member_and_in_sync() -> None:
    """A fenced broker serves nothing; one that is behind serves, and is not to be relied on."""
    rows = [("a-0", [1, 2, 3], [1, 2]), ("b-0", [1, 2], [1])]
    assert looked_at(NEW, 1, [1, 2, 3], rows) == DONE
    assert looked_at(NEW, 2, [1, 2, 3], rows).fault == "it is not in sync with b-0"
    assert looked_at(NEW, 3, [1, 2, 3], rows).fault == "it is not in sync with a-0"
    assert not looked_at(NEW, 3, [1, 2, 3], rows).out
    assert looked_at(NEW, 3, [1, 2], rows).out


def test_the_page_rules_over_the_owners_settings() -> None:
    """Lines of the page replace the owner's, and only what the owner insists on replaces the page's."""
    owner = Owner(namespace="ns", quorum="demo", own={"log.dirs": "/elsewhere"})
    found = owner.settings(PAGE, 2)
    assert found["listener.name.secure.ssl.keystore.location"] == "/etc/kafka-tls/keystore-3.pem"
    assert found["process.roles"] == "broker"
    assert (found["node.id"], found["log.dirs"]) == ("2", "/elsewhere")
    assert found["advertised.listeners"] == "PLAINTEXT://owned-2.ns.svc:9092"


def test_a_pod_has_the_secrets_of_its_page_and_no_content_of_them() -> None:
    """The Secrets are mounted, the stamp is that of the page, and no text of the pod is a key's."""
    secrets = {"demo-brokers-tls": SECRETS["demo-brokers-tls"] | {"tls.key": "the key itself"}}
    pod = Owner(namespace="ns", quorum="demo", clients_secret="own").pod(PAGE, 1, secrets)  # noqa: S106 - a name
    assert pod["metadata"]["annotations"] == {MADE_FROM: NEW}
    (container,) = pod["spec"]["containers"]
    places = {row["mountPath"]: row["name"] for row in container["volumeMounts"]}
    volumes = {row["name"]: row for row in pod["spec"]["volumes"]}
    assert volumes[places["/etc/kafka-tls"]]["projected"]["sources"] == [{"secret": {"name": "demo-brokers-tls"}}]
    assert volumes[places["/etc/owner-tls"]]["secret"]["secretName"] == "own"
    assert "the key itself" not in str(pod)


def test_with_a_certificate_of_its_own_it_has_listeners_for_clients() -> None:
    """Users of SCRAM and clients with a certificate have a listener each, and the page's stay as they are."""
    found = Owner(namespace="ns", quorum="demo", clients_secret="own").settings(PAGE, 1)  # noqa: S106 - a name
    assert f"SASL_SSL://owned-1.ns.svc:{SASL_PORT}" in found["advertised.listeners"].split(",")
    assert found["listener.name.ssl.ssl.client.auth"] == "required"
    assert found["controller.listener.names"] == "SECURE"
