"""UpdateFeatures and registrations: the KRaft model answers at once, with Kafka's own codes and words.

The order of the checks of UpdateFeatures is Kafka's. First comes leadership, then what the leader itself supports. Then
come the registrations of all brokers and controllers, up or down (one is named), and what a downgrade of
metadata.version would lose. A change that is not committed at once is answered with NOT_CONTROLLER and stays in the
log, as measured on real servers.
"""

from collections.abc import Callable
from typing import Final, NoReturn

from kio.schema.errors import ErrorCode
from tests.simulation.model.kafka.disk import Registration
from tests.simulation.model.kafka.kraft_api import process_at
from tests.simulation.model.kafka.kraft_model import KraftModel
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kafka.releases import (
    KRAFT,
    LOSSY,
    METADATA,
    UNREGISTERS_SINCE,
    level_of,
    range_in,
    supported,
    supports,
    upgrades_kraft,
    with_level,
)

from kafka_quorum.model.ids import NodeID, ReplicaKey
from kafka_quorum.model.quorum import Endpoint, FeatureRange, FeatureStep, RegisterController, UpdateFeature
from kafka_quorum.wire.api import Api, Effect, VersionRange
from kafka_quorum.wire.refusals import refused

UPDATE_FEATURES: Final = Api(key=57, name="UpdateFeatures", ours=VersionRange(low=1, high=2), effect=Effect.WRITES)
VALIDATE_FEATURES: Final = Api(key=57, name="UpdateFeatures", ours=VersionRange(low=1, high=2), effect=Effect.READS)
CONTROLLER_REGISTRATION: Final = Api(
    key=70, name="ControllerRegistration", ours=VersionRange(low=0, high=0), effect=Effect.WRITES
)
UNREGISTER_CONTROLLER: Final = Api(
    key=94, name="UnregisterController", ours=VersionRange(low=0, high=0), effect=Effect.WRITES
)


class ModelFeatures:
    """Every controller of the model, found by address."""

    def __init__(self, kraft: KraftModel) -> None:
        """Answer for this model."""
        self._kraft = kraft

    def update(
        self, endpoint: Endpoint, request: UpdateFeature, *, before_append: Callable[[], None] = lambda: None
    ) -> None:
        """UpdateFeatures with one step; a validation ends before anything is written."""
        api = VALIDATE_FEATURES if request.validate_only else UPDATE_FEATURES
        leader, step = self._active(endpoint, api), request.step
        if why := _why_not(leader, step):
            raise refused(endpoint, api, ErrorCode.invalid_update_version, why)
        levels = leader.disk.image.levels
        if request.validate_only or level_of(levels, step.name) == step.level:
            return
        voters = _with_directories(leader) if step.name == KRAFT and upgrades_kraft(leader.release) else None
        before_append()
        if not self._kraft.append_levels(leader, with_level(levels, step.name, step.level), voters):
            self._refuse_as_follower(leader, endpoint, api)

    def register(self, endpoint: Endpoint, request: RegisterController) -> None:
        """ControllerRegistration, by the controller itself or in the place of a controller that is gone."""
        leader = self._active(endpoint, CONTROLLER_REGISTRATION)
        for one in leader.disk.image.levels:
            if not supports(request.supported, one.name, one.level):
                words = f"Controller {request.node_id} does not support {one.name} {one.level}"
                raise refused(endpoint, CONTROLLER_REGISTRATION, ErrorCode.unsupported_version, words)
        self._kraft.append_registration(leader, registration(request, at_s=self._kraft.now_s))
        self._kraft.replicate(leader.cluster_id)

    def unregister(self, endpoint: Endpoint, node_id: NodeID) -> None:
        """UnregisterController; for an unregistered controller the answer is a success, as the operator reads it."""
        api = UNREGISTER_CONTROLLER
        leader = self._active(endpoint, api)
        image = leader.disk.image
        if level_of(image.levels, METADATA) < UNREGISTERS_SINCE:
            raise refused(endpoint, api, ErrorCode.unsupported_version, "metadata.version is too old")
        if node_id == leader.meta.node_id:
            raise refused(endpoint, api, ErrorCode.invalid_request, "The active controller cannot be unregistered.")
        kept = tuple(one for one in image.registered if one.broker or one.node_id != node_id)
        if kept != image.registered:
            self._kraft.append(leader, f"unregisters {node_id}", registered=kept)
            self._kraft.replicate(leader.cluster_id)

    def _active(self, endpoint: Endpoint, api: Api) -> Process:
        """The active controller: a leader that has a high watermark."""
        process = process_at(self._kraft, endpoint, api)
        if not process.leads or process.high_watermark < 0:
            self._refuse_as_follower(process, endpoint, api)
        return process

    def _refuse_as_follower(self, process: Process, endpoint: Endpoint, api: Api) -> NoReturn:
        leader = process.leader
        known = f"The active controller appears to be node {leader.meta.node_id}." if leader else ""
        raise refused(endpoint, api, ErrorCode.not_controller, known or "No controller appears to be active.")


def registration(request: RegisterController, *, at_s: float) -> Registration:
    """A controller's registration, as in the request."""
    return Registration(
        node_id=request.node_id,
        broker=False,
        incarnation=request.incarnation_id,
        supported=request.supported,
        at_s=at_s,
    )


def _why_not(leader: Process, step: FeatureStep) -> str:
    """Why the leader refuses a step; empty if it accepts the step."""
    present = level_of(leader.disk.image.levels, step.name)
    lost = "Refusing to perform the requested downgrade because it might delete metadata information."
    if not _unsupported(leader, step) and step.name == METADATA and step.downgrade and _loses(step, present):
        return f"Invalid metadata.version {step.level}. {lost}"
    unset = "without setting the upgrade type to either safe or unsafe downgrade."
    down, up = step.level < present, step.level > present
    reasons = (
        (True, _unsupported(leader, step)),
        (down and not step.downgrade, f"Can't downgrade the version of this feature {unset}"),
        (up and step.downgrade, "Can't downgrade to a newer version."),
        (down and step.name == KRAFT, "Can't downgrade the version of this feature."),
        (up and step.name == KRAFT, _unseen(leader)),
    )
    reason = next((reason for holds, reason in reasons if holds and reason), "")
    return reason and f"Invalid update version {step.level} for feature {step.name}. {reason}"


def _loses(step: FeatureStep, present: int) -> bool:
    return bool(LOSSY & set(range(step.level + 1, present + 1)))


def _unseen(leader: Process) -> str:
    """The static voters whose directory ids the leader does not have yet."""
    if not leader.is_static or not upgrades_kraft(leader.release):
        return ""
    ids = sorted(key.node_id for key in leader.voters if not _seen(leader, key))
    return f"The directory ids of voters {', '.join(map(str, ids))} are not known." if ids else ""


def _unsupported(leader: Process, step: FeatureStep) -> str:
    own = supported(leader.release)
    if not supports(own, step.name, step.level):
        return _words(f"Local controller {leader.meta.node_id}", range_in(own, step.name))
    for one in leader.disk.image.registered:
        if not supports(one.supported, step.name, step.level):
            return _words(str(one), range_in(one.supported, step.name))
    return ""


def _words(who: str, found: FeatureRange) -> str:
    if found.max_level == 0:
        return f"{who} does not support this feature."
    return f"{who} only supports versions {found.min_level}-{found.max_level}"


def _seen(leader: Process, key: ReplicaKey) -> bool:
    return key.node_id == leader.meta.node_id or leader.row(key).directory is not None


def _with_directories(leader: Process) -> frozenset[ReplicaKey] | None:
    """The static voters with the directory ids of their fetches; None if they already have directory ids."""
    if not leader.is_static:
        return None
    others = (key for key in leader.voters if key.node_id != leader.meta.node_id)
    keys = (ReplicaKey(node_id=key.node_id, directory_id=leader.row(key).directory) for key in others)
    return frozenset({leader.key, *keys})
