"""Which controllers are wanted, what they are made from, and which voters are stale."""

from dataclasses import replace

import pytest
from tests.model.values import (
    IDS,
    at_rest,
    bound,
    desired,
    directory,
    key,
    minted,
    node,
    revision,
    running,
    runtime,
    started,
    view,
    with_pod,
    without_claim,
    without_pod,
)

from kafka_quorum.model.desired import BootstrapMode, ControllerListener
from kafka_quorum.model.identity import (
    BootstrapPhase,
    with_disk_lost,
    with_nodes,
    with_report,
    with_revision,
    without_node,
)
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.known import Knowable, Known, Unknown
from kafka_quorum.model.nodes import (
    all_initial_formatted,
    initial_node_ids,
    initial_nodes,
    is_down,
    is_foreign,
    node_of,
    older_than,
    requested_node_ids,
    revision_of,
    stale_voters,
    target_runtime,
)
from kafka_quorum.model.observed import KubeNode
from kafka_quorum.model.situation import Situation


def ids(*numbers: int) -> tuple[NodeID, ...]:
    """Node ids."""
    return tuple(NodeID(number) for number in numbers)


@pytest.mark.parametrize(
    ("present", "replicas", "exact", "wanted"),
    [
        ((), 3, (), (3000, 3001, 3002)),
        ((3000, 3001, 3002), 3, (), (3000, 3001, 3002)),
        ((3000, 3002), 3, (), (3000, 3001, 3002)),
        ((3000, 3001, 3002), 5, (), (3000, 3001, 3002, 3003, 3004)),
        ((3000, 3001, 3002), 1, (), (3000,)),
        ((1, 2, 3), 4, (), (1, 2, 3, 3000)),
        ((3000, 3001, 3002), 3, (5, 3, 4), (3, 4, 5)),
        ((), 3, (9, 7, 8), (7, 8, 9)),
        ((3000, 3001, 3004), 2, (), (3000, 3001)),
        ((3000, 3001, 3004), 4, (), (3000, 3001, 3002, 3004)),
        ((3000, 3004, 3005), 4, (), (3000, 3001, 3004, 3005)),
        ((1, 2, 3000), 2, (), (1, 2)),
    ],
    ids=[
        "first",
        "same",
        "gap",
        "grow",
        "shrink",
        "other ids",
        "exact set",
        "exact first",
        "highest goes",
        "lowest free comes",
        "lowest free comes again",
        "ids of mine shrink",
    ],
)
def test_wanted(present: tuple[int, ...], replicas: int, exact: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    """The lowest free ids are added and the highest removed; an exact set of ids decides alone."""
    record = replace(with_nodes(replace(minted(), nodes=()), ids(*present)), initial=()) if present else None
    assert requested_node_ids(desired(replicas=replicas, node_ids=ids(*exact)), record) == wanted


def test_initial_node_ids() -> None:
    """With initial controllers all are first voters; with standalone only the lowest."""
    assert initial_node_ids(desired()) == IDS
    assert initial_node_ids(desired(bootstrap=BootstrapMode.STANDALONE)) == IDS[:1]


def test_initial_nodes_survive_a_lost_disk() -> None:
    """A first voter stays a first voter after its disk is lost."""
    record = with_disk_lost(running(), IDS[1], new_claim=True)
    assert [of.node_id for of in initial_nodes(record)] == list(IDS)


def test_all_initial_formatted() -> None:
    """No initial format is left when every first voter is formatted, or after the barrier."""
    assert not all_initial_formatted(with_report(bound(), IDS[0], directory(3000)))
    assert all_initial_formatted(replace(started(), phase=BootstrapPhase.FORMATTING))
    assert all_initial_formatted(with_disk_lost(running(), IDS[1], new_claim=True))


def test_revision_of() -> None:
    """A controller's own revision counts, otherwise the applied one; also if its own one is missing."""
    newer = revision(runtime(heap="1Gi"), number=2)
    record = with_revision(running(), newer.name, [IDS[1]])
    both = at_rest(record, revisions=(revision(), newer))
    assert revision_of(both, record, node(record, 3001)) == newer
    assert revision_of(both, record, node(record, 3000)) == revision()
    assert revision_of(at_rest(record), record, node(record, 3001)) == revision()
    assert revision_of(at_rest(record, revisions=()), record, node(record, 3001)) is None


def test_stale_voters() -> None:
    """A voter on another disk, or of no controller of ours, is stale."""
    record = with_report(with_disk_lost(running(), IDS[1], new_claim=False), IDS[1], directory(3001, 2))
    assert stale_voters(record, view([key(3000), key(3001), key(3002), key(7)])) == (key(3001), key(7))
    assert stale_voters(running(), view([key(node_id) for node_id in IDS])) == ()


def test_is_foreign() -> None:
    """A replica is foreign if its node id is not ours, and its disk was never retired here."""
    smaller = without_node(running(), IDS[2])
    assert is_foreign(running(), key(7))
    assert not is_foreign(running(), key(3001, 9))
    assert not is_foreign(smaller, key(3002))
    assert is_foreign(smaller, key(3002, 9))


@pytest.mark.parametrize(
    ("said", "down"),
    [
        ((), False),
        ((("w", Unknown(reason="forbidden")),), False),
        ((("w", Known(value=KubeNode(name="w", exists=True, ready=True))),), False),
        ((("w", Known(value=KubeNode(name="w", exists=True, ready=False))),), True),
        ((("w", Known(value=KubeNode(name="w", exists=False, ready=False))),), True),
    ],
    ids=["not asked", "not known", "ready", "not ready", "gone"],
)
def test_is_down(said: tuple[tuple[str, Knowable[KubeNode]], ...], *, down: bool) -> None:
    """A Kubernetes node is down only if Kubernetes reports it; an unknown one is not."""
    assert is_down(at_rest(kube_nodes=said), "w") is down
    assert not is_down(at_rest(kube_nodes=said), "")


def test_node_of() -> None:
    """A controller is where its pod is, otherwise where its volume is bound; without a claim it is nowhere."""
    record = running()
    of = node(record, 3001)
    look = at_rest(record)
    assert node_of(look, of) == "worker-3001"
    assert node_of(with_pod(look, 3001, node_name="elsewhere"), of) == "elsewhere"
    assert node_of(with_pod(look, 3001, node_name="elsewhere", claim_uid="another"), of) == "worker-3001"
    assert node_of(without_pod(look, 3001), of) == "worker-3001"
    assert node_of(without_claim(without_pod(look, 3001), 3001), of) == ""
    assert node_of(look, replace(of, claim_uid=None)) == ""


def test_target_is_the_spec() -> None:
    """The target of pods is the spec, whatever they run now."""
    wanted = desired(runtime=runtime(heap="1Gi"))
    assert target_runtime(wanted, at_rest(), running()) == wanted.runtime
    target = Situation(desired=wanted, observed=at_rest(), record=running()).target
    assert target == revision(wanted.runtime).name


def test_target_of_a_static_quorum() -> None:
    """In a static quorum the target lists every present controller, and not the additional wanted ones."""
    static = replace(running(), static=True)
    assert target_runtime(desired(replicas=5), at_rest(static), static).static_voters == IDS
    assert target_runtime(desired(), at_rest(), running()).static_voters == ()


def test_target_keeps_the_listener_of_what_runs() -> None:
    """After the barrier the target has the listener of the applied revision; otherwise it has the spec's."""
    other = ControllerListener(name="CONTROLLER", port=9094)
    wanted = desired(runtime=runtime(listener=other, heap="1Gi"))
    assert target_runtime(wanted, at_rest(), running()) == runtime(heap="1Gi")
    assert target_runtime(wanted, at_rest(bound()), bound()).listener == other
    assert target_runtime(wanted, at_rest(revisions=()), running()).listener == other


def test_metrics_wait_for_their_port() -> None:
    """A listener that has the port of the metrics stays, and there are no metrics until it has moved away."""
    taken = revision(runtime(listener=ControllerListener(name="CONTROLLER", port=9404)))
    wanted = desired(runtime=runtime(jmx=True))
    look = at_rest(revisions=(taken,))
    assert not target_runtime(wanted, look, replace(running(), applied_revision=taken.name)).jmx
    assert target_runtime(wanted, at_rest(), running()).jmx


def test_older_by_record_or_by_pod() -> None:
    """A controller is older by its record or by its present pod; a missing pod does not make it older."""
    new = revision(runtime(heap="1Gi"), number=2)
    record = with_revision(running(), new.name, IDS[1:])
    look = with_pod(at_rest(record), 3002, revision=revision().name)
    assert [of.node_id for of in older_than(look, record, new.name)] == [3000, 3002]
    assert [of.node_id for of in older_than(without_pod(look, 3002), record, new.name)] == [3000]
    assert older_than(at_rest(), running(), revision().name) == ()
