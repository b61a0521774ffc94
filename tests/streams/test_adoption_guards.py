"""Each guard of an adoption is taken out once, and a case that the unchanged source passes goes wrong."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from tests.streams import test_adoption as cases
from tests.streams.adopting import STATEFUL
from tests.streams.controllers import Broken

from kafka_quorum.model.permit import Permit, Refusal
from kafka_streams.act.execute import Executor
from kafka_streams.model.adoption import Adoption, OwnedSet, Source, Workload, WorkloadKind
from kafka_streams.model.observed import Observed
from kafka_streams.model.permit import AdoptWorkload
from kafka_streams.model.plan import Part
from kafka_streams.observe import snapshot
from kafka_streams.plan import adoption, planner
from kafka_streams.plan.guards.rule12_adoption import may_keep_adopting
from kafka_streams.resources import pods
from kit.kube.protocol import DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS


def always(*_: object) -> Permit[AdoptWorkload]:
    """A guard that allows everything."""
    return Permit(rule=AdoptWorkload.id, reason="taken out")


def nothing(*_: object) -> Iterator[Any]:
    """Nothing is in the way."""
    return iter(())


async def none_lost(*_: object) -> tuple[()]:
    """No adopted pod is asked for by its name."""
    return ()


async def with_its_pods(self: Executor, namespace: str, target: Workload | OwnedSet) -> None:
    """A deletion that takes the pods along."""
    kinds = {WorkloadKind.STATEFUL_SET: STATEFUL_SETS, WorkloadKind.DEPLOYMENT: DEPLOYMENTS}
    kind = kinds[target.kind] if isinstance(target, Workload) else REPLICA_SETS
    await self._kube.delete(kind, namespace, target.name, uid=target.uid)


def without_owner(*arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - those of the function in its place
    """A pod that gets its labels, and no owner."""
    patch = _TAKEN(*arguments)
    del patch["metadata"]["ownerReferences"]
    return patch


_TAKEN = pods.taken_pod
Case = Callable[[], Awaitable[None]]
MUTANTS: dict[str, tuple[list[tuple[Any, str]], Any, Case]] = {
    "12-adopt": (
        [(adoption, "may_adopt")],
        always,
        lambda: cases.test_a_person_approves_by_the_hash(STATEFUL),
    ),
    "what does not fit": (
        [(adoption, "may_adopt")],
        always,
        lambda: cases.test_what_does_not_fit_is_refused_with_a_reason("another path"),
    ),
    "the deletion without pods": (
        [(Executor, "_release")],
        with_its_pods,
        lambda: cases.test_the_pods_run_on_as_instances(STATEFUL),
    ),
    "ReplicaSets before pods": (
        [(adoption, "_sets")],
        lambda *_: None,
        lambda: cases.test_the_pods_run_on_as_instances("Deployment"),
    ),
    "what is in the way of pods": (
        [(adoption, "_pods_in_the_way")],
        nothing,
        cases.test_a_replicaset_that_is_left_of_another_deployment_is_named,
    ),
    "what comes back": (
        [(planner, "adopting")],
        lambda situation, *, repair_only: _unless_done(situation, repair_only=repair_only),
        cases.test_an_adopted_statefulset_that_comes_back_later_stops_a_change,
    ),
    "an owner for each pod": (
        [(pods, "taken_pod")],
        without_owner,
        lambda: cases.test_what_is_created_again_stops_everything_and_is_named(STATEFUL),
    ),
    "the pod that lost its labels": (
        [(snapshot, "_lost")],
        none_lost,
        cases.test_an_adopted_pod_that_lost_its_labels_gets_no_second_copy,
    ),
    "the claim that is lost": (
        [(planner, "states")],
        lambda _: Part(),
        cases.test_a_claim_that_is_lost_with_its_pod_is_replaced_by_one_of_its_own,
    ),
}
_ADOPTING = adoption.adopting


def _unless_done(situation: Any, *, repair_only: bool) -> Part | None:  # noqa: ANN401 - a situation
    open_one = situation.record.adoption
    return None if open_one is not None and open_one.done else _ADOPTING(situation, repair_only=repair_only)


@pytest.mark.parametrize("name", MUTANTS)
async def test_the_cases_notice_that_it_is_missing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Something breaks, or a goal is missed."""
    places, instead, case = MUTANTS[name]
    for module, attribute in places:
        monkeypatch.setattr(module, attribute, instead)
    with pytest.raises((Broken, AssertionError, KeyError, IndexError, ValueError)):
        await case()


@pytest.mark.parametrize(
    ("owners", "known", "there", "words"),
    [
        (("uid-of-another",), True, False, "has an owner again"),
        ((), False, False, "is none of those"),
        ((), True, True, "is not gone yet"),
        (("uid-app",), True, False, ""),
    ],
    ids=["it was adopted by another Deployment", "it is not in the record", "the Deployment is there", "allowed"],
)
def test_a_replicaset_is_deleted_only_if_nothing_else_owns_it(
    owners: tuple[str, ...], *, known: bool, there: bool, words: str
) -> None:
    """12-keep-adopting: the Deployment is gone, the record has the set, and no Deployment took it."""
    kind, selector = WorkloadKind.DEPLOYMENT, (("app", "counting"),)
    open_one = Adoption(kind=kind, name="app", uid="uid-app", selector=selector, sets=("uid-set",) if known else ())
    one = OwnedSet(name="app-1", uid="uid-set", resource_version="1", deleting=False, owners=owners, replicas=3)
    workload = Workload(
        kind=kind,
        name="app",
        uid="uid-app",
        resource_version="1",
        deleting=True,
        replicas=3,
        unsettled="",
        selector=selector,
    )
    source = Source(workload=workload if there else None, sets=(one,))
    observed = Observed(record=None, pods=(), claims=(), revisions=(), source=source)
    verdict = may_keep_adopting(open_one, observed, one)
    assert isinstance(verdict, Refusal if words else Permit)
    assert words in verdict.reason
