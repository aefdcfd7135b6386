"""The plots of the page, as SVG: how soon changes are found, and what that costs in false alarms."""

from __future__ import annotations

import math
from collections import defaultdict
from html import escape
from statistics import median
from typing import TYPE_CHECKING, Final

from benchmarks.upgrades.outcomes import false_alarms_a_year

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.upgrades.outcomes import Outcome

_WIDTH: Final = 860
_LEFT: Final = 250
_RIGHT: Final = 40
_ROW: Final = 34
_TOP: Final = 34
_FOOT: Final = 48
_OWN: Final = "#0b6e4f"
_OTHER: Final = "#8a5a00"
_INK: Final = "#222"
_LINE: Final = "#ddd"
_LABEL: Final = 14
"""Height of a line of text."""
_HALF: Final = 0.5
_DAYS: Final = (0.1, 0.3, 1.0, 3.0, 10.0)


def delays(outcomes: Sequence[Outcome]) -> str:
    """A row for each detector, a dot for each change: days until it was found, missed ones at the right."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for one in outcomes:
        if one.changes:
            groups[one.detector].append(one)
    height = _TOP + _ROW * len(groups) + _FOOT
    first, last = math.log10(0.02), math.log10(12)
    missed = _WIDTH - _RIGHT - 30

    def x(days: float) -> float:
        share = (math.log10(max(days, 0.02)) - first) / (last - first)
        return _LEFT + share * (missed - 40 - _LEFT)

    parts = [_text(_LEFT, 18, "days from a change until it is found; one dot a play", "start")]
    foot = height - _FOOT
    for days in _DAYS:
        parts += [_rule(x(days), _TOP - 6, foot), _text(x(days), foot + 18, f"{days:g}", "middle")]
    parts += [_rule(missed, _TOP - 6, foot), _text(missed, foot + 18, "missed", "middle")]
    for row, (name, runs) in enumerate(groups.items()):
        y = _TOP + _ROW * row + _ROW / 2
        parts.append(_text(_LEFT - 14, y + 4, name, "end"))
        places = (missed if one.days is None else x(one.days) for one in runs)
        parts += (
            _dot(place, y + (number % 5 - 2) * 4, 3.2, _colour(name), 0.55)
            for number, place in enumerate(places)
        )
        hits = [one.days for one in runs if one.days is not None]
        if 2 * len(hits) > len(runs):
            parts.append(_mark(x(median(one.days if one.days is not None else 99 for one in runs)), y))
    return _svg(height, parts, "Days from a change until each detector found it")


def trade(outcomes: Sequence[Outcome]) -> str:
    """A dot for each detector: false alarms a year against the share of changes that it found."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for one in outcomes:
        groups[one.detector].append(one)
    height = 400
    foot, left = height - _FOOT, 70
    last = math.log10(400)

    def x(alarms: float) -> float:
        return left + (math.log10(1 + alarms) / last) * (_WIDTH - _RIGHT - 210 - left)

    def y(share: float) -> float:
        return foot - share * (foot - _TOP - 10)

    parts = [
        _text(left, 18, "share of the changes found, against false alarms in a year of one route", "start")
    ]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        label = _text(left - 10, y(share) + 4, f"{share:.0%}", "end")
        parts += [_level(y(share), left, _WIDTH - _RIGHT), label]
    marks = (0, 1, 3, 10, 30, 100, 300)
    parts += (_text(x(alarms), foot + 18, f"{alarms}", "middle") for alarms in marks)
    labels: list[tuple[float, float]] = []
    for name, runs in groups.items():
        changed = [one for one in runs if one.changes]
        false = false_alarms_a_year(runs)
        if not changed or false is None:
            continue
        share = sum(one.days is not None for one in changed) / len(changed)
        place, step = (y(share) + 4, _LABEL) if share > _HALF else (y(share) - 8, -_LABEL)
        while any(abs(place - other) < _LABEL and abs(x(false) - at) < _LEFT for at, other in labels):
            place += step
        labels.append((x(false), place))
        parts.append(_dot(x(false), y(share), 6, _colour(name), 0.9))
        parts.append(_text(x(false) + 11, place, name, "start"))
    return _svg(height, parts, "Share of changes found against false alarms a year, by detector")


def _colour(name: str) -> str:
    return _OWN if name.startswith("evenkeel") else _OTHER


def _svg(height: float, parts: Iterable[str], title: str) -> str:
    inside = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:g}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="13">\n<title>{escape(title)}</title>\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{inside}\n</svg>\n'
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{_INK}">{escape(text)}</text>'


def _rule(x: float, top: float, foot: float) -> str:
    return f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{foot:.1f}" stroke="{_LINE}"/>'


def _level(y: float, left: float, right: float) -> str:
    return f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="{_LINE}"/>'


def _mark(x: float, y: float) -> str:
    ends = f'x1="{x:.1f}" x2="{x:.1f}" y1="{y - 13:.1f}" y2="{y + 13:.1f}"'
    return f'<line {ends} stroke="{_INK}" stroke-width="2"/>'


def _dot(x: float, y: float, radius: float, colour: str, opacity: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{colour}" fill-opacity="{opacity:g}"/>'
