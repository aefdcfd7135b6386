"""Grafana's colours, and which one a value gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMED: Final = {
    "green": "#73bf69",
    "yellow": "#f2cc0c",
    "orange": "#ff9830",
    "red": "#f2495c",
    "blue": "#5794f2",
    "purple": "#b877d9",
    "text": "#ccccdc",
}
PALETTE: Final = (
    *("#73bf69", "#f2cc0c", "#5794f2", "#ff9830", "#f2495c", "#b877d9", "#8ab8ff", "#ca95e5"),
    *("#37872d", "#fade2a", "#1f60c4", "#fa6400", "#c4162a", "#8f3bb8", "#3274d9", "#ffb357"),
)
_DARK_ON: Final = {"yellow", "green", "orange"}


def named(name: str) -> str:
    """The colour as CSS takes it."""
    return NAMED.get(name, name)


def step_name(value: float, thresholds: Mapping[str, Any]) -> str:
    """Name of the colour of the highest step that the value reaches."""
    found = "text"
    for step in thresholds["steps"]:
        if step["value"] is None or value >= step["value"]:
            found = step["color"]
    return found


def ink(name: str) -> str:
    """A text colour that can be read on a ground of that colour."""
    return "#111217" if name in _DARK_ON else "#ffffff"
