"""The reference page, made from the CRD's schema, so that `docs/reference-brokers.md` never contradicts the models."""

from collections.abc import Iterator
from typing import Any

from kafka_brokers.api import properties, rules
from kafka_brokers.model.names import REPLICATION, REPLICATION_PORT
from kit.crd.page import codes, columns, field_rules, resource_rules, rows, table, titled

Json = dict[str, Any]

_TEMPLATE = "spec.template.spec"
"""The fields below it are described in words."""
_INTRODUCTION = """\
# KafkaBrokerPool

<!-- Generated from operator/kafka_brokers/api by `make crds`: change the models, not this file. -->

`kafkaquorum.io/v1alpha1`, kind `KafkaBrokerPool`, short name `kbp`: brokers of one shape that follow a `KafkaQuorum`. A
quorum may have several pools. The least that works, beside a quorum named `events`:

```yaml
apiVersion: kafkaquorum.io/v1alpha1
kind: KafkaBrokerPool
metadata:
  name: events
spec:
  quorum: events
```

What is refused is refused twice, with the same sentence: by the API server when the resource is applied, and by the
operator, which blocks every change until the spec is valid again but goes on repairing what was applied before. Marked
**operator** below is what the operator alone can see; the API server admits it, and the conditions name it.
"""


def page(definition: Json) -> str:
    """The whole page."""
    version: Json = definition["spec"]["versions"][0]
    schema: Json = version["schema"]["openAPIV3Schema"]
    parts = [
        _INTRODUCTION,
        titled("The resource", resource_rules(schema)),
        titled("Spec", table(rows(schema["properties"]["spec"], "spec", closed=_TEMPLATE))),
        titled("What the fields must hold", _field_rules(schema["properties"]["spec"])),
        titled("Server properties that belong to the operator or the quorum", _owned_properties()),
        titled("Server properties that change without a restart", _dynamic_properties()),
        titled("The pod template", _pod_template()),
        titled("Status", table(rows(schema["properties"]["status"], "status"))),
        titled("Columns of `kubectl get kbp`", columns(version["additionalPrinterColumns"])),
    ]
    return "\n".join(parts)


def _field_rules(spec: Json) -> Iterator[str]:
    yield from field_rules(spec, closed=_TEMPLATE)
    yield "- **operator** `spec.quorum`: the quorum runs Kafka 3.9.0 or later."
    yield "- **operator** `spec.nodeIDs`, `spec.firstNodeID`: no controller of the quorum has one of these ids."
    yield "- **operator** `spec.listeners[].name`: no listener of the controllers has this name."
    yield "- **operator** `spec.listeners[].nodePort`: the node ports of all brokers are in range and differ."
    yield "- **operator** `spec.config`: no property that the quorum's contract rules."
    yield "- **operator** `spec.storage`: compared with the record and the claims, also where the resource was deleted"
    yield "  and created again."


def _owned_properties() -> Iterator[str]:
    names = [*sorted(properties.OWNED), *(f"{prefix}*" for prefix in properties.OWNED_PREFIXES)]
    yield "In `spec.config` these are refused:"
    yield f"{codes(names)}, but not {codes(sorted(properties.NOT_OWNED))}."
    yield ""
    yield f"{codes(sorted(properties.CLUSTER_WIDE))} are no settings of one broker: the controllers use one value for"
    yield "the whole cluster. Set them on topics, or for all brokers with"
    yield "`kafka-configs.sh --entity-type brokers --entity-default`."
    yield ""
    yield f"Every pool has the listener `{REPLICATION}` on port {REPLICATION_PORT}, for brokers and for the operator."


def _dynamic_properties() -> Iterator[str]:
    yield "A change of these in `spec.config` restarts no broker. The operator sets them on each running broker:"
    yield f"{codes(sorted(properties.dynamic_names()))}."
    yield "Every other change of `spec.config` restarts the brokers, a few at a time."


def _pod_template() -> Iterator[str]:
    yield "`spec.template.spec` has the fields, the limits and the exceptions of"
    yield "[a quorum's template](reference.md#the-pod-template)."
    yield ""
    yield f"**operator** `terminationGracePeriodSeconds` is {rules.SHORTEST_GRACE_S} or more: a broker hands its"
    yield "partitions over for up to 300 seconds before it stops. Without affinity, the pods prefer different nodes and"
    yield "zones, for all brokers of the quorum. With `spec.rack.topologyKey` and without `topologySpreadConstraints`,"
    yield "they are spread over the racks evenly, where that is possible."
