"""Quorums with TLS: certificates that live ten minutes, lost and foreign Secrets, and an operator that is away."""

import base64
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from tests.simulation.model.kafka.tls import leaf_in
from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.edges import seeded
from tests.simulation.runs.faults import CLOCK_LOSSES, Loss
from tests.simulation.runs.scenarios.scenes import (
    Act,
    Scenario,
    When,
    after,
    always,
    applies,
    does_nothing,
    is_ready,
    loses,
    resource,
    spec_of,
    turn,
)

from kafka_quorum.model.ids import NodeID
from kit.kube.protocol import Json
from kit.kube.secrets import SECRETS
from kit.pki.authority import Request, issue, make_authority
from kit.pki.material import keystore
from kit.pki.names import DistinguishedName

LEAF_S: Final = 600
_SETTING: Final[Json] = {"controllers": {"config": {"metadata.log.max.snapshot.interval.ms": "1800000"}}}
_AWAY_S: Final = 1000
_UNROLLED_S: Final = 260
"""How long the operator is away between a renewal and the end of the certificates that clients show."""
_RECOVERS_S: Final = 120
_LEAFS: Final = ("3000-tls", "3001-tls", "3002-tls", "operator-tls", "brokers-tls")
_CONTROLLERS: Final = (3000, 3001, 3002)
_LISTENER: Final = {"name": "CONTROLLER", "port": 9093, "protocol": "SSL"}


def secured(replicas: int = 3, *, mode: str = "InitialControllers", leaf_s: int = LEAF_S) -> Json:
    """A spec with mutual TLS."""
    return with_tls(spec_of(mode, replicas), leaf_s=leaf_s)


def with_tls(spec: Json, *, leaf_s: int) -> Json:
    """The same spec with mutual TLS."""
    security: Json = {"controllers": {"leafSeconds": leaf_s, "caSeconds": 1000 * leaf_s}}
    return {**spec, "controllers": {**spec["controllers"], "listeners": [_LISTENER]}, "security": security}


def _secret(name: str) -> Callable[[World], Json | None]:
    return lambda world: world.kube.view(SECRETS, NAMESPACE, f"{NAME}-{name}")


def loses_secrets(*names: str) -> Act:
    """A person deletes Secrets."""

    def act(world: World, _: Checker) -> None:
        for name in names:
            if _secret(name)(world) is not None:
                world.kube.remove(SECRETS, NAMESPACE, f"{NAME}-{name}")

    return act


def generation(world: World) -> int:
    """That of the certificate in the Secret of controller 3000."""
    item = _secret("3000-tls")(world) or {"data": {}}
    return int(base64.b64decode(item["data"].get("generation", "")) or 0)


def renewing(least: int) -> When:
    """Whether controller 3000 has a certificate of this generation."""
    return lambda world: generation(world) >= least


def ends_renewed(least: int) -> Callable[[World], str]:
    """The quorum has certificates of this generation at least, and no controller shows one that has ended."""

    def why_not(world: World) -> str:
        if generation(world) < least:
            return f"the certificates are of generation {generation(world)}, and not {least}"
        ended = _with_ended(world)
        return f"controllers {ended} show certificates that have ended" if ended else ""

    return why_not


def shows_until(world: World) -> dict[NodeID, datetime]:
    """When the certificate ends that each running controller shows as a client."""
    running = ((one.meta.node_id, one.tls) for one in world.kraft.processes if not one.broker)
    return {node_id: tls.shown.not_after for node_id, tls in running if tls is not None}


def _with_ended(world: World) -> list[NodeID]:
    """The controllers that show a certificate which has ended."""
    now = world.clock.now()
    return [
        one.meta.node_id
        for one in world.kraft.processes
        if one.tls is not None and not one.broker and min(one.tls.served.not_after, one.tls.shown.not_after) <= now
    ]


def _none_has_ended(world: World) -> bool:
    return not _with_ended(world)


def lives(name: str, seconds: float, *turns: Any, **more: Any) -> Scenario:  # noqa: ANN401 - fields of a scenario
    """A quorum of three that lives for so long."""
    spec = more.pop("spec", secured())
    time_passes = turn("time passes", after(seconds), does_nothing)
    return Scenario(name=name, spec=spec, turns=(*turns, time_passes), bound=int(3 * seconds) + 700, **more)


def mounts_old_content(world: World, _: Checker) -> None:
    """New pods mount what a Secret had some seconds before."""
    world.kubelet.mounts.old_s = 10.0


def _goes_away(for_s: int) -> Act:
    """The operator has no connection to anything until certificates have ended."""

    def act(world: World, _: Checker) -> None:
        world.certificates_may_end = True
        world.operator_away = True
        world.later(2 * for_s, lambda: setattr(world, "operator_away", False))

    return act


def no_more_may_end_later(recovers_s: int) -> Act:
    """After this time nothing excuses a certificate that has ended."""

    def act(world: World, _: Checker) -> None:
        world.later(2 * recovers_s, lambda: setattr(world, "certificates_may_end", False))

    return act


def _refuses_secrets(world: World, _: Checker) -> None:
    world.refused.add(SECRETS.plural)


def _allows_secrets(world: World, _: Checker) -> None:
    world.refused.discard(SECRETS.plural)


def _alters_secret(name: str) -> Act:
    """A person puts something else into a Secret of the quorum."""

    def act(world: World, _: Checker) -> None:
        data = {"keystore.pem": base64.b64encode(b"no key").decode()}
        world.kube.patch(SECRETS, NAMESPACE, f"{NAME}-{name}", {"data": data})

    return act


def _mixes_up_secrets(name: str) -> tuple[Act, Act]:
    """A person puts an untrusted leaf into a Secret, and spoils that of the authority; and restores both."""
    kept = dict[str, Json]()

    def mix_up(world: World, _: Checker) -> None:
        for each in (name, "ca"):
            kept[each] = (_secret(each)(world) or {})["data"]
        _puts_untrusted_leaf(world, name)
        world.kube.patch(SECRETS, NAMESPACE, f"{NAME}-ca", {"data": _encoded("ca.crt", "no certificate")})

    def restore(world: World, _: Checker) -> None:
        for each, data in kept.items():
            world.kube.patch(SECRETS, NAMESPACE, f"{NAME}-{each}", {"data": data})

    return mix_up, restore


def _puts_untrusted_leaf(world: World, name: str) -> None:
    """The keystore of a Secret becomes one with the same subject and names, which an untrusted authority has signed."""
    data = (_secret(name)(world) or {})["data"]
    found = leaf_in(base64.b64decode(data["keystore.pem"]).decode())
    assert found is not None
    now, dice = world.clock.now(), seeded(300)
    request = Request(
        subject=DistinguishedName(cn="controllers", ou=NAME, o=NAMESPACE),
        names=tuple(sorted(one.removeprefix("DNS:") for one in found.names)),
        life_s=36_000,
        server=True,
        client=True,
    )
    other = make_authority(DistinguishedName(cn="untrusted", ou=NAME, o=NAMESPACE), now, 360_000, dice)
    text = keystore(issue(other, request, now, dice))
    world.kube.patch(SECRETS, NAMESPACE, f"{NAME}-{name}", {"data": _encoded("keystore.pem", text)})


def _mounted_at_once_and_the_next_late(*names: str) -> Act:
    """Pods get leafs of an untrusted authority at once, and what replaces them as late as a kubelet may bring it."""

    def act(world: World, _: Checker) -> None:
        mounts = world.kubelet.mounts
        usual_s, mounts.longest_s = mounts.longest_s, 0.0
        world.later(2, lambda: setattr(mounts, "longest_s", usual_s))
        for name in names:
            _puts_untrusted_leaf(world, name)

    return act


_TWO_PODS: Final = turn(
    "two pods have leafs of an untrusted authority",
    is_ready,
    _mounted_at_once_and_the_next_late("3001-tls", "3002-tls"),
)


def _encoded(key: str, text: str) -> Json:
    return {key: base64.b64encode(text.encode()).decode()}


def _all_run(world: World, checker: Checker) -> None:
    """No controller was stopped whose Secret cannot be used."""
    running = {one.meta.node_id for one in world.kraft.processes if not one.broker}
    if len(running) < len(_CONTROLLERS):
        checker.fail("5", f"only controllers {sorted(running)} run, and the Secret of one cannot be used")


def foreign_secret(name: str) -> Act:
    """A Secret of another owner has this name."""

    def act(world: World, _: Checker) -> None:
        if _secret(name)(world) is None:
            body = {"metadata": {"name": f"{NAME}-{name}", "labels": {"kafkaquorum.io/quorum": "other"}}}
            world.kube.create(SECRETS, NAMESPACE, {**body, "data": {"a": "Yg=="}})

    return act


def has_secret(name: str) -> When:
    """Whether there is a Secret of this name."""
    return lambda world: _secret(name)(world) is not None


def says_held(world: World) -> bool:
    """Whether the status says which Secret cannot be used."""
    rows = ((resource(world) or {}).get("status") or {}).get("conditions") or []
    return any("-tls" in row.get("message", "") for row in rows)


def _jumps(by_ms: int) -> Act:
    def act(world: World, _: Checker) -> None:
        world.kraft.jumped_ms[NodeID(3001)] = by_ms

    return act


def _freezes_two(world: World, _: Checker) -> None:
    """For a minute no leader has a majority."""
    frozen = sorted(world.kraft.processes, key=lambda one: one.meta.node_id)[:2]
    for one in frozen:
        one.frozen = True

    def wake() -> None:
        for one in frozen:
            one.frozen = False

    world.later(120, wake)


def _every_listener_serves_it(world: World, checker: Checker) -> None:
    """Before any restart, a request has let each listener load the renewed certificate."""
    for process in world.kraft.processes:
        item = _secret(f"{process.meta.node_id}-tls")(world)
        found = leaf_in(base64.b64decode(item["data"]["keystore.pem"]).decode()) if item else None
        if process.tls is not None and process.tls.served != found:
            checker.fail("13, late", f"the listener of controller {process.meta.node_id} serves an earlier certificate")


def _nothing_was_refused(world: World, checker: Checker) -> None:
    """No leader was asked to let a listener load a certificate, if its release refuses that."""
    if number := world.kraft.refused_settings:
        checker.fail("13, refused", f"leaders refused {number} settings of controllers")


def _nothing_has_ended(world: World, checker: Checker) -> None:
    """No controller shows a certificate that has ended, as a server or as a client."""
    if ended := _with_ended(world):
        checker.fail("13, ended", f"controllers {ended} still show certificates that have ended")


def _relabels(name: str) -> Act:
    def act(world: World, _: Checker) -> None:
        labels = {"kafkaquorum.io/quorum": "other"}
        world.kube.patch(SECRETS, NAMESPACE, f"{NAME}-{name}", {"metadata": {"labels": labels}})

    return act


_MIXES_UP, _RESTORES = _mixes_up_secrets("3001-tls")

CERTIFICATES: Final = (
    Scenario(name="tls-3", spec=secured(), exhaustive=True),
    lives(
        "tls-renewed-once",
        700,
        turn("every pod has the renewed Secret", after(440), _every_listener_serves_it),
        holds=ends_renewed(2),
    ),
    lives(
        "tls-renewed-by-an-older-release",
        700,
        turn("every controller has restarted with the renewed Secret", after(580), _every_listener_serves_it),
        turn("the leader was not asked", always, _nothing_was_refused),
        spec={**secured(), "kafka": {"version": "4.1.2"}},
        holds=ends_renewed(2),
    ),
    Scenario(
        name="tls-renewal",
        spec=secured(leaf_s=300),
        turns=(turn("the renewal begins soon", after(98), does_nothing),),
        until_s=310.0,
        until=_none_has_ended,
        bound=3000,
        holds=ends_renewed(2),
        exhaustive=True,
        long=True,
        spares=CLOCK_LOSSES,
    ),
    lives("tls-for-an-hour", 3600, holds=ends_renewed(8)),
    lives("tls-lost-leaf", 700, turn("a leaf is lost", is_ready, loses_secrets("3001-tls")), holds=ends_renewed(2)),
    lives(
        "tls-lost-leafs",
        1500,
        turn(
            "all leafs are lost",
            is_ready,
            loses_secrets(*_LEAFS),
        ),
        holds=ends_renewed(2),
    ),
    lives(
        "tls-lost-leafs-late",
        2500,
        turn(
            "all leafs are lost",
            renewing(3),
            loses_secrets(*_LEAFS),
        ),
    ),
    lives("tls-lost-disk-while-renewed", 900, turn("loses a disk", renewing(2), loses(Loss.CLAIM_DELETED, "follower"))),
    lives(
        "tls-more-while-renewed",
        900,
        turn("asks for five", renewing(2), applies({"controllers": {"replicas": 5}})),
    ),
    lives(
        "tls-mounted-late",
        1500,
        turn("pods mount Secrets of some seconds ago", always, mounts_old_content),
        turn("a leaf is lost", after(280), loses_secrets("3001-tls")),
        holds=ends_renewed(3),
    ),
    lives(
        "tls-operator-away",
        1500,
        turn("the operator is away until every certificate has ended", is_ready, _goes_away(_AWAY_S)),
        turn("it is back", after(_AWAY_S + 30), no_more_may_end_later(_RECOVERS_S)),
        holds=ends_renewed(2),
    ),
    lives(
        "tls-operator-away-and-leafs-lost",
        1600,
        turn("the operator is away until every certificate has ended", is_ready, _goes_away(_AWAY_S)),
        turn("no Secret says when the certificates ended", after(900), loses_secrets(*_LEAFS)),
        turn("it is back", after(_AWAY_S + 30), no_more_may_end_later(3 * _RECOVERS_S)),
        holds=ends_renewed(2),
    ),
    lives(
        "tls-operator-away-before-the-roll",
        1000,
        turn("every listener has the renewed certificate", after(440), _every_listener_serves_it),
        turn("the operator is away until every client's one has ended", always, _goes_away(_UNROLLED_S)),
        turn("it is back", after(440 + _UNROLLED_S), no_more_may_end_later(_RECOVERS_S)),
        turn("all have restarted before a listener's one ends", after(860), _nothing_has_ended),
        holds=ends_renewed(2),
    ),
    lives(
        "tls-secrets-refused",
        1500,
        turn("the right to read Secrets is gone", is_ready, _refuses_secrets),
        turn("the right is back", after(200), _allows_secrets),
        holds=ends_renewed(3),
    ),
    lives(
        "tls-altered-secret",
        1500,
        turn("a person alters a Secret", is_ready, _alters_secret("3001-tls")),
        turn("the Secret is deleted", says_held, loses_secrets("3001-tls")),
        holds=ends_renewed(3),
    ),
    lives(
        "tls-altered-secret-in-a-roll",
        500,
        turn("a person alters a Secret", is_ready, _alters_secret("3000-tls")),
        turn("asks for another setting", says_held, applies(_SETTING)),
        turn("every controller still runs", after(90), _all_run),
        turn("the Secret is deleted", after(10), loses_secrets("3000-tls")),
        spec=secured(leaf_s=36_000),
    ),
    lives(
        "tls-untrusted-leaf",
        500,
        turn("a Secret has a leaf of an untrusted authority", is_ready, _MIXES_UP),
        turn("it has its own again", after(300), _RESTORES),
        spec=secured(leaf_s=36_000),
    ),
    lives(
        "tls-untrusted-leafs-mounted",
        700,
        _TWO_PODS,
        spec=secured(leaf_s=36_000),
        holds=ends_renewed(2),
    ),
    lives(
        "tls-untrusted-leafs-lost",
        700,
        _TWO_PODS,
        turn("both Secrets are deleted", always, loses_secrets("3001-tls", "3002-tls")),
        spec=secured(leaf_s=36_000),
        holds=ends_renewed(2),
    ),
    lives(
        "tls-foreign-secret",
        400,
        turn("a Secret of another quorum has the name", has_secret("ca"), foreign_secret("3001-tls")),
        turn("it is deleted", after(60), loses_secrets("3001-tls")),
    ),
    lives(
        "tls-clock-ahead",
        900,
        turn("a clock jumps ahead by four minutes", is_ready, _jumps(240_000)),
        turn("and is right again", after(300), _jumps(0)),
        holds=ends_renewed(2),
    ),
    lives(
        "tls-clock-behind",
        900,
        turn("a clock is set back by four minutes", is_ready, _jumps(-240_000)),
        turn("and is right again", after(300), _jumps(0)),
        holds=ends_renewed(2),
    ),
    lives(
        "tls-renewed-without-a-leader",
        900,
        turn("two controllers are frozen", renewing(2), _freezes_two),
        holds=ends_renewed(2),
    ),
    lives(
        "tls-lost-authority",
        500,
        turn("the authority is lost", is_ready, loses_secrets("ca")),
    ),
    lives(
        "tls-roll-without-a-leader",
        900,
        turn("two controllers are frozen", after(449), _freezes_two),
        holds=ends_renewed(2),
    ),
    lives(
        "tls-relabelled-secret",
        900,
        turn("a Secret becomes another quorum's", is_ready, _relabels("3001-tls")),
        turn("it is deleted", after(350), loses_secrets("3001-tls")),
        holds=ends_renewed(2),
    ),
)
