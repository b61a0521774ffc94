"""UpdateFeatures, ControllerRegistration and UnregisterController against a scripted server."""

import uuid
from dataclasses import replace
from datetime import timedelta

import pytest
from kio.schema.controller_registration.v0 import ControllerRegistrationRequest, ControllerRegistrationResponse
from kio.schema.errors import ErrorCode
from kio.schema.update_features.v1 import UpdateFeaturesRequest as UpdateFeaturesRequest1
from kio.schema.update_features.v1 import UpdateFeaturesResponse as UpdateFeaturesResponse1
from kio.schema.update_features.v1.response import UpdatableFeatureResult
from kio.schema.update_features.v2 import UpdateFeaturesRequest as UpdateFeaturesRequest2
from kio.schema.update_features.v2 import UpdateFeaturesResponse as UpdateFeaturesResponse2
from kio.serial import entity_reader
from kio.static.primitive import i16, i32Timedelta
from kio.static.protocol import RequestPayload
from tests.wire.captures import Capture, capture
from tests.wire.fakes import ALL_VERSIONS, Do, FakeServer, answer_to, api_versions
from tests.wire.test_admin import QUICK, asking, replay, saying

from kafka_quorum.errors import KafkaProtocolError, KafkaRefused, KafkaUnreachable, KafkaVersionUnsupported
from kafka_quorum.model.ids import NodeID, uuid_to_bytes
from kafka_quorum.model.quorum import FeatureRange, FeatureStep, Listener, RegisterController, UpdateFeature
from kafka_quorum.wire import codec
from kafka_quorum.wire.requests import controller_registration, unregister_controller, update_features
from kafka_quorum.wire.requests.unregister_controller import UnregisterControllerRequest, UnregisterControllerResponse
from kit.errors import Fault

AT_ONCE = i32Timedelta.parse(timedelta(0))
RAISE = UpdateFeature(step=FeatureStep(name="metadata.version", level=28), validate_only=False, timeout_ms=100)
VALIDATE = replace(RAISE, validate_only=True)
DISABLE = replace(RAISE, step=FeatureStep(name="group.version", level=0, downgrade=True))
GHOST = RegisterController(
    node_id=NodeID(3004),
    incarnation_id="4NzCPCh0-NjryzFRTLtDLQ",
    listeners=(Listener(name="CONTROLLER", host="demo-controller-3004", port=9093),),
    supported=(FeatureRange(name="metadata.version", min_level=7, max_level=33),),
)
TOO_OLD = "Invalid update version 28 for feature metadata.version. Broker 2 only supports versions 1-21"


def updated(code: ErrorCode = ErrorCode.none, words: str | None = None) -> UpdateFeaturesResponse2:
    """An answer in version 2, which has only a top level."""
    return UpdateFeaturesResponse2(throttle_time=AT_ONCE, error_code=code, error_message=words)


def updated_v1(
    top: ErrorCode = ErrorCode.none, row: ErrorCode = ErrorCode.none, words: str | None = None
) -> UpdateFeaturesResponse1:
    """An answer in version 1, which also has a result per feature."""
    result = UpdatableFeatureResult(feature="metadata.version", error_code=row, error_message=words)
    return UpdateFeaturesResponse1(throttle_time=AT_ONCE, error_code=top, error_message=None, results=(result,))


def saying_v1(response: UpdateFeaturesResponse1) -> FakeServer:
    """A server of 3.9, which supports UpdateFeatures up to version 1."""
    ranges = {**ALL_VERSIONS, 57: (0, 1)}
    return FakeServer(
        lambda request: answer_to(request, response), lambda request: answer_to(request, api_versions(ranges))
    )


def sent(server: FakeServer) -> RequestPayload:
    """The last request that the server received."""
    request = server.requests[-1]
    key, version = int.from_bytes(request[:2], "big"), int.from_bytes(request[2:4], "big")
    schema = codec.request_schema(key, version)
    _, header_size = entity_reader(schema.__header_schema__)(request, 0)
    payload, size = entity_reader(schema)(request, header_size)
    assert header_size + size == len(request)
    return payload


async def test_a_step_up_is_sent_as_an_upgrade() -> None:
    """The request has one feature, its level, upgrade type 1, and its own timeout, in the highest common version."""
    async with asking(server := saying(updated())) as controllers:
        await controllers.update_feature(server.endpoint, RAISE)
    request = sent(server)
    assert isinstance(request, UpdateFeaturesRequest2)
    (update,) = request.feature_updates
    assert (update.feature, update.max_version_level, update.upgrade_type) == ("metadata.version", 28, 1)
    assert not request.validate_only
    assert request.timeout == timedelta(milliseconds=100)


async def test_a_step_down_is_sent_as_a_safe_downgrade() -> None:
    """A step down has upgrade type 2, never the unsafe 3; level 0 disables the feature."""
    async with asking(server := saying(updated())) as controllers:
        await controllers.update_feature(server.endpoint, DISABLE)
    request = sent(server)
    assert isinstance(request, UpdateFeaturesRequest2)
    (update,) = request.feature_updates
    assert (update.feature, update.max_version_level, update.upgrade_type) == ("group.version", 0, 2)


async def test_validate_only_is_said_so() -> None:
    """A step that is only validated has the flag, in version 1 as well."""
    async with asking(server := saying(updated())) as controllers:
        await controllers.update_feature(server.endpoint, VALIDATE)
    assert getattr(sent(server), "validate_only", None) is True
    async with asking(server := saying_v1(updated_v1())) as controllers:
        await controllers.update_feature(server.endpoint, VALIDATE)
    request = sent(server)
    assert isinstance(request, UpdateFeaturesRequest1)
    assert request.validate_only


async def test_an_error_of_version_2_stands_at_the_top() -> None:
    """The code and Kafka's words become the refusal, which is definite."""
    async with asking(server := saying(updated(ErrorCode.invalid_update_version, TOO_OLD))) as controllers:
        with pytest.raises(KafkaRefused, match="INVALID_UPDATE_VERSION") as failure:
            await controllers.update_feature(server.endpoint, RAISE)
    assert failure.value.server_message == TOO_OLD
    assert failure.value.fault is Fault.THEIRS
    assert not failure.value.outcome_unknown


async def test_an_error_of_version_1_may_stand_below_a_top_level_without_one() -> None:
    """3.9 may have no error at the top and one in the results, so both are read."""
    answer = updated_v1(row=ErrorCode.invalid_update_version, words=TOO_OLD)
    async with asking(server := saying_v1(answer)) as controllers:
        with pytest.raises(KafkaRefused) as failure:
            await controllers.update_feature(server.endpoint, RAISE)
    assert (failure.value.name, failure.value.server_message) == ("INVALID_UPDATE_VERSION", TOO_OLD)


async def test_an_error_of_version_1_may_stand_at_the_top() -> None:
    """A request that is refused at the top is refused, whatever its results are."""
    async with asking(server := saying_v1(updated_v1(top=ErrorCode.not_controller))) as controllers:
        with pytest.raises(KafkaRefused, match="NOT_CONTROLLER"):
            await controllers.update_feature(server.endpoint, RAISE)


@pytest.mark.parametrize(
    "code", [ErrorCode.not_controller, ErrorCode.request_timed_out, ErrorCode.unknown_server_error]
)
async def test_only_a_real_update_has_an_unknown_outcome(code: ErrorCode) -> None:
    """The same code leaves an update's outcome unknown; a validation changed nothing and may be repeated."""
    async with asking(server := saying(updated(code))) as controllers:
        with pytest.raises(KafkaRefused) as failure:
            await controllers.update_feature(server.endpoint, RAISE)
        assert failure.value.outcome_unknown
        assert not failure.value.retry_safe
        with pytest.raises(KafkaRefused) as failure:
            await controllers.update_feature(server.endpoint, VALIDATE)
        assert not failure.value.outcome_unknown
        assert failure.value.retry_safe


async def test_silence_after_a_validation_is_no_unknown_outcome() -> None:
    """A lost or invalid answer to a validation is no unknown outcome."""
    async with asking(server := FakeServer(lambda _: Do.CLOSE), QUICK) as controllers:
        with pytest.raises(KafkaUnreachable) as failure:
            await controllers.update_feature(server.endpoint, RAISE)
        assert failure.value.outcome_unknown
        with pytest.raises(KafkaUnreachable) as failure:
            await controllers.update_feature(server.endpoint, VALIDATE)
        assert not failure.value.outcome_unknown
        assert failure.value.retry_safe


async def test_a_level_that_does_not_fit_is_not_sent() -> None:
    """A level above 16 bits is our mistake, and an error before anything is sent."""
    async with asking(server := saying(updated())) as controllers:
        with pytest.raises(KafkaProtocolError, match=str(2**15)) as failure:
            await controllers.update_feature(
                server.endpoint, replace(RAISE, step=FeatureStep(name="metadata.version", level=2**15))
            )
    assert failure.value.fault is Fault.OURS
    assert server.api_keys == [18]


async def test_register_controller() -> None:
    """The removed controller's id, listener and ranges are sent; without a listener it could not be found again."""
    answer = ControllerRegistrationResponse(throttle_time=AT_ONCE, error_code=ErrorCode.none, error_message=None)
    async with asking(server := saying(answer)) as controllers:
        await controllers.register_controller(server.endpoint, GHOST)
    request = sent(server)
    assert isinstance(request, ControllerRegistrationRequest)
    assert request.controller_id == 3004
    assert request.incarnation_id == uuid.UUID(bytes=uuid_to_bytes(GHOST.incarnation_id))
    (listener,) = request.listeners
    assert (listener.name, listener.host, listener.port) == ("CONTROLLER", "demo-controller-3004", 9093)
    assert not request.zk_migration_ready
    (feature,) = request.features
    assert (feature.name, feature.min_supported_version, feature.max_supported_version) == ("metadata.version", 7, 33)


async def test_a_refused_registration() -> None:
    """A follower's NOT_CONTROLLER is reported with its words, and the outcome is unknown."""
    words = "The active controller appears to be node 3001."
    answer = ControllerRegistrationResponse(
        throttle_time=AT_ONCE, error_code=ErrorCode.not_controller, error_message=words
    )
    async with asking(server := saying(answer)) as controllers:
        with pytest.raises(KafkaRefused, match="ControllerRegistration") as failure:
            await controllers.register_controller(server.endpoint, GHOST)
    assert failure.value.server_message == words
    assert failure.value.outcome_unknown


def unregistered(code: int, words: str | None = None) -> UnregisterControllerResponse:
    """An answer to UnregisterController."""
    return UnregisterControllerResponse(throttle_time=AT_ONCE, error_code=i16(code), error_message=words)


@pytest.mark.parametrize("code", [0, 136], ids=["gone", "never there"])
async def test_unregister_controller(code: int) -> None:
    """If the controller is not registered any more, the request succeeds, whatever the reason is."""
    async with asking(server := saying(unregistered(code))) as controllers:
        await controllers.unregister_controller(server.endpoint, NodeID(3004))
    assert sent(server) == UnregisterControllerRequest(controller_id=NodeID(3004))  # type: ignore[arg-type] # kio's range
    assert server.requests[-1][:4] == b"\x00\x5e\x00\x00"


@pytest.mark.parametrize(
    ("code", "name", "outcome_unknown"),
    [(35, "UNSUPPORTED_VERSION", False), (41, "NOT_CONTROLLER", True), (42, "INVALID_REQUEST", False)],
)
async def test_a_refused_unregistration(code: int, name: str, outcome_unknown: bool) -> None:  # noqa: FBT001 - a column of the table
    """A metadata.version that is too old, a follower, and the active controller itself: each has Kafka's name."""
    async with asking(server := saying(unregistered(code, "no"))) as controllers:
        with pytest.raises(KafkaRefused) as failure:
            await controllers.unregister_controller(server.endpoint, NodeID(3004))
    assert (failure.value.name, failure.value.outcome_unknown) == (name, outcome_unknown)


async def test_a_code_that_nobody_knows_is_an_open_outcome() -> None:
    """For an unknown error code the outcome is unknown: it is neither success nor a definite refusal."""
    async with asking(server := saying(unregistered(999))) as controllers:
        with pytest.raises(KafkaProtocolError, match="999") as failure:
            await controllers.unregister_controller(server.endpoint, NodeID(3004))
    assert failure.value.outcome_unknown


async def test_a_server_that_cannot_unregister_is_not_asked_to() -> None:
    """Before 4.4 there is no such request: nothing is sent, and the error names the server's lack."""
    ranges = {key: versions for key, versions in ALL_VERSIONS.items() if key != unregister_controller.API.key}
    server = FakeServer(versions=lambda request: answer_to(request, api_versions(ranges)))
    async with asking(server) as controllers:
        with pytest.raises(KafkaVersionUnsupported, match="UnregisterController"):
            await controllers.unregister_controller(server.endpoint, NodeID(3004))
    assert server.api_keys == [18]


def update_of(real: Capture) -> UpdateFeature:
    """The update that a capture's truth describes."""
    name, level, downgrade = real.truth["step"]
    return UpdateFeature(
        step=FeatureStep(name=name, level=level, downgrade=downgrade),
        validate_only=real.truth["validate_only"],
        timeout_ms=real.truth["timeout_ms"],
    )


@pytest.mark.parametrize("name", ["update_features_v1_refused", "update_features_v2_refused", "update_features_v2"])
def test_updates_are_encoded_as_a_real_server_took_them(name: str) -> None:
    """Updates have exactly the recorded bytes, in both versions."""
    real = capture(name)
    request = update_features.message(update_of(real), real.version)
    assert codec.encode_request(request, real.correlation_id) == real.request


def test_registrations_are_encoded_as_a_real_server_took_them() -> None:
    """A registration in place of another controller, and its end, have exactly the recorded bytes."""
    real = capture("controller_registration_v0")
    listener, supported = real.truth["listener"], real.truth["supported"]
    body = RegisterController(
        node_id=NodeID(real.truth["node_id"]),
        incarnation_id=real.truth["incarnation_id"],
        listeners=(Listener(name=listener[0], host=listener[1], port=listener[2]),),
        supported=(FeatureRange(name=supported[0], min_level=supported[1], max_level=supported[2]),),
    )
    assert codec.encode_request(controller_registration.message(body), real.correlation_id) == real.request
    gone = capture("unregister_controller_v0")
    request = unregister_controller.message(NodeID(gone.truth["node_id"]))
    assert codec.encode_request(request, gone.correlation_id) == gone.request


@pytest.mark.parametrize("version", [1, 2])
async def test_a_real_refusal_in_either_version(version: int) -> None:
    """A real server's refusal of an unsupported level is reported with its words."""
    server, ranges = replay(f"update_features_v{version}_refused"), {**ALL_VERSIONS, 57: (0, version)}
    server.versions = lambda request: answer_to(request, api_versions(ranges))
    async with asking(server) as controllers:
        with pytest.raises(KafkaRefused, match="only supports versions 7-33") as failure:
            await controllers.update_feature(server.endpoint, VALIDATE)
    assert failure.value.name == "INVALID_UPDATE_VERSION"
    assert server.requests[-1][:4] == bytes((0, 57, 0, version))


async def test_a_real_success() -> None:
    """After a real server turned a feature off, the call returns without a value."""
    async with asking(server := replay("update_features_v2")) as controllers:
        await controllers.update_feature(server.endpoint, DISABLE)
    assert server.api_keys == [18, 57]


async def test_real_answers_to_registrations() -> None:
    """A registration and two unregistrations succeed; the active controller cannot be unregistered."""
    async with asking(server := replay("controller_registration_v0")) as controllers:
        await controllers.register_controller(server.endpoint, GHOST)
    assert server.api_keys == [18, 70]
    for name in ("unregister_controller_v0", "unregister_controller_v0_again"):
        async with asking(server := replay(name)) as controllers:
            await controllers.unregister_controller(server.endpoint, NodeID(3099))
        assert server.api_keys == [18, 94]
    async with asking(server := replay("unregister_controller_v0_active")) as controllers:
        with pytest.raises(KafkaRefused, match="cannot unregister itself while it is active") as failure:
            await controllers.unregister_controller(server.endpoint, NodeID(3001))
    assert failure.value.name == "INVALID_REQUEST"
