"""The objects around the pods: service, disruption budget, config maps."""

from dataclasses import replace

import pytest
from tests.model.values import (
    NAME,
    SILENT,
    at_rest,
    bound,
    desired,
    key,
    mirrored,
    operation,
    revision,
    running,
    runtime,
    started,
    support,
    view,
)
from tests.plan.reading import every, planned

from kafka_quorum.model import names
from kafka_quorum.model.actions import ApplyBudget, ApplyService, CreateConfig, DeleteConfig
from kafka_quorum.model.desired import ControllerListener
from kafka_quorum.model.identity import with_revision
from kafka_quorum.model.known import Known
from kafka_quorum.model.observed import Observed, SupportObject
from kafka_quorum.plan.pods.support import min_available


@pytest.mark.parametrize(
    ("voters", "changing", "interruption", "kept"),
    [
        (1, False, True, 0),
        (1, False, False, 1),
        (2, False, True, 1),
        (2, False, False, 2),
        (3, False, False, 2),
        (4, False, False, 3),
        (5, False, False, 3),
        (5, False, True, 3),
        (6, False, False, 4),
        (7, False, False, 4),
        (1, True, True, 1),
        (3, True, False, 3),
        (4, True, True, 4),
    ],
)
def test_min_available(voters: int, changing: bool, interruption: bool, kept: int) -> None:  # noqa: FBT001 - columns
    """A majority must stay, all during a change, and all of one or two unless interruptions are allowed."""
    assert min_available(desired(allow_interruption=interruption), voters, changing=changing) == kept


def budgets(observed: Observed, **wanted: object) -> list[int]:
    """The disruption budgets that the plan applies."""
    return [action.min_available for action in every(planned(observed, desired(**wanted)), ApplyBudget)]


def test_first_budget() -> None:
    """Before the quorum answers, the budget is that of the first voters."""
    assert budgets(at_rest(bound(), support=())) == [2]


def test_budget_follows_the_committed_set() -> None:
    """The budget counts the committed voters, not the wanted replicas."""
    five = [key(3000 + index) for index in range(5)]
    assert budgets(at_rest(quorum=Known(value=view(five)))) == [3]
    uncommitted = replace(view(five, committed=False), committed_voters=frozenset(five[:3]))
    assert budgets(at_rest(quorum=Known(value=uncommitted))) == [3]


def test_budget_is_raised_during_a_change() -> None:
    """While a voter change is open all voters must stay, and afterwards a majority."""
    changing = at_rest(status=mirrored(running(), open=operation(key(3003))))
    assert budgets(changing) == [3]
    raised = replace(changing, support=support(running(), 3))
    assert budgets(raised) == []
    assert budgets(at_rest(support=support(running(), 3))) == [2]


@pytest.mark.parametrize("known", ["silent", "never committed"])
def test_budget_stands_while_nothing_is_known(known: str) -> None:
    """While the quorum is unknown, or its committed set is, the budget is not changed."""
    fresh = replace(view([key(3000)], committed=False), committed_voters=None)
    quorum = SILENT if known == "silent" else Known(value=fresh)
    assert budgets(at_rest(quorum=quorum, support=support(running(), 3))) == []


def test_service_is_repaired() -> None:
    """A service that is missing, or differs in a relevant field, is applied."""
    assert every(planned(at_rest(support=support(running())[1:])), ApplyService) != []
    assert every(planned(at_rest(support=support(running(), port=9999))), ApplyService) != []
    assert every(planned(at_rest()), ApplyService) == []


def test_service_follows_the_spec_before_anything_runs() -> None:
    """Before anything runs, the service's port is that of the spec's listener."""
    other = desired(runtime=runtime(listener=ControllerListener(name="CONTROLLER", port=9999)))
    look = at_rest(bound(), support=support(bound(), port=9999))
    assert every(planned(look, other), ApplyService) == []


def config(name: str) -> SupportObject:
    """A config map."""
    return SupportObject(kind="ConfigMap", name=name, uid="u-1", owner_uid=None, resource_version="1", facts="")


def test_config_per_revision() -> None:
    """Every revision that a pod may be made from has a config map for the present node ids."""
    newer = revision(runtime(heap="1Gi"), number=2)
    record = with_revision(running(), newer.name, [running().node_ids[1]])
    made = every(planned(at_rest(record, revisions=(revision(), newer))), CreateConfig)
    assert [(action.name, action.revision.name) for action in made] == [
        (names.config_name(NAME, newer.inputs_hash, record.node_ids), newer.name)
    ]


def test_used_config_is_kept() -> None:
    """A config map that a pod uses is kept, even if no new pod uses it; an unused one is deleted."""
    old = "alpha-config-before"
    look = at_rest()
    used = replace(
        look, support=(*look.support, config(old)), pods=(replace(look.pods[0], config_name=old), *look.pods[1:])
    )
    assert every(planned(used), DeleteConfig) == []
    unused = replace(look, support=(*look.support, config(old)))
    assert [action.name for action in every(planned(unused), DeleteConfig)] == [old]


def test_format_config_comes_and_goes() -> None:
    """The config map of the initial format is created while a format is due, and deleted afterwards."""
    name = names.format_config_name(NAME, revision().inputs_hash, bound().node_ids)
    before = every(planned(at_rest(bound(), support=support(started()))), CreateConfig)
    assert [action.name for action in before] == [name]
    after = every(planned(at_rest(started(), support=support(bound()))), DeleteConfig)
    assert [action.name for action in after] == [name]
