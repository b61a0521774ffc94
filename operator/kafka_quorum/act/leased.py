"""Edges that send nothing that changes anything unless this operator holds the lease at that very moment.

An act may take several requests, and each of them may wait. So the lease is asked before every single one, where it is
sent, and not only before the act.
"""

from collections.abc import Callable
from typing import Any, Final, cast

from kafka_quorum.errors import NotActing
from kafka_quorum.kube.protocol import KubeApi
from kafka_quorum.wire.protocol import Controllers

_READS: Final = frozenset({"get", "list", "api_versions", "describe_cluster", "describe_quorum", "close"})
"""What changes nothing, and may be asked by anybody. Whatever is not named here needs the lease."""


class _Leased:
    """An edge, and the question whether it may be used for writes."""

    def __init__(self, edge: object, may_act: Callable[[], bool]) -> None:
        self._edge = edge
        self._may_act = may_act

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the methods of the edge, whatever they take
        method = getattr(self._edge, name)
        if name in _READS:
            return method

        async def checked(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - as above
            if not self._may_act():
                raise NotActing(f"the lease has lapsed: {name} was not sent")
            return await method(*given, **named)

        return checked


def leased_kube(kube: KubeApi, may_act: Callable[[], bool]) -> KubeApi:
    """The same API server; writes raise `NotActing` without the lease."""
    return cast("KubeApi", _Leased(kube, may_act))


def leased_controllers(controllers: Controllers, may_act: Callable[[], bool]) -> Controllers:
    """The same controllers; changes raise `NotActing` without the lease."""
    return cast("Controllers", _Leased(controllers, may_act))
