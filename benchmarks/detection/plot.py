"""The picture of the page: trials to the alarm over the size of the change. Pure."""

from __future__ import annotations

from math import log10
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.detection.streams import SHIFTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.detection.rates import Delays

SHOWN: Final = (0.05, 0.2, 0.5)
"""Rates before the change that have a panel."""

_PANEL: Final = 250
_GAP: Final = 24
_LEFT: Final = 56
_TOP, _BOTTOM = 44, 286
_HEIGHT: Final = 372
_LOWEST, _HIGHEST = 10, 3000
_TICKS: Final = (10, 30, 100, 300, 1000, 3000)


class _Look(NamedTuple):
    """How a line is drawn: dashes as well as colour, for those who cannot tell the colours."""

    colour: str
    dashes: str
    width: float


_LOOKS: Final = {
    "e-detector": _Look("#0b6e4f", "", 2.6),
    "optimum": _Look("#6b7280", "2 3", 1.8),
    "window, line of its own": _Look("#b45309", "7 3", 1.8),
    "window, one margin": _Look("#d97706", "2 2", 1.8),
    "z-test": _Look("#1d4ed8", "9 3 2 3", 1.8),
    "PSI": _Look("#7c3aed", "4 2", 1.8),
}


def _y(trials: float) -> float:
    share = log10(min(max(trials, _LOWEST), _HIGHEST) / _LOWEST) / log10(_HIGHEST / _LOWEST)
    return round(_BOTTOM - (_BOTTOM - _TOP) * share, 1)


def _x(panel: int, shift: float) -> float:
    return round(_LEFT + panel * (_PANEL + _GAP) + 12 + (_PANEL - 24) * shift / SHIFTS[-1], 1)


def draw(measured: Sequence[Delays]) -> str:
    """Panels for some rates: delays while running, at the same mean run to a false alarm, on a log scale."""
    width = _LEFT + len(SHOWN) * (_PANEL + _GAP)
    middle = (_TOP + _BOTTOM) / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_HEIGHT}" role="img">',
        '<g font-family="system-ui, sans-serif" font-size="12" fill="#374151">',
        "<title>Mean trials from a change to the alarm, by the size of the change</title>",
        f'<rect width="{width}" height="{_HEIGHT}" fill="#ffffff"/>',
        f'<g transform="translate(14 {middle}) rotate(-90)">',
        '<text text-anchor="middle">trials to the alarm</text></g>',
    ]
    for number, rate in enumerate(SHOWN):
        parts += _panel(number, rate, [one for one in measured if one.rate == rate])
    parts += _legend(width)
    return "\n".join([*parts, "</g>", "</svg>"]) + "\n"


def _panel(number: int, rate: float, places: Sequence[Delays]) -> list[str]:
    left, right = _LEFT + number * (_PANEL + _GAP), _LEFT + number * (_PANEL + _GAP) + _PANEL
    parts = [f'<text x="{left}" y="{_TOP - 16}" font-weight="600">rate {rate:g} before</text>']
    for tick in _TICKS:
        y = _y(tick)
        parts.append(f'<line x1="{left}" y1="{y}" x2="{right}" y2="{y}" stroke="#e5e7eb"/>')
        if number == 0:
            parts.append(f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{tick:,}</text>')
    parts += [
        f'<text x="{_x(number, shift)}" y="{_BOTTOM + 18}" text-anchor="middle">+{shift:g}</text>'
        for shift in SHIFTS
    ]
    for name, look in _LOOKS.items():
        points = [(_x(number, one.shift), one.trials_of[name]) for one in places]
        path = " ".join(f"{x},{_y(trials)}" for x, trials in points)
        dashes = f' stroke-dasharray="{look.dashes}"' if look.dashes else ""
        stroke = f'stroke="{look.colour}" stroke-width="{look.width}"{dashes}'
        parts.append(f'<polyline points="{path}" fill="none" {stroke}/>')
        parts += [
            f'<circle cx="{x}" cy="{_y(trials)}" r="3" fill="{look.colour}">'
            f"<title>{name}, {rate:g} + {one.shift:g}: {trials:,.0f} trials</title></circle>"
            for (x, trials), one in zip(points, places, strict=True)
        ]
    return parts


def _legend(width: int) -> list[str]:
    step = (width - _LEFT) // 3
    parts = []
    for number, (name, look) in enumerate(_LOOKS.items()):
        x, y = _LEFT + (number % 3) * step, _HEIGHT - 36 + 20 * (number // 3)
        dashes = f' stroke-dasharray="{look.dashes}"' if look.dashes else ""
        parts.append(
            f'<line x1="{x}" y1="{y - 4}" x2="{x + 30}" y2="{y - 4}" stroke="{look.colour}" '
            f'stroke-width="{look.width}"{dashes}/><text x="{x + 38}" y="{y}">{name}</text>'
        )
    return parts
