"""How Secrets with certificates are read, how controllers are reached, and when listeners are asked."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.kit.kube.recording import RecordingKube
from tests.model.certificates import LISTENER, authority, leaf, leaf_seen, recorded, secured, served, wanted
from tests.model.values import IDS, NAME, NAMESPACE, NOW_S, at_rest, desired, permit, revision, running
from tests.observe.test_gather import StillClock, api_server, snapshot
from tests.resources.test_changing_trust import changing
from tests.wire.answering import AnsweringControllers

from kafka_quorum.errors import KafkaUnsecured
from kafka_quorum.model import permit as permits
from kafka_quorum.model.actions import ReloadListener
from kafka_quorum.model.certified import holders
from kafka_quorum.model.handshakes import Served
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.material import BROKERS, OPERATOR, Material, controller
from kafka_quorum.model.plan import Outcome
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import PLAINTEXT, Secured
from kafka_quorum.observe.access import NO_LEAF
from kafka_quorum.observe.listeners import ENDS_SOON_S, EVERY_S, SAMPLE_EVERY_S, SOON_S
from kafka_quorum.observe.material import OWN_SECRETS_S, MaterialReads
from kafka_quorum.observe.snapshot import Snapshot
from kafka_quorum.resources.secrets import StoredAuthorities, authorities_object, leaf_object
from kit.errors import KubeRefused
from kit.key import ObjectKey
from kit.kube.protocol import Json
from kit.kube.secrets import SECRETS
from kit.term import STARTING_S

KEY = ObjectKey(namespace=NAMESPACE, name=NAME)
TRUST = authority().certificate.pem
SECOND = controller(IDS[1])


class MovingClock(StillClock):
    """A clock that a test moves."""

    at_s = 1000.0

    def monotonic(self) -> float:
        """The test's seconds."""
        return self.at_s


class TimedClock(MovingClock):
    """The same, and the time of day moves with it."""

    def now(self) -> datetime:
        """The test's time."""
        return datetime.fromtimestamp(NOW_S + self.at_s - MovingClock.at_s, UTC)


def stored(body: Json) -> Json:
    """A Secret as the API server has it."""
    return {**body, "metadata": {**body["metadata"], "resourceVersion": "40", "uid": body["metadata"]["name"]}}


def with_secrets() -> RecordingKube:
    """An API server with every Secret of the quorum."""
    kube = RecordingKube()
    kube.put(SECRETS, stored(authorities_object(wanted(), f"{NAME}-ca", StoredAuthorities(present=authority()))))
    for holder in holders(recorded()):
        kube.put(SECRETS, stored(leaf_object(wanted(), holder, leaf(holder), TRUST, 1, None, 0)))
    return kube


async def a_look() -> Snapshot:
    """The other objects of a quorum with SSL."""
    pods = at_rest(recorded()).pods
    return replace(await snapshot(api_server()), record=recorded(), revisions=(revision(secured()),), pods=pods)


async def asked(reads: MaterialReads, taken: Snapshot) -> Material:
    """The certificates of a look, after what it began has ended."""
    found, _ = await reads.look(KEY, taken, wanted())
    for _ in range(5):
        await asyncio.sleep(0)
    assert found is not None
    return found


async def test_a_quorum_without_encryption_reads_no_secret() -> None:
    """Nothing is read, and endpoints are plain."""
    kube = RecordingKube()
    taken = replace(await snapshot(api_server()), record=running())
    found, access = await MaterialReads(kube, MovingClock(), AnsweringControllers()).look(KEY, taken, desired())
    assert (found, kube.calls) == (None, [])
    at = access.endpoint(at_rest().pods[0], desired().runtime.listener)
    assert isinstance(at, Known)
    assert at.value.security == PLAINTEXT


async def test_secrets_are_read_by_name() -> None:
    """Each Secret is read by its name and none is listed, unlike pools; the look has everything, and no key."""
    kube = with_secrets()
    found = await asked(MaterialReads(kube, MovingClock(), AnsweringControllers()), await a_look())
    assert {(call.verb, call.plural) for call in kube.calls} == {("get", "secrets"), ("list", "kafkabrokerpools")}
    assert isinstance(found.own, Known)
    assert [holder for holder, _ in found.known_leafs()] == list(holders(recorded()))
    for secret in (authority(), leaf(SECOND), leaf(OPERATOR)):
        assert secret.key.pem.splitlines()[1] not in repr(found)


async def test_a_missing_secret_and_one_that_cannot_be_read_differ() -> None:
    """A Secret that does not exist is known to be missing; without the right it is unknown, with the way out."""
    kube = with_secrets()
    del kube.objects["secrets", "alpha-3001-tls"]
    found = await asked(MaterialReads(kube, MovingClock(), AnsweringControllers()), await a_look())
    assert found.leaf(SECOND) == Known(value=None)
    refusing = RecordingKube(errors={("get", "secrets"): KubeRefused("forbidden")})
    refused = await asked(MaterialReads(refusing, MovingClock(), AnsweringControllers()), await a_look())
    seen = refused.leaf(SECOND)
    assert isinstance(seen, Unknown)
    assert "Grant get on Secrets" in seen.reason
    assert isinstance(refused.own, Unknown)


async def test_controllers_are_reached_by_the_operators_own_leaf() -> None:
    """With its leaf, an endpoint has the pod's address, the host name that is certified, and the operator's key."""
    reads = MaterialReads(with_secrets(), MovingClock(), AnsweringControllers())
    taken = await a_look()
    _, access = await reads.look(KEY, taken, wanted())
    at = access.endpoint(taken.pods[1], LISTENER)
    assert isinstance(at, Known)
    assert (at.value.host, at.value.name) == ("10.0.0.2", "alpha-3001.alpha-controllers.kafka.svc")
    assert isinstance(at.value.security, Secured)
    assert at.value.security.tls is not None
    assert at.value.security.tls.key == leaf(OPERATOR).key.pem
    for shown in (repr(access), repr(at)):
        assert leaf(OPERATOR).key.pem.splitlines()[1] not in shown


async def test_an_endpoint_of_a_plan_gets_the_key_when_it_is_used() -> None:
    """A plan's endpoint has no key; it is reached by the pod that has its address, and no other one is reached."""
    reads = MaterialReads(with_secrets(), MovingClock(), AnsweringControllers())
    taken = await a_look()
    await reads.look(KEY, taken, wanted())
    reach = reads.access(KEY, replace(at_rest(recorded()), revisions=taken.revisions, pods=taken.pods))
    plain = Endpoint(node_id=IDS[1], host="10.0.0.2", port=9093)
    assert isinstance(reach(plain).security, Secured)
    with pytest.raises(KafkaUnsecured, match="no pod with this address"):
        reach(replace(plain, host="10.9.9.9"))


async def test_an_act_uses_tls_as_the_look_does() -> None:
    """If the revision of a controller is gone, an act is secured as the look was: by the listener of the spec."""
    reads = MaterialReads(with_secrets(), MovingClock(), AnsweringControllers())
    taken = replace(await a_look(), revisions=())
    await reads.look(KEY, taken, wanted())
    reach = reads.access(KEY, replace(at_rest(recorded()), revisions=(), pods=taken.pods))
    plain = Endpoint(node_id=IDS[1], host="10.0.0.2", port=9093)
    assert isinstance(reach(plain).security, Secured)


@pytest.mark.parametrize("known", [True, False], ids=["revision", "no revision"])
async def test_an_act_without_the_operators_leaf_is_not_sent(known: bool) -> None:  # noqa: FBT001 - one of two
    """What an encrypted listener needs is missing: an act is refused, and never sent in plain text."""
    kube, taken = with_secrets(), await a_look()
    del kube.objects["secrets", "alpha-operator-tls"]
    del kube.objects["secrets", "alpha-brokers-tls"]
    reads = MaterialReads(kube, MovingClock(), AnsweringControllers())
    taken = taken if known else replace(taken, revisions=())
    await reads.look(KEY, taken, wanted())
    reach = reads.access(KEY, replace(at_rest(recorded()), revisions=taken.revisions, pods=taken.pods))
    with pytest.raises(KafkaUnsecured, match=NO_LEAF):
        reach(Endpoint(node_id=IDS[1], host="10.0.0.2", port=9093))


async def test_without_its_leaf_the_operator_reaches_nobody() -> None:
    """An encrypted listener without the operator's certificate is unknown: it is never asked in clear text."""
    kube = with_secrets()
    del kube.objects["secrets", "alpha-operator-tls"]
    del kube.objects["secrets", "alpha-brokers-tls"]
    controllers = AnsweringControllers()
    reads, taken = MaterialReads(kube, MovingClock(), controllers), await a_look()
    _, access = await reads.look(KEY, taken, wanted())
    assert isinstance(access.endpoint(taken.pods[1], LISTENER), Unknown)
    await asked(reads, taken)
    assert controllers.asked == []


@pytest.mark.parametrize("had", [True, False], ids=["seen before", "a new process"])
async def test_a_deleted_secret_does_not_lock_the_operator_out(had: bool) -> None:  # noqa: FBT001 - a column
    """It goes on with the certificate that it had, or with the brokers', until it has another one."""
    kube, taken = with_secrets(), await a_look()
    reads = MaterialReads(kube, MovingClock(), AnsweringControllers())
    if had:
        await reads.look(KEY, taken, wanted())
    del kube.objects["secrets", "alpha-operator-tls"]
    _, access = await reads.look(KEY, replace(taken, reading=object()), wanted())
    assert access.leaf == leaf(OPERATOR if had else BROKERS)


@pytest.mark.parametrize("lost", ["alpha-3001-tls", "unread"])
async def test_it_stays_locked_out_while_a_controller_could_not_start(lost: str) -> None:
    """With more Secrets lost nothing is restarted, and a Secret that cannot be read is no lost one."""
    kube, taken = with_secrets(), await a_look()
    reads = MaterialReads(kube, MovingClock(), AnsweringControllers())
    await reads.look(KEY, taken, wanted())
    kube.objects.pop(("secrets", "alpha-operator-tls"))
    kube.objects.pop(("secrets", lost), None)
    if lost == "unread":
        kube.errors["get", "secrets"] = KubeRefused("forbidden")
    _, access = await reads.look(KEY, replace(taken, reading=object()), wanted())
    assert access.leaf is None


async def test_what_a_process_reads_first_is_not_read_again_all_at_once() -> None:
    """All quorums are read in the first minute, and again between the fifth and the tenth, each at its own time."""
    kube, taken, clock = with_secrets(), await a_look(), MovingClock()
    reads, due_s = MaterialReads(kube, clock, AnsweringControllers()), list[float]()
    for number in range(40):
        key = ObjectKey(namespace=KEY.namespace, name=f"q{number}")
        await reads.look(key, taken, wanted())
        due_s.append(reads.due_s(key) - clock.monotonic())
    assert (min(due_s) >= OWN_SECRETS_S / 2, max(due_s) <= OWN_SECRETS_S) == (True, True)
    assert max(due_s) - min(due_s) > OWN_SECRETS_S / 4


@pytest.mark.parametrize(("verb", "plural"), [("list", "kafkabrokerpools"), ("get", "secrets")])
async def test_an_answer_that_did_not_come_is_asked_for_in_each_look(verb: str, plural: str) -> None:
    """One request that failed is not remembered; what was read is, and is due after ten minutes."""
    kube, taken, clock = with_secrets(), await a_look(), MovingClock()
    reads = MaterialReads(kube, clock, AnsweringControllers())
    clock.at_s += STARTING_S
    kube.errors[verb, plural] = KubeRefused("forbidden")
    await reads.look(KEY, taken, wanted())
    assert reads.due_s(KEY) == clock.monotonic()
    kube.errors.clear()
    await reads.look(KEY, taken, wanted())
    assert reads.due_s(KEY) == clock.monotonic() + OWN_SECRETS_S
    kube.calls.clear()
    await reads.look(KEY, taken, wanted())
    assert kube.calls == []


# Listeners


async def a_thread_of_each() -> tuple[TimedClock, AnsweringControllers, MaterialReads, Snapshot]:
    """One thread of every listener has shown what its Secret has."""
    clock, controllers = TimedClock(), AnsweringControllers()
    controllers.handshakes = {node_id: served(node_id).handshake for node_id in IDS}
    reads, taken = MaterialReads(with_secrets(), clock, controllers), await a_look()
    assert (await asked(reads, taken)).shown == ()
    shown = (await asked(reads, taken)).shown
    assert [(one.node_id, one.whole) for one in shown] == [(node_id, False) for node_id in IDS]
    assert of(controllers) == [("Sample", node_id) for node_id in IDS]
    return clock, controllers, reads, taken


async def all_right() -> tuple[TimedClock, AnsweringControllers, MaterialReads, Snapshot]:
    """Every listener has shown what its Secret has, by all of its threads."""
    clock, controllers, reads, taken = await a_thread_of_each()
    clock.at_s += SAMPLE_EVERY_S
    await asked(reads, taken)
    assert [(one.node_id, one.whole) for one in (await asked(reads, taken)).shown] == [(each, True) for each in IDS]
    assert of(controllers) == [("Handshake", node_id) for node_id in IDS]
    assert reads.is_settled(KEY)
    return clock, controllers, reads, taken


def of(controllers: AnsweringControllers) -> list[tuple[str, int]]:
    """What was asked since the last time, and of which controllers."""
    found = [(what, int(at.node_id)) for what, at in controllers.asked]
    controllers.asked.clear()
    return found


async def test_all_threads_of_a_listener_that_shows_the_right_one_are_asked_minutes_later() -> None:
    """An operator that starts asks one thread of each; all of them within five minutes, not all at the same time."""
    clock, controllers, reads, taken = await a_thread_of_each()
    assert reads.is_settled(KEY)
    clock.at_s += EVERY_S - 1
    await asked(reads, taken)
    assert of(controllers) == []
    times: list[float] = []
    for _ in range(int(SAMPLE_EVERY_S - EVERY_S) + 1):
        clock.at_s += 1
        await asked(reads, taken)
        times += [clock.at_s for what, _ in of(controllers) if what == "Handshake"]
    assert len(times) == len(IDS) == len(set(times))


@pytest.mark.parametrize("wrong", ["another", "not accepted", "ends soon"])
async def test_one_thread_is_enough_at_first_only_if_all_is_well(wrong: str) -> None:
    """If the first thread shows another certificate than the Secret's, or refuses us, all are asked at once."""
    clock, controllers = TimedClock(), AnsweringControllers()
    controllers.handshakes = {node_id: served(node_id).handshake for node_id in IDS}
    right = controllers.handshakes[IDS[1]]
    assert isinstance(right, Served)
    if wrong == "another":
        controllers.samples[IDS[1]] = served(IDS[1], NOW_S - 60).handshake
    elif wrong == "not accepted":
        controllers.samples[IDS[1]] = replace(right, accepted=False, refused=True, why="bad certificate")
    else:
        clock.at_s += right.leaf.not_after_s - NOW_S - ENDS_SOON_S
    reads, taken = MaterialReads(with_secrets(), clock, controllers), await a_look()
    await asked(reads, taken)
    if wrong == "ends soon":
        assert of(controllers) == [("Sample", node_id) for node_id in IDS]
        clock.at_s += SOON_S
        await asked(reads, taken)
        assert of(controllers) == [("Handshake", node_id) for node_id in IDS]
    else:
        assert [what for what, node_id in of(controllers) if node_id == IDS[1]] == ["Sample", "Handshake"]
    assert {one.node_id: one.whole for one in (await asked(reads, taken)).shown}[IDS[1]]


async def test_a_migration_asks_all_threads_of_those_that_showed_one() -> None:
    """A migration that begins after one thread was asked waits for all of them, and they are asked after seconds."""
    clock, controllers, reads, taken = await a_thread_of_each()
    changes = replace(taken, record=replace(recorded(), migration=changing().migration))
    clock.at_s += SOON_S
    await asked(reads, changes)
    assert of(controllers) == [("Handshake", node_id) for node_id in IDS]


async def test_a_migration_asks_all_threads_from_the_start() -> None:
    """An operator that starts in a migration asks all threads of every listener."""
    clock, controllers = TimedClock(), AnsweringControllers()
    controllers.handshakes = {node_id: served(node_id).handshake for node_id in IDS}
    reads, taken = MaterialReads(with_secrets(), clock, controllers), await a_look()
    changes = replace(taken, record=replace(recorded(), migration=changing().migration))
    await asked(reads, changes)
    assert {what for what, _ in of(controllers)} == {"Handshake"}
    assert all(one.whole for one in (await asked(reads, changes)).shown)


async def test_listeners_are_asked_beside_the_look() -> None:
    """Each listener is asked beside the look; the next look has the answers, and later one handshake is enough."""
    clock, controllers, reads, taken = await all_right()
    clock.at_s += SAMPLE_EVERY_S - 1
    await asked(reads, taken)
    assert of(controllers) == []
    clock.at_s += 1
    await asked(reads, taken)
    assert of(controllers) == [("Sample", node_id) for node_id in IDS]


async def test_a_sample_that_shows_something_else_is_followed_by_all_threads() -> None:
    """One handshake proves nothing about other threads: if it differs, all are asked at once, and after seconds."""
    clock, controllers, reads, taken = await all_right()
    controllers.handshakes[IDS[1]] = served(IDS[1], NOW_S - 60).handshake
    clock.at_s += SAMPLE_EVERY_S
    await asked(reads, taken)
    assert [what for what, at in controllers.asked if at.node_id == IDS[1]] == ["Sample", "Handshake"]
    controllers.asked.clear()
    clock.at_s += SOON_S
    await asked(reads, taken)
    assert [(what, at.node_id) for what, at in controllers.asked] == [("Handshake", IDS[1])]
    assert not reads.is_settled(KEY)


async def test_all_threads_are_asked_each_minute_in_a_migration() -> None:
    """A stage of a migration needs proofs that are not old, so a sample is not enough."""
    clock, controllers, reads, taken = await all_right()
    changes = replace(taken, record=replace(recorded(), migration=changing().migration))
    clock.at_s += EVERY_S
    await asked(reads, changes)
    assert [(what, at.node_id) for what, at in controllers.asked] == [("Handshake", node_id) for node_id in IDS]


@pytest.mark.parametrize("soon", [False, True])
async def test_all_threads_are_asked_each_minute_before_a_certificate_ends(soon: bool) -> None:  # noqa: FBT001
    """Whether it has ended decides about restarts, so nobody learns it minutes later."""
    clock, controllers, reads, taken = await all_right()
    found = controllers.handshakes[IDS[0]]
    assert isinstance(found, Served)
    clock.at_s += found.leaf.not_after_s - clock.now().timestamp() - ENDS_SOON_S - (0 if soon else SAMPLE_EVERY_S)
    await asked(reads, taken)
    controllers.asked.clear()
    clock.at_s += EVERY_S
    await asked(reads, taken)
    assert [what for what, _ in controllers.asked] == (["Handshake"] * len(IDS) if soon else [])


async def test_one_that_serves_another_leaf_is_asked_soon() -> None:
    """A listener that serves another leaf than its Secret has, or did not answer, is asked again after seconds."""
    clock, controllers = MovingClock(), AnsweringControllers()
    controllers.handshakes = {node_id: served(node_id).handshake for node_id in IDS[:2]}
    controllers.handshakes[IDS[1]] = served(IDS[1], NOW_S - 60).handshake
    reads, taken = MaterialReads(with_secrets(), clock, controllers), await a_look()
    await asked(reads, taken)
    clock.at_s += SOON_S
    await asked(reads, taken)
    assert of(controllers)[-2:] == [("Handshake", node_id) for node_id in IDS[1:]]


async def test_another_container_has_shown_nothing() -> None:
    """What a listener showed belongs to its container: another one is asked anew."""
    clock, controllers = MovingClock(), AnsweringControllers()
    controllers.handshakes = {node_id: served(node_id).handshake for node_id in IDS}
    reads, taken = MaterialReads(with_secrets(), clock, controllers), await a_look()
    await asked(reads, taken)
    again = replace(taken, pods=(replace(taken.pods[0], uid="another"), *taken.pods[1:]))
    assert [one.node_id for one in (await asked(reads, again)).shown] == list(IDS[1:])


async def test_one_thread_is_no_proof_of_a_certificate_that_came_meanwhile() -> None:
    """A sample that ends after the Secret has changed may show the new leaf by one thread, and another has the old."""
    clock, controllers, reads, taken = await all_right()
    controllers.samples[IDS[1]] = served(IDS[1], NOW_S - 60).handshake
    clock.at_s += SAMPLE_EVERY_S
    await asked(reads, taken)
    shown = {one.node_id: one.handshake for one in (await asked(reads, taken)).shown}
    assert shown == controllers.handshakes


async def test_an_answer_from_before_a_request_is_no_reason_for_another() -> None:
    """The look that asks a listener to load its certificate may have begun to ask what it serves."""
    clock, controllers, reads, taken = await all_right()
    controllers.handshakes[IDS[1]] = served(IDS[1], NOW_S - 60).handshake
    clock.at_s += SAMPLE_EVERY_S
    await asked(reads, taken)
    clock.at_s += SOON_S
    before = await reads.look(KEY, taken, wanted())
    reads.reloads(KEY, [reloaded()])
    await asyncio.sleep(0)
    assert before[0] is not None
    assert {one.node_id: one.fresh for one in before[0].shown}[IDS[1]]
    shown = {one.node_id: one.fresh for one in (await asked(reads, taken)).shown}
    assert not shown[IDS[1]]
    clock.at_s += SOON_S
    await asked(reads, taken)
    assert all(one.fresh for one in (await asked(reads, taken)).shown)


def reloaded() -> Outcome:
    """The second controller was asked to load its certificate again."""
    request = ReloadListener(
        leader=Endpoint(node_id=IDS[0], host="10.0.0.1", port=9093),
        node_id=IDS[1],
        listener=LISTENER.name,
        sha256=leaf_seen(SECOND).certificate.sha256,
        message="m",
        permit=permit(permits.Reload),
    )
    return Outcome(action=request, done=True, unknown=False, message="m")


async def test_after_a_request_what_was_shown_is_old() -> None:
    """Once a listener was asked to load its certificate, its last answer is no reason for another request."""
    clock, controllers = MovingClock(), AnsweringControllers()
    controllers.handshakes = {node_id: served(node_id).handshake for node_id in IDS}
    reads, taken = MaterialReads(with_secrets(), clock, controllers), await a_look()
    await asked(reads, taken)
    reads.reloads(KEY, [reloaded()])
    shown = {one.node_id: one.fresh for one in (await asked(reads, taken)).shown}
    assert shown == {IDS[0]: True, IDS[1]: False, IDS[2]: True}


async def test_a_resource_that_is_gone_is_forgotten() -> None:
    """Nothing of a deleted quorum is kept, above all no key."""
    reads, taken = MaterialReads(with_secrets(), MovingClock(), AnsweringControllers()), await a_look()
    await asked(reads, taken)
    reads.forget(KEY)
    plain = Endpoint(node_id=IDS[1], host="10.0.0.2", port=9093)
    assert reads.access(KEY, at_rest(recorded()))(plain) == plain


@pytest.mark.parametrize("name", ["alpha-3001-tls", "alpha-ca"])
async def test_a_foreign_secret_is_named(name: str) -> None:
    """A Secret of another quorum is unknown, and the reason names it."""
    kube = with_secrets()
    kube.objects["secrets", name]["metadata"]["labels"] = {}
    found = await asked(MaterialReads(kube, MovingClock(), AnsweringControllers()), await a_look())
    seen = found.own if name == "alpha-ca" else found.leaf(SECOND)
    assert isinstance(seen, Unknown)
    assert name in seen.reason
