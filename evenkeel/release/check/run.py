"""A run: rounds until every category is settled, the rounds are used up, or the budget is."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
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


@dataclass(kw_only=True)
class CheckOutcome:
    """Trials of a check, and everything that they say. A run adds to it; figures are read at its end."""

    options: CheckOptions
    costs: Costs
    rounds: int = 0
    stopped: str = ""
    """Reason why the run ended before everything was settled; "" if all is."""
    broke_off: bool = False
    """True if it ended because a model or the judge does not answer any more."""
    duration_s: float = 0.0
    trials: list[CheckTrial] = field(default_factory=list, repr=False)
    complete: set[str] = field(default_factory=set, repr=False)
    """Categories that were still open after the last planned round, whose last look is due."""
    _by_category: dict[tuple[str, str], list[CheckTrial]] = field(default_factory=dict, repr=False)
    """Trials by arm and category."""
    _reasons: dict[str, str] = field(default_factory=dict, repr=False)
    """Reasons of categories without a variant."""
    _differences: Counter[float] = field(default_factory=Counter, repr=False)
    _unrated: int = field(default=0, repr=False)

    def add(self, made: RoundResult) -> None:
        """Take a round."""
        self.rounds += 1
        self.trials += made.trials
        for trial in made.trials:
            self._by_category.setdefault((trial.arm, trial.category), []).append(trial)
        self._reasons |= made.reasons
        self._unrated += made.unrated
        if made.difference is not None:
            self._differences[made.difference] += 1

    @cached_property
    def arms(self) -> Mapping[str, tuple[CategoryFigures, ...]]:
        """Figures by arm: "first", and "second" if two are compared."""
        arms = {}
        for arm in self.options.models:
            arms[arm] = tuple(self._figures(arm, category) for category in self.options.categories)
        return arms

    @cached_property
    def sensitivity(self) -> Mapping[str, Estimate | None]:
        """Share of the contrast trials whose answer moved, by arm."""
        return {arm: sensitivity(self._of(arm, CONTRAST)) for arm in self.options.models}

    @cached_property
    def comparisons(self) -> tuple[ArmComparison, ...]:
        """Two arms beside each other in each category; () if none is compared."""
        if len(self.options.models) == 1:
            return ()
        return tuple(self._comparison(category) for category in self.options.categories)

    @property
    def differ(self) -> Estimate | None:
        """Difference of two arms beyond both noise floors; see `RoundResult.difference`."""
        return self._difference(alpha=ERROR_RATE / 2)

    @cached_property
    def switch(self) -> SwitchDecision | None:
        """Decision whether the second may take the place of the first; None if none is compared."""
        if len(self.options.models) == 1:
            return None
        categories = []
        for category in self.options.categories:
            # A category that does not apply to one of them has no trials there, and so no say.
            if self._of(FIRST, category) and self._of(SECOND, category):
                categories.append(category)
        # One measure is enough for "must not", so its error rate is split over all of them (Bonferroni).
        # "May switch" needs every measure, so its rate is not split.
        alpha = ERROR_RATE / (1 + len(categories))
        answers = self._difference(alpha=alpha, beta=ERROR_RATE)
        measures = [SwitchMeasure("answers", answers, self.options.limit)]
        for category in categories:
            first, second = self._of(FIRST, category), self._of(SECOND, category)
            fragility = fragility_difference(first, second, alpha=alpha, beta=ERROR_RATE)
            if any(self._figures(arm, category).is_blind for arm in (FIRST, SECOND)):
                fragility = None
            measures.append(SwitchMeasure(category, fragility, self.options.limit))
        return decide(measures)

    @property
    def settled(self) -> bool:
        """Return whether every category that applies is within or over its limit, and one does."""
        return not self.nothing_measured and all(each.standing in _SETTLED for each in self._measured)

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
        return all(trial.failure or trial.category == CONTRAST for trial in self.trials)

    @property
    def _measured(self) -> list[CategoryFigures]:
        figureses: list[CategoryFigures] = []
        for arm in self.arms.values():
            for figures in arm:
                if not figures.not_applicable or figures.not_applicable in _STILL_OPEN:
                    figureses.append(figures)
        return figureses

    def open_categories(self) -> list[str]:
        """Return the categories that need further rounds, the contrasts among them."""
        open_ones = []
        # After the first rounds, an arm without trials is one to which the category does not apply.
        too_early = self.rounds < min(self.options.prompts, 1 + _WAVE)
        for category in self.options.categories:
            applying = [arm for arm in self.options.models if too_early or self._of(arm, category)]
            settled = all(self._is_settled(arm, category) for arm in applying)
            undecided = len(applying) > 1 and self._comparison(category).more_fragile == "unknown"
            if undecided or not settled:
                open_ones.append(category)
        if open_ones and self.options.judge and self.rounds < _CONTRAST_ROUNDS:
            open_ones.append(CONTRAST)
        return open_ones

    def _is_settled(self, arm: str, category: str) -> bool:
        figures = self._figures(arm, category)
        return figures.standing in _SETTLED or figures.is_blind

    def _of(self, arm: str, category: str) -> Sequence[CheckTrial]:
        return self._by_category.get((arm, category), ())

    def _figures(self, arm: str, category: str) -> CategoryFigures:
        trials = self._of(arm, category)
        return category_figures(
            category,
            trials,
            limit=self.options.limit,
            categories=len(self.options.categories) * len(self.options.models),
            complete=category in self.complete,
            # One prompt of a template may not fit where others do: then there are trials, and no reason.
            not_applicable="" if trials else self._reasons.get(category, ""),
        )

    def _comparison(self, category: str) -> ArmComparison:
        options, first, second = self.options, self._of(FIRST, category), self._of(SECOND, category)
        return compare(category, first, second, limit=options.limit, categories=len(options.categories))

    def _difference(self, *, alpha: float, beta: float = ERROR_RATE / 2) -> Estimate | None:
        return anytime_mean(self._differences, alpha=alpha, beta=beta, unrated=self._unrated)


async def run_check(
    options: CheckOptions, maker: RoundMaker, costs: Costs, *, progress: Callable[[], None] = lambda: None
) -> CheckOutcome:
    """Make rounds until all is settled, calling `progress` after each.

    Returns: the outcome, also of a run that ended early, with the reason in `stopped`.
    Raises: UnusableError if the model or the judge cannot be asked and nothing was measured so far.
    """
    started = time.monotonic()
    outcome = CheckOutcome(options=options, costs=costs)
    unusable: UnusableError | None = None
    while not outcome.stopped and (wanted := outcome.open_categories()):
        if outcome.rounds >= options.rounds:
            # The last look may settle what is open; it is allowed once, after the planned number of rounds.
            outcome.complete.update(wanted)
            if outcome.open_categories():
                outcome.stopped = f"after {count(outcome.rounds, 'round')}, as many as --rounds allows"
            break
        # The first round alone shows what applies, and whether the model answers at all.
        last = min(options.rounds, outcome.rounds + (_WAVE if outcome.rounds else 1))
        making = [maker.make(round_number, wanted) for round_number in range(outcome.rounds, last)]
        # All rounds of a wave end before an error of one of them ends the run.
        for made in await asyncio.gather(*making, return_exceptions=True):
            if isinstance(made, UnusableError):
                unusable, outcome.stopped = made, str(made)
            elif isinstance(made, BudgetUsedUpError):
                unusable, outcome.stopped = None, f"the budget is used up, after {usd(costs.usd)}"
            elif isinstance(made, BaseException):
                raise made
            else:
                outcome.add(made)
                progress()
        if outcome.rounds > _WAVE and outcome.nothing_measured:
            outcome.stopped = f"{count(outcome.rounds, 'round')} measured nothing"
    if unusable is not None and outcome.nothing_measured:
        raise unusable
    outcome.broke_off = unusable is not None
    outcome.duration_s = time.monotonic() - started
    return outcome
