"""The health endpoint fails, with the cause, if a part hangs that a restart would repair."""

import json
from dataclasses import replace

import aiohttp
import pytest

from kafka_quorum import probe
from kafka_quorum.probe import Beat, Health, report

WELL = Health(
    acting=True,
    quorums=3,
    lease_attempt_age_s=2.0,
    longest_pass_s=4.0,
    sweep_age_s=20.0,
    beat_age_s=0.5,
    worst_lag_s=0.01,
)


def test_an_operator_that_goes_on_is_healthy() -> None:
    """A healthy operator reports its ages and no fault."""
    status, text = report(WELL)
    body = json.loads(text)
    assert (status, body["healthy"], body["faults"]) == (200, True, [])
    assert (body["leaseAttemptAgeSeconds"], body["eventLoop"]["beatAgeSeconds"]) == (2.0, 0.5)


def test_a_standby_is_healthy() -> None:
    """An operator without the lease is as healthy as one with it."""
    assert report(replace(WELL, acting=False))[0] == 200


@pytest.mark.parametrize(
    ("health", "word"),
    [
        (replace(WELL, lease_attempt_age_s=46.0), "lease"),
        (replace(WELL, acting=False, lease_attempt_age_s=46.0), "lease"),
        (replace(WELL, longest_pass_s=301.0), "pass"),
        (replace(WELL, sweep_age_s=301.0), "search"),
        (replace(WELL, beat_age_s=31.0), "event loop"),
    ],
)
def test_what_stands_still_is_named(health: Health, word: str) -> None:
    """Each part that hangs makes the probe fail, and is named."""
    status, text = report(health)
    assert status == 503
    assert word in json.loads(text)["faults"][0]


def test_beats_show_how_long_the_loop_was_busy() -> None:
    """The worst lag is reported for one to two minutes."""
    beat, now_s = Beat(last_s=0.0), 0.0
    for step_s in (1.0, 1.0, 8.0, 1.0):
        now_s += step_s
        beat.beat(now_s, 1.0)
    assert beat.lag_s == 7.0
    for _ in range(200):
        now_s += 1.0
        beat.beat(now_s, 1.0)
    assert beat.lag_s == 0.0
    assert beat.last_s == now_s


async def test_it_is_served() -> None:
    """The report is served over HTTP, with the status code that Kubernetes evaluates."""
    health = WELL
    server = await probe.serve(0, lambda: health)
    try:
        async with aiohttp.ClientSession() as session:
            url = f"http://127.0.0.1:{server.port}/healthz"
            async with session.get(url) as answer:
                assert (answer.status, (await answer.json())["quorums"]) == (200, 3)
            health = replace(WELL, lease_attempt_age_s=1000.0)
            async with session.get(url) as answer:
                assert answer.status == 503
    finally:
        await server.close()
