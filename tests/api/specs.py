"""Specs that must be refused, and specs that must not be: for validation here and for a real API server.

A case is a patch of a valid resource. Both use the same table, because both must answer with the same sentence.
"""

import copy
from dataclasses import dataclass
from typing import Any

from kafka_quorum.api import rules, template, trust
from kafka_quorum.api.security import SECRET_NAME

Json = dict[str, Any]

CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
OTHER_CLUSTER_ID = "AAAAAAAAQACAAAAAAAAAAQ"[:-2] + "Bg"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A spec that is refused: for this field, with a sentence that contains `words`, a value or the sentence of a rule.

    `by_server` is whether the API server refuses it already; `place` is the field as the server names it, if that
    differs.
    """

    name: str
    patch: Json
    field: str
    words: str
    by_server: bool = True
    place: str = ""


def resource(patch: Json | None = None, *, name: str = "events", namespace: str = "kafka") -> Json:
    """A valid resource, with `patch` merged into its spec. It is paused, so that no operator acts on it."""
    base: Json = {
        "apiVersion": "kafkaquorum.io/v1alpha1",
        "kind": "KafkaQuorum",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"paused": True, "kafka": {"version": "4.4.0"}},
    }
    return merged(base, {"spec": patch or {}})


def merged(base: Json, patch: Json) -> Json:
    """A merge patch applied to a copy: objects are merged, everything else is replaced."""
    result = copy.deepcopy(base)
    for key, value in patch.items():
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = copy.deepcopy(value)
    return result


def _kafka(**fields: object) -> Json:
    return {"kafka": fields}


def _controllers(**fields: object) -> Json:
    return {"controllers": fields}


def _config(key: str, value: str = "1") -> Json:
    return {"kafka": {"config": {key: value}}}


def _levels(*levels: tuple[str, int | str], version: str = "4.4.0") -> Json:
    return {
        "kafka": {
            "version": version,
            "features": {"levels": [{"name": name, "level": level} for name, level in levels]},
        }
    }


def _pod(**fields: object) -> Json:
    return _controllers(template={"spec": fields})


def _nested(levels: int) -> Json:
    return {"a": _nested(levels - 1)} if levels else {}


def _kafka_container(**fields: object) -> Json:
    return _pod(containers=[{"name": "kafka", **fields}])


def _versions() -> list[Refused]:
    malformed = ("", "4.4", "four", "4.4.0-rc1", "v4.4.0", "4.4.0.0", "04.4.0", "4.4.0\n", "\u0664.4.0")
    field = "spec.kafka.version"
    return [
        *(
            Refused(name=f"version {text!r}", patch=_kafka(version=text), field=field, words=rules.VERSION_FORM.message)
            for text in malformed
        ),
        *(
            Refused(
                name=f"version {text}", patch=_kafka(version=text), field=field, words=rules.VERSION_TOO_OLD.message
            )
            for text in ("3.8.1", "3.0.0", "2.8.2", "0.10.2")
        ),
    ]


def _properties() -> list[Refused]:
    owned = (
        "process.roles",
        "node.id",
        "broker.id",
        "controller.quorum.voters",
        "controller.quorum.bootstrap.servers",
        "controller.quorum.auto.join.enable",
        "listeners",
        "advertised.listeners",
        "controller.listener.names",
        "listener.security.protocol.map",
        "inter.broker.listener.name",
        "log.dir",
        "log.dirs",
        "metadata.log.dir",
        "zookeeper.connect",
        "unstable.api.versions.enable",
    )
    both = [
        case
        for key in owned
        for case in (
            Refused(
                name=f"kafka.config {key}",
                patch=_config(key),
                field=f"spec.kafka.config.{key}",
                words="",
                place="spec.kafka.config",
            ),
            Refused(
                name=f"controllers.config {key}",
                patch=_controllers(config={key: "1"}),
                field=f"spec.controllers.config.{key}",
                words="",
                place="spec.controllers.config",
            ),
        )
    ]
    breaks = [
        Refused(
            name=f"value {value!r}",
            patch=_config("metric.reporters", value),
            field="spec.kafka.config.metric.reporters",
            words=rules.CONFIG_LINES.message,
            place="spec.kafka.config",
        )
        for value in ("a\nnode.id=7", "a\rnode.id=7", "a\n")
    ]
    keys = [
        Refused(
            name=f"key {key!r}",
            patch=_config(key),
            field="spec.kafka.config",
            words=rules.CONFIG_KEYS.message,
        )
        for key in ("", "a b", "a=b\nnode.id", "a:b", "#a", "node\\u002eid")
    ]
    timeout = Refused(
        name="a timeout that is no number",
        patch=_config("controller.quorum.fetch.timeout.ms", "2s"),
        field="spec.kafka.config.controller.quorum.fetch.timeout.ms",
        words="2000",
        by_server=False,
    )
    control = Refused(
        name="a form feed in a value",
        patch=_config("metric.reporters", "a\fb"),
        field="spec.kafka.config.metric.reporters",
        words=rules.CONFIG_LINES.message,
        by_server=False,
    )
    return [*both, *breaks, *keys, timeout, control]


def _identity() -> list[Refused]:
    malformed = ("events", "x" * 22, CLUSTER_ID + "=", CLUSTER_ID[:-1])
    return [
        *(
            Refused(
                name=f"clusterID {text}",
                patch={"clusterID": text},
                field="spec.clusterID",
                words=rules.CLUSTER_ID_FORM.message,
            )
            for text in malformed
        ),
        Refused(
            name="a reserved cluster id",
            patch={"clusterID": "AAAAAAAAAAAAAAAAAAAAAQ"},
            field="spec.clusterID",
            words=rules.CLUSTER_ID_FORM.message,
            by_server=False,
        ),
        Refused(
            name="bootstrap.mode Adopt without a cluster id",
            patch={"bootstrap": {"mode": "Adopt"}, "controllers": {"replicas": 3, "nodeIDs": [1, 2, 3]}},
            field="spec.clusterID",
            words="Adopt",
            by_server=False,
        ),
        Refused(
            name="bootstrap.mode Adopt without node ids",
            patch={"bootstrap": {"mode": "Adopt"}, "clusterID": CLUSTER_ID},
            field="spec.controllers.nodeIDs",
            words="Adopt",
            by_server=False,
        ),
    ]


def _members() -> list[Refused]:
    replicas = [
        Refused(
            name=f"replicas {count}",
            patch=_controllers(replicas=count),
            field="spec.controllers.replicas",
            words=rules.REPLICAS_RANGE.message,
        )
        for count in (0, -1, 16)
    ]
    ids: tuple[tuple[list[int], int, str], ...] = (
        ([3000, 3001], 3, rules.NODE_IDS_COUNT.message),
        ([3000, 3001, 3002, 3003], 3, rules.NODE_IDS_COUNT.message),
        ([3000, 3001, 3000], 3, rules.NODE_IDS_UNIQUE.message),
        ([-1], 1, rules.NODE_IDS_RANGE.message),
        ([2**31], 1, rules.NODE_IDS_RANGE.message),
    )
    return [
        *replicas,
        *(
            Refused(
                name=f"nodeIDs {values} of {count}",
                patch=_controllers(nodeIDs=values, replicas=count),
                field="spec.controllers.nodeIDs",
                words=words,
            )
            for values, count, words in ids
        ),
    ]


def _security() -> list[Refused]:
    """Certificates that are renewed too late, and an authorizer that cannot work."""
    plain = {"name": "CONTROLLER", "port": 9093, "protocol": "PLAINTEXT"}
    standard = {"security": {"authorizer": {"type": "Standard"}}}
    life = {"security": {"controllers": {"leafSeconds": 600, "renewBeforeSeconds": 600}}}
    return [
        Refused(
            name="renewed at the end",
            patch=life,
            field="spec.security.controllers",
            words=trust.RENEWED_IN_TIME.message,
        ),
        Refused(
            name="an end after that of the authority",
            patch={"security": {"controllers": {"leafSeconds": 601, "caSeconds": 600}}},
            field="spec.security.controllers",
            words=trust.RENEWED_IN_TIME.message,
        ),
        Refused(
            name="no name of a Secret for users of the brokers",
            patch={"security": {"brokers": {"scramUsersSecretName": "No Secret"}}},
            field="spec.security.brokers.scramUsersSecretName",
            words=SECRET_NAME.message,
        ),
        Refused(
            name="two super users in one",
            patch={"security": {"authorizer": {"superUsers": ["User:a;User:b"]}}},
            field="spec.security.authorizer.superUsers",
            words=trust.PRINCIPALS.message,
        ),
        Refused(
            name="an authorizer in two places",
            patch={**standard, "kafka": {"version": "4.4.0", "config": {"super.users": "User:a"}}},
            field="spec.kafka.config.super.users",
            words="spec.security.authorizer sets it",
            by_server=False,
        ),
        *(
            Refused(
                name=f"other names beside an authorizer, {key}",
                patch={**standard, **_controllers(config={key: "DEFAULT"})},
                field=f"spec.controllers.config.{key}",
                words="other names than those in super.users",
                by_server=False,
            )
            for key in ("ssl.principal.mapping.rules", "principal.builder.class")
        ),
        *(
            Refused(
                name=f"a listener with another trust, {key}",
                patch=_controllers(config={f"listener.name.controller.{key}": "none"}),
                field=f"spec.controllers.config.listener.name.controller.{key}",
                words="the operator alone sets what this listener trusts",
                by_server=False,
            )
            for key in ("ssl.client.auth", "ssl.truststore.location", "sasl.enabled.mechanisms")
        ),
        *(
            Refused(
                name=f"a Secret of the operator's own, {name}",
                patch={"security": {role: {field: name}}},
                field=f"spec.security.{role}.{field}",
                words="choose another one",
                by_server=False,
            )
            for role, field in (("controllers", "usersSecretName"), ("brokers", "scramUsersSecretName"))
            for name in ("events-users", "events-scram", "events-brokers-tls.payments")
        ),
        Refused(
            name="an authorizer without users",
            patch={**standard, **_controllers(listeners=[plain])},
            field="spec.security.authorizer.type",
            words="every client is anonymous",
            by_server=False,
        ),
    ]


def _issuers() -> list[Refused]:
    """An issuer without what it needs, with what belongs to another kind, or with the operator's own Secrets."""
    field = "spec.security.controllers.issuer"
    named = {f"{one}SecretName": f"given-{one}" for one in ("controllers", "operator", "brokers", "trust")}
    ref = {"issuerRef": {"name": "an-issuer"}}
    cases: list[tuple[str, Json, str]] = [
        ("Secret without trust", {"type": "Secret", **named, "trustSecretName": ""}, trust.SECRETS_NAMED.message),
        ("Secret without leafs", {"type": "Secret", "trustSecretName": "a"}, trust.SECRETS_NAMED.message),
        ("Secret with an issuer", {"type": "Secret", **named, **ref}, trust.SECRETS_NAMED.message),
        ("cert-manager without trust", {"type": "CertManager", **ref}, trust.ISSUER_NAMED.message),
        ("cert-manager without issuer", {"type": "CertManager", "trustSecretName": "a"}, trust.ISSUER_NAMED.message),
        ("cert-manager with leafs", {"type": "CertManager", **ref, **named}, trust.ISSUER_NAMED.message),
        ("own authority with trust", {"trustSecretName": "a"}, trust.NOTHING_NAMED.message),
        ("own authority with an issuer", ref, trust.NOTHING_NAMED.message),
    ]
    found = [
        Refused(name=name, patch={"security": {"controllers": {"issuer": patch}}}, field=field, words=words)
        for name, patch, words in cases
    ]
    others = {"issuer": {"type": "Secret", **named}}
    own = {"issuer": {"type": "Secret", **named, "operatorSecretName": "events-operator-tls"}}
    return [
        *found,
        Refused(
            name="a new authority of another issuer",
            patch={"security": {"controllers": {**others, "renewCA": "again"}}},
            field="spec.security.controllers",
            words=trust.OWN_AUTHORITY.message,
        ),
        *(
            Refused(
                name=f"shorter than cert-manager issues, {life}",
                patch={
                    "security": {
                        "controllers": {"issuer": {"type": "CertManager", **ref, "trustSecretName": "a"}, **life}
                    }
                },
                field="spec.security.controllers.leafSeconds",
                words="for an hour or longer",
                by_server=False,
            )
            for life in ({"leafSeconds": 3599}, {"renewBeforeSeconds": 299})
        ),
        Refused(
            name="the operator's own Secret as a source",
            patch={"security": {"controllers": own}},
            field=f"{field}.operatorSecretName",
            words="the operator itself writes this Secret",
            by_server=False,
        ),
    ]


def _listeners() -> list[Refused]:
    field = "spec.controllers.listeners"
    one = {"name": "CONTROLLER", "port": 9093, "protocol": "PLAINTEXT"}
    return [
        Refused(name="no listener", patch=_controllers(listeners=[]), field=field, words=rules.LISTENERS_ONE.message),
        Refused(
            name="two listeners",
            patch=_controllers(listeners=[one, {**one, "name": "OTHER", "port": 9094}]),
            field=field,
            words=rules.LISTENERS_ONE.message,
        ),
        Refused(
            name="passwords in clear",
            patch=_controllers(listeners=[{**one, "protocol": "SASL_PLAINTEXT"}]),
            field=f"{field}[0].protocol",
            words="SASL_SSL",
        ),
        Refused(
            name="the port of the metrics",
            patch={**_controllers(listeners=[{**one, "port": 9404}]), "metrics": {"jmx": True}},
            field=field,
            words=rules.JMX_PORT_TAKEN.message,
        ),
        *(
            Refused(
                name=f"port {port}",
                patch=_controllers(listeners=[{**one, "port": port}]),
                field=f"{field}[0].port",
                words=rules.LISTENER_PORT.message,
            )
            for port in (0, -1, 80, 65536)
        ),
        *(
            Refused(
                name=f"listener {text!r}",
                patch=_controllers(listeners=[{**one, "name": text}]),
                field=f"{field}[0].name",
                words=rules.LISTENER_NAME.message,
            )
            for text in ("controller", "A,B", "")
        ),
    ]


def _resources_of_pods() -> list[Refused]:
    sizes = ("", "ten", "10 Gi", "10GiB", "0", "-1Gi", "1.2.3Gi")
    heaps = ("", "512", "512MB", "half", "0", "1Mi", "0.5Gi", "-512Mi", "5e8")
    options = (
        ("-Xmx1g", rules.OPTION_HEAP.message),
        ("-Xms1g", rules.OPTION_HEAP.message),
        ("UseZGC", rules.OPTION_FORM.message),
        ("-XX:+UseZGC -Xmx1g", rules.OPTION_FORM.message),
        ("-Da=b\nc", rules.OPTION_FORM.message),
    )
    return [
        *(
            Refused(
                name=f"size {text!r}",
                patch=_controllers(storage={"size": text}),
                field="spec.controllers.storage.size",
                words=rules.SIZE_FORM.message,
            )
            for text in sizes
        ),
        *(
            Refused(
                name=f"size {text!r}",
                patch=_controllers(storage={"size": text}),
                field="spec.controllers.storage.size",
                words=rules.SIZE_WHOLE.message,
            )
            for text in ("1.1Gi", "500m", "1181116006400m", "1000Ei", "8Ei", "1e99")
        ),
        *(
            Refused(
                name=f"heap {text!r}",
                patch=_controllers(jvm={"heap": text}),
                field="spec.controllers.jvm.heap",
                words=rules.HEAP_FORM.message,
            )
            for text in heaps
        ),
        *(
            Refused(
                name=f"option {text!r}",
                patch=_controllers(jvm={"options": [text]}),
                field="spec.controllers.jvm.options",
                words=words,
            )
            for text, words in options
        ),
        Refused(
            name="an image with a space",
            patch=_kafka(image="apache/kafka: 4.4.0"),
            field="spec.kafka.image",
            words=rules.IMAGE_FORM.message,
        ),
    ]


def _template_metadata() -> list[Refused]:
    field = "spec.controllers.template.metadata"
    return [
        *(
            Refused(
                name=f"{part} {key}",
                patch=_controllers(template={"metadata": {part: {key: "x"}}}),
                field=f"{field}.{part}",
                words=rules.TEMPLATE_LABELS.message,
            )
            for part in ("labels", "annotations")
            for key in ("kafkaquorum.io/node-id", "app.kubernetes.io/name")
        ),
        Refused(
            name="no label",
            patch=_controllers(template={"metadata": {"labels": {"team": "one two"}}}),
            field=f"{field}.labels",
            words="one two",
            by_server=False,
        ),
        Refused(
            name="no annotation",
            patch=_controllers(template={"metadata": {"annotations": {"a/b/c": ""}}}),
            field=f"{field}.annotations",
            words="a/b/c",
            by_server=False,
        ),
    ]


def _impossible() -> list[Refused]:
    """Templates that the API server refuses, or accepts although no controller could run with them."""
    spec, jvm = "spec.controllers.template.spec", "spec.controllers.jvm"
    rows: list[tuple[str, Json, str, str]] = [
        ("nodeSelector.disk", _pod(nodeSelector={"disk": 1}), f"{spec}.nodeSelector.disk", ""),
        ("securityContext text", _pod(securityContext="root"), f"{spec}.securityContext", ""),
        ("securityContext list", _pod(securityContext=[]), f"{spec}.securityContext", ""),
        ("runAsUser text", _pod(securityContext={"runAsUser": "1"}), f"{spec}.securityContext.runAsUser", ""),
        ("tolerations all", _pod(tolerations="all"), f"{spec}.tolerations", ""),
        ("toleration", _pod(tolerations=["all"]), f"{spec}.tolerations[0]", ""),
        ("operator", _pod(tolerations=[{"operator": "Any"}]), f"{spec}.tolerations[0].operator", ""),
        ("affinity", _pod(affinity="none"), f"{spec}.affinity", ""),
        (
            "affinity term",
            _pod(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}]}}),
            f"{spec}.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey",
            "",
        ),
        ("priority class", _pod(priorityClassName="High Prio"), f"{spec}.priorityClassName", ""),
        ("runtime class", _pod(runtimeClassName=7), f"{spec}.runtimeClassName", ""),
        ("pull secrets", _pod(imagePullSecrets=["a"]), f"{spec}.imagePullSecrets[0]", ""),
        ("host alias", _pod(hostAliases=[{"hostnames": []}]), f"{spec}.hostAliases[0].ip", ""),
        ("dns", _pod(dnsConfig={"nameservers": "1.1.1.1"}), f"{spec}.dnsConfig.nameservers", ""),
        ("spread", _pod(topologySpreadConstraints={}), f"{spec}.topologySpreadConstraints", ""),
        (
            "storage class",
            _controllers(storage={"storageClassName": "A B"}),
            "spec.controllers.storage.storageClassName",
            "",
        ),
        ("a tiny size", _controllers(storage={"size": "1Ki"}), "spec.controllers.storage.size", rules.SMALLEST_SIZE),
        (
            "a heap above the limit",
            _kafka_container(resources={"limits": {"memory": "512Mi"}}),
            f"{jvm}.heap",
            "512Mi",
        ),
        (
            "a request above the limit",
            _kafka_container(resources={"requests": {"memory": "3Gi"}, "limits": {"memory": "2Gi"}}),
            f"{spec}.containers[0].resources.requests.memory",
            "2Gi",
        ),
        (
            "env number",
            _kafka_container(env=[{"name": "A", "value": 1}]),
            f"{spec}.containers[0].env[0].value",
            "",
        ),
        ("env name", _kafka_container(env=[{"name": "A B"}]), f"{spec}.containers[0].env[0].name", ""),
        (
            "env options",
            _kafka_container(env=[{"name": "KAFKA_JVM_PERFORMANCE_OPTS", "value": "-server -jar"}]),
            f"{spec}.containers[0].env[0].value",
            "",
        ),
        *(
            (
                f"{name}={text}",
                _kafka_container(env=[{"name": name, "value": text}]),
                f"{spec}.containers[0].env[0].value",
                words,
            )
            for name, text, words in (
                ("KAFKA_JMX_OPTS", "-version", "-version"),
                ("KAFKA_JMX_OPTS", "-Da=b -mx9g", "-mx9g"),
                ("KAFKA_JMX_OPTS", "kafka.Other", "kafka.Other"),
                ("KAFKA_JMX_OPTS", "@/tmp/options", "@/tmp/options"),
                ("KAFKA_JMX_OPTS", "--add-opens", "--add-opens"),
                ("JAVA_TOOL_OPTIONS", "'-Xmx9g'", "jvm.heap"),
                ("JAVA_TOOL_OPTIONS", '-X"mx"9g', "jvm.heap"),
                ("JAVA_TOOL_OPTIONS", "-Da='b", ""),
                ("JDK_JAVA_OPTIONS", "-XX:Flags=/tmp/x", "-XX:Flags=/tmp/x"),
                ("_JAVA_OPTIONS", "-Da=b\n-Xms9g", "jvm.heap"),
                ("OPENJ9_JAVA_OPTIONS", "-Xmx9g", "jvm.heap"),
            )
        ),
        (
            "options by way of another variable",
            _kafka_container(env=[{"name": "A", "value": "mx9g"}, {"name": "_JAVA_OPTIONS", "value": "-X$(A)"}]),
            f"{spec}.containers[0].env[1].value",
            "jvm.heap",
        ),
        (
            "options from elsewhere",
            _kafka_container(env=[{"name": "KAFKA_JMX_OPTS", "valueFrom": {"fieldRef": {"fieldPath": "spec.x"}}}]),
            f"{spec}.containers[0].env[0].valueFrom",
            "",
        ),
        (
            "a variable that grows",
            _kafka_container(
                env=[
                    {"name": "A0", "value": "x" * 100},
                    *({"name": f"A{n}", "value": f"$(A{n - 1})" * 10} for n in range(1, 40)),
                ]
            ),
            f"{spec}.containers[0].env[4].value",
            "",
        ),
        ("levels", _pod(affinity=_nested(40)), spec, ""),
        *(
            (f"option {text}", _controllers(jvm={"options": [text]}), f"{jvm}.options[0]", words)
            for text, words in (
                ("-mx9g", "jvm.heap"),
                ("-ms9g", "jvm.heap"),
                ("-Xlog:help", "-Xlog:help"),
                ("-Xinternalversion", "-Xinternalversion"),
                ("-XX:+PrintFlagsInitial", "-XX:+PrintFlagsInitial"),
                ("-Xshare:dump", "-Xshare:dump"),
                ("--add-modules", "--add-modules"),
                ("-XX:MaxHeapSize=1g", "jvm.heap"),
                ("-XX:VMOptionsFile=/tmp/x", "-XX:VMOptionsFile=/tmp/x"),
                ("-version", "-version"),
                ("-jar", "-jar"),
                ("--module=x/y", "--module=x/y"),
            )
        ),
    ]
    return [
        Refused(name=name, patch=patch, field=field, words=words, by_server=False) for name, patch, field, words in rows
    ]


def _forbidden() -> list[Refused]:
    """Rights of the operator that a creator of KafkaQuorums would get without having them."""
    spec, meta = "spec.controllers.template.spec", "spec.controllers.template.metadata"
    secret = {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
    config = {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "s", "key": "k"}}}
    security = f"{spec}.securityContext"
    env = f"{spec}.containers[0].env[0].valueFrom"
    rows: list[tuple[str, Json, str, str]] = [
        ("account", _pod(serviceAccountName="admin"), f"{spec}.serviceAccountName", "podPolicy.allow"),
        ("root", _pod(securityContext={"runAsNonRoot": False}), f"{security}.runAsNonRoot", "root"),
        ("user 0", _pod(securityContext={"runAsUser": 0}), f"{security}.runAsUser", "root"),
        (
            "unconfined",
            _pod(securityContext={"seccompProfile": {"type": "Unconfined"}}),
            f"{security}.seccompProfile.type",
            "RuntimeDefault",
        ),
        (
            "no profile",
            _pod(securityContext={"seccompProfile": {}}),
            f"{security}.seccompProfile.type",
            "RuntimeDefault",
        ),
        (
            "an AppArmor profile of no kind",
            _pod(securityContext={"appArmorProfile": {}}),
            f"{security}.appArmorProfile.type",
            "RuntimeDefault",
        ),
        (
            "a type that is a list",
            _pod(securityContext={"appArmorProfile": {"type": []}}),
            f"{security}.appArmorProfile.type",
            "RuntimeDefault",
        ),
        *(
            (
                f"SELinux {name}",
                _pod(securityContext={"seLinuxOptions": {name: text}}),
                f"{security}.seLinuxOptions",
                "unconfined",
            )
            for name, text in (("type", "spc_t"), ("level", "s0:c1,c2"), ("user", "system_u"), ("role", "system_r"))
        ),
        *(
            (f"a container's {name}", _pod(securityContext={name: value}), f"{security}.{name}", "")
            for name, value in (
                ("privileged", True),
                ("allowPrivilegeEscalation", True),
                ("capabilities", {"add": ["SYS_ADMIN"]}),
                ("procMount", "Unmasked"),
                ("readOnlyRootFilesystem", False),
            )
        ),
        ("sysctls", _pod(securityContext={"sysctls": [{"name": "a", "value": "1"}]}), f"{security}.sysctls", ""),
        ("a secret", _kafka_container(env=[secret]), f"{env}.secretKeyRef", "secretVariables"),
        ("a config map", _kafka_container(env=[config]), f"{env}.configMapKeyRef", "secretVariables"),
        ("valueFrom", _kafka_container(env=[{"name": "A", "valueFrom": "x"}]), env, ""),
        *(
            (key, _controllers(template={"metadata": {"labels": {key: "x"}}}), f"{meta}.labels", "")
            for key in ("pod-template-hash", "job-name", "batch.kubernetes.io/job-name", "apps.kubernetes.io/pod-index")
        ),
        (
            "an annotation that unconfines",
            _controllers(template={"metadata": {"annotations": {f"{_APPARMOR}kafka": "unconfined"}}}),
            f"{meta}.annotations",
            "",
        ),
    ]
    return [
        Refused(name=name, patch=patch, field=field, words=words, by_server=False) for name, patch, field, words in rows
    ]


_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"


def _templates() -> list[Refused]:
    field = "spec.controllers.template.spec"
    owned: dict[str, object] = {"integer": 1, "boolean": True, "string": "x", "array": []}
    return [
        *(
            Refused(
                name=f"pod field {key}",
                patch=_pod(**{key: owned[kind]}),
                field=f"{field}.{key}",
                words=template.OWNED_MESSAGE,
            )
            for key, kind in template.OWNED_POD_FIELDS.items()
        ),
        Refused(
            name="a pod field of nobody",
            patch=_pod(nodeSelectr={"a": "b"}),
            field=f"{field}.nodeSelectr",
            words="",
            by_server=False,
        ),
        Refused(
            name="a sidecar",
            patch=_pod(containers=[{"name": "kafka"}, {"name": "sidecar"}]),
            field=f"{field}.containers",
            words=rules.TEMPLATE_CONTAINERS.message,
        ),
        Refused(
            name="a mount of the kafka container",
            patch=_kafka_container(volumeMounts=[]),
            field=f"{field}.containers[0].volumeMounts",
            words="",
            by_server=False,
        ),
        Refused(
            name="a quantity of memory",
            patch=_kafka_container(resources={"limits": {"memory": "1 GB"}}),
            field=f"{field}.containers[0].resources.limits.memory",
            words="1 GB",
            by_server=False,
        ),
        Refused(
            name="a device claim",
            patch=_kafka_container(resources={"claims": []}),
            field=f"{field}.containers[0].resources",
            words="",
            by_server=False,
        ),
        *(
            Refused(
                name=f"variable {key}",
                patch=_kafka_container(env=[{"name": key, "value": "1"}]),
                field=f"{field}.containers[0].env[0].name",
                words=key,
                by_server=False,
            )
            for key in ("KAFKA_NODE_ID", "KAFKA_HEAP_OPTS", "KQ_NODE_ID", "LOG_DIR")
        ),
        Refused(
            name="no grace",
            patch=_pod(terminationGracePeriodSeconds=0),
            field=f"{field}.terminationGracePeriodSeconds",
            words="",
            by_server=False,
        ),
    ]


def _features() -> list[Refused]:
    field = "spec.kafka.features.levels"

    def level(name: str, words: str, patch: Json) -> Refused:
        return Refused(name=name, patch=patch, field=f"{field}[0]", words=words, by_server=False)

    return [
        level("a name of no feature", "quorum.version", _levels(("quorum.version", 1))),
        level("a metadata.version of no release", "4.4-IV9", _levels(("metadata.version", "4.4-IV9"))),
        level("a level of the future", "34", _levels(("metadata.version", 34))),
        level("a level before KRaft", "6", _levels(("metadata.version", 6))),
        level("4.3 cannot do 4.4", "spec.kafka.version", _levels(("metadata.version", "4.4"), version="4.3.1")),
        level("a static quorum", "kraft.version", _levels(("kraft.version", 0))),
        level("a name for a number", "TV_2", _levels(("transaction.version", "TV_2"))),
        level("a level that no release has", "9", _levels(("group.version", 9))),
        level("a negative level", "-1", _levels(("group.version", -1))),
        Refused(
            name="a dependency",
            patch=_levels(("metadata.version", "4.0-IV0"), ("eligible.leader.replicas.version", 1)),
            field=field,
            words="metadata.version",
            by_server=False,
        ),
    ]


REFUSED: tuple[Refused, ...] = (
    *_versions(),
    *_properties(),
    *_identity(),
    *_members(),
    *_listeners(),
    *_security(),
    *_issuers(),
    *_resources_of_pods(),
    *_template_metadata(),
    *_templates(),
    *_impossible(),
    *_forbidden(),
    *_features(),
)

NAMES: tuple[tuple[str, str], ...] = (
    ("a" * (rules.NAME_LIMIT + 1), rules.NAME_TOO_LONG.message),
    ("a" * 63, rules.NAME_TOO_LONG.message),
    ("events.kafka", rules.NAME_NO_LABEL.message),
    ("1events", rules.NAME_NO_LABEL.message),
)
"""Names of resources from which no host names can be made."""

ACCEPTED: dict[str, Json] = {
    "the least": {},
    "metrics": {"metrics": {"jmx": True}},
    "the port of metrics that are off": _controllers(listeners=[{"name": "CONTROLLER", "port": 9404}]),
    "Kafka 3.9": _kafka(version="3.9.0"),
    "a release of the future": _kafka(version="5.12.3"),
    "an image": _kafka(image="example.org:5000/kafka@sha256:" + "0" * 64),
    "an even number": _controllers(replicas=4),
    "one": _controllers(replicas=1, allowInterruption=False),
    "the most": _controllers(replicas=rules.REPLICA_LIMIT),
    "ids": _controllers(nodeIDs=[0, 7, 2**31 - 1]),
    "standalone": {"bootstrap": {"mode": "Standalone"}},
    "static": {"bootstrap": {"mode": "Static"}},
    "safe downgrade": {"kafka": {"version": "4.4.0", "features": {"downgrade": "Safe"}}},
    "a cluster id": {"clusterID": CLUSTER_ID},
    "a cluster id of ZooKeeper that begins with a dash": {"clusterID": f"-{CLUSTER_ID[1:]}"},
    "a timeout of the quorum": _config("controller.quorum.fetch.timeout.ms", "4000"),
    "ACLs of znodes": _config("zookeeper.set.acl", "true"),
    "properties": _controllers(config={"metadata.log.max.record.bytes.between.snapshots": "1", "a-b_c.D": " x\\ = é "}),
    "levels": _levels(("metadata.version", "4.4-IV1"), ("transaction.version", 2), ("group.version", "1")),
    "levels of the future": _levels(("metadata.version", 99), ("new.version", 3), version="9.0.0"),
    "another listener": _controllers(listeners=[{"name": "QUORUM_1", "port": 19093}]),
    "storage": _controllers(
        storage={"size": "1.5Ti", "storageClassName": "fast", "retentionPolicy": {"whenDeleted": "Delete"}}
    ),
    "a process": _controllers(jvm={"heap": "2G", "options": ["-XX:+UseZGC", "-Dx=y"]}),
    "a template": _controllers(
        template={
            "metadata": {"labels": {"team": "events"}, "annotations": {"example.org/Owner": "any text\nat all"}},
            "spec": {
                "nodeSelector": {"disk": "fast"},
                "tolerations": [{"operator": "Exists"}],
                "priorityClassName": "high",
                "terminationGracePeriodSeconds": 120,
                "containers": [
                    {
                        "name": "kafka",
                        "resources": {"requests": {"cpu": 1, "memory": "1Gi"}, "limits": {"memory": "1.5Gi"}},
                        "env": [
                            {"name": "TZ", "value": "UTC"},
                            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                            {
                                "name": "KAFKA_JMX_OPTS",
                                "value": "-Dhost=$(IP) --add-opens java.base/java.nio=ALL-UNNAMED",
                            },
                            {"name": "JAVA_TOOL_OPTIONS", "value": "'-Da=b c' -XX:+UseZGC"},
                        ],
                    }
                ],
            },
        }
    ),
    "nulls": _pod(
        affinity={"nodeAffinity": None},
        containers=[{"name": "kafka", "resources": {"limits": None}, "env": None}],
        securityContext={"seccompProfile": None, "runAsUser": None, "runAsNonRoot": None},
    ),
    "replacement": _controllers(replacement={"lostDisk": "Manual", "lostNodeAfterSeconds": 60}),
}
"""Valid specs, by what they show."""
