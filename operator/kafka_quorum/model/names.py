"""Names, labels and annotations of everything that belongs to a quorum. A change of one of these orphans what exists.

Claims and pods carry the generation of the node's claim, host names do not. For each generation a node has one name for
its Kafka pod. So the API server itself prevents a second pod on the same claim.
"""

import hashlib
import json
import re
from dataclasses import MISSING, fields, is_dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from kafka_quorum.model.desired import Runtime
from kafka_quorum.model.ids import Member, NodeID
from kafka_quorum.model.quorum import Listener
from kit.kept import Kept

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

GROUP: Final = "kafkaquorum.io"
FIELD_MANAGER: Final = "kafka-quorum-operator"

LABEL_QUORUM: Final = f"{GROUP}/quorum"
LABEL_ROLE: Final = f"{GROUP}/role"
LABEL_NODE: Final = f"{GROUP}/node-id"
LABEL_VOTER: Final = f"{GROUP}/voter"
OF_QUORUM: Final = f"{GROUP}/of-quorum"
"""On a pod of a broker of a pool: the quorum that it belongs to."""
POOL_PORT: Final = 9091
"""The port of the listener that every broker of a pool has for the others and for the operator."""

JMX_PORT: Final = 9404
"""The port at which a controller shows its metrics over HTTP, if it does."""

LOG_NAME: Final = "kraft"
"""The directory of a controller's log on its volume, and on a copy of it."""

CLUSTER_ID: Final = f"{GROUP}/cluster-id"
DIRECTORY_ID: Final = f"{GROUP}/directory-id"
CLAIM_UID: Final = f"{GROUP}/claim-uid"
PHASE: Final = f"{GROUP}/bootstrap-phase"
RETIRED: Final = "Retired"
"""Replaces the bootstrap phase on a claim whose replica was removed or replaced: no controller uses the claim."""
SCHEMA: Final = f"{GROUP}/schema-version"
"""On a claim or a pod: the schema number of its annotations. A missing one means 1."""
KEPT: Final = f"{GROUP}/kept"
"""On a retired claim that was found to hold the data of its replica: the operator never deletes it."""
GENERATION: Final = f"{GROUP}/generation"
MODE: Final = f"{GROUP}/format-mode"
REVISION: Final = f"{GROUP}/revision"
CONFIG: Final = f"{GROUP}/config"
INPUTS_HASH: Final = f"{GROUP}/inputs-hash"
RESTARTED_AT: Final = f"{GROUP}/restartedAt"
"""On the resource: a new value restarts every controller, one by one."""
HOLD: Final = f"{GROUP}/hold"
"""On the resource: the controllers that a person holds. Nothing is done to their pods and disks."""
REPLACE: Final = f"{GROUP}/replace"
"""On the resource: the replica whose disk, or machine, a person gives up."""
GATE: Final = f"{GROUP}/caught-up-voter"
RECOVERY: Final = f"{GROUP}/recovery"
"""On a claim: the epoch of the recovery that it was made for, or that retired it; missing for 0."""
RELEASE: Final = f"{GROUP}/release-recovery"
"""On the resource, set by a person: the epoch of the recovery whose copies and old disks may be deleted."""
USED_BY: Final = f"{GROUP}/used-by"
"""On a Secret, or on a claim with a seed, set by a person: the resources that may name it in their spec, as KIND/NAME,
separated by commas."""

_HASH_LENGTH: Final = 10
_TRUST_HASH_LENGTH: Final = 16
KAFKA_CONTAINER: Final = "kafka"
FORMAT_CONTAINER: Final = "format"
VERIFY_CONTAINER: Final = "verify"


def reader(quorum: str) -> str:
    """This quorum in the annotation of a Secret that it may use."""
    return f"KafkaQuorum/{quorum}"


def digest(value: object) -> str:
    """A short name for a JSON-able value: the same value has the same name in every process."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]


def inputs_hash(runtime: Runtime) -> str:
    """What decides a restart: the inputs of a Kafka pod, not the pod that this version makes of them.

    It covers every field by name and without defaults. So a new field restarts nothing, and no two inputs have the
    same hash. The exception is `measured`: that the metrics are not needed any more restarts nothing. The inputs of
    0.1.0 are written as 0.1.0 wrote them: by position, followed by its one optional list. Their form must stay, because
    hashes are names of objects that exist. All other inputs are one object after that.
    """
    return _HASHES.of(runtime, lambda: _inputs_hash(runtime))


def _chars(runtime: Runtime, _: str) -> int:
    """About how many characters a runtime holds: of most of them, a person decides how many there are."""
    texts = (runtime.template_spec, runtime.template_metadata, runtime.trust, *runtime.jvm_options)
    return 1_000 + sum(map(len, (*texts, *(word for pair in runtime.config for word in pair))))


_HASHES: Final[Kept[Runtime, str]] = Kept(8 << 20, _chars)
"""Hashes of runtimes: each pass needs those of all revisions of its quorum."""


def _inputs_hash(runtime: Runtime) -> str:
    inputs = without_defaults(replace(runtime, measured=False))
    listener: dict[str, object] = inputs.pop("listener")
    first = [
        inputs.pop("release"),
        inputs.pop("image"),
        inputs.pop("config"),
        [listener.pop("name"), listener.pop("port")],
        *(inputs.pop(name) for name in ("heap", "jvm_options", "template_metadata", "template_spec")),
    ]
    static = inputs.pop("static_voters", None)
    others = inputs | ({"listener": listener} if listener else {})
    by_name = {_camel(name): value for name, value in others.items()}
    return digest([*first, *([static] if static else []), *([by_name] if by_name else [])])


def without_defaults(value: "DataclassInstance") -> dict[str, Any]:
    """The fields of a dataclass as JSON; at every depth, fields with their default value are left out."""
    found = {}
    for field in fields(value):
        present = getattr(value, field.name)
        default = field.default if field.default_factory is MISSING else field.default_factory()
        if default is MISSING or present != default:
            found[field.name] = _json(present)
    return found


def _json(value: object) -> object:
    if isinstance(value, tuple | list):
        return [_json(each) for each in value]
    if isinstance(value, Enum):
        return value.value
    return without_defaults(value) if is_dataclass(value) and not isinstance(value, type) else value


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def quorum_labels(quorum: str) -> dict[str, str]:
    """The labels that select every object of a quorum."""
    return {LABEL_QUORUM: quorum}


def service_name(quorum: str) -> str:
    """The headless service of the controllers."""
    return f"{quorum}-controllers"


def budget_name(quorum: str) -> str:
    """The disruption budget of the voters."""
    return f"{quorum}-voters"


def record_name(quorum: str) -> str:
    """The ConfigMap that holds the identity."""
    return f"{quorum}-identity"


def contract_name(quorum: str) -> str:
    """The ConfigMap that holds what the quorum requires of brokers."""
    return f"{quorum}-brokers"


def token_name(quorum: str) -> str:
    """The Lease that whoever stops a running server of this quorum, or of its pools, holds."""
    return f"{quorum}-disruption"


def token_holder(quorum: str) -> str:
    """The quorum, as a holder of that Lease."""
    return f"quorum/{quorum}"


def tls_name(quorum: str, node_id: int) -> str:
    """The Secret with the key and the certificate of one controller."""
    return f"{quorum}-{node_id}-tls"


def users_name(quorum: str) -> str:
    """The Secret with the users of controllers that have SASL_SSL."""
    return f"{quorum}-users"


def scram_name(quorum: str) -> str:
    """The Secret with what the operator made of the brokers' users of SCRAM."""
    return f"{quorum}-scram"


def authority_name(quorum: str) -> str:
    """The Secret with the quorum's own authority."""
    return f"{quorum}-ca"


def operator_tls_name(quorum: str) -> str:
    """The Secret with the operator's own key and certificate for the controllers."""
    return f"{quorum}-operator-tls"


def brokers_tls_name(quorum: str) -> str:
    """The Secret with what brokers need to reach the controllers."""
    return f"{quorum}-brokers-tls"


def request_name(quorum: str, holder: str) -> str:
    """The Certificate of cert-manager for a controller's node id, `operator` or `brokers`, and the Secret it fills."""
    return f"{quorum}-{holder}-cert"


def keystore_file(certificates: int) -> str:
    """The file with the key and the certificate of brokers, of this generation."""
    return f"keystore-{certificates}.pem"


GENERATION_MAX: Final = 999_999_999
"""The highest generation of certificates: in the name of a file it has at most nine digits."""


def keystore_generation(file: str) -> int:
    """The generation of the certificate in this file of brokers; 0 if it is another file."""
    found = re.fullmatch(r"keystore-([0-9]{1,9})[.]pem", file)
    return int(found[1]) if found else 0


def trust_file(trust: str) -> str:
    """The file with these authorities, in PEM."""
    return f"trust-{hashlib.sha256(trust.encode()).hexdigest()[:_TRUST_HASH_LENGTH]}.pem"


def host_label(member: Member) -> str:
    """A controller's host name within the service."""
    return f"{member.pool}-{member.node_id}"


def host_name(namespace: str, member: Member) -> str:
    """A controller's host name from anywhere in the cluster, without the cluster's own domain."""
    return f"{host_label(member)}.{service_name(member.pool)}.{namespace}.svc"


def advertised(namespace: str, member: Member, runtime: Runtime) -> Listener:
    """The listener that a controller advertises, and that AddRaftVoter names."""
    listener = runtime.listener
    return Listener(name=listener.name, host=host_name(namespace, member), port=listener.port)


def all_advertised(namespace: str, member: Member, runtime: Runtime) -> tuple[Listener, ...]:
    """Every listener that a controller advertises: two while they are changed."""
    host = host_name(namespace, member)
    return tuple(Listener(name=each.name, host=host, port=each.port) for each in runtime.listeners)


def claim_name(member: Member, generation: int) -> str:
    """The claim of this generation. `claim_parts` reads it."""
    return f"{member.pool}-{member.node_id}-g{generation}"


def pod_name(member: Member, generation: int) -> str:
    """The pod that runs Kafka on the claim of the same name."""
    return claim_name(member, generation)


FORMATTER_SUFFIX: Final = "-format"


def formatter_name(member: Member, generation: int) -> str:
    """The pod that formats that claim."""
    return f"{claim_name(member, generation)}{FORMATTER_SUFFIX}"


def claim_parts(name: str) -> tuple[Member, int] | None:
    """The server and the generation in the name of a claim or a Kafka pod; None for any other name."""
    found = re.fullmatch(r"(.+)-(0|[1-9][0-9]{0,9})-g([1-9][0-9]{0,9})", name)
    return None if found is None else (Member(found[1], NodeID(int(found[2]))), int(found[3]))


def is_config_name(quorum: str, name: str) -> bool:
    """Whether `config_name` or `format_config_name` makes this name."""
    return re.fullmatch(rf"{re.escape(quorum)}-(config|format)-[0-9a-f]{{{_HASH_LENGTH}}}", name) is not None


def revision_name(quorum: str, hash_: str) -> str:
    """The ControllerRevision of a runtime."""
    return f"{quorum}-{hash_}"


def is_revision_name(quorum: str, name: str) -> bool:
    """Whether `revision_name` makes this name."""
    return re.fullmatch(rf"{re.escape(quorum)}-[0-9a-f]{{{_HASH_LENGTH}}}", name) is not None


def config_name(quorum: str, hash_: str, node_ids: tuple[NodeID, ...], recovery: int = 0) -> str:
    """The immutable config map of a revision, for a set of node ids: its name determines its content.

    After a recovery the name is another one: a pod that was requested before waits for a config map that is gone.
    """
    return f"{quorum}-config-{digest([hash_, list(node_ids), *([recovery] if recovery else [])])}"


def format_config_name(quorum: str, hash_: str, node_ids: tuple[NodeID, ...]) -> str:
    """The config map without which no initial format can run: it is deleted before the quorum may start.

    A formatter that comes late, from a request that was assumed lost, waits for it for ever.
    """
    return f"{quorum}-format-{digest([hash_, list(node_ids)])}"


def service_facts(quorum: str, port: int) -> str:
    """The fields of the headless service that matter, in one line that can be compared."""
    return facts([["controller", port], "None", True, {LABEL_QUORUM: quorum, LABEL_ROLE: "controller"}])


def budget_facts(quorum: str, min_available: int) -> str:
    """The fields of the disruption budget that matter."""
    return facts([min_available, {LABEL_QUORUM: quorum, LABEL_VOTER: "true"}])


def facts(value: object) -> str:
    """Canonical JSON."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
