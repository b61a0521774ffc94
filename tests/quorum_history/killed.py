"""A process that is gone after so many steps, without a process: the next step raises what nothing catches."""

from typing import Any


class Killed(BaseException):
    """The process is gone."""


def dying(left: list[int], original: Any) -> Any:  # noqa: ANN401 -- any function
    """The same function, which dies once `left[0]` calls are done; functions that share `left` are counted together."""

    def call(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
        if left[0] == 0:
            raise Killed
        left[0] -= 1
        return original(*arguments, **named)

    return call
