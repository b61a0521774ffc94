"""All that the operator trusts together is large: every controller can be connected with, and no authority is lost."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import cache
from itertools import pairwise
from typing import Final

import pytest
from tests.kit.pki.made import NOW, certificate
from tests.model.certificates import LISTENER, authority, of_others
from tests.observe.test_given import TRUST, the_look, with_given
from tests.observe.test_material import KEY, MovingClock
from tests.plan.test_room import asked, begins, bundle
from tests.wire.answering import AnsweringControllers

from kafka_quorum.model.bundles import bundle_of, together
from kafka_quorum.model.known import Known
from kafka_quorum.model.material import OPERATOR, Material
from kafka_quorum.model.security import Security
from kafka_quorum.observe.material import MaterialReads
from kafka_quorum.wire.security import tls_of
from kit.pki.bundle import BUNDLE_MAX, BUNDLE_MAX_CHARS

_REVISIONS: Final = 10
"""How many stored ones stay, besides those in use (`plan.releases.history`)."""
_LARGEST_KIB: Final = 250


class Today(MovingClock):
    """A clock at the time of this machine, when the large certificates are valid."""

    def now(self) -> datetime:
        """When they are made."""
        return NOW


@cache
def small(name: str) -> str:
    """As many authorities as a bundle may have, each of them small."""
    made = [certificate(f"{name}-{each}", ca=True, names=()) for each in range(BUNDLE_MAX)]
    return together("".join(each.pem for each in made))


def on_one_line(pem: str) -> str:
    """The same certificates, each with one long line: the shortest text that is read."""
    lines = (each if each.startswith("-----BEGIN") else each.removesuffix("\n") for each in pem.splitlines())
    return "".join(f"\n{each}\n" if each.startswith("-----") else each for each in lines)


async def looked(given: str, applied: str, *earlier: str) -> tuple[Material, Security]:
    """The look at a quorum whose controllers trust `applied`, and how one is reached. Stored revisions have the others.

    The operator's own certificate is of the first authority of these tests, whoever trusts that.
    """
    taken = await the_look()
    (made,) = taken.revisions
    made = replace(made, runtime=replace(made.runtime, trust=applied))
    others = [
        replace(made, name=f"alpha-{each}", runtime=replace(made.runtime, trust=pem))
        for each, pem in enumerate(earlier)
    ]
    reads = MaterialReads(with_given(given), Today(), AnsweringControllers())
    found, access = await reads.look(KEY, replace(taken, revisions=(made, *others)), of_others())
    assert found is not None
    assert isinstance(found.given_trust, Known)
    at = access.endpoint(taken.pods[0], LISTENER)
    assert isinstance(at, Known)
    return found, at.value.security


def trusted(security: Security) -> int:
    """How many authorities a connection trusts (`Malformed`)."""
    context = tls_of(security)
    assert context is not None
    return len(context.get_ca_certs())


def authorities(*pems: str) -> int:
    """How many of them there are, each counted once."""
    return len({each for pem in pems for each in bundle_of(pem).fingerprints})


async def test_from_a_large_bundle_to_a_small_one() -> None:
    """The small one that is put into the trust Secret may follow: until then, all controllers must be reached."""
    large, given = together(bundle("a", 225), TRUST), bundle("b", 60)
    assert begins(asked(large, given)) == ""
    _, security = await looked(given, large)
    assert trusted(security) == authorities(large, given)


@pytest.mark.parametrize(
    "sizes", [[79] * 6, [145] * 6, [200, 40] * 3], ids=["small ones", "large ones", "large and small ones"]
)
async def test_changes_within_the_stored_revisions(sizes: list[int]) -> None:
    """Every change begins, and its stages stay in revisions: all of them are trusted, with what has no room, too."""
    stages = [together(bundle(f"{place}-of-{kib}", kib)) for place, kib in enumerate(sizes)]
    assert all(begins(asked(old, new)) == "" for old, new in pairwise(stages))
    stored = [each for old, new in pairwise(stages) for each in (old, together(old, new))]
    assert len(stored) == _REVISIONS
    refused = bundle("refused", _LARGEST_KIB)
    assert begins(asked(stages[-1], refused)) != ""
    _, security = await looked(refused, together(stages[-1], TRUST), *stored)
    assert trusted(security) == authorities(refused, TRUST, *stages)


@pytest.mark.parametrize("made", [small, lambda name: bundle(name, _LARGEST_KIB)], ids=["most", "largest"])
async def test_the_largest_bundles_one_after_the_other(made: Callable[[str], str]) -> None:
    """Before its start a quorum may get any bundle in each revision. The operator loses sight of no authority then."""
    earlier = [TRUST, *(made(f"earlier-{each}") for each in range(_REVISIONS - 1))]
    given, applied = made("given"), made("applied")
    found, security = await looked(given, applied, *earlier)
    assert trusted(security) == authorities(given, applied, *earlier)
    own = found.leaf(OPERATOR)
    assert isinstance(own, Known)
    assert own.value is not None
    assert own.value.authority == authority().certificate.fingerprint


async def test_a_text_that_is_longer_when_it_is_written_again() -> None:
    """The limit is that of what a person gives; with lines of 64 characters the same certificates have more."""
    given = on_one_line(bundle("a", 253))
    assert len(given) < BUNDLE_MAX_CHARS
    assert len(together(given)) > BUNDLE_MAX_CHARS
    _, security = await looked(given, together(given))
    assert trusted(security) == authorities(given)
