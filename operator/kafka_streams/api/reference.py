"""The reference page, made from the CRD's schema, so that `docs/reference-streams.md` never contradicts the models."""

from typing import Any

from kit.crd.page import columns, field_rules, resource_rules, rows, table, titled

Json = dict[str, Any]

_TEMPLATE = "spec.template.spec"
"""The fields below it are those of a pod."""
_INTRODUCTION = """\
# KafkaStreamsApplication

<!-- Generated from operator/kafka_streams/api by `make crds`: change the models, not this file. -->

`kafkaquorum.io/v1alpha1`, kind `KafkaStreamsApplication`, short name `ksa`: the pods of one `application.id`.
[Streams applications](streams.md) says how they are upgraded. The least that works, beside a pool named `events`:

```yaml
apiVersion: kafkaquorum.io/v1alpha1
kind: KafkaStreamsApplication
metadata:
  name: counts
spec:
  applicationID: counts
  bootstrap: {pools: [events]}
  release: 3.9.1
  image: registry.example/counts:7
  upgradeFrom: {variable: UPGRADE_FROM}
  template:
    spec:
      containers: [{name: app}]
```

What is refused is refused twice, with the same sentence: by the API server when the resource is applied, and by the
operator, which changes nothing until the spec is valid again. Marked **operator** below is what the operator alone can
see; the API server admits it, and the conditions name it.
"""


def page(definition: Json) -> str:
    """The whole page."""
    version: Json = definition["spec"]["versions"][0]
    schema: Json = version["schema"]["openAPIV3Schema"]
    spec: Json = schema["properties"]["spec"]
    parts = [
        _INTRODUCTION,
        titled("The resource", resource_rules(schema)),
        titled("Spec", table(rows(spec, "spec", closed=_TEMPLATE))),
        titled("What the fields must hold", field_rules(spec, closed=_TEMPLATE)),
        titled("Status", table(rows(schema["properties"]["status"], "status"))),
        titled("Columns of `kubectl get ksa`", columns(version["additionalPrinterColumns"])),
    ]
    return "\n".join(parts)
