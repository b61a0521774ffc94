"""The reader of the dashboards' queries, and what the pictures show of a value."""

from typing import Any

import pytest

from harness.dashboards import Matcher, Query
from pictures import charts, values
from pictures.charts import Line, Span

TRUE = {"type": "value", "options": {"1": {"text": "True", "color": "green"}, "-1": {"text": "Unknown"}}}
NOT_THERE = {"type": "special", "options": {"match": "null+nan", "result": {"text": "none"}}}


def query(expr: str, legend: str = "") -> Query:
    """A query of one panel."""
    return Query(board="b", panel="p", ref="A", expr=expr, legend=legend, instant=True, rows=False)


def test_names_are_found_in_a_query() -> None:
    """Metrics with their conditions, the labels of groups and joins, and labels that a query makes."""
    found = query(
        'count_values by (feature) ("level", max by (namespace, kafka_version) (kafka_a_total{quorum="a}b", x!~"c|d"}'
        " and on (job) process_b))"
    )
    a, b = found.selectors()
    assert (a.metric, b.metric, b.matchers) == ("kafka_a_total", "process_b", ())
    assert a.matchers == (
        Matcher(label="quorum", operator="=", value="a}b"),
        Matcher(label="x", operator="!~", value="c|d"),
    )
    assert found.labels() == {"feature", "namespace", "kafka_version", "job"}
    assert found.new_labels() == {"level"}


def test_a_query_is_asked_with_values_for_its_variables() -> None:
    """Each variable gets its value; one without a value is a KeyError."""
    asked = query('rate(kafka_a{quorum="$quorum"}[$__rate_interval])').asked({"quorum": "q", "__rate_interval": "1m"})
    assert asked == 'rate(kafka_a{quorum="q"}[1m])'
    with pytest.raises(KeyError, match="quorum"):
        query('kafka_a{quorum="$quorum"}').asked({})


def test_a_series_has_the_name_of_the_legend() -> None:
    """Labels are put into the legend; without a legend all labels are the name."""
    assert query("kafka_a", "{{node}}: {{ state }}").named({"node": "3000", "state": "x"}) == "3000: x"
    assert query("kafka_a").named({"b": "2", "a": "1"}) == "a=1, b=2"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0021, "s", "2.1 ms"),
        (59.0, "s", "59 s"),
        (90.0, "s", "1.5 mins"),
        (86400.0 * 6, "s", "6 days"),
        (1536.0, "bytes", "1.5 KiB"),
        (0.25, "percentunit", "25%"),
        (1234567.0, "short", "1.23 Mil"),
        (3.0, "none", "3"),
        (12.0, "reqps", "12 req/s"),
        (2500.0, "ms", "2.5 s"),
    ],
)
def test_numbers_have_units(value: float, unit: str, text: str) -> None:
    """A number is shown as Grafana shows it."""
    assert values.number(value, unit) == text


def test_a_mapping_gives_the_word() -> None:
    """A mapping comes before the number; a cell without a value has the word for that, or none."""
    field: dict[str, Any] = {"mappings": [TRUE, NOT_THERE], "thresholds": {"steps": [{"value": None, "color": "red"}]}}
    assert values.shown(1.0, field) == values.Shown(text="True", color=values.COLORS["green"])
    assert values.shown(-1.0, field).text == "Unknown"
    assert values.shown(2.0, field) == values.Shown(text="2", color=values.COLORS["red"])
    assert values.shown(None, field).text == "none"
    assert values.shown(None, {}).text == ""


def test_tables_are_merged_by_common_labels() -> None:
    """Rows of several queries with the same labels become one row, and the table is sorted as the panel says."""
    panel = {
        "fieldConfig": {"defaults": {"noValue": "nothing"}, "overrides": []},
        "targets": [{}, {}],
        "options": {"sortBy": [{"displayName": "Level", "desc": True}]},
        "transformations": [
            {
                "id": "organize",
                "options": {
                    "renameByName": {"Value #A": "Level", "mode": "Mode", "quorum": "Quorum"},
                    "indexByName": {"quorum": 0, "Value #A": 1, "mode": 2},
                },
            }
        ],
    }
    lines = [
        Line(name="", ref="A", labels={"quorum": "a"}, values=[(0, 1.0)]),
        Line(name="", ref="A", labels={"quorum": "<b>"}, values=[(0, 2.0)]),
        Line(name="", ref="B", labels={"quorum": "<b>", "mode": "Static"}, values=[(0, 1.0)]),
    ]
    drawn = charts.table(panel, lines)
    assert drawn.index("<th>Quorum") < drawn.index("<th>Level") < drawn.index("<th>Mode")
    assert drawn.index("&lt;b&gt;") < drawn.index("<span>a</span>")
    assert drawn.count("<tr>") == 3
    assert drawn.count("Static") == 1
    assert charts.table(panel, []) == '<div class="empty">nothing</div>'


def test_a_gap_in_the_series_is_a_gap_in_the_picture() -> None:
    """A state ends where the series has no values, and its line is not drawn across."""
    panel = {"fieldConfig": {"defaults": {"mappings": [TRUE], "unit": "none"}, "overrides": []}}
    line = Line(name="x", ref="A", labels={}, values=[(0, 1.0), (5, 1.0), (50, 1.0), (55, 1.0)])
    span = Span(begin_s=0, end_s=60, step_s=5)
    assert charts.timeline(panel, [line], span, 600, 100).count("<rect") == 2
    drawn = charts.graph(panel, [line], span, 600, 100)
    assert drawn.count("M") == 2
