"""The one write to ZooKeeper: what is sent, when it is held, and that nothing is sent without the lease."""

import base64
from dataclasses import replace
from typing import Any

import pytest
from tests.act.test_execute import RESOURCE, CountingIds, SetClock
from tests.kit.kube.recording import RecordingKube
from tests.model.values import NAME, NAMESPACE, permit
from tests.plan.beside import COPIED, KRAFT_LEADS, LEADS, record_at, wanted
from tests.wire.answering import AnsweringControllers

from kafka_quorum.act.building import Context
from kafka_quorum.act.execute import Executor
from kafka_quorum.act.leased import leased_zookeepers
from kafka_quorum.errors import KafkaError, ZooKeeperChanged, ZooKeeperDenied, ZooKeeperUnreachable
from kafka_quorum.model import permit as permits
from kafka_quorum.model.actions import GiveBackNodes, stamped
from kafka_quorum.model.names import USED_BY
from kafka_quorum.model.plan import Outcome, Plan
from kafka_quorum.model.zookeeper import (
    EpochNode,
    GiveBack,
    SavedNodes,
    ZooKeeperAccess,
    ZooKeeperSecret,
    ZooKeeperSeen,
)
from kafka_quorum.settings import Settings
from kafka_quorum.wire.zookeeper import ZooKeepers
from kit.errors import Fault, NotActing
from kit.kube.secrets import SECRETS

WHAT = GiveBack(controller=KRAFT_LEADS, migration=COPIED, controller_epoch=EpochNode(epoch=9, version=9), epoch=13)
OPEN = ZooKeeperAccess(connect="zk-0:2181")
SECURED = replace(OPEN, secret_name="zk-client")  # noqa: S106 - a name


class NoAnswerError(Exception):
    """A read reached ZooKeeper."""


class Keepers:
    """A ZooKeeper that answers, or fails, as a test requires."""

    def __init__(self, fails: KafkaError | None = None) -> None:
        """Nothing was sent."""
        self.fails = fails
        self.sent: list[tuple[ZooKeeperAccess, ZooKeeperSecret, GiveBack]] = []

    async def read(
        self, access: ZooKeeperAccess, secret: ZooKeeperSecret, *, rights: bool, states: bool
    ) -> ZooKeeperSeen:
        """No test needs an answer."""
        raise NoAnswerError(access, secret, rights, states)

    async def give_back(self, access: ZooKeeperAccess, secret: ZooKeeperSecret, what: GiveBack) -> SavedNodes:
        """Note what was sent."""
        self.sent.append((access, secret, what))
        if self.fails is not None:
            raise self.fails
        return SavedNodes(controller="", controller_epoch="", migration="")

    async def close(self) -> None:
        """Nothing is kept."""


def act(access: ZooKeeperAccess = OPEN) -> GiveBackNodes:
    """The write, with its permit."""
    return GiveBackNodes(access=access, what=WHAT, permit=permit(permits.GiveBackZooKeeper))


async def carried_out(
    keepers: ZooKeepers | None,
    access: ZooKeeperAccess = OPEN,
    *,
    age_s: float = 2.0,
    secret: dict[str, Any] | None = None,
    allowed: bool = True,
) -> Outcome:
    """The outcome of the write, on a look of this age."""
    api = RecordingKube()
    if secret is not None:
        annotations = {USED_BY: f"KafkaQuorum/{NAME}"} if allowed else {}
        metadata = {"name": "zk-client", "namespace": NAMESPACE, "annotations": annotations}
        api.put(SECRETS, {"metadata": metadata, "data": secret})
    executor = Executor(
        api,
        AnsweringControllers(),
        SetClock(age_s),
        CountingIds(),
        Settings(holder="operator-1"),
        zookeepers=keepers,
    )
    context = Context(desired=wanted(roll_back=True), record=record_at(LEADS), resource=RESOURCE, spec={}, accepted="")
    plan = Plan(actions=(stamped(act(access), 1000.0),), waits=(), verdicts=(), requeue_s=1.0)
    (outcome,) = await executor.execute(plan, context)
    assert api.writes() == []
    return outcome


async def test_what_is_sent() -> None:
    """Exactly what the look showed is sent, with its versions, and without a Secret if the spec has none."""
    keepers = Keepers()
    outcome = await carried_out(keepers)
    assert (outcome.done, outcome.unknown, outcome.held) == (True, False, False)
    assert keepers.sent == [(OPEN, ZooKeeperSecret(), WHAT)]


async def test_the_secret_is_read() -> None:
    """The Secret is read by its name right before the write, and is in no message."""
    keepers = Keepers()
    texts = {"username": b"ada", "password": b"pass word"}
    secret = {name: base64.b64encode(text).decode() for name, text in texts.items()}
    outcome = await carried_out(keepers, SECURED, secret=secret)
    assert [sent[1] for sent in keepers.sent] == [ZooKeeperSecret(username="ada", password="pass word")]  # noqa: S106 - a sample
    assert outcome.done
    assert "pass word" not in outcome.message


async def test_a_missing_secret() -> None:
    """Without the Secret nothing is sent, and the message names it."""
    keepers = Keepers()
    outcome = await carried_out(keepers, SECURED)
    assert (outcome.done, outcome.unknown, keepers.sent) == (False, False, [])
    assert "zk-client" in outcome.message


async def test_a_secret_of_others() -> None:
    """A Secret that does not allow this quorum is not used, and the message is that of a missing one."""
    keepers = Keepers()
    texts = {"username": base64.b64encode(b"ada").decode(), "password": base64.b64encode(b"pass word").decode()}
    outcome = await carried_out(keepers, SECURED, secret=texts, allowed=False)
    assert (outcome.done, outcome.unknown, keepers.sent) == (False, False, [])
    assert outcome.message == (await carried_out(keepers, SECURED)).message


def failing(kind: type[KafkaError], *, unknown: bool) -> KafkaError:
    """An error of the write."""
    return kind("words", fault=Fault.PATH, retry_safe=False, outcome_unknown=unknown)


@pytest.mark.parametrize(
    ("error", "held", "unknown"),
    [
        (failing(ZooKeeperChanged, unknown=False), True, False),
        (failing(ZooKeeperUnreachable, unknown=True), False, True),
        (failing(ZooKeeperDenied, unknown=False), False, False),
    ],
)
async def test_a_write_that_fails(error: KafkaError, *, held: bool, unknown: bool) -> None:
    """What has changed since the look is held; a lost answer is unknown; a refusal is a failure."""
    outcome = await carried_out(Keepers(error))
    assert (outcome.done, outcome.held, outcome.unknown) == (False, held, unknown)
    assert "words" in outcome.message


@pytest.mark.parametrize(("age_s", "sent"), [(2.0, True), (2.1, False), (40.0, False)])
async def test_only_on_a_fresh_look(age_s: float, *, sent: bool) -> None:
    """The write is sent within two seconds after the look that allowed it; later it is held."""
    keepers = Keepers()
    outcome = await carried_out(keepers, age_s=age_s)
    assert (bool(keepers.sent), outcome.held) == (sent, not sent)


async def test_without_the_lease() -> None:
    """Without the lease ZooKeeper is not written; reading needs none."""
    keepers = Keepers()
    idle = leased_zookeepers(keepers, lambda: False)
    with pytest.raises(NotActing):
        await idle.give_back(OPEN, ZooKeeperSecret(), WHAT)
    assert keepers.sent == []
    with pytest.raises(NoAnswerError):
        await idle.read(OPEN, ZooKeeperSecret(), rights=False, states=False)
    await leased_zookeepers(keepers, lambda: True).give_back(OPEN, ZooKeeperSecret(), WHAT)
    assert len(keepers.sent) == 1
