"""A real Prometheus on this machine: it scrapes what its configuration says, or shows series of a file."""

import http.client
import json
import socket
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

Json = dict[str, Any]

_TESTBED: Final = Path(__file__).resolve().parents[1] / "testbed"
_READY_S: Final = 60.0
_POLL_S: Final = 0.2
_ANSWER_S: Final = 60.0


class NotAnsweredError(Exception):
    """Prometheus refused a query, or did not answer; the message has the query and the words of Prometheus."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One series of an answer: its labels, and its values by Unix seconds."""

    labels: Mapping[str, str]
    values: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prometheus:
    """A Prometheus that answers on a port of this machine."""

    port: int

    def instant(self, expr: str, at_s: float) -> list[Series]:
        """The values of a query at a time, in Unix seconds."""
        found = self._asked("query", {"query": expr, "time": f"{at_s:.3f}"}, expr)
        return [Series(labels=each["metric"], values=(_value(each["value"]),)) for each in found]

    def over(self, expr: str, begin_s: float, end_s: float, step_s: float) -> list[Series]:
        """The values of a query over a time, in Unix seconds, at each step."""
        asked = {"query": expr, "start": f"{begin_s:.3f}", "end": f"{end_s:.3f}", "step": f"{step_s:.3f}"}
        found = self._asked("query_range", asked, expr)
        return [Series(labels=each["metric"], values=tuple(map(_value, each["values"]))) for each in found]

    def _asked(self, path: str, query: Mapping[str, str], expr: str) -> list[Json]:
        answer = self._get(f"/api/v1/{path}?{urllib.parse.urlencode(query)}", expr)
        data = answer["data"]
        if data["resultType"] not in {"vector", "matrix"}:
            raise NotAnsweredError(f"{expr}: the answer is a {data['resultType']}, not series")
        found: list[Json] = data["result"]
        return found

    def _get(self, path: str, expr: str) -> Json:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_ANSWER_S)
        try:
            connection.request("GET", path)
            answer: Json = json.loads(connection.getresponse().read())
        except (OSError, ValueError) as error:
            raise NotAnsweredError(f"{expr}: Prometheus does not answer: {error}") from error
        finally:
            connection.close()
        if answer.get("status") != "success":
            raise NotAnsweredError(f"{expr}: {answer.get('error')}")
        return answer


def _value(pair: tuple[float, str]) -> tuple[float, float]:
    return float(pair[0]), float(pair[1])


@cache
def binaries() -> tuple[str, str]:
    """The paths of prometheus and promtool, compiled by the test-bed if need be."""
    command = [sys.executable, str(_TESTBED), "prometheus-binaries"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    prometheus, promtool = done.stdout.split()
    return prometheus, promtool


@contextmanager
def running(
    directory: Path, scrape_configs: list[Json], interval_s: int = 5, rule_files: Sequence[Path] = ()
) -> Iterator[Prometheus]:
    """A Prometheus with its files in `directory`, ended at the end. It shows blocks that are in `directory/data`.

    TimeoutError if it is not ready within a minute, with its log.
    """
    config = directory / "prometheus.yml"
    every = f"{interval_s}s"
    wide = {"scrape_interval": every, "scrape_timeout": every, "evaluation_interval": every}
    read = [str(path) for path in rule_files]
    config.write_text(yaml.safe_dump({"global": wide, "rule_files": read, "scrape_configs": scrape_configs}))
    port = _free_port()
    command = [
        binaries()[0],
        f"--config.file={config}",
        f"--storage.tsdb.path={directory / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    log = directory / "prometheus.log"
    with log.open("w") as written, subprocess.Popen(command, stdout=written, stderr=written) as process:
        try:
            _until_ready(port, process, log)
            yield Prometheus(port=port)
        finally:
            process.terminate()


def from_openmetrics(text: str, directory: Path) -> None:
    """Make blocks for `running` from series in OpenMetrics' format with times."""
    source = directory / "series.om"
    source.write_text(text)
    command = [binaries()[1], "tsdb", "create-blocks-from", "openmetrics", str(source), str(directory / "data")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotAnsweredError(f"promtool made no blocks: {done.stderr}")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def _until_ready(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end_s = time.monotonic() + _READY_S
    while time.monotonic() < end_s and process.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_POLL_S)
        try:
            connection.request("GET", "/-/ready")
            if connection.getresponse().status == http.client.OK:
                return
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(_POLL_S)
    raise TimeoutError(f"Prometheus is not ready: {log.read_text()}")
