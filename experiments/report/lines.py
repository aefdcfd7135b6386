"""A line of a table: what is estimated of some trials, whether of one perturbation or of several."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.core.cells import Estimate
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.estimate import rollup_estimates

if TYPE_CHECKING:
    from evenkeel.experiments.report.folding import Group
    from evenkeel.monitor.estimate import Counts

MEASURES: Final = ("content_delta", "quality_delta", "robustness", "noise_floor", "excess")
"""In the order of the columns."""
BASELINE_CATEGORY: Final = "baseline"
"""The resend among the categories."""
RESEND: Final = frozenset((BASELINE, BASELINE_CATEGORY))
"""Names of its lines."""


@dataclass(frozen=True, slots=True)
class Line:
    """Estimates of some trials; each is None below the minimum number of its observations."""

    route: str
    """"" for all routes."""
    model: str
    """"" for all models."""
    name: str
    """Of the perturbation, the category or the language; "" for everything."""
    trials: int
    """Perturbed ones with a rating; resends for the resend's own line."""
    exchanges: int | None
    """Behind the estimates of several perturbations; those of one count trials."""
    content_delta: Estimate | None
    quality_delta: Estimate | None
    robustness: Estimate | None
    noise_floor: Estimate | None
    excess: Estimate | None
    quality_worse: Estimate | None = None
    quality_better: Estimate | None = None
    mean_of_categories: Estimate | None = None
    """Of their robustness, the resend one of them: comparable with `evenkeel bench`. Only of a model."""

    @property
    def measured(self) -> bool:
        """Whether anything is known."""
        return self.content_delta is not None or self.robustness is not None


@dataclass(frozen=True, slots=True)
class Rules:
    """How counts become estimates."""

    alpha: float = 0.05
    """Probability with which an interval may ever miss the truth."""
    min_trials: int = 30
    """Nothing is said about fewer observations."""


def cell_line(
    route: str, model: str, name: str, counts: Counts, rules: Rules, *, noise_floor: Estimate | None
) -> Line:
    """A perturbation of a model; the same figures as the monitor's for the same verdicts."""
    found = counts.estimates(alpha=rules.alpha, min_trials=rules.min_trials)
    return Line(
        route=route,
        model=model,
        name=name,
        trials=counts.trials,
        exchanges=None,
        content_delta=found.content_delta,
        quality_delta=found.quality_delta,
        robustness=found.robustness,
        noise_floor=noise_floor,
        # The resend is what the others are held against; it has none itself.
        excess=None if name in RESEND else found.excess,
        quality_worse=found.quality_worse,
        quality_better=found.quality_better,
    )


def group_line(
    route: str,
    model: str,
    name: str,
    group: Group,
    rules: Rules,
    *,
    noise_floor: Estimate | None = None,
    mean_of_categories: Estimate | None = None,
) -> Line:
    """Several perturbations together, every exchange weighing the same.

    Args:
        route: Where.
        model: Whose answers.
        name: What the perturbations have in common.
        group: Their exchanges.
        rules: How they become estimates.
        noise_floor: Of the resend, for groups that have none of their own.
        mean_of_categories: See `Line`.
    """
    found = rollup_estimates(group.occurrences.total(), alpha=rules.alpha, min_exchanges=rules.min_trials)
    return Line(
        route=route,
        model=model,
        name=name,
        trials=group.trials,
        exchanges=found.exchanges,
        content_delta=found.content_delta,
        quality_delta=found.quality_delta,
        robustness=found.robustness,
        noise_floor=found.noise_floor or noise_floor,
        excess=found.excess,
        quality_worse=found.quality_worse,
        quality_better=found.quality_better,
        mean_of_categories=mean_of_categories,
    )


def mean_of(estimates: list[Estimate]) -> Estimate | None:
    """The mean of several estimates, and of their intervals; None of none.

    The interval holds with the probability that all of them hold together, so each has to be made with its
    share of alpha.
    """
    if not estimates:
        return None
    n = len(estimates)
    return Estimate(
        sum(one.value for one in estimates) / n,
        sum(one.lower for one in estimates) / n,
        sum(one.upper for one in estimates) / n,
        sum(one.n for one in estimates),
    )
