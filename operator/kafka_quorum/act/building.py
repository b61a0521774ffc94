"""The pods of a plan, built: the executor creates the same pod that a dry run asks about.

A spec that was stored before a check existed can break a builder. That is a refusal, not a fault of the pass.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from kafka_quorum.model.actions import CreateFormatter, CreatePod
from kafka_quorum.model.desired import Desired
from kafka_quorum.model.identity import IdentityRecord, NodeIdentity
from kafka_quorum.model.ids import NodeID
from kafka_quorum.model.observed import Revision
from kafka_quorum.model.quorum import Endpoint
from kafka_quorum.resources import pods
from kit.errors import KubeRefused
from kit.kube.protocol import Json


class Unbuildable(KubeRefused):
    """No object can be built from this spec: nothing was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What every action of one pass refers to. `resource` is the KafkaQuorum as it was read."""

    desired: Desired
    record: IdentityRecord | None
    resource: Json
    spec: Json
    """The valid spec that `desired` came from: the last accepted one if the present one has faults."""
    accepted: str = ""
    """The last accepted spec, as it is stored beside the record; empty if none is."""
    access: Callable[[Endpoint], Endpoint] = field(default=lambda at: at, repr=False)
    """An endpoint of the plan as it is reached: with the operator's own key, which no plan has."""
    agent_image: str = ""
    """The image that has the agent which reports metrics: the operator's own."""


def pod_of(action: CreatePod | CreateFormatter, context: Context, pull_policy: str) -> Json:
    """The pod that this action creates. Raises `Unbuildable`."""
    match action:
        case CreatePod(node_id=node_id, revision=revision, config_name=config):
            return kafka_pod(node_id, revision, config, context, pull_policy)
        case CreateFormatter(node_id=node_id, revision=revision, config_name=config, avoid_nodes=avoid):
            return formatter_pod(node_id, revision, config, context, pull_policy, avoid_nodes=avoid)


def kafka_pod(node_id: NodeID, revision: Revision, config: str, context: Context, pull_policy: str) -> Json:
    """The pod that runs Kafka on this controller's disk. Raises `Unbuildable`."""
    record, node = node_of(context, node_id)
    image = context.agent_image
    if revision.runtime.has_agent and not image:
        way_out = "Set KQ_OPERATOR_IMAGE in its environment, as the chart does"
        raise Unbuildable(f"the operator's own image, from which the pod gets its metrics, is not known. {way_out}")
    return built(
        lambda: pods.kafka(
            context.desired, record, node, revision, config=config, pull_policy=pull_policy, agent_image=image
        )
    )


def formatter_pod(
    node_id: NodeID,
    revision: Revision,
    config: str,
    context: Context,
    pull_policy: str,
    *,
    avoid_nodes: tuple[str, ...] = (),
) -> Json:
    """The pod that formats this controller's disk. Raises `Unbuildable`."""
    record, node = node_of(context, node_id)
    return built(
        lambda: pods.formatter(
            context.desired, record, node, revision, config=config, avoid_nodes=avoid_nodes, pull_policy=pull_policy
        )
    )


def record_of(context: Context) -> IdentityRecord:
    """The record that an action of an existing quorum refers to."""
    if context.record is None:
        raise ValueError("the planner asked for an object of a quorum without a record")
    return context.record


def node_of(context: Context, node_id: NodeID) -> tuple[IdentityRecord, NodeIdentity]:
    """The record, and the node that an action refers to."""
    record = record_of(context)
    node = record.node(node_id)
    if node is None:
        raise ValueError(f"the planner asked for controller {node_id}, which the record does not know")
    return record, node


def built(build: Callable[[], Json]) -> Json:
    """What `build` returns. Raises `Unbuildable` if it cannot."""
    try:
        return build()
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise Unbuildable(f"the operator cannot build this object from the spec ({said})") from error
