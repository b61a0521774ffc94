"""The state that a metadata log amounts to, as far as a downgrade can lose it.

Replays records in the order of their offsets, as Kafka's own `MetadataDelta` does, transactions included: what lies
between the beginning of a transaction and its abort never happened. A value is kept in the shape of its JSON.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

MIGRATING = "AAAAAAAAAAAAAAAAAAAAAA"
"""The directory id of a replica that no broker has told the directory of."""

Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """A registration, and what was changed since."""

    migrating: bool
    directories: tuple[str, ...]
    cordoned: tuple[str, ...] | None


@dataclass(slots=True)
class Image:
    """Start from nothing, or from a checkpoint's records, which are replayed like any others."""

    brokers: dict[int, Broker] = field(default_factory=dict)
    controllers: set[int] = field(default_factory=set)
    topics: dict[str, str] = field(default_factory=dict)
    directories: dict[tuple[str, int], tuple[str, ...]] = field(default_factory=dict)
    scram: set[tuple[int, str]] = field(default_factory=set)
    tokens: set[str] = field(default_factory=set)
    features: dict[str, int] = field(default_factory=dict)
    _before: "Image | None" = None

    def replay(self, record_type: str, data: Data) -> None:
        """Apply one record; those that a downgrade cannot lose are ignored."""
        match record_type:
            case "BEGIN_TRANSACTION_RECORD":
                self._before = copy.deepcopy(self)
            case "END_TRANSACTION_RECORD":
                self._before = None
            case "ABORT_TRANSACTION_RECORD" if self._before is not None:
                before, self._before = self._before, None
                for name in ("brokers", "controllers", "topics", "directories", "scram", "tokens", "features"):
                    setattr(self, name, getattr(before, name))
            case _ if apply := _APPLY.get(record_type):
                apply(self, data)
            case _:
                pass

    def _register_broker(self, data: Data) -> None:
        self.brokers[data["brokerId"]] = Broker(
            migrating=data.get("isMigratingZkBroker", False),
            directories=tuple(data.get("logDirs", ())),
            cordoned=_tuple(data.get("cordonedLogDirs")),
        )

    def _unregister_broker(self, data: Data) -> None:
        self.brokers.pop(data["brokerId"], None)

    def _change_broker(self, data: Data) -> None:
        old = self.brokers.get(data["brokerId"])
        if old is not None:
            cordoned = _tuple(data.get("cordonedLogDirs"))
            self.brokers[data["brokerId"]] = Broker(
                migrating=old.migrating,
                directories=tuple(data.get("logDirs") or old.directories),
                cordoned=old.cordoned if cordoned is None else cordoned,
            )

    def _partition(self, data: Data) -> None:
        key = (data["topicId"], data["partitionId"])
        self.directories[key] = tuple(data.get("directories") or ()) or (MIGRATING,) * len(data["replicas"])

    def _change_partition(self, data: Data) -> None:
        key = (data["topicId"], data["partitionId"])
        if key not in self.directories:
            return
        replicas, told = data.get("replicas"), data.get("directories")
        known = self.directories[key] if told is None else tuple(told)
        self.directories[key] = known or (MIGRATING,) * len(replicas if replicas is not None else self.directories[key])

    def _remove_topic(self, data: Data) -> None:
        self.topics.pop(data["topicId"], None)
        for key in [key for key in self.directories if key[0] == data["topicId"]]:
            del self.directories[key]

    def _feature(self, data: Data) -> None:
        if data["featureLevel"]:
            self.features[data["name"]] = data["featureLevel"]
        else:
            self.features.pop(data["name"], None)


def _tuple(values: Any) -> tuple[str, ...] | None:  # noqa: ANN401 -- a JSON value
    return None if values is None else tuple(values)


_APPLY: Mapping[str, Callable[[Image, Data], None]] = {
    "REGISTER_BROKER_RECORD": Image._register_broker,  # noqa: SLF001 -- the table belongs to the class
    "BROKER_REGISTRATION_CHANGE_RECORD": Image._change_broker,  # noqa: SLF001
    "UNREGISTER_BROKER_RECORD": Image._unregister_broker,  # noqa: SLF001
    "REGISTER_CONTROLLER_RECORD": lambda image, data: image.controllers.add(data["controllerId"]),
    "UNREGISTER_CONTROLLER_RECORD": lambda image, data: image.controllers.discard(data["controllerId"]),
    "TOPIC_RECORD": lambda image, data: image.topics.update({data["topicId"]: data["name"]}),
    "REMOVE_TOPIC_RECORD": Image._remove_topic,  # noqa: SLF001
    "PARTITION_RECORD": Image._partition,  # noqa: SLF001
    "PARTITION_CHANGE_RECORD": Image._change_partition,  # noqa: SLF001
    "USER_SCRAM_CREDENTIAL_RECORD": lambda image, data: image.scram.add((data["mechanism"], data["name"])),
    "REMOVE_USER_SCRAM_CREDENTIAL_RECORD": lambda image, data: image.scram.discard((data["mechanism"], data["name"])),
    "DELEGATION_TOKEN_RECORD": lambda image, data: image.tokens.add(data["tokenId"]),
    "REMOVE_DELEGATION_TOKEN_RECORD": lambda image, data: image.tokens.discard(data["tokenId"]),
    "FEATURE_LEVEL_RECORD": Image._feature,  # noqa: SLF001
}
TYPES = frozenset({*_APPLY, "BEGIN_TRANSACTION_RECORD", "END_TRANSACTION_RECORD", "ABORT_TRANSACTION_RECORD"})
"""What an image wants to see of a log."""
