"""Users of SCRAM, made and removed: recorded before and after the request, and lost at any point without harm."""

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from tests.act.test_execute import LEADER, carried_out
from tests.kit.kube.recording import RecordingKube
from tests.model.values import CLUSTER, IDS, NAME, NAMESPACE, OTHER_CLUSTER, desired, permit
from tests.wire.answering import AnsweringControllers

from kafka_quorum.errors import KafkaUnreachable
from kafka_quorum.model import actions as act
from kafka_quorum.model import permit as permits
from kafka_quorum.model.actions import OnUsers
from kafka_quorum.model.names import USED_BY, reader
from kafka_quorum.model.plan import Outcome
from kafka_quorum.model.quorum import ClusterAnswer, Endpoint
from kafka_quorum.model.scram import ScramChange, ScramCredential, ScramMechanism, UserState
from kafka_quorum.model.trust import TrustPolicy
from kafka_quorum.resources.scram import Stored, stored_from
from kit.errors import Fault, KubeUnavailable
from kit.kube.secrets import SECRETS

WANTED = desired(trust=TrustPolicy(scram_users_secret="given"))  # noqa: S106 - a name
RECORD = f"{NAME}-scram"
LOST = KafkaUnreachable("no answer", fault=Fault.PATH, retry_safe=False, outcome_unknown=True)


@dataclass(slots=True)
class Holding(AnsweringControllers):
    """Controllers that keep what is sent; `loses` is what happens to an answer."""

    held: dict[str, ScramCredential] = field(default_factory=dict)
    loses: Exception | None = None
    then: Callable[[], None] = lambda: None

    async def alter_scram(self, endpoint: Endpoint, change: ScramChange) -> None:
        """Keep it, and answer or not."""
        self.altered.append((endpoint, change))
        if isinstance(change, ScramCredential):
            self.held[change.user] = change
        else:
            self.held.pop(change.user, None)
        self.then()
        if self.loses is not None:
            raise self.loses


def controllers(cluster: Any = CLUSTER) -> Holding:  # noqa: ANN401 - an id
    """Controllers of this cluster."""
    return Holding(clusters={IDS[0]: ClusterAnswer(cluster_id=cluster, controller_ids=IDS)})


def api_server(words: Mapping[str, bytes], annotation: str = reader(NAME)) -> RecordingKube:
    """An API server with the Secret of a person."""
    kube = RecordingKube()
    data = {user: base64.b64encode(word).decode() for user, word in words.items()}
    metadata = {"name": "given", "namespace": NAMESPACE, "uid": "g", "resourceVersion": "3"}
    kube.put(SECRETS, {"metadata": {**metadata, "annotations": {USED_BY: annotation}}, "data": data})
    return kube


def record(kube: RecordingKube) -> tuple[Stored, str]:
    """What the record says, and its version."""
    item = kube.objects.get((SECRETS.plural, RECORD))
    if item is None:
        return {}, ""
    return stored_from(item, NAME, CLUSTER), str(item["metadata"]["resourceVersion"])


def setting(kube: RecordingKube, **changes: Any) -> act.SetScramUser:  # noqa: ANN401 - any field
    """The action for ada, planned from the present record."""
    plain = act.SetScramUser(
        name=RECORD,
        user="ada",
        source="given",
        version=record(kube)[1],
        leader=LEADER,
        replaces=False,
        message="user ada is made",
        judged_at_s=1000.0,
        permit=permit(permits.ChangeUser),
    )
    return replace(plain, **changes)


def removing(kube: RecordingKube) -> act.RemoveScramUser:
    """The removal of ada."""
    return act.RemoveScramUser(
        name=RECORD,
        user="ada",
        version=record(kube)[1],
        leader=LEADER,
        message="user ada is removed",
        judged_at_s=1000.0,
        permit=permit(permits.ChangeUser),
    )


async def done(action: OnUsers, kube: RecordingKube, to: Holding, **how: Any) -> Outcome:  # noqa: ANN401 - options
    """The outcome."""
    _, (outcome,) = await carried_out(action, kube=kube, controllers=to, wanted=WANTED, **how)
    return outcome


def opens(held: ScramCredential, word: bytes) -> bool:
    """Whether this password fits what Kafka has."""
    return hashlib.pbkdf2_hmac("sha512", word, held.salt, held.iterations) == held.salted_password


async def test_a_user_is_made() -> None:
    """The record is written, the request is sent to the leader, and the record says that it is made."""
    kube, to = api_server({"ada": b"sesame"}), controllers()
    assert (await done(setting(kube), kube, to)).done
    assert opens(to.held["ada"], b"sesame")
    assert (to.held["ada"].mechanism, to.held["ada"].iterations) == (ScramMechanism.SHA_512, 8192)
    assert record(kube)[0]["ada"].state is UserState.MADE
    writes = [call for call in kube.writes() if call.plural == SECRETS.plural]
    assert [(call.verb, call.name) for call in writes] == [("create", RECORD), ("replace", RECORD)]


async def test_another_password_gets_another_salt() -> None:
    """A credential is never made twice with one salt."""
    kube, to = api_server({"ada": b"sesame"}), controllers()
    await done(setting(kube), kube, to)
    before = to.held["ada"]
    kube.objects[SECRETS.plural, "given"]["data"] = {"ada": base64.b64encode(b"another").decode()}
    kube.objects.flush()
    again = await done(setting(kube), kube, to, age_s=1.0)
    assert again.done
    assert opens(to.held["ada"], b"another")
    assert to.held["ada"].salt != before.salt or to.held["ada"].salted_password != before.salted_password


@pytest.mark.parametrize("lost", ["the intent", "the answer", "the confirmation"])
async def test_a_user_that_is_made_half_way(lost: str) -> None:
    """Whatever is lost, the same credential is sent again, and the record ends with the user made."""
    kube, to = api_server({"ada": b"sesame"}), controllers()
    gone = KubeUnavailable("gone")
    if lost == "the intent":
        kube.errors["create", SECRETS.plural] = gone
    elif lost == "the answer":
        to.loses = LOST
    else:
        kube.errors["replace", SECRETS.plural] = gone
    first = await done(setting(kube), kube, to)
    assert (first.done, first.unknown) == (False, True)
    assert bool(to.held) is (lost != "the intent")
    before = to.held.get("ada")
    kube.errors.clear()
    to.loses = None
    if lost != "the intent":
        assert record(kube)[0]["ada"].state is UserState.MAKING
    assert (await done(setting(kube), kube, to)).done
    assert opens(to.held["ada"], b"sesame")
    assert before in {None, to.held["ada"]}
    assert record(kube)[0]["ada"].state is UserState.MADE


REFUSED = KafkaUnreachable("connection refused", fault=Fault.PATH, retry_safe=True, outcome_unknown=False)


@pytest.mark.parametrize("before", ["no user", "the user", "the user half way"])
async def test_a_request_that_was_not_sent_leaves_the_record(before: str) -> None:
    """What others make under this name then is theirs. What may have been made before stays the operator's."""
    kube, to = api_server({"ada": b"sesame"}), controllers()
    if before != "no user":
        to.loses = LOST if before == "the user half way" else None
        await done(setting(kube), kube, to)
        kube.objects[SECRETS.plural, "given"]["data"] = {"ada": base64.b64encode(b"another").decode()}
        kube.objects.flush()
    held, known = to.held.copy(), record(kube)[0]
    to.loses = REFUSED
    outcome = await done(setting(kube), kube, to)
    assert (outcome.done, outcome.unknown) == (False, False)
    assert record(kube)[0] == known
    to.loses = None
    assert (await done(setting(kube), kube, to)).done
    assert held != to.held


async def test_a_record_that_cannot_be_restored_stays() -> None:
    """The error of the request is shown, and the record says that the user may be half done."""
    kube, to = api_server({"ada": b"sesame"}), controllers()
    to.loses = REFUSED
    to.then = lambda: kube.errors.update({("replace", SECRETS.plural): KubeUnavailable("gone")})
    outcome = await done(setting(kube), kube, to)
    assert "connection refused" in outcome.message
    assert record(kube)[0]["ada"].state is UserState.MAKING


@pytest.mark.parametrize("lost", ["nothing", "the intent", "the answer", "the confirmation"])
async def test_a_user_that_is_removed(lost: str) -> None:
    """Whatever is lost, the removal is sent again, and the record ends without the user."""
    kube, to = api_server({"ada": b"sesame"}), controllers()
    await done(setting(kube), kube, to)
    gone = KubeUnavailable("gone")
    if lost == "the intent":
        kube.errors["replace", SECRETS.plural] = gone
    elif lost == "the answer":
        to.loses = LOST
    elif lost == "the confirmation":
        to.then = lambda: kube.errors.update({("replace", SECRETS.plural): gone})
    first = await done(removing(kube), kube, to)
    assert first.done is (lost == "nothing")
    kube.errors.clear()
    to.then = lambda: None
    to.loses = None
    if not first.done:
        assert record(kube)[0]["ada"].state in {UserState.MADE, UserState.REMOVING}
        assert (await done(removing(kube), kube, to)).done
    assert to.held == {}
    assert record(kube)[0] == {}


async def test_an_old_look_sends_nothing() -> None:
    """Nothing is written or sent on a look that is too old."""
    kube, to = api_server({"ada": b"sesame"}), controllers()
    for action in (setting(kube), removing(kube)):
        assert act.is_guarded(action)
        outcome = await done(action, kube, to, age_s=2.5)
        assert (outcome.held, to.altered, record(kube)) == (True, [], ({}, ""))


async def test_another_cluster_is_not_changed() -> None:
    """If the address belongs to a controller of another cluster by now, nothing is written or sent."""
    kube, to = api_server({"ada": b"sesame"}), controllers(OTHER_CLUSTER)
    outcome = await done(setting(kube), kube, to)
    assert (outcome.held, to.altered, record(kube)) == (True, [], ({}, ""))


@pytest.mark.parametrize(
    ("words", "annotation"),
    [({"ada": b""}, reader(NAME)), ({"ada": b"\xff"}, reader(NAME)), ({"ada": b"sesame"}, "KafkaQuorum/other")],
)
async def test_what_may_not_be_used_is_refused(words: dict[str, bytes], annotation: str) -> None:
    """A password that became wrong, or a Secret that does not allow the use, is refused before anything is sent."""
    kube, to = api_server(words, annotation), controllers()
    outcome = await done(setting(kube), kube, to)
    assert (outcome.done, outcome.held, to.altered, record(kube)) == (False, False, [], ({}, ""))
    assert "Secret given" in outcome.message


async def test_a_user_that_left_meanwhile_waits_for_a_look() -> None:
    """A user that is not in the Secret any more, and a record that has changed, are looked at again."""
    kube, to = api_server({"bob": b"sesame"}), controllers()
    assert (await done(setting(kube), kube, to)).held
    kube = api_server({"ada": b"sesame"})
    await done(setting(kube), kube, to)
    assert (await done(setting(kube, version="1"), kube, to)).held
    assert (await done(setting(kube, version=""), kube, to)).held
    assert len(to.altered) == 1


async def test_no_secret_is_in_an_action_or_outcome() -> None:
    """Neither the password nor the salt is in a text that is shown."""
    kube, to = api_server({"ada": b"sesame-1234"}), controllers()
    action = setting(kube)
    shown = repr((action, await done(action, kube, to), to.held["ada"], record(kube)))
    for word in ("sesame-1234", record(kube)[0]["ada"].digest, repr(to.held["ada"].salt)):
        assert word not in shown
