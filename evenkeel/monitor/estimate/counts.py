"""Running counts of a cell, and every estimate that follows from them.

One trial is one of 68 possible outcomes. A window keeps outcomes as words of a letter, so that the last 500
trials are a text of 500 letters and every count of a window follows from how often each word occurs.

Counts are of observations, whatever these weigh. Those that weigh less than 1 are counted once more by their
weight (`Counts.light`), with which they enter estimates; their words have its sign after the letter.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from itertools import product
from math import isfinite, log2
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from evenkeel.core.cells import CellEstimates, Estimate
from evenkeel.monitor.estimate.blocks import BLOCK, CellEffects
from evenkeel.monitor.estimate.bounded_mean import weighted_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from evenkeel.core.verdict import Verdict


QualityOutcome = Literal["same", "worse", "better", "mixed", "unscored"]


UNSURE: Final = 0
"""Rating of a trial without a judge, and of an invalid one."""


_MOST_HALVINGS: Final = 7
SIGNS: Final = ("", *map(str, range(1, _MOST_HALVINGS + 1)))
"""Signs of the weights 1, ½, ¼ … 1/128."""
_WEIGHTS: Final = {sign: 0.5**halvings for halvings, sign in enumerate(SIGNS)}


def weight_sign(weight: float) -> str:
    """Return the sign of the power of two nearest to a weight: "" for 1 to "7" for 1/128 and less."""
    if weight >= 1 or not isfinite(weight):
        return ""
    return SIGNS[min(_MOST_HALVINGS, round(-log2(weight)))] if weight > 0 else SIGNS[-1]


def weight_of(sign: str) -> float:
    """Return the weight of a sign."""
    return _WEIGHTS[sign]


class Outcome(NamedTuple):
    """Outcome of one trial: rated, invalid, or unsure."""

    letter: str
    """Name of the outcome: a letter or sign that JSON need not escape."""
    rating: Literal[0, 1, 2, 3]
    """Rating from 1 to 3; 0 = none: the answer is invalid, or the trial unsure."""
    quality: QualityOutcome | None
    """Quality outcome of a shifted trial; None exactly for a trial that did not shift."""
    difference: Literal[-1, 0, 1] | None
    """Difference between variant and resend: 1 = only the variant shifted, −1 = only the identical resend;
    None without a rated resend."""

    @property
    def shifted(self) -> bool:
        """True if the content shifted."""
        return self.quality is not None

    @property
    def unsure(self) -> bool:
        """True if nothing is known of the content, since there was no judge."""
        return self.rating == UNSURE and self.quality is None


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
"""Outcomes by letter. The letters are part of the monitor's checkpoint and are never reassigned."""


def outcome_of(verdict: Verdict) -> Outcome | str:
    """Return the outcome of a verdict, or the reason in snake case why it has none."""
    shifted, rating = verdict.shifted, verdict.rating
    if shifted is None and not verdict.unsure:
        return verdict.failure.reason if verdict.failure else "unrated"
    if shifted is None or verdict.scoring.scorer == "metrics":
        # Without a judge only identical, empty and invalid answers are known: a share of these is no figure.
        return _ALL[UNSURE, None, None]
    if rating is None or verdict.invalid:
        rating = UNSURE
    elif rating not in {1, 2, 3}:
        return "rating_out_of_range"
    baseline = verdict.control.shifted
    difference = None if baseline is None else shifted - baseline
    return _ALL[rating, _quality(verdict) if shifted else None, difference]


def _quality(verdict: Verdict) -> QualityOutcome:
    changed = verdict.quality_changed
    if changed is None:
        return "unscored"
    return (verdict.direction or "mixed") if changed else "same"


_MOST_REASONS = 32
OTHER_REASON = "other"
"""Name that counts failure reasons beyond 32 in a cell together, so that labels stay bounded."""

QUALITY_PREFIX = "quality_"
"""Prefix of the reason of a trial that has a rating but lacks quality scores."""


STEPS: Final = 50
"""Steps in a unit of similarity."""


@dataclass(slots=True)
class Spread:
    """Histogram of similarities to the nearest fiftieth, with their exact sum."""

    total: float = 0.0
    counts: dict[int, int] = field(default_factory=dict)
    """Observations by number of fiftieths."""

    @property
    def n(self) -> int:
        """Number of observations."""
        return sum(self.counts.values())

    def add(self, observation: float) -> None:
        """Count an observation."""
        step = round(observation * STEPS)
        self.total += observation
        self.counts[step] = self.counts.get(step, 0) + 1

    def joined(self, counts: Mapping[int, int], total: float) -> Spread:
        """Return the spread of these and further observations together."""
        joined = dict(self.counts)
        for step, count in counts.items():
            joined[step] = joined.get(step, 0) + count
        return Spread(self.total + total, joined)

    def mean(
        self,
        *,
        alpha: float,
        min_trials: int,
        low: float = 0.0,
        effect: float = 1.0,
        light: Iterable[tuple[float, Spread]] = (),
    ) -> Estimate | None:
        """Return the mean of the observations in [low, 1]; None with fewer than `min_trials`.

        The interval is that of the rounded observations, moved by what rounding did to their mean. Of those
        that weigh less than 1, `light` has the weight, and which they are.
        """
        if not self.counts:
            return None
        full, histogram = dict(self.counts), {}
        total, size = self.total, float(self.n)
        for weight, some in light:
            total -= (1 - weight) * some.total
            size -= (1 - weight) * some.n
            for step, count in some.counts.items():
                full[step] -= count
                histogram[step / STEPS, weight] = count
        histogram |= {(step / STEPS, 1.0): count for step, count in full.items()}
        found = weighted_mean(histogram, low=low, alpha=alpha, min_observations=min_trials, effect=effect)
        if found is None:
            return None
        mean = min(1.0, max(low, total / size))
        moved = mean - found.value
        return Estimate(mean, max(low, found.lower + moved), min(1.0, found.upper + moved), found.n)

    def to_json(self) -> list[Any]:
        """Return the spread as JSON values."""
        return [self.total, self.counts]

    @classmethod
    def from_json(cls, raw: list[Any]) -> Spread:
        """Read what `to_json` wrote."""
        return cls(raw[0], {int(step): count for step, count in raw[1].items()})


@dataclass(slots=True)
class Counts:
    """Sufficient statistics of a cell: adding a verdict costs the same however many there were."""

    rated: dict[str, int] = field(default_factory=lambda: {"0": 0, "1": 0, "2": 0, "3": 0})
    """Trials by rating, 0 = unsure; the keys are text, as in JSON."""
    unsure_shifted: int = 0
    """Trials without a rating whose content shifted: invalid ones."""
    invalid: dict[str, int] = field(default_factory=dict)
    """Answers that ignored a required form, by that form."""
    invalid_trials: int = 0
    """Trials whose answer ignored any of these."""
    free_trials: int = 0
    """Trials compared with the free answer of the same exchange."""
    free_shifted: int = 0
    """Trials among these whose content moved against the free answer."""
    similarity: Spread = field(default_factory=Spread)
    """Similarities of the trials that have one."""
    control_similarity: Spread = field(default_factory=Spread)
    """Similarities of the resends of the same exchanges."""
    loss: Spread = field(default_factory=Spread)
    """Graded losses of pairs."""
    lost_grades: Spread = field(default_factory=Spread)
    """Grades of the trials whose resend has none."""
    failures: dict[str, int] = field(default_factory=dict)
    effect: float = 1.0
    """Design effect of the trials (`blocks`): so many tell intervals as much as one that is independent."""
    effects: CellEffects = field(default_factory=CellEffects)
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
    light: dict[str, Counts] = field(default_factory=dict)
    """Counts of the trials that weigh less than 1, by the sign of their weight; included in the totals."""

    @property
    def trials(self) -> int:
        """Observed trials: rated, invalid or unsure."""
        return sum(self.rated.values())

    @property
    def content_trials(self) -> int:
        """Trials of which it is known whether their content shifted: all but the unsure ones."""
        return self.rated["1"] + self.rated["2"] + self.rated["3"] + self.unsure_shifted

    @property
    def unsure(self) -> int:
        """Trials without a judge, but the invalid ones."""
        return self.rated.get(str(UNSURE), 0) - self.invalid_trials

    @property
    def shifted(self) -> int:
        """Trials whose content moved."""
        return self.rated["1"] + self.rated["2"] + self.unsure_shifted

    @property
    def quality_changed(self) -> int:
        """Shifted trials in which a quality metric changed."""
        return self.worse + self.better + self.mixed

    @property
    def quality_scored(self) -> int:
        """Shifted trials that have quality scores."""
        return self.same + self.quality_changed

    @property
    def perhaps_changed(self) -> int:
        """Shifted trials in which a quality metric changed, or may have changed but could not be scored."""
        return self.quality_changed + self.shifted - self.quality_scored

    @property
    def qualities(self) -> dict[str, int]:
        """Shifted trials by quality outcome."""
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
        """Rate of shifts; None without trials."""
        return self._share("shifted", "content_trials")

    @property
    def quality_delta_value(self) -> float | None:
        """Rate of changed quality among shifts; None if none has quality scores."""
        return self._share("quality_changed", "quality_scored")

    def rate(self, rating: int, quality: QualityOutcome | None) -> None:
        """Count a rated trial without a resend; `quality` is that of a shifted trial."""
        self.take_outcome(_ALL[rating, quality, None], 1)

    def add(self, verdict: Verdict) -> int | None:
        """Count a verdict.

        Returns: what the pair says, 1 (only the variant shifted), −1 (only the identical resend
        did) or 0; None if there is no pair: the trial or its resend has no rating.
        """
        return self.count(outcome_of(verdict), verdict)

    def count(self, outcome: Outcome | str, verdict: Verdict, weight: float = 1.0) -> int | None:
        """Count a verdict whose outcome is already known; return the same as `add`.

        Args:
            outcome: Of the verdict.
            verdict: It.
            weight: What it counts for in estimates, in (0, 1].
        """
        if isinstance(outcome, str):
            self._fail(outcome)
            return None
        self.take(outcome, verdict)
        if not verdict.selection.split_of:
            shifted = None if outcome.unsure else outcome.shifted
            self.effects.add(shifted, outcome.difference, verdict.graded_loss)
            if self.trials % BLOCK == 0:
                self.effect = self.effects.intervals
        sign = weight_sign(weight)
        if sign:
            self._lighter(sign).take(outcome, verdict)
        if outcome.quality == "unscored":
            failed = verdict.quality_failures
            self._fail(f"{QUALITY_PREFIX}{failed[0].reason if failed else 'missing'}")
        return outcome.difference

    def _lighter(self, sign: str) -> Counts:
        light = self.light.get(sign)
        if light is None:
            light = self.light[sign] = Counts()
        return light

    def take(self, outcome: Outcome, verdict: Verdict) -> None:
        """Count an observation, regardless of its weight."""
        self.take_outcome(outcome, 1)
        self.invalid_trials += bool(verdict.invalid)
        for what in verdict.invalid:
            self.invalid[what] = self.invalid.get(what, 0) + 1
        if verdict.free_shifted is not None:
            self.free_trials += 1
            self.free_shifted += verdict.free_shifted
        if verdict.similarity is not None:
            self._grade(verdict, verdict.similarity)
        if verdict.control.similarity is not None:
            self.control_similarity.add(verdict.control.similarity)

    def _grade(self, verdict: Verdict, similarity: float) -> None:
        self.similarity.add(similarity)
        loss, grade = verdict.graded_loss, verdict.grade
        if loss is not None:
            self.loss.add(loss)
        elif grade is not None:
            self.lost_grades.add(grade)

    def take_outcome(self, outcome: Outcome, times: int) -> None:
        """Count an outcome for a number of observations."""
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
    def of_outcomes(cls, words: Mapping[str, int]) -> Counts:
        """Return the counts of a window, given the number of each outcome's word; without failures."""
        counts = cls()
        for word, times in words.items():
            counts.take_outcome(OUTCOMES[word[0]], times)
            if len(word) > 1:
                counts._lighter(word[1:]).take_outcome(OUTCOMES[word[0]], times)
        return counts

    def _fail(self, reason: str) -> None:
        known = reason in self.failures or len(self.failures) < _MOST_REASONS
        reason = reason if known else OTHER_REASON
        self.failures[reason] = self.failures.get(reason, 0) + 1

    def estimates(self, *, alpha: float, min_trials: int) -> CellEstimates:
        """Return all estimates of the cell; None for each with fewer than `min_trials` observations."""
        rules: Any = {"alpha": alpha, "min_trials": min_trials}
        return CellEstimates(
            content_delta=self.content_delta(**rules),
            quality_delta=self.proportion("quality_changed", "quality_scored", **rules),
            quality_worse=self.proportion("worse", "quality_scored", **rules),
            quality_better=self.proportion("better", "quality_scored", **rules),
            robustness=self.robustness(**rules),
            excess=self.excess(**rules),
            unsure=self.proportion("unsure", "trials", **rules),
            invalid=self.proportion("invalid_trials", "trials", **rules),
            free_delta=self.proportion("free_shifted", "free_trials", **rules),
            similarity=self._mean(lambda one: one.similarity, **rules),
            control_similarity=self._mean(lambda one: one.control_similarity, **rules),
            loss=self._loss(**rules),
        )

    def _by_weight(self, *names: str) -> Iterator[tuple[float, list[int]]]:
        """Yield each weight with the named counts of trials of that weight."""
        full = [getattr(self, name) for name in names]
        for sign, light in self.light.items():
            found = [getattr(light, name) for name in names]
            full = [whole - part for whole, part in zip(full, found, strict=True)]
            yield _WEIGHTS[sign], found
        yield 1.0, full

    def _weights(self, *names: str) -> list[float]:
        """Return the named counts, summed by weight."""
        total = [0.0] * len(names)
        for weight, found in self._by_weight(*names):
            total = [so_far + weight * count for so_far, count in zip(total, found, strict=True)]
        return total

    def _share(self, part: str, whole: str) -> float | None:
        """Return the weighted share of one count in another; None if the latter is 0."""
        parts, wholes = self._weights(part, whole)
        return parts / wholes if wholes else None

    def proportion(self, part: str, whole: str, *, alpha: float, min_trials: int) -> Estimate | None:
        """Return the rate of one count in another, both given by name."""
        histogram = {}
        for weight, (some, every) in self._by_weight(part, whole):
            histogram[0.0, weight], histogram[1.0, weight] = every - some, some
        return weighted_mean(histogram, alpha=alpha, min_observations=min_trials, effect=self.effect)

    def _mean(
        self, spread: Callable[[Counts], Spread], *, alpha: float, min_trials: int, low: float = 0.0
    ) -> Estimate | None:
        light = [(_WEIGHTS[sign], spread(one)) for sign, one in self.light.items()]
        rules: Any = {"alpha": alpha, "min_trials": min_trials, "low": low, "effect": self.effect}
        return spread(self).mean(**rules, light=light)

    def content_delta(self, *, alpha: float, min_trials: int) -> Estimate | None:
        """Return the rate of shifts; None with fewer than `min_trials` trials of known content."""
        return self.proportion("shifted", "content_trials", alpha=alpha, min_trials=min_trials)

    def excess(self, *, alpha: float, min_trials: int) -> Estimate | None:
        """Return the paired excess; None with fewer than `min_trials` pairs.

        A trial whose resend has no rating is in no pair. The interval allows for all of those resends shifted
        and for none, whatever made them fail.
        """
        pairs = self.plus + self.minus + self.zero
        if pairs < max(min_trials, 1):
            return None
        found: list[dict[tuple[float, float], int]] = [{}, {}, {}]
        plain, least, most = found
        names = ("plus", "minus", "zero", "lost_shifted", "content_trials")
        for weight, (plus, minus, zero, shifted, trials) in self._by_weight(*names):
            same = trials - plus - minus - zero - shifted
            plain |= _pairs(weight, plus, minus, zero)
            least |= _pairs(weight, plus, minus + same, zero + shifted)
            most |= _pairs(weight, plus + shifted, minus, zero + same)
        rules: Any = {"low": -1.0, "alpha": alpha, "effect": self.effect}
        excess = weighted_mean(plain, min_observations=min_trials, **rules)
        if excess is None or pairs == self.content_trials:
            return excess
        ends = (weighted_mean(one, **rules) for one in (least, most))
        return _between(excess, *ends)

    def _loss(self, *, alpha: float, min_trials: int) -> Estimate | None:
        """Return the mean graded loss; its interval allows for any grade of the resends that have none."""
        rules: Any = {"alpha": alpha, "low": -1.0}
        loss = self._mean(lambda one: one.loss, min_trials=min_trials, **rules)
        if loss is None or not self.lost_grades.counts:
            return loss
        least = self._mean(lambda one: one.least_loss, min_trials=1, **rules)
        most = self._mean(lambda one: one.most_loss, min_trials=1, **rules)
        return _between(loss, least, most)

    @property
    def least_loss(self) -> Spread:
        """Graded losses if all resends without a grade had the worst one."""
        lost = self.lost_grades
        return self.loss.joined({-step: count for step, count in lost.counts.items()}, -lost.total)

    @property
    def most_loss(self) -> Spread:
        """Graded losses if all resends without a grade had the best one."""
        lost = self.lost_grades
        return self.loss.joined(
            {STEPS - step: count for step, count in lost.counts.items()}, lost.n - lost.total
        )

    def robustness(self, *, alpha: float, min_trials: int) -> Estimate | None:
        """Return one minus the rate of shifts that changed quality = 1 − content delta × quality delta.

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
        trials = self.content_trials
        if trials < max(min_trials, 1):
            return None
        shifted, scored = self.shifted, self.quality_scored
        known = trials - (shifted - scored)
        if known < max(min_trials, 1) or (shifted and not scored):
            return None
        fewest = self.proportion("quality_changed", "content_trials", alpha=alpha, min_trials=1)
        most = self.proportion("perhaps_changed", "content_trials", alpha=alpha, min_trials=1)
        assert fewest is not None
        assert most is not None
        moved, every, changed, told = self._weights(
            "shifted", "content_trials", "quality_changed", "quality_scored"
        )
        changed_rate = moved / every * changed / told if told else 0.0
        return Estimate(1 - changed_rate, 1 - most.upper, 1 - fewest.lower, known)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as JSON values."""
        # Not `asdict`, which copies for longer than the rest of a checkpoint takes.
        raw = {name: getattr(self, name) for name in _FIELDS}
        spreads = {name: raw[name].to_json() for name in _SPREADS}
        raw["effects"] = self.effects.to_json()
        return raw | spreads | {"light": {sign: one.to_json() for sign, one in self.light.items()}}

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> Counts:
        """Read what `to_json` wrote."""
        spreads = {name: Spread.from_json(raw[name]) for name in _SPREADS}
        light = {sign: cls.from_json(one) for sign, one in raw["light"].items()}
        effects = CellEffects.from_json(raw["effects"])
        return cls(**(raw | spreads | {"light": light, "effects": effects}))


_FIELDS = tuple(field.name for field in fields(Counts))
_SPREADS = ("similarity", "control_similarity", "loss", "lost_grades")


def _pairs(weight: float, plus: int, minus: int, zero: int) -> dict[tuple[float, float], int]:
    return {(-1.0, weight): minus, (0.0, weight): zero, (1.0, weight): plus}


def _between(estimate: Estimate, least: Estimate | None, most: Estimate | None) -> Estimate:
    """Return an estimate with the lower end of one interval and the upper end of another."""
    assert least is not None
    assert most is not None
    return replace(estimate, lower=min(least.lower, estimate.value), upper=max(most.upper, estimate.value))
