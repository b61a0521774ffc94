"""What one scrape of many quorums costs, and for how long it keeps the event loop from its other work."""

import asyncio
import time
from dataclasses import replace

import aiohttp
import pytest
from tests.clocks import MovingClock
from tests.metrics.test_quorums import World
from tests.model.certificates import looked, recorded, wanted
from tests.model.values import answering
from tests.status.passes import done
from tests.status.test_certificates_valid import everything

from kit.key import ObjectKey
from kit.metrics.library import registry
from kit.metrics.series import ResourceSeries
from kit.metrics.server import Scrape, serve

QUORUMS = 1000


async def filled() -> ResourceSeries:
    """The series of many quorums of three controllers with TLS."""
    world = World(MovingClock())
    record = recorded()
    observed = replace(looked(record, everything()), versions=answering(record))
    await world.saw(done(observed, wanted()))
    rows = [
        (metric, labels, value)
        for metric, values in world.metrics.series._resources[
            next(iter(world.metrics.series._resources))
        ].values.items()
        for rest, value in values
        for labels in (tuple(part.split('"')[1] for part in rest.split(",")[1:]),)
    ]
    began_s = time.process_time()
    for number in range(QUORUMS):
        world.metrics.series.put(ObjectKey(namespace=f"namespace-{number}", name="quorum"), rows, ())
    print(f"\nreplace the series of one quorum: {(time.process_time() - began_s) / QUORUMS * 1e6:.0f} µs")
    return world.metrics.series


@pytest.mark.bench
async def test_a_scrape_of_a_thousand_quorums() -> None:
    """Prints the CPU time of a scrape, its size, and how long the event loop did not run meanwhile, at most."""
    series = await filled()
    for openmetrics in (True, False):
        began_s = time.process_time()
        text = "".join(series.taken()(openmetrics)).encode()
        took_s = time.process_time() - began_s
        print(
            f"text, openmetrics={openmetrics}: {took_s * 1e3:.0f} ms, {text.count(b'kafka')} lines, {len(text)} bytes"
        )
    server = await serve(0, Scrape(registry(), (), (series,)))
    worst_s, ending = 0.0, False

    async def tick() -> None:
        nonlocal worst_s
        while not ending:
            before_s = time.monotonic()
            await asyncio.sleep(0.001)
            worst_s = max(worst_s, time.monotonic() - before_s - 0.001)

    async with aiohttp.ClientSession() as session:
        ticking = asyncio.create_task(tick())
        await asyncio.sleep(1)
        print(f"longest delay of the event loop in a second without a scrape: {worst_s * 1e3:.0f} ms")
        worst_s, began_s = 0.0, time.monotonic()
        async with session.get(f"http://127.0.0.1:{server.port}/metrics") as answer:
            size = len(await answer.read())
        took_s = time.monotonic() - began_s
        ending = True
        await ticking
    print(f"GET /metrics: {took_s * 1e3:.0f} ms, {size} bytes; longest delay of the event loop {worst_s * 1e3:.0f} ms")
    await server.close()
