"""TLS of the modelled servers: what a process has loaded, and which connections succeed. Certificates are real ones.

A process loads its certificate and its trust when it starts. Its listener loads the certificate once more on request;
what it shows as a client stays. A connection succeeds if each side's certificate is valid by the other side's clock,
and signed by an authority that the other side trusts; that of a server has its name. An open connection stays a while.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Final, Protocol

from tests.simulation.model.clock import VirtualClock

from kit.pki.bundle import Bundle, read_trust
from kit.pki.certificate import Certificate
from kit.pki.faults import Faults, Place
from kit.pki.leaf import read_chain

KEPT_S: Final = 45.0
"""How long a connection stays open, unless a run says otherwise. With real servers it is much longer: that hides some
faults, and makes others."""
_PLACE: Final = Place(owner="the simulation", key="any")
_BEGIN: Final = "-----BEGIN CERTIFICATE-----"
ENDED, NOT_TRUSTED, OTHER_NAME, NO_TLS = "ended", "not trusted", "another name", "no TLS"


@lru_cache(maxsize=4096)
def leaf_in(text: str) -> Certificate | None:
    """The first certificate of a text in PEM, with or without a key before it; None if there is none."""
    begin = text.find(_BEGIN)
    found = read_chain(text[begin:], _PLACE) if begin >= 0 else Faults(())
    return None if isinstance(found, Faults) else found[0]


@lru_cache(maxsize=1024)
def trust_in(text: str) -> Bundle:
    """The authorities in a text in PEM; none if it cannot be read."""
    found = read_trust(text, _PLACE, None)
    return Bundle() if isinstance(found, Faults) else found


@lru_cache(maxsize=16384)
def _signed(leaf: Certificate, trust: Bundle) -> bool:
    return any(leaf.issued_by(each) for each in trust.authorities)


@dataclass(slots=True, eq=False)
class Mount:
    """The Secret with the key as a pod's directory has it: a kubelet brings another content later."""

    keystore: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    """The texts of all keys: brokers name the files that they load."""
    version: str = ""
    due: tuple[str, float] | None = None
    """The version that follows, and when."""


@dataclass(slots=True, kw_only=True, eq=False)
class Tls:
    """What a process has loaded."""

    mount: Mount
    trust: Bundle
    served: Certificate
    """What its listener shows."""
    shown: Certificate
    """What it shows as a client."""
    path: str = ""
    """The path that it was last asked to load."""
    users: str = ""
    """The lines with its users; empty for a listener without any."""

    def reload(self) -> None:
        """Load the listener's certificate again: only one of the same subject, with the same names or more."""
        found = leaf_in(self.mount.keystore)
        if found is not None and found.subject == self.served.subject and found.names >= self.served.names:
            self.served = found


class Secured(Protocol):
    """A process, as far as TLS needs it."""

    incarnation: str
    host: str
    tls: Tls | None


def why_refused(shown: Certificate, trust: Bundle, now: datetime, host: str = "") -> str:
    """Why one side does not accept what the other one shows; empty if it does. A server needs the name `host`."""
    if not shown.not_before <= now < shown.not_after:
        return ENDED
    if not _signed(shown, trust):
        return NOT_TRUSTED
    return OTHER_NAME if host and not shown.covers(host) else ""


@dataclass(slots=True)
class Connections:
    """The connections between processes."""

    clock: VirtualClock
    ahead_ms: dict[int, int] = field(default_factory=dict)
    """How far the clock of a controller is ahead of the true one."""
    kept_s: float = KEPT_S
    """How long each connection stays open, while both processes run."""
    _open: dict[tuple[str, str], float] = field(default_factory=dict)

    def reach(self, client: Secured, server: Secured, client_now: datetime, server_now: datetime) -> bool:
        """Whether a client has a connection to a server, or gets one now."""
        if client.tls is None and server.tls is None:
            return True
        pair, now_s = (client.incarnation, server.incarnation), self.clock.elapsed_s
        if pair in self._open and now_s - self._open[pair] < self.kept_s:
            return True
        if why_not_connected(client, server, client_now, server_now):
            self._open.pop(pair, None)
            return False
        self._open[pair] = now_s
        return True

    def broke(self) -> None:
        """Every connection ends."""
        self._open.clear()


def why_not_connected(client: Secured, server: Secured, client_now: datetime, server_now: datetime) -> str:
    """Why a new connection fails; empty if it does not."""
    mine, its = client.tls, server.tls
    if mine is None or its is None:
        return "" if mine is its else NO_TLS
    return why_refused(its.served, mine.trust, client_now, server.host) or why_refused(
        mine.shown, its.trust, server_now
    )
