"""TLS in the simulation: which connections succeed, what a listener loads, and when a Secret arrives in a pod."""

import base64
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from tests.simulation.model.clock import VirtualClock
from tests.simulation.model.kafka.process import Software
from tests.simulation.model.kafka.tls import (
    ENDED,
    KEPT_S,
    NO_TLS,
    NOT_TRUSTED,
    OTHER_NAME,
    Connections,
    Mount,
    Tls,
    leaf_in,
    why_not_connected,
)
from tests.simulation.model.kubernetes.kube_model import KubeModel
from tests.simulation.model.kubernetes.mounts import Mounts
from tests.simulation.model.place import NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.rules.trust_rules import ENDED as ENDED_RULE
from tests.simulation.rules.trust_rules import TrustRules
from tests.simulation.runs.edges import seeded
from tests.simulation.runs.explore import scenario
from tests.simulation.tests.quorums import disk, key

from kafka_quorum.model.ids import NodeID
from kit.kube.protocol import EVENTS
from kit.kube.secrets import SECRETS
from kit.pki.authority import Authority, Request, issue, make_authority
from kit.pki.bundle import Bundle
from kit.pki.material import keystore
from kit.pki.names import DistinguishedName

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=700)
DICE = seeded(3)


def authority(name: str) -> Authority:
    """An authority that lives a day."""
    return make_authority(DistinguishedName(cn=name, ou="demo", o=NAMESPACE), NOW, 86_400, DICE)


FIRST, OTHER = authority("first"), authority("other")


def store(of: Authority = FIRST, host: str = "one", subject: str = "controllers", life_s: int = 600) -> str:
    """A key with its certificate, for a listener of this host."""
    request = Request(
        subject=DistinguishedName(cn=subject, ou="demo", o=NAMESPACE),
        names=(host,),
        life_s=life_s,
        server=True,
        client=True,
    )
    return keystore(issue(of, request, NOW, DICE))


def tls(text: str, *trusted: Authority) -> Tls:
    """What a process has loaded: this key, and trust in the first authority if no other one is given."""
    found = leaf_in(text)
    assert found is not None
    trust = Bundle(tuple(each.certificate for each in trusted or (FIRST,)))
    return Tls(mount=Mount(keystore=text), trust=trust, served=found, shown=found)


@dataclass
class Peer:
    """A process."""

    incarnation: str
    host: str
    tls: Tls | None = field(default=None)


def peers(client: Tls | None, server: Tls | None) -> tuple[Peer, Peer]:
    """Two processes."""
    return Peer("process 1", "zero", client), Peer("process 2", "one", server)


GOOD = tls(store())


@pytest.mark.parametrize(
    ("client", "server", "now", "why"),
    [
        (GOOD, GOOD, NOW, ""),
        (GOOD, GOOD, LATER, ENDED),
        (tls(store(OTHER)), GOOD, NOW, NOT_TRUSTED),
        (GOOD, tls(store(OTHER)), NOW, NOT_TRUSTED),
        (tls(store(OTHER), FIRST, OTHER), tls(store(), FIRST, OTHER), NOW, ""),
        (GOOD, tls(store(host="two")), NOW, OTHER_NAME),
        (None, GOOD, NOW, NO_TLS),
        (GOOD, None, NOW, NO_TLS),
        (None, None, NOW, ""),
    ],
    ids=["good", "ended", "client", "server", "both trusted", "name", "plain client", "plain server", "plain"],
)
def test_a_new_connection(client: Tls | None, server: Tls | None, now: datetime, why: str) -> None:
    """It needs certificates that are valid now and trusted by the other side, and the server's name."""
    assert why_not_connected(*peers(client, server), now, now) == why


def test_each_side_judges_by_its_own_clock() -> None:
    """A client with a wrong clock refuses a server, and a server with a wrong clock refuses a client."""
    both = peers(GOOD, GOOD)
    assert why_not_connected(*both, LATER, NOW) == why_not_connected(*both, NOW, LATER) == ENDED


def test_an_open_connection_stays_for_a_while() -> None:
    """A connection outlives the certificates that made it, until it ends or breaks; then a new one is refused."""
    clock = VirtualClock()
    connections, both = Connections(clock), peers(GOOD, GOOD)
    assert connections.reach(*both, NOW, NOW)
    clock.advance(KEPT_S - 1)
    assert connections.reach(*both, LATER, LATER)
    connections.broke()
    assert not connections.reach(*both, LATER, LATER)
    assert connections.reach(*both, NOW, NOW)
    clock.advance(KEPT_S)
    assert not connections.reach(*both, LATER, LATER)


@pytest.mark.parametrize(
    ("client", "server", "meet"),
    [((), (), True), (("NEW",), ("NEW",), True), (("NEW",), (), False), ((), ("NEW",), False)],
    ids=["both with TLS", "both without", "only the client without", "only the server without"],
)
def test_a_listener_without_tls_beside_one_with_it(
    client: tuple[str, ...], server: tuple[str, ...], *, meet: bool
) -> None:
    """Two controllers meet by the client's first listener: both have TLS there, or none."""
    world = World()
    one, other = (
        world.kraft.start(
            disk(key(number), frozenset()),
            node_id=NodeID(number),
            address=f"10.0.0.{number}",
            host="one",
            port=9193,
            listener="NEW",
            node=f"node-{number}",
            as_=Software(tls=tls(store()), listens=(("NEW", 9193), ("OLD", 9093)), plain=frozenset(plain)),
        )
        for number, plain in enumerate((client, server))
    )
    assert world.kraft.finds(one, other) is meet


def test_a_listener_loads_and_the_client_side_does_not() -> None:
    """A request brings another certificate to the listener only, and none of another subject or with fewer names."""
    process = tls(store())
    before = process.served
    renewed = store(life_s=900)
    process.mount.keystore = renewed
    process.reload()
    assert (process.served, process.shown) == (leaf_in(renewed), before)
    for text in (store(subject="somebody"), store(host="two"), "no certificate"):
        process.mount.keystore = text
        process.reload()
        assert process.served == leaf_in(renewed)


def test_a_secret_arrives_later() -> None:
    """A new pod mounts the present content; another one follows within two minutes, and a deletion changes nothing."""
    clock = VirtualClock()
    kube = KubeModel(clock)
    mounts, place = Mounts(kube, clock), (NAMESPACE, "demo-3000-tls")
    assert mounts.made(*place) is None
    body = {"metadata": {"name": "demo-3000-tls"}, "data": {"keystore.pem": "YQ=="}}
    kube.create(SECRETS, NAMESPACE, body)
    mount = mounts.made(*place)
    assert mount is not None
    assert mount.keystore == "a"
    kube.patch(SECRETS, *place, {"data": {"keystore.pem": "Yg=="}})
    mounts.follow(*place, mount, "uid")
    assert mount.keystore == "a"
    clock.advance(mounts.longest_s)
    mounts.follow(*place, mount, "uid")
    assert mount.keystore == "b"
    kube.delete(SECRETS, *place)
    mounts.follow(*place, mount, "uid")
    assert mount.keystore == "b"


def test_a_new_pod_may_mount_an_earlier_content() -> None:
    """With a kubelet that is some seconds behind, a new pod mounts what was there then."""
    clock = VirtualClock()
    kube = KubeModel(clock)
    mounts = Mounts(kube, clock)
    kube.create(SECRETS, NAMESPACE, {"metadata": {"name": "s"}, "data": {"keystore.pem": "YQ=="}})
    clock.advance(60)
    kube.patch(SECRETS, NAMESPACE, "s", {"data": {"keystore.pem": "Yg=="}})
    clock.advance(5)
    mounts.old_s = 10.0
    early = mounts.made(NAMESPACE, "s")
    clock.advance(10)
    late = mounts.made(NAMESPACE, "s")
    assert early is not None
    assert late is not None
    assert (early.keystore, late.keystore) == ("a", "b")


# The rules


def test_a_key_outside_of_a_secret_is_found() -> None:
    """A key of a Secret is found in any other object, also without its frame; in the Secret it is no fault."""
    world = World()
    checker = Checker(world)
    text = store()
    data = {"keystore.pem": base64.b64encode(text.encode()).decode()}
    world.kube.create(SECRETS, NAMESPACE, {"metadata": {"name": "s"}, "data": data})
    world.kube.create(EVENTS, NAMESPACE, {"metadata": {"name": "e1"}, "message": "all is well"})
    assert checker.violations == []
    line = text.splitlines()[1]
    world.kube.create(EVENTS, NAMESPACE, {"metadata": {"name": "e2"}, "message": f"found {line}"})
    assert [one.rule for one in checker.violations] == ["13, secret"]


@pytest.mark.parametrize(
    ("renewed", "whole_s", "broken"),
    [(False, 31.0, True), (False, 29.0, False), (True, 29.0, False), (True, 31.0, True)],
    ids=["nothing was in the way", "something was", "renewed on the listener", "the same, and nothing in the way"],
)
def test_a_certificate_that_ends(*, renewed: bool, whole_s: float, broken: bool) -> None:
    """It may end only if, since its restart was due, something was in the way of it in every half minute."""
    world, told = World(), list[str]()
    rules, (one, _) = TrustRules(world, lambda rule, _: told.append(rule)), peers(tls(store(life_s=6000)), None)
    assert one.tls is not None
    if renewed:
        one.tls.served = tls(store(life_s=9000)).served
    left_s = (one.tls.shown.not_after - world.clock.now()).total_seconds()
    world.clock.advance(left_s)
    rules.ends_in_time(one, world.clock.elapsed_s - whole_s)
    assert (ENDED_RULE in told) is broken


def test_certificates_are_the_same_in_every_run() -> None:
    """Keys, numbers and signatures come from a seed, so that a run can be replayed."""
    one, other = (make_authority(DistinguishedName(cn="a", ou="demo", o="x"), NOW, 600, seeded(5)) for _ in range(2))
    assert one.certificate.der == other.certificate.der
    assert (
        one.certificate.der
        != make_authority(DistinguishedName(cn="a", ou="demo", o="x"), NOW, 600, seeded(6)).certificate.der
    )


def test_the_scenarios_are_found() -> None:
    """Each scenario with certificates can be replayed by its name."""
    assert scenario("tls-renewal").until_s > scenario("tls-3").until_s
