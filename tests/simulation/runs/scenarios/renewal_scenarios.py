"""Renewals under difficulties: an invalid spec, an authority that ends, a Secret that the API server refuses."""

from typing import Final

from tests.simulation.model.place import NAME
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.faults import Loss
from tests.simulation.runs.scenarios.certificate_scenarios import (
    ends_renewed,
    generation,
    lives,
    loses_secrets,
    secured,
)
from tests.simulation.runs.scenarios.scenes import after, applies, is_ready, loses, turn

from kit.kube.protocol import Json

_INVALID: Final[Json] = {"controllers": {"config": {"node.id": "7"}}}
_CORRECTED: Final[Json] = {"controllers": {"config": {"node.id": None}}}
_LOST: Final = "3001-tls"
_MOST: Final = 3
"""One generation for the Secret that is lost, and one for the disk that is lost beside it."""


def _short(*, leaf_s: int, authority_s: int, before_s: int) -> Json:
    """A spec with mutual TLS, and lives of these lengths."""
    durations = {"leafSeconds": leaf_s, "caSeconds": authority_s, "renewBeforeSeconds": before_s}
    return {**secured(), "security": {"controllers": durations}}


def _loses_for_long(world: World, checker: Checker) -> None:
    """The Secret of a controller is lost, and a quota refuses another one."""
    lost = f"{NAME}-{_LOST}"
    world.kube.admission.secret_quota = lambda body: "exceeded quota" if body["metadata"]["name"] == lost else ""
    loses_secrets(_LOST)(world, checker)


def _made_again(world: World, checker: Checker) -> None:
    """The quota has room again. Meanwhile no generation followed another."""
    world.kube.admission.secret_quota = lambda _: ""
    if (made := generation(world)) > _MOST:
        checker.fail("13, again", f"{made} generations of certificates, while one Secret is refused")


RENEWALS: Final = (
    lives(
        "tls-renewed-while-invalid",
        1000,
        turn("the spec becomes invalid", is_ready, applies(_INVALID)),
        turn("it is corrected", after(950), applies(_CORRECTED)),
        holds=ends_renewed(3),
    ),
    lives(
        "tls-authority-ends",
        1300,
        spec=_short(leaf_s=450, authority_s=900, before_s=300),
        holds=ends_renewed(3),
    ),
    lives(
        "tls-secret-refused-for-long",
        500,
        turn("a Secret is lost, and refused", after(30), _loses_for_long),
        turn("a disk is lost", after(30), loses(Loss.EMPTIED_AND_KILLED, "follower")),
        turn("the quota has room", after(300), _made_again),
        spec=secured(leaf_s=36_000),
        holds=ends_renewed(2),
    ),
)
