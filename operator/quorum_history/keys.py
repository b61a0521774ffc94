"""The keys of the records that were written: per file and leader epoch, ranges of offsets.

A range stands for rows with increasing offsets. Ranges of one file and epoch that overlap are a broken key, because
`ingest` reads each part of a file once. They replace another reading of all records.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

Range = tuple[int, int, int]
"""Leader epoch, first offset and last offset of some rows of a file."""
Ranges = Mapping[str, tuple[Range, ...]]
"""Those of several files, by path."""


def ranges_of(batch: pa.RecordBatch) -> list[Range]:
    """The ranges of rows of one file, in their order. A new one begins where the offset does not increase."""
    if not batch.num_rows:
        return []
    offsets, epochs = (batch.column(name).to_numpy() for name in ("offset", "leader_epoch"))
    breaks = np.flatnonzero((epochs[1:] != epochs[:-1]) | (offsets[1:] <= offsets[:-1])) + 1
    firsts, ends = [0, *breaks.tolist()], [*breaks.tolist(), len(offsets)]
    return [
        (int(epochs[first]), int(offsets[first]), int(offsets[end - 1]))
        for first, end in zip(firsts, ends, strict=True)
    ]


def appended(ranges: list[Range], more: Iterable[Range]) -> None:
    """Add the next ranges of the same file to a list; one that continues the last one becomes a part of it."""
    for epoch, first, last in more:
        if ranges and ranges[-1][0] == epoch and first > ranges[-1][2]:
            ranges[-1] = (epoch, ranges[-1][1], last)
        else:
            ranges.append((epoch, first, last))


def joined(before: Ranges, new: Mapping[str, Iterable[Range]]) -> tuple[Ranges, tuple[str, ...]]:
    """All ranges, one for each file and epoch, and what was written twice."""
    kept, doubled = dict(before), []
    for file in sorted(new):
        hulls = {epoch: (first, last) for epoch, first, last in kept.get(file, ())}
        for epoch, first, last in sorted(new[file]):
            low, high = hulls.get(epoch, (first, first - 1))
            if first <= high and last >= low:
                doubled.append(
                    f"{file}: offsets {max(first, low)} to {min(last, high)} of epoch {epoch} are there twice"
                )
            hulls[epoch] = (min(low, first), max(high, last))
        kept[file] = tuple((epoch, first, last) for epoch, (first, last) in sorted(hulls.items()))
    return kept, tuple(doubled)
