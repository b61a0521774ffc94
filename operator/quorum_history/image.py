"""The state that a metadata log describes at one offset.

Replays records in the order of their offsets, as Kafka's own `MetadataDelta` does. Transactions are respected: the
records between the beginning of a transaction and its abort do not count. A transaction remembers the earlier value of
each entry that it changes, so that its cost does not depend on the size of the state. A value is kept in the form of
its JSON. A replay may leave out types of records (`Options.types`): then the state has nothing of them.
"""

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

MIGRATING = "AAAAAAAAAAAAAAAAAAAAAA"
"""The directory id of a replica whose directory no broker has reported."""
_SAME_LEADER = -2
_SAME_RECOVERY = -1

Data = Mapping[str, Any]
Entity = dict[str, Any]
"""The fields of one broker, partition and so on, by Kafka's names. Never changed, only replaced."""
_ABSENT: Final = object()
"""The earlier value of an entry that a transaction has added."""


@dataclass(slots=True)
class Image:
    """Starts empty, or from a checkpoint's records, which are replayed like any others.

    `partitions` are by topic id and partition, `configs` by resource type, resource and name, `quotas` by entity and
    key, `scram` by mechanism and user. `leader` is None in a checkpoint, which names none.
    """

    leader: int | None = None
    kraft_version: int = 0
    voters: dict[int, Entity] = field(default_factory=dict)
    features: dict[str, int] = field(default_factory=dict)
    controllers: dict[int, Entity] = field(default_factory=dict)
    brokers: dict[int, Entity] = field(default_factory=dict)
    topics: dict[str, str] = field(default_factory=dict)
    partitions: dict[tuple[str, int], Entity] = field(default_factory=dict)
    configs: dict[tuple[int, str, str], str] = field(default_factory=dict)
    quotas: dict[tuple[tuple[tuple[str, str | None], ...], str], float] = field(default_factory=dict)
    acls: dict[str, Entity] = field(default_factory=dict)
    scram: dict[tuple[int, str], Entity] = field(default_factory=dict)
    tokens: dict[str, Entity] = field(default_factory=dict)
    next_producer_id: int | None = None
    migration_state: int | None = None
    _earlier: dict[tuple[str, Any], Any] | None = field(default=None, repr=False, compare=False)
    """Within a transaction, the earlier value of each changed entry, by field and key; a plain value has the key None.

    The records of the quorum itself are not in it, because no transaction of the controller covers them.
    """
    _numbers: dict[str, set[int]] = field(default_factory=dict, repr=False, compare=False)
    """The partitions that a topic may have: a removal must not look at those of all others."""
    _settings: dict[tuple[int, str], set[str]] = field(default_factory=dict, repr=False, compare=False)
    """The settings that a resource may have. An aborted transaction may leave names in either that are not there."""

    def replay(self, record_type: str, data: Data) -> None:
        """Apply one record; those that change no state are ignored."""
        match record_type:
            case "BEGIN_TRANSACTION_RECORD" if self._earlier is None:  # Kafka refuses another one within it
                self._earlier = {}
            case "END_TRANSACTION_RECORD":
                self._earlier = None
            case "ABORT_TRANSACTION_RECORD":
                self._undo()
            case _ if apply := _APPLY.get(record_type):
                apply(self, data)
            case _:
                pass

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction has begun and not ended yet."""
        return self._earlier is not None

    @property
    def published(self) -> "Image":
        """The state that Kafka publishes: within a transaction a copy of the state before it.

        The leader and the voters are the quorum's own: no transaction of the controller covers them.
        """
        if self._earlier is None:
            return self
        before = copy.copy(self)
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, dict):
                setattr(before, each.name, dict(value))
        before._undo()  # noqa: SLF001 -- a copy of this
        return before

    # changes, which a transaction remembers

    def _put(self, table: str, key: Any, value: Any) -> None:  # noqa: ANN401 -- a key and a value of any table
        """Add or replace an entry."""
        entries = getattr(self, table)
        if self._earlier is not None:
            self._earlier.setdefault((table, key), entries.get(key, _ABSENT))
        entries[key] = value

    def _take(self, table: str, key: Any) -> Any:  # noqa: ANN401 -- a key and a value of any table
        """Remove an entry; returns its value, None if there is none."""
        entries = getattr(self, table)
        if key not in entries:
            return None
        if self._earlier is not None:
            self._earlier.setdefault((table, key), entries[key])
        return entries.pop(key)

    def _assign(self, name: str, value: object) -> None:
        """Set a plain value."""
        if self._earlier is not None:
            self._earlier.setdefault((name, None), getattr(self, name))
        setattr(self, name, value)

    def _undo(self) -> None:
        """Return to the state before the transaction, if there is one."""
        for (name, key), value in (self._earlier or {}).items():
            entries = getattr(self, name)
            if not isinstance(entries, dict):
                setattr(self, name, value)
            elif value is _ABSENT:
                entries.pop(key, None)
            else:
                entries[key] = value
        self._earlier = None

    # the quorum's own records

    def _lead(self, data: Data) -> None:
        self.leader = data["leaderId"]

    def _set_kraft_version(self, data: Data) -> None:
        self.kraft_version = data["kRaftVersion"]

    def _set_voters(self, data: Data) -> None:
        self.voters = {each["voterId"]: _plain(each, "voterId") for each in data["voters"]}

    # brokers and controllers

    def _register_broker(self, data: Data) -> None:
        self._put("brokers", data["brokerId"], {"fenced": True} | _registration(data, "brokerId"))

    def _change_broker(self, data: Data) -> None:
        old = self.brokers.get(data["brokerId"])
        if old is None:
            return
        new = {name: value for name, value in data.items() if name in {"logDirs", "cordonedLogDirs"}}
        new = {name: value for name, value in new.items() if value is not None and (value or name != "logDirs")}
        if data.get("fenced"):
            new["fenced"] = data["fenced"] > 0
        if data.get("inControlledShutdown"):
            new["inControlledShutdown"] = True
        self._put("brokers", data["brokerId"], old | new)

    def _fence(self, data: Data, *, fenced: bool) -> None:
        if (old := self.brokers.get(data["id"])) is not None:
            self._put("brokers", data["id"], old | {"fenced": fenced})

    def _register_controller(self, data: Data) -> None:
        self._put("controllers", data["controllerId"], _registration(data, "controllerId"))

    # topics

    def _partition(self, data: Data) -> None:
        entity: Entity = {"leaderRecoveryState": 0} | _plain(data, "topicId", "partitionId")
        entity["directories"] = list(data.get("directories") or ()) or [MIGRATING] * len(data["replicas"])
        self.set_partition((data["topicId"], data["partitionId"]), entity)

    def set_partition(self, key: tuple[str, int], entity: Entity) -> None:
        """Add or replace a partition."""
        if key not in self.partitions:
            self._numbers.setdefault(key[0], set()).add(key[1])
        self._put("partitions", key, entity)

    def _change_partition(self, data: Data) -> None:
        key = (data["topicId"], data["partitionId"])
        old = self.partitions.get(key)
        if old is None:
            return
        new = old | {name: value for name, value in _plain(data, "topicId", "partitionId").items() if value is not None}
        replicas, told = data.get("replicas"), data.get("directories")
        known = old["directories"] if told is None else list(told)
        new["directories"] = known or [MIGRATING] * len(replicas if replicas is not None else old["directories"])
        if data.get("leader", _SAME_LEADER) == _SAME_LEADER:
            new["leader"] = old.get("leader", -1)
        else:
            new["leaderEpoch"] = old.get("leaderEpoch", 0) + 1
        if data.get("leaderRecoveryState", _SAME_RECOVERY) == _SAME_RECOVERY:
            new["leaderRecoveryState"] = old["leaderRecoveryState"]
        new["partitionEpoch"] = old.get("partitionEpoch", 0) + 1
        self._put("partitions", key, new)

    def _remove_topic(self, data: Data) -> None:
        for number in self._take("_numbers", data["topicId"]) or ():
            self._take("partitions", (data["topicId"], number))
        if (name := self._take("topics", data["topicId"])) is not None:
            for setting in self._take("_settings", (TOPIC, name)) or ():
                self._take("configs", (TOPIC, name, setting))

    def _clear_elr(self, data: Data) -> None:
        """Clear those of one topic, or of all if no topic is named."""
        for key in [*self._keys(data["topicName"])] if data["topicName"] else [*self.partitions]:
            cleared = self.partitions[key] | {"eligibleLeaderReplicas": [], "lastKnownElr": []}
            self._put("partitions", key, cleared)

    def _keys(self, topic_name: str) -> Iterator[tuple[str, int]]:
        """The partitions of a topic."""
        for topic_id in (topic_id for topic_id, name in self.topics.items() if name == topic_name):
            yield from ((topic_id, n) for n in self._numbers.get(topic_id, ()) if (topic_id, n) in self.partitions)

    # all else

    def _feature(self, data: Data) -> None:
        if data["featureLevel"]:
            self._put("features", data["name"], data["featureLevel"])
        else:
            self._take("features", data["name"])

    def _config(self, data: Data) -> None:
        key = (data["resourceType"], data["resourceName"], data["name"])
        if data["value"] is None:
            self._take("configs", key)
        else:
            self._settings.setdefault(key[:2], set()).add(key[2])
            self._put("configs", key, data["value"])

    def _quota(self, data: Data) -> None:
        entity = tuple(sorted((each["entityType"], each["entityName"]) for each in data["entity"]))
        if data["remove"]:
            self._take("quotas", (entity, data["key"]))
        else:
            self._put("quotas", (entity, data["key"]), data["value"])

    def _next_producer_id(self, data: Data) -> None:
        self._assign("next_producer_id", data["nextProducerId"])

    def _migrate(self, data: Data) -> None:
        self._assign("migration_state", data["zkMigrationState"])


TOPIC = 2
"""The resource type of a topic's configuration."""


def _plain(data: Data, *keys: str) -> Entity:
    """A record without the fields that identify its entity."""
    return {name: value for name, value in data.items() if name not in keys}


def _registration(data: Data, key: str) -> Entity:
    """The same, with features and endpoints by their names: their order in a checkpoint differs from the log's."""
    return {
        name: sorted(value, key=lambda each: str(each["name"])) if name in {"features", "endPoints"} else value
        for name, value in _plain(data, key).items()
    }


_APPLY: Mapping[str, Callable[[Image, Data], object]] = {
    "LeaderChange": Image._lead,  # noqa: SLF001 -- the table belongs to the class
    "KRaftVersion": Image._set_kraft_version,  # noqa: SLF001
    "KRaftVoters": Image._set_voters,  # noqa: SLF001
    "REGISTER_BROKER_RECORD": Image._register_broker,  # noqa: SLF001
    "BROKER_REGISTRATION_CHANGE_RECORD": Image._change_broker,  # noqa: SLF001
    "FENCE_BROKER_RECORD": lambda image, data: image._fence(data, fenced=True),  # noqa: SLF001
    "UNFENCE_BROKER_RECORD": lambda image, data: image._fence(data, fenced=False),  # noqa: SLF001
    "UNREGISTER_BROKER_RECORD": lambda image, data: image._take("brokers", data["brokerId"]),  # noqa: SLF001
    "REGISTER_CONTROLLER_RECORD": Image._register_controller,  # noqa: SLF001
    "UNREGISTER_CONTROLLER_RECORD": lambda image, data: image._take("controllers", data["controllerId"]),  # noqa: SLF001
    "TOPIC_RECORD": lambda image, data: image._put("topics", data["topicId"], data["name"]),  # noqa: SLF001
    "REMOVE_TOPIC_RECORD": Image._remove_topic,  # noqa: SLF001
    "PARTITION_RECORD": Image._partition,  # noqa: SLF001
    "PARTITION_CHANGE_RECORD": Image._change_partition,  # noqa: SLF001
    "CLEAR_ELR_RECORD": Image._clear_elr,  # noqa: SLF001
    "CONFIG_RECORD": Image._config,  # noqa: SLF001
    "CLIENT_QUOTA_RECORD": Image._quota,  # noqa: SLF001
    "PRODUCER_IDS_RECORD": Image._next_producer_id,  # noqa: SLF001
    "ACCESS_CONTROL_ENTRY_RECORD": lambda image, data: image._put("acls", data["id"], _plain(data, "id")),  # noqa: SLF001
    "REMOVE_ACCESS_CONTROL_ENTRY_RECORD": lambda image, data: image._take("acls", data["id"]),  # noqa: SLF001
    "USER_SCRAM_CREDENTIAL_RECORD": lambda image, data: image._put(  # noqa: SLF001
        "scram", (data["mechanism"], data["name"]), _plain(data, "mechanism", "name")
    ),
    "REMOVE_USER_SCRAM_CREDENTIAL_RECORD": lambda image, data: image._take(  # noqa: SLF001
        "scram", (data["mechanism"], data["name"])
    ),
    "DELEGATION_TOKEN_RECORD": lambda image, data: image._put(  # noqa: SLF001
        "tokens", data["tokenId"], _plain(data, "tokenId")
    ),
    "REMOVE_DELEGATION_TOKEN_RECORD": lambda image, data: image._take("tokens", data["tokenId"]),  # noqa: SLF001
    "FEATURE_LEVEL_RECORD": Image._feature,  # noqa: SLF001
    "ZK_MIGRATION_STATE_RECORD": Image._migrate,  # noqa: SLF001
}
_TRANSACTIONS = frozenset({"BEGIN_TRANSACTION_RECORD", "END_TRANSACTION_RECORD", "ABORT_TRANSACTION_RECORD"})
ALL_TYPES = frozenset({*_APPLY, *_TRANSACTIONS})
"""The types of record that a whole image needs."""
LOSSY_TYPES = ALL_TYPES - {
    "LeaderChange", "KRaftVersion", "KRaftVoters", "FENCE_BROKER_RECORD", "UNFENCE_BROKER_RECORD", "CONFIG_RECORD",
    "CLEAR_ELR_RECORD", "CLIENT_QUOTA_RECORD", "PRODUCER_IDS_RECORD", "ACCESS_CONTROL_ENTRY_RECORD",
    "REMOVE_ACCESS_CONTROL_ENTRY_RECORD",
}  # fmt: skip
"""Those of them that a downgrade can lose, or that decide whether Kafka accepts it."""
