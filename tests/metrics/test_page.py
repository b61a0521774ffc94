"""docs/metrics.md has the catalogue's tables, and what it says of the chart and of scraping is so."""

import pytest

from kafka_quorum.metrics import catalogue, page


def test_the_page_has_every_metric() -> None:
    """The generated part is that of the present catalogue (`make metrics-page`), with every metric and its meaning."""
    text = page.PAGE.read_text()
    assert text == page.replaced(text)
    for metric in catalogue.ALL:
        rows = [line for line in text.splitlines() if line.startswith(f"| `{metric.name}` |")]
        assert len(rows) == 1
        assert f"| {metric.type} |" in rows[0]
        assert metric.help in rows[0]
        assert all(f"`{name}`" in rows[0] for name in metric.label_names)


def test_the_marks_are_needed() -> None:
    """A page without its marks is refused, and never overwritten."""
    with pytest.raises(ValueError, match="marks"):
        page.replaced("# Metrics\n")
    with pytest.raises(ValueError, match="marks"):
        page.replaced(f"# Metrics\n{page.BEGIN}\n")
