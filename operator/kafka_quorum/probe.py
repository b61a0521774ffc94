"""The health endpoint: it fails when something has stopped that must go on, never because a quorum is unwell.

A failed probe makes the kubelet restart the process. So only what a restart can repair counts: the lease task, a pass
without an end, the search for quorums, the event loop. An API server that does not answer does not count: attempts go
on without it.
"""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from aiohttp import web

LEASE_ATTEMPT_MAX_S: Final = 45.0
"""An attempt takes 5 s at most, and the next one follows within 5 s."""
PASS_MAX_S: Final = 300.0
SWEEP_MAX_S: Final = 300.0
BEAT_MAX_S: Final = 30.0
_OK: Final = 200
_UNAVAILABLE: Final = 503


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The state of this process. Ages and durations are seconds; `acting` says whether it holds the lease."""

    acting: bool
    quorums: int
    lease_attempt_age_s: float
    longest_pass_s: float
    sweep_age_s: float
    beat_age_s: float
    worst_lag_s: float
    """The longest time in the last minute or two for which one task kept the event loop busy."""

    @property
    def faults(self) -> tuple[str, ...]:
        """What has stopped, one sentence each; empty if nothing has."""
        rows = (
            (self.lease_attempt_age_s, LEASE_ATTEMPT_MAX_S, "The last attempt to acquire or renew the lease ended"),
            (self.sweep_age_s, SWEEP_MAX_S, "The last search for quorums ended"),
            (self.beat_age_s, BEAT_MAX_S, "The event loop last made progress"),
        )
        stale = [
            f"{text} {age_s:.0f} s ago, and should be at most {max_s:.0f} s ago"
            for age_s, max_s, text in rows
            if age_s > max_s
        ]
        if self.longest_pass_s > PASS_MAX_S:
            stale.append(
                f"A pass has been running for {self.longest_pass_s:.0f} s, and should end within {PASS_MAX_S:.0f} s"
            )
        return tuple(stale)


def report(health: Health) -> tuple[int, str]:
    """The HTTP status and the body, JSON."""
    faults = health.faults
    body = {
        "healthy": not faults,
        "faults": faults,
        "acting": health.acting,
        "quorums": health.quorums,
        "leaseAttemptAgeSeconds": round(health.lease_attempt_age_s, 1),
        "longestPassSeconds": round(health.longest_pass_s, 1),
        "sweepAgeSeconds": round(health.sweep_age_s, 1),
        "eventLoop": {"beatAgeSeconds": round(health.beat_age_s, 1), "worstLagSeconds": round(health.worst_lag_s, 3)},
    }
    return (_UNAVAILABLE if faults else _OK), json.dumps(body)


@dataclass(slots=True)
class Beat:
    """Measures how late the event loop runs its beats."""

    last_s: float
    worst_s: float = 0.0
    _before_s: float = 0.0
    _since_s: float = 0.0

    def beat(self, now_s: float, expected_s: float) -> None:
        """Note a beat that was expected `expected_s` after the one before. The worst lag is of the last two minutes."""
        lag_s = max(0.0, now_s - self.last_s - expected_s)
        if now_s - self._since_s > _WINDOW_S:
            self._before_s, self._since_s = self.worst_s, now_s
            self.worst_s = 0.0
        self.worst_s = max(self.worst_s, lag_s)
        self.last_s = now_s

    @property
    def lag_s(self) -> float:
        """The worst lag of this minute and the one before."""
        return max(self.worst_s, self._before_s)


_WINDOW_S: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """The running HTTP server. `port` is where it listens; `close` ends it."""

    port: int
    close: Callable[[], Awaitable[None]]


async def serve(port: int, health: Callable[[], Health]) -> Server:
    """Answer `/healthz` on every address of this machine; port 0 is any free one."""

    async def answer(_: web.Request) -> web.Response:
        status, body = report(health())
        return web.Response(status=status, text=body, content_type="application/json")

    app = web.Application()
    app.router.add_get("/healthz", answer)
    runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=1.0, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "0.0.0.0", port).start()  # noqa: S104 - the kubelet asks from outside the pod
    return Server(port=int(runner.addresses[0][1]), close=runner.cleanup)
