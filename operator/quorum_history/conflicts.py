"""Where two replicas of a log hold different batches at the same offset and leader epoch.

An epoch has one leader, which writes each offset once: so one of the two is wrong. Replicas that differ in the epoch
are no conflict, because a tail of an older epoch may never have counted.
"""

from collections.abc import Iterator

import numpy as np

from kraftlog.compiled import Ints
from quorum_history.replicas import Checks, ClusterLog, Disagreement


def conflicts(log: ClusterLog, first: int, end: int) -> Iterator[Disagreement]:
    """For every replica, the first batch with other content than in a replica that is read before it.

    Offsets from `first` up to `end` are compared.
    """
    if len(log.replicas) < 2:  # noqa: PLR2004 -- one alone cannot differ
        return
    held = _Held(log.replicas[0].checks(first), log.replicas[0].name)
    for other in log.replicas[1:]:
        theirs = other.checks(first)
        mine, here = held.beside(theirs)
        bases, epochs, crcs = (column[here] for column in theirs[:3])
        same = (held.checks[0][mine] == bases) & (held.checks[2][mine] == crcs)
        rows = np.flatnonzero(~same & (held.checks[1][mine] == epochs) & (bases < end))
        if rows.size:
            row, epoch = int(rows[0]), int(epochs[rows[0]])
            yield Disagreement(
                cluster=log.cluster,
                offset=int(bases[row]),
                trusted=held.owner(int(mine[row])),
                other=other.name,
                trusted_epoch=epoch,
                other_epoch=epoch,
            )
        held.add(theirs, here, other.name)


class _Held:
    """Batches of several replicas by offset: at each offset, that of the replica that is read first."""

    def __init__(self, checks: Checks, name: str) -> None:
        """`checks`: the batches of the first replica, with this name."""
        self.checks = checks
        self._names = [name]
        self._owners: Ints = np.zeros(checks[0].size, dtype=np.int64)

    def beside(self, theirs: Checks) -> tuple[Ints, Ints]:
        """The rows of the batches within which one of `theirs` begins, and the rows of those."""
        at = np.searchsorted(self.checks[0], theirs[0], side="right") - 1
        here = np.flatnonzero(at >= 0)
        here = here[self.checks[3][at[here]] >= theirs[0][here]]
        return at[here], here

    def owner(self, row: int) -> str:
        """The replica of a batch."""
        return self._names[int(self._owners[row])]

    def add(self, theirs: Checks, here: Ints, name: str) -> None:
        """Add the batches of a replica, without the rows `here`."""
        bases, epochs, crcs, lasts = (np.delete(column, here) for column in theirs)
        self._names.append(name)
        if bases.size:
            owner: Ints = np.full(bases.size, len(self._names) - 1, dtype=np.int64)
            order = np.argsort(np.concatenate((self.checks[0], bases)), kind="stable")
            columns = zip((*self.checks, self._owners), (bases, epochs, crcs, lasts, owner), strict=True)
            bases, epochs, crcs, lasts, self._owners = (np.concatenate(pair)[order] for pair in columns)
            self.checks = (bases, epochs, crcs, lasts)
