"""Which trials an exchange gets: always the baseline resend, and a few perturbations."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metrics.verdict import BASELINE
from shadow.perturbations import seed_for

if TYPE_CHECKING:
    from shadow.handoff import Exchange
    from shadow.perturbations import Perturbation

_PLAN_VERSION = 1


@dataclass(frozen=True, slots=True)
class RoutePlan:
    """How the exchanges of one route are tried."""

    perturbations: tuple[Perturbation, ...]
    severities: tuple[float, ...]
    trials_per_exchange: int
    """Perturbed trials for each exchange, besides the baseline."""
    task: str | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """One replay to make."""

    exchange_id: str
    perturbation: Perturbation
    severity: float
    seed: int

    @property
    def id(self) -> str:
        """Names the trial and its verdict; the same trial planned twice has the same id."""
        return f"{self.exchange_id}.{self.perturbation.name}.{self.severity:g}"

    @property
    def is_baseline(self) -> bool:
        """Whether this is the identical resend."""
        return self.perturbation.name == BASELINE


def plan(exchange: Exchange, route: RoutePlan, baseline: Perturbation) -> list[Trial]:
    """The trials of an exchange, the baseline first.

    A pure function of the exchange id and the route's settings, so an exchange that is delivered
    again after a crash gets the same trials and none is made or counted twice.
    """
    choice = random.Random(seed_for(exchange.id, "plan", 0.0, _PLAN_VERSION))
    count = min(route.trials_per_exchange, len(route.perturbations))
    trials = [(baseline, 0.0)]
    trials += [
        (perturbation, choice.choice(route.severities))
        for perturbation in choice.sample(route.perturbations, count)
    ]
    return [
        Trial(
            exchange.id,
            perturbation,
            severity,
            seed_for(exchange.id, perturbation.name, severity, perturbation.version),
        )
        for perturbation, severity in trials
    ]
