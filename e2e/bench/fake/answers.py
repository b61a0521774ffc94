"""A controller that only answers: it keeps no log and takes no part in a quorum. Standard library only.

By default its answers are correct: the first voter of the disk's format leads, and reports all as caught up. With
the server property `fake.answers` it is hostile: each answer is the next of the listed kinds.
"""

import argparse
import base64
import itertools
import os
import socket
import struct
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

API_VERSIONS, DESCRIBE_QUORUM, UPDATE_FEATURES, DESCRIBE_CLUSTER = 18, 55, 57, 60
ADD_VOTER, REMOVE_VOTER = 80, 81
NOT_LEADER, INVALID_REQUEST = 6, 42
EPOCH, HIGH_WATERMARK = 5, 1000
INVENTED_VOTERS, INVENTED_OBSERVERS, INVENTED_FEATURES = 5_000, 10_000, 15_000
HUGE_BYTES = 64 * 1024 * 1024
SILENT_S, DRIP_S = 600.0, 0.2
KRAFT_LEVEL, METADATA_LEVEL = 1, 33
_NO_TAGS = b"\0"

Row = tuple[int, bytes]
"""A replica: node id, and the sixteen bytes of its directory id."""


def varint(number: int) -> bytes:
    """Kafka's unsigned varint."""
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*parts, number))


def text(value: str) -> bytes:
    """A compact string."""
    raw = value.encode()
    return varint(len(raw) + 1) + raw


def array(rows: Iterable[bytes]) -> bytes:
    """A compact array of encoded rows."""
    found = list(rows)
    return varint(len(found) + 1) + b"".join(found)


def replicas(rows: Iterable[Row]) -> bytes:
    """Rows of DescribeQuorum: all replicas are caught up now."""
    now_ms = int(time.time() * 1000)
    stamps = struct.pack(">qqq", HIGH_WATERMARK, now_ms, now_ms)
    return array(struct.pack(">i", number) + directory + stamps + _NO_TAGS for number, directory in rows)


class Controller:
    """The answers of one controller. `voters` are those of the disk's format."""

    def __init__(self, node_id: int, cluster_id: str, voters: tuple[Row, ...], kinds: tuple[str, ...]) -> None:
        """`kinds` of hostile answers, in turn; none for a correct controller."""
        self.node_id, self.cluster_id, self.voters = node_id, cluster_id, voters
        self.leader_id = min(number for number, _ in voters)
        self.kinds: Iterator[str] = itertools.cycle(kinds or ("honest",))
        self._lock = threading.Lock()

    def answer(self, api: int) -> tuple[bytes, str]:
        """The body of an answer, and its kind."""
        with self._lock:
            kind = next(self.kinds)
        bodies: dict[int, Callable[[str], bytes]] = {
            API_VERSIONS: self._versions,
            DESCRIBE_QUORUM: self._quorum,
            DESCRIBE_CLUSTER: self._cluster,
        }
        body = bodies[api](kind) if api in bodies else struct.pack(">h", INVALID_REQUEST)
        return (body if api == API_VERSIONS else _NO_TAGS + body), kind

    def _versions(self, kind: str) -> bytes:
        known = (API_VERSIONS, 4), (DESCRIBE_QUORUM, 2), (UPDATE_FEATURES, 2), (DESCRIBE_CLUSTER, 1)
        apis = array(struct.pack(">hhh", key, 0, high) + _NO_TAGS for key, high in (*known, (80, 1), (81, 0)))
        levels = [("kraft.version", KRAFT_LEVEL), ("metadata.version", METADATA_LEVEL)]
        if kind == "features":
            levels += [(f"invented.feature.{number}.version", 1) for number in range(INVENTED_FEATURES)]
        supported = array(text(name) + struct.pack(">hh", 0, level) + _NO_TAGS for name, level in levels)
        finalized = array(text(name) + struct.pack(">hh", level, level) + _NO_TAGS for name, level in levels)
        tags = ((0, supported), (1, struct.pack(">q", HIGH_WATERMARK)), (2, finalized))
        tagged = b"".join(varint(tag) + varint(len(data)) + data for tag, data in tags)
        return struct.pack(">h", 0) + apis + struct.pack(">i", 0) + varint(len(tags)) + tagged

    def _quorum(self, kind: str) -> bytes:
        leads = self.node_id == self.leader_id or kind in ("voters", "observers")
        code = 0 if leads else NOT_LEADER
        voters = list(self.voters if leads else ())
        if kind == "voters":
            voters += [(10_000 + number, uuid.uuid4().bytes) for number in range(INVENTED_VOTERS)]
        observers = range(INVENTED_OBSERVERS if kind == "observers" else 0)
        head = struct.pack(">ih", 0, code) + b"\0" + struct.pack(">iiq", self.leader_id, EPOCH, HIGH_WATERMARK)
        body = replicas(voters) + replicas((20_000 + number, uuid.uuid4().bytes) for number in observers)
        partition = head + body + _NO_TAGS
        topic = text("__cluster_metadata") + array([partition]) + _NO_TAGS
        return struct.pack(">h", 0) + b"\0" + array([topic]) + array([]) + _NO_TAGS

    def _cluster(self, _: str) -> bytes:
        rows = array(
            struct.pack(">i", number) + text("somewhere") + struct.pack(">i", 9093) + b"\0" + _NO_TAGS
            for number, _directory in self.voters
        )
        head = struct.pack(">ih", 0, 0) + b"\0" + struct.pack(">b", 2) + text(self.cluster_id)
        return head + struct.pack(">i", self.leader_id) + rows + struct.pack(">i", -(2**31)) + _NO_TAGS


def listen(port: int) -> socket.socket:
    """Listen on every address."""
    return socket.create_server(("", port))


def serve(controller: Controller, listening: socket.socket) -> None:
    """Answer without end, each connection in its own thread."""
    while True:
        connection, _ = listening.accept()
        threading.Thread(target=_converse, args=(controller, connection), daemon=True).start()


def _converse(controller: Controller, connection: socket.socket) -> None:
    try:
        with connection:
            while (head := _read(connection, 4)) and (request := _read(connection, struct.unpack(">i", head)[0])):
                api, _version, correlation = struct.unpack(">hhi", request[:8])
                body, kind = controller.answer(api)
                _send(connection, struct.pack(">i", correlation) + body, kind)
    except OSError:
        return  # the other side closed the connection


def _send(connection: socket.socket, answer: bytes, kind: str) -> None:
    framed = struct.pack(">i", len(answer)) + answer
    if kind == "silent":
        time.sleep(SILENT_S)
    elif kind == "slow":
        for at in range(len(framed)):
            connection.sendall(framed[at : at + 1])
            time.sleep(DRIP_S)
    elif kind == "huge":
        connection.sendall(struct.pack(">i", HUGE_BYTES) + answer)
        for _ in range(HUGE_BYTES // 65536):
            connection.sendall(bytes(65536))
    elif kind == "count":  # an array that claims two thousand million entries, and has none
        connection.sendall(struct.pack(">i", 11) + answer[:4] + struct.pack(">h", 0) + varint(2**31 - 1))
    else:
        connection.sendall(framed)


def _read(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = connection.recv(size - len(found))
        if not part:
            return b""
        found += part
    return found


def properties(path: str) -> dict[str, str]:
    """Server properties."""
    lines = (line.partition("=") for line in Path(path).read_text().splitlines() if "=" in line and line[0] != "#")
    return {key.strip(): value.strip() for key, _, value in lines}


def directory_id(raw: bytes) -> str:
    """Kafka's notation of a UUID."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def format_disk(config: dict[str, str], cluster_id: str, initial: str) -> None:
    """Write the files that the operator's script reads; `initial` as for `kafka-storage.sh`, empty for none."""
    directory, node_id = Path(config["log.dirs"]), int(config["node.id"])
    rows = [entry.rpartition(":") for entry in initial.split(",") if entry]
    voters = {int(place.partition("@")[0]): directory for place, _, directory in rows}
    own = voters.setdefault(node_id, directory_id(uuid.uuid4().bytes))
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "voters").write_text("".join(f"{number}={value}\n" for number, value in sorted(voters.items())))
    lines = ("version=1", f"cluster.id={cluster_id}", f"node.id={node_id}", f"directory.id={own}")
    (directory / "meta.properties").write_text("\n".join(lines) + "\n")


def start(config: dict[str, str]) -> None:
    """Serve what is on the disk."""
    directory = Path(config["log.dirs"])
    meta, voters = properties(str(directory / "meta.properties")), properties(str(directory / "voters"))
    rows = tuple((int(number), base64.urlsafe_b64decode(value + "==")) for number, value in voters.items())
    kinds = tuple(kind for kind in config.get("fake.answers", "").split(",") if kind)
    controller = Controller(int(meta["node.id"]), meta["cluster.id"], rows, kinds)
    serve(controller, listen(int(config["listeners"].rpartition(":")[2])))


def main() -> int:
    """`format …` as `kafka-storage.sh`, `serve --config FILE` as a server."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=("format", "serve"))
    parser.add_argument("--config", required=True)
    parser.add_argument("--cluster-id", default="")
    parser.add_argument("--initial-controllers", default="")
    options, _ = parser.parse_known_args()
    config = properties(options.config)
    if options.command == "format":
        format_disk(config, options.cluster_id, options.initial_controllers)
    else:
        start(config)
    return 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(main())
