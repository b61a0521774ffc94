"""Tasks that must not end: if one does, by an error or by itself, this is logged, and it begins again after a pause."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from kit.errors import KubeUnavailable, NotActing, OperatorError

FIRST_S: Final = 1.0
LAST_S: Final = 30.0
_WELL_S: Final = 60.0
"""After a run of this length, work begins again with the first pause."""

logger = logging.getLogger(__name__)


async def supervised(name: str, work: Callable[[], Awaitable[None]]) -> None:
    """Do some work for ever. Ends only when it is cancelled. Pauses double up to `LAST_S` while the work ends early.

    An `OperatorError` describes the problem, so it is logged as one line. Any other error is logged with a traceback.
    """
    clock = asyncio.get_running_loop().time
    pause_s = FIRST_S
    while True:
        began_s = clock()
        try:
            await work()
        except (KubeUnavailable, NotActing) as error:
            logger.warning("The task %r begins again: %s", name, error)
        except OperatorError as error:
            logger.error("The task %r begins again: %s", name, error)  # noqa: TRY400 -- its text describes the problem, and a traceback adds nothing
        except Exception:
            logger.exception("The task %r has ended with an error; it begins again", name)
        else:
            logger.error("The task %r has ended, which it must not; it begins again", name)
        if clock() - began_s >= _WELL_S:
            pause_s = FIRST_S
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, LAST_S)
