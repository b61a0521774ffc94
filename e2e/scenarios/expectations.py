"""What holds of every good quorum, looked up where it is true: on the disks, in Kafka, in the record, in the status."""

from harness import nodes
from harness.quorum import Quorum


def assert_one_quorum(quorum: Quorum, *, initial: set[int], voters: set[int]) -> None:
    """One cluster id everywhere, and each controller's directory id the same on disk, in Kafka, record and status.

    `initial` are the node ids whose disks were formatted with the first voters, `voters` those of the present ones.
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
