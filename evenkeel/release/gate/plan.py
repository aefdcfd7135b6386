"""Chances of a gate before anything is asked: which regressions it finds, and how often it passes.

Answers are drawn: noise breaches a measure by chance on both sides alike, and a regression breaches it on
some of the goldens always. Goldens of one cluster are taken to be answered alike, so what is drawn are
clusters. Each run is decided by the exact tests after its last golden (`evenkeel.monitor.detect.last_look`).
A gate stops as soon as it is settled, which changes the shares by a few points at most for an equal candidate
and for a regression from the limit on. Smaller ones are left out, since what is settled first decides: at 2 %
noise, 500 goldens find 5 points in 52 % of the runs, where the last test alone would find 97 %.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from evenkeel.core.figures import count, number, percent
from evenkeel.monitor.detect.last_look import p_value, scores
from evenkeel.release.kit.document import Column, Document, FigureForm, Paragraph, ReportSection, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkeel.monitor.detect.gate import GateRules
    from evenkeel.release.kit.document import Block, Value

_EXCESSES: Final = (0.1, 0.15, 0.3)
_CLUSTERS: Final = (20, 50, 100, 200, 500)
# Drawn runs behind each share: it is known to within five points.
_RUNS: Final = 400


class Chances(NamedTuple):
    """Shares of the drawn runs by their verdict."""

    regression: float
    passed: float


def chances(noise: float, excess: float, clusters: int, rules: GateRules, *, measures: int) -> Chances:
    """Draw runs of the gate and decide them.

    Args:
        noise: Share of the answers of either side that breach the measure by chance, in [0, 1).
        excess: Share by which more of the candidate's answers breach it; below 1 − noise.
        clusters: Number of clusters in a run.
        rules: Rules of the gate.
        measures: Measures that decide, among which the error probability is shared; one of them is drawn.
    """
    # Seeded by what is drawn: the same question gets the same table.
    rng = np.random.default_rng([round(noise * 1e6), round(excess * 1e6), clusters])
    shape = (_RUNS, clusters)
    candidate = (rng.random(shape) < noise) | (rng.random(shape) < excess / (1 - noise))
    reference = rng.random(shape) < noise
    worse = (candidate & ~reference).sum(axis=1)
    better = (reference & ~candidate).sum(axis=1)
    alpha, beta = rules.alpha * rules.last_look / measures, rules.beta * rules.last_look
    regression = _shown(worse, better, clusters, rules.tolerance, alpha)
    passed = _shown(better, worse, clusters, -rules.limit, beta) & ~regression
    return Chances(float(regression.mean()), float(passed.mean()))


def _shown(
    up: NDArray[np.int64], down: NDArray[np.int64], n: int, threshold: float, level: float
) -> NDArray[np.bool_]:
    """Return in which runs the mean difference is shown to be above a threshold.

    The p-value falls with the score, so it is computed for some ten of the runs only.
    """
    standing = scores(up, down, n, threshold)
    ascending = np.argsort(standing)

    def is_shown(place: int) -> bool:
        ups, downs = int(up[place]), int(down[place])
        return p_value({1.0: ups, -1.0: downs, 0.0: n - ups - downs}, threshold) <= level

    first = bisect_left(ascending, x=True, key=is_shown)
    least = standing[ascending[first]] if first < len(ascending) else np.inf
    shown: NDArray[np.bool_] = standing >= least
    return shown


def document(noise: float, rules: GateRules, *, measures: int, goldens: int, clusters: int) -> Document:
    """Return the table of chances, with a column for the goldens that there are.

    Args:
        noise: See `chances`.
        rules: Rules of the gate.
        measures: Measures that decide.
        goldens: Number of goldens today; 0 = none were named.
        clusters: Number of clusters that they form.
    """
    sizes = sorted({*_CLUSTERS, *([clusters] if clusters else [])})
    rows: list[tuple[Value, ...]] = []
    excesses = [excess for excess in _EXCESSES if excess > rules.limit]
    for excess in (0.0, rules.limit, *excesses):
        if excess + noise < 1:
            name = f"{round(100 * excess)} points worse: found" if excess else "equal: passes"
            shares = []
            for size in sizes:
                shares.append(chances(noise, excess, size, rules, measures=measures))
            rows.append((name, *(share.regression if excess else share.passed for share in shares)))
    columns = (Column("Candidate"), *(Column(number(size), FigureForm.PERCENT) for size in sizes))
    yours = f"Your {count(goldens, 'golden')} form {count(clusters, 'cluster')}, which is what counts."
    about = (
        f"Share of {number(_RUNS)} drawn runs, by clusters of goldens, at {percent(noise)} noise. "
        f"{count(measures, 'measure')} can fail the gate. --repeats finds more where there is noise."
    )
    blocks: list[Block] = [Table(columns, tuple(rows)), Paragraph(about, tone="quiet")]
    if goldens:
        blocks.append(Paragraph(yours))
    section = ReportSection("", tuple(blocks), key="plan")
    return Document(title="evenkeel gate: plan", kind="gate", sections=(section,))
