"""The result of a run of `ingest` or `downgrade` in words: what is new, what is wrong and what was not read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kraftlog import FaultKind
from kraftlog.order import named_offset
from quorum_history.lines import HALF_WRITTEN
from quorum_history.state import ClusterState, Found, State


@dataclass(slots=True)
class Summary:
    """What a run did, and the present totals."""

    clusters: int = 0
    changed_clusters: int = 0
    new_records: int = 0
    new_looks: int = 0
    files: int = 0
    read_bytes: int = 0
    rejected_lines: int = 0
    waiting: int = 0
    skipped_types: tuple[str, ...] = ()
    """Record types that are not kept, because an earlier version made the tables."""
    found: list[str] = field(default_factory=list)
    new_found: list[str] = field(default_factory=list)
    failed: tuple[str, ...] = ()
    """The failed checks of the tables that `ingest` writes."""
    newly_damaged: bool = False
    """Whether there is a new fault, apart from those of files that may still be written."""

    def account(self, before: State | None, after: State) -> None:
        """Take the faults from the state after a run; those that the state before it lacks are new."""
        known = set(_wrong(before)) if before else set()
        found = list(_wrong(after))
        new = [each for each in found if each not in known]
        self.found, self.new_found = [text for text, _ in found], [text for text, _ in new]
        self.newly_damaged = any(not unfinished for _, unfinished in new)
        self.rejected_lines = sum(file.rejected_lines for file in after.lines.values())
        self.waiting = sum(cluster.waiting for cluster in after.clusters.values())

    @property
    def worth_telling(self) -> bool:
        """Whether there is anything to report that was not reported before."""
        return bool(self.new_records or self.new_looks or self.new_found)

    def lines(self, shown: int) -> Iterator[str]:
        """Lines for people, with at most this many faults."""
        if self.clusters:
            yield (
                f"clusters: {self.clusters}, {self.changed_clusters} of them changed; files: {self.files};"
                f" read: {self.read_bytes / 1e6:,.1f} MB"
            )
        yield f"new records: {self.new_records:,}; new observations: {self.new_looks:,}"
        if self.waiting:
            yield f"not read: what lies past the high watermark, of {self.waiting} clusters"
        if self.skipped_types:
            kinds = ", ".join(self.skipped_types)
            yield f"not kept: {kinds}: an earlier version made these tables; a new --target has them"
        if self.rejected_lines:
            yield f"not read: {self.rejected_lines:,} lines that are no observations (table rejected_lines)"
        yield from (f"failed check: {each} (table quality)" for each in self.failed)
        if not self.found:
            yield "faults: none"
            return
        yield f"faults: {len(self.found)}, {len(self.new_found)} of them new (tables faults, rejected_lines)"
        first = [*self.new_found, *(each for each in self.found if each not in set(self.new_found))]
        yield from (f"  {each}" for each in first[:shown])
        if len(first) > shown:
            yield f"  … and {len(first) - shown} more"


def _wrong(state: State) -> Iterator[tuple[str, bool]]:
    """Every fault, and whether it is that of a file that may still be written."""
    for name, cluster in sorted(state.clusters.items()):
        newest = _newest(cluster)
        for each in cluster.found:
            yield f"cluster {name}: {each}", each.file in newest and _is_tail(each)
    for file in state.lines.values():
        yield from ((str(each), each.text.startswith(HALF_WRITTEN)) for each in file.rejected)


def _newest(cluster: ClusterState) -> set[str]:
    """The last segment of each replica: nothing is appended to another one."""
    newest: dict[str, str] = {}
    for path in sorted((path for path in cluster.files if named_offset(path) >= 0), key=named_offset):
        newest[path.rpartition("/")[0]] = path
    return set(newest.values())


def _is_tail(each: Found) -> bool:
    return each.text.startswith(f"{each.file}: position {each.position}: {FaultKind.TORN_TAIL}: ")


def lines_of_losses(damaged: Sequence[tuple[str, int, Sequence[str]]], shown: int) -> Iterator[str]:
    """The clusters that `downgrade` has not read in full: each with the number of its faults and some of them."""
    if not damaged:
        yield "faults: none"
        return
    total = sum(count for _, count, _ in damaged)
    yield f"faults: {total:,}; clusters whose losses are not known in full: {len(damaged):,}"
    first = [f"  cluster {cluster}: {text}" for cluster, _, texts in damaged for text in texts][:shown]
    yield from first
    if total > len(first):
        yield f"  … and {total - len(first):,} more"
