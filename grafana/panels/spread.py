"""A histogram over time."""

from __future__ import annotations

from grafana_foundation_sdk.builders import heatmap
from grafana_foundation_sdk.models import common as commons
from grafana_foundation_sdk.models import dashboard
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from grafana.panels.query import Query, target
from grafana.panels.words import Unit, Words, begin


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
