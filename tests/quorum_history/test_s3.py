"""Logs and tables in buckets of a real S3 server: what is stored and read, and the errors."""

import io
import random
import tarfile
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs
from tests.quorum_history import clusters, s3
from tests.quorum_history.s3 import S3Server

from kraftlog import places
from kraftlog.__main__ import main as kraftlog
from quorum_history.__main__ import main as quorum_history
from quorum_history.jobs import derived
from quorum_history.state import load
from quorum_history.store import Store

pytestmark = [pytest.mark.full, pytest.mark.timeout(1800)]

LOGS, TABLES = "s3://history/logs", "s3://history/tables"
_SEGMENT = f"{0:020d}.log"
_INGEST = ["ingest", "--all-types", "--logs", LOGS, "--target"]


@pytest.fixture(scope="module")
def program() -> Path:
    """The server's program, compiled once per machine."""
    return s3.compiled()


@pytest.fixture
def server(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """A store that the environment names, with two replicas of a log in folders, and a log in an archive."""
    made = S3Server(program, tmp_path / "store")
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    _forget()
    for node in (1, 2):
        clusters.segment(clusters.replica(tmp_path / "logs", "one", node), 0, clusters.run(0, 40, 1))
    packed = clusters.replica(tmp_path / "packed", "two", 1)
    clusters.segment(packed, 0, clusters.run(0, 20, 1))
    with tarfile.open(tmp_path / "logs" / "volume.tar.gz", "w:gz") as tar:
        tar.add(packed.parent, arcname=".")
    made.put(tmp_path / "logs", "logs")
    yield made
    made.kill()
    _forget()


def _forget() -> None:
    """Drops the cached stores and archives, as a new process would have none."""
    places._store.cache_clear()
    places._archives.cache_clear()


def _rows(target: str) -> list[str]:
    """The records of a target, on a disk or in a bucket."""
    store = Store(target)
    state = load(store)
    assert state is not None
    rows = [row for batch in state.live("records") for row in derived(store, f"records/{batch.folder}") or ()]
    return sorted(str({**row, "file": str(row["file"]).rpartition("/logs/")[2]}) for row in rows)


def _read_since(server: S3Server, before: int) -> set[str]:
    """The objects whose content was read after this many requests."""
    return {key for operation, key in server.requests()[before:] if operation == "s3_GetObject"}


@pytest.mark.parametrize("target", ["{t}/tables", TABLES, "s3a://history/other"])
def test_ingest_from_a_bucket(
    server: S3Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    """The rows are those of the same logs on a disk; a second run reads only the files that name the cluster."""
    local = str(tmp_path / "local")
    assert quorum_history([*_INGEST[:3], str(tmp_path / "logs"), "--target", local]) == 0
    capsys.readouterr()
    arguments = [*_INGEST, target.format(t=tmp_path)]
    assert quorum_history(arguments) == 0
    assert "new records: 60;" in capsys.readouterr().out
    assert _rows(arguments[-1]) == _rows(local)
    before = len(server.requests())
    assert quorum_history(arguments) == 0
    assert "new records: 0;" in capsys.readouterr().out
    read = _read_since(server, before)
    assert "logs/one/node-1/meta.properties" in read
    assert not [key for key in read if key.endswith((".log", ".parquet"))]
    assert _rows(arguments[-1]) == _rows(local)


def test_a_log_that_has_grown(server: S3Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """New records are appended, and none is doubled."""
    assert quorum_history([*_INGEST, TABLES]) == 0
    for node in (1, 2):
        clusters.segment(clusters.replica(tmp_path / "logs", "one", node), 0, clusters.run(0, 50, 1))
    server.put(tmp_path / "logs" / "one", "logs/one")
    capsys.readouterr()
    assert quorum_history([*_INGEST, TABLES]) == 0
    assert "new records: 10;" in capsys.readouterr().out
    assert len(_rows(TABLES)) == len(set(_rows(TABLES))) == 70


@pytest.mark.parametrize("place", ["one/node-1/__cluster_metadata-0", "volume.tar.gz!/__cluster_metadata-0"])
def test_a_single_log(server: S3Server, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], place: str) -> None:
    """`kraftlog dump` and `at` print the same for a URL as for a path."""
    assert server.endpoint
    shown = []
    for home in (str(tmp_path / "logs"), LOGS):
        assert kraftlog(["dump", f"{home}/{place}/{_SEGMENT}"]) == 0
        assert quorum_history(["at", "--logs", f"{home}/{place.partition('/')[0].rstrip('!')}", "-o", "json"]) == 0
        shown.append(capfdbinary.readouterr().out.replace(home.encode(), b""))
    assert shown[0] == shown[1]
    assert b"t-19-1" in shown[0]


def test_a_compressed_archive_takes_few_requests(
    server: S3Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A compressed archive of 12 MB takes four requests, because each request is as slow as some megabytes."""
    content = random.Random(1).randbytes(12 << 20)
    with tarfile.open(tmp_path / "large.tgz", "w:gz", compresslevel=1) as tar:
        for name, data in ((f"__cluster_metadata-0/{_SEGMENT}", clusters.run(0, 5, 1)), ("x.json", content)):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    server.put(tmp_path / "large.tgz", "large.tgz")
    before = len(server.requests())
    assert quorum_history(["at", "--logs", "s3://history/large.tgz"]) == 0
    assert "t-4-1" in capsys.readouterr().out
    asked = [key for operation, key in server.requests()[before:] if operation == "s3_GetObject"]
    assert set(asked) == {"large.tgz"}
    assert len(asked) < 10


_WRONG: dict[str, tuple[dict[str, str], list[str], tuple[str, ...]]] = {
    "a wrong secret": (
        {"AWS_SECRET_ACCESS_KEY": "hush"}, [*_INGEST, "{t}"], ("'logs'", "'history'", "{e}", "AWS_SECRET_ACCESS_KEY"),
    ),
    "a wrong key": ({"AWS_ACCESS_KEY_ID": "AKNOBODY"}, [*_INGEST, "{t}"], ("s3://history", "{e}", "credentials")),
    "a wrong secret of the target": (
        {"AWS_SECRET_ACCESS_KEY": "hush"}, ["ingest", "--logs", "{l}", "--target", TABLES], ("tables", "{e}"),
    ),
    "no such bucket of logs": (
        {}, ["ingest", "--logs", "s3://nowhere/logs", "--target", "{t}"], ("s3://nowhere", "no such bucket", "{e}"),
    ),
    "no such bucket of tables": (
        {}, [*_INGEST, "s3://nowhere/tables"], ("s3://nowhere", "no such bucket", "{e}"),
    ),
    "no such bucket to report": (
        {}, ["report", "--target", "s3://nowhere/tables", "--output", "{t}"], ("s3://nowhere", "no such bucket"),
    ),
    "no logs": (
        {}, ["ingest", "--logs", "s3://history/nothing", "--target", "{t}"], ("s3://history/nothing: no metadata log",),
    ),
    "no tables": ({}, ["report", "--target", TABLES, "--output", "{t}"], (f"{TABLES} holds no tables",)),
    "no store": ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, [*_INGEST, "{t}"], ("s3://history", "127.0.0.1:9")),
    "credentials in the URL": (
        {}, ["ingest", "--logs", "s3://AKUSER:hush@history/logs", "--target", "{t}"], ("must not hold credentials",),
    ),
    "no such file to verify": (
        {}, ["verify", f"{LOGS}/{_SEGMENT}", "--kafka-home", "{t}"], (f"logs/{_SEGMENT}",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", _WRONG)
def test_what_cannot_be_done_is_said(
    server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    """An error is one sentence with object, place and advice; the exit code is 1, and it has no credentials."""
    environment, arguments, expected = _WRONG[case]
    target = tmp_path / "tables"
    filled = {"{t}": str(target), "{l}": str(tmp_path / "logs"), "{e}": server.endpoint.removeprefix("http://")}

    def fill(text: str) -> str:
        for name, value in filled.items():
            text = text.replace(name, value)
        return text

    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert quorum_history([fill(argument) for argument in arguments]) == 1
    said = capsys.readouterr()
    (line,) = [each for each in said.err.splitlines() if each.startswith("quorum-history: ")]
    assert [part for part in map(fill, expected) if part not in line] == []
    assert not [
        word for word in (server.access_key, server.secret_key, "hush", "AKUSER") if word in said.err + said.out
    ]
    assert not list(target.glob("ingest/*"))
    assert not [path for path in server.contents() if path.startswith("history/tables/")]


def test_a_dump_that_cannot_be_made(
    server: S3Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`kraftlog` reports a store that refuses, and a file that does not exist."""
    assert kraftlog(["dump", f"{LOGS}/nothing.log"]) == 1
    assert f"{LOGS}/nothing.log" in capsys.readouterr().err
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    _forget()
    assert kraftlog(["dump", f"{LOGS}/one/node-1/__cluster_metadata-0/{_SEGMENT}"]) == 1
    said = capsys.readouterr().err
    assert f"{LOGS}/one/node-1/__cluster_metadata-0/{_SEGMENT}: cannot be read" in said
    assert server.endpoint in said
    assert "hush" not in said


_MOMENTS = {
    "while whose logs they are is read": ("quorum_history.files", "_properties"),
    "while logs are listed": ("quorum_history.index", "list_batches"),
    "while records are read": ("quorum_history.rows", "_record_rows"),
    "before rows are written": ("quorum_history.sink:Sink", "_flush"),
    "before the rows are whole": ("quorum_history.sink:Sink", "__exit__"),
    "before the commit": ("quorum_history.ingest", "commit"),
    "after the commit": ("quorum_history.ingest", "_publish"),
}


_LOOKING = ("while whose logs they are is read", "while logs are listed")
"""By then the rest of these small logs is read, so tables on a disk can be completed."""


def _killing(server: S3Server, function: Callable[..., Any], killed: list[bool]) -> Callable[..., Any]:
    """The function, at whose first call the server is killed."""

    def wrapped(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 -- whatever the function has
        if not killed:
            killed.append(True)
            server.kill()
        return function(*arguments, **named)

    return wrapped


@pytest.mark.parametrize("moment", _MOMENTS)
@pytest.mark.parametrize("target", ["{t}/tables", TABLES])
def test_a_server_that_dies(
    server: S3Server, tmp_path: Path, capsys: pytest.CaptureFixture[str], moment: str, target: str
) -> None:
    """The run ends with an error that names the place, and the next one completes the tables without lost rows."""
    where, name = _MOMENTS[moment]
    undisturbed, arguments = str(tmp_path / "undisturbed"), [*_INGEST, target.format(t=tmp_path)]
    assert quorum_history([*_INGEST, undisturbed]) == 0
    capsys.readouterr()
    module, _, inner = where.partition(":")
    owner = getattr(import_module(module), inner) if inner else import_module(module)
    killed: list[bool] = []
    _forget()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, _killing(server, getattr(owner, name), killed))
        code = quorum_history(arguments)
    said = capsys.readouterr().err
    assert killed
    if target == TABLES or moment in _LOOKING:
        assert code == 1
        assert "history" in said
        assert server.endpoint.removeprefix("http://") in said
    server.start()
    _forget()
    assert quorum_history(arguments) == 0
    assert _rows(arguments[-1]) == _rows(undisturbed)
    assert derived(Store(arguments[-1]), "faults") == []


def test_credentials_are_stored_nowhere(server: S3Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No output, object or file of the tables has the credentials."""
    target = tmp_path / "tables"
    for place in (TABLES, str(target)):
        assert quorum_history([*_INGEST, place]) == 0
    said = capsys.readouterr()
    files = [file.read_bytes() for file in target.rglob("*") if file.is_file()]
    everything = b"".join([*server.contents().values(), *files, (said.out + said.err).encode()])
    assert b"logs/one/node-1" in everything
    assert server.access_key.encode() not in everything
    assert server.secret_key.encode() not in everything


def test_a_bucket_that_comes_later(server: S3Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing bucket is not cached: when it exists, it is used."""
    arguments = ["at", "--logs", "s3://later/logs/one"]
    assert quorum_history(arguments) == 1
    assert "no such bucket" in capsys.readouterr().err
    server.filesystem().create_dir("later")
    fs.copy_files(str(tmp_path / "logs"), "later/logs", destination_filesystem=server.filesystem())
    assert quorum_history(arguments) == 0
    assert "t-39-1" in capsys.readouterr().out
