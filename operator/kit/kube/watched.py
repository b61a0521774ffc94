"""Whether the watches of all kinds are open: while they are, what was read stays true until one reports an event.

An interrupted watch continues where it ended, so it only delays events. One that begins again with the existing objects
may have missed deletions: then whatever is remembered is read again.
"""

from collections.abc import Callable

from kit.kube.watch import Noted


class Watched:
    """All watches of an operator. Of each, `noted` is told what becomes of it."""

    def __init__(self, missed: Callable[[], None]) -> None:
        """`missed` is called when an event of any watch may have been missed."""
        self._missed = missed
        self._open: dict[str, bool] = {}

    def noted(self, name: str) -> Noted:
        """One more watch, which is not open yet."""
        self._open[name] = False

        def opened() -> None:
            self._open[name] = True

        def interrupted() -> None:
            self._open[name] = False

        return Noted(opened=opened, interrupted=interrupted, missed=self._missed)

    def complete(self) -> bool:
        """Whether there are watches, and all of them are open."""
        return bool(self._open) and all(self._open.values())
