"""A whole dashboard as one HTML page."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from grafana.board import COLUMNS
from grafana.preview import fields, frames, graphs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from grafana.preview.scene import Answer, Scene

_GAP: Final = 8
_CELL_HEIGHT: Final = 30
_TITLE: Final = 30
_PADDING: Final = 8
_BAR: Final = 50

_STYLE: Final = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")


def page(dashboard: Mapping[str, Any], scene: Scene, width: int = 1500) -> tuple[str, int]:
    """The HTML of a dashboard with all rows open, and its height in pixels.

    Raises:
        QueryError: Prometheus did not take one of its queries.
    """
    scene = scene.with_defaults(dashboard)
    marks = [
        one.points[-1][1] / 1000
        for annotation in dashboard.get("annotations", {}).get("list", ())
        for one in scene.now(annotation["target"]["expr"])
    ]
    parts, lowest = [], 0.0
    for panel in dashboard["panels"]:
        for one in (panel, *panel.get("panels", ())):
            box = _Box.of(one["gridPos"], width)
            lowest = max(lowest, box.top + box.height)
            parts.append(_row(one, box) if one["type"] == "row" else _panel(one, box, scene, marks))
    shown = "".join(_choice(variable, scene) for variable in dashboard["templating"]["list"])
    body = f"<header><b>{escape(dashboard['title'])}</b>{shown}</header>{''.join(parts)}"
    height = int(lowest) + _GAP
    style = f"{_STYLE}body{{width:{width}px;height:{height}px}}"
    return f'<!doctype html><meta charset="utf-8"><style>{style}</style>{body}', height


def _choice(variable: Mapping[str, Any], scene: Scene) -> str:
    if variable.get("hide", 0) != 0 or variable["type"] == "datasource":
        return ""
    title, value = variable.get("label") or variable["name"], scene.chosen[variable["name"]]
    return f"<span>{escape(title)}: {escape('All' if value == '.*' else value)}</span>"


class _Box(NamedTuple):
    """Where a panel is, in pixels."""

    left: float
    top: float
    width: float
    height: float

    @classmethod
    def of(cls, place: Mapping[str, int], width: int) -> _Box:
        unit = (width - _GAP) / COLUMNS
        line = _CELL_HEIGHT + _GAP
        return cls(
            _GAP + place["x"] * unit,
            _BAR + place["y"] * line,
            place["w"] * unit - _GAP,
            place["h"] * line - _GAP,
        )

    @property
    def inside(self) -> tuple[float, float]:
        """Width and height of what is drawn below the title."""
        return self.width - 2 * _PADDING - 2, self.height - _TITLE - _PADDING - 2


def _row(row: Mapping[str, Any], box: _Box) -> str:
    return f'<h1 style="left:{box.left:.0f}px;top:{box.top:.0f}px">▾ {escape(row["title"])}</h1>'


def _panel(panel: Mapping[str, Any], box: _Box, scene: Scene, marks: list[float]) -> str:
    style = f"left:{box.left:.0f}px;top:{box.top:.0f}px;width:{box.width:.0f}px;height:{box.height:.0f}px"
    drawn = _inside(panel, scene, box.inside, marks)
    return (
        f'<section style="{style}"><h2>{escape(panel["title"])}</h2>'
        f'<div style="height:{box.inside[1]:.0f}px">{drawn}</div></section>'
    )


def _inside(panel: Mapping[str, Any], scene: Scene, size: tuple[float, float], marks: list[float]) -> str:
    answers: list[tuple[dict[str, Any], list[Answer]]] = [
        (target, scene.now(target["expr"]) if target.get("instant") else scene.over_time(target["expr"]))
        for target in panel["targets"]
    ]
    if not any(found for _, found in answers):
        return f'<div class="none">{escape(panel["fieldConfig"]["defaults"]["noValue"])}</div>'
    span = (scene.start_s, scene.end_s)
    first_target, first = answers[0]
    match panel["type"]:
        case "stat":
            return fields.number(panel, first, size)
        case "bargauge":
            return fields.bars(panel, first_target, first, size)
        case "table":
            rows = frames.table(panel, [(target["refId"], found) for target, found in answers])
            return fields.table(panel, rows, size)
        case "heatmap":
            unit = panel["fieldConfig"]["defaults"].get("unit", "none")
            return graphs.spread(first, span, size, scene.step_s, unit)
        case "timeseries":
            return graphs.graph(panel, graphs.lines_of(panel, answers), span, size, marks)
    raise ValueError(f"panel {panel['title']!r}: cannot draw {panel['type']!r}")
