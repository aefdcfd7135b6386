"""Generated logs of traffic that depends on itself, folded by the monitor as `evenkeel backtest` does.

Every exchange has an identical resend and one rewording. Rates are shares of the traffic, so where the
outcomes of a prompt are fixed (Zipf, families), the truth is what the log itself holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from math import inf, pi, sin
from random import Random
from typing import Any, Final, NamedTuple

import msgspec

from benchmarks.kit import Table
from evenkeel.lab.backtest.log import read_lines
from evenkeel.monitor.detect import Alert, Measure
from evenkeel.monitor.estimate import Counts
from evenkeel.monitor.estimate.counts import RATED
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.stores.verdict_log import logged

NOISE: Final = 0.04
LIMIT: Final = 0.1
_START: Final = 1_793_527_200.0
_STEP_S: Final = 20.0
_SAME: Final = 3
"""Rating of an answer that did not shift."""
_LOOKED: Final = 50
"""Exchanges between two looks at the intervals."""
_PROMPTS: Final = 500
_BATCHED: Final = 0.8
"""Share of a batch that has its one outcome."""
_FIXED: Final = ("Zipf", "12")
"""First letters of the kinds whose prompts or families keep their outcomes or rates."""
_KIND: Final = "general.typos"
_ALPHA: Final = 0.05

Shift = Callable[[int, float, Random], bool]
"""Tells whether an exchange's answer shifts, by its number and the rate."""


def independent(_number: int, rate: float, rng: Random) -> bool:
    """Every exchange by itself."""
    return rng.random() < rate


def bursts(repeating: float) -> Shift:
    """A fifth of the exchanges in bursts of twenty, of which a share repeats the first one's outcome."""
    left, outcome = 0, False

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
    """Every fifth stretch is a batch, four in five of its exchanges with one outcome."""
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
    """Prompts recur by Zipf's law, each with one outcome for good."""
    weights = [1 / (place + 1) ** exponent for place in range(_PROMPTS)]
    outcomes: dict[int, bool] = {}

    def shift(_number: int, rate: float, rng: Random) -> bool:
        prompt = rng.choices(range(_PROMPTS), weights)[0]
        return outcomes.setdefault(prompt, rng.random() < rate)

    return shift


def families() -> Shift:
    """Twelve families of prompts, each with a rate of its own around the stated one."""
    rates: dict[int, float] = {}

    def shift(_number: int, rate: float, rng: Random) -> bool:
        family = rng.randrange(12)
        own = rates.setdefault(family, rng.betavariate(2 * rate + 0.01, 2 * (1 - rate) + 0.01))
        return rng.random() < own

    return shift


def diurnal(number: int, rate: float, rng: Random) -> bool:
    """The rate swings between zero and twice itself over 1,000 exchanges."""
    return rng.random() < rate * (1 + sin(2 * pi * number / 1000))


def alternating(number: int, rate: float, rng: Random) -> bool:
    """Stretches of 300 exchanges at zero and at twice the rate, in turn."""
    return rng.random() < (2 * rate if number // 300 % 2 else 0.0)


KINDS: Final[dict[str, Callable[[], Shift]]] = {
    "independent": lambda: independent,
    "bursts of 20, one outcome": lambda: bursts(1.0),
    "bursts of 20, near (80 % repeat)": lambda: bursts(0.8),
    "Zipf 1.1": lambda: zipf(1.1),
    "Zipf 1.5": lambda: zipf(1.5),
    "12 families": families,
    "nightly batch of 40": lambda: batch(40),
    "the same, across two blocks": lambda: batch(40, first=20),
    "rate swings over 1,000": lambda: diurnal,
    "rates in turn, 300 each": lambda: alternating,
}


def lines(shift: Shift, rates: Iterator[float], rng: Random) -> Iterator[dict[str, Any]]:
    """Yield the lines of a log: for each rate an exchange's control and its rewording."""
    for number, rate in enumerate(rates):
        outcomes = (rng.random() < NOISE, shift(number, rate, rng))
        for perturbation, shifted in zip(("control", _KIND), outcomes, strict=True):
            line: dict[str, Any] = {"time": _START + _STEP_S * number, "exchange": f"x{number}"}
            line |= {"perturbation": perturbation, "prompt_version": "v1", "prompt_language": "en"}
            if shifted:
                line |= {"rating": 2, "similarity": 0.45, "quality": rng.choice(("worse", "same"))}
            else:
                line |= {"rating": 3, "similarity": rng.choice((0.85, 0.95))}
            yield line


@dataclass(slots=True)
class Folded:
    """What came of a log."""

    verdicts: int = 0
    alerts: list[int] = field(default_factory=list)
    """Verdicts at which alerts were raised."""


def folded(rows: list[dict[str, Any]], until: float = inf) -> Folded:
    """Fold a log, up to the first alert after `until` verdicts; return its alerts."""
    state = MonitorState(replace(MonitorSettings(), trend_interval_s=inf))
    found = Folded()
    texts = (msgspec.json.encode(row) for row in rows)
    for number, verdict in enumerate(read_lines(texts, "log"), start=1):
        found.verdicts = number
        events = state.apply(logged(number, verdict)).events
        found.alerts += [number for event in events if event.kind == "raised"]
        if found.alerts and found.alerts[-1] > until:
            break
    return found


class Covered(NamedTuple):
    """Intervals of a log that held the truth at every look."""

    content: bool
    """Content delta of the rewording."""
    above_noise: bool
    """Its points above noise, as the cell shows them: while an alert is up they begin at the limit."""


def covered(rows: list[dict[str, Any]], truth: float) -> Covered:
    """Return which of the rewording's intervals hold the truth at every look.

    Only what the intervals rest on is computed, so that hundreds of logs are read in minutes.
    """
    alert = Alert(MonitorSettings().rules("default"))
    counts = Counts()
    content = above_noise = True
    for number, (control, variant) in enumerate(zip(rows[::2], rows[1::2], strict=True), start=1):
        shifted, floor = variant["rating"] < _SAME, control["rating"] < _SAME
        loss = control["similarity"] - variant["similarity"]
        observed = {Measure.CONTENT: shifted - floor, Measure.SIMILARITY: loss}
        observed[Measure.QUALITY] = (variant.get("quality") == "worse") - (control.get("quality") == "worse")
        effects = counts.effects
        alert.observe(observed, effect=effects.bets)
        effects.content.add(shifted - floor)
        effects.loss.add(loss)
        letter = RATED[2 if shifted else 3, "same" if shifted else None, shifted - floor].letter
        counts.words[letter] = counts.words.get(letter, 0) + 1
        if number % _LOOKED:
            continue
        counts.effect = effects.intervals
        shown = LIMIT if Measure.CONTENT in alert.over else None
        rate = counts.content_delta(alpha=_ALPHA, min_trials=1)
        excess = counts.excess(alpha=_ALPHA, min_trials=1, shown=shown)
        assert rate is not None
        assert excess is not None
        content = content and rate.lower <= truth <= rate.upper
        above_noise = above_noise and excess.lower <= truth - NOISE <= excess.upper
    return Covered(content, above_noise)


def coverage_table(runs: int, exchanges: int, seed: int, kinds: Sequence[str] = tuple(KINDS)) -> Table:
    """Share of logs whose intervals hold the traffic's share at every look."""
    rows = []
    for name in kinds:
        for rate, said in ((NOISE, "quiet"), (NOISE + LIMIT, "on the limit")):
            content = above_noise = 0
            for run in range(runs):
                log, share = _within_limit(name, KINDS[name], [rate] * exchanges, f"{seed}/{run}")
                held = covered(log, share if name.startswith(_FIXED) else rate)
                content += held.content
                above_noise += held.above_noise
            rows.append((name, said, f"{content / runs:.3f}", f"{above_noise / runs:.3f}"))
    notes = (f"{runs} logs of {exchanges:,} exchanges each, a look every {_LOOKED}.",)
    return Table("traffic-coverage", ("traffic", "rate", "content", "above noise"), tuple(rows), notes=notes)


def quiet_table(runs: int, exchanges: int, seed: int, kinds: Sequence[str] = tuple(KINDS)) -> Table:
    """Verdicts between alerts of quiet traffic and of traffic on its limit."""
    rows = []
    for name in kinds:
        make = KINDS[name]
        for rate, said in ((NOISE, "quiet"), (NOISE + LIMIT, "on the limit")):
            verdicts = alerts = 0
            for run in range(runs):
                log, _ = _within_limit(name, make, [rate] * exchanges, f"{seed}/{run}")
                found = folded(log)
                verdicts, alerts = verdicts + found.verdicts, alerts + len(found.alerts)
            between = f"{verdicts / alerts:,.0f}" if alerts else f"> {verdicts:,}"
            rows.append((name, said, between))
    heads = ("traffic", "rate", "trials between alerts")
    return Table(
        "traffic-quiet", heads, tuple(rows), notes=(f"{runs} logs of {exchanges:,} exchanges each.",)
    )


def _within_limit(
    name: str, make: Callable[[], Shift], rates: list[float], seed: str
) -> tuple[list[dict[str, Any]], float]:
    """Return a log and its share of shifts.

    Where prompts have their outcomes for good, a log may be over its limit: then an alert would be right, and
    another log is drawn.
    """
    for attempt in count():
        log = list(lines(make(), iter(rates), Random(f"{seed}/{name}/{attempt}")))
        share = sum(line["rating"] < _SAME for line in log[1::2]) / len(rates)
        if share <= NOISE + LIMIT or not name.startswith(_FIXED):
            return log, share
    raise AssertionError("unreachable")


def delays_table(runs: int, seed: int) -> Table:
    """Exchanges from a change to the first alert of any detector."""
    rows = []

    def measure(name: str, before: int, log: Callable[[Random], list[dict[str, Any]]]) -> None:
        delays = []
        for run in range(runs):
            alerts = folded(log(Random(f"{seed}/{name}/{run}")), until=2 * before).alerts
            after = [alert for alert in alerts if alert > 2 * before]
            delays.append((after[0] - 2 * before) / 2 if after else inf)
        rows.append((name, sum(delays) / runs, sorted(delays)[runs // 2], max(delays)))

    for points in (0.2, 0.4, 0.9):
        rates = [NOISE] * 1_500 + [NOISE + points] * 1_500
        measure(f"+{points:.0%}", 1_500, lambda rng, rates=rates: list(lines(independent, iter(rates), rng)))
    measure("every answer of a new cell", 0, lambda rng: list(lines(independent, iter([1.0] * 500), rng)))
    for jobs, share in ((1, 0.2), (1, 0.4), (1, 0.6), (5, 0.6)):
        name = (
            f"a job of {share:.0%} breaks" if jobs == 1 else f"one of {jobs} jobs, {share / jobs:.0%}, breaks"
        )
        measure(name, 1_000, lambda rng, share=share / jobs: job(share, 1_000, 1_500, rng))
    for versions in (1, 20):
        measure(f"drift +15%, {versions} prompt versions", 2_000, partial(drifting, versions))
    return Table("traffic-delays", ("change", "mean", "median", "most"), tuple(rows), digits=0)


def job(share: float, before: int, after: int, rng: Random) -> list[dict[str, Any]]:
    """Return a log in which from some exchange on every answer of a job with this share moves."""
    rates = []
    for number in range(before + after):
        broken = number >= before and rng.random() < share
        rates.append(1.0 if broken else NOISE)
    return list(lines(independent, iter(rates), rng))


def drifting(versions: int, rng: Random) -> list[dict[str, Any]]:
    """Return a log in which, of prompt versions in random order, all move 15 points more often in the end.

    Resends move as often, so that only the detector of drift can find it.
    """
    log = []
    for number in range(3_500):
        rate = 0.1 if number < 2_000 else 0.25  # noqa: PLR2004 - exchanges before the change
        version = f"v{rng.randrange(versions)}"
        for line in lines(independent, iter([rate]), rng):
            line |= {"time": _START + _STEP_S * number, "exchange": f"x{number}", "prompt_version": version}
            line |= {"rating": 2 if rng.random() < rate else 3}
            log.append({name: value for name, value in line.items() if name not in {"similarity", "quality"}})
    return log
