"""Graphs over time: lines, stacks, bands, and heatmaps of histograms."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Final

from grafana.preview.colours import PALETTE, named
from grafana.preview.written import written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grafana.preview.scene import Answer

_LEFT: Final = 58
_BOTTOM: Final = 22
_TOP: Final = 6
_RIGHT: Final = 8
_LEGEND_ROW: Final = 17
_TIME_WIDTH: Final = 90
"""Pixels between two times."""
_TIME_STEPS_S: Final = (30, 60, 120, 300, 600, 1800, 3600, 10800, 21600)
_LEGEND_SHARE: Final = 0.38
"""Of a panel's height, at most."""


@dataclass(frozen=True, slots=True)
class Line:
    """One series, by the name that its legend gives it."""

    name: str
    points: list[tuple[float, float]]
    looks: Mapping[str, Any]
    """Properties that differ from the panel's, by name."""


@dataclass(frozen=True, slots=True)
class Area:
    """Where a graph draws: pixels and what they stand for."""

    width: float
    height: float
    start_s: float
    end_s: float
    low: float
    high: float

    def x(self, at_s: float) -> float:
        """Pixels from the left."""
        part = (at_s - self.start_s) / (self.end_s - self.start_s)
        return _LEFT + part * (self.width - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        """Pixels from the top."""
        part = (value - self.low) / (self.high - self.low)
        return self.height - _BOTTOM - min(1.0, max(0.0, part)) * (self.height - _BOTTOM - _TOP)


def lines_of(panel: Mapping[str, Any], answers: Sequence[tuple[dict[str, Any], list[Answer]]]) -> list[Line]:
    """All series of a panel with their names and looks."""
    found = []
    for target, series in answers:
        for one in series:
            name = legend(target, one.labels)
            looks = {
                prop["id"]: prop.get("value")
                for override in panel["fieldConfig"].get("overrides", ())
                if override["matcher"]["options"] == name
                for prop in override["properties"]
            }
            found.append(Line(name, [pair for pair in one.points if math.isfinite(pair[1])], looks))
    return sorted(found, key=lambda line: line.name)


def legend(target: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """The name of a series."""
    text = str(target.get("legendFormat", "__auto"))
    if text == "__auto":
        return ", ".join(f"{name}={value}" for name, value in sorted(labels.items())) or "Value"
    for name, value in labels.items():
        text = text.replace("{{" + name + "}}", value)
    return text


def graph(
    panel: Mapping[str, Any],
    lines: Sequence[Line],
    span: tuple[float, float],
    size: tuple[float, float],
    marks: Sequence[float],
) -> str:
    """A timeseries panel as SVG, with its legend below; `marks` are the times of annotations."""
    defaults = panel["fieldConfig"]["defaults"]
    custom = defaults.get("custom", {})
    stacked = custom.get("stacking", {}).get("mode") == "normal"
    unit = defaults.get("unit", "none")
    drawn = _stacked(lines) if stacked else list(lines)
    named_in_legend = [line for line in lines if not line.looks.get("custom.hideFrom", {}).get("legend")]
    tabled = panel["options"]["legend"].get("displayMode") == "table"
    room = _legend_rows(named_in_legend, size, tabled=tabled) * _LEGEND_ROW
    low, high = _limits(defaults, custom, drawn)
    area = Area(size[0], size[1] - room, *span, low, high)
    colours = _colours(lines)
    parts = [_grid(area, unit), *(_mark(area, at) for at in marks if span[0] <= at <= span[1])]
    if custom.get("thresholdsStyle", {}).get("mode") == "dashed":
        for step in defaults["thresholds"]["steps"]:
            if step["value"] is not None and low <= step["value"] <= high:
                y = area.y(step["value"])
                parts.append(
                    f'<line x1="{_LEFT}" x2="{size[0] - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
                    f'stroke="{named(step["color"])}" stroke-dasharray="8 6" opacity=".8"/>'
                )
    by_name = {line.name: line for line in drawn}
    below: Line | None = None
    for line in drawn:
        floor = by_name.get(str(line.looks.get("custom.fillBelowTo", "")))
        opacity = line.looks.get("custom.fillOpacity", custom.get("fillOpacity", 0)) / 100
        colour = colours[line.name]
        if opacity and (floor or stacked):
            parts.append(_fill(area, line, floor or below, colour, opacity))
        width = line.looks.get("custom.lineWidth", custom.get("lineWidth", 1))
        if width:
            dash = ' stroke-dasharray="8 6"' if "custom.lineStyle" in line.looks else ""
            parts.append(
                f'<polyline points="{_path(area, line.points)}" fill="none" stroke="{colour}" '
                f'stroke-width="{width}" stroke-linejoin="round"{dash}/>'
            )
        below = line
    svg = f'<svg width="{size[0]:.0f}" height="{size[1] - room:.0f}">{"".join(parts)}</svg>'
    return svg + _legend(named_in_legend, colours, panel, room)


def spread(
    answers: Sequence[Answer], span: tuple[float, float], size: tuple[float, float], step_s: float, unit: str
) -> str:
    """A heatmap of cumulative buckets as SVG."""
    buckets = sorted(answers, key=lambda one: float(one.labels["le"]))
    counts: list[list[tuple[float, float]]] = []
    below: dict[float, float] = {}
    for one in buckets:
        counts.append([(at, max(0.0, value - below.get(at, 0.0))) for at, value in one.points])
        below = dict(one.points)
    most = max((value for row in counts for _, value in row), default=0) or 1
    area = Area(*size, *span, 0, len(buckets))
    high = (size[1] - _BOTTOM - _TOP) / max(1, len(buckets))
    wide = area.x(span[0] + step_s) - area.x(span[0])
    parts = []
    for place, (one, row) in enumerate(zip(buckets, counts, strict=True)):
        y = area.y(place + 1)
        bound = float(one.labels["le"])
        text = "more" if math.isinf(bound) else f"≤ {written(bound, unit)}"
        parts.append(f'<text x="{_LEFT - 6}" y="{y + high / 2 + 4:.1f}" class="tick end">{text}</text>')
        parts += [
            f'<rect x="{area.x(at):.1f}" y="{y + 0.5:.1f}" '
            f'width="{max(1, wide - 0.5):.1f}" height="{high - 1:.1f}" '
            f'fill="#5794f2" opacity="{0.15 + 0.85 * value / most:.2f}"/>'
            for at, value in row
            if value > 0
        ]
    return f'<svg width="{size[0]:.0f}" height="{size[1]:.0f}">{_times(area)}{"".join(parts)}</svg>'


def sparkline(points: Sequence[tuple[float, float]], size: tuple[float, float], colour: str) -> str:
    """The small area behind a number."""
    values = [value for _, value in points if math.isfinite(value)]
    if len(values) < 2 or max(values) == min(values):  # noqa: PLR2004 - a line needs two points
        return ""
    low, high = min(values), max(values)
    step = size[0] / (len(values) - 1)
    path = " ".join(
        f"{place * step:.1f},{size[1] - (value - low) / (high - low) * size[1] * 0.9:.1f}"
        for place, value in enumerate(values)
    )
    return (
        f'<svg class="spark" width="{size[0]:.0f}" height="{size[1]:.0f}">'
        f'<polygon points="0,{size[1]} {path} {size[0]},{size[1]}" fill="{colour}" opacity=".25"/></svg>'
    )


def _limits(
    defaults: Mapping[str, Any], custom: Mapping[str, Any], lines: Sequence[Line]
) -> tuple[float, float]:
    values = [value for line in lines for _, value in line.points]
    low = defaults.get("min", min([*values, custom.get("axisSoftMin", math.inf)], default=0.0))
    high = defaults.get("max", max(values, default=1.0))
    if not math.isfinite(low):
        low = 0.0
    return (low, high) if high > low else (low, low + (abs(low) or 1))


def _stacked(lines: Sequence[Line]) -> list[Line]:
    sums: dict[float, float] = {}
    found = []
    for line in lines:
        points = [(at, sums.get(at, 0.0) + value) for at, value in line.points]
        sums.update(points)
        found.append(Line(line.name, points, line.looks))
    return found


def _colours(lines: Sequence[Line]) -> dict[str, str]:
    found = {}
    for place, line in enumerate(lines):
        own = line.looks.get("color", {}).get("fixedColor")
        found[line.name] = named(own) if own else PALETTE[place % len(PALETTE)]
    return found


def _path(area: Area, points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{area.x(at):.1f},{area.y(value):.1f}" for at, value in points)


def _fill(area: Area, line: Line, floor: Line | None, colour: str, opacity: float) -> str:
    if not line.points:
        return ""
    ground = dict(floor.points) if floor else {}
    back = [(at, ground.get(at, area.low)) for at, _ in reversed(line.points)]
    return f'<polygon points="{_path(area, [*line.points, *back])}" fill="{colour}" opacity="{opacity:.2f}"/>'


def _grid(area: Area, unit: str) -> str:
    parts = []
    for value in _ticks(area.low, area.high):
        y = area.y(value)
        parts.append(
            f'<line x1="{_LEFT}" x2="{area.width - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" class="tick end">{written(value, unit)}</text>'
        )
    return "".join(parts) + _times(area)


def _times(area: Area) -> str:
    span = area.end_s - area.start_s
    most = area.width / _TIME_WIDTH
    step = next((size for size in _TIME_STEPS_S if span / size <= most), 86400)
    first = math.ceil(area.start_s / step) * step
    shape = "%H:%M:%S" if step < 60 else "%H:%M"  # noqa: PLR2004 - seconds in a minute
    parts = []
    at = first
    while at <= area.end_s:
        text = time.strftime(shape, time.gmtime(at))
        parts.append(
            f'<text x="{area.x(at):.1f}" y="{area.height - 6:.1f}" class="tick middle">{text}</text>'
        )
        at += step
    return "".join(parts)


def _mark(area: Area, at: float) -> str:
    x, ground, purple = area.x(at), area.height - _BOTTOM, named("purple")
    return (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{ground}" stroke="{purple}" '
        f'stroke-dasharray="3 3"/>'
        f'<path d="M{x - 5:.1f} {ground + 7}h10l-5 -7z" fill="{purple}"/>'
    )


def _ticks(low: float, high: float) -> list[float]:
    rough = (high - low) / 5
    size = 10 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _legend_rows(lines: Sequence[Line], size: tuple[float, float], *, tabled: bool) -> int:
    if tabled:
        return min(len(lines) + 1, int(size[1] * _LEGEND_SHARE / _LEGEND_ROW))
    return 1 + sum(len(line.name) * 7 + 30 for line in lines) // int(size[0])


def _legend(lines: Sequence[Line], colours: Mapping[str, str], panel: Mapping[str, Any], room: float) -> str:
    defaults = panel["fieldConfig"]["defaults"]
    swatch = '<i style="background:{}"></i>{}'
    if panel["options"]["legend"].get("displayMode") != "table":
        items = "".join(
            f"<span>{swatch.format(colours[line.name], escape(line.name))}</span>" for line in lines
        )
        return f'<div class="legend" style="height:{room:.0f}px">{items}</div>'
    rows = []
    for line in lines:
        values = [value for _, value in line.points] or [math.nan]
        cells = "".join(
            f"<td>{written(number, defaults.get('unit', 'none'), defaults.get('decimals'))}</td>"
            for number in (values[-1], max(values))
        )
        rows.append(f"<tr><th>{swatch.format(colours[line.name], escape(line.name))}</th>{cells}</tr>")
    head = "<tr><th></th><td>last</td><td>max</td></tr>"
    return f'<div class="legend" style="height:{room:.0f}px"><table>{head}{"".join(rows)}</table></div>'
