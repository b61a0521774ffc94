"""Every command for object stores on the history's page, run against a real S3 server."""

import json
import os
import re
import shlex
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from tests.kraftlog.record_samples import SAMPLES
from tests.live.jars import ensure_kafka
from tests.quorum_history import clusters, looks, s3
from tests.quorum_history.looks import look

from testbed.config import PROJECT

pytestmark = [pytest.mark.full, pytest.mark.timeout(5400)]

_RUN = """
import json, sys
from kraftlog.__main__ import main as kraftlog
from quorum_history.__main__ import main as history

for number, (program, *arguments) in enumerate(json.load(sys.stdin)):
    code = {"kraftlog": kraftlog, "quorum-history": history}[program](arguments)
    sys.stdout.flush()
    print(f"command {number} ended with {code}", flush=True)
"""


def _shown() -> list[list[str]]:
    """The commands of the page."""
    text = (PROJECT / "docs" / "history.md").read_text().partition("### Object stores")[2].partition("\n### ")[0]
    return [shlex.split(line) for line in re.findall(r"^    ((?:quorum-history|kraftlog) .*)$", text, re.MULTILINE)]


def _filled(server: s3.S3Server, home: Path) -> None:
    """Stores logs in folders and in an archive, and observations, at the places that the page uses."""
    server.put(SAMPLES / "4.3.1" / "node-1", "backups/a/kafka")
    folder = clusters.replica(home, "packed", 1)
    clusters.segment(folder, 0, clusters.run(0, 20, 1))
    with tarfile.open(home / "volume.tar.gz", "w:gz") as tar:
        tar.add(folder.parent, arcname=".")
    server.put(home / "volume.tar.gz", "archives/b.tar.gz")
    looks.write(home / "looks" / "a.jsonl", [look(0), look(60, live=(1,)), look(120, epoch=3)])
    server.put(home / "looks", "looks")


def test_the_commands_of_the_page(tmp_path: Path) -> None:
    """Each command ends with 0, the bucket has tables, Delta and the page, and the credentials are nowhere."""
    commands = _shown()
    assert {arguments[1] for arguments in commands} == {
        "ingest", "timeline", "observe", "downgrade", "report", "refresh", "at", "verify", "dump",
    }  # fmt: skip
    home = ensure_kafka("4.3.1").libs.parent
    commands = [[each.replace("/opt/kafka", str(home)) for each in command] for command in commands]
    with s3.served(tmp_path / "store") as server:
        _filled(server, tmp_path)
        done = subprocess.run(
            [sys.executable, "-c", _RUN],
            input=json.dumps(commands), capture_output=True, text=True, timeout=5000, check=False, cwd=tmp_path,
            env={**os.environ, **server.environment, "PYTHONPATH": str(PROJECT / "operator")},
        )  # fmt: skip
        assert re.findall(r"ended with (.*)", done.stdout) == ["0"] * len(commands), done.stdout + done.stderr
        stored = server.contents()
    tables = {path.split("/")[2] for path in stored if path.startswith("history/tables/")}
    assert {"records", "observations", "voter_sets", "leaders", "availability", "downgrade_analysed"} <= tables
    assert any(path.startswith("history/tables/availability/_delta_log/") for path in stored)
    for folder in ("page", "fleet-page"):
        page = stored[f"history/{folder}/index.html"].decode()
        assert "Voters and leaders" in page
        assert "ns/q was available for 50.000%" in page
    everything = b"".join([done.stdout.encode(), done.stderr.encode(), *stored.values()])
    assert server.access_key.encode() not in everything
    assert server.secret_key.encode() not in everything
