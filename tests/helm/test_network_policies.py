"""The chart's network policies: who may talk to whom, on pods as the operator's builders make them.

What a policy means is asked of the evaluator that the test-bed's rules are compared with, too.
"""

import json
import re
from itertools import product
from typing import Any

import pytest
import yaml
from tests.brokers.resources.test_pods import formatter as broker_formatter
from tests.brokers.resources.test_pods import kafka as broker
from tests.helm.test_chart import refusal, rendered
from tests.resources.test_pods import formatter, kafka
from tests.resources.test_recovery import COPY
from tests.resources.test_recovery import pod as disk_worker

from harness.policies import Connection, Objects, allowed
from helm import render
from kafka_quorum.model.names import LABEL_QUORUM, LABEL_ROLE, OF_QUORUM, POOL_PORT
from kafka_quorum.resources import agent

Json = dict[str, Any]

HERE = "kafka"
"""The namespace of the quorums."""
ON = ("networkPolicy", "controllerNetworkPolicy", "brokerNetworkPolicy")
ALL = [word for name in ON for word in ("--set", f"{name}.enabled=true")] + ["--set", f"watchNamespaces={{{HERE}}}"]
EGRESS = [word for name in ON[:2] for word in ("--set", f"{name}.egress.enabled=true")]
COLLECTOR = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]
BROKERS = [{"podSelector": {"matchLabels": {"app": "broker"}}}]
CLIENTS = [{"podSelector": {"matchLabels": {"app": "client"}}}]
ADMITTED = [
    *("--set-json", f"networkPolicy.metricsFrom={json.dumps(COLLECTOR)}"),
    *("--set-json", f"controllerNetworkPolicy.metricsFrom={json.dumps(COLLECTOR)}"),
    *(
        "--set-json",
        f"controllerNetworkPolicy.from={json.dumps(BROKERS)}",
    ),
    *("--set-json", f"brokerNetworkPolicy.clientsFrom={json.dumps(CLIENTS)}"),
]
CONTROLLER, OTHER, JMX = 9093, 9193, agent.PORT
REPLICATION, CLIENT = POOL_PORT, 9092
HEALTH, METRICS = 8080, 8081
DNS, API = 53, 6443
PORTS = (CONTROLLER, OTHER, JMX, REPLICATION, CLIENT, HEALTH, METRICS, DNS, API)
OUTSIDE = "192.168.240.1"


def operators_pod() -> Json:
    """The operator's pod as the chart makes it, with a port for metrics."""
    template = next(item for item in rendered() if item["kind"] == "Deployment")["spec"]["template"]
    (container,) = template["spec"]["containers"]
    named = {port["name"] for port in container["ports"]}
    if "metrics" not in named:
        container["ports"].append({"name": "metrics", "containerPort": METRICS})
    return {"metadata": {**template["metadata"], "namespace": render.NAMESPACE}, "spec": template["spec"]}


def of_quorum(pod: Json, quorum: str) -> Json:
    """The same pod as another quorum has it."""
    made: Json = json.loads(json.dumps(pod))
    labels = made["metadata"]["labels"]
    labels.update({key: quorum for key in (LABEL_QUORUM, OF_QUORUM) if key in labels})
    return made


def plain(namespace: str, **labels: str) -> Json:
    """A pod that the operator did not make."""
    return {"metadata": {"namespace": namespace, "labels": labels}, "spec": {"containers": []}}


def people() -> dict[str, Json]:
    """Pods by name, each with an address of its own."""
    controller = kafka()
    controller["spec"]["containers"][0]["ports"].append({"name": "other", "containerPort": OTHER})
    found = {
        "operator": operators_pod(),
        "controller": of_quorum(controller, "demo"),
        "second controller": of_quorum(controller, "demo"),
        "controller of audit": of_quorum(controller, "audit"),
        "formatter": of_quorum(formatter(), "demo"),
        "disk worker": of_quorum(disk_worker(COPY), "demo"),
        "broker": of_quorum(broker(), "demo"),
        "second broker": of_quorum(broker(), "demo"),
        "broker of audit": of_quorum(broker(), "audit"),
        "broker's formatter": of_quorum(broker_formatter(), "demo"),
        "broker in no pool": plain(HERE, app="broker"),
        "client": plain(HERE, app="client"),
        "stranger": plain(HERE),
        "stranger elsewhere": plain("apps"),
        "collector": plain("monitoring"),
        "dns": plain("kube-system"),
    }
    for index, pod in enumerate(found.values()):
        if pod["metadata"]["labels"].keys() & {LABEL_QUORUM, OF_QUORUM}:
            pod["metadata"]["namespace"] = HERE
        pod["status"] = {"podIP": f"10.244.1.{index + 10}"}
    return found


PEOPLE = people()
SPACES = [
    {"metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}}}
    for name in (render.NAMESPACE, HERE, "apps", "monitoring", "kube-system")
]


def talks(*options: str) -> dict[str, set[tuple[str, int]]]:
    """By the name of each pod: from whom it is reached at which ports, with the chart's policies."""
    policies = [item for item in rendered(*options) if item["kind"] == "NetworkPolicy"]
    objects = Objects(policies, list(PEOPLE.values()), SPACES)
    ends = {name: pod["status"]["podIP"] for name, pod in PEOPLE.items()} | {"outside": OUTSIDE}
    return {
        target: {
            (source, port)
            for source, port in product(ends, PORTS)
            if source != target and allowed(objects, Connection(ends[source], ends[target], port))
        }
        for target in ends
    }


def at(ports: tuple[int, ...], *sources: str) -> set[tuple[str, int]]:
    """These sources at these ports."""
    return set(product(sources, ports))


LISTENERS = (CONTROLLER, OTHER)
MEMBERS = ("controller", "second controller", "broker", "second broker")
OF_AUDIT = ("controller of audit", "broker of audit")
DISKS = ("formatter", "disk worker", "broker's formatter")
ALL_BUT_DISKS = sorted({*PEOPLE, "outside"} - set(DISKS))


def test_without_values_there_is_no_policy() -> None:
    """By default the chart has no policy: an upgrade cuts nothing."""
    assert not [item for item in rendered() if item["kind"] == "NetworkPolicy"]


def test_what_may_talk_to_what() -> None:
    """With every policy of ingress each pod is reached by what needs it, and by the peers that the values name."""
    found = talks(*ALL, *ADMITTED)
    cluster = {*MEMBERS, *OF_AUDIT}
    assert found["controller"] == at(LISTENERS, *(cluster - {"controller"}), "operator", "broker in no pool") | at(
        (JMX,), "operator", "collector"
    )
    assert found["broker"] == at(PORTS, *(cluster - {"broker"}), "operator") | at((CLIENT,), "client")
    assert found["operator"] == at((HEALTH,), *(set(ALL_BUT_DISKS) - {"operator"})) | at((METRICS,), "collector")
    assert {name: found[name] for name in DISKS} == {name: set() for name in DISKS}
    assert found["stranger"] == at(PORTS, *(set(ALL_BUT_DISKS) - {"stranger"}))


def test_nobody_is_admitted_who_is_not_named() -> None:
    """Without peers in the values no collector, client or broker of others gets in."""
    found = talks(*ALL)
    for name in ("collector", "client", "broker in no pool", "stranger", "stranger elsewhere", "outside"):
        reached = {target: {port for source, port in found[target] if source == name} for target in found}
        assert (reached["controller"], reached["broker"], reached["operator"]) == (set(), set(), {HEALTH})


def test_quorums_that_are_kept_apart() -> None:
    """A quorum that is listed admits only its own controllers and brokers; the others do not admit those."""
    options = [f"{name}.quorums={{demo}}" for name in ON[1:]]
    found = talks(*ALL, *(word for option in options for word in ("--set", option)))
    for target in ("controller", "broker"):
        assert {source for source, _ in found[target]} == {*MEMBERS, "operator"} - {target}
    for target, other in zip(OF_AUDIT, reversed(OF_AUDIT), strict=True):
        assert {source for source, _ in found[target]} == {other, "operator"}


def test_egress_is_limited() -> None:
    """With egress, operator and controllers connect to DNS, to the cluster, and the operator to the API server."""
    found = talks(*ALL, *EGRESS)

    def connects(name: str) -> set[tuple[str, int]]:
        return {(target, port) for target in found for source, port in found[target] if source == name}

    api = at((API,), "stranger", "stranger elsewhere", "collector", "dns", "client", "broker in no pool", "outside")
    cluster = (*MEMBERS, *OF_AUDIT)
    servers = {(target, port) for target, port in product(cluster, PORTS) if ("operator", port) in found[target]}
    assert connects("operator") == api | at((DNS,), "dns") | servers
    assert {target for target, port in servers if port == CONTROLLER} == {*cluster}
    others = {"second controller", "controller of audit"}
    brokers = {"broker", "second broker", "broker of audit"}
    assert connects("controller") == at((DNS,), "dns") | at(LISTENERS, *others) | at(PORTS, *brokers)
    assert ("stranger", CLIENT) in connects("broker")


def test_further_rules_of_egress() -> None:
    """`rules` admit more; the API server and DNS may be narrowed."""
    rules = json.dumps([{"to": [{"podSelector": {"matchLabels": {"app": "broker"}}}], "ports": [{"port": CLIENT}]}])
    more = ("--set-json", f"controllerNetworkPolicy.egress.rules={rules}")
    found = talks(*ALL, *EGRESS, *more)
    assert {port for source, port in found["broker in no pool"] if source == "controller"} == {CLIENT}
    narrow = json.dumps([{"ipBlock": {"cidr": f"{OUTSIDE}/32"}}])
    found = talks(*ALL, *EGRESS, "--set-json", f"networkPolicy.egress.apiServerTo={narrow}")
    assert ("operator", API) in found["outside"]
    assert ("operator", API) not in found["stranger"]
    assert ("operator", API) not in talks(*ALL, *EGRESS, "--set", "networkPolicy.egress.apiServerPorts={443}")[
        "outside"
    ]


def test_no_value_opens_every_port() -> None:
    """Without ports a rule would be one for all of them: an empty list of ports opens nothing more."""
    assert talks(*ALL, *EGRESS, "--set-json", "networkPolicy.egress.apiServerPorts=[]") == talks(*ALL, *EGRESS)
    shut = talks(*ALL, *ADMITTED, "--set-json", "brokerNetworkPolicy.clientPorts=[]")
    assert not {port for source, port in shut["broker"] if source == "client"}


def test_every_role_of_a_pod_is_under_a_policy() -> None:
    """Each role that the operator gives to a pod is selected by a policy, so that no pod is left open."""
    policies = [item["spec"]["podSelector"] for item in rendered(*ALL) if item["kind"] == "NetworkPolicy"]
    text = json.dumps(policies)
    roles = {
        pod["metadata"]["labels"][LABEL_ROLE] for pod in PEOPLE.values() if LABEL_ROLE in pod["metadata"]["labels"]
    }
    assert roles == {"controller", "formatter", "disk-worker", "broker", "broker-formatter"}
    assert {role for role in roles if f'"{role}"' not in text} == set()


def test_policies_are_in_every_namespace() -> None:
    """They are made in `namespaces`, else in `watchNamespaces`; without either the chart does not render."""
    options = ("--set", "watchNamespaces={a,b}", "--set", "controllerNetworkPolicy.enabled=true")
    names = "kafka-quorum-operator-controllers", "kafka-quorum-operator-controller-disks"
    for spaces, more in (("ab", ()), ("c", ("--set", "controllerNetworkPolicy.namespaces={c}"))):
        found = [item["metadata"] for item in rendered(*options, *more) if item["kind"] == "NetworkPolicy"]
        assert {(row["name"], row["namespace"]) for row in found} == set(product(names, spaces))
    for name in ON[1:]:
        assert f"{name}.namespaces is missing" in refusal("--set", f"{name}.enabled=true")


@pytest.mark.parametrize(
    ("option", "field"),
    [
        ("controllerNetworkPolicy.from=[{}]", "from"),
        ('networkPolicy.metricsFrom=[{"pods":{}}]', "pods"),
        ("brokerNetworkPolicy.clientPorts=[9091]", "clientPorts"),
        ('brokerNetworkPolicy.clientPorts=["9092"]', "clientPorts"),
        ("networkPolicy.egress.rules=[{}]", "rules"),
        ('networkPolicy.egress.rules=[{"to":[]}]', "to"),
    ],
)
def test_values_that_would_admit_everybody_are_refused(option: str, field: str) -> None:
    """An empty peer, an empty rule and the port between brokers end the installation with the name of the field."""
    assert field in refusal("--set-json", option)


def test_the_page_shows_the_values_that_work() -> None:
    """The example in docs/security.md is valid, and has every policy."""
    text = (render.ROOT / "docs" / "security.md").read_text()
    (example,) = re.findall(r"```yaml\n(watchNamespaces:.*?)```", text, re.DOTALL)
    values = yaml.safe_load(example)
    options = [word for name, value in values.items() for word in ("--set-json", f"{name}={json.dumps(value)}")]
    kinds = [item["metadata"]["name"] for item in rendered(*options) if item["kind"] == "NetworkPolicy"]
    assert len(kinds) >= len(ON) + 2
