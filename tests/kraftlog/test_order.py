"""Batches that do not fit are left out, as few as possible, and a dump reports the same as a list of batches."""

import random
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.kraftlog import logs

from kraftlog.batches import BatchColumn, list_batches
from kraftlog.errors import FaultKind
from kraftlog.order import fitting
from kraftlog.writer import NewBatch, batch_of

_ORDER = {FaultKind.GAP, FaultKind.OUT_OF_ORDER}


def _ascends(spans: list[tuple[int, int]]) -> bool:
    return all(0 <= base <= last for base, last in spans) and all(one[1] < two[0] for one, two in pairwise(spans))


@pytest.mark.parametrize("seed", range(60))
def test_as_many_as_ascend_together_are_kept(seed: int) -> None:
    """The largest ascending choice is kept, compared with every subset of a few batches."""
    rng = random.Random(seed)
    spans = [(base, base + rng.choice([0, 0, 0, 1, 4, -2])) for base in (rng.randint(-1, 9) for _ in range(8))]
    table = np.zeros((len(BatchColumn), len(spans)), dtype=np.int64)
    table[BatchColumn.BASE_OFFSET], table[BatchColumn.LAST_OFFSET] = zip(*spans, strict=True)
    kept = [spans[row] for row in fitting(table).tolist()]
    assert _ascends(kept)
    assert len(kept) == max(size for size in range(9) for some in combinations(spans, size) if _ascends(list(some)))


@pytest.mark.parametrize("seed", range(40))
def test_a_dump_reports_what_a_list_does(tmp_path: Path, seed: int) -> None:
    """The dump agrees with the list for missing, doubled, moved, torn batches and other epochs."""
    rng = random.Random(seed)
    parts = [batch_of(NewBatch(base_offset=at, leader_epoch=1 + at // 7), [logs.topic(f"t-{at}")]) for at in range(20)]
    for _ in range(rng.randint(0, 4)):
        at = rng.randrange(len(parts))
        match rng.randrange(5):
            case 0:
                del parts[at]
            case 1:
                parts.insert(at, rng.choice(parts))
            case 2:
                parts[at : at + 2] = reversed(parts[at : at + 2])
            case 3:
                parts[at] = parts[at][: rng.randrange(1, len(parts[at]))]
            case _:
                parts[at] = batch_of(NewBatch(base_offset=at, leader_epoch=9), [logs.topic("x")])
    path = logs.write(tmp_path, b"".join(parts))
    _, faults = logs.read(path)
    listed = list(list_batches(path).order_faults(str(path)))
    assert [fault for fault in faults if fault.kind in _ORDER] == listed
