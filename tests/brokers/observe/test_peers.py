"""Which brokers of other pools have certificates that have ended: by their revisions and the Secrets of their pools."""

import base64
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Final, TypeAlias

import pytest
from tests.brokers.edges import AnsweringBrokers, api_server
from tests.brokers.looks import edited, look, pod, ran
from tests.brokers.secured import mutual
from tests.brokers.values import NAMESPACE, QUORUM, broker, desired, record
from tests.clocks import MovingClock
from tests.kit.kube.recording import RecordingKube
from tests.kit.pki.made import certificate, root

from kafka_brokers.model import names
from kafka_brokers.model.observed import Memory, Observed, PeersEnded, Pod, Revision
from kafka_brokers.observe import gather
from kafka_brokers.observe.peers import peers_ended
from kafka_brokers.observe.snapshot import snapshot
from kafka_brokers.resources.stored import revision_object
from kafka_quorum.model.ids import NodeID
from kit.errors import KubeUnavailable
from kit.kube.protocol import REVISIONS
from kit.kube.secrets import SECRETS

MORE: Final = replace(desired(contract=mutual(1)), name="more")
RUNTIME: Final = replace(MORE.runtime, replication_tls=True)
HASH: Final = names.inputs_hash(RUNTIME)
MADE: Final = Revision(name=names.revision_name("more", HASH), number=1, image="", inputs_hash=HASH, runtime=RUNTIME)
OWN: Final = "events-brokers-tls.more"
TEN: Final = NodeID(10)
FIRST, LATER = certificate(by=root(), ends=timedelta(days=1)), certificate(by=root(), ends=timedelta(days=2))
END_S: Final = FIRST.crt.not_valid_after_utc.timestamp()
MARGIN_S: Final = 31.0
ENDED: Final = PeersEnded(every=frozenset({TEN}))
PEER: Final = replace(
    pod(broker(record(), 1)), name="more-10-broker", node_id=TEN, uid="p10", revision=MADE.name, replication_tls=True
)
Change: TypeAlias = Callable[[RecordingKube, Pod], Pod]


def cluster(*, later: bool = True) -> RecordingKube:
    """The revision and the Secret of the other pool."""
    kube = RecordingKube()
    kube.put(REVISIONS, {**(body := revision_object(MORE, MADE, {})), "metadata": {"uid": "r", **body["metadata"]}})
    texts = {"keystore-1.pem": FIRST.key_pem + FIRST.pem, "ca.crt": root().pem}
    if later:
        texts["keystore-2.pem"] = LATER.key_pem + LATER.pem
    data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    kube.put(SECRETS, {"metadata": {"name": OWN, "namespace": NAMESPACE}, "data": data})
    return kube


def beside(*peers: Pod) -> Observed:
    """A look with these brokers of other pools."""
    return look(peers=peers)


async def test_a_peer_whose_certificate_has_ended_is_known() -> None:
    """By its own pool's file, half a minute after its end: clocks differ. A later valid one says that it restarts."""
    kube = cluster()
    found = await peers_ended(kube, NAMESPACE, QUORUM, beside(PEER), END_S + MARGIN_S)
    assert (found.every, found.renewed) == (frozenset({TEN}), frozenset({TEN}))
    for now_s in (END_S - 1, END_S + 1, END_S + MARGIN_S - 2):
        assert not (await peers_ended(kube, NAMESPACE, QUORUM, beside(PEER), now_s)).every


async def test_an_end_without_a_later_certificate_is_known_too() -> None:
    """There is none, or it has ended as well."""
    alone = await peers_ended(cluster(later=False), NAMESPACE, QUORUM, beside(PEER), END_S + MARGIN_S)
    assert (alone.every, alone.renewed) == (frozenset({TEN}), frozenset())
    past_s = LATER.crt.not_valid_after_utc.timestamp() + 1
    both = await peers_ended(cluster(), NAMESPACE, QUORUM, beside(PEER), past_s)
    assert (both.every, both.renewed) == (frozenset({TEN}), frozenset())


def _no_tls(_: RecordingKube, peer: Pod) -> Pod:
    return replace(peer, replication_tls=False)


def _does_not_serve(_: RecordingKube, peer: Pod) -> Pod:
    return replace(peer, deleting=True)


def _other_name(_: RecordingKube, peer: Pod) -> Pod:
    return replace(peer, name="somebody-else")


def _foreign_revision(_: RecordingKube, peer: Pod) -> Pod:
    return replace(peer, revision="another-broker-0123456789")


def _no_revision(kube: RecordingKube, peer: Pod) -> Pod:
    del kube.objects[REVISIONS.plural, MADE.name]
    return peer


def _bad_revision(kube: RecordingKube, peer: Pod) -> Pod:
    kube.objects[REVISIONS.plural, MADE.name]["data"] = {"schemaVersion": "x"}
    return peer


def _later_revision(kube: RecordingKube, peer: Pod) -> Pod:
    kube.objects[REVISIONS.plural, MADE.name]["data"]["schemaVersion"] = 10_000
    return peer


def _revision_error(kube: RecordingKube, peer: Pod) -> Pod:
    kube.errors["get", REVISIONS.plural] = KubeUnavailable("no answer")
    return peer


def _no_secret(kube: RecordingKube, peer: Pod) -> Pod:
    del kube.objects[SECRETS.plural, OWN]
    return peer


def _secret_error(kube: RecordingKube, peer: Pod) -> Pod:
    kube.errors["get", SECRETS.plural] = KubeUnavailable("no answer")
    return peer


@pytest.mark.parametrize(
    "change",
    [
        _no_tls,
        _does_not_serve,
        _other_name,
        _foreign_revision,
        _no_revision,
        _bad_revision,
        _later_revision,
        _revision_error,
        _no_secret,
        _secret_error,
    ],
)
async def test_what_cannot_be_read_proves_no_end(change: Change) -> None:
    """An error is no end, and a broker without TLS gets connections whatever it shows as a client."""
    kube = cluster()
    peer = change(kube, PEER)
    found = await peers_ended(kube, NAMESPACE, QUORUM, beside(peer), END_S + MARGIN_S)
    assert (found.every, found.renewed) == (frozenset(), frozenset())


@pytest.mark.parametrize("stopped", [False, True])
async def test_peers_are_looked_up_only_while_a_broker_of_ours_may_wait_for_them(
    stopped: bool,  # noqa: FBT001 - one of two
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At rest no look reads another pool's Secret."""
    looked: list[str] = []

    async def note(_: object, namespace: str, *_more: object) -> object:
        looked.append(namespace)
        return ENDED

    monkeypatch.setattr(gather, "peers_ended", note)
    kube, clock = api_server(of=edited(ran(record(), desired()), 1, stopped=stopped)), MovingClock(100.0)
    taken = await snapshot(kube, NAMESPACE, "payments", clock)
    assert taken is not None
    seen = await gather.observe(kube, AnsweringBrokers(), clock, taken, desired(), Memory())
    assert looked == ([NAMESPACE] if stopped else [])
    assert (seen.peers_ended is ENDED) is stopped
