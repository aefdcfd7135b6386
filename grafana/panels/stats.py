"""Panels of the moment: bars, one number, a histogram over time."""

from __future__ import annotations

from grafana_foundation_sdk.builders import bargauge, heatmap, stat
from grafana_foundation_sdk.builders.dashboard import FieldColor
from grafana_foundation_sdk.models import common as commons
from grafana_foundation_sdk.models import dashboard
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from grafana.panels.base import Query, Unit, Words, begin, last, now, over_time, target
from grafana.scales import NEUTRAL, Scale


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
        begin(bargauge.Panel(), words, unit)
        .targets(now([query]))
        .orientation(commons.VizOrientation.HORIZONTAL)
        .display_mode(commons.BarGaugeDisplayMode.BASIC)
        .thresholds(scale.build())
        .color_scheme(FieldColor().mode(dashboard.FieldColorModeId.THRESHOLDS))
        .show_unfilled(True)
        .min_viz_height(16)
        .reduce_options(last())
        .min(0)
    )
    if decimals is not None:
        panel = panel.decimals(decimals)
    return (panel if top is None else panel.max(top)).build()


def number(
    words: Words,
    expr: str,
    unit: Unit,
    scale: Scale = NEUTRAL,
    *,
    decimals: int | None = None,
    trend: bool = False,
) -> dashboard.Panel:
    """A number on a coloured ground; with `trend` a small line of its past behind it."""
    panel = (
        begin(stat.Panel(), words, unit)
        .targets(over_time([Query(expr)]) if trend else now([Query(expr)]))
        .thresholds(scale.build())
        .color_scheme(FieldColor().mode(dashboard.FieldColorModeId.THRESHOLDS))
        .color_mode(
            commons.BigValueColorMode.VALUE if scale is NEUTRAL else commons.BigValueColorMode.BACKGROUND
        )
        .graph_mode(commons.BigValueGraphMode.AREA if trend else commons.BigValueGraphMode.NONE)
        .text_mode(commons.BigValueTextMode.VALUE)
        .reduce_options(last())
    )
    return (panel if decimals is None else panel.decimals(decimals)).build()


def spread(words: Words, query: Query, unit: Unit) -> dashboard.Panel:
    """A heatmap of a histogram's buckets over time."""
    return (
        begin(heatmap.Panel(), words, unit)
        .targets([target(query, 0).range().format(PromQueryFormat.HEATMAP)])
        .calculate(False)
        .y_axis(heatmap.YAxisConfig().unit(unit).axis_placement(commons.AxisPlacement.LEFT))
        .color(heatmap.HeatmapColorOptions().scheme("Blues").steps(32))
        .cell_gap(1)
        .build()
    )
