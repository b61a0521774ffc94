"""The tables of docs/metrics.md, from the catalogue. `python -m kafka_quorum.metrics.page` puts them into the page."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from kafka_quorum.metrics import catalogue
from kit.metrics.metric import Metric

PAGE: Final = Path(__file__).resolve().parents[3] / "docs" / "metrics.md"
BEGIN: Final = "<!-- generated from operator/kafka_quorum/metrics/catalogue.py by `make metrics-page` -->"
_LISTED_MAX: Final = 30
_NAMED_MAX: Final = 4
END: Final = "<!-- end of the generated part -->"


def tables() -> Iterator[str]:
    """The lines of the generated part."""
    for title, metrics in (
        ("Of a quorum", catalogue.QUORUM),
        ("Of pools and applications", catalogue.OTHERS),
        ("Of the operator", catalogue.OPERATOR),
    ):
        yield from ("", f"## {title}", "")
        yield from _table(metrics)
    yield from ("", "## Labels", "", "| label | of | values |", "|---|---|---|")
    yield from _labels()
    yield from ("", "## What values mean")
    for title, words in (
        ("`state` of `kafka_quorum_controllers`", catalogue.STATES),
        ("`what` of `kafka_quorum_held`", catalogue.HELD),
        ("`result` of `kafka_quorum_acts_total`", catalogue.RESULTS),
        ("`result` of `kafka_quorum_operator_passes_total`", catalogue.PASS_RESULTS),
        ("`result` of `kafka_quorum_operator_kafka_requests_total`", catalogue.REQUEST_RESULTS),
    ):
        yield from _words(title, words)
    acts = next(label for label in catalogue.ACTS.labels if label.name == "act").values
    yield from (
        "",
        "`act` of `kafka_quorum_acts_total` is one of:",
        "",
        ", ".join(f"`{each}`" for each in acts) + ".",
        "",
    )


def _table(metrics: Sequence[Metric]) -> Iterator[str]:
    yield "| metric | type | labels | meaning | no series |"
    yield "|---|---|---|---|---|"
    for metric in metrics:
        labels = ", ".join(f"`{label.name}`" for label in metric.labels)
        yield f"| `{metric.name}` | {metric.type} | {labels} | {metric.help} | {metric.absent} |"


def _labels() -> Iterator[str]:
    """Each label once for all metrics that have it with the same bound."""
    rows: dict[tuple[str, str], list[str]] = {}
    for metric in catalogue.ALL:
        for label in metric.labels:
            listed = len(label.values) <= _LISTED_MAX and label.name != "condition"  # operations.md has these
            few = ", ".join(f"`{value}`" for value in label.values) if listed else ""
            rows.setdefault((label.name, few or label.bound), []).append(f"`{metric.name}`")
    for (name, values), metrics in sorted(rows.items()):
        shown = ", ".join(metrics) if len(metrics) <= _NAMED_MAX else f"{len(metrics)} metrics"
        yield f"| `{name}` | {shown} | {values} |"


def _words(title: str, words: Mapping[str, str]) -> Iterator[str]:
    yield from ("", f"| {title} | meaning |", "|---|---|")
    yield from (f"| `{word}` | {meaning} |" for word, meaning in words.items())


def replaced(page: str) -> str:
    """The page with the present tables. Raises `ValueError` if it has lost one of the two marks."""
    before, _, rest = page.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"{PAGE} has lost one of its marks: {BEGIN} and {END}")
    return f"{before}{BEGIN}\n" + "\n".join(tables()) + f"\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(replaced(PAGE.read_text()))
    sys.stdout.write(f"{PAGE.name} has {len(catalogue.ALL)} metrics\n")
