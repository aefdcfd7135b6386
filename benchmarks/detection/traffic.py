"""Generated logs whose exchanges depend on each other, folded into the monitor as `evenkeel backtest` does.

Every exchange has an identical resend and one rewording. Rates are shares of the traffic: if a prompt keeps
its outcome (Zipf, families), the true rate is the share of shifts in the log itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from math import inf, pi, sin
from random import Random
from typing import Any, Final, NamedTuple

import msgspec

from benchmarks.kit import ResultTable
from evenkeel.lab.backtest.log import read_lines
from evenkeel.monitor.detect import Alert, Measure
from evenkeel.monitor.estimate import Counts
from evenkeel.monitor.estimate.counts import RATED
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.stores.verdict_log import logged

NOISE: Final = 0.04  # share of resends that shift
LIMIT: Final = 0.1  # limit of points above noise, as by default
_START: Final = 1_793_527_200.0
_STEP_S: Final = 20.0  # between two exchanges
# Rating of an answer that did not shift.
_SAME: Final = 3
# Exchanges between two looks at the intervals.
_LOOK_EVERY: Final = 50
_PROMPTS: Final = 500  # number of different prompts in Zipf's law
# Share of a batch's exchanges that have the outcome of the batch.
_BATCHED: Final = 0.8
# First letters of the kinds of traffic whose prompts or families keep their outcomes or rates.
_FIXED: Final = ("Zipf", "12")
_PERTURBATION: Final = "general.typos"
_ALPHA: Final = 0.05  # of intervals that hold in 95 of 100 cases

Shift = Callable[[int, float, Random], bool]
"""Function that shifts an exchange's answer or not, by the number of the exchange and the rate."""
Line = dict[str, Any]
MakeLog = Callable[[Random], list[Line]]


def independent(_number: int, rate: float, rng: Random) -> bool:
    """Shift every exchange by itself."""
    return rng.random() < rate


def bursts(repeating: float) -> Shift:
    """Put a fifth of the exchanges into bursts of twenty; a share of each repeats its first outcome."""
    left = 0
    outcome = False

    def shift(_number: int, rate: float, rng: Random) -> bool:
        nonlocal left, outcome
        if not left and rng.random() < 0.2 / 0.8 / 20:
            left, outcome = 20, rng.random() < rate
        shifted = rng.random() < rate
        if left:
            left -= 1
            shifted = outcome if rng.random() < repeating else shifted
        return shifted

    return shift


def batch(size: int, first: int = 0) -> Shift:
    """Make every fifth stretch a batch in which four of five exchanges have the same outcome."""
    outcome = False

    def shift(number: int, rate: float, rng: Random) -> bool:
        nonlocal outcome
        place = (number - first) % (5 * size)
        if place == 0:
            outcome = rng.random() < rate
        shifted = rng.random() < rate
        return outcome if place < size and rng.random() < _BATCHED else shifted

    return shift


def zipf(exponent: float) -> Shift:
    """Repeat prompts by Zipf's law; each keeps its first outcome."""
    weights = [1 / rank**exponent for rank in range(1, _PROMPTS + 1)]
    outcomes: dict[int, bool] = {}

    def shift(_number: int, rate: float, rng: Random) -> bool:
        prompt = rng.choices(range(_PROMPTS), weights)[0]
        return outcomes.setdefault(prompt, rng.random() < rate)

    return shift


def families() -> Shift:
    """Draw twelve families of prompts, each with a rate of its own around the stated one."""
    rates: dict[int, float] = {}

    def shift(_number: int, rate: float, rng: Random) -> bool:
        family = rng.randrange(12)
        own = rates.setdefault(family, rng.betavariate(2 * rate + 0.01, 2 * (1 - rate) + 0.01))
        return rng.random() < own

    return shift


def diurnal(number: int, rate: float, rng: Random) -> bool:
    """Swing the rate between zero and twice itself over 1,000 exchanges."""
    return rng.random() < rate * (1 + sin(2 * pi * number / 1000))


def alternating(number: int, rate: float, rng: Random) -> bool:
    """Alternate stretches of 300 exchanges at zero and at twice the rate."""
    return rng.random() < (2 * rate if number // 300 % 2 else 0.0)


# Most kinds keep a state, so each log makes a shift of its own.
KINDS: Final[dict[str, Callable[[], Shift]]] = {
    "independent": lambda: independent,
    "bursts of 20, one outcome": partial(bursts, 1.0),
    "bursts of 20, near (80 % repeat)": partial(bursts, 0.8),
    "Zipf 1.1": partial(zipf, 1.1),
    "Zipf 1.5": partial(zipf, 1.5),
    "12 families": families,
    "nightly batch of 40": partial(batch, 40),
    "the same, across two blocks": partial(batch, 40, first=20),
    "rate swings over 1,000": lambda: diurnal,
    "rates in turn, 300 each": lambda: alternating,
}
_LEVELS: Final = ((NOISE, "quiet"), (NOISE + LIMIT, "on the limit"))


def lines(shift: Shift, rates: Sequence[float], rng: Random) -> Iterator[Line]:
    """Yield the lines of a log: for each rate, the control of an exchange and its rewording."""
    for number, rate in enumerate(rates):
        outcomes = {"control": rng.random() < NOISE, _PERTURBATION: shift(number, rate, rng)}
        for perturbation, shifted in outcomes.items():
            line: Line = {"time": _START + _STEP_S * number, "exchange": f"x{number}"}
            line |= {"perturbation": perturbation, "prompt_version": "v1", "prompt_language": "en"}
            if shifted:
                line |= {"rating": 2, "similarity": 0.45, "quality": rng.choice(("worse", "same"))}
            else:
                line |= {"rating": 3, "similarity": rng.choice((0.85, 0.95))}
            yield line


def independent_log(rates: Sequence[float], rng: Random) -> list[Line]:
    """Return a log of independent exchanges with these rates."""
    return list(lines(independent, rates, rng))


def alerts_of(log: list[Line], until: float = inf) -> list[int]:
    """Fold a log up to its first alert after `until` verdicts; return the verdict number of each alert."""
    state = MonitorState(replace(MonitorSettings(), trend_interval_s=inf))
    alerts: list[int] = []
    for number, verdict in enumerate(read_lines(map(msgspec.json.encode, log), "log"), start=1):
        for event in state.apply(logged(number, verdict)).events:
            if event.kind == "raised":
                alerts.append(number)
        if alerts and alerts[-1] > until:
            break
    return alerts


class LogCoverage(NamedTuple):
    """Intervals of a log that held the truth at every look."""

    content: bool
    """Interval of the rewording's content delta."""
    above_noise: bool
    """Interval of its points above noise as the cell shows them: at an alert, they begin at the limit."""


def coverage_of(log: list[Line], truth: float) -> LogCoverage:
    """Return which of the rewording's intervals hold the truth at every look.

    Computes only what the intervals depend on, so that hundreds of logs take minutes.
    """
    alert = Alert(MonitorSettings().rules("default"))
    counts = Counts()
    content = above_noise = True
    for number, (control, variant) in enumerate(zip(log[::2], log[1::2], strict=True), start=1):
        shifted = variant["rating"] < _SAME
        floor = control["rating"] < _SAME
        loss = control["similarity"] - variant["similarity"]
        worse = (variant.get("quality") == "worse") - (control.get("quality") == "worse")
        observed = {Measure.CONTENT: shifted - floor, Measure.SIMILARITY: loss, Measure.QUALITY: worse}
        effects = counts.effects
        alert.observe(observed, effect=effects.bets)
        effects.content.add(float(shifted))
        effects.loss.add(loss)
        letter = RATED[2 if shifted else 3, "same" if shifted else None, shifted - floor].letter
        counts.words[letter] = counts.words.get(letter, 0) + 1
        if number % _LOOK_EVERY:
            continue
        counts.effect = effects.intervals
        shown = LIMIT if Measure.CONTENT in alert.over else None
        rate = counts.content_delta(alpha=_ALPHA, min_trials=1)
        excess = counts.excess(alpha=_ALPHA, min_trials=1, shown=shown)
        assert rate is not None
        assert excess is not None
        content = content and rate.lower <= truth <= rate.upper
        above_noise = above_noise and excess.lower <= truth - NOISE <= excess.upper
    return LogCoverage(content, above_noise)


def coverage_table(runs: int, exchanges: int, seed: int, kinds: Sequence[str] = tuple(KINDS)) -> ResultTable:
    """Return the share of logs whose intervals hold the traffic's rate at every look."""
    rows = []
    for name in kinds:
        for rate, level in _LEVELS:
            content = above_noise = 0
            for run in range(runs):
                log, share = _log_within_limit(name, [rate] * exchanges, f"{seed}/{run}")
                coverage = coverage_of(log, share if name.startswith(_FIXED) else rate)
                content += coverage.content
                above_noise += coverage.above_noise
            rows.append((name, level, f"{content / runs:.3f}", f"{above_noise / runs:.3f}"))
    notes = (f"{runs} logs of {exchanges:,} exchanges each, a look every {_LOOK_EVERY}.",)
    return ResultTable(
        "traffic-coverage", ("traffic", "rate", "content", "above noise"), tuple(rows), notes=notes
    )


def quiet_table(runs: int, exchanges: int, seed: int, kinds: Sequence[str] = tuple(KINDS)) -> ResultTable:
    """Return the verdicts between alerts on quiet traffic and on traffic at its limit."""
    rows = []
    for name in kinds:
        for rate, level in _LEVELS:
            verdicts = alerts = 0
            for run in range(runs):
                log, _ = _log_within_limit(name, [rate] * exchanges, f"{seed}/{run}")
                verdicts += len(log)
                alerts += len(alerts_of(log))
            between = f"{verdicts / alerts:,.0f}" if alerts else f"> {verdicts:,}"
            rows.append((name, level, between))
    heads = ("traffic", "rate", "trials between alerts")
    notes = (f"{runs} logs of {exchanges:,} exchanges each.",)
    return ResultTable("traffic-quiet", heads, tuple(rows), notes=notes)


def _log_within_limit(name: str, rates: list[float], seed: str) -> tuple[list[Line], float]:
    """Return a log of a kind of traffic, and its share of shifts.

    If prompts keep their outcomes, a log may exceed its limit; an alert would then be right, so another log
    is drawn.
    """
    for attempt in count():
        log = list(lines(KINDS[name](), rates, Random(f"{seed}/{name}/{attempt}")))
        share = sum(line["rating"] < _SAME for line in log[1::2]) / len(rates)
        if share <= NOISE + LIMIT or not name.startswith(_FIXED):
            return log, share
    raise AssertionError("unreachable")


def delays_table(runs: int, seed: int) -> ResultTable:
    """Return the exchanges from a change to the first alert of any detector."""
    # Name of each change, the exchanges before it, and its log.
    changes: list[tuple[str, int, MakeLog]] = []
    for points in (0.2, 0.4, 0.9):
        rates = [NOISE] * 1_500 + [NOISE + points] * 1_500
        changes.append((f"+{points:.0%}", 1_500, partial(independent_log, rates)))
    changes.append(("every answer of a new cell", 0, partial(independent_log, [1.0] * 500)))
    for share in (0.2, 0.4, 0.6):
        changes.append((f"a job of {share:.0%} breaks", 1_000, partial(job, share, 1_000, 1_500)))
    changes.append(("one of 5 jobs, 12%, breaks", 1_000, partial(job, 0.12, 1_000, 1_500)))
    for versions in (1, 20):
        changes.append((f"drift +15%, {versions} prompt versions", 2_000, partial(drifting, versions)))
    rows = []
    early = 0
    for name, before, log in changes:
        delays = []
        for run in count():
            alerts = alerts_of(log(Random(f"{seed}/{name}/{run}")), until=2 * before)
            if alerts and alerts[0] <= 2 * before:
                early += 1
                continue
            delays.append((alerts[0] - 2 * before) / 2 if alerts else inf)
            if len(delays) == runs:
                break
        rows.append((name, sum(delays) / runs, sorted(delays)[runs // 2], max(delays)))
    notes = (f"{early} further logs had an alert before the change.",)
    heads = ("change", "mean", "median", "most")
    return ResultTable("traffic-delays", heads, tuple(rows), digits=0, notes=notes)


def job(share: float, before: int, after: int, rng: Random) -> list[Line]:
    """Return a log in which every answer of a job with this share of the traffic moves after the change."""
    rates = []
    for number in range(before + after):
        broken = number >= before and rng.random() < share
        rates.append(1.0 if broken else NOISE)
    return independent_log(rates, rng)


def drifting(versions: int, rng: Random) -> list[Line]:
    """Return a log in which the answers of all prompt versions move 15 points more often after a change.

    Resends move as often as rewordings, so that only the drift detector can find the change.
    """
    log = []
    for number in range(3_500):
        rate = 0.1 if number < 2_000 else 0.25  # noqa: PLR2004 - exchanges before the change
        version = f"v{rng.randrange(versions)}"
        for line in lines(independent, [rate], rng):
            line |= {"time": _START + _STEP_S * number, "exchange": f"x{number}", "prompt_version": version}
            line["rating"] = 2 if rng.random() < rate else 3
            line.pop("similarity")
            line.pop("quality", None)
            log.append(line)
    return log
