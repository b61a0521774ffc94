"""What controllers report of the levels that they support, and what a step requires of them."""

from dataclasses import replace

import pytest
from tests.golden.facts import facts
from tests.model.values import IDS, saying, situation, speaking, without_pod

from kafka_quorum.api.features import KRAFT, METADATA
from kafka_quorum.model.known import Known, Unknown
from kafka_quorum.model.memory import Soak, StepCheck
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.permit import Verdict
from kafka_quorum.model.quorum import FeatureStep, NodeVersions
from kafka_quorum.plan.guards.rule7_releases import blockers, may_raise

UP = FeatureStep(name=METADATA, level=28)
TO_DYNAMIC = FeatureStep(name=KRAFT, level=1)
FINE = Known(value=StepCheck(allowed=True, words=""))
OF_4_1 = replace(saying(), finalized=saying("4.1.2").finalized)


def ready() -> Observed:
    """Three controllers at the levels of 4.1, after the soak; the active one accepts both steps."""
    look = speaking(said=OF_4_1, checks=((UP, FINE), (TO_DYNAMIC, FINE)))
    return replace(look, memory=replace(look.memory, soak=Soak(epoch=7, healthy_s=60.0)))


def said_by(look: Observed, node_id: int, said: NodeVersions | None) -> Observed:
    """The same look, in which this controller reports this, or does not answer."""
    answer = Unknown(reason="busy") if said is None else Known(value=said)
    return replace(look, versions=tuple((of, answer if of == node_id else old) for of, old in look.versions))


def raising(look: Observed, step: FeatureStep = UP) -> Verdict:
    """The guard's verdict on one level up."""
    return may_raise(situation(observed=look), step, ())


def test_a_controller_without_a_running_pod_blocks_as_well() -> None:
    """A controller that reported its ranges blocks a level that it does not support, even if its pod is gone now."""
    look = without_pod(said_by(ready(), 3001, saying("4.1.2")), 3001)
    (blocking,) = blockers(situation(observed=look), UP)
    assert facts(blocking) == facts(3001, METADATA, "4.1-IV1", 27)
    assert not raising(look).allowed


def test_a_permit_names_the_controllers_that_do_not_answer() -> None:
    """The permit of a step names in addition the controllers that do not answer, if there are any."""
    heard, unheard = raising(ready()), raising(said_by(ready(), 3001, None))
    assert (heard.allowed, unheard.allowed) == (True, True)
    assert unheard.reason.startswith(heard.reason)
    assert facts(unheard.reason) == facts(heard.reason, 3001)


@pytest.mark.parametrize("least", [25, 0], ids=["an older range", "no range"])
def test_a_controller_that_may_keep_the_quorum_static(least: int) -> None:
    """kraft.version is not raised while a controller reports a metadata.version below 4.1's, or reports none."""
    assert raising(ready(), TO_DYNAMIC).allowed
    plain = saying()
    kept = tuple(
        replace(each, max_level=least) if each.name == METADATA else each
        for each in plain.supported
        if least or each.name != METADATA
    )
    said = raising(said_by(ready(), IDS[1], replace(plain, supported=kept)), TO_DYNAMIC)
    assert not said.allowed
    assert facts(said.reason) == facts(KRAFT, 1, "4.1", 3001, "4.4.0")
