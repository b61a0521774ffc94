"""The operator's process: settings, logs, event loop."""

import asyncio
import gc
import importlib.util
import logging
import sys
from typing import Final

from kafka_quorum.handlers import run
from kafka_quorum.observations.sinks import recorder
from kafka_quorum.settings import Settings, SettingsError, from_environment
from kafka_quorum.wire.sending import allow_files
from kit.clock import SystemClock
from kit.logs import JsonFormatter, TextFormatter
from kit.memory import large_blocks_apart

_LEVELS: Final = 25_000
"""How deep values may be nested. The API server accepts JSON of 10,000 levels, for example in managed fields, which
anybody who may write an object chooses. With Python's limit of 1000 one such object would end Kopf's watch of its kind,
and this process with it, again and again. 40,000 levels still fit into a stack of 8 MiB (measured).
"""

_YOUNG_OBJECTS: Final = 20_000
"""After so many new objects the youngest are searched for cycles: 700, as is usual, is too often for pages of JSON.

What the imports have made is left out of every search: it stays for good, and is most of what there is (`gc.freeze`).
"""


def configure_logs(settings: Settings) -> None:
    """Everything to standard error, one line a record."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if settings.log_format == "json" else TextFormatter())
    logging.basicConfig(level=settings.log_level, handlers=[handler], force=True)
    for noisy in ("asyncio", "aiohttp", "kopf.activities", "kopf._core", "kopf._cogs"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def main() -> int:
    """Run until SIGTERM; 2 if the settings cannot be used, 1 if a task ended that must not."""
    try:
        settings = from_environment()
        observations = recorder(settings, SystemClock())
    except SettingsError as error:
        print(f"kafka-quorum-operator: {error}", file=sys.stderr)  # noqa: T201 - before there are logs
        return 2
    configure_logs(settings)
    sys.setrecursionlimit(_LEVELS)
    allow_files()
    large_blocks_apart()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG_OBJECTS, 5, 2)
    if importlib.util.find_spec("uvloop") is not None:
        import uvloop  # noqa: PLC0415 - an extra that may be missing

        clean = uvloop.run(run(settings, observations))
    else:
        clean = asyncio.run(run(settings, observations))
    return 0 if clean else 1


if __name__ == "__main__":
    raise SystemExit(main())
