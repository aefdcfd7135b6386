"""Panels of single values: numbers, bars and tables, as HTML."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any, Final

from grafana.preview.colours import ink, named, step_name
from grafana.preview.graphs import legend, sparkline
from grafana.preview.written import written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grafana.preview.frames import Row
    from grafana.preview.scene import Answer

_ROW: Final = 25
_HEAD: Final = 30


def number(panel: Mapping[str, Any], answers: Sequence[Answer], size: tuple[float, float]) -> str:
    """A stat panel."""
    defaults = panel["fieldConfig"]["defaults"]
    values = [value for _, value in answers[0].points if math.isfinite(value)]
    value = values[-1] if values else math.nan
    colour = step_name(value, defaults["thresholds"])
    filled = panel["options"]["colorMode"] == "background"
    style = f"background:{named(colour)};color:{ink(colour)}" if filled else f"color:{named(colour)}"
    text = written(value, defaults.get("unit", "none"), defaults.get("decimals"))
    spark = ""
    if panel["options"]["graphMode"] == "area":
        spark = sparkline(answers[0].points, size, "#ffffff" if filled else named(colour))
    return f'<div class="stat" style="{style}">{spark}<b>{escape(text)}</b></div>'


def bars(
    panel: Mapping[str, Any], target: Mapping[str, Any], answers: Sequence[Answer], size: tuple[float, float]
) -> str:
    """A bar gauge, in the order of the answer."""
    defaults = panel["fieldConfig"]["defaults"]
    top = defaults.get("max", max((one.points[-1][1] for one in answers), default=1)) or 1
    room = int(size[1] // 18)
    rows = []
    for one in answers[:room]:
        value = one.points[-1][1]
        colour = named(step_name(value, defaults["thresholds"]))
        text = written(value, defaults.get("unit", "none"), defaults.get("decimals"))
        wide = 0 if math.isnan(value) else max(0.0, min(1.0, value / top)) * 100
        rows.append(
            f'<div class="bar"><span>{escape(legend(target, one.labels))}</span>'
            f'<em><u style="width:{wide:.1f}%;background:{colour}"></u></em>'
            f'<b style="color:{colour}">{text}</b></div>'
        )
    return f'<div class="bars">{"".join(rows)}</div>'


def table(panel: Mapping[str, Any], rows: Sequence[Row], size: tuple[float, float]) -> str:
    """A table panel, as many rows as fit."""
    defaults = panel["fieldConfig"]["defaults"]
    names = list(dict.fromkeys(name for row in rows for name in row))
    looks = {name: _looks(panel, name) for name in names}
    heads = "".join(_head(name, looks[name], rows) for name in names)
    room = int((size[1] - _HEAD) // _ROW)
    cells = ([_cell(row.get(name), defaults, looks[name]) for name in names] for row in rows[:room])
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in cells)
    more = f'<p class="more">{len(rows) - room} more rows</p>' if len(rows) > room else ""
    return f'<table class="rows"><tr>{heads}</tr>{body}</table>{more}'


def _head(name: str, looks: Mapping[str, Any], rows: Sequence[Row]) -> str:
    side = "left" if any(isinstance(row.get(name), str) for row in rows) else "right"
    wide = f"width:{looks['custom.width']}px" if "custom.width" in looks else ""
    return f'<th style="text-align:{side};{wide}">{escape(str(looks.get("displayName", name)))}</th>'


def _looks(panel: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {
        prop["id"]: prop.get("value")
        for override in panel["fieldConfig"].get("overrides", ())
        if override["matcher"]["options"] == name
        for prop in override["properties"]
    }


def _cell(value: object, defaults: Mapping[str, Any], looks: Mapping[str, Any]) -> str:
    if value is None:
        return "<td></td>"
    if not isinstance(value, float):
        return f"<td>{escape(str(value))}</td>"
    for mapping in looks.get("mappings", ()):
        said = mapping["options"].get(f"{value:g}")
        if said:
            return _coloured(value, escape(said["text"]), defaults, looks)
    unit = looks.get("unit", defaults.get("unit", "none"))
    text = escape(written(value, unit, looks.get("decimals", defaults.get("decimals"))))
    return _coloured(value, text, defaults, looks)


def _coloured(value: float, text: str, defaults: Mapping[str, Any], looks: Mapping[str, Any]) -> str:
    options = looks.get("custom.cellOptions", defaults.get("custom", {}).get("cellOptions", {}))
    if options.get("type") == "color-background":
        colour = step_name(value, looks.get("thresholds", defaults.get("thresholds")))
        return f'<td class="n" style="background:{named(colour)};color:{ink(colour)}">{text}</td>'
    return f'<td class="n">{text}</td>'
