"""The dashboards: made from their source, with names that the operator has, and readable without colours."""

import json
import re
from typing import Any

import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard
from helm.dashboards.__main__ import DASHBOARDS, TARGET, text

from harness import dashboards
from harness.dashboards import Query
from helm import render
from kafka_quorum.metrics import catalogue
from kafka_quorum.resources import jmx
from kit.metrics.metric import Metric, Type

Json = dict[str, Any]

QUERIES = [query for name in dashboards.NAMES for query in dashboards.queries(name)]
PANELS = [(name, panel) for name in dashboards.NAMES for panel in dashboards.panels(dashboards.board(name))]
BY_PANEL = pytest.mark.parametrize(
    ("name", "panel"), PANELS, ids=[f"{name}-{panel['id']}-{panel['title']}" for name, panel in PANELS]
)
BY_QUERY = pytest.mark.parametrize("query", QUERIES, ids=[query.place for query in QUERIES])
OF_GRAFANA = {"__rate_interval"}
OF_A_SCRAPE = {"pod", "instance", "job"}
"""Labels that Prometheus adds: the PodMonitors of the chart add `pod`."""
OF_A_CONTROLLER = {"namespace", "quorum", "node"}
"""Labels that the PodMonitor of the controllers adds to Kafka's own metrics."""
OF_KAFKA = {shown.name: Type.COUNTER if shown.is_counter else Type.GAUGE for shown in jmx.SHOWN}
OF_A_PROCESS = {
    "process_resident_memory_bytes": Type.GAUGE,
    "process_cpu_seconds_total": Type.COUNTER,
    "jvm_memory_used_bytes": Type.GAUGE,
    "jvm_gc_collection_seconds_sum": Type.COUNTER,
}
"""Metrics that the libraries of the operator and of the JMX agent add to those of the catalogues."""
_OF_HISTOGRAM = re.compile(r"_(bucket|sum|count)$")


def metric(name: str) -> Metric | None:
    """The metric of the catalogue with this name, or with this series; None if it has none."""
    known = {each.name: each for each in catalogue.ALL}
    base = known.get(_OF_HISTOGRAM.sub("", name))
    return known.get(name) or (base if base is not None and base.type is Type.HISTOGRAM else None)


def type_of(name: str) -> Type | None:
    """The type of the metric, of the operator or of Kafka; None if neither has it."""
    found = metric(name)
    return found.type if found else (OF_KAFKA | OF_A_PROCESS).get(name)


def labels(name: str) -> set[str]:
    """The labels that the series of this name have."""
    found = metric(name)
    own = set(found.label_names) if found else set(OF_A_CONTROLLER)
    special = {"kafka_raft_current_state": {"state"}, "jvm_memory_used_bytes": {"area"}}
    return own | OF_A_SCRAPE | ({"le"} if name.endswith("_bucket") else set()) | special.get(name, set())


def values(name: str, label: str) -> tuple[str, ...]:
    """All values that a label can have, if they can be listed."""
    if name == "kafka_raft_current_state" and label == "state":
        return jmx.STATES
    found = metric(name)
    return {each.name: each.values for each in found.labels}.get(label, ()) if found else ()


@pytest.mark.parametrize("name", DASHBOARDS)
def test_the_files_are_made_from_their_source(name: str) -> None:
    """The committed JSON is what `python -m helm.dashboards` writes."""
    assert (TARGET / name).read_text() == text(DASHBOARDS[name])


def test_every_file_has_a_source() -> None:
    """The chart ships exactly the dashboards that have a source."""
    assert {path.name for path in TARGET.iterdir()} == set(DASHBOARDS) == {f"{name}.json" for name in dashboards.NAMES}


@pytest.mark.parametrize("name", dashboards.NAMES)
def test_grafanas_own_types_read_them(name: str) -> None:
    """Grafana's types of its release 10.1 read every field of the file, and write it as it was."""
    committed = dashboards.board(name)
    assert json.loads(JSONEncoder().encode(Dashboard.from_json(committed))) == committed


@BY_QUERY
def test_every_name_is_one_that_the_operator_has(query: Query) -> None:
    """A metric, a label, and a value that a label is compared with, is in the operator's or in Kafka's catalogue."""
    assert query.selectors(), query.expr
    for selector in query.selectors():
        assert type_of(selector.metric) is not None, selector.metric
        for matcher in selector.matchers:
            assert matcher.label in labels(selector.metric), (selector.metric, matcher.label)
            closed = values(selector.metric, matcher.label)
            if closed and matcher.operator in {"=", "!="}:
                assert matcher.value in closed, (selector.metric, matcher)
            elif closed:
                assert all(any(re.fullmatch(part, each) for each in closed) for part in matcher.value.split("|"))
    known = set().union(*(labels(selector.metric) for selector in query.selectors()))
    assert query.labels() <= known, query.labels() - known


@BY_QUERY
def test_legends_use_labels_that_the_series_have(query: Query) -> None:
    """Each label in the name of a series is one that the query keeps."""
    assert query.legend_labels() <= query.labels() | query.new_labels()


@BY_QUERY
def test_counters_are_read_as_rates(query: Query) -> None:
    """A counter and the buckets of a histogram stand only inside rate() or increase(), and no gauge does."""
    for selector in query.selectors():
        kind = type_of(selector.metric)
        in_rate = re.search(rf"\b(rate|increase)\({selector.metric}\b", query.expr) is not None
        assert in_rate == (kind in {Type.COUNTER, Type.HISTOGRAM}), (selector.metric, kind)


@pytest.mark.parametrize("name", dashboards.NAMES)
def test_variables_are_declared(name: str) -> None:
    """A query uses variables of its own dashboard or of Grafana; each has an id of its own and a description."""
    variables = dashboards.board(name)["templating"]["list"]
    declared = [each["name"] for each in variables]
    assert [each["id"] for each in variables] == declared
    assert all(each["description"] and each["label"] for each in variables)
    used = {found for query in dashboards.queries(name) for found in re.findall(r"\$(\w+)", query.expr)}
    assert used - OF_GRAFANA == set(declared) - {"datasource"}


@pytest.mark.parametrize("name", dashboards.NAMES)
def test_values_of_variables_are_those_of_a_metric(name: str) -> None:
    """The values of each variable of a query are those of a label that its metric has."""
    asked = [each["query"]["query"] for each in dashboards.board(name)["templating"]["list"] if each["type"] == "query"]
    assert asked
    for query in asked:
        found = re.fullmatch(r"label_values\((\w+)(?:\{.*\})?, (\w+)\)", query)
        assert found is not None, query
        assert found[2] in labels(found[1]) - OF_A_SCRAPE


def test_each_operator_metric_is_shown() -> None:
    """Every metric of the catalogue is in a panel, or in this list with its reason."""
    left_out = {
        "kafka_broker_pool_last_look_timestamp_seconds": "the oldest look is that of a quorum, which pools follow",
        "kafka_streams_application_last_look_timestamp_seconds": "the same",
        "kafka_quorum_certificate_life_seconds": "the alerts compare it with what is left",
        "kafka_quorum_operation_open": "the age of the operation is there as long as it",
    }
    shown = {_OF_HISTOGRAM.sub("", selector.metric) for query in QUERIES for selector in query.selectors()}
    assert {each.name for each in catalogue.ALL} - shown == set(left_out)


@BY_PANEL
def test_panels_explain_themselves(name: str, panel: Json) -> None:
    """Each panel has a description; one with queries also a title, a unit, and words for no data."""
    assert panel["description"].endswith("."), name
    if panel["type"] == "text":
        return
    defaults = panel["fieldConfig"]["defaults"]
    assert panel["title"]
    assert defaults["noValue"]
    assert panel["type"] in {"table", "state-timeline"} or defaults["unit"]


@BY_PANEL
def test_colour_is_never_the_only_signal(name: str, panel: Json) -> None:
    """Whatever gives a value a colour also gives it a word, or leaves its number to be read."""
    config = panel["fieldConfig"] if panel["type"] != "text" else {"defaults": {}, "overrides": []}
    properties = [
        config["defaults"],
        *({each["id"]: each["value"] for each in override["properties"]} for override in config["overrides"]),
    ]
    for mapping in (mapping for each in properties for mapping in each.get("mappings", ())):
        results = mapping["options"].values() if mapping["type"] == "value" else [mapping["options"]["result"]]
        assert all(result["text"] for result in results), (name, mapping)
    if panel["type"] == "state-timeline":
        assert panel["options"]["showValue"] != "never"
    if panel["type"] == "stat":
        assert panel["options"]["textMode"] in {"value", "value_and_name"}


@pytest.mark.parametrize("name", dashboards.NAMES)
def test_panels_have_a_place_of_their_own(name: str) -> None:
    """No two panels have the same number or title or overlap, and none is wider than the page."""
    board = dashboards.board(name)
    titles = [panel["title"] for panel in board["panels"]]
    assert sorted(titles) == sorted(set(titles))
    numbers = [panel["id"] for panel in board["panels"]]
    assert numbers == list(range(1, len(numbers) + 1))
    cells = [
        (x, y)
        for panel in board["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


@pytest.mark.parametrize("name", dashboards.NAMES)
def test_the_first_screen_has_few_panels(name: str) -> None:
    """What is above the first row is at most nine panels, and not higher than a screen of 1080 lines."""
    first = [panel for panel in dashboards.board(name)["panels"] if panel["gridPos"]["y"] < _first_row(name)]
    assert 5 <= len(first) <= 9
    assert _first_row(name) * 38 + 250 <= 1080  # 30 pixels and a gap of 8 for each line, and Grafana's own head


def _first_row(name: str) -> int:
    return min(int(panel["gridPos"]["y"]) for panel in dashboards.board(name)["panels"] if panel["type"] == "row")


@BY_PANEL
def test_tables_show_columns_that_their_queries_have(name: str, panel: Json) -> None:
    """A column is a label that a query keeps, or the value of a query that is there; the table is sorted by one."""
    if panel["type"] != "table":
        return
    of_panel = [query for query in dashboards.queries(name) if query.panel == panel["title"]]
    kept = set().union(*(query.labels() | query.new_labels() for query in of_panel))
    values = {f"Value #{query.ref}" for query in of_panel} if len(of_panel) > 1 else {"Value"}
    (organize,) = (each["options"] for each in panel["transformations"] if each["id"] == "organize")
    assert set(organize["renameByName"]) <= kept | values
    assert all(query.rows and query.instant for query in of_panel)
    titles = set(organize["renameByName"].values())
    assert {each["matcher"]["options"] for each in panel["fieldConfig"]["overrides"]} <= titles
    assert {each["displayName"] for each in panel["options"]["sortBy"]} <= titles


def test_the_dashboards_link_to_each_other() -> None:
    """Each dashboard leads to the other one by its uid, and sets only variables that the other one has."""
    boards = {name: dashboards.board(name) for name in dashboards.NAMES}
    for name, other in (("fleet", "quorum"), ("quorum", "fleet")):
        found = re.findall(r"/d/([\w-]+)\?([^\"\\]*)", json.dumps(boards[name]))
        assert found, name
        variables = {each["name"] for each in boards[other]["templating"]["list"]}
        for uid, query in found:
            assert uid == boards[other]["uid"]
            assert "${datasource:queryparam}" in query
            assert set(re.findall(r"var-(\w+)=", query)) <= variables


def _config_maps(*options: str) -> list[Json]:
    items = [item for item in yaml.safe_load_all(render.template(*options)) if item]
    return [item for item in items if item["kind"] == "ConfigMap" and "dashboard" in item["metadata"]["name"]]


def test_the_chart_ships_them() -> None:
    """With `dashboards.enabled` each one is a ConfigMap of less than 1 MiB with the label of Grafana's sidecar."""
    found = _config_maps("--set", "dashboards.enabled=true")
    assert [json.loads(text) for item in found for text in item["data"].values()] == [
        dashboards.board(name) for name in dashboards.NAMES
    ]
    for item in found:
        assert item["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert item["metadata"]["namespace"] == render.NAMESPACE
        assert "annotations" not in item["metadata"]
        assert len(yaml.safe_dump(item).encode()) < 1 << 20


def test_the_chart_puts_them_where_the_sidecar_looks() -> None:
    """Namespace, folder, labels and annotations of the values are those of the ConfigMaps; by default none is made."""
    assert _config_maps() == []
    values = "enabled=true,namespace=monitoring,folder=Kafka,annotations.a=b,labels.grafana_dashboard=null,labels.t=x"
    found = _config_maps(*(part for value in values.split(",") for part in ("--set", f"dashboards.{value}")))
    assert len(found) == len(dashboards.NAMES)
    for item in found:
        assert item["metadata"]["namespace"] == "monitoring"
        assert item["metadata"]["annotations"] == {"grafana_folder": "Kafka", "a": "b"}
        assert item["metadata"]["labels"]["t"] == "x"
        assert "grafana_dashboard" not in item["metadata"]["labels"]
