"""What was measured, as the tables of the page. Pure."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from benchmarks.detection.passages import RATES, SHIFTS
from benchmarks.kit import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.detection.rates import Delays, FalseAlarms, Pairs, Sizes


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

    rows = {
        "fresh, optimum at the nominal run": [one.fresh / one.optimum_fresh for one in measured],
        "fresh, optimum at the detector's own run": [one.fresh / one.equal_fresh for one in measured],
        "running, optimum at the nominal run": [one.running / one.optimum_running for one in measured],
        "running, optimum at the detector's own run": [one.running / one.equal_running for one in measured],
    }
    head = ("the detector's delay / that of the optimal CUSUM", "mean", "least", "most")
    return Table("optimum", head, tuple(row(*one) for one in rows.items()))


def delays(measured: Sequence[Delays]) -> Table:
    """Delays of the detector, fresh, with the ratio to the optimum."""
    cells = {
        (one.rate, one.shift): f"{one.fresh:,.0f} ({one.fresh / one.optimum_fresh:.2f})" for one in measured
    }
    return Table("delays", ("rate before", *_RISES), _by_rate(cells))


def _by_rate(cells: Mapping[tuple[float, float], str]) -> tuple[tuple[str, ...], ...]:
    """A row for each rate, a cell for each shift."""
    return tuple((f"{rate:g}", *(cells[rate, shift] for shift in SHIFTS)) for rate in RATES)


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
    cells = {
        (one.baseline, one.shift): (
            f"{one.detector:,.0f} ({one.detector / one.best_bet:.2f}, {one.detector / one.optimum:.2f})"
        )
        for one in measured
    }
    bet = fmean(one.detector / one.best_bet for one in measured)
    optimum = fmean(one.detector / one.optimum for one in measured)
    note = f"Mean ratios: {bet:.2f} and {optimum:.2f}."
    return Table("pairs", ("resend's rate", *_RISES), _by_rate(cells), notes=(note,))


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
