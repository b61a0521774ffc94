"""A client of the controllers that trusts their authority and asks all the time, and counts what it was served.

Like every client of Kafka it tries the next controller when one does not answer; a request has failed when none of them
has answered within the time that Kafka's own clients wait.
"""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Self

from harness.background import Background
from harness.controllers import port_of
from harness.quorum import Quorum
from harness.shell import CommandFailed, secret_texts
from kafka_quorum.errors import KafkaError
from kafka_quorum.model.handshakes import Failure, Served
from kafka_quorum.model.ids import Member, NodeID
from kafka_quorum.model.names import authority_name, brokers_tls_name, host_name
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.security import Secured, Tls
from kafka_quorum.wire.admin import KafkaControllers
from kafka_quorum.wire.handshake import probe

_INTERVAL_S: Final = 1.0
_REQUEST_TIMEOUT_S: Final = 30.0
"""Less than the `default.api.timeout.ms` of Kafka's clients, which is 60 s."""


@dataclass(slots=True)
class Asked:
    """What it counted. `longest_s` is the longest time that one request took with all its attempts."""

    requests: int = 0
    failed: list[str] = field(default_factory=list)
    attempts_without_answer: Counter[str] = field(default_factory=Counter)
    longest_s: float = 0.0
    serials: dict[int, set[str]] = field(default_factory=dict)
    expired: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        """For a person."""
        again = sum(self.attempts_without_answer.values())
        served = ", ".join(f"{node_id}: {len(serials)}" for node_id, serials in sorted(self.serials.items()))
        return (
            f"{self.requests} requests, {len(self.failed)} failed, {again} attempts went to the next controller, "
            f"longest {self.longest_s:.2f} s; certificates served {served}; {len(self.expired)} of them expired"
        )


@dataclass(slots=True)
class Asker:
    """Asks in a thread until the block ends. Its own certificate is read again from its Secret, as from a mount."""

    quorum: Quorum
    asked: Asked = field(default_factory=Asked)
    _background: Background | None = None

    def __enter__(self) -> Self:
        """Begin."""
        self._background = Background(self._ask_once, _INTERVAL_S, end_s=_REQUEST_TIMEOUT_S * 2)
        self._background.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End after the present request."""
        if self._background is not None:
            self._background.__exit__(kind, error, trace)

    def _ask_once(self) -> None:
        began_s, last = time.monotonic(), "no controller has an address"
        self.asked.requests += 1
        while time.monotonic() - began_s < _REQUEST_TIMEOUT_S:
            try:
                found = self._endpoints()
            except CommandFailed as error:  # the API server is away: no controller was asked
                last, found = str(error), []
            why = asyncio.run(self._round(found)) if found else last
            if why is None:
                self.asked.longest_s = max(self.asked.longest_s, time.monotonic() - began_s)
                return
            last = why
            time.sleep(0.2)
        self.asked.failed.append(f"{time.strftime('%H:%M:%S')}: {last}")

    async def _round(self, found: list[Endpoint]) -> str | None:
        """Ask one after another until one answers: None, or why the last one did not."""
        controllers, why = KafkaControllers(), ""
        try:
            for at in found:
                await self._look(at)
                try:
                    await controllers.describe_cluster(at)
                except KafkaError as error:
                    why = str(error)
                    self.asked.attempts_without_answer[type(error).__name__] += 1
                else:
                    return None
        finally:
            await controllers.close()
        return why

    async def _look(self, at: Endpoint) -> None:
        """Note the certificate that is served there, and whether it has ended."""
        shown = await probe(at)
        if isinstance(shown, Served):
            self.asked.serials.setdefault(int(at.node_id), set()).add(shown.leaf.serial)
            if shown.leaf.not_after_s < time.time():
                self.asked.expired.append(f"{at.node_id}: {shown.leaf.serial}")
        elif shown.failure is Failure.EXPIRED:
            self.asked.expired.append(f"{at.node_id}: {shown.why}")

    def _endpoints(self) -> list[Endpoint]:
        names = brokers_tls_name(self.quorum.name), authority_name(self.quorum.name)
        texts = secret_texts(self.quorum.namespace, names)
        own, trust = texts[names[0]], texts[names[1]]
        ca = trust["ca.crt"] + trust.get("next.crt", "")
        found = []
        for node_id, pod in sorted(self.quorum.pods().items()):
            if address := pod.get("status", {}).get("podIP"):
                name = host_name(self.quorum.namespace, Member(self.quorum.name, NodeID(node_id)))
                tls = Tls(ca=ca, certificate=own["tls.crt"], key=own["tls.key"])
                found.append(
                    Endpoint(
                        node_id=NodeID(node_id), host=address, port=port_of(pod), security=Secured(tls=tls), name=name
                    )
                )
        turn = self.asked.requests % len(found) if found else 0
        return found[turn:] + found[:turn]
