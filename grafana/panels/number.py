"""One number."""

from __future__ import annotations

from grafana_foundation_sdk.builders import stat
from grafana_foundation_sdk.builders.dashboard import FieldColor
from grafana_foundation_sdk.models import common as commons
from grafana_foundation_sdk.models import dashboard

from grafana.panels.query import Query, last, now, over_time
from grafana.panels.words import Unit, Words, begin
from grafana.scales import NEUTRAL, Scale


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
        begin(stat.Panel(), words, unit)
        .targets(over_time([query]) if trend else now([query]))
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
