"""Labels and audits in the monitor's state: what corrects the judge's errors, by route and model.

All labels and audits of a route and model are taken together, over its perturbations. What corrects a
verdict is what stood in the log before it. Corrected estimates of a cell are of the same trials with the same
weights as its others; what is known of the judge does not depend on how a trial was drawn.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenkeel.core.verdict import BASELINE, HEURISTIC_RATING, SAME_CONTENT
from evenkeel.monitor.estimate.counts import weight_of, weight_sign
from evenkeel.monitor.estimate.prediction_powered import (
    Rated,
    Sample,
    Stratum,
    Truth,
    corrected_mean,
    prediction_powered_mean,
    strata_of,
    stratum,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.cells import Estimate
    from evenkeel.core.verdict import Verdict
    from evenkeel.stores.labels import Label

_REMEMBERED: Final = 2_000
"""Labelled verdicts of a route and model of which it is known who says what, the newest: a person may say
something else of them. Of older ones what was said last counts for good."""
_SAME: Final = SAME_CONTENT
_USUAL_DROP: Final = 0.5
"""Of the grade of an answer that moved though its rating says that it did not: that of the next rating."""


class Increments(NamedTuple):
    """What a trial says, with what is known of its stratum in place of its own rating."""

    content: float | None = None
    """Share of the trial's stratum that truly shifted less that of the resend's, in [−1, 1]; None without a
    resend."""
    graded: float = 0.0
    """To be added to the verdict's graded loss."""


NO_INCREMENTS: Final = Increments()


class Corrected(NamedTuple):
    """The estimates of a cell, corrected; None where nothing corrects them."""

    content_delta: Estimate | None = None
    excess: Estimate | None = None
    labels: int = 0
    """Behind them."""


_UNCORRECTED: Final = Corrected()


class JudgeBias(NamedTuple):
    """How often verdicts say "shifted", and how often people would, on one route and model."""

    judged: float
    """Share of all perturbed trials."""
    people: Estimate
    """Of the same trials; `n` counts labels."""


@dataclass(slots=True)
class _Said:
    """What people say of one verdict."""

    stratum: str
    share: float
    ratings: dict[str, int] = field(default_factory=dict)

    @property
    def shifted(self) -> bool | None:
        """What most of them say; None if they are split, or nobody says anything any more."""
        moved = sum(rating < _SAME for rating in self.ratings.values())
        kept = len(self.ratings) - moved
        return None if moved == kept else moved > kept


@lru_cache(maxsize=256)
def _names(trial: Stratum, resend: Stratum | None, sign: str) -> str:
    return f"{trial.name} {resend.name if resend else ''}{sign and f' {sign}'}"


class _Place:
    """One route and model."""

    __slots__ = ("_bias", "_corrected", "drawn", "pairs", "said", "truth", "verdicts")

    def __init__(self) -> None:
        self._corrected: dict[str, Corrected] = {}
        """By perturbation, until something is counted."""
        self._bias: tuple[JudgeBias | None] | None = None
        """Likewise."""
        self.truth = Truth()
        self.said: dict[str, _Said] = {}
        self.pairs: dict[str, Counter[str]] = {}
        """By perturbation: strata of trial and resend, the sign of a weight below 1, and how often."""
        self.verdicts: Counter[str] = Counter()
        """Perturbed trials that may be drawn, by stratum and share."""
        self.drawn: Counter[str] = Counter()
        """Those of them that were."""

    def add(self, verdict: Verdict, trial: Stratum, resend: Stratum | None, weight: float | None) -> None:
        self._audit(verdict)
        if weight is not None:
            self._corrected.pop(verdict.perturbation, None)
            pairs = self.pairs.get(verdict.perturbation)
            if pairs is None:
                pairs = self.pairs[verdict.perturbation] = Counter()
            pairs[_names(trial, resend, weight_sign(weight))] += 1
        if verdict.selection.label_share > 0 and verdict.perturbation != BASELINE:
            self._bias = None
            name = f"{trial.name} {verdict.selection.label_share!r}"
            self.verdicts[name] += 1
            self.drawn[name] += verdict.drawn

    def _audit(self, verdict: Verdict) -> None:
        proven = verdict.scoring.details.get(HEURISTIC_RATING)
        if proven is None or verdict.rating is None:
            return
        self._corrected.clear()
        name = Stratum("heuristic", int(proven), proven < _SAME).name
        tally = self.truth.audit(name)
        tally.add(1 / (verdict.scoring.audit_share or 1.0), shifted=verdict.rating < _SAME)

    def label(self, label: Label) -> None:
        self._corrected.clear()
        self._bias = None
        said = self.said.get(label.verdict_id)
        if said is None:
            of = stratum(
                judged=label.decided_by != "metrics",
                proven=label.judge_proven,
                rating=label.judge_rating,
                shifted=bool(label.judge_shifted),
            )
            said = self.said[label.verdict_id] = _Said(of.name, label.label_share)
            if len(self.said) > _REMEMBERED:
                self.said.pop(next(iter(self.said)))
        self._count(said, -1)
        if label.withdrawn_at is None and label.rating is not None:
            said.ratings[label.by] = label.rating
        else:
            said.ratings.pop(label.by, None)
        self._count(said, 1)

    def _count(self, said: _Said, times: int) -> None:
        if said.shifted is not None:
            self.truth.label(said.stratum).add(1 / said.share, shifted=said.shifted, times=times)

    def corrected(self, perturbation: str, *, alpha: float, min_trials: int) -> Corrected:
        found = self._corrected.get(perturbation)
        if found is None:
            found = self._estimated(perturbation, alpha=alpha, min_trials=min_trials)
            self._corrected[perturbation] = found
        return found

    def _estimated(self, perturbation: str, *, alpha: float, min_trials: int) -> Corrected:
        truth, labels = self.truth, self.truth.labelled
        pairs = self.pairs.get(perturbation)
        told = labels >= min_trials
        if pairs is None or not (told or truth.audited >= min_trials):
            return _UNCORRECTED
        trials: Counter[Rated] = Counter()
        paired: Counter[Rated] = Counter()
        for names, count in sorted(pairs.items()):
            trial, resend, *signs = names.split(" ")
            weight = weight_of(signs[0] if signs else "")
            trials[Rated(Stratum.named(trial), None, weight)] += count
            if resend:
                paired[Rated(Stratum.named(trial), Stratum.named(resend), weight)] += count
        excess = corrected_mean(paired, truth, alpha=alpha) if paired.total() >= min_trials else None
        # Audits put both answers under the same errors, which makes a level no better: only labels do.
        level = Truth(truth.labels) if told and trials.total() >= min_trials else None
        return Corrected(
            content_delta=corrected_mean(trials, level, alpha=alpha) if level else None,
            excess=excess,
            labels=labels if told else 0,
        )

    def bias(self, *, alpha: float, min_labels: int) -> JudgeBias | None:
        """Of all perturbed trials together; None with too few labels."""
        if self._bias is None:
            told = self.truth.labelled >= max(1, min_labels)
            self._bias = (self._compared(alpha) if told else None,)
        return self._bias[0]

    def _compared(self, alpha: float) -> JudgeBias | None:
        samples: Counter[Sample] = Counter()
        shifted = 0
        labelled: dict[str, Counter[bool]] = {}
        for said in self.said.values():
            if said.shifted is not None:
                labelled.setdefault(f"{said.stratum} {said.share!r}", Counter())[said.shifted] += 1
        for name, count in sorted(self.verdicts.items()):
            of, _, share = name.partition(" ")
            predicted = Stratum.named(of).shifted
            shifted += predicted * count
            found = labelled.get(name, Counter())
            # Who is asked may not answer: what they did answer stands for it.
            effective = float(share) * min(1.0, found.total() / max(1, self.drawn[name])) or float(share)
            for moved, times in found.items():
                samples[Sample(float(predicted), float(moved), effective)] += times
            samples[Sample(float(predicted), None, effective)] += max(0, count - found.total())
        people = prediction_powered_mean(samples, alpha=alpha)
        return JudgeBias(shifted / samples.total(), people) if people else None

    def to_json(self) -> dict[str, Any]:
        return {
            "truth": self.truth.to_json(),
            "said": {name: [one.stratum, one.share, one.ratings] for name, one in self.said.items()},
            "pairs": self.pairs,
            "verdicts": self.verdicts,
            "drawn": self.drawn,
        }

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> _Place:
        place = cls()
        place.truth = Truth.from_json(raw["truth"])
        place.said = {name: _Said(*values) for name, values in raw["said"].items()}
        place.pairs = {name: Counter(counts) for name, counts in raw["pairs"].items()}
        place.verdicts, place.drawn = Counter(raw["verdicts"]), Counter(raw["drawn"])
        return place


def _regraded(rating: int, moved: float) -> float:
    """Half of how much worse a grade by rating is if answers with it moved with this probability."""
    drop = (_SAME - rating) / (_SAME - 1)
    return (moved * (drop or _USUAL_DROP) - drop) / 2


def _increments(
    moved: float, moved_anyway: float, rating: int | None, baseline_rating: int | None
) -> Increments:
    """What a pair says whose answers moved with these probabilities."""
    graded = 0.0
    if rating is not None and baseline_rating is not None:
        graded = _regraded(rating, moved) - _regraded(baseline_rating, moved_anyway)
    return Increments(max(-1.0, min(1.0, moved - moved_anyway)), graded)


@lru_cache(maxsize=256)
def _rated_increments(
    shifted: bool,  # noqa: FBT001 - read from a cache, to which names cost more than the rest
    shifted_anyway: bool,  # noqa: FBT001
    rating: int | None,
    baseline_rating: int | None,
) -> Increments:
    """What a pair says by its ratings alone, which nobody has corrected."""
    return _increments(float(shifted), float(shifted_anyway), rating, baseline_rating)


class Corrections:
    """What is known of the judge's errors, by route and model. Not thread-safe; goes into the checkpoint."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str], _Place] = {}

    def observe(self, route: str, model: str, verdict: Verdict, weight: float | None) -> Increments:
        """Take a verdict in, and say how much more often its content moved than that of the resend.

        Args:
            route: Of the verdict.
            model: Whose cell it counts for.
            verdict: Rated or not.
            weight: What it counts for in its cell; None if it is no observation there.

        Returns: the increments by what was known before this verdict.
        """
        trial, resend = strata_of(verdict)
        if trial is None:
            return NO_INCREMENTS
        place = self._places.get((route, model))
        if place is None:
            place = self._places[route, model] = _Place()
        truth = place.truth
        found = NO_INCREMENTS
        if resend is not None:
            ratings = verdict.rating, verdict.control.rating
            if truth.labels or truth.audits:
                found = _increments(truth.increment(trial), truth.increment(resend), *ratings)
            else:
                found = _rated_increments(trial.shifted, resend.shifted, *ratings)
        place.add(verdict, trial, resend, weight)
        return found

    def label(self, model: str, label: Label) -> None:
        """Take in what a person says of a verdict that chance drew; anything else corrects nothing.

        Args:
            model: Whose cells it counts for.
            label: In any version; a later one of the same person replaces it.
        """
        if not label.drawn or label.label_share <= 0 or label.judge_shifted is None:
            return
        self._places.setdefault((label.route, model), _Place()).label(label)

    def corrected(
        self, route: str, model: str, perturbation: str, *, alpha: float, min_trials: int
    ) -> Corrected:
        """The estimates of a cell as far as labels or audits correct them: at least `min_trials` of them."""
        place = self._places.get((route, model))
        return place.corrected(perturbation, alpha=alpha, min_trials=min_trials) if place else _UNCORRECTED

    def bias(self, route: str, model: str, *, alpha: float, min_labels: int) -> JudgeBias | None:
        """How far verdicts are from people on a route and model; None with fewer labels."""
        place = self._places.get((route, model))
        return place.bias(alpha=alpha, min_labels=min_labels) if place else None

    def drop(self, route: str, model: str) -> None:
        """Forget a model."""
        self._places.pop((route, model), None)

    def to_json(self) -> list[list[Any]]:
        """As JSON values."""
        return [[*key, place.to_json()] for key, place in self._places.items()]

    @classmethod
    def from_json(cls, raw: Sequence[Sequence[Any]]) -> Corrections:
        """Read what `to_json` wrote."""
        corrections = cls()
        for route, model, place in raw:
            corrections._places[route, model] = _Place.from_json(place)
        return corrections
