"""Objects of a quorum `kafka/demo` as the API server gives them, and the answers of a kubectl for them."""

import copy
import json
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.kubectl_kq.fake_kubectl import Prepared, gives

from kubectl_kq.answers import Answer, Found, NotRead, Why
from kubectl_kq.sources import Look, Source

Json = dict[str, Any]

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
IDS = (3000, 3001, 3002)
HOSTILE = "ends\x1b[2J\x1b[31m here\r\n\x07\x9b1m\u202egnp.exe\x1b]0;title\x07 and\tgoes on"
"""Text that clears a screen, moves the cursor, rings, reverses and names a window, if it is printed raw."""


def ago(seconds: float) -> str:
    """A time before `NOW` as Kubernetes writes it."""
    return (NOW - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def condition(kind: str, status: str, reason: str, message: str = "") -> Json:
    """A row of `status.conditions`."""
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message or f"{kind} is {status}",
        "lastTransitionTime": ago(3600),
        "observedGeneration": 3,
    }


def directory(node_id: int) -> str:
    """A directory id for a node id."""
    return f"AAAAAAAAAAAAAAAAAA{node_id}"


def quorum() -> Json:
    """A quorum of three that is Ready."""
    return {
        "apiVersion": "kafkaquorum.io/v1alpha1",
        "kind": "KafkaQuorum",
        "metadata": {
            "name": "demo",
            "namespace": "kafka",
            "uid": "u-demo",
            "generation": 3,
            "creationTimestamp": ago(86_400),
        },
        "spec": {"kafka": {"version": "4.4.0"}, "controllers": {"replicas": 3}},
        "status": {
            "observedGeneration": 3,
            "lastLook": ago(12),
            "doing": "Done",
            "message": "Every requested controller is a committed, caught-up voter",
            "clusterID": "AAAABwAAAAcAAAAHAAAABw",
            "metadataVersion": "4.4-IV2 (33)",
            "bootstrap": {"phase": "Started"},
            "conditions": [
                condition("Ready", "True", "AllVotersCaughtUp"),
                condition("Available", "True", "MajorityCaughtUp"),
                condition("Progressing", "False", "Done"),
                condition("Degraded", "False", "Healthy"),
                condition("FeaturesSettled", "True", "Settled"),
                condition("SpecAccepted", "True", "Valid"),
            ],
            "waits": [],
            "quorum": {
                "type": "Dynamic",
                "summary": "3/3",
                "leaderID": 3001,
                "leaderEpoch": 7,
                "voters": 3,
                "healthyVoters": 3,
                "failureTolerance": 1,
                "kraftVersion": 1,
            },
            "controllers": [
                {
                    "nodeID": node_id,
                    "directoryID": directory(node_id),
                    "role": "Leader" if node_id == 3001 else "Voter",
                    "caughtUp": True,
                    "endpoint": f"demo-{node_id}.demo-controllers.kafka.svc:9093",
                    "version": "4.4.0",
                    "claimName": f"demo-{node_id}-g1",
                    "claimUID": f"u-{node_id}",
                    "podName": f"demo-{node_id}-g1",
                    "nodeName": f"worker-{node_id - 2999}",
                }
                for node_id in IDS
            ],
        },
    }


def pod(node_id: int) -> Json:
    """The pod of a controller that runs."""
    return {
        "metadata": {
            "name": f"demo-{node_id}-g1",
            "namespace": "kafka",
            "creationTimestamp": ago(7200),
            "labels": {
                "kafkaquorum.io/quorum": "demo",
                "kafkaquorum.io/role": "controller",
                "kafkaquorum.io/node-id": str(node_id),
            },
        },
        "spec": {"nodeName": f"worker-{node_id - 2999}"},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "kafka", "restartCount": 0, "state": {"running": {}}}],
        },
    }


def claim(node_id: int) -> Json:
    """The claim of a controller."""
    return {
        "metadata": {"name": f"demo-{node_id}-g1", "uid": f"u-{node_id}", "creationTimestamp": ago(80_000)},
        "status": {"phase": "Bound"},
    }


def record() -> Json:
    """The ConfigMap of the identity."""
    body = {
        "schemaVersion": 1,
        "cluster_id": "AAAABwAAAAcAAAAHAAAABw",
        "phase": "Started",
        "nodes": [
            {
                "node_id": node_id,
                "generation": 1,
                "claim_uid": f"u-{node_id}",
                "directory_id": directory(node_id),
                "formatted": True,
                "lost": [],
            }
            for node_id in IDS
        ],
        "former": [{"node_id": 3003, "generation": 1, "lost": [directory(3003)]}],
    }
    return {"metadata": {"name": "demo-identity"}, "data": {"record.json": json.dumps(body)}}


def node(name: str) -> Json:
    """A Kubernetes node that is ready."""
    return {"metadata": {"name": name}, "spec": {}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}


def event(reason: str, message: str, *, kind: str = "Normal", seconds: float = 60, count: int = 1) -> Json:
    """An event about the quorum."""
    return {"type": kind, "reason": reason, "message": message, "lastTimestamp": ago(seconds), "count": count}


def deployment(name: str, replicas: int = 2, *, namespaces: str = "", selector: str = "") -> Json:
    """A Deployment of an operator with a Lease of its own."""
    env = [{"name": "KQ_LEASE_NAME", "value": name}, {"name": "KQ_WATCH_NAMESPACES", "value": namespaces}]
    env += [{"name": "KQ_SELECTOR", "value": selector}] if selector else []
    spec = {"replicas": replicas, "template": {"spec": {"containers": [{"name": "operator", "env": env}]}}}
    return {"metadata": {"name": name}, "spec": spec, "status": {}}


def warning(kind: str, name: str, reason: str, message: str, *, seconds: float = 60) -> Json:
    """A warning of Kubernetes about an object."""
    return event(reason, message, kind="Warning", seconds=seconds) | {"involvedObject": {"kind": kind, "name": name}}


def pool() -> Json:
    """A pool of this quorum that is Ready."""
    return {
        "metadata": {"name": "brokers", "namespace": "kafka"},
        "spec": {"quorum": "demo"},
        "status": {
            "summary": "3/3",
            "release": "4.4.0",
            "doing": "Done",
            "message": "Every broker is back",
            "conditions": [condition("Ready", "True", "AllBrokersBack"), condition("Degraded", "False", "Healthy")],
        },
    }


def listed(*items: Json) -> Json:
    """A list of objects."""
    return {"items": list(items)}


def objects() -> dict[Source, Json]:
    """Every source of a quorum that is well."""
    operator = {"metadata": {"name": "operator-1"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    revision = {"metadata": {"name": "demo-0123456789", "creationTimestamp": ago(80_000)}, "revision": 1}
    found = {
        Source.QUORUM: quorum(),
        Source.POOLS: listed(pool()),
        Source.PODS: listed(*map(pod, IDS)),
        Source.CLAIMS: listed(*map(claim, IDS)),
        Source.RECORD: record(),
        Source.CONTRACT: {"metadata": {"name": "demo-brokers"}, "data": {}},
        Source.BUDGET: {"metadata": {"name": "demo-voters"}},
        Source.TOKEN: {"metadata": {"name": "demo-disruption"}, "spec": {"holderIdentity": ""}},
        Source.EVENTS: listed(event("VoterAdded", "controller 3002 is a voter")),
        Source.REVISIONS: listed(revision),
        Source.OPERATOR: listed(operator),
        Source.DEPLOYMENTS: listed(deployment("kafka-quorum-operator")),
        Source.WARNINGS: listed(),
    }
    return copy.deepcopy(found)


def look(changed: dict[Source, Json | NotRead] | None = None, *, nodes: dict[str, Answer] | None = None) -> Look:
    """A look at the quorum that is well, with some sources changed."""
    answers: dict[Source, Answer] = {source: Found(value=value) for source, value in objects().items()}
    for source, value in (changed or {}).items():
        answers[source] = value if isinstance(value, NotRead) else Found(value=value)
    names = [f"worker-{place}" for place in (1, 2, 3)]
    well: dict[str, Answer] = {name: Found(value=node(name)) for name in names}
    return Look(namespace="kafka", name="demo", answers=answers, nodes=well | (nodes or {}))


def silent(words: str = "no answer within 6 s") -> NotRead:
    """A question without an answer."""
    return NotRead(why=Why.SILENT, words=words)


def saying(status: Json | None = None, spec: Json | None = None, **conditions: tuple[str, str, str]) -> Json:
    """The quorum with fields of its status and spec replaced, and conditions as (status, reason, message)."""
    found = quorum()
    found["status"] |= status or {}
    found["spec"] |= spec or {}
    rows = [row for row in found["status"]["conditions"] if row["type"] not in conditions]
    found["status"]["conditions"] = rows + [condition(kind, *words) for kind, words in conditions.items()]
    return found


def wait(reason: str, severity: str, message: str, *node_ids: int, seconds: float = 90) -> Json:
    """A row of `status.waits`."""
    ids: Json = {"nodeID": node_ids[0]} if len(node_ids) == 1 else {"nodeIDs": list(node_ids)} if node_ids else {}
    return {"reason": reason, "severity": severity, "message": message, "since": ago(seconds), **ids}


PATHS = {
    Source.QUORUM: "/kafkaquorums/demo",
    Source.POOLS: "/kafkabrokerpools?",
    Source.PODS: "/namespaces/kafka/pods?",
    Source.CLAIMS: "/persistentvolumeclaims?",
    Source.RECORD: "/configmaps/demo-identity",
    Source.CONTRACT: "/configmaps/demo-brokers",
    Source.BUDGET: "/poddisruptionbudgets/demo-voters",
    Source.TOKEN: "/leases/demo-disruption",
    Source.EVENTS: "/events?fieldSelector=involvedObject",
    Source.REVISIONS: "/controllerrevisions?",
    Source.OPERATOR: "/namespaces/kafka-quorum-system/pods?",
    Source.DEPLOYMENTS: "/namespaces/kafka-quorum-system/deployments?",
    Source.WARNINGS: "/events?fieldSelector=type",
}
"""A part of the path of each source that no other one has."""


def prepared(changed: dict[Source, Json] | None = None) -> list[Prepared]:
    """The answers of a kubectl for the quorum that is well, with some objects changed."""
    found = objects() | (changed or {})
    named = [gives(PATHS[source], value) for source, value in found.items()]
    nodes = [gives(f"/nodes/worker-{place}", node(f"worker-{place}")) for place in (1, 2, 3)]
    every = gives("/kafkaquorums?", listed(found[Source.QUORUM]))
    config = Prepared(on=("config", "view"), out="kafka")
    logs = Prepared(on=("logs",), out="[2026-01-01] INFO started\n[2026-01-01] INFO kafka/demo looks\n")
    return [*named, *nodes, every, config, logs]
