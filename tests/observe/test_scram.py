"""How the brokers' users are looked at: Secrets by name, Kafka at its leader, and nothing unknown taken for empty."""

import base64
from dataclasses import replace

import pytest
from tests.kit.kube.recording import RecordingKube
from tests.model.values import CLUSTER, IDS, NAME, NAMESPACE, bound, desired
from tests.observe.test_gather import api_server, snapshot
from tests.observe.test_material import MovingClock
from tests.wire.answering import AnsweringControllers

from kafka_quorum.errors import KafkaUnreachable
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.names import USED_BY, reader
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.scram import GivenUser, RecordedUsers, ScramHeld, ScramMechanism, ScramSeen, UserState
from kafka_quorum.model.trust import TrustPolicy
from kafka_quorum.observe.scram import EVERY_S, SOON_S, ScramReads
from kafka_quorum.observe.snapshot import Snapshot
from kafka_quorum.resources.scram import begun, stored_object
from kit.errors import Fault, KubeRefused
from kit.key import ObjectKey
from kit.kube.secrets import SECRETS

KEY = ObjectKey(namespace=NAMESPACE, name=NAME)
WANTED = desired(trust=TrustPolicy(scram_users_secret="given"))  # noqa: S106 - a name
LEADER = Endpoint(node_id=IDS[0], host="10.0.0.1", port=9093)
LOST = KafkaUnreachable("no answer", fault=Fault.PATH, retry_safe=True, outcome_unknown=False)
NOBODY = ScramHeld(sha_256=frozenset(), sha_512=frozenset())


def with_users(annotation: str = reader(NAME), **words: bytes) -> RecordingKube:
    """A quorum, and the Secret of a person."""
    kube = api_server()
    data = {user: base64.b64encode(word).decode() for user, word in words.items()}
    metadata = {"name": "given", "namespace": NAMESPACE, "uid": "g", "resourceVersion": "3"}
    kube.put(SECRETS, {"metadata": {**metadata, "annotations": {USED_BY: annotation}}, "data": data})
    return kube


def with_record(kube: RecordingKube, **users: bytes) -> None:
    """The operator's own Secret, with credentials of these passwords."""
    item = stored_object(WANTED, CLUSTER, {user: begun(word, bytes(32)) for user, word in users.items()}, "")
    kube.put(SECRETS, {**item, "metadata": {**item["metadata"], "resourceVersion": "9", "uid": "r"}})


class Looking:
    """Reads of one quorum."""

    def __init__(self, kube: RecordingKube) -> None:
        """Nothing is read yet."""
        self.kube, self.clock, self.controllers = kube, MovingClock(), AnsweringControllers()
        self.reads = ScramReads(kube, self.clock, self.controllers)

    async def look(self, taken: Snapshot | None = None, leader: Endpoint | None = LEADER) -> ScramSeen | None:
        """A look."""
        return await self.reads.look(KEY, taken or await snapshot(self.kube), WANTED, leader)

    def asked(self) -> int:
        """How often the leader was asked."""
        return len(self.controllers.asked)


async def test_what_a_look_shows() -> None:
    """Users of the Secret with their faults, those of the record, and those of Kafka by mechanism."""
    looking = Looking(with_users(ada=b"a", bob=b"", eve=b"e", new=b"n"))
    with_record(looking.kube, ada=b"a", eve=b"another")
    looking.controllers.scram = {
        ("ada", ScramMechanism.SHA_512): None,
        ("new", ScramMechanism.SHA_256): None,
        ("others", ScramMechanism.SHA_512): None,
    }
    seen = await looking.look()
    assert seen == ScramSeen(
        given=Known(
            value=(
                GivenUser(user="ada", same=True),
                GivenUser(user="bob", fault="its password is empty"),
                GivenUser(user="eve"),
                GivenUser(user="new"),
            )
        ),
        recorded=Known(value=RecordedUsers(users=(("ada", UserState.MAKING), ("eve", UserState.MAKING)), version="9")),
        held=Known(value=ScramHeld(sha_256=frozenset({"new"}), sha_512=frozenset({"ada"}))),
    )


async def test_a_quorum_that_needs_no_users_is_not_asked() -> None:
    """Without a Secret in the spec, and before the quorum has started, no Secret is read and nobody is asked."""
    looking = Looking(with_users(ada=b"a"))
    taken = await snapshot(looking.kube)
    looking.kube.calls.clear()
    assert await looking.reads.look(KEY, taken, desired(), LEADER) is None
    assert await looking.look(replace(taken, record=bound())) is None
    assert await looking.look(replace(taken, record=None)) is None
    assert (looking.kube.calls, looking.asked()) == ([], 0)


@pytest.mark.parametrize("which", ["given", f"{NAME}-scram"])
async def test_a_secret_that_cannot_be_read_is_unknown(which: str) -> None:
    """A refused read, a Secret that allows no use and a record of another form are no empty ones; nobody is asked."""
    for kube in (with_users(ada=b"a"), with_users("KafkaQuorum/other", ada=b"a")):
        looking = Looking(kube)
        if which == "given":
            if "other" not in str(kube.objects[SECRETS.plural, "given"]["metadata"]):
                kube.errors["get", SECRETS.plural] = KubeRefused("403")
        else:
            with_record(kube, ada=b"a")
            kube.objects[SECRETS.plural, which]["data"]["users.json"] = base64.b64encode(
                b'{"schemaVersion": 2}'
            ).decode()
            kube.objects.flush()
        taken = await snapshot(kube)
        seen = await looking.look(taken)
        assert seen is not None
        assert isinstance(seen.given if which == "given" else seen.recorded, Unknown)
        assert isinstance(seen.held, Unknown)
        assert looking.asked() == 0


async def test_an_error_of_kafka_is_unknown() -> None:
    """An error about one user makes the whole answer unknown, and it is asked again some seconds later."""
    looking = Looking(with_users(ada=b"a", bob=b"b"))
    taken = await snapshot(looking.kube)
    looking.controllers.scram["ada", ScramMechanism.SHA_512] = LOST
    seen = await looking.look(taken)
    assert seen is not None
    assert seen.held == Unknown(reason="no answer")
    asked = looking.asked()
    await looking.look(taken)
    assert looking.asked() == asked
    looking.clock.at_s += SOON_S
    looking.controllers.scram.clear()
    again = await looking.look(taken)
    assert again is not None
    assert again.held == Known(value=NOBODY)


async def test_when_it_is_read_again() -> None:
    """A look on the same objects has the last answers for some time; one on new objects asks again."""
    looking = Looking(with_users(ada=b"a"))
    taken = await snapshot(looking.kube)
    await looking.look(taken)
    looking.kube.calls.clear()
    first = looking.asked()
    await looking.look(taken)
    assert (looking.asked(), looking.kube.calls) == (first, [])
    looking.clock.at_s += EVERY_S
    await looking.look(taken)
    assert looking.asked() == 2 * first
    await looking.look(replace(taken))
    assert looking.asked() == 3 * first
    looking.reads.forget(KEY)
    await looking.look(taken)
    assert looking.asked() == 4 * first


async def test_without_a_leader_it_is_unknown_who_is_there() -> None:
    """The Secrets are read, and Kafka's users are unknown until there is a leader."""
    looking = Looking(with_users(ada=b"a"))
    taken = await snapshot(looking.kube)
    seen = await looking.look(taken, None)
    assert seen is not None
    assert isinstance(seen.held, Unknown)
    later = await looking.look(taken)
    assert later is not None
    assert later.held == Known(value=NOBODY)


async def test_no_look_has_a_password() -> None:
    """Neither the password nor the digest is in a text of a look, or of the reads."""
    looking = Looking(with_users(ada=b"sesame-1234"))
    with_record(looking.kube, ada=b"sesame-1234")
    seen = await looking.look()
    shown = repr((seen, looking.reads._last))
    for word in ("sesame-1234", begun(b"sesame-1234", bytes(32)).digest):
        assert word not in shown
