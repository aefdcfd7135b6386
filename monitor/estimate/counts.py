"""A cell's running counts, and every estimate that follows from them.

One trial is one of 68 possible outcomes. A window keeps outcomes as letters, so that the last 500
trials are a text of 500 letters and every count of a window follows from how often each letter occurs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from evenkeel.core.cells import Estimate
from evenkeel.monitor.estimate.bounded_mean import bounded_mean, paired_excess, proportion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.core.verdict import Verdict


QualityOutcome = Literal["same", "worse", "better", "mixed", "unscored"]


UNSURE: Final = 0
"""Stands for a rating where heuristics are unsure and no judge was asked."""


class Outcome(NamedTuple):
    """One trial with a rating, or with a similarity where heuristics are unsure."""

    letter: str
    """Names the outcome: a letter or a sign that JSON need not escape."""
    rating: Literal[0, 1, 2, 3]
    """0 = unsure."""
    quality: QualityOutcome | None
    """Of a shifted trial; None exactly for one that is not."""
    difference: Literal[-1, 0, 1] | None
    """1 = only the variant shifted, −1 = only the identical resend; None without a rated resend."""

    @property
    def shifted(self) -> bool:
        """Whether the content moved."""
        return self.quality is not None


_LETTERS: Final = "".join(chr(code) for code in range(ord("0"), 127) if chr(code) != "\\")
"""Signs that JSON need not escape."""
_DIFFERENCES: Final[tuple[Literal[-1, 0, 1] | None, ...]] = (None, 1, -1, 0)
_QUALITIES: Final[tuple[QualityOutcome, ...]] = ("same", "worse", "better", "mixed", "unscored")
_SHIFTED: Final[tuple[Literal[1, 2], ...]] = (1, 2)
_RATED: Final[tuple[tuple[Literal[0, 1, 2, 3], QualityOutcome | None], ...]] = (
    (3, None),
    *((rating, quality) for rating in _SHIFTED for quality in _QUALITIES),
    (UNSURE, None),
    *((UNSURE, quality) for quality in _QUALITIES),
)
_ALL: Final[Mapping[tuple[int, QualityOutcome | None, int | None], Outcome]] = {
    (rating, quality, difference): Outcome(letter, rating, quality, difference)
    for letter, ((rating, quality), difference) in zip(_LETTERS, product(_RATED, _DIFFERENCES), strict=False)
}
OUTCOMES: Final = {outcome.letter: outcome for outcome in _ALL.values()}
"""Every outcome by its letter. The letters are part of the monitor's checkpoint: never reassigned."""


def outcome_of(verdict: Verdict) -> Outcome | str:
    """What a verdict says; without a usable rating or similarity the reason why, in snake case."""
    shifted, rating = verdict.shifted, verdict.rating
    if shifted is None:
        return verdict.failure.reason if verdict.failure else "unrated"
    if rating is None or verdict.invalid:
        rating = UNSURE
    elif rating not in {1, 2, 3}:
        return "rating_out_of_range"
    baseline = verdict.baseline_shifted
    difference = None if baseline is None else shifted - baseline
    return _ALL[rating, _quality(verdict) if shifted else None, difference]


def _quality(verdict: Verdict) -> QualityOutcome:
    changed = verdict.quality_changed
    if changed is None:
        return "unscored"
    return (verdict.direction or "mixed") if changed else "same"


_MOST_REASONS = 32
OTHER_REASON = "other"
"""Failure reasons beyond 32 in a cell are counted together under this one: labels stay bounded."""

QUALITY_PREFIX = "quality_"
"""Starts the reason of a trial that has a rating but lacks quality scores."""


STEPS: Final = 50
"""To a unit of similarity."""


@dataclass(slots=True)
class Spread:
    """How often each similarity occurred, to the nearest fiftieth, and their exact sum."""

    total: float = 0.0
    counts: dict[int, int] = field(default_factory=dict)
    """By number of fiftieths."""

    @property
    def n(self) -> int:
        """Observations."""
        return sum(self.counts.values())

    def add(self, observation: float) -> None:
        """Count one."""
        step = round(observation * STEPS)
        self.total += observation
        self.counts[step] = self.counts.get(step, 0) + 1

    def joined(self, counts: Mapping[int, int], total: float) -> Spread:
        """Together with others."""
        joined = dict(self.counts)
        for step, count in counts.items():
            joined[step] = joined.get(step, 0) + count
        return Spread(self.total + total, joined)

    def mean(self, *, alpha: float, min_trials: int, low: float = 0.0) -> Estimate | None:
        """The mean of the observations in [low, 1]; None with fewer than `min_trials`.

        The interval is that of the rounded observations, moved by what rounding did to their mean.
        """
        if not self.counts:
            return None
        rounded = {step / STEPS: count for step, count in self.counts.items()}
        found = bounded_mean(rounded, low=low, alpha=alpha, min_observations=min_trials)
        if found is None:
            return None
        mean = min(1.0, max(low, self.total / found.n))
        moved = mean - found.value
        return Estimate(mean, max(low, found.lower + moved), min(1.0, found.upper + moved), found.n)

    def to_json(self) -> list[Any]:
        """As JSON values."""
        return [self.total, self.counts]

    @classmethod
    def from_json(cls, raw: list[Any]) -> Spread:
        """Read what `to_json` wrote."""
        return cls(raw[0], {int(step): count for step, count in raw[1].items()})


@dataclass(frozen=True, slots=True)
class CellEstimates:
    """What the counts of a cell say; each is None below the minimum number of its observations."""

    content_delta: Estimate | None
    quality_delta: Estimate | None
    quality_worse: Estimate | None
    quality_better: Estimate | None
    robustness: Estimate | None
    excess: Estimate | None
    unsure: Estimate | None
    invalid: Estimate | None
    free_delta: Estimate | None
    similarity: Estimate | None
    control_similarity: Estimate | None
    loss: Estimate | None


@dataclass(slots=True)
class Counts:
    """Sufficient statistics of a cell: adding a verdict costs the same however many there were."""

    rated: dict[str, int] = field(default_factory=lambda: {"0": 0, "1": 0, "2": 0, "3": 0})
    """Trials by rating, 0 = unsure; keyed by text, as JSON will have it."""
    unsure_shifted: int = 0
    """Unsure trials whose content moved, by their similarity or for being invalid."""
    invalid: dict[str, int] = field(default_factory=dict)
    """How often an answer ignored what was asked of its form, by what that was."""
    invalid_trials: int = 0
    """Trials whose answer ignored anything."""
    free_trials: int = 0
    """Trials compared with the free answer of the same exchange."""
    free_shifted: int = 0
    """Those of them whose content moved against it."""
    similarity: Spread = field(default_factory=Spread)
    """Of the trials that have one."""
    control_similarity: Spread = field(default_factory=Spread)
    """Of the resends of the same exchanges."""
    loss: Spread = field(default_factory=Spread)
    """Graded losses of pairs."""
    lost_grades: Spread = field(default_factory=Spread)
    """Grades of trials whose resend has none."""
    failures: dict[str, int] = field(default_factory=dict)
    clustered: int = 0
    """Rated trials that are no observations, because one of their cluster was one shortly before; they are
    in none of the other numbers."""
    same: int = 0
    """Shifts that changed no quality metric."""
    worse: int = 0
    better: int = 0
    mixed: int = 0
    """Shifts that changed one metric for the better and another for the worse, or none with a direction."""
    plus: int = 0
    """Pairs that shifted only in the variant."""
    minus: int = 0
    """Pairs that shifted only in the identical resend."""
    zero: int = 0
    """Pairs in which both or neither shifted."""
    lost_shifted: int = 0
    """Shifted trials without a rated resend."""

    @property
    def trials(self) -> int:
        """Observed trials with a rating, or with a similarity instead."""
        return sum(self.rated.values())

    @property
    def unsure(self) -> int:
        """Trials of which heuristics alone could prove nothing."""
        return self.rated.get(str(UNSURE), 0) - self.invalid_trials

    @property
    def shifted(self) -> int:
        """Trials whose content moved."""
        return self.rated["1"] + self.rated["2"] + self.unsure_shifted

    @property
    def quality_changed(self) -> int:
        """Shifted trials of which a quality metric changed."""
        return self.worse + self.better + self.mixed

    @property
    def quality_scored(self) -> int:
        """Shifted trials that have quality scores."""
        return self.same + self.quality_changed

    @property
    def qualities(self) -> dict[str, int]:
        """Shifted trials by what became of the quality."""
        return {
            "same": self.same,
            "worse": self.worse,
            "better": self.better,
            "mixed": self.mixed,
            "unscored": self.shifted - self.quality_scored,
        }

    @property
    def pairs(self) -> dict[int, int]:
        """Pairs by their difference."""
        return {1: self.plus, -1: self.minus, 0: self.zero}

    @property
    def content_delta_value(self) -> float | None:
        """The plain rate of shifts; None without trials."""
        return self.shifted / self.trials if self.trials else None

    @property
    def quality_delta_value(self) -> float | None:
        """The plain rate of changed qualities among shifts; None if none has quality scores."""
        return self.quality_changed / self.quality_scored if self.quality_scored else None

    def rate(self, rating: int, quality: QualityOutcome | None) -> None:
        """Count a rated trial by itself, without a resend; `quality` is that of a shifted one."""
        self._count(_ALL[rating, quality, None], 1)

    def add(self, verdict: Verdict) -> int | None:
        """Count a verdict.

        Returns: what the pair says, 1 (only the variant shifted), −1 (only the identical resend
        did) or 0; None if there is no pair: the trial or its resend has no rating.
        """
        return self.count(outcome_of(verdict), verdict)

    def count(self, outcome: Outcome | str, verdict: Verdict) -> int | None:
        """Count a verdict whose outcome is known already; returns what `add` returns."""
        if isinstance(outcome, str):
            self._fail(outcome)
            return None
        self._count(outcome, 1)
        self.invalid_trials += bool(verdict.invalid)
        for what in verdict.invalid:
            self.invalid[what] = self.invalid.get(what, 0) + 1
        if verdict.free_shifted is not None:
            self.free_trials += 1
            self.free_shifted += verdict.free_shifted
        if verdict.similarity is not None:
            self._grade(verdict, verdict.similarity)
        if verdict.baseline_similarity is not None:
            self.control_similarity.add(verdict.baseline_similarity)
        if outcome.quality == "unscored":
            failed = verdict.quality_failures
            self._fail(f"{QUALITY_PREFIX}{failed[0].reason if failed else 'missing'}")
        return outcome.difference

    def _grade(self, verdict: Verdict, similarity: float) -> None:
        self.similarity.add(similarity)
        loss, grade = verdict.graded_loss, verdict.grade
        if loss is not None:
            self.loss.add(loss)
        elif grade is not None:
            self.lost_grades.add(grade)

    def _count(self, outcome: Outcome, times: int) -> None:
        self.rated[str(outcome.rating)] += times
        if outcome.shifted and outcome.rating == UNSURE:
            self.unsure_shifted += times
        if outcome.quality == "same":
            self.same += times
        elif outcome.quality == "worse":
            self.worse += times
        elif outcome.quality == "better":
            self.better += times
        elif outcome.quality == "mixed":
            self.mixed += times
        if outcome.difference is None:
            self.lost_shifted += times * outcome.shifted
            return
        if outcome.difference > 0:
            self.plus += times
        elif outcome.difference < 0:
            self.minus += times
        else:
            self.zero += times

    @classmethod
    def of_outcomes(cls, letters: Mapping[str, int]) -> Counts:
        """The counts of a window, by how often each outcome's letter occurs in it; no failures."""
        counts = cls()
        for letter, times in letters.items():
            counts._count(OUTCOMES[letter], times)
        return counts

    def _fail(self, reason: str) -> None:
        known = reason in self.failures or len(self.failures) < _MOST_REASONS
        reason = reason if known else OTHER_REASON
        self.failures[reason] = self.failures.get(reason, 0) + 1

    def estimates(self, *, alpha: float, min_trials: int) -> CellEstimates:
        """All estimates of the cell; None where an estimate has fewer than `min_trials` observations."""
        rules: Any = {"alpha": alpha, "min_trials": min_trials}
        scored = self.quality_scored
        return CellEstimates(
            content_delta=self.content_delta(**rules),
            quality_delta=proportion(self.quality_changed, scored, **rules),
            quality_worse=proportion(self.worse, scored, **rules),
            quality_better=proportion(self.better, scored, **rules),
            robustness=self.robustness(**rules),
            excess=self.excess(**rules),
            unsure=proportion(self.unsure, self.trials, **rules),
            invalid=proportion(self.invalid_trials, self.trials, **rules),
            free_delta=proportion(self.free_shifted, self.free_trials, **rules),
            similarity=self.similarity.mean(**rules),
            control_similarity=self.control_similarity.mean(**rules),
            loss=self._loss(**rules),
        )

    def content_delta(self, *, alpha: float, min_trials: int) -> Estimate | None:
        """The rate of shifts; None with fewer than `min_trials` trials."""
        return proportion(self.shifted, self.trials, alpha=alpha, min_trials=min_trials)

    def excess(self, *, alpha: float, min_trials: int) -> Estimate | None:
        """The paired excess; None with fewer than `min_trials` pairs.

        A trial whose resend has no rating is in no pair. The interval allows for all of those resends shifted
        and for none, whatever made them fail.
        """
        pairs = self.plus, self.minus, self.zero
        if sum(pairs) < max(min_trials, 1):
            return None
        excess = paired_excess(*pairs, alpha=alpha, min_pairs=min_trials)
        lost = self.trials - sum(pairs)
        if excess is None or not lost:
            return excess
        shifted, same = self.lost_shifted, lost - self.lost_shifted
        least = paired_excess(self.plus, self.minus + same, self.zero + shifted, alpha=alpha)
        most = paired_excess(self.plus + shifted, self.minus, self.zero + same, alpha=alpha)
        return _between(excess, least, most)

    def _loss(self, *, alpha: float, min_trials: int) -> Estimate | None:
        """The mean graded loss; its interval allows for any grade of the resends that have none."""
        rules: Any = {"alpha": alpha, "low": -1.0}
        loss, lost = self.loss.mean(min_trials=min_trials, **rules), self.lost_grades
        if loss is None or not lost.counts:
            return loss
        least = self.loss.joined({-step: count for step, count in lost.counts.items()}, -lost.total)
        most = self.loss.joined(
            {STEPS - step: count for step, count in lost.counts.items()}, lost.n - lost.total
        )
        return _between(loss, least.mean(min_trials=1, **rules), most.mean(min_trials=1, **rules))

    def robustness(self, *, alpha: float, min_trials: int) -> Estimate | None:
        """One minus the rate of shifts that changed quality = 1 − content delta × quality delta.

        A shifted trial whose quality could not be scored is counted as a failure and not in `n`.
        Leaving it out altogether would make robustness look too high, because only shifted trials
        can lack their quality. So the value takes the unscored shifts to be like the scored ones
        (that is the product above), and the interval allows for all of them changed and for none:
        it covers the truth whatever made the scores fail, and is the plain confidence sequence of
        the rate if every shift is scored.

        Returns: an estimate in [0, 1]; None with fewer than `min_trials` known outcomes, or if no
        shift at all has quality scores.
        Source: the two-stage score of the enterprise perturbation-robustness paper.
        """
        trials = self.trials
        if trials < max(min_trials, 1):
            return None
        changed, scored = self.quality_changed, self.quality_scored
        unscored = self.shifted - scored
        known = trials - unscored
        if known < max(min_trials, 1) or (self.shifted and not scored):
            return None
        fewest = proportion(changed, trials, alpha=alpha)
        most = proportion(changed + unscored, trials, alpha=alpha) if unscored else fewest
        assert fewest is not None
        assert most is not None
        changed_rate = self.shifted / trials * changed / scored if scored else 0.0
        return Estimate(1 - changed_rate, 1 - most.upper, 1 - fewest.lower, known)

    def to_json(self) -> dict[str, Any]:
        """The counts as JSON values."""
        # Not `asdict`, which copies for longer than the rest of a checkpoint takes.
        raw = {name: getattr(self, name) for name in _FIELDS}
        return raw | {name: raw[name].to_json() for name in _SPREADS}

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> Counts:
        """Read what `to_json` wrote."""
        return cls(**(raw | {name: Spread.from_json(raw[name]) for name in _SPREADS}))


_FIELDS = tuple(field.name for field in fields(Counts))
_SPREADS = ("similarity", "control_similarity", "loss", "lost_grades")


def _between(estimate: Estimate, least: Estimate | None, most: Estimate | None) -> Estimate:
    """An estimate whose interval reaches from the lower end of one to the upper end of another."""
    assert least is not None
    assert most is not None
    return replace(estimate, lower=min(least.lower, estimate.value), upper=max(most.upper, estimate.value))
