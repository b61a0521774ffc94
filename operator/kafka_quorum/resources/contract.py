"""The broker contract as a ConfigMap: text that a person can paste, JSON for programs, and its strict reader.

A `KafkaBrokerPool` reads it with `contract_from`. Owners of other brokers read `server.properties`.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

from pydantic import TypeAdapter, ValidationError

from kafka_quorum.model import formats, names
from kafka_quorum.model.contract import (
    SASL_KEY,
    SASL_MECHANISM,
    SECRET_PATH,
    Contract,
    Match,
    Setting,
    StoredContract,
    Turn,
)
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.formats import Unreadable
from kafka_quorum.model.ids import parse_cluster_id
from kafka_quorum.resources.meta import Json, foreign_controller, labels, owner
from kit.kept import Kept
from kit.parsing import INT32_MAX, Malformed, json_object, quoted
from kit.text import is_clean

CONTRACT_ROLE: Final = "broker-contract"
JSON_KEY: Final = "contract.json"
PROPERTIES_KEY: Final = "server.properties"
REVISION_ANNOTATION: Final = f"{names.GROUP}/contract-revision"
DEFAULT_PROTOCOLS: Final = ("PLAINTEXT:PLAINTEXT", "SSL:SSL", "SASL_PLAINTEXT:SASL_PLAINTEXT", "SASL_SSL:SASL_SSL")
"""The elements of Kafka's default `listener.security.protocol.map`."""
PROTOCOL_MAP: Final = "listener.security.protocol.map"
_CONTRACT: Final = TypeAdapter(Contract)
_CONTRACTS: Final[Kept[tuple[str, str, str], Contract]] = Kept(1 << 20, lambda key, _: len(key[2]))
"""Contracts that were read before: at most about a million characters of their text."""
_ROWS_MAX: Final = 1000
_LATEST_S: Final = 253_402_300_799
"""The end of the year 9999: the last second that a certificate can name."""
_FILE_NAME: Final = "[a-z0-9][a-z0-9.-]{0,99}"
_TEXT_MAX_CHARS: Final = 64 * 1024


def contract_object(desired: Desired, contract: Contract) -> Json:
    """The ConfigMap of a contract. With a resource version it replaces exactly that one."""
    body = _CONTRACT.dump_python(contract, mode="json")
    del body["resource_version"]
    if contract.zookeeper is None:  # not written: earlier versions of the operator do not know it
        del body["zookeeper"]
    for later in ("certificates", "given", "principals", "certificate_ends", "turn"):  # the same
        if not body[later]:
            del body[later]
    text = json.dumps({"schemaVersion": _format_of(contract), **body}, indent=1)
    metadata: Json = {
        "name": names.contract_name(desired.name),
        "namespace": desired.namespace,
        "labels": labels(desired.name, **{names.LABEL_ROLE: CONTRACT_ROLE}),
        "ownerReferences": owner(desired),
        "annotations": {names.CLUSTER_ID: contract.cluster_id, REVISION_ANNOTATION: str(contract.revision)},
    }
    if contract.resource_version:
        metadata["resourceVersion"] = contract.resource_version
    data = {PROPERTIES_KEY: properties_text(desired.name, contract), JSON_KEY: text}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _format_of(contract: Contract) -> int:
    """Earlier versions of the operator read every contract but one with files of a Secret, which they cannot follow."""
    return formats.CONTRACT if contract.files or contract.secrets else 1


def properties_text(quorum: str, contract: Contract) -> str:
    """The lines that a person puts into the `server.properties` of every broker, with comments for what to leave."""
    ids = ", ".join(map(str, contract.controller_ids))
    first = (
        f"# What every broker of KafkaQuorum {quorum} must have now: contract revision {contract.revision}.",
        f"# Cluster id {contract.cluster_id}. Kafka {contract.release} or earlier. No broker may have node.id {ids}.",
        f"# Next: {contract.next_step}",
        *_mode_lines(contract),
        *_secret_lines(contract),
    )
    return "".join(f"{line}\n" for line in (*first, *(line for each in contract.settings for line in _lines(each))))


def _mode_lines(contract: Contract) -> Iterator[str]:
    """How a broker stores metadata: in KRaft, or in ZooKeeper, where it has `broker.id` instead of `node.id`."""
    if contract.zookeeper is None:
        if contract.setting("process.roles") is None:
            yield "process.roles=broker"
        else:  # it is among the settings: the broker used ZooKeeper until now
            yield "# A broker is a KRaft broker now: it has node.id in place of broker.id"
            yield "# zookeeper.connect must not be set"
        return
    yield "# A broker uses ZooKeeper now: it has broker.id, and neither node.id nor process.roles"
    yield "# process.roles must not be set"
    yield f"zookeeper.connect={contract.zookeeper.connect}"


def _secret_lines(contract: Contract) -> Iterator[str]:
    """Where the files of the contract's Secrets come from, and what has to be added that no config map may have."""
    for secret in contract.secrets:
        yield f"# Mount Secret {secret} as a directory at {SECRET_PATH}: all of its keys, without subPath"
        yield "# Another directory is as good. The names of the files must be these"
        if contract.setting(SASL_MECHANISM) is not None:
            yield f"# Add the lines of its key {SASL_KEY} to this file: they have the user and the password of brokers"


def _lines(setting: Setting) -> Iterator[str]:
    match setting.match:
        case Match.EQUALS:
            yield f"{setting.key}={setting.value}"
        case Match.ONE_OF:
            yield f"{setting.key}={setting.value.split(',')[0]}"
        case Match.SOME:
            yield f"# One of these addresses is enough; a broker needs no restart when the list changes: {setting.key}"
            yield f"{setting.key}={setting.value}"
        case Match.HAS if setting.key == PROTOCOL_MAP:
            own = setting.value.split(",")
            yield f"# Add the names of your own listeners to {setting.key}, if they have names of their own"
            yield f"{setting.key}={','.join((*own, *(one for one in DEFAULT_PROTOCOLS if one not in own)))}"
        case Match.HAS:
            yield f"{setting.key}={setting.value}"
        case Match.FILE:
            yield f"{setting.key}={SECRET_PATH}/{setting.value}"
        case Match.UNSET:
            yield f"# {setting.key} must not be set"


def contract_from(item: Json) -> Contract:
    """The contract in a ConfigMap, as the API server wrote it.

    Raises `Unreadable` if it is not one, `LaterFormat` if a later version wrote it.
    """
    data, name, version = item.get("data") or {}, item["metadata"]["name"], item["metadata"]["resourceVersion"]
    text = str(data.get(JSON_KEY))
    return _CONTRACTS.of((name, version, text), lambda: _read_contract(name, version, data))


def _read_contract(name: str, resource_version: str, data: Json) -> Contract:
    where = f"ConfigMap {name}"
    try:
        body = json_object(data[JSON_KEY])
        version = body.pop("schemaVersion")
    except (KeyError, Malformed) as error:
        why = f"it has no {JSON_KEY} that can be read"
        raise Unreadable(f"{where} is no broker contract: {why} ({error})") from error
    formats.check(version, formats.CONTRACT, where)
    stored = {**body, "resource_version": resource_version}
    try:
        contract = _CONTRACT.validate_python(stored, strict=False)
    except ValidationError as error:
        raise Unreadable(f"{where} is no broker contract ({error.error_count()} faults)") from error
    if (fault := _fault(contract) or _secret_fault(contract, name) or _turn_fault(contract.turn)) is not None:
        raise Unreadable(f"{where} is no valid broker contract: {fault}")
    if field := formats.unknown_field(stored, _CONTRACT.dump_python(contract, mode="json")):
        raise formats.LaterFormat(
            f"{where} has the field {quoted(field)}, which this version of the operator cannot read. "
            "Run the operator version that wrote it, or a later one"
        )
    return contract


def stored_contract(item: Json, quorum: str) -> StoredContract:
    """The contract of this quorum (`Unreadable`, `LaterFormat`), and whether labels or owner have to be repaired."""
    metadata = item["metadata"]
    where = f"ConfigMap {metadata['name']}"
    found = labels(quorum, **{names.LABEL_ROLE: CONTRACT_ROLE})
    present = metadata.get("labels") or {}
    if present.get(names.LABEL_QUORUM, quorum) != quorum or foreign_controller(item) is not None:
        raise Unreadable(
            f"{where} exists, and is not this quorum's. Delete it, or create the quorum under another name"
        )
    if "deletionTimestamp" in metadata:
        raise Unreadable(f"{where} is being deleted")
    owners = metadata.get("ownerReferences") or ()
    adrift = not found.items() <= present.items() or not any(one.get("controller") for one in owners)
    return StoredContract(contract=contract_from(item), adrift=adrift)


def _secret_fault(contract: Contract, name: str) -> str | None:
    """Which Secret or file it may not name: a pod would mount any Secret for a person who may edit a ConfigMap."""
    allowed = names.brokers_tls_name(name.removesuffix(names.contract_name("")))
    if any(secret != allowed for secret in contract.secrets):
        return f"it names another Secret than {allowed}"
    if any(re.fullmatch(_FILE_NAME, file) is None for file in contract.files):
        return "a setting in it names no file"
    return None


def _turn_fault(turn: Turn | None) -> str | None:
    """Which time is none: pools would write it into their status."""
    possible = turn is None or 0 <= turn.last_s <= turn.ends_s <= _LATEST_S
    return None if possible else "the turn of the controllers has an impossible time"


def _fault(contract: Contract) -> str | None:
    """What makes a contract impossible: everybody who may edit a ConfigMap can write such text."""
    try:
        parse_cluster_id(contract.cluster_id)
    except ValueError as error:
        return str(error)
    if not (1 <= contract.revision <= INT32_MAX and 0 <= contract.certificates <= names.GENERATION_MAX):
        return f"its revision is {quoted(contract.revision)}, its certificates are {quoted(contract.certificates)}"
    if any(not 0 <= node_id <= INT32_MAX for node_id in contract.controller_ids):
        return "a controller has an impossible node id"
    ends, users = contract.certificate_ends, contract.principals
    if any(len(rows) > _ROWS_MAX for rows in (contract.settings, contract.controllers, contract.base, ends, users)):
        return f"it has more than {_ROWS_MAX} settings, addresses, certificates or users"
    texts = (contract.release, contract.image, contract.next_step, *contract.controllers, *contract.secrets, *users)
    keeper = contract.zookeeper
    texts += () if keeper is None else (keeper.connect, keeper.secret_name)
    lines = (*texts, *(text for each in contract.settings for text in (each.key, each.value)))
    if any(text and not is_clean(text, max_chars=_TEXT_MAX_CHARS) for text in lines):
        return "a text in it has characters that are not visible"
    return None
