"""Needs of a route's cells, and the uniform plan: the control and a few perturbations per exchange.

A cell is one perturbation of one model on one route. Cells with too few trials to be reported come first,
then cells with a wide interval or growing evidence of a change. The adaptive plan (`evenkeel.shadow.groups`)
starts with this one, until the cells have enough trials.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import log
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.suspicion import MOST_SUSPICION
from evenkeel.shadow.perturbations import seed_for
from evenkeel.shadow.prompt.segments import TYPED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenkeel.core.cells import CellReport
    from evenkeel.shadow.perturbations import Perturbation
    from evenkeel.shadow.prompt import InputSource

_PLAN_VERSION: Final = 2
# Weight of a cell with too few trials to be reported, relative to a cell about which nothing is certain.
_UNDER_FLOOR: Final = 8.0
# Lowest weight: even a cell with a narrow interval is tried occasionally.
_LEAST: Final = 0.02
CONTRAST_SHARE: Final = 0.05
"""Share of the tried exchanges that also get a contrast: a different question."""
SEVERITIES: Final = (0.07, 0.13)
"""Severities of graded perturbations: shares of the eligible places that are changed. Each trial draws one.
People mistype about 0.07 on a desktop and 0.13 on a phone."""
WHOLE: Final = 1.0
"""Severity of perturbations that are not graded."""


@dataclass(frozen=True, slots=True)
class RoutePlan:
    """Plan for trying the exchanges of one route."""

    perturbations: tuple[Perturbation, ...]
    trials_per_exchange: int
    """Perturbed trials per exchange, besides the control. In the adaptive plan it applies only while
    learning."""
    task: str | None = None
    inputs: frozenset[InputSource] = TYPED
    """Sources of the words that perturbations of the input may change."""
    settled_rate: float | None = None
    """Share of the exchanges that are tried once everything is settled; None selects the uniform plan."""
    contrasts: tuple[Perturbation, ...] = ()
    """Perturbations that ask a different question, used rarely; see `contrasts_of`."""


@dataclass(frozen=True, slots=True)
class CellNeed:
    """Measure of how much is still to be learned about a cell."""

    trials: int
    """Trials rated so far."""
    floor: int
    """Fewest trials for a cell to be reported."""
    width: float = 1.0
    """Width of the confidence interval of the excess, in [0, 2]; 1 while there is none."""
    evidence: float = 0.0
    """Progress of the evidence toward an alert on a logarithmic scale, in [0, 1]."""
    up: bool = False
    """True while an alert is open on the cell."""
    suspicion: float = 0.0
    """Log likelihood ratio of the latest trials, "changed" over "unchanged", in [0, `MOST_SUSPICION`]."""

    @property
    def weight(self) -> float:
        """Return the relative chance that the cell is tried next."""
        if self.trials < self.floor:
            return _UNDER_FLOOR
        return max(_LEAST, self.width) + self.evidence


UNKNOWN: Final = CellNeed(0, 1)
"""Need of a cell that was never tried."""


class Needs(NamedTuple):
    """Needs of one model on a route."""

    cells: Mapping[str, CellNeed] = MappingProxyType({})
    """Needs by perturbation, the control included; empty for a new model."""
    urgent: bool = False
    """True after a recent change of the route, or while a silent change is suspected."""


def needs_of(reports: Iterable[CellReport], floor: int) -> dict[tuple[str, str], dict[str, CellNeed]]:
    """Return the needs of cells, by route and model and then by perturbation.

    Cells are reported from `floor` trials on.
    """
    needs: dict[tuple[str, str], dict[str, CellNeed]] = {}
    for report in reports:
        excess = report.estimates.excess
        width = 1.0 if excess is None else excess.upper - excess.lower
        key, drift = report.key, report.detection.drift
        alarm = report.detection.alarm_log10
        evidence = max(report.detection.evidence_log10, drift.evidence_log10 if drift else 0.0)
        progress = min(1.0, max(0.0, evidence / alarm)) if alarm > 0 else 0.0
        # If nothing changed, the evidence after n trials reaches n * k with probability 1 / k at most. So the
        # logarithm of n is subtracted.
        gathered = alarm and log(10) * report.detection.evidence_log10 - log(max(1, report.counts.effective))
        up = report.detection.alert or (drift is not None and drift.state in {"risen", "fallen"})
        need = CellNeed(
            report.counts.trials,
            floor,
            width,
            progress,
            up,
            min(MOST_SUSPICION, max(0.0, gathered, report.detection.suspicion)),
        )
        needs.setdefault((key.route, key.model), {})[key.perturbation] = need
    return needs


@dataclass(frozen=True, slots=True)
class Trial:
    """Planned replay."""

    exchange_id: str
    perturbation: Perturbation
    severity: float
    seed: int
    path_weight: float = 1.0
    """Weight of the trial in estimates; see `Verdict.path_weight`."""
    split_of: str = ""

    @property
    def id(self) -> str:
        """Return the id of the trial and its verdict. Planning the same trial twice gives the same id."""
        return f"{self.exchange_id}.{self.perturbation.name}.{self.severity:g}"


def candidates(exchange_id: str, route: RoutePlan, needs: Mapping[str, CellNeed]) -> list[Trial]:
    """Return every perturbed trial that an exchange may get, in order of precedence.

    The order is drawn by weight without replacement, from a generator seeded with the exchange's id. A second
    delivery of the exchange gets the same order unless the weights changed.

    Source: Efraimidis and Spirakis 2006, for sampling with weights by one key an item.
    """
    draw = random.Random(seed_for(exchange_id, "plan", 0.0, _PLAN_VERSION))
    keyed: list[tuple[float, Trial]] = []
    for perturbation in route.perturbations:
        severity = draw.choice(SEVERITIES) if perturbation.graded else WHOLE
        key = draw.random() ** (1 / needs.get(perturbation.name, UNKNOWN).weight)
        keyed.append((key, trial_of(exchange_id, perturbation, severity)))
    keyed.sort(key=lambda entry: -entry[0])
    return [trial for _, trial in keyed]


def contrasts_of(exchange_id: str, route: RoutePlan) -> list[Trial]:
    """Return the contrasts of an exchange in order of precedence; [] for most exchanges."""
    draw = random.Random(seed_for(exchange_id, "contrast", 0.0, _PLAN_VERSION))
    if draw.random() >= CONTRAST_SHARE:
        return []
    contrasts = list(route.contrasts)
    draw.shuffle(contrasts)
    return [trial_of(exchange_id, contrast, WHOLE) for contrast in contrasts]


def trial_of(exchange_id: str, perturbation: Perturbation, severity: float) -> Trial:
    """Return a trial of an exchange. Its seed depends only on the trial."""
    seed = seed_for(exchange_id, perturbation.name, severity, perturbation.version)
    return Trial(exchange_id, perturbation, severity, seed)
