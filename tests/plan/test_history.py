"""Old revisions: which are deleted, and which never are."""

from dataclasses import replace

import pytest
from tests.model.values import (
    NAME,
    at_rest,
    desired,
    formatter,
    node,
    revision,
    running,
    runtime,
    situation,
    stepping,
    with_pod,
    without_pod,
)
from tests.plan.reading import every, planned

from kafka_quorum.api.features import METADATA
from kafka_quorum.model.actions import DeleteRevision
from kafka_quorum.model.identity import with_revision
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.observed import Observed, Revision, SupportObject
from kafka_quorum.plan.releases.history import KEPT, old_revisions

PRESENT = replace(revision(), number=100)


def old(number: int, release: str = "4.4.0") -> Revision:
    """A revision of an earlier spec."""
    return replace(revision(runtime(release=release)), name=f"{NAME}-old-{number}", number=number)


def stored(of: Revision) -> SupportObject:
    """The object that stores it."""
    return SupportObject(
        kind="ControllerRevision", name=of.name, uid=f"u-{of.number}", owner_uid=None, resource_version="7", facts=""
    )


def look(*revisions: Revision, observed: Observed | None = None) -> Observed:
    """A quorum at rest that runs from the present revision; these revisions exist in addition."""
    base = at_rest() if observed is None else observed
    everything = (*revisions, PRESENT)
    return replace(base, revisions=everything, support=(*base.support, *map(stored, everything)))


def deleted(observed: Observed) -> list[str]:
    """The names of the revisions that the plan deletes."""
    return [action.name for action in every(planned(observed), DeleteRevision)]


def test_the_newest_stay() -> None:
    """The newest KEPT revisions by number stay; the others are deleted, with the uid and version that were seen."""
    seen = look(*(old(number) for number in (3, 1, 2, *range(10, 10 + KEPT - 1))))
    assert deleted(seen) == [f"{NAME}-old-3", f"{NAME}-old-1", f"{NAME}-old-2"]
    first = every(planned(seen), DeleteRevision)[0]
    assert (first.uid, first.resource_version) == ("u-3", "7")
    assert deleted(look(*(old(number) for number in range(10, 10 + KEPT - 1)))) == []


def test_the_oldest_release_stays() -> None:
    """The oldest release stays, compared by numbers and not by letters: a rebuilt record takes its release from it."""
    rows = (old(1), old(2, "3.9.10"), old(3, "3.10.0"), *(old(number) for number in range(10, 10 + KEPT)))
    assert deleted(look(*rows)) == [f"{NAME}-old-1", f"{NAME}-old-3", f"{NAME}-old-10"]


@pytest.mark.parametrize("whose", ["the fleet", "a controller", "a pod", "a formatter", "the spec"])
def test_what_is_in_use_stays(whose: str) -> None:
    """A revision that a pod was made from, or may be made from next, stays, however old it is."""
    of = revision(runtime(heap="1Gi"))
    used, newer = replace(of, number=1), tuple(old(number) for number in range(10, 10 + KEPT))
    seen, wanted, record = look(old(2), used, *newer), desired(), running()
    match whose:
        case "the fleet":
            seen = replace(seen, record=replace(record, applied_revision=used.name))
        case "a controller":
            seen = replace(seen, record=with_revision(record, used.name, (NodeID(3001),)))
        case "a pod":
            seen = with_pod(seen, 3001, revision=used.name)
        case "a formatter":
            pod = formatter(record, node(record, 3001), revision=used.name)
            seen = replace(seen, pods=(*seen.pods, pod))
        case _:
            wanted = desired(runtime=used.runtime)
    chosen = old_revisions(situation(wanted, seen)).actions
    assert {action.name for action in chosen if isinstance(action, DeleteRevision)} == {
        f"{NAME}-old-2",
        f"{NAME}-old-10",
    }


def test_only_so_many_at_once() -> None:
    """A long history is cleaned up pass by pass, 20 revisions at a time."""
    assert len(deleted(look(*(old(number) for number in range(90))))) == 20


def test_what_cannot_be_read_stays() -> None:
    """The object of a revision that cannot be read is not deleted: it may belong to a later operator."""
    seen = look(*(old(number) for number in range(10, 10 + KEPT)))
    assert deleted(replace(seen, support=(*seen.support, stored(old(1))))) == [f"{NAME}-old-10"]


def test_it_waits_for_everything_else() -> None:
    """Nothing is deleted while the spec is invalid, a feature step is open, or something else is to do."""
    seen = look(*(old(number) for number in range(1, 3 + KEPT)))
    assert len(deleted(seen)) == 3
    assert every(planned(seen, repair_only=True), DeleteRevision) == []
    stepping_ = replace(seen, status=replace(seen.status, open=stepping(METADATA, 27)))
    assert deleted(stepping_) == []
    assert deleted(without_pod(seen, 3001)) == []
