"""AlterUserScramCredentials: users of SCRAM in the metadata log, with Kafka's checks in its order.

As measured (`tests/live/test_scram.py`): a user that is named twice, to be removed and to be made, is answered with
RESOURCE_NOT_FOUND if it has no credential of the mechanism, and with DUPLICATE_RESOURCE otherwise; nothing changes.
"""

from collections.abc import Callable, Sequence
from typing import Final

from kio.schema.errors import ErrorCode
from tests.simulation.model.kafka.kraft_api import process_at
from tests.simulation.model.kafka.kraft_model import KraftModel
from tests.simulation.model.kafka.process import Process
from tests.simulation.model.kafka.releases import METADATA, level_of

from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.model.scram import ScramChange, ScramCredential, ScramMechanism
from kafka_quorum.wire.api import Api
from kafka_quorum.wire.refusals import refused
from kafka_quorum.wire.requests import alter_scram

_SINCE: Final = 11
"""The level of 3.5-IV2."""
_ITERATIONS: Final = range(4096, 16385)


class ModelScram:
    """Every controller of the model, found by address."""

    def __init__(self, kraft: KraftModel) -> None:
        """Answer for this model."""
        self._kraft = kraft

    def present(self, endpoint: Endpoint, users: Sequence[str], mechanism: ScramMechanism) -> frozenset[str]:
        """Which of these users have a credential of this mechanism."""
        held = self._active(endpoint, alter_scram.PRESENT).disk.image.users
        return frozenset(one.user for one in held if one.user in users and one.mechanism is mechanism)

    def alter(
        self, endpoint: Endpoint, change: ScramChange, *, before_append: Callable[[], None] = lambda: None
    ) -> None:
        """Make, replace or remove one credential; what is removed already is a success, as the operator reads it."""
        leader = self._active(endpoint, alter_scram.API)
        held = leader.disk.image.users
        others = tuple(one for one in held if (one.user, one.mechanism) != (change.user, change.mechanism))
        if not isinstance(change, ScramCredential):
            if others == held:
                return
            users = others
        elif change.iterations not in _ITERATIONS:
            raise refused(endpoint, alter_scram.API, ErrorCode.unacceptable_credential, "Too few iterations")
        else:
            users = (*others, change)
        before_append()
        at = len(leader.disk.log)
        self._kraft.append(leader, f"user {change.user}", users=users)
        self._kraft.replicate(leader.cluster_id)
        if leader.high_watermark <= at:
            raise refused(endpoint, alter_scram.API, ErrorCode.not_controller, "No controller appears to be active.")

    def _active(self, endpoint: Endpoint, api: Api) -> Process:
        process = process_at(self._kraft, endpoint, api)
        if not process.leads or process.high_watermark < 0:
            raise refused(endpoint, api, ErrorCode.not_controller, "No controller appears to be active.")
        if level_of(process.disk.image.levels, METADATA) < _SINCE:
            words = "The current metadata.version does not support SCRAM"
            raise refused(endpoint, api, ErrorCode.unsupported_version, words)
        return process
