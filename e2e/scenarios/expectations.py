"""What holds of every good quorum, read at its source: on the disks, in Kafka, in the record, in the status."""

from harness import nodes
from harness.quorum import Quorum
from harness.shell import wait_until
from harness.writer import Writer


def assert_one_quorum(quorum: Quorum, *, initial: set[int], voters: set[int]) -> None:
    """One cluster id everywhere, and each controller's directory id is the same on disk, in Kafka, record and status.

    `initial` are the node ids whose disks were formatted with the first voters; `voters` are the present ones.
    """
    record, status = quorum.record(), quorum.status()
    cluster = record["cluster_id"]
    disks = quorum.disks()
    assert {disk["cluster.id"] for disk in disks.values()} == {cluster}
    assert status["clusterID"] == cluster
    assert quorum.cluster_ids() == {cluster}
    on_disk = {int(disk["node.id"]): disk["directory.id"] for disk in disks.values()}
    assert on_disk == {row["node_id"]: row["directory_id"] for row in record["nodes"]}
    assert on_disk == {row["nodeID"]: row["directoryID"] for row in status["controllers"]}
    assert quorum.voters() == {f"{node}-{on_disk[node]}" for node in voters}
    assert {row["nodeID"] for row in status["quorum"]["currentVoters"]} == voters
    assert {row["node_id"] for row in record["initial"]} == initial


def formatted_with_voters(quorum: Quorum) -> set[str]:
    """The claims whose disks were formatted with a voter set."""
    host = f".{quorum.name}-controllers."
    return {claim for claim in quorum.claims() if nodes.holds_first_voters(quorum.namespace, claim, host)}


def restarts(quorum: Quorum) -> int:
    """How often Kafka's containers were restarted."""
    return sum(count for _, count, _ in quorum.running().values())


def assert_untouched(quorum: Quorum, before: dict[int, tuple[str, int, str]], staying: set[int]) -> None:
    """The pods of these controllers are the same as before, without a restart."""
    now = quorum.running()
    assert {node: now.get(node) for node in staying} == {node: before[node] for node in staying}


def assert_nothing_lost(writer: Writer, since_s: float | None = None) -> None:
    """The present quorum accepts writes, and every acknowledged write is there."""
    writer.wait_acknowledged()
    account = writer.finish()
    if since_s is not None:
        print(f"longest time without an acknowledgement: {account.longest_gap_s(since_s, account.last_s):.2f} s")
    assert account.acknowledged
    assert not account.lost


def assert_removed(quorum: Quorum, node_ids: set[int]) -> None:
    """Removed controllers have no pods, no claims and no entry in the record."""

    def gone() -> bool:
        left = {int(claim["metadata"]["labels"]["kafkaquorum.io/node-id"]) for claim in quorum.claims().values()}
        return not node_ids & (left | set(quorum.pods()) | set(quorum.pods("formatter")))

    wait_until(f"nothing is left of {sorted(node_ids)}", gone, 90)
    assert not node_ids & {row["node_id"] for row in quorum.record()["nodes"]}
