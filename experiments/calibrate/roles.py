"""Roles: which metric watches a failure mode, and which one stands by it.

The source (WorkflowPerturb, appendix C) gives reasons in prose, not a formula. This is a rule that
gives its choices back from its figures:

- **Primary**: every failure mode gets a metric family of its own, so that an alert names the mode.
  Of all ways to hand families out, the one with the largest sum of sensitivities is taken. That is how
  a family that falls under everything alike (BLEU) is kept for the mode in which nothing else falls.
  Families with a price per score are no primaries: the free ones are there to avoid it.
- **Secondary**: of the other families, the most specific one for the mode, whatever it costs.

Only families that are at least moderately sensitive to a mode (0.3) are candidates for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from evenkeel.core.verdict import Failure
from evenkeel.experiments.calibrate.sensitivity import MODERATE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.experiments.calibrate.score_table import FailureMode, MetricFacts

METRIC = "calibration_role"
VERSION = 1

_CHEAP_USD = 0.001

Sensitivities = dict[str, dict["FailureMode", float]]
"""By metric or family, then by mode; what could not be measured is absent."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A family for a mode, and the metric that speaks for it."""

    family: str
    metric: str
    """The family's most sensitive one; of equals the cheaper, then the one named first."""
    sensitivity: float
    """Of the family: mean over its metrics."""
    specificity: float
    """Share of this mode in the sum of the family's absolute sensitivities, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Roles:
    """Who watches one failure mode."""

    primary: Choice | Failure
    """A failure "insensitive" if no metric moves enough."""
    secondary: Choice | None
    """None if no other family moves enough."""


def roles(
    by_metric: Mapping[str, Mapping[FailureMode, float]],
    metrics: Sequence[MetricFacts],
    modes: Sequence[FailureMode],
    *,
    cheap_usd: float = _CHEAP_USD,
) -> dict[FailureMode, Roles]:
    """Choose primary and secondary for each mode.

    With more modes than families that suit them, families are handed out again to the modes that are
    left. A mode to which only expensive families are sensitive gets the most sensitive of those.

    Args:
        by_metric: sensitivities.
        metrics: all of them; ties go to the family named first.
        modes: all of them.
        cheap_usd: a family is cheap if none of its metrics costs more than this.
    """
    families = tuple(dict.fromkeys(facts.family for facts in metrics))
    of_family = {family: _mean(by_metric, metrics, family) for family in families}
    cheap = [
        family
        for family in families
        if all(facts.cost_usd <= cheap_usd for facts in metrics if facts.family == family)
    ]
    primaries = _rounds(of_family, cheap, modes)
    primaries |= _rounds(of_family, families, [mode for mode in modes if mode not in primaries])

    def choice(family: str, mode: FailureMode) -> Choice:
        members = [
            facts for facts in metrics if facts.family == family and mode in by_metric.get(facts.name, {})
        ]
        best = min(members, key=lambda facts: (-by_metric[facts.name][mode], facts.cost_usd))
        of = of_family[family]
        return Choice(family, best.name, of[mode], specificity(of, mode))

    def secondary(mode: FailureMode, primary: str) -> Choice | None:
        others = [
            family
            for family in families
            if family != primary and of_family[family].get(mode, 0.0) >= MODERATE
        ]
        if not others:
            return None
        return choice(max(others, key=lambda family: round(specificity(of_family[family], mode), 9)), mode)

    return {
        mode: Roles(choice(primaries[mode], mode), secondary(mode, primaries[mode]))
        if mode in primaries
        else Roles(
            Failure(METRIC, VERSION, "insensitive", f"No metric falls by {MODERATE} or more."),
            None,
        )
        for mode in modes
    }  # fmt: skip


def specificity(sensitivities: Mapping[FailureMode, float], mode: FailureMode) -> float:
    """How far a family's reaction is about one mode: that mode's share of all its reactions.

    Returns: in [0, 1]; 1 = it reacts to nothing else, 0 = it does not fall under this mode.
    """
    total = sum(abs(value) for value in sensitivities.values())
    return max(0.0, sensitivities.get(mode, 0.0)) / total if total else 0.0


def _mean(
    by_metric: Mapping[str, Mapping[FailureMode, float]], metrics: Sequence[MetricFacts], family: str
) -> dict[FailureMode, float]:
    """A family's sensitivities: means over those of its metrics that were measured."""
    members = [by_metric.get(facts.name, {}) for facts in metrics if facts.family == family]
    modes = dict.fromkeys(mode for member in members for mode in member)
    found = {mode: [member[mode] for member in members if mode in member] for mode in modes}
    return {mode: sum(values) / len(values) for mode, values in found.items()}


def _rounds(
    of_family: Sensitivities, families: Sequence[str], modes: Sequence[FailureMode]
) -> dict[FailureMode, str]:
    """Families handed out until every mode has one that some family suits."""
    given: dict[FailureMode, str] = {}
    left = list(modes)
    while new := _hand_out(of_family, families, left):
        given |= new
        left = [mode for mode in left if mode not in given]
    return given


def _hand_out(
    of_family: Sensitivities, families: Sequence[str], modes: Sequence[FailureMode]
) -> dict[FailureMode, str]:
    """One round: each family to one mode at most, for the largest number of modes, then the largest sum."""

    @cache
    def best(place: int, used: int) -> tuple[int, float, tuple[int | None, ...]]:
        """From this mode on, with these families (bits) gone: modes served, sum, family of each mode."""
        if place == len(modes):
            return 0, 0.0, ()
        served, total, rest = best(place + 1, used)
        found: tuple[int, float, tuple[int | None, ...]] = (served, total, (None, *rest))
        for i, family in enumerate(families):
            value = of_family[family].get(modes[place], 0.0)
            if used >> i & 1 or value < MODERATE:
                continue
            served, total, rest = best(place + 1, used | 1 << i)
            # Rounded, so that a tie goes to the family named first on every platform.
            if (served + 1, round(total + value, 9)) > found[:2]:
                found = served + 1, round(total + value, 9), (i, *rest)
        return found

    return {mode: families[i] for mode, i in zip(modes, best(0, 0)[2], strict=True) if i is not None}
