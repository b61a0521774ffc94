"""Probes while authorities are changed: with whose certificate a listener is asked, when again, and what is kept."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

from tests.act.test_execute import SetClock
from tests.model.certificates import LISTENER, authority, authority_seen, recorded, secured, wanted
from tests.model.values import NAME, NAMESPACE, NOW_S, pod, revision
from tests.resources.test_changing_trust import changing

from kafka_quorum.model.handshakes import Failure, Handshake, NotServed
from kafka_quorum.model.identity import IdentityRecord
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.migration import AUTHORITY
from kafka_quorum.model.pods import Pod
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import Secured
from kafka_quorum.observe.access import Access
from kafka_quorum.observe.probing import Probe, Probes, probe_of
from kafka_quorum.resources.secrets import StoredAuthorities, authorities_object
from kit.key import ObjectKey
from kit.kube.protocol import Json
from kit.pki.authority import Authority

KEY = ObjectKey(namespace=NAMESPACE, name=NAME)
BOTH, LEAFS, DROP = (stage.name for stage in AUTHORITY.stages)
AT = datetime.fromtimestamp(NOW_S, UTC)
ACCESS = Access(namespace=NAMESPACE, quorum=NAME, listener=LISTENER, trust=authority_seen(1).pem)


def secret(following: Authority | None = None) -> Known[Json | None]:
    """The Secret with one authority, or with two."""
    stored = StoredAuthorities(present=authority(1), following=following, asked_for="", asked_before="", version="7")
    return Known(value=authorities_object(wanted(), "alpha-ca", stored))


def probe_in(stage: str, item: Known[Json | None]) -> Probe | None:
    """The probe of this stage."""
    return probe_of(item, wanted(), changing(stage), ACCESS, AT)


def test_with_whose_certificate_a_listener_is_asked() -> None:
    """It must accept a client of the new authority, and refuse one of the earlier when that is given up."""
    for stage, of, accepted in ((BOTH, 2, True), (LEAFS, 2, True), (DROP, 1, False)):
        found = probe_in(stage, secret(authority(2)))
        assert found is not None
        assert (found.authority, found.accepted) == (authority_seen(of).sha256, accepted)
        assert found.access.leaf is not None
        assert found.access.leaf.certificate.issued_by(authority(of).certificate)
        assert "PRIVATE KEY" not in repr(found)


def test_when_nothing_is_asked() -> None:
    """Without a change, without a Secret, and without the earlier key at the end, no listener is asked."""
    assert probe_of(secret(), wanted(), recorded(), ACCESS, AT) is None
    assert probe_in(BOTH, Known(value=None)) is None
    assert probe_of(Unknown(reason="not read"), wanted(), changing(), ACCESS, AT) is None
    assert probe_in(DROP, secret()) is None
    assert probe_in(BOTH, secret()) is not None
    damaged = secret()
    assert damaged.value is not None
    damaged.value["data"]["ca.key"] = ""
    assert probe_in(BOTH, damaged) is None


class Asked:
    """Controllers whose answer to a handshake is set."""

    def __init__(self, answer: Handshake) -> None:
        """Every listener answers so."""
        self.answer, self.asked = answer, list[Endpoint]()

    async def handshake(self, endpoint: Endpoint) -> Handshake:
        """The answer."""
        self.asked.append(endpoint)
        return self.answer


def pods(record: IdentityRecord) -> list[Pod]:
    """The running controllers."""
    return [pod(record, node) for node in record.nodes]


async def test_a_listener_is_asked_until_it_answers_as_it_must() -> None:
    """A silent one is asked again after some seconds; one that refuses the earlier authority is not asked any more."""
    controllers, clock = Asked(NotServed(failure=Failure.SILENT, why="silent")), SetClock()
    probes = Probes(clock, controllers)  # type: ignore[arg-type]  # it has the one method that is used
    record, made, probe = recorded(), revision(secured()), probe_in(DROP, secret(authority(2)))
    assert probe is not None

    async def ask(after_s: float, which: Probe | None = probe, running: list[Pod] | None = None) -> int:
        clock._now_s += after_s
        before = len(controllers.asked)
        probes.ask(KEY, pods(record) if running is None else running, (made,), which)
        await asyncio.gather(*(task for each in probes._tasks.values() for task in each.values()))
        return len(controllers.asked) - before

    assert await ask(0) == 3
    assert isinstance(controllers.asked[0].security, Secured)
    assert {each.handshake for each in probes.found(KEY)} == {controllers.answer}
    assert await ask(1) == 0
    controllers.answer = NotServed(failure=Failure.CLIENT_REFUSED, why="refused")
    assert await ask(5) == 3
    assert await ask(600) == 0
    assert {each.authority for each in probes.found(KEY)} == {authority_seen(1).sha256}
    first = pods(record)[0]
    restarted = replace(first, uid="another", container=replace(first.container, started_at="2026-01-02T00:00:00Z"))  # type: ignore[arg-type]  # it runs
    assert await ask(600, running=[restarted, *pods(record)[1:]]) == 1
    assert restarted.instance in {each.instance for each in probes.found(KEY)}
    assert await ask(0, running=pods(record)[1:]) == 0
    assert len(probes.found(KEY)) == 2
    assert await ask(0, which=None) == 0
    assert probes.found(KEY) == ()
