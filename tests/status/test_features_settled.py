"""FeaturesSettled: settled, held, or what is waited for, with what blocks it."""

from dataclasses import replace

from tests.golden.facts import facts, mentions
from tests.model.values import SILENT, at_rest, desired, saying, speaking
from tests.status.passes import done

from kafka_quorum.api.features import METADATA
from kafka_quorum.model.desired import Desired, FeatureLevel
from kafka_quorum.model.known import Known
from kafka_quorum.model.memory import Soak, StepCheck
from kafka_quorum.model.observed import Observed
from kafka_quorum.model.plan import FeaturePlan, Plan, Severity, Wait
from kafka_quorum.model.quorum import FeatureStep
from kafka_quorum.status.features_settled import features_settled
from kit.conditions.finding import Finding, Truth

OF_4_1 = replace(saying(), finalized=saying("4.1.2").finalized)
RAISE = FeatureStep(name=METADATA, level=28)
RAISED = desired(features=(FeatureLevel(name=METADATA, level=29),))


def told(look: Observed, wanted: Desired | None = None) -> Finding:
    """The condition after a pass over this look."""
    finding = features_settled(done(look, wanted))
    assert finding.type == "FeaturesSettled"
    return finding


def checked(check: StepCheck, soaked_s: float = 600.0) -> Observed:
    """Three controllers of 4.4 at the levels of 4.1; this is the active one's answer about the next step."""
    look = speaking(said=OF_4_1, checks=((RAISE, Known(value=check)),))
    return replace(look, memory=replace(look.memory, soak=Soak(epoch=7, healthy_s=soaked_s)))


def test_settled() -> None:
    """Every feature is at its level, and none can be raised."""
    finding = told(speaking())
    assert (finding.truth, finding.reason) == (Truth.TRUE, "Settled")
    assert facts(finding.message) == facts()


def test_no_answer() -> None:
    """The condition is Unknown if no controller reports the finalized levels."""
    for look in (at_rest(), at_rest(quorum=SILENT)):
        finding = told(look)
        assert (finding.truth, finding.reason) == (Truth.UNKNOWN, "NoAnswer")
        assert facts(finding.message) == facts()


def test_held() -> None:
    """Under Hold the message lists the possible levels, and how to request them."""
    finding = told(speaking(said=OF_4_1))
    assert (finding.truth, finding.reason) == (Truth.TRUE, "Held")
    assert facts(finding.message) == (
        facts(
            "metadata.version",
            "4.1-IV1",
            27,
            "4.4-IV2",
            33,
            "share.version",
            "0",
            2,
            "streams.version",
            "0",
            1,
            "spec.kafka.features.policy",
        )
    )


def test_held_and_blocked() -> None:
    """Under Hold the message lists what would block a level, once."""
    no = StepCheck(allowed=False, words="Broker 2 only supports versions 1-21")
    steps = (FeatureStep(name=METADATA, level=33), FeatureStep(name="share.version", level=2))
    look = speaking(said=OF_4_1, checks=tuple((step, Known(value=no)) for step in steps))
    assert mentions(told(look).message, 2, "1-21")


def test_raising() -> None:
    """A step in progress is reported with its way."""
    finding = told(checked(StepCheck(allowed=True, words="")), RAISED)
    assert (finding.truth, finding.reason) == (Truth.FALSE, "Raising")
    assert facts(finding.message) == facts("metadata.version", "4.1-IV1", 27, "4.2-IV1", 29)


def test_waiting_for_an_answer() -> None:
    """A step about which the active controller was not asked yet counts as progress."""
    finding = told(speaking(said=OF_4_1), RAISED)
    assert (finding.truth, finding.reason) == (Truth.FALSE, "Raising")
    assert mentions(finding.message, "metadata.version")


def test_soaking() -> None:
    """A step that waits for the soak is reported as soaking."""
    finding = told(checked(StepCheck(allowed=True, words=""), 5.0), RAISED)
    assert (finding.truth, finding.reason) == (Truth.FALSE, "Soaking")
    assert mentions(finding.message, 60)


def test_blocked() -> None:
    """A refused step is reported with what blocks it."""
    finding = told(checked(StepCheck(allowed=False, words="Broker 2 only supports versions 1-21")), RAISED)
    assert (finding.truth, finding.reason) == (Truth.FALSE, "Blocked")
    assert "Broker 2 only supports versions 1-21" in finding.message


def test_refused() -> None:
    """A lower level without the policy is refused, and the message names the field."""
    finding = told(speaking(), RAISED)
    assert (finding.truth, finding.reason) == (Truth.FALSE, "Refused")
    assert mentions(finding.message, "spec.kafka.features.downgrade")


def test_a_finalized_level_that_some_do_not_show_yet() -> None:
    """If a level is finalized, but not yet reported by all, the feature is not settled."""
    scene = done(speaking())
    wait = Wait(severity=Severity.PROGRESS, reason="SteppingFeature", message="once controllers 3000 say so")
    finding = features_settled(replace(scene, plan=replace(scene.plan, waits=(wait,))))
    assert (finding.truth, finding.reason, facts(finding.message)) == (Truth.FALSE, "Raising", facts(3000))


def test_what_else_is_waited_for_is_no_reason() -> None:
    """If other work goes first, the way is reported, with what will block it."""
    scene = done(speaking(said=OF_4_1))
    way = FeaturePlan(name=METADATA, present=27, level=29, requested=True, against="controller 3001 runs 4.1.2")
    plan = Plan(actions=(), waits=(), verdicts=(), requeue_s=1.0, features=(way,))
    finding = features_settled(replace(scene, plan=plan))
    assert (finding.truth, finding.reason) == (Truth.FALSE, "Raising")
    assert facts(finding.message) == facts("metadata.version", "4.1-IV1", 27, "4.2-IV1", 29, 3001, "4.1.2")
