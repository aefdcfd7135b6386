"""The kinds of panels: one function each, with what all of them need to be read at a glance.

Every panel has a description, a unit, and a text for "no data". None has a place yet: `grafana.board`
gives it one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, Self, TypeVar

from grafana_foundation_sdk.builders import bargauge, common, heatmap, prometheus, stat, table, timeseries
from grafana_foundation_sdk.builders.dashboard import DashboardLink, FieldColor
from grafana_foundation_sdk.models import common as commons
from grafana_foundation_sdk.models import dashboard
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from grafana.scales import NEUTRAL, Scale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grafana_foundation_sdk.cog.builder import Builder

DATASOURCE: Final = commons.DataSourceRef("prometheus", "${datasource}")
LONGEST_TABLE: Final = 200
"""Rows of a table; more are not read."""

Unit = Literal["percentunit", "short", "none", "s", "reqps", "ops", "cps", "bytes", "currencyUSD", "locale"]


@dataclass(frozen=True, slots=True)
class Query:
    """One question to Prometheus."""

    expr: str
    legend: str = ""
    """Name of each series, with its labels as `{{label}}`."""


@dataclass(frozen=True, slots=True)
class Column:
    """How a table shows a column, or the value of a query."""

    query: Query
    title: str
    unit: Unit = "percentunit"
    scale: Scale | None = None
    """Colours the cell."""
    width: int = 0
    """In pixels; 0 = what is left."""
    decimals: int | None = None


class _Common(Protocol):
    """What the panel builders of the kit have in common."""

    def title(self, title: str) -> Self: ...
    def description(self, description: str) -> Self: ...
    def datasource(self, datasource: commons.DataSourceRef) -> Self: ...
    def unit(self, unit: str) -> Self: ...
    def no_value(self, no_value: str) -> Self: ...
    def links(self, links: list[Builder[dashboard.DashboardLink]]) -> Self: ...
    def build(self) -> dashboard.Panel: ...


_Panel = TypeVar("_Panel", bound=_Common)


@dataclass(frozen=True, slots=True)
class Words:
    """What a panel says besides its numbers."""

    title: str
    description: str
    no_data: str = "no data yet"
    runbook: str = ""
    """Name of the alert whose runbook says what to do."""
    console: str = ""
    """Path on the console that shows the same closer; "" = none."""


def _begin(panel: _Panel, words: Words, unit: Unit) -> _Panel:
    links: list[Builder[dashboard.DashboardLink]] = []
    if words.runbook:
        links.append(_link(f"Runbook: {words.runbook}", f"${{runbooks}}/{words.runbook}.md"))
    if words.console:
        links.append(_link("Console", f"${{console}}{words.console}"))
    panel.title(words.title).description(words.description).datasource(DATASOURCE)
    panel.unit(unit).no_value(words.no_data)
    return panel.links(links) if links else panel


def _link(title: str, url: str) -> DashboardLink:
    return DashboardLink(title).type(dashboard.DashboardLinkType.LINK).url(url).target_blank(True)


def _target(query: Query, place: int) -> prometheus.Dataquery:
    return (
        prometheus.Dataquery()
        .datasource(DATASOURCE)
        .expr(query.expr)
        .legend_format(query.legend or "__auto")
        .ref_id(chr(ord("A") + place))
    )


def _range(queries: Sequence[Query]) -> list[Any]:
    return [_target(query, place).range() for place, query in enumerate(queries)]


def _now(queries: Sequence[Query], form: PromQueryFormat = PromQueryFormat.TIME_SERIES) -> list[Any]:
    return [_target(query, place).instant().format(form) for place, query in enumerate(queries)]


def _last() -> common.ReduceDataOptions:
    return common.ReduceDataOptions().calcs(["lastNotNull"]).values(False).fields("")


def number(
    words: Words,
    query: Query,
    unit: Unit,
    scale: Scale = NEUTRAL,
    *,
    decimals: int | None = None,
    trend: bool = False,
) -> dashboard.Panel:
    """A number on a coloured ground; with `trend` a small line of its past behind it."""
    panel = (
        _begin(stat.Panel(), words, unit)
        .targets(_range([query]) if trend else _now([query]))
        .thresholds(scale.build())
        .color_scheme(FieldColor().mode(dashboard.FieldColorModeId.THRESHOLDS))
        .color_mode(
            commons.BigValueColorMode.VALUE if scale is NEUTRAL else commons.BigValueColorMode.BACKGROUND
        )
        .graph_mode(commons.BigValueGraphMode.AREA if trend else commons.BigValueGraphMode.NONE)
        .text_mode(commons.BigValueTextMode.VALUE)
        .reduce_options(_last())
    )
    return (panel if decimals is None else panel.decimals(decimals)).build()


def lines(
    words: Words,
    queries: Sequence[Query],
    unit: Unit,
    *,
    limit: Scale | None = None,
    stacked: bool = False,
    lowest: float | None = 0,
    top: float | None = None,
    table_legend: bool = True,
) -> dashboard.Panel:
    """Lines over time; with `limit` its steps are drawn as dashed lines."""
    legend = common.VizLegendOptions().show_legend(True).placement(commons.LegendPlacement.BOTTOM)
    legend = legend.display_mode(
        commons.LegendDisplayMode.TABLE if table_legend else commons.LegendDisplayMode.LIST
    ).calcs(["lastNotNull", "max"] if table_legend else [])
    panel = (
        _begin(timeseries.Panel(), words, unit)
        .targets(_range(queries))
        .line_width(2)
        .fill_opacity(30 if stacked else 0)
        .show_points(commons.VisibilityMode.NEVER)
        .color_scheme(FieldColor().mode(dashboard.FieldColorModeId.PALETTE_CLASSIC_BY_NAME))
        .legend(legend)
        .tooltip(
            common.VizTooltipOptions()
            .mode(commons.TooltipDisplayMode.MULTI)
            .sort(commons.SortOrder.DESCENDING)
        )
    )
    if stacked:
        panel = panel.stacking(common.StackingConfig().mode(commons.StackingMode.NORMAL).group("A"))
    if lowest is not None:
        panel = panel.min(lowest) if top is not None else panel.axis_soft_min(lowest)
    if top is not None:
        panel = panel.max(top)
    if limit is not None:
        panel = panel.thresholds(limit.build()).thresholds_style(
            common.GraphThresholdsStyleConfig().mode(commons.GraphThresholdsStyleMode.DASHED)
        )
    return panel.build()


@dataclass(frozen=True, slots=True)
class Band:
    """An estimate with its interval."""

    value: Query
    lower: str
    upper: str
    colour: str


def bands(
    words: Words,
    estimates: Sequence[Band],
    *,
    limits: Sequence[Query] = (),
    lowest: float | None = 0,
    top: float | None = 1,
) -> dashboard.Panel:
    """Estimates over time, each on the band of its interval; limits as dashed lines."""
    queries: list[Query] = []
    for one in estimates:
        low, high = f"{one.value.legend}, lower end", f"{one.value.legend}, upper end"
        queries += [one.value, Query(one.lower, low), Query(one.upper, high)]
    panel = (
        _begin(timeseries.Panel(), words, "percentunit")
        .targets(_range([*queries, *limits]))
        .line_width(2)
        .show_points(commons.VisibilityMode.NEVER)
        .legend(
            common.VizLegendOptions()
            .show_legend(True)
            .placement(commons.LegendPlacement.BOTTOM)
            .display_mode(commons.LegendDisplayMode.LIST)
        )
        .tooltip(common.VizTooltipOptions().mode(commons.TooltipDisplayMode.MULTI))
    )
    if lowest is not None:
        panel = panel.min(lowest)
    if top is not None:
        panel = panel.max(top)
    for one in estimates:
        low, high = f"{one.value.legend}, lower end", f"{one.value.legend}, upper end"
        panel = panel.override_by_name(one.value.legend, [_colour(one.colour)])
        unseen = _value("custom.hideFrom", {"legend": True, "tooltip": False, "viz": False})
        for name in (low, high):
            properties = [_colour(one.colour), _value("custom.lineWidth", 0), unseen]
            if name == high:
                properties += [_value("custom.fillBelowTo", low), _value("custom.fillOpacity", 18)]
            panel = panel.override_by_name(name, properties)
    for limit in limits:
        dashes = _value("custom.lineStyle", {"fill": "dash", "dash": [8, 6]})
        panel = panel.override_by_name(limit.legend, [_colour("red"), _value("custom.lineWidth", 1), dashes])
    return panel.build()


def bars(
    words: Words,
    query: Query,
    unit: Unit,
    scale: Scale,
    *,
    top: float | None = None,
    decimals: int | None = None,
) -> dashboard.Panel:
    """Horizontal bars of the moment, in the order in which the query gives them."""
    panel = (
        _begin(bargauge.Panel(), words, unit)
        .targets(_now([query]))
        .orientation(commons.VizOrientation.HORIZONTAL)
        .display_mode(commons.BarGaugeDisplayMode.BASIC)
        .thresholds(scale.build())
        .color_scheme(FieldColor().mode(dashboard.FieldColorModeId.THRESHOLDS))
        .show_unfilled(True)
        .min_viz_height(16)
        .reduce_options(_last())
        .min(0)
    )
    if decimals is not None:
        panel = panel.decimals(decimals)
    return (panel if top is None else panel.max(top)).build()


def matrix(
    words: Words, query: Query, *, row: str, column: str, unit: Unit, scale: Scale, row_title: str
) -> dashboard.Panel:
    """A heatmap of two labels: a row for each value of one, a column for each of the other.

    Grafana's own heatmap wants time on one axis; a table whose cells are coloured does not.
    """
    corner = f"{row}\\{column}"
    return (
        _begin(table.Panel(), words, unit)
        .targets(_now([query], PromQueryFormat.TABLE))
        .transformations(
            [
                dashboard.DataTransformerConfig(
                    id_val="groupingToMatrix",
                    options={
                        "rowField": row,
                        "columnField": column,
                        "valueField": "Value",
                        "emptyValue": "null",
                    },
                ),
                dashboard.DataTransformerConfig(id_val="sortBy", options={"sort": [{"field": corner}]}),
            ]
        )
        .thresholds(scale.build())
        .color_scheme(FieldColor().mode(dashboard.FieldColorModeId.THRESHOLDS))
        .cell_options(_COLOURED)
        .align(commons.FieldTextAlignment.CENTER)
        .decimals(0)
        .cell_height(commons.TableCellHeight.SM)
        .override_by_name(
            corner,
            [
                _value("displayName", row_title),
                _value("custom.cellOptions", {"type": "auto"}),
                _value("custom.align", "left"),
                _value("custom.minWidth", 190),
            ],
        )
        .build()
    )


def rows(
    words: Words,
    labels: dict[str, str],
    columns: Sequence[Column],
    *,
    sort_by: str = "",
    ascending: bool = False,
    link: str = "",
) -> dashboard.Panel:
    """A table: one row for each combination of labels, one column for each query.

    Args:
        words: of the panel.
        labels: to show, with their titles, in this order.
        columns: after them.
        sort_by: title of a column; "" = by the first label.
        ascending: the order of `sort_by`.
        link: path on the console to which the first label of each row leads.
    """
    titles = dict(labels)
    order = {name: place for place, name in enumerate(labels)}
    for place, column in enumerate(columns):
        field = "Value" if len(columns) == 1 else f"Value #{chr(ord('A') + place)}"
        titles[field] = column.title
        order[field] = len(order)
    steps = [
        dashboard.DataTransformerConfig(id_val="merge", options={}),
        dashboard.DataTransformerConfig(
            id_val="organize",
            options={
                "excludeByName": {"Time": True},
                "indexByName": order,
                "renameByName": titles,
            },
        ),
        dashboard.DataTransformerConfig(
            id_val="sortBy",
            options={
                "sort": [
                    {"field": sort_by or next(iter(labels.values())), "desc": bool(sort_by) and not ascending}
                ]
            },
        ),
        dashboard.DataTransformerConfig(id_val="limit", options={"limitField": LONGEST_TABLE}),
    ]
    panel = (
        _begin(table.Panel(), words, "none")
        .targets(_now([column.query for column in columns], PromQueryFormat.TABLE))
        .transformations(steps)
        .cell_height(commons.TableCellHeight.SM)
    )
    for column in columns:
        panel = panel.override_by_name(column.title, _column(column))
    if link:
        url = {"title": "Show in the console", "url": f"${{console}}{link}", "targetBlank": True}
        panel = panel.override_by_name(next(iter(labels.values())), [_value("links", [url])])
    return panel.build()


def _column(column: Column) -> list[dashboard.DynamicConfigValue]:
    found = [_value("unit", column.unit)]
    if column.decimals is not None:
        found.append(_value("decimals", column.decimals))
    if column.width:
        found.append(_value("custom.width", column.width))
    if column.scale is not None:
        found += [
            _value("thresholds", column.scale.as_json()),
            _value("color", {"mode": "thresholds"}),
            _value("custom.cellOptions", {"type": "color-background", "mode": "basic"}),
        ]
    return found


def spread(words: Words, query: Query, unit: Unit) -> dashboard.Panel:
    """A heatmap of a histogram's buckets over time."""
    return (
        _begin(heatmap.Panel(), words, unit)
        .targets([_target(query, 0).range().format(PromQueryFormat.HEATMAP)])
        .calculate(False)
        .y_axis(heatmap.YAxisConfig().unit(unit).axis_placement(commons.AxisPlacement.LEFT))
        .color(heatmap.HeatmapColorOptions().scheme("Blues").steps(32))
        .cell_gap(1)
        .build()
    )


_COLOURED = commons.TableColoredBackgroundCellOptions(mode=commons.TableCellBackgroundDisplayMode.BASIC)


def _value(name: str, value: object) -> dashboard.DynamicConfigValue:
    return dashboard.DynamicConfigValue(name, value)


def _colour(name: str) -> dashboard.DynamicConfigValue:
    return _value("color", {"mode": "fixed", "fixedColor": name})
