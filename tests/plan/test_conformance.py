"""Brokers: whether their running settings are those of the contract, and what waits while one does not conform."""

from dataclasses import replace

import pytest
from tests.model.values import (
    CLUSTER,
    at_rest,
    desired,
    node,
    pod,
    revision,
    running,
    runtime,
    saying,
    situation,
    speaking,
)

from kafka_quorum.api.features import METADATA
from kafka_quorum.model.conformance import conforms, differs, newer_brokers, why_brokers_hold
from kafka_quorum.model.contract import Contract, Match, Setting, StoredContract
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.permit import Refusal
from kafka_quorum.model.quorum import FeatureStep
from kafka_quorum.model.registered import BrokerAccess, BrokerSeen, Settings
from kafka_quorum.plan.guards.rule5_restarts import may_restart
from kafka_quorum.plan.guards.rule7_migrations import may_drop_static
from kafka_quorum.plan.guards.rule7_releases import may_lower, may_raise

DEFAULTS = "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"
LISTENER = "listener.security.protocol.map"


@pytest.mark.parametrize(
    ("match", "wanted", "has", "well"),
    [
        (Match.EQUALS, "a,b", "a,b", True),
        (Match.EQUALS, "a,b", "b,a", False),
        (Match.EQUALS, "a,b", None, False),
        (Match.SOME, "a:1,b:1", "b:1,c:1", True),
        (Match.SOME, "a:1,b:1", "c:1", False),
        (Match.SOME, "a:1,b:1", "", False),
        (Match.HAS, "CONTROLLER", "CONTROLLER", True),
        (Match.HAS, "CONTROLLER", "OTHER, CONTROLLER", True),
        (Match.HAS, "CONTROLLER", "CONTROLLERS", False),
        (Match.FILE, "keystore-3.pem", "/etc/any/keystore-3.pem", True),
        (Match.FILE, "keystore-3.pem", "keystore-3.pem", True),
        (Match.FILE, "keystore-3.pem", "/etc/any/keystore-2.pem", False),
        (Match.FILE, "keystore-3.pem", "/etc/any/old-keystore-3.pem", False),
        (Match.FILE, "keystore-3.pem", "/keystore-3.pem/", False),
        (Match.FILE, "keystore-3.pem", None, False),
        (Match.UNSET, "", None, True),
        (Match.UNSET, "", "", True),
        (Match.UNSET, "", "3000@a:1", False),
    ],
)
def test_differs(match: Match, wanted: str, has: str | None, well: bool) -> None:  # noqa: FBT001 - columns
    """Each way to compare a setting says what it is for, and a difference names the setting."""
    found = differs(Setting(key="some.key", value=wanted, match=match), {"some.key": has})
    assert (found == "") is well
    assert well or found.startswith("some.key")


def test_a_setting_that_is_not_reported() -> None:
    """A setting that an answer lacks is not as required, unless it must not be set."""
    assert differs(Setting(key="k", value="a", match=Match.HAS), {})
    assert not differs(Setting(key="k", value="", match=Match.UNSET), {})


@pytest.mark.parametrize(
    ("wanted", "has", "well"),
    [
        ("CONTROLLER:PLAINTEXT", DEFAULTS, True),
        ("CONTROLLER:SSL", DEFAULTS, False),
        ("CONTROLLER:PLAINTEXT", "PLAINTEXT:PLAINTEXT", False),
        ("CONTROLLER:PLAINTEXT", f"CONTROLLER:PLAINTEXT,{DEFAULTS}", True),
    ],
)
def test_the_default_map_is_enough_for_plaintext(wanted: str, has: str, well: bool) -> None:  # noqa: FBT001 - columns
    """Kafka's default map gives the controllers' listener PLAINTEXT by itself, and nothing else."""
    assert (differs(Setting(key=LISTENER, value=wanted, match=Match.HAS), {LISTENER: has}) == "") is well


CONTRACT = Contract(
    cluster_id=CLUSTER,
    release="4.4.0",
    image="",
    revision=3,
    settings=(Setting(key="controller.quorum.voters", value="", match=Match.UNSET),),
    controllers=("a:9093",),
    controller_ids=(NodeID(3000),),
)
WELL: Settings = {"controller.quorum.voters": ""}
OLD: Settings = {"controller.quorum.voters": "3000@a:9093"}


def with_brokers(*brokers: BrokerSeen, look: Observed | None = None) -> Observed:
    """A quorum with its contract and these registered brokers."""
    stored = Known(value=StoredContract(contract=CONTRACT))
    return replace(look or speaking(), contract=stored, brokers=Known(value=brokers))


def broker(node_id: int, settings: Settings | None = None, **changes: int) -> BrokerSeen:
    """A broker that runs with these settings, or cannot be asked."""
    known = Unknown(reason="it does not answer") if settings is None else Known(value=settings)
    return BrokerSeen(node_id=NodeID(node_id), settings=known, metadata_max=changes.get("metadata_max"))


def confirmed(revision_: int) -> BrokerAccess:
    """A spec that confirms a revision."""
    return BrokerAccess(confirmed_revision=revision_)


def test_conforms() -> None:
    """A broker conforms, does not, or it is unknown, with the reason."""
    now = situation(observed=with_brokers())
    assert conforms(now, broker(1, WELL)) == (True, "")
    assert conforms(now, broker(1, OLD)) == (False, "controller.quorum.voters is still set")
    assert conforms(now, broker(1)) == (None, "it does not answer")


@pytest.mark.parametrize(
    ("brokers", "revision_", "named"),
    [
        ((), 0, ()),
        ((broker(1, WELL),), 0, ()),
        ((broker(1, WELL), broker(2, OLD)), 0, ("broker 2", "still set")),
        ((broker(1, WELL), broker(2)), 0, ("broker 2", "does not answer", "confirmedRevision")),
        ((broker(1, WELL), broker(2)), 3, ()),
        ((broker(1, WELL), broker(2)), 2, ("broker 2",)),
        ((broker(1, OLD), broker(2)), 3, ("broker 1",)),
        (tuple(broker(each, OLD) for each in range(5)), 0, ("broker 0", "broker 2", "2 more brokers")),
    ],
)
def test_why_brokers_hold(brokers: tuple[BrokerSeen, ...], revision_: int, named: tuple[str, ...]) -> None:
    """Unknown is a no, except for a confirmed present revision; a broker that differs is never confirmed away."""
    look = with_brokers(*brokers)
    why = why_brokers_hold(situation(desired(broker_access=confirmed(revision_)), look))
    assert all(word in why for word in named)
    assert bool(why) is bool(named)


@pytest.mark.parametrize(("revision_", "held"), [(0, True), (2, True), (3, False)])
def test_a_list_that_is_unknown(revision_: int, held: bool) -> None:  # noqa: FBT001 - columns
    """If it is not known which brokers there are, that holds, unless a person confirmed the present revision."""
    look = replace(with_brokers(), brokers=Unknown(reason="no broker answered"))
    why = why_brokers_hold(situation(desired(broker_access=confirmed(revision_)), look))
    assert bool(why) is held
    assert not held or "no broker answered" in why


def test_guards_wait_for_brokers() -> None:
    """Levels go up and down, and static voters are dropped, only when every registered broker conforms."""
    now = situation(desired(), with_brokers(broker(7, OLD)))
    step = FeatureStep(name=METADATA, level=33)
    down = replace(step, downgrade=True)
    for verdict in (may_raise(now, step, ()), may_lower(now, down, down), may_drop_static(now)):
        assert isinstance(verdict, Refusal)
    assert "broker 7" in may_raise(now, step, ()).reason
    assert "broker 7" in may_drop_static(now).reason


def test_newer_brokers_hold_the_way_down() -> None:
    """A controller does not go back to an older release while a broker is known to run a newer one."""
    new, old = revision(), revision(runtime(release="4.3.0"), number=2)
    look = replace(speaking(said=saying("4.3.0")), revisions=(new, old))
    wanted = desired(runtime=runtime(release="4.3.0"))
    controller = node(running(), 3001)
    verdicts = {
        level: may_restart(
            situation(wanted, with_brokers(broker(5, WELL, metadata_max=level), look=look)),
            controller,
            pod(running(), controller),
        )
        for level in (33, 29)
    }
    assert isinstance(verdicts[33], Refusal)
    assert "brokers 5" in verdicts[33].reason
    assert verdicts[29].allowed


def test_levels_come_after_the_brokers() -> None:
    """No level is raised while a broker is known to run an earlier release, even one that it supports already."""
    step = FeatureStep(name="share.version", level=1)
    look = with_brokers(broker(1, WELL, metadata_max=27), broker(2, WELL, metadata_max=33), broker(3, WELL))
    refused = may_raise(situation(observed=look), step, ())
    assert not refused.allowed
    assert "brokers 1 do not run Kafka 4.4.0" in refused.reason
    well = with_brokers(broker(1, WELL, metadata_max=33), broker(3, WELL))
    assert "do not run" not in may_raise(situation(observed=well), step, ()).reason


def test_newer_brokers() -> None:
    """Only a broker that is known to support a higher level is of a later release."""
    look = with_brokers(broker(1, WELL, metadata_max=33), broker(2, WELL, metadata_max=29), broker(3))
    assert newer_brokers(situation(observed=look), 29) == ("1",)
    assert newer_brokers(situation(observed=at_rest()), 0) == ()
