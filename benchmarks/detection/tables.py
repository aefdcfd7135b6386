"""The picture of the page: trials to the alarm over the size of the change. Pure.

What was measured, as the tables of the page.
"""

from __future__ import annotations

from math import log10
from statistics import fmean
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.detection.family import CELLS, TRIALS
from benchmarks.detection.passages import RATES, SHIFTS
from benchmarks.kit import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.detection.family import Drift, Quiet, Worse
    from benchmarks.detection.rates import Delays, FalseAlarms, Pairs, Sizes


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


_ROUGH = 10
"""Ratios from which on the digits behind the point say nothing."""

_RISES = tuple(f"+{shift:g}" for shift in SHIFTS)


def false_alarms(measured: Sequence[FalseAlarms], sizes: Sizes) -> Table:
    """Mean runs to a false alarm, as shares of the nominal one."""
    rows = [
        (
            one.observed,
            name,
            f"{lengths.mean / sizes.nominal:.2f} ± {lengths.error / sizes.nominal:.2f}",
            lengths.height / sizes.nominal,
        )
        for one in measured
        for name, lengths in one.settings
    ]
    return Table(
        "false-alarms",
        (
            "what is watched",
            "rate, or mean ± spread",
            "mean run / nominal ± s.e.",
            "mean evidence at the alarm / nominal",
        ),
        tuple(rows),
        digits=3,
        notes=(f"Nominal {sizes.nominal:,.0f} trials; {sizes.false_alarms:,} runs each.",),
    )


def summary(measured: Sequence[Delays]) -> Table:
    """Ratios of the detector's delay to the optimum's, over all rates and shifts."""

    def row(name: str, ratios: Sequence[float]) -> tuple[str, float, float, float]:
        return name, fmean(ratios), min(ratios), max(ratios)

    return Table(
        "optimum",
        ("the detector's delay / that of the optimal CUSUM", "mean", "least", "most"),
        (
            row("fresh, optimum at the nominal run", [one.fresh / one.optimum_fresh for one in measured]),
            row(
                "fresh, optimum at the detector's own run", [one.fresh / one.equal_fresh for one in measured]
            ),
            row(
                "running, optimum at the nominal run", [one.running / one.optimum_running for one in measured]
            ),
            row(
                "running, optimum at the detector's own run",
                [one.running / one.equal_running for one in measured],
            ),
        ),
    )


def delays(measured: Sequence[Delays]) -> Table:
    """Delays of the detector, fresh, with the ratio to the optimum."""
    by_place = {(one.rate, one.shift): one for one in measured}
    rows = []
    for rate in RATES:
        places = [by_place[rate, shift] for shift in SHIFTS]
        rows.append(
            (f"{rate:g}", *(f"{one.fresh:,.0f} ({one.fresh / one.optimum_fresh:.2f})" for one in places))
        )
    return Table("delays", ("rate before", *_RISES), tuple(rows))


def rivals(measured: Sequence[Delays]) -> Table:
    """Delays of everything, running, in trials; in brackets as multiples of the detector's."""
    rows = []
    for one in measured:
        own = one.running
        cells = [
            f"{value:,.0f}" if name in {"e-detector", "optimum"} else f"{value:,.0f} ({_times(value / own)})"
            for name, value in one.trials_of.items()
        ]
        rows.append((f"{one.rate:g} + {one.shift:g}", *cells))
    return Table("rivals", ("rate", *measured[0].trials_of), tuple(rows))


def _times(ratio: float) -> str:
    return f"{ratio:.2f}" if ratio < _ROUGH else f"{ratio:,.0f}"


def pairs(measured: Sequence[Pairs]) -> Table:
    """Ratios for paired differences."""
    by_place = {(one.baseline, one.shift): one for one in measured}
    rows = []
    for rate in RATES:
        places = [by_place[rate, shift] for shift in SHIFTS]
        rows.append(
            (
                f"{rate:g}",
                *(
                    f"{one.detector:,.0f} ({one.detector / one.best_bet:.2f}, "
                    f"{one.detector / one.optimum:.2f})"
                    for one in places
                ),
            )
        )
    bet = fmean(one.detector / one.best_bet for one in measured)
    optimum = fmean(one.detector / one.optimum for one in measured)
    return Table(
        "pairs",
        ("resend's rate", *_RISES),
        tuple(rows),
        notes=(f"Mean ratios: {bet:.2f} and {optimum:.2f}.",),
    )


def grids(measured: Sequence[tuple[str, dict[tuple[float, float], float]]]) -> Table:
    """Ratios to the optimum for other bets."""
    rows = [
        (
            name,
            fmean(ratios.values()),
            max(ratios.values()),
            fmean(ratio for (_, shift), ratio in ratios.items() if shift == SHIFTS[0]),
            fmean(ratio for (_, shift), ratio in ratios.items() if shift == SHIFTS[-1]),
        )
        for name, ratios in measured
    ]
    columns = (
        "bets, as shares of the largest",
        "mean",
        "most",
        f"mean of {_RISES[0]}",
        f"mean of {_RISES[-1]}",
    )
    return Table("bets", columns, tuple(rows), digits=3)


def scores(measured: Sequence[tuple[str, float, float]]) -> Table:
    """Delays for scores that fall."""
    names = tuple(dict.fromkeys(name for name, _, _ in measured))
    falls = tuple(dict.fromkeys(fall for _, fall, _ in measured))
    taken = {(name, fall): delay for name, fall, delay in measured}
    return Table(
        "scores",
        ("mean ± spread before", *(f"−{fall:g}" for fall in falls)),
        tuple((name, *(taken[name, fall] for fall in falls)) for name in names),
        digits=0,
    )


def quiet(measured: Sequence[Quiet]) -> Table:
    """Alerts of families without a change."""
    rows = [
        (
            "exactly on its line" if one.excess > 0 else "no excess at all",
            int(one.level),
            TRIALS / one.level,
            f"{one.groups:.2f} ± {one.error:.2f}",
            one.alerts,
        )
        for one in measured
    ]
    columns = ("every cell is", "level", "promised", "moments with alerts", "alerts in them")
    return Table("family-quiet", columns, tuple(rows))


def worse(measured: Sequence[tuple[float, Worse]]) -> Table:
    """Delays of cells that worsened together."""
    rows = [
        (f"{one.cells} of {CELLS}", int(level), one.alone, one.together, f"{one.false_share:.1%}")
        for level, one in measured
    ]
    columns = ("worse", "level", "each alone", "e-BH", "false in the group")
    return Table("family-worse", columns, tuple(rows), digits=0)


def drift(measured: Sequence[Drift]) -> Table:
    """Baselines of few and many trials."""
    rows = [
        (
            f"{one.rate:g}",
            one.trials,
            f"{one.unchanged:.1%}",
            f"{one.naive:.0%}",
            f"{one.rise:,.0f}",
            f"{one.known:,.0f}",
        )
        for one in measured
    ]
    columns = (
        "rate", "baseline's trials", "false alerts", "line at the estimate", "+0.15 found", "rate known",
    )  # fmt: skip
    return Table("drift", columns, tuple(rows))
