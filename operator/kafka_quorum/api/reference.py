"""The reference page, made from the CRD's schema, so that `docs/reference.md` never contradicts the models."""

from collections.abc import Iterator
from typing import Any

from kafka_quorum.api import jvm, podpolicy, properties, template
from kafka_quorum.api.features import feature_names, metadata_version_names
from kafka_quorum.model.pools import RENAMING
from kafka_quorum.settings import PodException
from kit.crd.page import codes, columns, field_rules, resource_rules, rows, table, titled

Json = dict[str, Any]

_TEMPLATE = "spec.controllers.template.spec"
"""The fields below it are described in words."""
_INTRODUCTION = """\
# KafkaQuorum

<!-- Generated from operator/kafka_quorum/api by `make crds`: change the models, not this file. -->

`kafkaquorum.io/v1alpha1`, kind `KafkaQuorum`, short name `kq`: one KRaft controller quorum of Apache Kafka. The least
that works:

```yaml
apiVersion: kafkaquorum.io/v1alpha1
kind: KafkaQuorum
metadata:
  name: events
spec:
  kafka:
    version: 4.4.0
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
        titled("Server properties that belong to the operator", _owned_properties()),
        titled("The pod template", _pod_template()),
        titled("Feature levels", _features()),
        titled("Status", table(rows(schema["properties"]["status"], "status"))),
        titled("Columns of `kubectl get kq`", columns(version["additionalPrinterColumns"])),
    ]
    return "\n".join(parts)


def _field_rules(spec: Json) -> Iterator[str]:
    yield from field_rules(spec, closed=_TEMPLATE)
    yield "- **operator** `spec.kafka.config`, `spec.controllers.config`: numbers above zero for"
    yield f"  {codes(sorted(properties.MILLISECONDS))}."
    yield "- **operator** `spec.clusterID`, `spec.bootstrap.mode`, `spec.controllers.storage.size`: compared with the"
    yield "  recorded identity and the volumes, also where the resource was deleted and created again."
    yield "- **operator** `spec.kafka.config`, `spec.controllers.config`: with an encrypted listener NAME, no"
    yield "  `listener.name.NAME.ssl.*` and `.sasl.*`; beside `spec.security.authorizer` no `authorizer.class.name`,"
    yield f"  `super.users`, {codes(sorted(RENAMING))}."
    yield "- **operator** `spec.security.authorizer.type`: not `Standard` for a listener with PLAINTEXT, also a kept"
    yield "  one."
    yield "- **operator** `spec.security`: no Secret that the operator itself writes; with cert-manager, certificates"
    yield "  of one hour or longer, renewed five minutes before their end or earlier."


def _owned_properties() -> Iterator[str]:
    names = [*sorted(properties.OWNED), *(f"{prefix}*" for prefix in properties.OWNED_PREFIXES)]
    yield "In `spec.kafka.config` and `spec.controllers.config` these are refused:"
    yield f"{codes(names)}, but not {codes(sorted(properties.NOT_OWNED))}."
    yield "Everything else is yours, the timeouts of `controller.quorum.*` included; values stay on one line."


def _pod_template() -> Iterator[str]:
    yield f"`spec.controllers.template.spec` may set {codes(template.ALLOWED_POD_FIELDS)}, within the limits below."
    yield "What it sets replaces the operator's default as a whole, except `securityContext`, whose fields are laid"
    yield "over the operator's. A field that is null is as if it were not there."
    yield ""
    yield f"Refused, since the operator sets them: {codes(sorted(template.OWNED_POD_FIELDS))}."
    yield "**operator** Any other field is refused too."
    yield ""
    yield "`containers` has at most one entry, named `kafka`, with `resources` (`requests`, `limits`) and `env`."
    yield "**operator** Of the variables `KAFKA_*`, which some images turn into server properties, only"
    yield f"{codes(template.ALLOWED_KAFKA_VARIABLES)} are admitted; {codes(('KQ_*', *template.OWNED_VARIABLES))}"
    yield "belong to the operator. In"
    yield f"{codes((*jvm.KAFKAS_VARIABLES, *jvm.JAVAS_VARIABLES))}, as in `jvm.options`, options are refused that"
    yield "set the heap, read further options from a file, or with which Java would end, or run something else."
    yield ""
    yield from _pod_policy()


def _pod_policy() -> Iterator[str]:
    yield "**operator** These fields may have only the values below, unless `podPolicy.allow` of the operator's chart"
    yield "lists the exception ([Trust](install.md#trust)):"
    yield ""
    yield "| field | may be | exception |"
    yield "|---|---|---|"
    yield f"| `serviceAccountName` | `default` | `{PodException.SERVICE_ACCOUNTS}` |"
    sources = codes(sorted(podpolicy.OWN_VALUES))
    yield f"| `containers[0].env[].valueFrom` | {sources} | `{PodException.SECRET_VARIABLES}` |"
    yield f"| `securityContext.runAsNonRoot`, `runAsUser` | not `false`, not 0 | `{PodException.ROOT}` |"
    profiles = codes(podpolicy.PROFILES)
    yield f"| `securityContext.seccompProfile`, `appArmorProfile` | {profiles} | `{PodException.UNCONFINED}` |"
    yield f"| `securityContext.sysctls`, `windowsOptions`, `seLinuxOptions` | nothing | `{PodException.UNCONFINED}` |"
    yield ""
    yield "**operator** `spec.controllers.template.metadata` may not set labels of Kubernetes or of other controllers,"
    yield "which could adopt the pod: all keys whose prefix is, or is a subdomain of,"
    yield f"{codes(podpolicy.OF_KUBERNETES)}; and {codes(sorted(podpolicy.OF_CONTROLLERS))}."
    yield "Nor annotations that begin with"
    yield f"{codes(podpolicy.UNCONFINING)}. There is no exception from these."


def _features() -> Iterator[str]:
    yield f"Features: {codes(feature_names())}."
    yield "Levels are numbers; `metadata.version` also takes Kafka's names, or a release for its newest level:"
    yield ""
    yield "| name | level |"
    yield "|---|---|"
    for name, level in metadata_version_names().items():
        yield f"| `{name}` | {level} |"
    yield ""
    yield "**operator** A level that no release up to the newest of this table has, or that `spec.kafka.version` does"
    yield "not support, is refused; for newer releases numbers pass, and Kafka decides. `kraft.version` is always 1."
