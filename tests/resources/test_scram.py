"""Users of SCRAM: which ones can be made, the credential of a password, and the record of what was made."""

import base64
import json
from collections.abc import Callable

import pytest
from tests.model.values import CLUSTER, NAME, OTHER_CLUSTER, desired

from kafka_quorum.model.scram import MOST_USERS, GivenUser, ScramMechanism, UserState
from kafka_quorum.resources.meta import Json
from kafka_quorum.resources.scram import (
    begun,
    credential,
    fault_of,
    given_users,
    is_of,
    recorded,
    stored_from,
    stored_object,
    with_state,
)
from kafka_quorum.wire.scram import Scram
from kit.parsing import Malformed

SALT = bytes(range(32))
ADA = begun(b"f=n,ce \xc3\xa9-1\n", SALT)


def as_stored(item: Json, version: str = "9") -> Json:
    """A Secret as the API server has it."""
    return {**item, "metadata": {**item["metadata"], "resourceVersion": version}}


@pytest.mark.parametrize(
    ("user", "value", "says"),
    [
        ("ada", b"a", ""),
        ("ada", b"f=n,ce \xc3\xa9-1\r\n", ""),
        ("a.b-c_D", b"x" * 1024, ""),
        ("ada", b"", "empty"),
        ("ada", b"\n", "empty"),
        ("ada", b"x" * 1025, "1024 bytes"),
        ("ada", b"\xff\xfe", "UTF-8"),
        ("ada", b"a\x00b", "control characters"),
        ("ada", b"a\nb", "control characters"),
        ("ada", "a\u200bb".encode(), "control characters"),
        ("", b"a", "name"),
        ("a" * 254, b"a", "name"),
        ("a,b", b"a", "name"),
        ("é", b"a", "name"),
        ("quorum-brokers", b"a", "belongs to the quorum"),
        ("quorum-operator", b"a", "belongs to the quorum"),
    ],
)
def test_which_users_can_be_made(user: str, value: bytes, says: str) -> None:
    """Each wrong name or password has its own clause, which shows nothing of the password."""
    found = fault_of(user, value)
    assert says in found
    assert bool(found) is bool(says)


def test_a_client_with_the_password_gets_in() -> None:
    """What is sent to Kafka are the keys that a client of SCRAM derives from the password, without the line break."""
    made = credential("ada", b"f=n,ce \xc3\xa9-1", ADA)
    assert (made.mechanism, made.iterations, made.salt) == (ScramMechanism.SHA_512, 8192, SALT)
    client = Scram(algorithm="sha512", username="ada", password="f=n,ce é-1", client_nonce="abc")  # noqa: S106 - a test's
    client.first()
    client.respond(f"r=abcdef,s={base64.b64encode(SALT).decode()},i=8192".encode())
    signature = client._hmac(
        client._hmac(made.salted_password, b"Server Key"),
        f"n=ada,r=abc,r=abcdef,s={base64.b64encode(SALT).decode()},i=8192,c=biws,r=abcdef".encode(),
    )
    client.verify(b"v=" + base64.b64encode(signature))


def test_another_password_is_noticed() -> None:
    """The digest is of one password only."""
    assert is_of(ADA, b"f=n,ce \xc3\xa9-1")
    assert not is_of(ADA, b"another")


def test_what_is_given() -> None:
    """Users by name: with their fault, or whether the recorded credential is of their password."""
    found = given_users({"bob": b"", "ada": b"a", "eve": b"e"}, {"ada": ADA}, {"ada": True})
    assert found == (
        GivenUser(user="ada", same=True),
        GivenUser(user="bob", fault="its password is empty"),
        GivenUser(user="eve"),
    )
    with pytest.raises(Malformed, match="users"):
        given_users({f"u{index}": b"a" for index in range(MOST_USERS + 1)}, {}, {})


def test_the_record_is_read_as_it_was_written() -> None:
    """Every state, salt and digest comes back; a look has neither salt nor digest."""
    due = {"ada": ADA, "bob": with_state(ADA, UserState.MADE), "eve": with_state(ADA, UserState.REMOVING)}
    item = as_stored(stored_object(desired(), CLUSTER, due, ""))
    assert item["metadata"]["name"] == f"{NAME}-scram"
    assert stored_from(item, NAME, CLUSTER) == due
    seen = recorded(due, "9")
    assert [seen.of(user) for user in ("ada", "bob", "eve", "carol")] == [*UserState, None]
    assert ADA.digest not in repr((due, seen))


def _with(change: Callable[[dict[str, Json]], object]) -> dict[str, str]:
    item = stored_object(desired(), CLUSTER, {"ada": ADA}, "")
    content = json.loads(base64.b64decode(item["data"]["users.json"]))
    change(content["users"])
    return {"users.json": json.dumps(content)}


@pytest.mark.parametrize(
    "texts",
    [
        {"users.json": '{"schemaVersion": 2, "users": {}}'},
        {"users.json": '{"schemaVersion": "1", "users": {}}'},
        {"users.json": '{"schemaVersion": 1, "users": []}'},
        {"users.json": '{"users": {}}'},
        {"users.json": '{"schemaVersion": 1}'},
        {"users.json": ""},
        {"users.json": "[]"},
        {"users.json": '{"ada": 1}'},
        _with(lambda rows: rows["ada"].pop("salt")),
        _with(lambda rows: rows["ada"].update(salt="AAAA")),
        _with(lambda rows: rows["ada"].update(salt="?")),
        _with(lambda rows: rows["ada"].update(iterations=1)),
        _with(lambda rows: rows["ada"].update(iterations="8192")),
        _with(lambda rows: rows["ada"].update(iterations=8192.0)),
        _with(lambda rows: rows["ada"].update(iterations=True)),
        _with(lambda rows: rows["ada"].update(digest="no")),
        _with(lambda rows: rows["ada"].update(digest=None)),
        _with(lambda rows: rows["ada"].update(state="later")),
    ],
)
def test_a_record_that_cannot_be_read(texts: dict[str, str]) -> None:
    """It is neither empty nor replaced, and its content is in no message."""
    item = as_stored(stored_object(desired(), CLUSTER, {"ada": ADA}, ""))
    item["data"] |= {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    with pytest.raises(Malformed, match=f"{NAME}-scram") as failure:
        stored_from(item, NAME, CLUSTER)
    assert ADA.digest not in str(failure.value)


def test_a_record_of_another_cluster() -> None:
    """Its users are not those of this cluster: it is not read."""
    item = as_stored(stored_object(desired(), CLUSTER, {"ada": ADA}, ""))
    with pytest.raises(Malformed, match="another cluster"):
        stored_from(item, NAME, OTHER_CLUSTER)


def test_a_record_of_somebody_else() -> None:
    """A Secret of this name that is another quorum's is not read."""
    with pytest.raises(Malformed, match="not this quorum's"):
        stored_from(as_stored(stored_object(desired(), CLUSTER, {}, "")), "other", CLUSTER)
