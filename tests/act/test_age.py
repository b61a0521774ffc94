"""How old the look behind an action may be, and what is sent if a request is slow."""

from collections.abc import Callable
from dataclasses import replace
from typing import get_args

import pytest
from tests.act.test_execute import POD, RESOURCE, CountingIds, SetClock, carried_out, seed
from tests.golden.facts import mentions
from tests.kit.kube.recording import Call, RecordingKube
from tests.model.values import IDS, bound, claim, desired, node, permit, revision, running
from tests.model.values import write as written
from tests.wire.answering import AnsweringControllers

from kafka_quorum.act.building import Context
from kafka_quorum.act.execute import Executor
from kafka_quorum.model import actions as act
from kafka_quorum.model import permit as permits
from kafka_quorum.model.actions import NEVER, Action, RecordChange, is_guarded, stamped
from kafka_quorum.model.plan import Outcome, Plan
from kafka_quorum.model.pods import PodRole, Terminated
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.settings import Settings

OVER = Terminated(exit_code=0, reason="Completed", message="", finished_at="")
CLAIM = claim(running(), node(running(), 3001))
RESTART = act.RestartPod(pod=POD, evict=True, message="m", permit=permit(permits.Restart))
STOP = act.DeletePod(pod=POD, reason="PodRemoved", message="m", permit=permit(permits.ReplacePod))
MARK = act.MarkPod(pod=POD, voter=True, gate="True", message="m")
BUDGET = act.ApplyBudget(min_available=2)
RELOAD = act.ReloadListener(
    leader=Endpoint(node_id=IDS[0], host="10.0.0.1", port=9093),
    node_id=IDS[1],
    listener="CONTROLLER",
    sha256="ab",
    message="m",
    permit=permit(permits.Reload),
)


def write(change: RecordChange) -> act.WriteRecord:
    """A write of the record for this reason."""
    return written(bound(), change, "m")


GUARDED: tuple[Action, ...] = (
    RESTART,
    replace(RESTART, evict=False),
    STOP,
    replace(STOP, pod=replace(POD, container=OVER), force=True),
    act.DeleteClaim(claim=CLAIM, message="m", permit=permit(permits.DeleteVolume)),
    BUDGET,
    MARK,
    *map(write, (RecordChange.DISK_LOST, RecordChange.NODE_LOST, RecordChange.NODES_REMOVED)),
    *map(write, (RecordChange.ROLL, RecordChange.DYNAMIC)),
    *map(write, (RecordChange.COPY_METADATA, RecordChange.LEAVE_ZOOKEEPER, RecordChange.FINALIZE)),
    *map(write, (RecordChange.FINALIZED, RecordChange.ROLL_BACK, RecordChange.STOP_CONTROLLERS)),
    *map(write, (RecordChange.GIVE_BACK, RecordChange.ZOOKEEPER_LEADS, RecordChange.END_QUORUM)),
    write(RecordChange.ATTEMPT_AGAIN),
)
FREE: tuple[Action, ...] = (
    replace(STOP, pod=replace(POD, container=OVER)),
    replace(STOP, pod=replace(POD, role=PodRole.FORMATTER, container=OVER)),
    replace(MARK, gate="False"),
    write(RecordChange.FORMATTED),
    act.CreatePod(node_id=IDS[0], revision=revision(), config_name="cfg", permit=permit(permits.Run)),
    act.AnnotateClaim(claim=CLAIM, directory_id=None, grow_to=None),
)


def named(action: Action) -> str:
    """The name of a test case."""
    return f"{type(action).__name__}-{getattr(action, 'change', '')}"


@pytest.mark.parametrize("action", GUARDED, ids=named)
@pytest.mark.parametrize(("age_s", "sent"), [(2.0, True), (2.1, False), (7.5, False)])
async def test_guarded_acts_need_a_fresh_look(action: Action, age_s: float, *, sent: bool) -> None:
    """A guarded action is sent within two seconds after its look; later it is held, and this is no failure."""
    assert is_guarded(action)
    calls, (outcome,) = await carried_out(stamped(action, 1000.0), age_s=age_s)
    assert bool(calls) is sent
    assert (outcome.done, outcome.unknown, outcome.held) == (sent, False, not sent)
    assert sent or mentions(outcome.message, age_s, 2)


@pytest.mark.parametrize("action", GUARDED, ids=named)
async def test_no_stamp_is_an_old_one(action: Action) -> None:
    """A guarded action without a stamp is never sent."""
    assert getattr(action, "judged_at_s") == NEVER  # noqa: B009 - a union, of which every member has it
    calls, (outcome,) = await carried_out(action, age_s=0.0)
    assert (calls, outcome.held) == ([], True)


@pytest.mark.parametrize("action", FREE, ids=named)
async def test_other_acts_need_none(action: Action) -> None:
    """An action that needs no guard is done however old its look is, so that a slow API server stops no repair."""
    assert not is_guarded(action)
    calls, (outcome,) = await carried_out(action, age_s=60.0)
    assert outcome.done
    assert calls


def test_every_stamp_is_a_guarded_act() -> None:
    """The actions on Kubernetes that can carry a stamp are exactly the kinds with a guarded action."""
    carries = {kind for kind in get_args(Action) if "judged_at_s" in kind.__dataclass_fields__}
    elsewhere = {act.GiveBackNodes, act.ReloadListener}  # requests to ZooKeeper and Kafka: other tests below
    elsewhere |= set(get_args(act.OnUsers))  # the same: test_scram.py
    elsewhere |= {act.CreateCopier, act.CreateRewriter, act.DeleteCopy}  # the same: test_disks.py
    on_the_quorum = {act.AddRaftVoter, act.RemoveRaftVoter, act.StepFeature, act.CureGhost}
    assert carries - on_the_quorum == set(get_args(act.Guarded)) == {type(action) for action in GUARDED} | elsewhere


@pytest.mark.parametrize(("age_s", "sent"), [(2.0, True), (2.1, False)])
async def test_a_listener_is_asked_on_a_fresh_look(age_s: float, *, sent: bool) -> None:
    """A listener loads its certificate only on a fresh look: the leader of an old one may lead no more."""
    assert is_guarded(RELOAD)
    controllers = AnsweringControllers()
    _, (outcome,) = await carried_out(stamped(RELOAD, 1000.0), controllers=controllers, age_s=age_s)
    assert (outcome.done, outcome.held) == (sent, not sent)
    asked = [(at.node_id, node_id, listener) for at, node_id, listener, _ in controllers.reloaded]
    assert asked == ([(IDS[0], IDS[1], "CONTROLLER")] if sent else [])


class SlowKube(RecordingKube):
    """An API server on which requests of one verb are slow."""

    def wait(self, verb: str, pause: Callable[[], None]) -> None:
        """Calls `pause` within every request of this verb."""
        self._verb, self._pause = verb, pause

    def _called(self, call: Call) -> None:
        if call.verb == self._verb:
            self._pause()
        super()._called(call)


class MovingClock(SetClock):
    """A clock that moves during requests."""

    def pass_by(self, seconds: float) -> None:
        """Moves the clock by this many seconds."""
        self._now_s += seconds


async def slowly(verb: str, *todo: Action, takes_s: float = 3.0) -> tuple[list[Call], tuple[Outcome, ...]]:
    """The writes of a plan on a fresh look, if each request of this verb takes this long."""
    clock, kube = MovingClock(0.5), SlowKube()
    kube.wait(verb, lambda: clock.pass_by(takes_s))
    for action in todo:
        seed(kube, action)
    executor = Executor(kube, AnsweringControllers(), clock, CountingIds(), Settings())
    context = Context(desired=desired(), record=running(), resource=RESOURCE, spec={})
    actions = tuple(stamped(action, 1000.0) for action in todo)
    outcomes = await executor.execute(Plan(actions=actions, waits=(), verdicts=(), requeue_s=1.0), context)
    return kube.writes(), outcomes


async def test_slow_question_before_a_budget() -> None:
    """A budget is not loosened if its look became too old while the present budget was read."""
    assert (await slowly("get", BUDGET, takes_s=1.0))[1][0].done
    calls, (outcome,) = await slowly("get", BUDGET)
    assert (calls, outcome.held) == ([], True)


async def test_slow_label_before_a_gate() -> None:
    """A pod's gate does not become ready if the look became too old while the label was written."""
    calls, (outcome,) = await slowly("patch", MARK)
    assert [call.option("subresource") for call in calls] == [""]
    assert outcome.held


async def test_slow_dry_run_before_an_eviction() -> None:
    """A voter is not evicted if the look became too old while the dry run of the eviction was answered."""
    assert (await slowly("ask-evict", RESTART, takes_s=1.0))[1][0].done
    calls, (outcome,) = await slowly("ask-evict", RESTART)
    assert (calls, outcome.held) == ([], True)


async def test_second_act_on_one_look() -> None:
    """The second of two guarded actions of one plan is not sent if the first one took too long."""
    other = replace(STOP, pod=replace(POD, name="alpha-3002-g1", uid="pod-3002-1"))
    calls, (first, second) = await slowly("delete", STOP, other)
    assert [call.name for call in calls] == [POD.name]
    assert (first.done, second.done, second.held) == (True, False, True)
