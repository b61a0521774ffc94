"""One change of a partition, as Kafka's PartitionChangeBuilder makes it: reassignment, ELR, election, epoch.

Pure: rows in, rows out. The order of the parts is Kafka's. Unclean elections are off.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from tests.simulation.model.kafka.cluster_image import UNASSIGNED, Nodes, PartitionRow

from kafka_quorum.model.ids import NodeID

Acceptable: TypeAlias = Callable[[NodeID], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a change is made by: who may lead, the effective min ISR, whether eligible leaders are kept."""

    acceptable: Acceptable
    min_isr: int
    elr: bool
    preferred: bool = False
    """Whether the preferred replica shall lead if it can."""
    unclean: Nodes = ()
    """Brokers that have ended without a clean shutdown: what they had is not trusted."""


def changed(row: PartitionRow, rules: Rules, *, isr: Nodes | None = None) -> PartitionRow:
    """The partition after a change of its ISR, of its replicas, or of who may lead; the same row if nothing differs."""
    wanted = row.isr if isr is None else isr
    made, wanted = _completed(row, wanted)
    elr, last_elr = _eligible(made, wanted, rules)
    leader, wanted, elr = _elected(made, wanted, elr, last_elr, rules)
    if not wanted and not rules.elr:
        wanted = made.isr  # without ELR the last member of an ISR stays in it
    if leader is not None and leader in wanted and len(wanted) >= min(rules.min_isr, len(made.target)):
        elr, last_elr = (), ()
    left = not set(row.replicas) <= set(made.replicas)
    epoch = row.leader_epoch + (leader != row.leader or left)
    new = replace(made, isr=wanted, elr=elr, last_elr=last_elr, leader=leader, leader_epoch=epoch, version=row.version)
    return row if new == row else replace(new, version=row.version + 1)


def _completed(row: PartitionRow, isr: Nodes) -> tuple[PartitionRow, Nodes]:
    """The end of a reassignment, if every replica that it adds is in sync, and one that stays is."""
    staying = tuple(node for node in isr if node not in row.removing)
    if not (row.adding or row.removing) or not staying or not set(row.adding) <= set(staying):
        return row, isr
    directories = tuple(row.directory(node) for node in row.target)
    return replace(row, replicas=row.target, directories=directories, adding=(), removing=()), staying


def _eligible(row: PartitionRow, isr: Nodes, rules: Rules) -> tuple[Nodes, Nodes]:
    """The ELR, and the last leader while the ISR is empty, as long as the ISR is below min ISR (KIP-966)."""
    if not rules.elr or len(isr) >= min(rules.min_isr, len(row.target)):
        return (), ()
    candidates = dict.fromkeys((*row.elr, *row.isr))
    mine = set(row.replicas)
    elr = tuple(node for node in candidates if node not in isr and node not in rules.unclean and node in mine)
    if isr or row.leader is None:
        return elr, row.last_elr
    return elr, (row.leader,)


def _elected(
    row: PartitionRow, isr: Nodes, elr: Nodes, last_elr: Nodes, rules: Rules
) -> tuple[NodeID | None, Nodes, Nodes]:
    """The leader, with the ISR and the ELR that its election leaves."""

    def valid(node: NodeID | None) -> bool:
        return node is not None and (node in isr or node in elr) and rules.acceptable(node)

    # A replica that a running reassignment removes can lead until the reassignment is done.
    order = [row.replicas[0], row.leader, *row.replicas] if rules.preferred else [row.leader, *row.replicas]
    leader = next((node for node in order if valid(node) and node in row.replicas), None)
    if leader is None and rules.elr and not isr and not elr and len(last_elr) == 1 and rules.acceptable(last_elr[0]):
        return last_elr[0], last_elr, ()  # the last known leader: the only replica that could have everything
    if leader is not None and leader not in isr:
        return leader, (leader,), tuple(node for node in elr if node != leader)
    return leader, isr, elr


def reassigned(row: PartitionRow, target: Nodes) -> PartitionRow:
    """The partition with a reassignment to these replicas; `changed` completes it when it is done."""
    adding = tuple(node for node in target if node not in row.target or node in row.adding)
    before = tuple(node for node in row.replicas if node not in row.adding)
    removing = tuple(node for node in before if node not in target)
    replicas = (*target, *removing)
    directories = tuple(row.directory(node) if node in row.replicas else UNASSIGNED for node in replicas)
    isr = tuple(node for node in row.isr if node in replicas)
    return replace(
        row,
        replicas=replicas,
        directories=directories,
        isr=isr,
        adding=tuple(node for node in adding if node not in before),
        removing=removing,
        version=row.version + 1,
    )


def cancelled(row: PartitionRow) -> PartitionRow:
    """The partition with the replicas from before its reassignment."""
    replicas = tuple(node for node in row.replicas if node not in row.adding)
    directories = tuple(row.directory(node) for node in replicas)
    isr = tuple(node for node in row.isr if node in replicas)
    return replace(
        row, replicas=replicas, directories=directories, isr=isr, adding=(), removing=(), version=row.version + 1
    )
