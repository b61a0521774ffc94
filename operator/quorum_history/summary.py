"""What a run of `ingest` did, in words: how much there is, what is new, what is wrong and what was not read."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from quorum_history.state import Found, State

_UNFINISHED = ("torn-tail", "half-written")
"""What a file that is still being written looks like."""


@dataclass(slots=True)
class Summary:
    """What a run did, and what there is by now."""

    clusters: int = 0
    changed_clusters: int = 0
    new_records: int = 0
    new_looks: int = 0
    files: int = 0
    read_bytes: int = 0
    rejected_lines: int = 0
    waiting: int = 0
    found: list[str] = field(default_factory=list)
    new_found: list[str] = field(default_factory=list)

    def account(self, before: State | None, after: State) -> None:
        """Take over what two states say: what is wrong, and what of it is new."""
        known = set(_wrong(before)) if before else set()
        self.found = list(_wrong(after))
        self.new_found = [each for each in self.found if each not in known]
        self.rejected_lines = sum(file.rejected_lines for file in after.lines.values())
        self.waiting = sum(cluster.waiting for cluster in after.clusters.values())

    @property
    def newly_damaged(self) -> bool:
        """Whether anything is wrong that was not before, besides files that may still be written."""
        return any(not any(kind in each for kind in _UNFINISHED) for each in self.new_found)

    @property
    def worth_telling(self) -> bool:
        """Whether there is anything to say that was not said before."""
        return bool(self.new_records or self.new_looks or self.new_found)

    def lines(self, shown: int) -> Iterator[str]:
        """For people; of what is wrong, so many at most."""
        if self.clusters:
            yield (
                f"clusters: {self.clusters}, {self.changed_clusters} of them changed; files: {self.files};"
                f" read: {self.read_bytes / 1e6:,.1f} MB"
            )
        yield f"new records: {self.new_records:,}; new observations: {self.new_looks:,}"
        if self.waiting:
            yield f"not read: what lies past the high watermark, of {self.waiting} clusters"
        if self.rejected_lines:
            yield f"not read: {self.rejected_lines:,} lines that are no observations (table rejected_lines)"
        if not self.found:
            yield "faults: none"
            return
        yield f"faults: {len(self.found)}, {len(self.new_found)} of them new (tables faults, rejected_lines)"
        first = [*self.new_found, *(each for each in self.found if each not in set(self.new_found))]
        yield from (f"  {each}" for each in first[:shown])
        if len(first) > shown:
            yield f"  … and {len(first) - shown} more"


def _wrong(state: State) -> Iterator[str]:
    for cluster, each in state.found():
        yield f"cluster {cluster}: {_place(each)}"
    for file in state.lines.values():
        yield from map(_place, file.rejected)


def _place(found: Found) -> str:
    return found.text if found.text.startswith(found.file) else f"{found.file}: {_at(found)}{found.text}"


def _at(found: Found) -> str:
    return f"position {found.position}: " if found.position is not None else ""
