"""Lines over time, plain or on the band of an interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grafana_foundation_sdk.builders import common, timeseries
from grafana_foundation_sdk.builders.dashboard import FieldColor
from grafana_foundation_sdk.models import common as commons
from grafana_foundation_sdk.models import dashboard

from grafana.panels.base import Query, Unit, Words, begin, colour, over_time, value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grafana.scales import Scale


def lines(
    words: Words,
    queries: Query | Sequence[Query],
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
        begin(timeseries.Panel(), words, unit)
        .targets(over_time([queries] if isinstance(queries, Query) else queries))
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


def areas(words: Words, unit: Unit, expr: str, legend: str) -> dashboard.Panel:
    """One query over time, its series on top of each other."""
    return lines(words, Query(expr, legend), unit, stacked=True)


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
        begin(timeseries.Panel(), words, "percentunit")
        .targets(over_time([*queries, *limits]))
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
        panel = panel.override_by_name(one.value.legend, [colour(one.colour)])
        unseen = value("custom.hideFrom", {"legend": True, "tooltip": False, "viz": False})
        for name in (low, high):
            properties = [colour(one.colour), value("custom.lineWidth", 0), unseen]
            if name == high:
                properties += [value("custom.fillBelowTo", low), value("custom.fillOpacity", 18)]
            panel = panel.override_by_name(name, properties)
    for limit in limits:
        dashes = value("custom.lineStyle", {"fill": "dash", "dash": [8, 6]})
        panel = panel.override_by_name(limit.legend, [colour("red"), value("custom.lineWidth", 1), dashes])
    return panel.build()
