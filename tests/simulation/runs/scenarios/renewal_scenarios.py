"""Renewals under difficulties: an invalid spec, an authority that ends, a Secret that the API server refuses."""

from typing import Final

from tests.simulation.model.place import NAME, NAMESPACE
from tests.simulation.model.world import World
from tests.simulation.rules.invariants import Checker
from tests.simulation.runs.accidents import happen
from tests.simulation.runs.faults import Accident, Loss
from tests.simulation.runs.scenarios.certificate_scenarios import (
    ends_renewed,
    generation,
    lives,
    loses_secrets,
    mounts_old_content,
    secured,
    shows_until,
)
from tests.simulation.runs.scenarios.claim_scenarios import IMAGE_BACK, TYPO
from tests.simulation.runs.scenarios.release_scenes import both
from tests.simulation.runs.scenarios.scenes import Act, after, applies, is_ready, loses, one_of, turn

from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.names import LABEL_NODE, LABEL_QUORUM
from kit.kube.protocol import PODS, Json
from kit.kube.secrets import SECRETS

_INVALID: Final[Json] = {"controllers": {"config": {"node.id": "7"}}}
_CORRECTED: Final[Json] = {"controllers": {"config": {"node.id": None}}}
_LOST: Final = "3001-tls"
_IDS: Final = (3000, 3001, 3002)
_REFUSED: Final = 3001
_RESTARTED_BEFORE_S: Final = 150
_SETTING: Final[Json] = {"controllers": {"config": {"metadata.log.max.snapshot.interval.ms": "1800000"}}}
_LONGER: Final[Json] = {"security": {"controllers": {"leafSeconds": 60_000, "caSeconds": 60_000}}}
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


def _others_restarted(world: World, checker: Checker) -> None:
    """Whatever holds up one of them, the other controllers show renewed certificates before the earlier ones end."""
    late = [
        node_id
        for node_id, ends in shows_until(world).items()
        if node_id != _REFUSED and (ends - world.clock.now()).total_seconds() < _RESTARTED_BEFORE_S
    ]
    if late:
        checker.fail("13, ended", f"controllers {late} still show the earlier certificates: one Secret is refused")
    world.kube.admission.secret_quota = lambda _: ""


def _relabels(quorum: str, *names: str) -> Act:
    """A person changes whose Secrets these are."""

    def act(world: World, _: Checker) -> None:
        for name in names:
            labels = {"metadata": {"labels": {LABEL_QUORUM: quorum}}}
            world.kube.patch(SECRETS, NAMESPACE, f"{NAME}-{name}-tls", labels)

    return act


def _relabels_followers(world: World, checker: Checker) -> None:
    """The same happens to every Secret but that of the active controller, and a setting is changed."""
    leader = one_of(world, "leader")
    _relabels("other", *(str(node_id) for node_id in _IDS if node_id != leader))(world, checker)
    applies(_SETTING)(world, checker)


def _restarts(node_id: int, *, may_end: bool = False) -> Act:
    """The machine of a controller starts again. From then on certificates may end, for some time."""

    def act(world: World, _: Checker) -> None:
        world.certificates_may_end = may_end
        happen(world, Accident(step=0, loss=Loss.NODE_OFF, node_id=node_id))

    return act


def _may_not_end(world: World, _: Checker) -> None:
    world.certificates_may_end = False


def _holds_one(world: World, checker: Checker) -> None:
    """A person makes one Secret another quorum's: its certificate may end."""
    world.certificates_may_end = True
    _relabels("other", "3000")(world, checker)


def _all_are_valid(world: World, checker: Checker) -> None:
    """No controller shows a certificate that has ended: each one mounted the renewed one when it started."""
    world.certificates_may_end = False
    over = [node_id for node_id, end in shows_until(world).items() if end <= world.clock.now()]
    if over or len(shows_until(world)) != len(_IDS):
        checker.fail("13, ended", f"controllers {over} show certificates that have ended, after they started again")


def _holds_the_stuck_one(world: World, checker: Checker) -> None:
    """The Secret of the controller that does not start becomes another quorum's."""
    world.certificates_may_end = True
    for pod in world.kube.all(PODS):
        if pod["spec"]["containers"][0]["image"] == TYPO["kafka"]["image"]:
            _relabels("other", pod["metadata"]["labels"][LABEL_NODE])(world, checker)


def _those_not_held_restarted(world: World, checker: Checker) -> None:
    """Each controller whose Secret is the quorum's shows a renewed certificate before the earlier one ends."""
    secrets = ((node_id, world.kube.view(SECRETS, NAMESPACE, f"{NAME}-{node_id}-tls") or {}) for node_id in _IDS)
    ours = [NodeID(node_id) for node_id, item in secrets if item["metadata"]["labels"][LABEL_QUORUM] == NAME]
    shown = shows_until(world)
    if len(ours) != len(_IDS) - 1 or any((shown[each] - world.clock.now()).total_seconds() < 100 for each in ours):
        checker.fail("13, ended", f"controllers {ours} still show the earlier certificates: another one is stuck")


def _gives_back_all(world: World, checker: Checker) -> None:
    _relabels(NAME, *map(str, _IDS))(world, checker)


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
    lives(
        "tls-lives-made-longer",
        1000,
        turn("ten times longer lives are asked for", is_ready, applies(_LONGER)),
        spec=_short(leaf_s=600, authority_s=6000, before_s=0),
        holds=ends_renewed(2),
    ),
    lives(
        "tls-renewed-shortly-before-the-authority-ends",
        1800,
        spec=_short(leaf_s=1600, authority_s=1758, before_s=150),
        holds=ends_renewed(2),
    ),
    lives(
        "tls-secret-of-brokers-relabelled",
        900,
        turn("the Secret of the brokers is another quorum's", is_ready, _relabels("other", "brokers")),
        turn("it is given back", after(680), _relabels(NAME, "brokers")),
        holds=ends_renewed(2),
    ),
    lives(
        "tls-secret-refused-in-a-renewal",
        1300,
        turn("a Secret is lost, and refused", after(820), _loses_for_long),
        turn("the others have restarted", after(1080), _others_restarted),
        spec=_short(leaf_s=1200, authority_s=12_000, before_s=400),
        holds=ends_renewed(2),
    ),
    lives(
        "tls-held-controllers-restart",
        900,
        turn("the Secrets of two controllers are another quorum's", is_ready, _relabels("other", "3001", "3002")),
        turn("the first of them starts again", after(475), _restarts(3001, may_end=True)),
        turn("the second one starts again", after(515), _restarts(3002, may_end=True)),
        turn("the Secrets are given back", after(550), _relabels(NAME, "3001", "3002")),
        turn("both must have later ones", after(650), _may_not_end),
        holds=ends_renewed(2),
    ),
    lives(
        "tls-secret-given-back-after-its-end",
        900,
        turn("a Secret is another quorum's", is_ready, both(mounts_old_content, _holds_one)),
        turn("it is given back after the end", after(650), _relabels(NAME, "3000")),
        turn("it must have a later one", after(780), _all_are_valid),
        spec=_short(leaf_s=600, authority_s=6000, before_s=200),
        holds=ends_renewed(2),
    ),
    lives(
        "tls-stuck-controller-with-a-held-secret",
        1400,
        turn("asks for a typo", is_ready, applies(TYPO)),
        turn("the Secret of the stuck one is another quorum's", after(100), _holds_the_stuck_one),
        turn("takes the image back", after(1040), applies(IMAGE_BACK)),
        turn("the others have restarted", after(1180), both(_those_not_held_restarted, _gives_back_all)),
        turn("it must have a later one", after(1300), _may_not_end),
        spec=_short(leaf_s=1200, authority_s=12_000, before_s=400),
        holds=ends_renewed(2),
    ),
    lives(
        "tls-relabelled-secrets-in-a-roll",
        250,
        turn("the Secrets of the followers are another quorum's", is_ready, _relabels_followers),
        turn("they are given back", after(150), _relabels(NAME, "3000", "3001", "3002")),
        spec=secured(leaf_s=36_000),
        holds=ends_renewed(1),
    ),
)
