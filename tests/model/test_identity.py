"""The transitions of the record: none goes back to a phase before the barrier."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.values import CLUSTER, IDS, bound, claim_uid, directory, key, minted, node, running, started

from kafka_quorum.model.desired import BootstrapMode, ControllerListener
from kafka_quorum.model.identity import (
    BootstrapPhase,
    Format,
    FormatMode,
    FormerNode,
    IdentityRecord,
    mint,
    with_claim,
    with_disk_lost,
    with_levels,
    with_migration,
    with_nodes,
    with_report,
    with_revision,
    with_started,
    without_claim,
    without_migration,
    without_node,
)
from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.migration import MigrationKind, Reached
from kafka_quorum.model.quorum import FinalizedFeature


def test_minted() -> None:
    """A new record has its initial keys, no claim, and the barrier up."""
    record = minted()
    assert record.cluster_id == CLUSTER
    assert record.phase is BootstrapPhase.FORMATTING
    assert record.initial == (key(3000), key(3001), key(3002))
    assert record.node_ids == IDS
    assert {(of.mode, of.formatted, of.claim_uid, of.generation) for of in record.nodes} == {
        (FormatMode.INITIAL_CONTROLLERS, False, None, 1)
    }


def test_minted_standalone() -> None:
    """A standalone record has one initial key; Kafka generates the other directory ids."""
    record = minted(mode=BootstrapMode.STANDALONE)
    assert record.initial == (key(3000),)
    assert [of.directory_id for of in record.nodes] == [directory(3000), None, None]
    assert [of.mode for of in record.nodes[1:]] == [FormatMode.NO_INITIAL_CONTROLLERS] * 2


def test_with_nodes() -> None:
    """Further controllers are in order, and are never initial ones."""
    record = with_nodes(minted(), [NodeID(3005), NodeID(2000)])
    assert record.node_ids == (2000, *IDS, 3005)
    assert record.initial == minted().initial
    assert node(record, 2000).mode is FormatMode.NO_INITIAL_CONTROLLERS


def test_with_claim_and_report() -> None:
    """A claim's uid and a formatter's report are recorded only for their controller."""
    record = with_report(with_claim(minted(), IDS[1], "uid-1"), IDS[1], directory(3001))
    assert (node(record, 3001).claim_uid, node(record, 3001).formatted) == ("uid-1", True)
    assert node(record, 3000) == node(minted(), 3000)


def test_without_claim() -> None:
    """Before the barrier the next generation keeps the pre-made id; behind it this is refused for a formatted disk."""
    record = without_claim(with_report(bound(), IDS[0], directory(3000)), IDS[0])
    lost = node(record, 3000)
    assert (lost.generation, lost.claim_uid, lost.formatted) == (2, None, False)
    assert lost.key == key(3000)
    with pytest.raises(ValueError, match="3000"):
        without_claim(started(), IDS[0])


@pytest.mark.parametrize(("new_claim", "generation", "uid"), [(True, 2, None), (False, 1, claim_uid(3001))])
def test_with_disk_lost(new_claim: bool, generation: int, uid: str | None) -> None:  # noqa: FBT001 - a column
    """A lost disk retires its directory id, and the next one is formatted as a newcomer's."""
    lost = node(with_disk_lost(running(), IDS[1], new_claim=new_claim), 3001)
    assert (lost.generation, lost.claim_uid) == (generation, uid)
    assert (lost.directory_id, lost.formatted, lost.retired) == (None, False, (directory(3001),))
    assert lost.mode is FormatMode.NO_INITIAL_CONTROLLERS


def test_lost_again() -> None:
    """Every lost directory id of a controller is stored; a lost disk without one adds nothing."""
    once = with_disk_lost(running(), IDS[1], new_claim=False)
    assert node(with_disk_lost(once, IDS[1], new_claim=True), 3001).retired == (directory(3001),)
    twice = with_disk_lost(with_report(once, IDS[1], directory(3001, 2)), IDS[1], new_claim=False)
    assert node(twice, 3001).retired == (directory(3001), directory(3001, 2))


def test_barrier_holds() -> None:
    """The barrier does not fall while an initial controller has not reported."""
    with pytest.raises(ValueError, match="3002"):
        with_started(
            with_report(with_report(bound(), IDS[0], directory(3000)), IDS[1], directory(3001)),
            ControllerListener(name="CONTROLLER", port=9093),
        )


def test_barrier_asks_initial_controllers_alone() -> None:
    """Controllers that join later do not hold the barrier."""
    record = started(mode=BootstrapMode.STANDALONE)
    assert record.phase is BootstrapPhase.STARTED
    assert not node(record, 3001).formatted


def test_without_node() -> None:
    """A removed controller is stored with its id, its last generation, and all its directory ids."""
    twice = with_report(with_disk_lost(running(), IDS[1], new_claim=True), IDS[1], directory(3001, 2))
    record = without_node(twice, IDS[1])
    assert record.node_ids == (IDS[0], IDS[2])
    assert record.former == (FormerNode(node_id=IDS[1], generation=2, retired=(directory(3001), directory(3001, 2))),)
    assert record.retired == {directory(3001), directory(3001, 2)}
    assert record.initial == running().initial


def test_node_that_comes_back() -> None:
    """A node id that returns continues its generations and lost disks, and is formatted as a newcomer."""
    record = with_nodes(without_node(running(), IDS[1]), [IDS[1]])
    again = node(record, 3001)
    assert (again.generation, again.claim_uid, again.directory_id, again.formatted) == (2, None, None, False)
    assert (again.mode, again.retired) == (FormatMode.NO_INITIAL_CONTROLLERS, (directory(3001),))
    assert record.former == ()
    assert record.retired == {directory(3001)}
    thrice = with_nodes(without_node(record, IDS[1]), [IDS[1]])
    assert (node(thrice, 3001).generation, node(thrice, 3001).retired) == (3, (directory(3001),))


def test_removed_before_it_was_formatted() -> None:
    """A controller that was removed before its format leaves no directory id."""
    record = without_node(with_nodes(running(), [NodeID(3003)]), NodeID(3003))
    assert record.former == (FormerNode(node_id=NodeID(3003), generation=1, retired=()),)


def test_with_revision() -> None:
    """Only the named nodes get the revision."""
    record = with_revision(running(), "alpha-abc", [IDS[1]])
    assert [of.revision for of in record.nodes] == [None, "alpha-abc", None]


def test_unknown_node() -> None:
    """A transition of a controller outside the record is a fault of ours."""
    with pytest.raises(ValueError, match=r"\b9\b"):
        with_claim(minted(), NodeID(9), "uid")
    assert minted().node(NodeID(9)) is None


def _step(record: IdentityRecord, choice: int, node_id: NodeID) -> IdentityRecord:  # noqa: PLR0911 - one case a step
    of = node(record, node_id)
    match choice:
        case 0:
            return with_claim(record, node_id, f"uid-{of.generation}")
        case 1:
            made = of.directory_id or directory(node_id, 2 + len(of.retired))
            return with_report(record, node_id, made)
        case 2:
            return without_claim(record, node_id)
        case 3:
            return with_disk_lost(record, node_id, new_claim=True)
        case 4:
            return with_started(record, ControllerListener(name="CONTROLLER", port=9093))
        case 5:
            return with_nodes(without_node(record, node_id), [node_id])
        case _:
            return with_revision(record, "alpha-x", [node_id])


@given(st.lists(st.tuples(st.integers(0, 6), st.sampled_from(IDS)), max_size=30))
def test_no_way_back(steps: list[tuple[int, NodeID]]) -> None:
    """In any order of steps Started stays, generations never fall, initial keys stay, a retired id never returns."""
    record = minted()
    for choice, node_id in steps:
        before = record
        try:
            record = _step(record, choice, node_id)
        except ValueError:
            continue
        assert before.phase is BootstrapPhase.FORMATTING or record.phase is BootstrapPhase.STARTED
        assert record.initial == before.initial
        assert record.retired >= before.retired
        for old, new in zip(before.nodes, record.nodes, strict=True):
            assert new.generation >= old.generation
            assert new.retired[: len(old.retired)] == old.retired
            assert new.directory_id not in new.retired
            assert old.mode is FormatMode.INITIAL_CONTROLLERS or new.mode is old.mode


def test_frozen() -> None:
    """A record is a value, which is replaced and never changed."""
    record = minted()
    with pytest.raises(AttributeError):
        record.phase = BootstrapPhase.STARTED  # type: ignore[misc]  # this is what the test is about
    assert replace(record, had_leader=True) != record


# Static quorums


def static() -> IdentityRecord:
    """The record of a static quorum with its claims: no directory id is known before Kafka's tool generates it."""
    record = mint(
        CLUSTER,
        Format(mode=BootstrapMode.STATIC, release="4.1.2", features=()),
        [ReplicaKey(node_id=node_id, directory_id=None) for node_id in IDS],
        [],
    )
    for node_id in IDS:
        record = with_claim(record, node_id, claim_uid(node_id))
    return record


def test_minted_static() -> None:
    """A static record is marked as such, and its controllers are formatted as static voters without pre-made ids."""
    record = static()
    assert record.static
    assert {(of.mode, of.directory_id) for of in record.nodes} == {(FormatMode.STATIC, None)}
    assert not minted().static
    assert not minted(mode=BootstrapMode.STANDALONE).static


def test_report_fills_the_initial_key() -> None:
    """The directory id that the tool generated for a static voter becomes its first voter's, and no other's."""
    record = with_report(static(), IDS[1], directory(3001))
    assert [of.directory_id for of in record.initial] == [None, directory(3001), None]
    assert node(record, 3001).key == record.initial[1] == key(3001)
    assert node(record, 3001).formatted


def test_lost_claim_empties_the_initial_key() -> None:
    """Before the barrier a lost claim also removes the static voter's directory id; the next report sets it again."""
    record = without_claim(with_report(static(), IDS[1], directory(3001)), IDS[1])
    assert [of.directory_id for of in record.initial] == [None] * 3
    after = node(record, 3001)
    assert (after.directory_id, after.formatted, after.generation, after.claim_uid) == (None, False, 2, None)
    again = with_report(with_claim(record, IDS[1], "another"), IDS[1], directory(3001, 2))
    assert again.initial[1] == key(3001, 2)


def test_pre_made_keys_stay() -> None:
    """The keys of a dynamic quorum are pre-made: neither a report nor a lost claim changes them."""
    lost = without_claim(with_report(bound(), IDS[1], directory(3001)), IDS[1])
    assert lost.initial == bound().initial
    assert node(lost, 3001).directory_id == directory(3001)


def reached(stage: str) -> Reached:
    """A migration from static to dynamic at this stage."""
    return Reached(kind=MigrationKind.STATIC_TO_DYNAMIC, stage=stage, release="4.1.2", image="")


def test_levels_and_dynamic() -> None:
    """Finalized levels replace the earlier ones; a dynamic quorum drops the static voters, and keeps the rest."""
    levels = (FinalizedFeature(name="metadata.version", level=27),)
    assert with_levels(with_levels(running(), levels), ()).levels == ()
    assert with_levels(running(), levels) == replace(running(), levels=levels)
    dynamic = with_migration(replace(running(), static=True), reached("Controllers"))
    assert without_migration(dynamic) == running()
