"""The operator's process, before its event loop begins."""

import os
import subprocess
import sys
from typing import Final

_READS_DEEP_JSON: Final = """
import json, sys
from kafka_quorum import __main__ as program

async def run(settings, observations):
    levels = 10_000
    json.loads('{"a":' * levels + "1" + "}" * levels)
    return True

program.run = run
sys.exit(program.main())
"""


def test_json_is_read_to_the_depth_that_the_api_server_accepts() -> None:
    """With Python's own limit one object of 10,000 levels would end Kopf's watch, and the process with it, for ever."""
    command = [sys.executable, "-c", _READS_DEEP_JSON]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
