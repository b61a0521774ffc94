"""A scrape as its samples, read by the library's own parsers."""

from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as text_families

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(text: str, *, openmetrics: bool = False) -> Samples:
    """Every sample by its name and labels; no two have the same (AssertionError)."""
    families = openmetrics_families(text) if openmetrics else text_families(text)  # type: ignore[no-untyped-call]
    read = (sample for each in families for sample in each.samples)
    rows = [(sample.name, frozenset(sample.labels.items()), sample.value) for sample in read]
    found = {(name, labels): value for name, labels, value in rows}
    assert len(found) == len(rows)
    return found


def of(found: Samples, name: str, **labels: str) -> list[float]:
    """The values of a metric with at least these labels."""
    return [value for (each, has), value in found.items() if each == name and set(labels.items()) <= has]
