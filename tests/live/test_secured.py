"""The operator's own way to secured brokers of 3.9.2 and 4.4.0: mutual TLS, SCRAM, PLAIN, what is refused, and ACLs."""

import asyncio
import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import pytest
import pytest_asyncio
from tests.kit.kube.recording import RecordingKube
from tests.live.broker_worlds import note
from tests.live.jars import DEFAULT_VERSION, Kafka, ensure_kafka
from tests.live.secured import PASSWORD, REAUTHENTICATE_MS, USER, SecuredBroker
from tests.live.waiting import wait_for

from kafka_quorum.errors import KafkaDenied, KafkaError, KafkaRefused, KafkaUnreachable
from kafka_quorum.model.brokers import TopicPartition
from kafka_quorum.model.groups import GroupState
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.names import USED_BY
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import Mechanism, Sasl, Secured, Tls
from kafka_quorum.wire import connection
from kafka_quorum.wire.connection import Limits
from kafka_quorum.wire.group_admin import KafkaGroups
from kafka_streams.model.membership import Group
from kafka_streams.observe import gather
from kafka_streams.observe.security import security
from kit.kube.protocol import Json
from kit.kube.secrets import SECRETS

pytestmark = [pytest.mark.live, pytest.mark.timeout(300), pytest.mark.asyncio(loop_scope="module")]

GROUP = "counts"
PATIENT = Limits(connect_timeout_s=15.0, request_timeout_s=15.0)


@dataclass(slots=True)
class World:
    """A secured broker with a group of one member, and the operator's client."""

    broker: SecuredBroker
    groups: KafkaGroups = field(default_factory=lambda: KafkaGroups(PATIENT))

    async def error(self, endpoint: Endpoint) -> KafkaError:
        """The error of a request, which must fail without a secret in its text."""
        with pytest.raises(KafkaError) as failure:
            await self.groups.metadata(endpoint)
        said = str(failure.value)
        assert PASSWORD not in said
        assert "PRIVATE" not in said
        assert not failure.value.outcome_unknown
        return failure.value

    async def group(self, endpoint: Endpoint) -> Knowable[Group]:
        """What a look at an application shows of its group."""
        return await gather._group(self.groups, (endpoint,), GROUP)


@pytest.fixture(scope="module", params=["3.9.2", DEFAULT_VERSION])
def kafka(request: pytest.FixtureRequest) -> Kafka:
    """Each release in turn."""
    return ensure_kafka(str(request.param))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """The broker with two topics, the user `ada`, and a member that has all partitions and committed something."""
    made = World(SecuredBroker(kafka, tmp_path_factory.mktemp("secured")))
    try:
        await made.broker.open()
        cluster = made.broker.cluster
        await made.broker.set_password(PASSWORD)
        for topic in ("in", "too"):
            await cluster.topic(topic, [[1]])
            assert await cluster.produce(topic, 3) == 3
        made.broker.consume(GROUP, ["in", "too"])

        async def settled() -> bool | None:
            found = await made.group(cluster.brokers[1].endpoint)
            if isinstance(found, Unknown) or isinstance(found.value.committed, Unknown):
                return None
            return found.value.committed.value == {("in", 0): 3, ("too", 0): 3} or None

        await wait_for("a member that has committed everything", settled, deadline_s=120)
        yield made
    finally:
        await made.groups.close()
        await made.broker.close()


async def test_every_way_in(world: World) -> None:
    """Mutual TLS with a key of PKCS#8 or PKCS#1, both kinds of SCRAM over TLS, and PLAIN without it: each one answers.

    The address of the coordinator is that of the same listener.
    """
    broker = world.broker
    ways = {
        "TLS": broker.at("TLS", Secured(tls=broker.tls())),
        "TLS, PKCS#1": broker.at("TLS", Secured(tls=broker.tls(key="client.pkcs1"))),
        "SCRAM-SHA-512": broker.scram(),
        "SCRAM-SHA-256": broker.scram(mechanism=Mechanism.SCRAM_SHA_256),
        "PLAIN": broker.plain(),
    }
    for name, endpoint in ways.items():
        answer = await world.groups.metadata(endpoint)
        assert [row.port for row in answer.brokers] == [endpoint.port], name


async def test_a_wrong_password(world: World) -> None:
    """It is refused by name of the mechanism, for an unknown user alike, and without a secret in the message."""
    unknown = Sasl(mechanism=Mechanism.SCRAM_SHA_512, username="bob", password=PASSWORD)
    wrong = {
        "PLAIN": world.broker.plain("no"),
        "SCRAM-SHA-512": world.broker.scram("no"),
        "SCRAM-SHA-256": world.broker.scram("no", Mechanism.SCRAM_SHA_256),
        "SCRAM-SHA-512 ": world.broker.at("SCRAM", Secured(tls=world.broker.tls(""), sasl=unknown)),
    }
    for mechanism, endpoint in wrong.items():
        failure = await world.error(endpoint)
        assert isinstance(failure, KafkaDenied), failure
        assert f"({mechanism.strip()}, SASL_AUTHENTICATION_FAILED)" in str(failure)
        assert USER not in str(failure).split(":", 1)[1]


async def test_a_mechanism_or_a_protocol_that_the_listener_has_not(world: World) -> None:
    """Each mistake in the protocol has its own words, as far as the broker shows what is wrong."""
    broker = world.broker
    plain = broker.cluster.brokers[1].endpoint
    sasl = Sasl(mechanism=Mechanism.SCRAM_SHA_512, username=USER, password=PASSWORD)
    cases = (
        (broker.at("PLAIN", Secured(sasl=sasl)), KafkaDenied, "it has PLAIN"),
        (replace(plain, security=Secured(sasl=sasl)), KafkaDenied, "no SASL"),
        (replace(plain, security=Secured(tls=broker.tls())), KafkaUnreachable, "with TLS"),
        (replace(plain, port=broker.ports["TLS"]), KafkaError, "answers with TLS"),
        (replace(plain, port=broker.ports["PLAIN"]), KafkaUnreachable, "closed the connection"),
        (broker.at("SCRAM", Secured(tls=broker.tls(""))), KafkaUnreachable, "closed the connection"),
    )
    for endpoint, kind, words in cases:
        failure = await world.error(endpoint)
        assert isinstance(failure, kind)
        assert words in str(failure)


async def test_certificates_that_are_not_accepted(world: World) -> None:
    """A foreign authority, another name, no client certificate, and one of a foreign authority: each is named."""
    broker = world.broker
    good = broker.tls()
    trusted = broker.at("TLS", Secured(tls=good))
    foreign = Tls(ca=broker.pem("other.crt"), certificate=good.certificate, key=good.key)
    cases = (
        (replace(trusted, security=Secured(tls=foreign)), "local issuer"),
        (replace(trusted, host="localhost"), "another name"),
        (broker.at("TLS", Secured(tls=broker.tls(""))), "client certificate"),
        (broker.at("TLS", Secured(tls=broker.tls("stranger"))), "client certificate"),
    )
    for endpoint, words in cases:
        failure = await world.error(endpoint)
        assert isinstance(failure, KafkaUnreachable)
        assert words in str(failure)


async def test_a_session_that_ends(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests over more than two lifetimes of a session have no error; a session that is kept too long is cut."""
    clock = asyncio.get_running_loop().time

    async def ask(factor: float) -> int:
        """How many requests were answered before the first error, within 2.5 lifetimes."""
        monkeypatch.setattr(connection, "_LIFETIME_USED", factor)
        groups, asked, end_s = KafkaGroups(PATIENT), 0, clock() + 2.5 * REAUTHENTICATE_MS / 1000
        try:
            while clock() < end_s:
                await groups.metadata(world.broker.scram())
                asked += 1
                await asyncio.sleep(0.1)
        except KafkaUnreachable:
            return -asked
        finally:
            await groups.close()
        return asked

    assert await ask(0.9) > 10
    cut = await ask(100.0)
    assert cut < 0, "the broker accepts a session that has ended: nothing was proved"


async def test_what_a_user_without_rights_sees(world: World, kafka: Kafka) -> None:
    """Without Describe on the group every question about it is refused; topics are hidden without an error.

    Describe on the group alone shows members and no offsets; Describe on a part of the topics shows a part. The look
    takes none of them for the whole.
    """
    endpoint = world.broker.scram()
    questions = (world.groups.coordinator, world.groups.classic_group, world.groups.committed)
    for question in questions:
        with pytest.raises(KafkaRefused, match="GROUP_AUTHORIZATION_FAILED"):
            await question(endpoint, GROUP)
    assert await world.groups.coordinated(endpoint) == (), "ListGroups hides it without an error"
    seen = await world.group(endpoint)
    assert isinstance(seen, Unknown)
    assert "Grant Describe on the group" in seen.reason

    await world.broker.allow("GROUP", GROUP)
    hidden = await wait_for("the right to the group", lambda: _known(world, endpoint))
    assert (hidden.state.value, len(hidden.members)) == (GroupState.STABLE.value, 1)
    assert await world.groups.committed(endpoint, GROUP) == (), "OffsetFetch hides topics without an error"
    assert isinstance(hidden.committed, Unknown)
    assert isinstance(hidden.ends, Unknown)
    assert "grant Describe" in hidden.committed.reason

    await world.broker.allow("TOPIC", "in")

    async def part() -> bool | None:
        return len(await world.groups.committed(endpoint, GROUP)) == 1 or None

    await wait_for("the right to one topic", part)
    partial = await _known(world, endpoint)
    assert partial is not None
    assert isinstance(partial.committed, Unknown)
    assert str(TopicPartition(topic="too", index=0)) in partial.committed.reason

    await world.broker.allow("TOPIC", "too")

    async def whole() -> Group | None:
        found = await _known(world, endpoint)
        return found if found is not None and isinstance(found.committed, Known) else None

    known = await wait_for("the rights to both topics", whole)
    assert known.committed == known.ends == Known(value={("in", 0): 3, ("too", 0): 3})
    note("rights", release=kafka.version, enough="Describe on the group and on its topics")


async def _known(world: World, endpoint: Endpoint) -> Group | None:
    found = await world.group(endpoint)
    return found.value if isinstance(found, Known) else None


def _secret(name: str, **keys: str) -> Json:
    data = {key.replace("_", "."): base64.b64encode(text.encode()).decode() for key, text in keys.items()}
    annotations = {USED_BY: "KafkaStreamsApplication/counts"}
    return {"metadata": {"name": name, "namespace": "apps", "annotations": annotations}, "data": data}


async def test_a_secret_that_is_renewed(world: World) -> None:
    """Another password in the Secret is used in the next look, by the same client; the former one is refused."""
    kube, broker = RecordingKube(), world.broker
    spec = {
        "protocol": "SASL_SSL",
        "tls": {"caSecretName": "trust"},
        "sasl": {"mechanism": "SCRAM-SHA-512", "secretName": "user"},
    }
    resource = {"metadata": {"name": "counts"}, "spec": {"security": spec}}
    kube.put(SECRETS, _secret("trust", ca_crt=broker.pem("ca.crt")))
    kube.put(SECRETS, _secret("user", username=USER, password=f"{PASSWORD}\n"))

    async def reached() -> Endpoint:
        known = await security(kube, "apps", resource)
        assert isinstance(known, Known), known
        return broker.at("SCRAM", known.value)

    before = await reached()
    await world.groups.metadata(before)
    await broker.set_password("another")
    try:

        async def refused() -> bool | None:
            groups = KafkaGroups(PATIENT)
            try:
                await groups.metadata(before)
            except KafkaDenied:
                return True
            finally:
                await groups.close()
            return None

        await wait_for("the former password is refused", refused)
        kube.objects[SECRETS.plural, "user"]["data"] = _secret("", username=USER, password="another")["data"]  # noqa: S106
        kube.objects.flush()
        assert (await world.groups.metadata(await reached())).brokers
    finally:
        await broker.set_password(PASSWORD)
