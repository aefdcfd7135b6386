"""Bars of the moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grafana_foundation_sdk.builders import bargauge
from grafana_foundation_sdk.builders.dashboard import FieldColor
from grafana_foundation_sdk.models import common as commons
from grafana_foundation_sdk.models import dashboard

from grafana.panels.query import Query, last, now
from grafana.panels.words import Unit, Words, begin

if TYPE_CHECKING:
    from grafana.scales import Scale


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
