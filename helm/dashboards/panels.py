"""The kinds of panel that the dashboards use, with the same looks everywhere.

Each panel has a description, a unit, and a text for the case that there is no data. A colour always has a second
signal: a number, or a word from a mapping.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from grafana_foundation_sdk.builders import bargauge, common, dashboard, prometheus, stat, statetimeline, table, text
from grafana_foundation_sdk.builders import timeseries as lines
from grafana_foundation_sdk.models.common import (
    BarGaugeDisplayMode,
    BigValueColorMode,
    BigValueGraphMode,
    BigValueTextMode,
    GraphDrawStyle,
    GraphTresholdsStyleMode,
    LegendDisplayMode,
    LegendPlacement,
    LineInterpolation,
    SortOrder,
    StackingMode,
    TooltipDisplayMode,
    VisibilityMode,
    VizOrientation,
)
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DashboardLinkType,
    DashboardRangeMapOptions,
    DashboardSpecialValueMapOptions,
    DataSourceRef,
    DataTransformerConfig,
    DynamicConfigValue,
    FieldColorModeId,
    RangeMap,
    SpecialValueMap,
    SpecialValueMatch,
    Threshold,
    ThresholdsMode,
    ValueMap,
    ValueMapping,
    ValueMappingResult,
    VariableRefresh,
    VariableSort,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

GREEN, YELLOW, ORANGE, RED, BLUE, PLAIN = "green", "yellow", "orange", "red", "blue", "text"
SOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
TAG = "kafka-quorum"
FLEET_UID, QUORUM_UID = "kafka-quorum-fleet", "kafka-quorum"

BARS_INTERVAL = "2m"
"""The least time between two bars: with less, Grafana's $__rate_interval shows what happened once in several bars."""

Steps = Sequence[tuple[float | None, str]]
"""Thresholds: from which value on, and the colour; the first value is None."""
ALWAYS_PLAIN: Steps = ((None, PLAIN),)


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a panel: PromQL with the dashboard's variables, and the name of its series."""

    expr: str
    legend: str = ""

    def _built(self, ref: str) -> prometheus.Dataquery:
        expr = " ".join(self.expr.split())
        return prometheus.Dataquery().datasource(SOURCE).ref_id(ref).expr(expr).legend_format(self.legend)

    def ranged(self, ref: str) -> prometheus.Dataquery:
        """The values over the time of the dashboard."""
        return self._built(ref).range()

    def instant(self, ref: str) -> prometheus.Dataquery:
        """The value at the end of that time."""
        return self._built(ref).instant()

    def rows(self, ref: str) -> prometheus.Dataquery:
        """The values at the end, one row for each series and one column for each label."""
        return self._built(ref).instant().format(PromQueryFormat.TABLE)


def happened(selected: str, by: str) -> str:
    """How often something happened, by labels: a counter over the time between two bars; nothing where it did not.

    The series of a counter with labels is not there before the first time, so increase() does not see that one. A
    series that was not there before counts with its value.
    """
    window = "$__rate_interval"
    return f"sum by ({by}) (({selected} unless {selected} offset {window}) or increase({selected}[{window}])) > 0"


def _refs(queries: Sequence[Query]) -> list[tuple[str, Query]]:
    return [(chr(ord("A") + place), query) for place, query in enumerate(queries)]


def thresholds(steps: Steps) -> dashboard.ThresholdsConfig:
    """Colours from absolute values on."""
    return (
        dashboard.ThresholdsConfig()
        .mode(ThresholdsMode.ABSOLUTE)
        .steps([Threshold(value=value, color=color) for value, color in steps])
    )


def words(of: dict[int, tuple[str, str]]) -> list[ValueMapping]:
    """A word and a colour for each of some values."""
    results = {
        str(value): ValueMappingResult(text=word, color=color, index=place)
        for place, (value, (word, color)) in enumerate(of.items())
    }
    return [ValueMap(options=results)]


def between(low: float | None, high: float | None, word: str, color: str) -> ValueMapping:
    """A word and a colour for the values from `low` to `high`, both included; None is without an end."""
    result = ValueMappingResult(text=word, color=color, index=9)
    return RangeMap(options=DashboardRangeMapOptions(from_val=low, to=high, result=result))


def missing(word: str) -> ValueMapping:
    """A word for a cell without a value."""
    result = ValueMappingResult(text=word, color=PLAIN, index=10)
    return SpecialValueMap(options=DashboardSpecialValueMapOptions(match=SpecialValueMatch.NULL_AND_NAN, result=result))


TRUE_IS_GOOD = words({1: ("True", GREEN), 0: ("False", RED), -1: ("Unknown", ORANGE)})
TRUE_IS_BAD = words({1: ("True", RED), 0: ("False", GREEN), -1: ("Unknown", ORANGE)})
TRUE_IS_DONE = words({1: ("True", GREEN), 0: ("False", YELLOW), -1: ("Unknown", ORANGE)})
TRUE_IS_NEITHER = words({1: ("True", BLUE), 0: ("False", PLAIN), -1: ("Unknown", ORANGE)})


def color(mode: FieldColorModeId, fixed: str | None = None) -> dashboard.FieldColor:
    """How a panel chooses its colours."""
    chosen = dashboard.FieldColor().mode(mode)
    return chosen.fixed_color(fixed) if fixed else chosen


def number(
    title: str,
    description: str,
    *queries: Query,
    width: int,
    empty: str,
    unit: str = "none",
    steps: Steps = ALWAYS_PLAIN,
    mappings: Sequence[ValueMapping] = (),
    decimals: int | None = 0,
) -> stat.Panel:
    """The present value of each query as a large number or word; with several, each with its name."""
    panel = (
        stat.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .targets([query.instant(ref) for ref, query in _refs(queries)])
        .span(width)
        .height(4)
        .unit(unit)
        .thresholds(thresholds(steps))
        .color_scheme(color(FieldColorModeId.THRESHOLDS))
        .mappings(list(mappings))
        .no_value(empty)
        .graph_mode(BigValueGraphMode.NONE)
        .color_mode(BigValueColorMode.VALUE)
        .orientation(VizOrientation.VERTICAL if len(queries) > 1 else VizOrientation.AUTO)
        .text_mode(BigValueTextMode.VALUE_AND_NAME if len(queries) > 1 else BigValueTextMode.VALUE)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).fields("").values(values=False))
    )
    return panel if decimals is None else panel.decimals(decimals)


def graph(  # noqa: PLR0913 - what a graph can differ in
    title: str,
    description: str,
    *queries: Query,
    empty: str,
    unit: str = "short",
    width: int = 8,
    steps: Steps = (),
    bars: bool = False,
    stepped: bool = False,
    low: float | None = 0,
    mappings: Sequence[ValueMapping] = (),
    decimals: int | None = None,
) -> lines.Panel:
    """Values over time: lines, steps for numbers that jump, or stacked bars for counts of what happened."""
    panel = (
        lines.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .targets([query.ranged(ref) for ref, query in _refs(queries)])
        .span(width)
        .height(7)
        .unit(unit)
        .no_value(empty)
        .mappings(list(mappings))
        .color_scheme(color(FieldColorModeId.PALETTE_CLASSIC))
        .line_width(1)
        .fill_opacity(80 if bars else 10)
        .draw_style(GraphDrawStyle.BARS if bars else GraphDrawStyle.LINE)
        .line_interpolation(LineInterpolation.STEP_AFTER if stepped else LineInterpolation.LINEAR)
        .stacking(common.StackingConfig().mode(StackingMode.NORMAL if bars else StackingMode.NONE).group("A"))
        .show_points(VisibilityMode.AUTO)
        .span_nulls(span_nulls=False)
        .thresholds(thresholds(steps or ((None, GREEN),)))
        .thresholds_style(
            common.GraphThresholdsStyleConfig().mode(
                GraphTresholdsStyleMode.DASHED if steps else GraphTresholdsStyleMode.OFF
            )
        )
        .legend(
            common.VizLegendOptions()
            .display_mode(LegendDisplayMode.LIST)
            .placement(LegendPlacement.BOTTOM)
            .show_legend(show_legend=True)
            .calcs([])
        )
        .tooltip(common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.DESCENDING))
    )
    if low is not None:
        panel = panel.min(low)
    if bars:
        panel = panel.interval(BARS_INTERVAL)
    return panel if decimals is None else panel.decimals(decimals)


def timeline(
    title: str,
    description: str,
    *queries: Query,
    empty: str,
    mappings: Sequence[ValueMapping],
    steps: Steps = ALWAYS_PLAIN,
    width: int = 12,
    height: int = 8,
) -> statetimeline.Panel:
    """States over time, one band for each series, with the word of the state in it."""
    return (
        statetimeline.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .targets([query.ranged(ref) for ref, query in _refs(queries)])
        .span(width)
        .height(height)
        .no_value(empty)
        .mappings(list(mappings))
        .thresholds(thresholds(steps))
        .color_scheme(color(FieldColorModeId.THRESHOLDS))
        .show_value(VisibilityMode.AUTO)
        .merge_values(merge_values=True)
        .row_height(0.85)
        .fill_opacity(70)
        .line_width(0)
        .legend(
            common.VizLegendOptions()
            .display_mode(LegendDisplayMode.LIST)
            .placement(LegendPlacement.BOTTOM)
            .show_legend(show_legend=False)
            .calcs([])
        )
        .tooltip(common.VizTooltipOptions().mode(TooltipDisplayMode.SINGLE).sort(SortOrder.NONE))
    )


def counts(
    title: str, description: str, query: Query, *, empty: str, width: int = 8, height: int = 7
) -> bargauge.Panel:
    """One bar with its number for each series, as they are now."""
    return (
        bargauge.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .targets([query.instant("A")])
        .span(width)
        .height(height)
        .unit("none")
        .decimals(0)
        .min(0)
        .no_value(empty)
        .thresholds(thresholds(((None, BLUE),)))
        .color_scheme(color(FieldColorModeId.THRESHOLDS))
        .orientation(VizOrientation.HORIZONTAL)
        .display_mode(BarGaugeDisplayMode.BASIC)
        .show_unfilled(show_unfilled=True)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]).fields("").values(values=False))
    )


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: the field of a label (its name) or of a query (`Value #A`), and how it is shown.

    `width` is in pixels, 0 for any; `link` is where a click on a cell leads.
    """

    field: str
    title: str
    unit: str = ""
    mappings: Sequence[ValueMapping] = ()
    steps: Steps = ()
    width: int = 0
    link: str = ""

    def properties(self) -> list[DynamicConfigValue]:
        """How Grafana shows the column."""
        found: list[tuple[str, object]] = []
        if self.unit:
            found.append(("unit", self.unit))
        if self.mappings:
            found.append(("mappings", list(self.mappings)))
        if self.steps:
            found.append(("thresholds", thresholds(self.steps).build()))
        if self.steps or self.mappings:
            found.append(("custom.cellOptions", {"type": "color-text"}))
        if self.width:
            found.append(("custom.width", self.width))
        if self.link:
            found.append(("links", [{"title": "Show this quorum", "url": self.link}]))
        return [DynamicConfigValue(id_val=name, value=value) for name, value in found]


def listing(
    title: str,
    description: str,
    queries: Sequence[Query],
    columns: Sequence[Column],
    *,
    empty: str,
    sort: tuple[str, bool],
    width: int = 24,
    height: int = 7,
) -> table.Panel:
    """Series as rows. `sort` is the title of a column, and whether the largest value comes first.

    Queries are joined by the labels that they have in common. A column that is not listed is hidden.
    """
    shown = {column.field: column for column in columns}
    transformations = [
        DataTransformerConfig(id_val="merge", options={}),
        DataTransformerConfig(
            id_val="organize",
            options={
                "excludeByName": {"Time": True} | ({} if "Value" in shown or len(queries) > 1 else {"Value": True}),
                "indexByName": {field: place for place, field in enumerate(shown)},
                "renameByName": {column.field: column.title for column in columns},
            },
        ),
    ]
    panel = (
        table.Panel()
        .title(title)
        .description(description)
        .datasource(SOURCE)
        .targets([query.rows(ref) for ref, query in _refs(queries)])
        .transformations(transformations)
        .span(width)
        .height(height)
        .no_value(empty)
        .thresholds(thresholds(ALWAYS_PLAIN))
        .color_scheme(color(FieldColorModeId.THRESHOLDS))
        .sort_by([common.TableSortByFieldState().display_name(sort[0]).desc(sort[1])])
        .show_header(show_header=True)
    )
    for column in columns:
        if properties := column.properties():
            panel = panel.override_by_name(column.title, properties)
    return panel


def note(content: str, *, width: int = 24, height: int = 3) -> text.Panel:
    """A text, in Markdown."""
    return text.Panel().title("").description("What this row needs.").content(content).span(width).height(height)


def named(title: str, uid: str, description: str) -> dashboard.Dashboard:
    """A dashboard without panels, with its data source as the first variable."""
    return (
        dashboard.Dashboard(title)
        .uid(uid)
        .description(description)
        .tags([TAG])
        .editable()
        .time("now-6h", "now")
        .refresh("30s")
        .timezone("browser")
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .with_variable(
            dashboard.DatasourceVariable("datasource")
            .id("datasource")
            .label("Data source")
            .description("The Prometheus that scrapes the operator.")
            .type("prometheus")
        )
    )


def variable(name: str, label: str, description: str, query: str) -> dashboard.QueryVariable:
    """A variable whose values are those of a label."""
    return (
        dashboard.QueryVariable(name)
        .id(name)
        .label(label)
        .description(description)
        .datasource(SOURCE)
        .query({"query": query, "refId": name})
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
    )


def link_to(title: str, uid: str, tooltip: str) -> dashboard.DashboardLink:
    """A link at the top of a dashboard, which keeps the time and the data source."""
    return (
        dashboard.DashboardLink(title)
        .type(DashboardLinkType.LINK)
        .icon("dashboard")
        .tooltip(tooltip)
        .url(f"/d/{uid}?${{datasource:queryparam}}")
        .keep_time(keep_time=True)
    )


def acts(selected: str) -> lines.Panel:
    """What the operator did, for the quorums that these labels select."""
    return graph(
        "Acts",
        "What the operator did, by kind of act and result.",
        Query(happened(f"kafka_quorum_acts_total{{{selected}}}", "act, result"), "{{act}}: {{result}}"),
        bars=True,
        empty="Nothing was done",
    )
