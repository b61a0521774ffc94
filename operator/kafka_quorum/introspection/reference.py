"""The reference page of both kinds, made from the CRDs' schemas, so that it never contradicts the models."""

from collections.abc import Iterator, Sequence
from typing import Any

from kit.crd.page import columns, rows, table, titled

Json = dict[str, Any]

_INTRODUCTION = """\
# QuorumLook and PlanQuestion

<!-- Generated from operator/kafka_quorum/introspection by `make crds`: change the models, not this file. -->

`introspect.kafkaquorum.io/v1alpha1`: what the operator saw last, what it would do next and why, and what it would do
with an edited manifest. [The read-only look](introspection.md) says how they are used. A question about an edited spec:

```yaml
apiVersion: introspect.kafkaquorum.io/v1alpha1
kind: PlanQuestion
metadata:
  generateName: events-
spec:
  quorum: events
  manifest:
    spec:
      kafka: {version: 4.4.0}
      controllers: {replicas: 5}
```
"""


def page(definitions: Sequence[Json]) -> str:
    """The whole page."""
    return "\n".join([_INTRODUCTION, *(part for one in definitions for part in _parts(one))])


def _parts(definition: Json) -> Iterator[str]:
    version: Json = definition["spec"]["versions"][0]
    schema: Json = version["schema"]["openAPIV3Schema"]
    kind, plural = definition["spec"]["names"]["kind"], definition["spec"]["names"]["plural"]
    yield titled(kind, [f"{schema['description']}"])
    for name in ("spec", "status"):
        yield titled(f"{kind}: {name}", table(rows(schema["properties"][name], name)))
    yield titled(f"Columns of `kubectl get {plural}`", columns(version["additionalPrinterColumns"]))
