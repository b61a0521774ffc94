"""Given certificates of a pool that end soon, beside others that live for hours: after which pause they are used."""

from typing import Final

from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.scenarios.certificate_scenarios import ends_renewed, generation
from tests.simulation.runs.scenarios.issuer_scenarios import (
    alternates_pool,
    both,
    given_spec,
    gives,
    gives_pool,
    has_pool,
    pool_lacks,
    trusts,
)
from tests.simulation.runs.scenarios.scenes import Scenario, after, always, is_ready, turn

_LIFE_S: Final = 36_000
"""With these certificates an eighth of the time for a renewal, the pause, is 25 minutes."""
_POOL_LIFE_S: Final = 1500
_SHORT_S: Final = 240
_OTHERS_AT_S: Final = 900
_POOL_AT_S: Final = 1050
_ALTERNATES_S: Final = 700
_MOST: Final = 1
"""The first generation: the pause after it is longer than that."""
_BEGINS: Final = turn("the issuer has given everything", always, both(trusts(1), gives(1, 200, life_s=_LIFE_S)))


def _is_followed(world: World, checker: Checker) -> None:
    """The pool's Secret has the renewed certificate before the earlier one ends."""
    if why := pool_lacks(world):
        checker.fail("13, ended", f"{why}, and the certificate that it has ends")


def _few_generations(world: World, checker: Checker) -> None:
    """The user of one pool has not led all servers from one generation to the next again and again."""
    if (made := generation(world)) > _MOST:
        checker.fail("13, again", f"{made} generations of certificates, because those of one pool end soon")


PAUSES: Final = (
    Scenario(
        name="given-with-a-pool-whose-certificates-end-within-the-pause",
        spec=given_spec(),
        turns=(
            _BEGINS,
            turn("a pool", is_ready, both(has_pool, gives_pool(1, 240, _POOL_LIFE_S))),
            turn("the others are renewed", after(_OTHERS_AT_S), gives(1, 241, life_s=_LIFE_S)),
            turn("that of the pool is renewed", after(_POOL_AT_S), gives_pool(1, 242, _POOL_LIFE_S)),
            turn("the earlier one of the pool ends soon", after(_POOL_LIFE_S), _is_followed),
        ),
        bound=4000,
        holds=ends_renewed(3),
    ),
    Scenario(
        name="given-with-a-pool-that-alternates-certificates-that-end-soon",
        spec=given_spec(),
        turns=(
            _BEGINS,
            turn("a pool", is_ready, both(has_pool, alternates_pool(1, _ALTERNATES_S, _SHORT_S))),
            turn("time passes", after(_ALTERNATES_S), _few_generations),
        ),
        bound=2000,
    ),
)
