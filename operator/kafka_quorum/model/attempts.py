"""Another attempt of a migration from ZooKeeper, after the cluster went back to ZooKeeper (KIP-866).

This is the only way from `STARTED` back to `FORMATTING`: the quorum has ended, and its disks hold nothing any more.
"""

from dataclasses import replace

from kafka_quorum.model.identity import BootstrapPhase, FormatMode, IdentityRecord, from_zookeeper


def attempted_again(record: IdentityRecord) -> IdentityRecord:
    """The record before another attempt, after the cluster went back to ZooKeeper: new volumes, and new directory ids.

    ValueError if it did not go back: its controllers would lose what only they hold.
    """
    if not record.has_ended:
        raise ValueError("the quorum has not gone back to ZooKeeper: its disks hold its metadata")
    nodes = tuple(
        replace(
            node,
            generation=node.generation + 1,
            claim_uid=None,
            directory_id=None,
            mode=FormatMode.STATIC,
            formatted=False,
            retired=(*node.retired, *(() if node.directory_id is None else (node.directory_id,))),
            revision=None,
        )
        for node in record.nodes
    )
    return replace(
        record,
        phase=BootstrapPhase.FORMATTING,
        initial=tuple(node.key for node in nodes),
        nodes=nodes,
        applied_revision=None,
        had_leader=False,
        static=True,
        levels=(),
        migration=from_zookeeper(record.format.release),
    )
