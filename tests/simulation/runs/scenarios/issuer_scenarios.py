"""Certificates that another issuer puts into Secrets: renewed, refused and corrected, and of another authority."""

import base64
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Final

from tests.simulation.model.kafka.startup import Pace
from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.edges import seeded
from tests.simulation.runs.scenarios.certificate_scenarios import ends_renewed, with_tls
from tests.simulation.runs.scenarios.scenes import (
    Act,
    Scenario,
    When,
    after,
    always,
    applies,
    condition,
    does_nothing,
    is_ready,
    spec_of,
    turn,
)

from kafka_quorum.kind import POOLS
from kafka_quorum.model.names import USED_BY, reader
from kafka_quorum.model.pools import certified_names, pool_tls_name
from kafka_quorum.model.pools import reader as pool_reader
from kit.kube.protocol import Json
from kit.kube.secrets import SECRETS
from kit.pki.authority import Authority, Request, issue, make_authority
from kit.pki.names import DistinguishedName

LEAF_S: Final = 600
_ROLES: Final = ("controllers", "operator", "brokers")
_TRUST: Final = "given-trust"
_POOL: Final = "events"
_GIVEN_POOL: Final = "given-events"


def _long() -> Pace:
    """Controllers that need half a minute for a restart."""
    return Pace(startup_s=22.0, dns_s=6.0, records=4)


def given_spec(replicas: int = 3) -> Json:
    """A spec with mutual TLS whose certificates a person puts into Secrets."""
    spec = with_tls(spec_of("InitialControllers", replicas), leaf_s=LEAF_S)
    named = {f"{role}SecretName": f"given-{role}" for role in _ROLES}
    issuer = {"type": "Secret", **named, "trustSecretName": _TRUST}
    security = {"controllers": {**spec["security"]["controllers"], "issuer": issuer}}
    return {**spec, "security": security}


def _renewed_before(before_s: int) -> Json:
    spec = given_spec()
    controllers = {**spec["security"]["controllers"], "renewBeforeSeconds": before_s}
    return {**spec, "security": {"controllers": controllers}}


def authority(world: World, number: int) -> Authority:
    """The issuer's first or second authority: the same one in every run."""
    begin = world.clock.now() - timedelta(seconds=world.clock.elapsed_s)
    name = DistinguishedName(cn=f"issuer-{number}", ou="others", o=NAMESPACE)
    return make_authority(name, begin, 1000 * LEAF_S, seeded(100 + number))


def _puts(world: World, name: str, texts: dict[str, str], used_by: str = reader(NAME)) -> None:
    """A person writes a Secret that the quorum, or its pool, may use."""
    data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    if world.kube.view(SECRETS, NAMESPACE, name) is not None:
        world.kube.patch(SECRETS, NAMESPACE, name, {"data": data})
        return
    metadata = {"name": name, "annotations": {USED_BY: used_by}}
    world.kube.create(SECRETS, NAMESPACE, {"metadata": metadata, "data": data})


def trusts(*numbers: int) -> Act:
    """The issuer's bundle has these authorities."""

    def act(world: World, _: Checker) -> None:
        _puts(world, _TRUST, {"ca.crt": "".join(authority(world, each).certificate.pem for each in numbers)})

    return act


def gives(of: int, seed: int, *roles: str, hosts: Iterable[str] = ("*",), life_s: int = LEAF_S) -> Act:
    """The issuer puts new certificates of one of its authorities into the Secrets of these roles."""

    def act(world: World, _: Checker) -> None:
        dice = seeded(seed)
        for role in roles or _ROLES:
            request = Request(
                subject=DistinguishedName(cn=role, ou="others", o=NAMESPACE),
                names=tuple(f"{host}.{NAME}-controllers.{NAMESPACE}.svc" for host in hosts)
                if role == "controllers"
                else (),
                life_s=life_s,
                server=role == "controllers",
                client=True,
            )
            leaf = issue(authority(world, of), request, world.clock.now(), dice)
            _puts(world, f"given-{role}", {"tls.crt": leaf.chain_pem, "tls.key": leaf.key.pem})

    return act


def gives_pool(of: int, seed: int, life_s: int = LEAF_S) -> Act:
    """The issuer puts a new certificate into the Secret that the pool names."""

    def act(world: World, _: Checker) -> None:
        request = Request(
            subject=DistinguishedName(cn="brokers", ou="others", o=NAMESPACE),
            names=certified_names(NAMESPACE, _POOL, (), ()),
            life_s=life_s,
            server=True,
            client=True,
        )
        leaf = issue(authority(world, of), request, world.clock.now(), seeded(seed))
        _puts(world, _GIVEN_POOL, {"tls.crt": leaf.chain_pem, "tls.key": leaf.key.pem}, pool_reader(_POOL))

    return act


def alternates_pool(of: int, until_s: float, life_s: int = LEAF_S) -> Act:
    """Every 40 s the pool's Secret gets another certificate of this authority."""

    def act(world: World, checker: Checker) -> None:
        def once(seed: int = 230) -> None:
            gives_pool(of, seed, life_s)(world, checker)
            if world.clock.elapsed_s < until_s:
                world.later(80, lambda: once(seed + 1))

        once()

    return act


def has_pool(world: World, _: Checker) -> None:
    """A pool whose listener needs a certificate. Its brokers are not part of these runs: the Secret is."""
    listeners = [{"name": "TLS", "port": 9094, "protocol": "SSL"}]
    spec = {"quorum": NAME, "listeners": listeners, "certificateSecretName": _GIVEN_POOL}
    world.kube.create(POOLS, NAMESPACE, {"metadata": {"name": _POOL}, "spec": spec})


def _spoils_pool(world: World, _: Checker) -> None:
    """A person puts another key into the Secret that the pool names."""
    _puts(world, _GIVEN_POOL, {"tls.key": authority(world, 1).key.pem})


def pool_lacks(world: World) -> str:
    """Why the pool's Secret does not have the certificate that was given; empty if it has it, and its key."""
    given, own = (world.kube.view(SECRETS, NAMESPACE, name) for name in (_GIVEN_POOL, pool_tls_name(NAME, _POOL)))
    if given is None or own is None:
        return "the pool has no Secret"
    same = all(given["data"][key] == own["data"][key] for key in ("tls.crt", "tls.key"))
    return "" if same else "the Secret of the pool does not have what was given"


def _pool_is_served(world: World) -> bool:
    """Once the pool has the certificate that was given for it."""
    return not pool_lacks(world)


def _ends_renewed_with_pool(generation: int) -> Callable[[World], str]:
    return lambda world: ends_renewed(generation)(world) or pool_lacks(world)


def _hosts(count: int) -> tuple[str, ...]:
    """The host names of the first controllers."""
    return tuple(f"{NAME}-{3000 + index}" for index in range(count))


def _spoils(role: str) -> Act:
    """A person puts another key into a Secret."""

    def act(world: World, _: Checker) -> None:
        _puts(world, f"given-{role}", {"tls.key": authority(world, 1).key.pem})

    return act


def both(*acts: Act) -> Act:
    """One act after the other."""

    def act(world: World, checker: Checker) -> None:
        for each in acts:
            each(world, checker)

    return act


def is_refused(world: World) -> bool:
    """Once the status says that a given Secret is not used."""
    return condition(world, "CertificatesValid").get("reason") == "Refused"


def only_trusts(number: int) -> When:
    """Whether every controller trusts this authority, and no other one."""

    def holds(world: World) -> bool:
        wanted = (authority(world, number).certificate.fingerprint,)
        return all(one.tls is not None and one.tls.trust.fingerprints == wanted for one in world.kraft.processes)

    return holds


def _ends_trusting(number: int) -> Callable[[World], str]:
    def why_not(world: World) -> str:
        return "" if only_trusts(number)(world) else f"authority {number} is not the only one that is trusted"

    return why_not


_BEGINS: Final = turn("the issuer has given everything", always, both(trusts(1), gives(1, 200)))

ISSUERS: Final = (
    Scenario(
        name="given-renewed",
        spec=given_spec(),
        turns=(
            _BEGINS,
            turn("the issuer renews them", after(300), gives(1, 201)),
            turn("time passes", after(700), does_nothing),
        ),
        bound=2800,
        holds=ends_renewed(2),
    ),
    Scenario(
        name="given-renewed-one-by-one",
        spec=given_spec(),
        turns=(
            _BEGINS,
            turn("a wrong name", after(200), gives(1, 202, "controllers", hosts=("elsewhere",))),
            turn("the controllers' one is corrected", is_refused, gives(1, 203, "controllers")),
            turn("the brokers' one", after(300), gives(1, 204, "brokers")),
            turn("the operator's one", after(330), gives(1, 205, "operator")),
            turn("time passes", after(700), does_nothing),
        ),
        bound=2800,
        holds=ends_renewed(3),
    ),
    Scenario(
        name="given-one-stays-bad",
        spec=given_spec(),
        turns=(
            _BEGINS,
            turn("the brokers' key is another one", after(200), _spoils("brokers")),
            turn("the others are renewed", is_refused, gives(1, 209, "controllers", "operator")),
            turn("the brokers' one is corrected", after(700), gives(1, 210, "brokers")),
        ),
        bound=2800,
        holds=ends_renewed(3),
    ),
    Scenario(
        name="given-with-a-pool",
        spec=given_spec(),
        turns=(
            _BEGINS,
            turn("a pool without its certificate", is_ready, has_pool),
            turn("the controllers go on", is_refused, gives(1, 213, "controllers")),
            turn("a certificate of nobody's", after(20), gives_pool(2, 214)),
            turn("the right one", after(60), gives_pool(1, 215)),
            turn("it is renewed", _pool_is_served, gives_pool(1, 216)),
            turn("its key is another one", _pool_is_served, _spoils_pool),
            turn("the others are renewed", is_refused, gives(1, 217)),
            turn("it is corrected", after(300), gives_pool(1, 218)),
            turn("three minutes after the last generation it is used", after(560), does_nothing),
        ),
        bound=2800,
        holds=_ends_renewed_with_pool(3),
    ),
    Scenario(
        name="given-with-a-pool-that-alternates",
        spec=given_spec(),
        turns=(
            _BEGINS,
            turn("a pool", is_ready, both(has_pool, alternates_pool(1, LEAF_S))),
            turn("the others are renewed", after(300), gives(1, 229)),
            turn("and once more", after(650), gives(1, 228)),
            turn("time passes", after(950), does_nothing),
        ),
        bound=2800,
        holds=_ends_renewed_with_pool(2),
    ),
    Scenario(
        name="given-other-authority-with-a-pool-that-alternates",
        spec=given_spec(),
        pace=_long,
        turns=(
            _BEGINS,
            turn("a pool", is_ready, both(has_pool, gives_pool(1, 219))),
            turn("another authority", _pool_is_served, both(both(trusts(2), gives(2, 220)), alternates_pool(2, 760))),
            turn("it is the only one", only_trusts(2), does_nothing),
            turn("the others are renewed", after(650), gives(2, 221)),
            turn("time passes", after(780), does_nothing),
        ),
        bound=2400,
        holds=_ends_trusting(2),
    ),
    Scenario(
        name="given-renewed-one-after-another",
        spec=_renewed_before(300),
        pace=_long,
        turns=(
            _BEGINS,
            turn("the operator's", after(300), gives(1, 301, "operator")),
            turn("the others", after(320), gives(1, 302, "controllers", "brokers")),
            turn("time passes", after(640), does_nothing),
        ),
        bound=2000,
        holds=ends_renewed(2),
    ),
    Scenario(
        name="given-other-authority-with-a-pool",
        spec=given_spec(),
        turns=(
            _BEGINS,
            turn("a pool", is_ready, both(has_pool, gives_pool(1, 219))),
            turn("another authority, not for the pool", _pool_is_served, both(trusts(2), gives(2, 220))),
            turn("for the pool, too", after(300), gives_pool(2, 221)),
            turn("it is the only one", only_trusts(2), does_nothing),
        ),
        bound=2800,
        holds=lambda world: _ends_trusting(2)(world) or pool_lacks(world),
    ),
    Scenario(
        name="given-late",
        spec=given_spec(),
        turns=(
            turn("no certificate yet", is_refused, both(trusts(2), gives(1, 206))),
            turn("the right authority", after(60), trusts(1)),
            turn("it is ready", is_ready, does_nothing),
        ),
    ),
    Scenario(
        name="given-more",
        spec=given_spec(),
        turns=(_BEGINS, turn("wants five", is_ready, applies({"controllers": {"replicas": 5}}))),
        bound=1500,
    ),
    Scenario(
        name="given-more-names",
        spec=given_spec(),
        turns=(
            turn("a certificate for three", always, both(trusts(1), gives(1, 211, hosts=_hosts(3)))),
            turn("wants five", is_ready, applies({"controllers": {"replicas": 5}})),
            turn("a certificate for five", is_refused, gives(1, 212, "controllers", hosts=_hosts(5))),
            turn("three minutes after the last generation the others use it, too", after(500), does_nothing),
        ),
        bound=2000,
        holds=ends_renewed(2),
    ),
    Scenario(
        name="given-other-authority",
        spec=given_spec(),
        turns=(
            _BEGINS,
            turn("another authority, in all Secrets at once", is_ready, both(trusts(2), gives(2, 207))),
            turn("it is the only one", only_trusts(2), does_nothing),
        ),
        bound=2500,
        holds=_ends_trusting(2),
    ),
    Scenario(
        name="given-authority-in-steps",
        spec=given_spec(),
        turns=(
            _BEGINS,
            turn("both are trusted", is_ready, trusts(1, 2)),
            turn("certificates of the new one", after(150), gives(2, 208)),
            turn("only the new one", after(300), trusts(2)),
            turn("it is the only one", only_trusts(2), does_nothing),
        ),
        bound=3000,
        holds=_ends_trusting(2),
    ),
)
