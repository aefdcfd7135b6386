"""Figures of a check: how often rewordings of a category move the answer, beyond an identical resend.

The rounds of a check are independent: each asks for two fresh answers to the prompt and for one to each
variant. So every figure is a mean of independent observations, one a round. The points above noise, which
decide, have the interval of `evenkeel.monitor.detect.decision`; the other figures have confidence sequences.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from evenkeel.core.cells import Estimate
from evenkeel.monitor.detect.decision import anytime_mean, more_needed, paired_mean, rated_mean, smaller

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenkeel.core.cells import Standing

FIRST: Final = "first"
"""Arm of the model or prompt that is checked."""
SECOND: Final = "second"
"""Arm of the one that it is compared with."""
ERROR_RATE: Final = 0.05
"""Probability with which a check calls any category over its limit falsely; and with which it calls one
within its limit falsely, each category by itself."""
# Rounds beyond which "about N more" would be no help.
_MOST_MORE_ROUNDS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTrial:
    """Outcome of one variant in one round."""

    round: int
    arm: str
    category: str
    kind: str
    """Name of the perturbation."""
    moved: bool | None = None
    """True if the content moved; None if nobody could say."""
    control_moved: bool | None = None
    quality_changed: bool | None = None
    control_quality_changed: bool | None = None
    rating: int | None = None
    similarity: float | None = None
    control_similarity: float | None = None
    invalid: bool = False
    cut: bool = False
    """True if an answer reached the maximum length."""
    unrated: bool = False
    """True if the prompt was answered twice, and the rewording was not, or nobody could rate the answers."""
    failure: str = ""
    """Reason why there is no outcome."""
    explanation: str = ""
    words: tuple[str, ...] = ()
    """Words of the prompt that the variant changed."""
    touched: float = 0.0
    """Share of the input's words that it changed, in [0, 1]."""
    prompt: str = ""
    variant: str = ""
    reference: str = ""
    candidate: str = ""

    @property
    def excess(self) -> float | None:
        """Return how much the variant moved the answer beyond the resend: 1, 0 or −1; None if not known."""
        if self.moved is None or self.control_moved is None:
            return None
        return float(self.moved) - float(self.control_moved)

    @property
    def is_answered(self) -> bool:
        """Return whether the prompt was answered twice, so that the trial has a say."""
        return self.unrated or self.excess is not None


@dataclass(frozen=True, slots=True)
class CategoryFigures:
    """Figures of one category of rewordings; shares in [0, 1], differences in [−1, 1]."""

    category: str
    standing: Standing
    points: Estimate | None
    """Points above noise: content delta minus that of the identical resends of the same rounds."""
    content_delta: Estimate | None
    """Share of the answers to rewordings whose content moved."""
    noise_floor: Estimate | None
    """Share of the answers to identical resends, in the same rounds, whose content moved."""
    quality_loss: Estimate | None
    """Share of the answers whose content moved and whose quality changed; robustness is 1 minus it."""
    control_quality_loss: Estimate | None
    similarity_loss: Estimate | None
    """Similarity of the resend minus that of the reworded answer; all there is without a judge."""
    invalid: int
    """Answers that ignore the format or the language asked for; they count as moved."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """Trials without a figure, by reason."""
    not_applicable: str = ""
    """Reason why no kind of the category applies to the prompt; "" if one does."""
    more_rounds: int | None = None
    """Rounds until an unknown category may be settled, if its figure stays; None if nobody can say."""
    is_blind: bool = False
    """True if resends move so often that no rewording could move answers beyond the limit."""

    @property
    def quality_delta(self) -> float | None:
        """Share of the moved answers whose quality changed; None without any."""
        if self.content_delta is None or self.quality_loss is None or not self.content_delta.value:
            return None
        return min(1.0, self.quality_loss.value / self.content_delta.value)

    @property
    def robustness(self) -> float | None:
        """1 − content delta × quality delta, in [0, 1]."""
        return None if self.quality_loss is None else 1 - self.quality_loss.value

    @property
    def control_robustness(self) -> float | None:
        """The same of the identical resends."""
        return None if self.control_quality_loss is None else 1 - self.control_quality_loss.value


def category_figures(
    category: str,
    trials: Sequence[CheckTrial],
    *,
    limit: float,
    categories: int,
    complete: bool = False,
    not_applicable: str = "",
) -> CategoryFigures:
    """Return the figures of a category.

    Args:
        category: Its name.
        trials: Its trials, one a round.
        limit: Largest difference that is tolerated, in (0, 1].
        categories: Categories of the check, among which the rate of false accusations is divided.
        complete: Whether as many rounds were made as planned.
        not_applicable: Reason why there are no trials.
    """
    rated: list[CheckTrial] = []
    excess: Counter[float] = Counter()
    similarity_losses: list[float] = []
    failures: Counter[str] = Counter()
    invalid = 0
    for trial in trials:
        invalid += trial.invalid
        if trial.failure:
            failures[trial.failure] += 1
        if trial.excess is not None:
            rated.append(trial)
            excess[trial.excess] += 1
        if trial.similarity is not None and trial.control_similarity is not None:
            similarity_losses.append(trial.control_similarity - trial.similarity)
    unrated = sum(trial.unrated for trial in trials)
    # The lower end, which accuses, holds for all categories together, and the upper end for one.
    points = paired_mean(
        excess,
        alpha=ERROR_RATE / max(1, categories),
        beta=ERROR_RATE,
        complete=complete,
        unrated=unrated,
    )
    standing, more = _standing(points, limit)
    noise_floor = _share(rated, "control_moved", unrated)
    # Answers that are another each time would be within any limit, whatever was asked.
    nearly_all_move = noise_floor is not None and 1 - noise_floor.value <= limit
    is_blind = standing == "within" and nearly_all_move
    return CategoryFigures(
        category=category,
        standing="unknown" if is_blind else standing,
        points=points,
        content_delta=_share(rated, "moved", unrated),
        noise_floor=noise_floor,
        quality_loss=_share(rated, "quality_changed", unrated),
        control_quality_loss=_share(rated, "control_quality_changed", unrated),
        similarity_loss=rated_mean(similarity_losses, alpha=ERROR_RATE),
        invalid=invalid,
        failures=failures,
        not_applicable=not_applicable,
        more_rounds=None if nearly_all_move else more,
        is_blind=is_blind,
    )


def sensitivity(trials: Sequence[CheckTrial]) -> Estimate | None:
    """Return the share of the contrast trials whose answer moved, in [0, 1]; None without any."""
    answered = []
    for trial in trials:
        if trial.moved is not None or trial.unrated:
            answered.append(trial)
    return _share(answered, "moved", alpha=ERROR_RATE / 2)


def _share(
    trials: Iterable[CheckTrial], outcome: str, unrated: int = 0, alpha: float = ERROR_RATE
) -> Estimate | None:
    """Return the share of the trials with an outcome, and of `unrated` further ones in which it is not known.

    Either end of the interval may ever miss the truth with the probability `alpha`.
    """
    outcomes = [getattr(trial, outcome) for trial in trials]
    return rated_mean([*outcomes, *[None] * unrated], low=0.0, alpha=alpha)


def _standing(points: Estimate | None, limit: float) -> tuple[Standing, int | None]:
    """Return the position of a category, and about how many more rounds an unknown one needs."""
    if points is None:
        return "unmeasured", None
    if points.lower > limit:
        return "over", None
    if points.upper <= limit:
        return "within", None
    more = more_needed(points, limit, points.n)
    return "unknown", more if more is not None and more < _MOST_MORE_ROUNDS else None


@dataclass(frozen=True, slots=True)
class ArmComparison:
    """Two models, or two prompts, side by side in one category."""

    category: str
    more_fragile: Literal["first", "second", "no", "unknown"]
    """The one whose answers move more; "no" if neither does by more than the limit."""
    difference: Estimate | None
    """Difference between what rewordings move, second minus first, in [−1, 1]: points above noise or moved
    answers, whichever differs less; 0 if they differ in opposite directions."""


def compare(
    category: str, first: Sequence[CheckTrial], second: Sequence[CheckTrial], *, limit: float, categories: int
) -> ArmComparison:
    """Return how much more fragile the second is than the first, paired by round."""
    alpha = ERROR_RATE / max(1, categories)
    more = fragility_difference(first, second, alpha=alpha, beta=alpha)
    fewer = fragility_difference(second, first, alpha=alpha, beta=alpha)
    if more is None or fewer is None:
        return ArmComparison(category, "unknown", None)
    # Of points above noise and moved answers the one that differs less, in either direction.
    difference = Estimate(
        more.value if more.value > 0 else min(0.0, -fewer.value),
        more.lower if more.lower > 0 else -max(0.0, fewer.upper),
        -fewer.lower if fewer.lower > 0 else max(0.0, more.upper),
        more.n,
    )
    if difference.lower > 0:
        return ArmComparison(category, "second", difference)
    if difference.upper < 0:
        return ArmComparison(category, "first", difference)
    settled = difference.upper <= limit and -difference.lower <= limit
    return ArmComparison(category, "no" if settled else "unknown", difference)


def fragility_difference(
    first: Sequence[CheckTrial], second: Sequence[CheckTrial], *, alpha: float, beta: float
) -> Estimate | None:
    """Return how much more rewordings move the second arm than the first, paired by round, in [−2, 1].

    It is the smaller difference of points above noise and of moved answers: the steadier of two equally
    fragile arms has more points above noise, since a rewording can show less where answers move anyway.

    Args:
        first: Trials of the first arm.
        second: Those of the second.
        alpha: Probability with which the lower end is ever above the truth.
        beta: Probability with which the upper end is ever below it.
    """
    before = {trial.round: trial for trial in first}
    excess: Counter[float] = Counter()
    moved: Counter[float] = Counter()
    unrated = 0
    for trial in second:
        other = before.get(trial.round)
        if other is None or not (other.is_answered and trial.is_answered):
            continue
        if other.excess is None or trial.excess is None:
            unrated += 1
        else:
            excess[trial.excess - other.excess] += 1
            moved[float(bool(trial.moved)) - float(bool(other.moved))] += 1
    return smaller(
        anytime_mean(excess, low=-2.0, high=2.0, alpha=alpha, beta=beta / 2, unrated=unrated),
        anytime_mean(moved, alpha=alpha, beta=beta / 2, unrated=unrated),
    )


@dataclass(frozen=True, slots=True)
class PromptWord:
    """A word of the prompt, and how often the answer moved where a rewording touched it."""

    word: str
    trials: int
    moved: int

    @property
    def share(self) -> float:
        """Share of these trials whose answer moved, in [0, 1]."""
        return self.moved / self.trials


# Trials that touch a word before it is ranked.
_LEAST_TRIALS: Final = 3
# Share of the prompt's words above which a change says nothing about any single word.
_MOST_TOUCHED: Final = 0.25
# Most words that are named.
_MOST_WORDS: Final = 8


def fragile_words(trials: Iterable[CheckTrial]) -> list[PromptWord]:
    """Return the words whose rewording moved answers, by the share of their trials that moved.

    Only words that moved answers more often than rewordings of the same prompt do on average are returned.

    Args:
        trials: Of rewordings; those that touch many words at once, or whose resend moved too, are left out.
    """
    telling = []
    for trial in trials:
        # A change of many words at once says nothing about any single one of them.
        few_words = 0 < trial.touched <= _MOST_TOUCHED
        if few_words and trial.moved is not None and not trial.control_moved:
            telling.append(trial)
    if not telling:
        return []
    touched: Counter[str] = Counter()
    moved: Counter[str] = Counter()
    moves = 0
    for trial in telling:
        touched.update(trial.words)
        if trial.moved:
            moved.update(trial.words)
            moves += 1
    usual = moves / len(telling)
    ranked = []
    for word, count in touched.items():
        if count >= _LEAST_TRIALS and moved[word] > usual * count:
            ranked.append(PromptWord(word, count, moved[word]))
    ranked.sort(key=lambda word: (-word.share, -word.trials, word.word))
    return ranked[:_MOST_WORDS]
