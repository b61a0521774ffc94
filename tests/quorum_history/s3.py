"""A real S3 server on loopback, with its own buckets: versitygw, which the test-bed compiles once per machine."""

import os
import secrets
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyarrow import fs
from tests.live.process import ServerProcess
from tests.quorum_history.provided import provided

_COMPILE_TIMEOUT_S = 3600.0
_START_TIMEOUT_S = 60.0
BUCKET = "history"
REGION = "us-east-1"


def compiled() -> Path:
    """The server's program. The error names what is missing if it cannot be compiled."""
    return Path(provided("versitygw-binary", _COMPILE_TIMEOUT_S)[-1])


class S3Server:
    """A server that can be killed and started again, with credentials that exist nowhere else."""

    def __init__(self, program: Path, home: Path) -> None:
        """Starts it, and creates the bucket `history`."""
        self._program, self._home = program, home
        self.access_key, self.secret_key = f"AK{secrets.token_hex(8).upper()}", secrets.token_hex(20)
        self.access_log = home / "access.log"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = int(probe.getsockname()[1])
        for folder in ("buckets", "metadata"):
            (home / folder).mkdir(parents=True)
        self.start()
        self.filesystem().create_dir(BUCKET)

    @property
    def endpoint(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables that give the store's address and credentials to every program that uses it."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": REGION,
        }

    def start(self) -> None:
        """Starts the server, with everything that was stored before."""
        command = [
            str(self._program), "--port", f"127.0.0.1:{self._port}", "--region", REGION, "--quiet",
            "--access-log", str(self.access_log),
            "posix", "--sidecar", str(self._home / "metadata"), str(self._home / "buckets"),
        ]  # fmt: skip
        secret = {"ROOT_ACCESS_KEY": self.access_key, "ROOT_SECRET_KEY": self.secret_key}
        self._process = ServerProcess(command, self._home / "server.log", {**os.environ, **secret})
        end_s = time.monotonic() + _START_TIMEOUT_S
        while not self._listens():
            assert self._process.exit_code is None, (self._home / "server.log").read_text()
            assert time.monotonic() < end_s, "versitygw does not listen"
            time.sleep(0.05)

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0

    def kill(self) -> None:
        """Ends the server as a crash would."""
        self._process.kill()

    def filesystem(self) -> Any:  # noqa: ANN401 -- pyarrow has no types
        """The store as an Arrow filesystem."""
        return fs.S3FileSystem(
            access_key=self.access_key,
            secret_key=self.secret_key,
            endpoint_override=self.endpoint,
            region=REGION,
            allow_bucket_creation=True,
        )

    def put(self, source: Path, place: str) -> None:
        """Stores a file or folder below `BUCKET/place`."""
        fs.copy_files(str(source), f"{BUCKET}/{place}", destination_filesystem=self.filesystem())

    def contents(self) -> Mapping[str, bytes]:
        """Every object of the bucket."""
        store = self.filesystem()
        found = store.get_file_info(fs.FileSelector(BUCKET, recursive=True))
        return {each.path: store.open_input_file(each.path).read() for each in found if each.type == fs.FileType.File}

    def requests(self) -> list[tuple[str, str]]:
        """The operation and the key of every request until now, from the server's own log."""
        _, *lines = self.access_log.read_text().splitlines()  # the first line is a heading
        return [(fields[7], fields[8]) for fields in map(str.split, lines)]


@contextmanager
def served(home: Path) -> Iterator[S3Server]:
    """A server that ends with the block."""
    server = S3Server(compiled(), home)
    try:
        yield server
    finally:
        server.kill()
