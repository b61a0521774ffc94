"""Services, the disruption budget, revisions and config maps: what is made, kept, repaired and deleted."""

from dataclasses import replace
from typing import Any

import pytest
from tests.brokers.looks import (
    CRASHES,
    ORDERS,
    changed_pod,
    edited,
    look,
    new_spec,
    partition,
    planned,
    ran,
    registered,
    revision_of,
    situation,
    view,
    with_view,
    without_pod,
)
from tests.brokers.values import CONTRACT, desired, record

from kafka_brokers.model.actions import (
    ApplyBudget,
    ApplyService,
    CreateConfig,
    CreateRevision,
    DeleteConfig,
    DeleteRevision,
    DeleteService,
    is_guarded,
)
from kafka_brokers.model.observed import ClusterView, Observed, Support, Unreadable
from kafka_brokers.model.plan import Severity
from kafka_brokers.model.pool import PoolDesired
from kafka_brokers.plan.objects import objects
from kafka_brokers.plan.revisions import KEPT, old, revisions
from kafka_quorum.model.contract import Match, Setting
from kafka_quorum.model.known import Knowable, Known, Unknown
from kit.token import Token

SPEC, NEW = desired(), new_spec()
OLD = revision_of(SPEC)
RAN = ran(record(), SPEC)
STOPPED = replace(edited(RAN, 0, stopped=True, revision=revision_of(NEW).name), resource_version="7")
"""The stop of broker 0 has begun, and its pod runs on."""


def budget(of: Observed, by: PoolDesired | None = None) -> tuple[int, bool] | None:
    """How many must stay available, and whether that is looser than before; None if nothing is written."""
    found = [one for one in objects(situation(of, by)).actions if isinstance(one, ApplyBudget)]
    return (found[0].min_available, found[0].looser) if found else None


def token(holder: str) -> Knowable[Token]:
    """The token of this holder."""
    return Known(value=Token(holder=holder, since="", resource_version="1"))


OURS = token("pool/payments")


# The budget: what a drain of a Kubernetes node may stop


def test_a_drain_may_stop_one_broker_of_a_pool_at_rest() -> None:
    """As we would; what is written already is not written again."""
    assert budget(look(RAN)) is None
    assert budget(look(RAN, least=3)) == (2, True)
    assert budget(look(RAN, least=1)) == (2, False)
    without = look(RAN)
    missing = tuple(one for one in without.support if one.kind != "PodDisruptionBudget")
    assert budget(replace(without, support=missing)) == (2, False)


TIGHT: list[Observed] = [
    replace(look(RAN), leader=Unknown(reason="timeout")),
    replace(look(RAN), cluster=Unknown(reason="timeout")),
    replace(look(RAN), token=Unknown(reason="timeout")),
    replace(look(RAN), token=token("quorum/events")),
    replace(look(RAN), token=token("pool/other")),
    changed_pod(look(RAN), 1, held=True),
    with_view(look(RAN), view([*ORDERS, partition("t-0", [2, 0, 1], [2, 0])])),
    with_view(look(RAN), view([*ORDERS, partition("t-0", [2])])),
    changed_pod(look(RAN), 2, container=CRASHES),
]


@pytest.mark.parametrize("of", TIGHT)
def test_a_drain_may_stop_nobody_unless_each_could_be_stopped_by_itself(of: Observed) -> None:
    """What is not known, another holder, a hold, or one partition that could not spare one broker."""
    assert budget(of) == (3, False)


def test_our_own_token_holds_no_drain_up() -> None:
    """Nothing of this pool is stopped yet."""
    assert budget(replace(look(RAN), token=token("pool/payments"))) is None


def test_what_we_stop_is_let_go_and_nothing_else() -> None:
    """While brokers are stopped by us, no drain may stop another one."""
    assert budget(look(STOPPED, least=3, token=OURS)) == (2, True)
    both = edited(STOPPED, 1, stopped=True, revision=revision_of(NEW).name)
    assert budget(look(both, least=3, token=OURS)) == (1, True)
    assert budget(look(STOPPED, least=2, token=OURS, cluster=Unknown(reason="timeout"))) is None


def test_one_that_is_ready_again_lets_no_drain_stop_another_one() -> None:
    """It is not back in every ISR yet. Until its pod counts as ready, the budget must allow for it."""
    returns = replace(edited(RAN, 0, stopped=True), resource_version="7")
    of = look(returns, least=3, token=OURS)
    assert budget(of) is None
    assert budget(look(returns, least=2, token=OURS)) == (3, False)
    for away in (changed_pod(of, 0, ready=False), changed_pod(of, 0, deleting=True), without_pod(of, 0)):
        assert budget(away) == (2, True)
    waits = edited(returns, 1, stopped=True, revision=revision_of(NEW).name)
    assert budget(look(waits, least=3, token=OURS)) == (2, True)  # another budget holds its stop


def test_a_lost_broker_that_leaves_and_has_no_pod_is_not_waited_for() -> None:
    """It never runs again: the budget would refuse each stop of ours for ever. Others count on."""
    leaves = edited(STOPPED, 2, leaving=True)

    def without(of: Observed, *, volume: bool) -> Observed:
        claims = tuple(one for one in of.claims if one.node_id != 2 or not volume)
        return replace(of, pods=tuple(pod for pod in of.pods if pod.node_id != 2), claims=claims)

    assert budget(without(look(leaves, least=2, token=OURS), volume=True)) == (1, True)
    assert budget(without(look(leaves, least=2, token=OURS), volume=False)) is None
    assert budget(without(look(STOPPED, least=2, token=OURS), volume=True)) is None
    assert budget(look(leaves, least=2, token=OURS)) is None


def test_one_that_is_away_without_a_replica_holds_no_stop_of_ours_up() -> None:
    """The stop does not wait for it, and the budget would refuse it for ever. One that has a replica counts on."""
    away = [registered(0), registered(1), registered(2, fenced=True)]
    idle, has_one = [partition("t-0", [0, 1])], [partition("t-0", [0, 1, 2], [0, 1])]

    def beside(seen: ClusterView, held: Knowable[Token] = OURS, *, ready: bool = False) -> tuple[int, bool] | None:
        return budget(changed_pod(look(STOPPED, least=2, token=held, seen=seen), 2, ready=ready))

    assert beside(view(idle, away)) == (1, True)
    assert beside(view(idle, away), ready=True) is None  # Kubernetes still counts it
    assert budget(without_pod(look(STOPPED, least=2, token=OURS, seen=view(idle, away)), 2)) == (1, True)
    assert beside(view(has_one, away)) is None
    assert beside(view(idle)) is None
    assert beside(view(idle, away), token("pool/other")) == (3, False)


def test_a_lost_broker_is_not_counted_twice() -> None:
    """One that we stopped, that leaves, and that never comes back lets no drain stop another one."""
    both = replace(edited(RAN, 2, stopped=True, leaving=True), resource_version="7")
    of = look(both, least=2, token=token("pool/payments"))
    of = replace(of, pods=tuple(pod for pod in of.pods if pod.node_id != 2))
    lost = replace(of, claims=tuple(one for one in of.claims if one.node_id != 2))
    assert budget(lost) is None
    assert budget(replace(lost, support=look(both, least=1).support)) == (2, False)


@pytest.mark.parametrize("held", [token(""), token("pool/other"), Unknown(reason="timeout")])
def test_without_the_token_a_stop_of_ours_lets_no_drain_through(held: Knowable[Token]) -> None:
    """The token was given back while a broker waits for another pool, or was lost: something else may stop servers."""
    stopped = replace(edited(RAN, 0, stopped=True), resource_version="7")
    assert budget(look(stopped, least=2, token=held)) == (3, False)


def test_only_brokers_that_ran_and_stay_count() -> None:
    """Others cannot be available; without any there is no budget."""
    gone = edited(edited(RAN, 2, leaving=True, empty=True), 1, ran=False)
    rows = view([partition("t-0", [0])], [registered(0)], min_isr=1)
    assert budget(look(gone, seen=rows, least=3)) == (1, True)
    young = replace(record(), resource_version="7")
    none = look(young, pods=())
    assert budget(replace(none, support=())) is None


def test_a_looser_budget_needs_a_fresh_look() -> None:
    """Drains rely on it; a tighter one is always right."""
    (looser,) = (one for one in planned(look(RAN, least=3)).actions if isinstance(one, ApplyBudget))
    assert (is_guarded(looser), looser.judged_at_s) == (True, look(RAN).looked_at_s)
    (tighter,) = (one for one in planned(TIGHT[0]).actions if isinstance(one, ApplyBudget))
    assert not is_guarded(tighter)


def test_a_budget_that_something_else_controls_is_left_alone() -> None:
    """It would be written back and forth."""
    of = look(RAN, least=3)
    rows = tuple(replace(one, foreign=one.kind == "PodDisruptionBudget") for one in of.support)
    assert budget(replace(of, support=rows)) is None


def test_a_budget_that_a_person_has_changed_is_written_again() -> None:
    """Also one in percent, of which it is not known whether it is looser."""
    of = look(RAN)
    name = "payments-brokers"
    rows = tuple(
        replace(one, facts=one.facts.replace("[2,", '["50%",', 1)) if one.kind == "PodDisruptionBudget" else one
        for one in of.support
    )
    assert [one.name for one in rows if one.facts.startswith('["50%"')] == [name]
    assert budget(replace(of, support=rows)) == (2, False)
    other = replace(next(one for one in of.support if one.kind == "PodDisruptionBudget"), name="other", facts="[1]")
    assert budget(replace(of, support=(other, *of.support))) is None


# Services


OUTSIDE = desired({"listeners": [{"name": "OUT", "port": 9094, "external": "NodePort", "nodePort": 31000}]})


def services(of: Observed, by: PoolDesired, *, repair_only: bool = False) -> list[tuple[type, str]]:
    """What is done about services."""
    part = objects(situation(of, by, repair_only=repair_only))
    return [(type(one), one.name) for one in part.actions if isinstance(one, ApplyService | DeleteService)]


def test_services_that_are_missing_or_differ_are_applied() -> None:
    """The headless one, the one that clients begin at, and one for each broker for clients outside."""
    of = look(ran(record(), OUTSIDE), OUTSIDE)
    ports = tuple(
        replace(one, node_ports=(("out", 31000 + int(one.name[-1])),))
        if one.kind == "Service" and one.name[-1].isdigit()
        else one
        for one in of.support
    )
    assert services(replace(of, support=ports), OUTSIDE) == []
    assert services(of, OUTSIDE) == [(ApplyService, f"payments-out-{node}") for node in range(3)]
    none = replace(of, support=())
    every = ["payments-brokers", "payments-bootstrap", "payments-out-bootstrap"]
    assert services(none, OUTSIDE) == [
        (ApplyService, name) for name in (*every, *(f"payments-out-{node}" for node in range(3)))
    ]
    other = tuple(replace(one, facts="[]") if one.name == "payments-bootstrap" else one for one in ports)
    assert services(replace(of, support=other), OUTSIDE) == [(ApplyService, "payments-bootstrap")]


def test_services_that_nothing_needs_are_deleted_if_they_are_ours() -> None:
    """Not those of something else, or of another resource, nor while the spec is invalid."""
    of = look(RAN, SPEC)
    ours = Support(kind="Service", name="payments-out-0", uid="x", resource_version="1", owner_uid=SPEC.uid)

    def having(**changes: Any) -> Observed:  # noqa: ANN401 - any field
        return replace(of, support=(*of.support, replace(ours, **changes)))

    assert services(having(), SPEC) == [(DeleteService, "payments-out-0")]
    assert services(having(), SPEC, repair_only=True) == []
    assert services(having(foreign=True), SPEC) == []
    assert services(having(deleting=True), SPEC) == [], "its load balancer is being taken down"
    assert services(having(owner_uid="another"), SPEC) == []
    assert services(having(owner_uid=None), SPEC) == []
    assert services(having(kind="ConfigMap"), SPEC) == []


def test_a_service_that_something_else_controls_is_told() -> None:
    """It is not changed; one that is not needed is nobody's matter."""
    of = look(RAN, SPEC)
    rows = tuple(
        replace(one, foreign=True, facts="[]") if one.name == "payments-bootstrap" else one for one in of.support
    )
    part = objects(situation(replace(of, support=rows), SPEC))
    assert [(one.severity, one.reason) for one in part.waits] == [(Severity.DEGRADED, "ForeignObject")]
    assert "payments-bootstrap" not in [one.name for one in part.actions if isinstance(one, ApplyService)]
    idle = replace(of.support[0], name="other", foreign=True)
    assert objects(situation(replace(of, support=(*of.support, idle)), SPEC)).waits == ()


# Revisions and config maps


def test_a_new_spec_gets_a_revision_then_its_config_map() -> None:
    """With the next number, and the image of the release; nothing is made from it before."""
    of = look(RAN, SPEC)
    (made,) = revisions(situation(of, NEW)).actions
    assert isinstance(made, CreateRevision)
    assert (made.revision.name, made.revision.number, made.revision.image) == (
        revision_of(NEW).name,
        2,
        "apache/kafka:4.4.0",
    )
    stored = replace(of, revisions=(*of.revisions, made.revision))
    (config,) = revisions(situation(stored, NEW)).actions
    assert isinstance(config, CreateConfig)
    assert config.revision == made.revision
    assert revisions(situation(of, NEW, repair_only=True)).actions == ()
    assert revisions(situation(of, SPEC)).actions == ()


def test_a_revision_that_cannot_be_read_is_not_made_again() -> None:
    """Its name is taken, and what it says is not known."""
    name = revision_of(SPEC).name
    of = replace(look(RAN), revisions=(), unreadable=(Unreadable(kind="ControllerRevision", name=name, why="x"),))
    part = revisions(situation(of))
    assert part.actions == ()
    assert [(one.severity, one.reason) for one in part.waits] == [(Severity.DEGRADED, "RevisionUnreadable")]


def test_the_config_maps_of_what_runs_are_kept() -> None:
    """Of the present revision, of those that brokers and pods are made from, and of a new first contact."""
    of = look(RAN, NEW, old=(OLD,))
    of = replace(of, pods=tuple(replace(one, revision=OLD.name, config_name=config_of(of, 0)) for one in of.pods))
    assert old(situation(of, NEW)).actions == ()
    extra = replace(of.support[-1], kind="ConfigMap", name="payments-broker-config-0123456789", uid="x")
    unused = replace(of, support=(*of.support, extra))
    assert old(situation(unused, NEW)).actions == (DeleteConfig(name=extra.name, uid="x"),)
    assert old(situation(replace(unused, support=(*of.support, replace(extra, foreign=True))), NEW)).actions == ()
    assert old(situation(changed_pod(unused, 0, config_name=extra.name), NEW)).actions == ()


def test_the_config_map_of_a_brokers_own_revision_is_made_again() -> None:
    """A broker that restarts from its own revision needs it; the number of a new revision follows the highest one."""
    of = look(RAN, NEW, old=(replace(OLD, number=7),))
    gone = tuple(one for one in of.support if one.kind != "ConfigMap")
    made = [
        one for one in revisions(situation(replace(of, support=gone), NEW)).actions if isinstance(one, CreateConfig)
    ]
    assert {one.revision.name for one in made} == {OLD.name, revision_of(NEW).name}
    named = tuple(replace(one, kind="Service") if one.kind == "ConfigMap" else one for one in of.support)
    assert len(revisions(situation(replace(of, support=named), NEW)).actions) == 2
    idle = replace(of, support=gone, record=edited(edited(edited(RAN, 0, revision=None), 1, revision=None), 2,
                                                   revision=None))  # fmt: skip
    (only,) = revisions(situation(idle, NEW)).actions
    assert isinstance(only, CreateConfig)
    assert only.revision.name == revision_of(NEW).name
    third = desired({"config": {"auto.create.topics.enable": "false", "broker.session.timeout.ms": "9001"}})
    two = (replace(OLD, number=7), replace(revision_of(NEW), number=3))
    (new,) = revisions(situation(replace(of, revisions=two), third)).actions
    assert isinstance(new, CreateRevision)
    assert new.revision.number == 8


def config_of(of: Observed, index: int) -> str:
    """The name of a config map of the look."""
    return [one.name for one in of.support if one.kind == "ConfigMap"][index]


def test_a_new_first_contact_gets_config_maps_for_the_next_pods() -> None:
    """The controllers' addresses have changed: no broker restarts, and the next pods get the new ones."""
    contact = Setting(key="controller.quorum.bootstrap.servers", value="new:9093", match=Match.SOME)
    settings = tuple(contact if one.key == contact.key else one for one in CONTRACT.settings)
    of = replace(look(RAN), contract=Known(value=replace(CONTRACT, settings=settings)))
    (made,) = revisions(situation(of)).actions
    assert isinstance(made, CreateConfig)
    assert made.revision.name == OLD.name
    assert made.name != config_of(look(RAN), 0)


def test_old_revisions_beyond_five_are_deleted_from_the_oldest() -> None:
    """Never one that something is made from."""
    earlier = tuple(
        replace(OLD, name=f"payments-broker-000000000{number}", number=number, inputs_hash=f"000000000{number}")
        for number in range(1, KEPT + 3)
    )
    of = look(RAN, SPEC, old=earlier)
    present = tuple(one for one in of.support if one.kind != "ConfigMap")
    of = replace(of, support=present)
    gone = [one.name for one in old(situation(of)).actions if isinstance(one, DeleteRevision)]
    assert gone == [one.name for one in earlier[:2]]
    used = changed_pod(of, 0, revision=earlier[0].name)
    named = replace(used, record=edited(RAN, 1, revision=earlier[1].name))
    assert [one for one in old(situation(named)).actions if isinstance(one, DeleteRevision)] == []
