"""The end of a process after a number of steps, without a process: the next step raises what nothing catches."""

from typing import Any


class Killed(BaseException):
    """The process has ended."""


def dying(left: list[int], original: Any) -> Any:  # noqa: ANN401 -- any function
    """The same function, which fails after `left[0]` calls; functions that share `left` are counted together."""

    def call(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
        if left[0] == 0:
            raise Killed
        left[0] -= 1
        return original(*arguments, **named)

    return call
