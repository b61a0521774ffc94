"""The process of a client's pod: creates the topics, produces, consumes, watches the partitions, answers over HTTP.

`GET /ready` answers 200 when each partition has an acknowledgement and a consumed record. `GET /account` counts.
`GET /gaps?since=S&until=S` has the longest time without an acknowledgement of each partition, and when it began. `GET
/outages` has what the partitions' metadata said. `POST /finish` stops, reads everything back, and answers with the
verdict.
"""

import json
import os
import threading
import time
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlparse

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from harness.client import ledger
from harness.client.outages import Outages, Seen
from harness.client.streams import Streams, read_back
from harness.client.topics import Topic, create, read_topics

PORT = 8080
_LOOK_S = 0.2
_LOOK_TIMEOUT_S = 2.0
_CREATE_TIMEOUT_S = 180.0
_READ_TIMEOUT_S = 240.0


class Client:
    """Everything that the pod does."""

    def __init__(self, way: Mapping[str, str], topics: tuple[Topic, ...], interval_s: float, bytes_: int) -> None:
        """Nothing is sent before `start`. `way` has the properties of librdkafka with which Kafka is reached."""
        self._way, self._topics = dict(way), topics
        lanes = tuple(name for topic in topics for name in topic.lanes)
        self.streams = Streams(way, lanes, interval_s, bytes_)
        self.outages = Outages()
        self._admin = self._new_admin()
        self._min_isr = {name: topic.min_isr for topic in topics for name in topic.lanes}
        self._ended = threading.Event()
        self._verdict: dict[str, Any] | None = None
        self._finishing = threading.Lock()

    def start(self) -> None:
        """Create the topics, then begin."""
        create(self._admin, self._topics, time.monotonic() + _CREATE_TIMEOUT_S)
        threading.Thread(target=self._watch, daemon=True).start()
        self.streams.start()

    @property
    def flowing(self) -> bool:
        """Whether each partition has an acknowledgement and a consumed record."""
        return all(lane.acknowledged and lane.consumed for lane in self.streams.lanes.values())

    def account(self) -> dict[str, Any]:
        """Counts, of all partitions together."""
        lanes = self.streams.lanes.values()
        return {
            "flowing": self.flowing,
            "sent": sum(lane.sent for lane in lanes),
            "acknowledged": sum(len(lane.acknowledged) for lane in lanes),
            "failed": sum(len(lane.failed) for lane in lanes),
            "consumed": sum(len(lane.consumed) for lane in lanes),
            "oldest_last_s": min(lane.acknowledged[-1].at_s if lane.acknowledged else 0.0 for lane in lanes),
            "replaced": self.streams.replaced,
            "broken": self.streams.broken,
        }

    def gaps(self, since_s: float, until_s: float) -> dict[str, Any]:
        """The longest gap of each partition with its begin, and the longest of all of them as one."""
        lanes = self.streams.lanes
        times = (row.at_s for lane in lanes.values() for row in tuple(lane.acknowledged))
        return {"each": ledger.gaps(lanes, since_s, until_s), "all": ledger.longest_gap_s(times, since_s, until_s)}

    def finish(self) -> dict[str, Any]:
        """Stop, and judge; a second call gets the same answer."""
        with self._finishing:
            if self._verdict is None:
                self.streams.stop()
                logs = read_back(self._way, self.streams.lanes, _READ_TIMEOUT_S)
                total = ledger.Verdict()
                for name, lane in self.streams.lanes.items():
                    total = total.plus(ledger.judge(name, lane, logs[name]))
                self._ended.set()
                self._verdict = total.values()
            return self._verdict

    def _new_admin(self) -> AdminClient:
        return AdminClient({**self._way, "log_level": 3})

    def _watch(self) -> None:
        while not self._ended.wait(_LOOK_S):
            try:
                topics = self._admin.list_topics(timeout=_LOOK_TIMEOUT_S).topics
            except KafkaException:  # this broker does not answer; the longest time without a look is counted
                self._admin = self._new_admin()
                continue
            seen = (
                Seen(
                    partition=(name := f"{topic.topic}-{row.id}"),
                    leader=row.leader,
                    replicas=len(row.replicas),
                    isr=len(row.isrs),
                    min_isr=self._min_isr.get(name, 0),
                )
                for topic in topics.values()
                for row in topic.partitions.values()
            )
            self.outages.note(seen, time.time())


class Handler(BaseHTTPRequestHandler):
    """Answers over HTTP."""

    client: ClassVar[Client]

    def do_GET(self) -> None:
        """Answer a question."""
        url = urlparse(self.path)
        ask = {key: float(values[0]) for key, values in parse_qs(url.query).items()}
        match url.path:
            case "/ready":
                self._answer({}, HTTPStatus.OK if self.client.flowing else HTTPStatus.SERVICE_UNAVAILABLE)
            case "/account":
                self._answer(self.client.account())
            case "/gaps":
                self._answer(self.client.gaps(ask["since"], ask["until"]))
            case "/outages":
                self._answer(self.client.outages.values())
            case _:
                self._answer({}, HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        """Finish."""
        try:
            self._answer(self.client.finish())
        except (KafkaException, TimeoutError) as error:
            self._answer({"error": str(error)}, HTTPStatus.INTERNAL_SERVER_ERROR)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Questions are not logged."""

    def _answer(self, body: dict[str, Any], status: HTTPStatus = HTTPStatus.OK) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def _way(bootstrap: str, file: str) -> dict[str, str]:
    """Where Kafka is, and how a client is let in: the JSON in a file of a Secret, if there is one."""
    access: dict[str, str] = json.loads(Path(file).read_text()) if file else {}
    return {"bootstrap.servers": bootstrap} | access


def main() -> None:
    """Run until the pod ends."""
    variables = os.environ
    Handler.client = Client(
        _way(variables["BOOTSTRAP"], variables["ACCESS"]),
        read_topics(variables["TOPICS"]),
        float(variables["INTERVAL_S"]),
        int(variables["BYTES"]),
    )
    server = ThreadingHTTPServer(("", PORT), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Handler.client.start()
    print("started", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
