"""A run: rounds until every category is settled, the rounds are used up, or the budget is."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from evenkeel.core.figures import count, usd
from evenkeel.core.verdict import CONTRAST
from evenkeel.monitor.detect.decision import SwitchMeasure, anytime_mean, decide
from evenkeel.release.check.figures import (
    ERROR_RATE,
    FIRST,
    SECOND,
    category_figures,
    compare,
    fragility_difference,
    sensitivity,
)
from evenkeel.release.kit.asking import FAULTS, UnusableError
from evenkeel.release.kit.cost import BudgetUsedUpError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.core.cells import Estimate
    from evenkeel.monitor.detect.decision import SwitchDecision
    from evenkeel.release.check.figures import ArmComparison, CategoryFigures, CheckTrial
    from evenkeel.release.check.rounds import RoundMaker, RoundResult
    from evenkeel.release.kit.cost import Costs

# Rounds under way together; after each wave the settled categories are left out.
_WAVE: Final = 6
_SETTLED: Final = frozenset(("within", "over"))
# Reasons that lie with the rewriter and the budget: what is not tried because of them does apply.
_STILL_OPEN: Final = frozenset(f"rewriter_{reason}" for reason in (*FAULTS, "budget"))
# Rounds with a contrast: enough to tell a constant answer from one that follows the question.
_CONTRAST_ROUNDS: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """Everything that decides a check."""

    models: Mapping[str, str]
    """Name of the model, or of the prompt, of each arm."""
    categories: tuple[str, ...]
    """Categories of rewordings, without the contrasts."""
    limit: float = 0.10
    """Largest difference between rewordings and resends that is tolerated, in (0, 1]."""
    rounds: int = 200
    """Most rounds."""
    prompts: int = 1
    """Number of prompts, which the rounds take in turn."""
    judge: str = ""
    """Model that rates the answers; "" = none, similarity only."""
    source: str = ""
    """Name of the prompt, for titles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOutcome:
    """Outcome of a check."""

    options: CheckOptions
    arms: Mapping[str, tuple[CategoryFigures, ...]]
    """Figures by arm: "first", and "second" if two are compared."""
    sensitivity: Mapping[str, Estimate | None]
    """Share of the contrast trials whose answer moved, by arm."""
    comparisons: tuple[ArmComparison, ...]
    differ: Estimate | None
    """Difference of two arms beyond both noise floors; see `RoundResult.difference`."""
    switch: SwitchDecision | None
    """Decision whether the second may take the place of the first; None if none is compared."""
    trials: tuple[CheckTrial, ...] = field(repr=False)
    rounds: int
    costs: Costs
    stopped: str = ""
    """Reason why the run ended before everything was settled; "" if all is."""
    broke_off: bool = False
    """True if it ended because a model or the judge does not answer any more."""
    duration_s: float = 0.0

    @property
    def settled(self) -> bool:
        """Return whether every category that applies is within or over its limit, and one does."""
        open_categories = []
        for figures in self._measured:
            if figures.standing not in _SETTLED:
                open_categories.append(figures)
        return not self.nothing_measured and not open_categories

    @property
    def is_over(self) -> bool:
        """Return whether any category of any arm is over the limit."""
        return any(figures.standing == "over" for figures in self._measured)

    @property
    def failures(self) -> Counter[str]:
        """Return the number of trials without an outcome, by reason."""
        reasons = Counter(trial.failure for trial in self.trials)
        # Trials with an outcome have no reason.
        del reasons[""]
        return reasons

    @property
    def nothing_measured(self) -> bool:
        """Return whether no rewording has an outcome: a passed check would mean nothing."""
        return not any(map(_has_outcome, self.trials))

    @property
    def _measured(self) -> list[CategoryFigures]:
        figureses: list[CategoryFigures] = []
        for arm in self.arms.values():
            for figures in arm:
                if not figures.not_applicable or figures.not_applicable in _STILL_OPEN:
                    figureses.append(figures)
        return figureses


def _has_outcome(trial: CheckTrial) -> bool:
    return not (trial.failure or trial.category == CONTRAST)


class _Book:
    """Trials so far, and the reasons of categories without any."""

    def __init__(self, options: CheckOptions) -> None:
        self._options = options
        self.trials: list[CheckTrial] = []
        self._differences: Counter[float] = Counter()
        self._unrated = 0
        self._trials: dict[tuple[str, str], list[CheckTrial]] = {}
        self._reasons: dict[str, str] = {}
        self.complete: set[str] = set()
        """Categories that were still open after the last planned round, whose last look is due."""

    def add(self, made: RoundResult) -> None:
        self.trials += made.trials
        for trial in made.trials:
            self._trials.setdefault((trial.arm, trial.category), []).append(trial)
        self._reasons |= made.reasons
        self._unrated += made.unrated
        if made.difference is not None:
            self._differences[made.difference] += 1

    def of(self, arm: str, category: str) -> Sequence[CheckTrial]:
        return self._trials.get((arm, category), ())

    def figures(self, arm: str, category: str) -> CategoryFigures:
        trials = self.of(arm, category)
        # One prompt of a template may not fit where others do: then there are trials, and no reason.
        reason = "" if trials else self._reasons.get(category, "")
        return category_figures(
            category,
            trials,
            limit=self._options.limit,
            categories=len(self._options.categories) * len(self._options.models),
            complete=category in self.complete,
            not_applicable=reason,
        )

    def comparison(self, category: str) -> ArmComparison:
        return compare(
            category,
            self.of(FIRST, category),
            self.of(SECOND, category),
            limit=self._options.limit,
            categories=len(self._options.categories),
        )

    def difference(self, *, alpha: float, beta: float) -> Estimate | None:
        """Return how the answers of two arms differ, beyond both noise floors."""
        return anytime_mean(self._differences, alpha=alpha, beta=beta, unrated=self._unrated)

    def switch(self) -> SwitchDecision:
        """Return whether the second arm may take the place of the first."""
        categories = []
        for category in self._options.categories:
            # A category that does not apply to one of them has no trials there, and so no say.
            if self.of(FIRST, category) and self.of(SECOND, category):
                categories.append(category)
        # One measure is enough for "must not", so its error rate is split over all of them (Bonferroni).
        # "May switch" needs every measure, so its rate is not split.
        alpha = ERROR_RATE / (1 + len(categories))
        answers = self.difference(alpha=alpha, beta=ERROR_RATE)
        measures = [SwitchMeasure("answers", answers, self._options.limit)]
        for category in categories:
            first, second = self.of(FIRST, category), self.of(SECOND, category)
            fragility = fragility_difference(first, second, alpha=alpha, beta=ERROR_RATE)
            if any(self.figures(arm, category).is_blind for arm in (FIRST, SECOND)):
                fragility = None
            measures.append(SwitchMeasure(category, fragility, self._options.limit))
        return decide(measures)

    def _is_settled(self, arm: str, category: str) -> bool:
        figures = self.figures(arm, category)
        return figures.standing in _SETTLED or figures.is_blind

    def open_categories(self, rounds: int) -> list[str]:
        """Return the categories that need further rounds, the contrasts among them."""
        open_ones = []
        # After the first rounds, an arm without trials is one to which the category does not apply.
        too_early = rounds < min(self._options.prompts, 1 + _WAVE)
        for category in self._options.categories:
            applying = [arm for arm in self._options.models if too_early or self.of(arm, category)]
            settled = all(self._is_settled(arm, category) for arm in applying)
            undecided = len(applying) > 1 and self.comparison(category).more_fragile == "unknown"
            if undecided or not settled:
                open_ones.append(category)
        if open_ones and self._options.judge and rounds < _CONTRAST_ROUNDS:
            open_ones.append(CONTRAST)
        return open_ones


async def run_check(
    options: CheckOptions, maker: RoundMaker, costs: Costs, *, progress: Callable[[], None] = lambda: None
) -> CheckOutcome:
    """Make rounds until all is settled, calling `progress` after each.

    Returns: the outcome, also of a run that ended early, with the reason in `stopped`.
    Raises: UnusableError if the model or the judge cannot be asked and nothing was measured so far.
    """
    started = time.monotonic()
    book = _Book(options)
    rounds, stopped = 0, ""
    ended_by: BaseException | None = None
    while not stopped:
        wanted = book.open_categories(rounds)
        if not wanted:
            break
        if rounds >= options.rounds:
            # The last look may settle what is open; it is allowed once, after the planned number of rounds.
            book.complete.update(wanted)
            if not book.open_categories(rounds):
                break
            stopped = f"after {count(rounds, 'round')}, as many as --rounds allows"
            break
        # The first round alone shows what applies, and whether the model answers at all.
        wave = range(rounds, min(options.rounds, rounds + (_WAVE if rounds else 1)))
        made = await asyncio.gather(
            *(maker.make(round_number, wanted) for round_number in wave), return_exceptions=True
        )
        for outcome in made:
            if isinstance(outcome, BaseException):
                ended_by, stopped = outcome, _reason(outcome, costs)
            else:
                book.add(outcome)
                rounds += 1
                progress()
        if rounds > _WAVE and not any(map(_has_outcome, book.trials)):
            stopped = f"{count(rounds, 'round')} measured nothing"
    found = _outcome(options, book, costs, rounds)
    if isinstance(ended_by, UnusableError) and found.nothing_measured:
        raise ended_by
    return replace(
        found,
        stopped=stopped,
        broke_off=isinstance(ended_by, UnusableError),
        duration_s=time.monotonic() - started,
    )


def _reason(error: BaseException, costs: Costs) -> str:
    """Return why an error of a round ends the run; the rounds of its wave have all ended.

    Raises: any error that is no outcome of a check.
    """
    if isinstance(error, BudgetUsedUpError):
        return f"the budget is used up, after {usd(costs.usd)}"
    if isinstance(error, UnusableError):
        return str(error)
    raise error


def _outcome(options: CheckOptions, book: _Book, costs: Costs, rounds: int) -> CheckOutcome:
    arms = {}
    for arm in options.models:
        arms[arm] = tuple(book.figures(arm, category) for category in options.categories)
    two = len(options.models) > 1
    return CheckOutcome(
        options=options,
        arms=arms,
        sensitivity={arm: sensitivity(book.of(arm, CONTRAST)) for arm in options.models},
        comparisons=tuple(book.comparison(category) for category in options.categories) if two else (),
        differ=book.difference(alpha=ERROR_RATE / 2, beta=ERROR_RATE / 2),
        switch=book.switch() if two else None,
        trials=tuple(book.trials),
        rounds=rounds,
        costs=costs,
    )
