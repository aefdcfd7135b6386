"""Running counts of a cell, and every estimate that follows from them.

One trial is one of 68 possible outcomes and has one of eight weights. Both together are a *word*: a letter,
and the sign of the weight unless that is 1. How often each word occurred in a cell, or since a change,
is all that its rates need.
"""

from __future__ import annotations

from dataclasses import replace
from math import isfinite, log2
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from msgspec import Struct, field

from evenkeel.core.cells import QUALITY_PREFIX, CellEstimates, Estimate, unrated
from evenkeel.monitor.estimate.blocks import CellEffects
from evenkeel.monitor.estimate.bounded_mean import weighted_mean
from evenkeel.monitor.estimate.tool_counts import ARGUMENTS, CHOICE, ToolCounts, choice_difference

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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


class RatedOutcome(NamedTuple):
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

    @property
    def known(self) -> bool:
        """True if it is known whether the content shifted."""
        return not self.unsure

    @property
    def scored(self) -> bool:
        """True for a shifted trial that has quality scores."""
        return self.quality is not None and self.quality != "unscored"

    @property
    def changed(self) -> bool:
        """True if a quality changed, in either direction."""
        return self.quality in _CHANGED

    @property
    def perhaps_changed(self) -> bool:
        """True if a quality changed, or may have changed but could not be scored."""
        return self.changed or self.quality == "unscored"


_CHANGED: Final[tuple[QualityOutcome, ...]] = ("worse", "better", "mixed")


# Signs that JSON need not escape.
_LETTERS: Final = "".join(chr(code) for code in range(ord("0"), 127) if chr(code) != "\\")
_DIFFERENCES: Final[tuple[Literal[-1, 0, 1] | None, ...]] = (None, 1, -1, 0)
_QUALITIES: Final[tuple[QualityOutcome, ...]] = ("same", "worse", "better", "mixed", "unscored")


def _all_outcomes() -> list[RatedOutcome]:
    letters = iter(_LETTERS)
    outcomes = []
    # The letters are part of the monitor's checkpoint, so this order stays as it is.
    ratings: tuple[Literal[3, 1, 2, 0], ...] = (3, 1, 2, UNSURE)
    for rating in ratings:
        qualities: tuple[QualityOutcome | None, ...] = _QUALITIES
        if rating == 3:  # noqa: PLR2004 - alike
            qualities = (None,)
        elif rating == UNSURE:
            qualities = (None, *_QUALITIES)
        for quality in qualities:
            for difference in _DIFFERENCES:
                outcomes.append(RatedOutcome(next(letters), rating, quality, difference))
    return outcomes


OUTCOMES: Final = {outcome.letter: outcome for outcome in _all_outcomes()}
"""Outcomes by letter."""
RATED: Final[Mapping[tuple[int, QualityOutcome | None, int | None], RatedOutcome]] = {
    (outcome.rating, outcome.quality, outcome.difference): outcome for outcome in OUTCOMES.values()
}
"""Outcomes by rating, quality and difference."""


def outcome_of(verdict: Verdict) -> RatedOutcome | str:
    """Return the outcome of a verdict, or the reason in snake case why it has none."""
    shifted, rating = verdict.shifted, verdict.rating
    if shifted is None and not verdict.unsure:
        return verdict.failure.reason if verdict.failure else "unrated"
    if shifted is None or verdict.scoring.scorer == "metrics":
        # Without a judge only identical, empty and invalid answers are known: a share of these is no figure.
        return RATED[UNSURE, None, None]
    if rating is None or verdict.invalid:
        rating = UNSURE
    elif rating not in {1, 2, 3}:
        return "rating_out_of_range"
    baseline = verdict.control.shifted
    difference = None if baseline is None else shifted - baseline
    return RATED[rating, _quality_of(verdict) if shifted else None, difference]


def _quality_of(verdict: Verdict) -> QualityOutcome:
    changed = verdict.quality_changed
    if changed is None:
        return "unscored"
    return (verdict.direction or "mixed") if changed else "same"


# Reasons for failures come from endpoints, so their number is bounded.
_MOST_REASONS = 32
# Name that counts failure reasons beyond 32 in a cell together, so that labels stay bounded.
_OTHER_REASON = "other"

STEPS: Final = 50
"""Steps in a unit of similarity."""


class Spread(Struct):
    """Histogram of similarities to the nearest fiftieth, with their exact sum."""

    total: float = 0.0
    """Sum of the observations, each times its weight."""
    steps: dict[str, dict[int, int]] = field(default_factory=dict)
    """Observations by the sign of their weight, then by number of fiftieths."""

    @property
    def n(self) -> int:
        """Number of observations."""
        return sum(sum(steps.values()) for steps in self.steps.values())

    @property
    def weight(self) -> float:
        """Total weight of the observations."""
        return sum(weight_of(sign) * sum(steps.values()) for sign, steps in self.steps.items())

    def add(self, observation: float, sign: str = "") -> None:
        """Count an observation, with the sign of its weight."""
        step = round(observation * STEPS)
        self.total += observation * weight_of(sign)
        steps = self.steps.setdefault(sign, {})
        steps[step] = steps.get(step, 0) + 1

    def mean(
        self, *, alpha: float, min_trials: int, low: float = 0.0, effect: float = 1.0
    ) -> Estimate | None:
        """Return the mean of the observations in [low, 1]; None with fewer than `min_trials`.

        The interval is that of the rounded observations, moved by what rounding did to their mean.
        """
        histogram = {}
        for sign, steps in self.steps.items():
            for step, count in steps.items():
                histogram[step / STEPS, weight_of(sign)] = count
        estimate = weighted_mean(histogram, low=low, alpha=alpha, min_observations=min_trials, effect=effect)
        if estimate is None:
            return None
        mean = min(1.0, max(low, self.total / self.weight))
        moved = mean - estimate.value
        return Estimate(mean, max(low, estimate.lower + moved), min(1.0, estimate.upper + moved), estimate.n)


# What an outcome says of each rate: 0, 1, in a paired difference also −1; None where it says nothing.


def _shifted(outcome: RatedOutcome) -> int | None:
    return int(outcome.shifted) if outcome.known else None


def _changed(outcome: RatedOutcome) -> int | None:
    return int(outcome.changed) if outcome.known else None


def _perhaps_changed(outcome: RatedOutcome) -> int | None:
    return int(outcome.perhaps_changed) if outcome.known else None


def _quality(outcome: RatedOutcome, *qualities: QualityOutcome) -> int | None:
    return int(outcome.quality in qualities) if outcome.scored else None


def _least_difference(outcome: RatedOutcome) -> int | None:
    if outcome.difference is None and outcome.known:
        return outcome.shifted - 1
    return outcome.difference


def _most_difference(outcome: RatedOutcome) -> int | None:
    return _shifted(outcome) if outcome.difference is None else outcome.difference


class Counts(Struct):
    """Sufficient statistics of a cell: adding a verdict costs the same however many there were."""

    words: dict[str, int] = field(default_factory=dict)
    """Trials by their word."""
    disobeying: dict[str, int] = field(default_factory=dict)
    """Trials with an invalid answer, by the sign of their weight."""
    invalid: dict[str, int] = field(default_factory=dict)
    """Answers that ignored a required form, by that form."""
    failures: dict[str, int] = field(default_factory=dict)
    similarity: Spread = field(default_factory=Spread)
    """Similarities of the trials that have one."""
    control_similarity: Spread = field(default_factory=Spread)
    """Similarities of the resends of the same exchanges."""
    loss: Spread = field(default_factory=Spread)
    """Graded losses of pairs."""
    tools: ToolCounts = field(default_factory=ToolCounts)
    effects: CellEffects = field(default_factory=CellEffects)
    effect: float = 1.0
    """Design effect of the trials (`blocks`): so many tell intervals as much as one that is independent."""

    def total(self, counted: Callable[[RatedOutcome], bool]) -> int:
        """Return the number of trials with some outcomes, whatever they weigh."""
        total = 0
        for word, count in self.words.items():
            if counted(OUTCOMES[word[0]]):
                total += count
        return total

    @property
    def trials(self) -> int:
        """Observed trials: rated, invalid or unsure."""
        return sum(self.words.values())

    @property
    def content_trials(self) -> int:
        """Trials of which it is known whether their content shifted: all but the unsure ones."""
        return self.total(lambda outcome: outcome.known)

    @property
    def shifted(self) -> int:
        """Trials whose content moved."""
        return self.total(lambda outcome: outcome.shifted)

    @property
    def quality_scored(self) -> int:
        """Shifted trials that have quality scores."""
        return self.total(lambda outcome: outcome.scored)

    @property
    def unrated(self) -> int:
        """Trials whose content nobody could rate.

        Identical answers need no judge, so one that fails is missed where answers differ: these trials are
        not like the others, and intervals allow for all of them shifted and for none.
        """
        return unrated(self.failures)

    @property
    def ratings(self) -> dict[int, int]:
        """Trials by rating; 0 = none."""
        return {rating: self.total(lambda outcome: outcome.rating == rating) for rating in range(4)}  # noqa: B023 - called at once

    @property
    def qualities(self) -> dict[str, int]:
        """Shifted trials by quality outcome."""
        return {name: self.total(lambda outcome: outcome.quality == name) for name in _QUALITIES}  # noqa: B023 - called at once

    @property
    def pairs(self) -> dict[int, int]:
        """Pairs by their difference."""
        return {step: self.total(lambda outcome: outcome.difference == step) for step in (1, -1, 0)}  # noqa: B023 - called at once

    @property
    def content_delta_value(self) -> float | None:
        """Rate of shifts; None without trials."""
        return self._value(_shifted)

    @property
    def quality_delta_value(self) -> float | None:
        """Rate of changed quality among shifts; None if none has quality scores."""
        return self._value(lambda outcome: _quality(outcome, *_CHANGED))

    def rate(self, rating: int, quality: QualityOutcome | None, times: int = 1) -> None:
        """Count trials of a rating without a resend; `quality` is that of a shifted trial."""
        letter = RATED[rating, quality, None].letter
        self.words[letter] = self.words.get(letter, 0) + times

    def count(self, outcome: RatedOutcome | str, verdict: Verdict, weight: float = 1.0) -> None:
        """Count a verdict.

        Args:
            outcome: Of the verdict, by `outcome_of`.
            verdict: It.
            weight: What it counts for in estimates, in (0, 1].
        """
        if isinstance(outcome, str):
            self._fail(outcome)
            return
        sign = weight_sign(weight)
        word = outcome.letter + sign
        self.words[word] = self.words.get(word, 0) + 1
        for what in verdict.invalid:
            self.invalid[what] = self.invalid.get(what, 0) + 1
        if verdict.invalid:
            self.disobeying[sign] = self.disobeying.get(sign, 0) + 1
        loss = verdict.graded_loss
        self._grade(verdict, loss, sign)
        self.tools.add(verdict)
        # Parts of a group follow one another by design: they would look like dependent traffic.
        if not verdict.selection.split_of:
            self._block(outcome, loss, verdict)
        if outcome.quality == "unscored":
            failed = verdict.quality_failures
            self._fail(f"{QUALITY_PREFIX}{failed[0].reason if failed else 'missing'}")

    def _grade(self, verdict: Verdict, loss: float | None, sign: str) -> None:
        if verdict.similarity is not None:
            self.similarity.add(verdict.similarity, sign)
            if loss is not None:
                self.loss.add(loss, sign)
        if verdict.control.similarity is not None:
            self.control_similarity.add(verdict.control.similarity, sign)

    def _block(self, outcome: RatedOutcome, loss: float | None, verdict: Verdict) -> None:
        """Take a trial into the blocks that show how much trials depend on each other."""
        effects, session = self.effects, verdict.origin.session
        if outcome.known:
            effects.content.add(float(outcome.shifted), session)
        elif (choice := choice_difference(verdict)) is not None:
            effects.content.add(float(choice), session)
        if loss is not None:
            effects.loss.add(loss, session)
        self.effect = effects.intervals

    def _fail(self, reason: str) -> None:
        has_room = reason in self.failures or len(self.failures) < _MOST_REASONS
        reason = reason if has_room else _OTHER_REASON
        self.failures[reason] = self.failures.get(reason, 0) + 1

    def pool(self, other: Counts) -> None:
        """Add another cell's trials, but for their similarities and tool calls."""
        for counts, others in ((self.words, other.words), (self.failures, other.failures)):
            for name, count in others.items():
                counts[name] = counts.get(name, 0) + count

    def estimates(self, *, alpha: float, min_trials: int) -> CellEstimates:
        """Return all estimates of the cell; None for each with fewer than `min_trials` observations."""
        rules: Any = {"alpha": alpha, "min_trials": min_trials}
        means: Any = {**rules, "effect": self.effect}
        return CellEstimates(
            content_delta=self.content_delta(**rules),
            quality_delta=self._mean(lambda outcome: _quality(outcome, *_CHANGED), **rules),
            quality_worse=self._mean(lambda outcome: _quality(outcome, "worse"), **rules),
            quality_better=self._mean(lambda outcome: _quality(outcome, "better"), **rules),
            robustness=self.robustness(**rules),
            excess=self.excess(**rules),
            # An invalid answer without a rating that shifted is not unsure.
            unsure=self._mean(lambda outcome: int(outcome.unsure), **rules),
            invalid=self._invalid(**rules),
            similarity=self.similarity.mean(**means),
            control_similarity=self.control_similarity.mean(**means),
            loss=self.loss.mean(low=-1.0, **means),
            tool_choice=self.tools.share(CHOICE, **means),
            tool_choice_noise=self.tools.control_share(CHOICE, **means),
            tool_arguments=self.tools.share(ARGUMENTS, **means),
            tool_arguments_noise=self.tools.control_share(ARGUMENTS, **means),
        )

    def _histogram(
        self, value: Callable[[RatedOutcome], int | None], unrated: float | None = None
    ) -> dict[tuple[float, float], int]:
        """Return how often each value was observed with each weight.

        Args:
            value: Value of an outcome; None leaves it out.
            unrated: Value of the trials that nobody could rate; None leaves them out. What they would have
                weighed is not recorded, so they weigh like an equal draw.
        """
        histogram: dict[tuple[float, float], int] = {}
        for word, count in self.words.items():
            observed = value(OUTCOMES[word[0]])
            if observed is not None:
                key = (float(observed), weight_of(word[1:]))
                histogram[key] = histogram.get(key, 0) + count
        if unrated is not None:
            histogram[unrated, 1.0] = histogram.get((unrated, 1.0), 0) + self.unrated
        return histogram

    def _value(self, value: Callable[[RatedOutcome], int | None]) -> float | None:
        """Return a mean without its interval; None without observations."""
        estimate = weighted_mean(self._histogram(value))
        return None if estimate is None else estimate.value

    def _mean(
        self,
        value: Callable[[RatedOutcome], int | None],
        *,
        alpha: float,
        min_trials: int = 1,
        low: float = 0.0,
        unrated: float | None = None,
    ) -> Estimate | None:
        histogram = self._histogram(value, unrated)
        return weighted_mean(histogram, low=low, alpha=alpha, min_observations=min_trials, effect=self.effect)

    def _invalid(self, *, alpha: float, min_trials: int) -> Estimate | None:
        histogram = self._histogram(lambda _: 0)
        for sign, count in self.disobeying.items():
            histogram[0.0, weight_of(sign)] -= count
            histogram[1.0, weight_of(sign)] = count
        return weighted_mean(histogram, alpha=alpha, min_observations=min_trials, effect=self.effect)

    def content_delta(self, *, alpha: float, min_trials: int) -> Estimate | None:
        """Return the rate of shifts; None with fewer than `min_trials` trials of known content.

        The interval allows for all unrated trials shifted and for none.
        """
        rate = self._mean(_shifted, alpha=alpha, min_trials=min_trials)
        if rate is None or not self.unrated:
            return rate
        least = self._mean(_shifted, alpha=alpha, unrated=0.0)
        return _between(rate, least, self._mean(_shifted, alpha=alpha, unrated=1.0))

    def excess(self, *, alpha: float, min_trials: int, shown: float | None = None) -> Estimate | None:
        """Return the paired excess; None with fewer than `min_trials` pairs.

        A trial is in no pair if it or its resend has no rating. The interval allows for all of those trials
        and resends shifted and for none, whatever made them fail.

        Args:
            alpha: Probability with which the interval may ever miss the truth.
            min_trials: Fewest pairs.
            shown: Limit that an alert shows answers to be over; the interval then begins there. The alert has
                an error of its own. The interval alone is slower, since it allows for traffic that depends on
                itself from the first trial on.
        """
        excess = self._mean(lambda outcome: outcome.difference, low=-1.0, alpha=alpha, min_trials=min_trials)
        if excess is None:
            return None
        if excess.n < self.content_trials + self.unrated:
            least = self._mean(_least_difference, low=-1.0, alpha=alpha, unrated=-1.0)
            excess = _between(excess, least, self._mean(_most_difference, low=-1.0, alpha=alpha, unrated=1.0))
        if shown is None or not excess.lower < shown < excess.value:
            return excess
        return replace(excess, lower=shown)

    def robustness(self, *, alpha: float, min_trials: int) -> Estimate | None:
        """Return one minus the rate of shifts that changed quality = 1 − content delta × quality delta.

        A shifted trial whose quality could not be scored is counted as a failure and not in `n`.
        Leaving it out altogether would make robustness look too high, because only shifted trials
        can lack their quality. So the value takes the unscored shifts to be like the scored ones
        (that is the product above), and the interval allows for all of them changed and for none:
        it covers the truth whatever made the scores fail, and is the plain confidence sequence of
        the rate if every shift is scored. It allows for unrated trials in the same way.

        Returns: an estimate in [0, 1]; None with fewer than `min_trials` known outcomes, or if no
        shift at all has quality scores.
        Source: the two-stage score of the enterprise perturbation-robustness paper.
        """
        shifted, scored = self.shifted, self.quality_scored
        scored_trials = self.content_trials - (shifted - scored)
        if scored_trials < max(min_trials, 1) or (shifted and not scored):
            return None
        value = 1 - (self.content_delta_value or 0.0) * (self.quality_delta_value or 0.0)
        fewest = self._mean(_changed, alpha=alpha, unrated=0.0)
        most = self._mean(_perhaps_changed, alpha=alpha, unrated=1.0)
        assert fewest is not None
        assert most is not None
        return Estimate(value, 1 - most.upper, 1 - fewest.lower, scored_trials)


def _between(estimate: Estimate, least: Estimate | None, most: Estimate | None) -> Estimate:
    assert least is not None
    assert most is not None
    return replace(estimate, lower=min(least.lower, estimate.value), upper=max(most.upper, estimate.value))
