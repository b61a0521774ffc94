"""Edges that send no change unless this operator holds the lease at that very moment.

An act may take several requests, and each of them may wait. So the lease is checked before every single request, where
it is sent, and not only before the act.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

from kit.errors import NotActing
from kit.kube.protocol import KubeApi

T = TypeVar("T")

_READS: Final = frozenset({"get", "list"})


class _Leased:
    """An edge, and the question whether it may be used for writes."""

    def __init__(self, edge: object, reads: frozenset[str], may_act: Callable[[], bool]) -> None:
        self._edge = edge
        self._reads = reads
        self._may_act = may_act

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the methods of the edge, with any arguments
        method = getattr(self._edge, name)
        if name in self._reads:
            return method

        async def checked(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - as above
            if not self._may_act():
                raise NotActing(f"the lease has lapsed: {name} was not sent")
            return await method(*given, **named)

        return checked


def leased(edge: T, reads: frozenset[str], may_act: Callable[[], bool]) -> T:
    """The same edge. A method that is not one of its `reads` raises `NotActing` without the lease."""
    return cast("T", _Leased(edge, reads, may_act))


def leased_kube(kube: KubeApi, may_act: Callable[[], bool]) -> KubeApi:
    """The same API server; writes raise `NotActing` without the lease."""
    return leased(kube, _READS, may_act)
