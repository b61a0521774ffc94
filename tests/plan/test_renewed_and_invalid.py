"""Certificates go on being renewed, and brought to running controllers, while the spec is not valid."""

from dataclasses import replace

from tests.model.certificates import LEAF_S, leaf_seen, looked, material, recorded, secured, wanted, with_leaf
from tests.model.values import IDS, NOW_S, runtime, situation

from kafka_quorum.model.actions import CreateRevision
from kafka_quorum.model.certified import holders
from kafka_quorum.model.desired import Desired, Runtime
from kafka_quorum.model.identity import IdentityRecord, with_revision
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.material import Material
from kafka_quorum.model.situation import Situation
from kafka_quorum.plan.part import Part
from kafka_quorum.plan.releases.revisions import revisions
from kafka_quorum.plan.releases.rolls import roll

_RENEWED = secured(certificates=2)


def renewed(record: IdentityRecord) -> Material:
    """Every Secret has the second generation, and the first one ends now."""
    seen = material(record)
    for holder in holders(record):
        seen = with_leaf(seen, holder, leaf_seen(holder, at_s=NOW_S, generation=2, before_ends_s=int(NOW_S)))
    return seen


def at(*made: Runtime, spec: Desired | None = None, record: IdentityRecord | None = None) -> Situation:
    """A quorum with an invalid spec, made from the first of these runtimes; the leafs are renewed."""
    of = record or recorded()
    look = looked(of, renewed(of), *(made or (secured(),)))
    return situation(spec or wanted(), look, of, now_s=NOW_S + LEAF_S / 2, repair_only=True)


def test_renewed_certificates_get_a_revision() -> None:
    """The revision is made that differs in the generation of the certificates alone."""
    (action,) = revisions(at()).actions
    assert isinstance(action, CreateRevision)
    assert action.runtime == _RENEWED


def test_controllers_restart_for_renewed_certificates() -> None:
    """The roll to that revision begins: the API server is asked about the first new pod."""
    part = roll(at(secured(), _RENEWED))
    assert [question.revision for question in part.questions] == [at().target]


def test_nothing_else_is_rolled_out() -> None:
    """If the last accepted spec has another setting, too, no revision is made, and no controller restarts."""
    other = runtime(listener=_RENEWED.listener, heap="2Gi")
    spec = wanted(runtime=other)
    assert revisions(at(spec=spec)) == Part()
    made = secured(certificates=2, heap="2Gi")
    assert at(secured(), made, spec=spec).target_revision is not None
    assert roll(at(secured(), made, spec=spec)) == Part()


def test_a_roll_of_other_changes_does_not_go_on() -> None:
    """A controller that was moved for another change keeps the others from restarting, whatever the spec is now."""
    other = secured(heap="2Gi")
    of = recorded()
    name = at(secured(), other).observed.revisions[1].name
    moved = with_revision(of, name, (IDS[0],))
    assert not at(secured(), other, record=moved).renews_only
    assert at(secured(), other, record=of).renews_only


def test_a_pod_of_a_removed_controller_does_not_count() -> None:
    """It only ends: what it was made from keeps no certificate from its renewal."""
    seen = at(secured(), _RENEWED)
    pod = replace(seen.observed.pods[0], node_id=NodeID(3999), revision="alpha-of-before")
    assert replace(seen, observed=replace(seen.observed, pods=(*seen.observed.pods, pod))).renews_only


def test_a_lost_revision_is_no_known_one() -> None:
    """What a pod is made from is not known if its revision is gone: then no roll begins."""
    seen = at(secured(), _RENEWED)
    pods = tuple(replace(each, revision="alpha-gone") for each in seen.observed.pods)
    gone = replace(seen, observed=replace(seen.observed, pods=pods))
    assert not gone.renews_only
    assert roll(gone) == Part()
