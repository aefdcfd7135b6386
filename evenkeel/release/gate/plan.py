"""A gate's prospects before anything is asked: how many goldens settle which regression, or a pass.

Answers are drawn: noise breaches a measure by chance, on both sides alike, and a regression breaches it on
some of the goldens always. Goldens of one cluster are taken to be answered alike, so what is drawn are
clusters. One measure is drawn, at the level that it has among those that decide, so that others find more.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from math import log
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from evenkeel.core.figures import count, number, percent
from evenkeel.monitor.detect.gate import GateRules
from evenkeel.monitor.detect.gate_evidence import SHARES
from evenkeel.monitor.detect.last_look import p_value, scores
from evenkeel.release.kit.document import Column, Document, FigureForm, Paragraph, ReportSection, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from evenkeel.core.cells import CellReport
    from evenkeel.release.kit.document import Block, Value

EXCESSES: Final = (0.05, 0.1, 0.15, 0.3)
"""Regressions that are planned for."""
LADDER: Final = (20, 30, 40, 50, 70, 100, 150, 200, 300, 500, 700, 1000)
"""Numbers of clusters that are tried."""
_SHOWN: Final = (20, 50, 100, 200, 500)
LIKELY: Final = 0.8
"""Share of the runs from which on a number of clusters is enough."""
# Simulated runs behind each share that the plan states.
_RUNS: Final = 400
_TENTHS: Final = 10
# Number of clusters that no run reaches.
_NEVER: Final = 10**9


@dataclass(frozen=True, slots=True)
class Scenario:
    """Facts known in advance."""

    noise: float
    """Share of the reference's answers that breach the measure by chance, in [0, 1)."""
    measures: int = 2
    """Measures that can fail the gate."""
    repeats: int = 1
    """Calls for each golden and side."""
    rules: GateRules = field(default_factory=GateRules)
    seed: int = 0


class Outlook(NamedTuple):
    """Outcomes of a gate over a number of clusters, as shares of the runs."""

    clusters: int
    regression: float
    passed: float
    asked: float
    """Clusters until it stops, on average."""


@lru_cache(maxsize=64)
def outlooks(scenario: Scenario, excess: float, numbers: tuple[int, ...]) -> tuple[Outlook, ...]:
    """Simulate gates over each number of clusters.

    Args:
        scenario: Noise, measures and rules.
        excess: How many more of the candidate's answers breach the measure; below 1 − noise.
        numbers: Of clusters.
    """
    rules, most = scenario.rules, max(numbers)
    rng = np.random.default_rng([scenario.seed, round(excess * 1e6), round(scenario.noise * 1e6)])
    shape, repeats = (_RUNS, most), scenario.repeats
    candidate = rng.binomial(repeats, scenario.noise, shape)
    candidate[rng.random(shape) < excess / (1 - scenario.noise)] = repeats
    reference = rng.binomial(repeats, scenario.noise, shape)
    differences = (candidate - reference) / repeats
    worse, harmless = _evidence(differences, rules.tolerance), _evidence(-differences, -rules.limit)
    worse_at = _first(worse >= log(scenario.measures / (rules.alpha * rules.sequential)))
    passed_at = _first(harmless >= log(1 / (rules.beta * rules.sequential)))
    outlooks_found = []
    for n in numbers:
        regression = (worse_at <= n) & (worse_at < passed_at)
        passed = (passed_at <= n) & ~regression
        left = np.flatnonzero(~regression & ~passed)
        if rules.last_look:
            alpha = rules.alpha * rules.last_look / scenario.measures
            beta = rules.beta * rules.last_look
            seen = differences[left, :n]
            if repeats > 1:
                regression[left] = [p_value(Counter(run.tolist()), rules.tolerance) <= alpha for run in seen]
                passed[left] = ~regression[left] & (harmless[left, n - 1] >= log(1 / beta))
            else:
                ups, downs = (seen > 0).sum(axis=1), (seen < 0).sum(axis=1)
                regression[left] = _rejected(ups, downs, n, rules.tolerance, alpha)
                passed[left] = ~regression[left] & _rejected(downs, ups, n, -rules.limit, beta)
        asked = np.minimum(np.minimum(worse_at, passed_at), n).mean()
        outlooks_found.append(Outlook(n, float(regression.mean()), float(passed.mean()), float(asked)))
    return tuple(outlooks_found)


def _evidence(differences: NDArray[np.float64], threshold: float) -> NDArray[np.float64]:
    """Log evidence after each cluster of each run."""
    wealths = []
    for share in SHARES:
        wealths.append(np.cumsum(np.log1p(share / (1 + threshold) * (differences - threshold)), axis=1))
    evidence: NDArray[np.float64] = np.logaddexp.reduce(wealths, axis=0) - log(len(SHARES))
    return evidence


def _first(reached: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Clusters after which each run reached its goal."""
    return np.where(reached.any(axis=1), reached.argmax(axis=1) + 1, _NEVER)


def _rejected(
    worse: NDArray[np.int64], better: NDArray[np.int64], n: int, threshold: float, level: float
) -> NDArray[np.bool_]:
    """Which outcomes the last look rejects: its p-value falls with the score."""
    standing = scores(worse, better, n, threshold)
    ascending = np.argsort(standing)

    def rejected(index: int) -> bool:
        up, down = int(worse[index]), int(better[index])
        return p_value({1.0: up, -1.0: down, 0.0: n - up - down}, threshold) <= level

    first = bisect_left(ascending, x=True, key=rejected)
    least = standing[ascending[first]] if first < len(ascending) else np.inf
    crossed: NDArray[np.bool_] = standing >= least
    return crossed


def enough(scenario: Scenario, excess: float) -> int | None:
    """The fewest clusters of the ladder that settle it in most runs: a regression, or without one a pass.

    Returns: None if even the most are too few.
    """
    return next(
        (
            outlook.clusters
            for outlook in outlooks(scenario, excess, LADDER)
            if (outlook.regression if excess else outlook.passed) >= LIKELY
        ),
        None,
    )


def noise_of(reports: Iterable[CellReport], route: str | None = None) -> float | None:
    """The noise floor that the cells of a route have, or of all routes; None if none was measured."""
    floors = {}
    for report in reports:
        if report.noise_floor is not None and route in {None, report.key.route}:
            floors[report.key.route, report.key.model] = report.noise_floor
    observations = sum(floor.n for floor in floors.values())
    if not observations:
        return None
    return sum(floor.value * floor.n for floor in floors.values()) / observations


def sentence(scenario: Scenario, goldens: int, clusters: int | None = None, excess: float = 0.15) -> str:
    """Say in one sentence what a number of goldens can do.

    Args:
        scenario: What is known.
        goldens: How many there are.
        clusters: How many clusters they form; None = each is one of its own.
        excess: Size of the regression.
    """
    units = goldens if clusters is None else clusters
    (outlook,), (equal,) = outlooks(scenario, excess, (units,)), outlooks(scenario, 0.0, (units,))
    least = enough(scenario, 0.0)
    sample = count(goldens, "golden")
    what = "goldens"
    if units < goldens:
        sample, what = f"{sample} in {count(units, 'cluster')}", "clusters"
    passes = f"takes {number(least)} {what}" if least else f"takes more than {number(LADDER[-1])} {what}"
    return (
        f"With {sample} at {percent(scenario.noise)} noise, the gate finds a regression of "
        f"{round(100 * excess)} points in {_tenths(outlook.regression)} runs, and passes an equal candidate "
        f"in {_tenths(equal.passed)}. To pass it in {percent(LIKELY)} of them {passes}."
    )


def _tenths(share: float) -> str:
    return f"{round(_TENTHS * share)} of {_TENTHS}"


class Prospect(NamedTuple):
    """Simulate a gate's rulings on a regression of some size."""

    regression: float
    """Share of the answers that got worse; 0 = an equal candidate."""
    enough: int | None
    """Clusters after which four runs in five settle it; None = more than are tried."""
    chances: dict[int, float]
    """Share of the runs that settle it, by the number of clusters."""


def prospects(scenario: Scenario, clusters: int) -> list[Prospect]:
    """Candidates that are planned for: an equal candidate, and regressions of several sizes.

    Args:
        scenario: What is known.
        clusters: How many there are today.
    """
    prospects_found = []
    for excess in (0.0, *(each for each in EXCESSES if each + scenario.noise < 1)):
        seen = outlooks(scenario, excess, _numbers(clusters))
        chances = {outlook.clusters: outlook.regression if excess else outlook.passed for outlook in seen}
        prospects_found.append(Prospect(excess, enough(scenario, excess), chances))
    return prospects_found


def _numbers(clusters: int) -> tuple[int, ...]:
    return tuple(sorted({*_SHOWN, *([clusters] if clusters else [])}))


def document(
    scenario: Scenario,
    goldens: int,
    clusters: int,
    source: str,
    *,
    noise_from: str,
    effort: Sequence[str] = (),
) -> Document:
    """The plan, for people.

    Args:
        scenario: What is known.
        goldens: How many there are today.
        clusters: How many clusters they form.
        source: Where they come from.
        noise_from: Where the noise comes from.
        effort: Lines about calls and cost.
    """
    what = "Goldens" if clusters == goldens else "Clusters"
    columns = (
        Column("Candidate"), Column(f"{what} for {percent(LIKELY)}"),
        *(Column(number(count), FigureForm.PERCENT) for count in _numbers(clusters)),
    )  # fmt: skip
    rows: list[tuple[Value, ...]] = []
    for prospect in prospects(scenario, clusters):
        points = round(100 * prospect.regression)
        name = f"{points} points worse: found" if points else "equal: passes"
        least = number(prospect.enough) if prospect.enough else f"over {number(LADDER[-1])}"
        rows.append((name, least, *prospect.chances.values()))
    blocks: list[Block] = [Table(columns, tuple(rows))]
    if goldens:
        blocks.append(Paragraph(sentence(scenario, goldens, clusters)))
    repeated = f", {number(scenario.repeats)} calls a golden and side" if scenario.repeats > 1 else ""
    blocks += [Paragraph(line, tone="quiet") for line in effort]
    return Document(
        title="evenkeel gate: plan",
        kind="gate",
        subtitle=f"{source}. Noise {percent(scenario.noise)} ({noise_from}){repeated}; "
        f"{number(scenario.measures)} measures decide. Shares of {number(_RUNS)} simulated runs, seed "
        f"{scenario.seed}.",
        sections=(ReportSection("", tuple(blocks), key="plan"),),
    )
