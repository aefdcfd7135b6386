"""Alerts: run lengths with every measure on its limit, many cells, and delays where the floor is high."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.detection.drift import TOLERANCE
from benchmarks.detection.passages import AlertRuns, DriftRuns, passages, run_length
from benchmarks.kit import Table
from evenkeel.monitor.detect import Alert, AlertRules, DriftRules, Limit, Measure

if TYPE_CHECKING:
    from benchmarks.detection.passages import Draw, Floats

LIMITS: Final = {
    Measure.CONTENT: Limit(0.1),
    Measure.SIMILARITY: Limit(0.05),
    Measure.QUALITY: Limit(0.1),
    Measure.INVALID: Limit(0.1),
}
_SOON: Final = 200
"""Requests within which other answers are to be found."""
_LONG: Final = 3
"""Longest run in levels."""
_SPREAD: Final = 0.3
"""Losses of similarity are drawn evenly from ± this around their mean."""


def verify() -> None:
    """Compare the matrix with the class on one stream, bit for bit.

    Raises:
        AssertionError: if the evidence differs anywhere before the alarm.
    """
    rng = np.random.default_rng(5)
    rules = AlertRules(LIMITS, 20_000)
    alert, runs = Alert(rules), AlertRuns(rules, 2)
    for _ in range(20_000):
        observed = _on_the_limits(0.3, 0.05)(1, 2, rng)
        alert.observe({measure: float(row[0]) for measure, row in zip(LIMITS, observed, strict=True)})
        evidence = runs.step(observed)
        assert evidence[0] == alert.evidence
        if alert.up:
            return
    raise AssertionError("the excess was not found")


def _difference(noise: float, excess: float, runs: int, rng: np.random.Generator) -> Floats:
    """Moved(variant) − moved(resend), independent of each other."""
    moved = (rng.random(runs) < noise + excess).astype(float)
    return moved - (rng.random(runs) < noise)


def _on_the_limits(noise: float, beyond: float = 0.0, *, together: bool = False) -> Draw:
    """Every measure so far beyond its limit; independent, or moved by one event."""

    def draw(_trial: int, runs: int, rng: np.random.Generator) -> Floats:
        if together:
            return np.tile((rng.random(runs) < 0.1 + beyond).astype(float), (len(LIMITS), 1))
        loss = LIMITS[Measure.SIMILARITY].value + beyond + _SPREAD * (2 * rng.random(runs) - 1)
        pairs = [_difference(noise, 0.1 + beyond, runs, rng) for _ in range(2)]
        invalid = (rng.random(runs) < 0.1 + beyond).astype(float)
        return np.stack([pairs[0], loss, pairs[1], invalid])

    return draw


def lengths_table(level: float, runs: int, rng: np.random.Generator) -> Table:
    """Mean runs of alerts with their measures exactly on the limits."""

    def alone(measure: Measure, noise: float) -> tuple[AlertRules, Draw]:
        place = list(LIMITS).index(measure)
        whole = _on_the_limits(noise)
        rules = AlertRules({measure: LIMITS[measure]}, level)
        return rules, lambda *trial: whole(*trial)[place : place + 1]

    every = AlertRules(LIMITS, level)
    one_event = AlertRules({**LIMITS, Measure.SIMILARITY: Limit(0.1)}, level)
    cases = {
        "content or quality, noise 0.05": alone(Measure.CONTENT, 0.05),
        "content or quality, noise 0.2": alone(Measure.CONTENT, 0.2),
        "content or quality, noise 0.5": alone(Measure.CONTENT, 0.5),
        "similarity, ±0.3": alone(Measure.SIMILARITY, 0.2),
        "invalid": alone(Measure.INVALID, 0.2),
        "all four, independent": (every, _on_the_limits(0.2)),
        "all four, moved by one event": (one_event, _on_the_limits(0.2, together=True)),
    }
    cap = int(_LONG * level)
    rows = []
    for name, (rules, draw) in cases.items():
        make = partial(AlertRuns, rules)
        found = run_length(passages(make, draw, draw, [level], runs=runs, cap=cap, rng=rng)[0], cap)
        rows.append((name, f"{found.mean / level:.2f} ± {found.error / level:.2f}"))
    return Table("alert-lengths", ("on the limit", "mean run / level"), tuple(rows))


def cells_table(between: float, runs: int, rng: np.random.Generator) -> Table:
    """False alarms of many cells, counted as a reader counts them: alerts and drifts of all cells."""
    rows = []
    for cells, up in ((200, 0), (40, 16)):
        quiet = cells - up
        columns = 400 // quiet * quiet
        # Every cell is its own: those that are up change nothing for the others.
        steps = 25 * runs
        alarms = _alarms(columns, steps, 2 * between, rng)
        name = f"{cells} cells, {up} of them up" if up else f"{cells} cells"
        rows.append((name, columns * steps, alarms, columns * steps / max(alarms, 1) / between))
    heads = ("content of every cell on the limit", "trials", "alarms", "trials between them / stated")
    note = f"{between:,.0f} trials are stated; trials of cells that are up are not counted."
    return Table("alert-cells", heads, tuple(rows), notes=(note,))


_NOISE, _MOVED = 0.2, 0.3


def _alarms(cells: int, steps: int, level: float, rng: np.random.Generator) -> int:
    """Alarms of both detectors of cells whose content is on its limit; each starts anew after one."""
    rules = AlertRules({Measure.CONTENT: LIMITS[Measure.CONTENT]}, level)
    alerts, drifts = AlertRuns(rules, cells), DriftRuns(DriftRules(TOLERANCE, level), cells)
    alarms = 0
    for _ in range(steps):
        moved = (rng.random(cells) < _MOVED).astype(float)
        difference = moved - (rng.random(cells) < _NOISE)
        for detectors, observed in ((alerts, difference[None]), (drifts, moved)):
            over = detectors.step(observed) >= level
            if over.any():
                alarms += int(over.sum())
                detectors.restart(over)
    return alarms


_KINDS: Final = 4
"""Perturbations of each request, one cell each; they share its resend."""


def _grade(rating: Floats, similarity: Floats) -> Floats:
    return (np.clip(similarity, 0, 1) + (rating - 1) / 2) / 2


def _high_floor(other: float, rng: np.random.Generator) -> list[dict[Measure, float]]:
    """One request to a model whose resends move in 84 %: what each of its cells observes."""
    size = 1 + _KINDS
    rating = rng.choice([1, 2, 3], size, p=[0.04, 0.8, 0.16])
    similarity = rng.normal(0.5, 0.15, size)
    astray = rng.random(size) < other
    astray[0] = False
    rating[astray] = 1
    similarity[astray] = rng.normal(0.15, 0.05, astray.sum())
    grade = _grade(rating, similarity)
    return [
        {
            Measure.CONTENT: int(rating[kind] < 3) - int(rating[0] < 3),  # noqa: PLR2004 - the same content
            Measure.SIMILARITY: float(grade[0] - grade[kind]),
            Measure.QUALITY: 0,
        }
        for kind in range(1, size)
    ]


def _requests_to_alert(
    rules: AlertRules, other: float, most: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Requests until the first of the cells alarms, and until the last does; infinity for never."""
    alerts = [Alert(rules) for _ in range(_KINDS)]
    found: list[int] = []
    for request in range(1, most + 1):
        for alert, observed in zip(alerts, _high_floor(other, rng), strict=True):
            if not alert.up and alert.observe(observed):
                found.append(request)
        if len(found) == _KINDS:
            break
    return found[0] if found else np.inf, found[-1] if len(found) == _KINDS else np.inf


def floor_table(level: float, runs: int, rng: np.random.Generator) -> Table:
    """Another answer to 40 % of the perturbed prompts, where 84 % of the resends move as well."""
    content = {Measure.CONTENT: LIMITS[Measure.CONTENT]}
    most = {
        **content,
        Measure.SIMILARITY: LIMITS[Measure.SIMILARITY],
        Measure.QUALITY: LIMITS[Measure.QUALITY],
    }
    rows = []
    for name, limits, other, requests in (
        ("content, similarity, quality", most, 0.4, 1000),
        ("content alone", content, 0.4, 1000),
        ("content, similarity, quality; nothing wrong", most, 0.0, 1000),
    ):
        times = [_requests_to_alert(AlertRules(limits, level), other, requests, rng) for _ in range(runs)]
        first, last = np.array(times).T
        rows.append(
            (name, *(_shown(np.quantile(first, share, method="higher")) for share in (0.5, 0.95)),
             _shown(np.quantile(last, 0.95, method="higher")), f"{(first <= _SOON).mean():.0%}")
        )  # fmt: skip
    columns = (
        "measures",
        "first of 4 cells: median",
        "95 % of runs",
        "all cells: 95 % of runs",
        "within 200",
    )
    return Table("alert-floor", columns, tuple(rows), notes=("Requests, of at most 1,000.",))


def _shown(requests: float) -> str:
    return f"{requests:,.0f}" if np.isfinite(requests) else "never"


def content_table(level: float, runs: int, rng: np.random.Generator) -> Table:
    """What it costs to watch three measures if only content moves."""
    content = {Measure.CONTENT: LIMITS[Measure.CONTENT]}
    three = AlertRules({measure: LIMITS[measure] for measure in list(LIMITS)[:3]}, level)
    rows = []
    for noise in (0.05, 0.2, 0.5):
        for excess in (0.05, 0.15, 0.3):

            def draw(
                _trial: int, size: int, rng: np.random.Generator, noise: float = noise, excess: float = excess
            ) -> Floats:
                loss = _SPREAD * (2 * rng.random(size) - 1)
                moved = _difference(noise, 0.1 + excess, size, rng)
                return np.stack([moved, loss, _difference(noise / 2, 0, size, rng)])

            alone, all_three = (
                float(passages(make, draw, draw, [level], runs=runs, cap=20_000, rng=rng)[0].mean())
                for make in (partial(AlertRuns, AlertRules(content, level)), partial(AlertRuns, three))
            )
            rows.append((f"noise {noise:g}, +{excess:g}", alone, all_three, f"{all_three / alone:.2f}"))
    columns = ("content alone is over its limit", "watched alone", "beside similarity and quality", "ratio")
    return Table("alert-content", columns, tuple(rows), digits=0, notes=("Mean trials.",))
