"""Passes of the real reconciler, as the read-only look gets them."""

from tests.test_reconcile import KEY, Bench, Witnessing, at_rest, subscribed

from kafka_quorum.introspection.passes import LastPass, LastPasses
from kafka_quorum.model.observed import Observed
from kafka_quorum.report import Decided
from kit.report.report import PassReport

SPEC = {"kafka": {"version": "4.4.0"}, "controllers": {"replicas": 3}}


async def witnessed(bench: Bench | None = None) -> tuple[Bench, Witnessing]:
    """A quorum at rest, or this one, after one more pass; and the reports from then on."""
    bench, witness = bench or await at_rest(), Witnessing()
    subscribed(bench, witness)
    await bench.run()
    return bench, witness


async def report() -> PassReport[Observed]:
    """The report of a pass over a quorum at rest."""
    _, witness = await witnessed()
    return witness.reports[-1]


async def last() -> LastPass:
    """The same, as it is remembered."""
    bench, witness = await witnessed()
    passes = LastPasses(bench.clock)
    await passes.take(witness.reports[-1])
    found = passes.of(KEY)
    assert found is not None
    return found


def decided(of: PassReport[Observed]) -> Decided:
    """What the pass decided."""
    assert isinstance(of.decided, Decided)
    return of.decided
