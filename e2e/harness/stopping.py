"""When each broker of a pool stopped: a gap in metadata beside one is the broker's, not the controllers'."""

import time
from types import TracebackType
from typing import Final, Self

from harness.background import Background
from harness.pool import Pool
from harness.quorum import GROUP
from harness.shell import CommandFailed, items

_PAUSE_S: Final = 0.5
_END_S: Final = 60.0


class Stopping:
    """Looks at the pods of a pool while a block runs."""

    def __init__(self, pool: Pool) -> None:
        """Nothing is asked before it is entered."""
        self.stops: list[tuple[float, float]] = []
        """From the look before a pod was deleted until it was gone, in seconds since 1970."""
        self._where = (pool.namespace, "pods", "-l", f"{GROUP}/pool={pool.name},{GROUP}/role=broker")
        self._leaving: dict[str, float] = {}
        self._looked_s = time.time()
        self._work = Background(work=self._look, pause_s=_PAUSE_S, end_s=_END_S)

    def __enter__(self) -> Self:
        """Begin."""
        self._work.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End after the present look."""
        self._work.__exit__(kind, error, trace)

    def _look(self) -> None:
        try:
            found = items(*self._where)
        except CommandFailed:  # the API server is away for a moment; the next look shows the same
            return
        now_s = time.time()
        leaving = {pod["metadata"]["uid"] for pod in found if "deletionTimestamp" in pod["metadata"]}
        for uid in leaving - self._leaving.keys():
            self._leaving[uid] = self._looked_s
        for uid in self._leaving.keys() - leaving:
            self.stops.append((self._leaving.pop(uid), now_s))
        self._looked_s = now_s
