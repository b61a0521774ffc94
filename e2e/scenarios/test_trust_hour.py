"""Certificates that live ten minutes, renewed for an hour, with another authority in the middle.

Clients of the controllers and of a pool of brokers work all the time.
"""

import os
import time
from collections.abc import Callable
from typing import Final

import pytest

from demo import NAMESPACE
from harness.asker import Asker
from harness.everywhere import Remembering, everything
from harness.pool import Pool
from harness.quorum import Quorum
from scenarios.authorities import change_authority
from scenarios.pools import SMALL, Kafka, assert_nothing_lost
from scenarios.test_trust import SSL

_HOUR_S: Final = float(os.environ.get("TRUST_SECONDS", "3600"))
"""TRUST_SECONDS chooses another duration."""
_LEAF_S: Final = 600
_RENEW_BEFORE_S: Final = 350
"""Three controllers and three brokers restart in this time, after the kubelets have brought the Secrets."""
_RENEWED_EVERY_S: Final = _LEAF_S - _RENEW_BEFORE_S
_CHANGED_TIMEOUT_S: Final = 1200.0

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.timeout(_HOUR_S + 3600)]


def test_an_hour_of_ten_minute_certificates(quorum: Quorum, pools: Callable[[str], Pool], client_image: str) -> None:
    """No request of a client that trusts the authority fails, no record is lost, no expired certificate is served."""
    kafka = Kafka(quorum=quorum, pools=[pools("brokers")], image=client_image)
    security = {"controllers": {"leafSeconds": _LEAF_S, "renewBeforeSeconds": _RENEW_BEFORE_S}}
    quorum.apply({"controllers": SMALL["controllers"] | SSL["controllers"], "security": security})
    kafka.pool.apply()
    kafka.wait_ready(240)
    with kafka.clients() as users, Remembering(quorum.namespace) as remembering, Asker(quorum) as asker:
        began_s = time.monotonic()
        _wait(began_s + _HOUR_S / 2)
        change_authority(quorum, _CHANGED_TIMEOUT_S)
        print(f"another authority after {time.monotonic() - began_s - _HOUR_S / 2:.0f} s", flush=True)
        _wait(began_s + _HOUR_S)
        quorum.wait_ready(300)
        print(asker.asked, flush=True)
        assert_nothing_lost(users)
        found = remembering.search(everything((quorum.namespace, NAMESPACE)))
        print(found, flush=True)
    assert not asker.asked.failed
    assert not asker.asked.expired
    assert all(len(serials) >= _HOUR_S / _RENEWED_EVERY_S / 2 for serials in asker.asked.serials.values())
    assert len(asker.asked.serials) == 3
    assert not found.leaks


def _wait(until_s: float) -> None:
    """The certificates are renewed meanwhile: what is measured is an hour."""
    while time.monotonic() < until_s:
        time.sleep(1.0)
