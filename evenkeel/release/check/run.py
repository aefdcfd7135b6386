"""A check: which prompts and models it is of, and its run.

A run makes rounds until every category is settled, the rounds are used up, or the budget is.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from evenkeel.core.budget import Spend
from evenkeel.core.endpoint import Upstream
from evenkeel.core.figures import count, number, rounded, usd
from evenkeel.core.rewordings import category as category_named
from evenkeel.core.verdict import CONTRAST
from evenkeel.llm.price import Prices, estimate_tokens
from evenkeel.llm.providers import small_model
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
from evenkeel.release.kit.arguments import InputError
from evenkeel.release.kit.asking import FAULTS, UnusableError
from evenkeel.release.kit.cost import BudgetUsedUpError, CostEstimate
from evenkeel.shadow.replay import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from evenkeel.core.cells import Estimate
    from evenkeel.metrics.tasks import Task
    from evenkeel.monitor.detect.decision import SwitchDecision
    from evenkeel.release.check.figures import ArmComparison, CategoryFigures, CheckTrial
    from evenkeel.release.check.rounds import RoundMaker, RoundResult
    from evenkeel.release.kit.cost import Costs
    from evenkeel.shadow.perturbations import Perturbation
    from evenkeel.shadow.prompt import Api, PromptView

# Rounds under way together; after each wave the settled categories are left out.
_WAVE: Final = 6
_SETTLED: Final = frozenset(("within", "over"))
# Reasons that lie with the rewriter and the budget: what is not tried because of them does apply.
_STILL_OPEN: Final = frozenset(f"rewriter_{reason}" for reason in (*FAULTS, "budget"))
# Rounds with a contrast: enough to tell a constant answer from one that follows the question.
_CONTRAST_ROUNDS: Final = 30
# Length of an answer that is assumed; models that reason write several times as much.
_ANSWER_TOKENS: Final = 250
# Usual length of the judge's instructions, and of its ruling about an answer.
_JUDGE_PROMPT_TOKENS: Final = 900
_RULING_TOKENS: Final = 60
# Part of the most rounds that a category takes on average before it is settled.
_UNSETTLED_SHARE: Final = 0.6
OPENAI: Final = "https://api.openai.com/v1"
ANTHROPIC: Final = "https://api.anthropic.com/v1"
KEY_VARIABLE: Final = "OPENAI_API_KEY"
"""Variable with the key of an endpoint whose provider nobody knows."""
SIMULATED_JUDGE: Final = "simulated-judge"
SIMULATED_REWRITER: Final = "simulated-rewriter"
SIMULATED: Final = "simulated-"


@dataclass(frozen=True, slots=True)
class ModelAt:
    """A model behind an endpoint that speaks an API evenkeel reads."""

    model: str
    """Name that the endpoint knows."""
    base_url: str
    """Up to and including the version, as in "https://api.openai.com/v1"."""
    api_key: str = field(default="", repr=False)
    key_variable: str = ""
    """Variable that the key was taken from, for messages."""

    def target(self, api: Api) -> Target:
        """Return where its requests of an API go, with the credential.

        Raises: InputError for a URL that is none.
        """
        upstream = _upstream(self.base_url)
        headers = list(api.headers)
        # Anthropic has the key in a header of its own.
        if api.name == "messages":
            headers.append(("x-api-key", self.api_key))
        elif self.api_key:
            headers.append(("authorization", f"Bearer {self.api_key}"))
        return Target(upstream.url(f"/v1/{api.path}"), tuple(headers), upstream.unix_path)


def _upstream(url: str) -> Upstream:
    try:
        return Upstream.parse(url)
    except ValueError as error:
        raise InputError(f"--base-url: {error}") from error


def model_at(
    name: str, environ: Mapping[str, str], *, base_url: str | None = None, key_variable: str | None = None
) -> ModelAt:
    """Return a model with its endpoint and key.

    Args:
        name: Name of the model.
        environ: Variables: `OPENAI_BASE_URL`, and the key's.
        base_url: Endpoint up to and including the version. Default: `OPENAI_BASE_URL`, else the provider's
            whose models have such names.
        key_variable: Variable with the key. Default: the one usual at the provider.

    Raises: InputError for a URL that is none, and if a provider that is known to want a key gets none.
    """
    # As the SDKs have it: the variable stands behind the option, and before the provider.
    url = base_url or environ.get("OPENAI_BASE_URL") or (ANTHROPIC if name.startswith("claude") else OPENAI)
    _upstream(url)
    usual = small_model(url)
    variable = key_variable or (usual.key_variable if usual else KEY_VARIABLE)
    key = environ.get(variable, "")
    # A server that nobody knows may want no key, so only known providers are refused before the first call.
    if usual is not None and not key:
        raise InputError(
            f"${variable} is not set: put the key of {urlsplit(url).hostname} into it, name another variable "
            "with --api-key-env, or try --model simulated"
        )
    return ModelAt(name, url, key, variable)


def judge_beside(model: ModelAt, name: str | None = None) -> ModelAt:
    """Return the judge at a model's endpoint: as named, else the provider's small model, else the model."""
    small = small_model(model.base_url)
    usual = small.model if small else model.model
    if model.model.startswith(SIMULATED):
        usual = SIMULATED_JUDGE
    return ModelAt(name or usual, model.base_url, model.api_key, model.key_variable)


def rewriter_beside(judge: ModelAt) -> ModelAt:
    """Return the model that rewords texts: the judge's; where it is simulated, the simulated rewriter."""
    return replace(judge, model=SIMULATED_REWRITER) if judge.model == SIMULATED_JUDGE else judge


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """A check to make. Without a judge there is nothing but similarity, and no text is rewritten."""

    prompts: Mapping[str, Sequence[PromptView]]
    """Prompts of each arm, in the same order."""
    models: Mapping[str, ModelAt]
    """Model of each arm."""
    titles: Mapping[str, str] = field(default_factory=dict)
    """Name of each arm in reports; {} = those of the models."""
    source: str = ""
    """Name of the prompt, for titles."""
    kinds: Mapping[str, Sequence[Perturbation]]
    """Perturbations by category; see `kinds_by_category`. Contrasts are asked where there are any."""
    judge: ModelAt | None
    """Rates answers. It also writes paraphrases, translations and contrasts."""
    limit: float
    """Largest difference between rewordings and resends that is tolerated, in (0, 1]."""
    rounds: int
    """Most rounds."""
    task: Task | None = None
    severity: float = 0.13
    seed: int = 0
    prices: Prices = field(default_factory=Prices)
    journal: Path | None = None
    """File that keeps every answer; None = in memory."""
    most_usd: float | None = None
    concurrency: int = 16
    timeout_s: float = 120.0

    @property
    def names(self) -> Mapping[str, str]:
        """Name of each arm in reports."""
        return self.titles or {arm: at.model for arm, at in self.models.items()}

    @property
    def categories(self) -> tuple[str, ...]:
        """Categories of rewordings, without the contrasts."""
        rewordings = []
        for category in self.kinds:
            if category != CONTRAST:
                rewordings.append(category)
        rewordings.sort(key=lambda name: (category_named(name).order, name))
        return tuple(rewordings)

    @property
    def rater(self) -> str:
        """Model that rates the answers; "" = none, similarity only."""
        return self.judge.model if self.judge else ""

    def estimate(self) -> CostEstimate:
        """Return about what the check may cost."""
        views, prices = self.prompts[FIRST], self.prices
        prompt = sum(estimate_tokens(view.text) for view in views) // max(1, len(views))
        # Twice as it is, one variant of each category, and another question whose answer has to move.
        answers = 2 + len(self.categories) + 1
        rounds = self.rounds * _UNSETTLED_SHARE
        tokens, dollars = 0.0, 0.0
        for model in self.names.values():
            tokens += rounds * answers * (prompt + _ANSWER_TOKENS)
            dollars += rounds * answers * prices.usd(model, prompt, _ANSWER_TOKENS)
            if self.rater:
                question = _JUDGE_PROMPT_TOKENS + answers * _ANSWER_TOKENS
                ruled = answers * _RULING_TOKENS
                tokens += rounds * (question + ruled)
                dollars += rounds * prices.usd(self.rater, question, ruled)
        models = [at.model for at in self.models.values()]
        if self.judge:
            models += [self.judge.model, rewriter_beside(self.judge).model]
        most = self.rounds * answers * len(self.models)
        spend = Spend(rounded(round(tokens)), dollars)
        asked = f"up to {number(most)} answers{', and their ratings' if self.judge else ''}"
        return CostEstimate(asked, spend, ceiling=False, unpriced=prices.unknown(*models))


@dataclass(kw_only=True)
class CheckOutcome:
    """Trials of a check, and everything that they say. A run adds to it; figures are read at its end."""

    request: CheckRequest
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
        for arm in self.request.names:
            arms[arm] = tuple(self._figures(arm, category) for category in self.request.categories)
        return arms

    @cached_property
    def sensitivity(self) -> Mapping[str, Estimate | None]:
        """Share of the contrast trials whose answer moved, by arm."""
        return {arm: sensitivity(self._of(arm, CONTRAST)) for arm in self.request.names}

    @cached_property
    def comparisons(self) -> tuple[ArmComparison, ...]:
        """Two arms beside each other in each category; () if none is compared."""
        if len(self.request.names) == 1:
            return ()
        return tuple(self._comparison(category) for category in self.request.categories)

    @property
    def differ(self) -> Estimate | None:
        """Difference of two arms beyond both noise floors; see `RoundResult.difference`."""
        return self._difference(alpha=ERROR_RATE / 2)

    @cached_property
    def switch(self) -> SwitchDecision | None:
        """Decision whether the second may take the place of the first; None if none is compared."""
        if len(self.request.names) == 1:
            return None
        categories = []
        for category in self.request.categories:
            # A category that does not apply to one of them has no trials there, and so no say.
            if self._of(FIRST, category) and self._of(SECOND, category):
                categories.append(category)
        # One measure is enough for "must not", so its error rate is split over all of them (Bonferroni).
        # "May switch" needs every measure, so its rate is not split.
        alpha = ERROR_RATE / (1 + len(categories))
        answers = self._difference(alpha=alpha, beta=ERROR_RATE)
        measures = [SwitchMeasure("answers", answers, self.request.limit)]
        for category in categories:
            first, second = self._of(FIRST, category), self._of(SECOND, category)
            fragility = fragility_difference(first, second, alpha=alpha, beta=ERROR_RATE)
            if any(self._figures(arm, category).is_blind for arm in (FIRST, SECOND)):
                fragility = None
            measures.append(SwitchMeasure(category, fragility, self.request.limit))
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
        too_early = self.rounds < min(len(self.request.prompts[FIRST]), 1 + _WAVE)
        for category in self.request.categories:
            applying = [arm for arm in self.request.names if too_early or self._of(arm, category)]
            settled = all(self._is_settled(arm, category) for arm in applying)
            undecided = len(applying) > 1 and self._comparison(category).more_fragile == "unknown"
            if undecided or not settled:
                open_ones.append(category)
        if open_ones and self.request.judge and self.rounds < _CONTRAST_ROUNDS:
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
            limit=self.request.limit,
            categories=len(self.request.categories) * len(self.request.names),
            complete=category in self.complete,
            # One prompt of a template may not fit where others do: then there are trials, and no reason.
            not_applicable="" if trials else self._reasons.get(category, ""),
        )

    def _comparison(self, category: str) -> ArmComparison:
        request, first, second = self.request, self._of(FIRST, category), self._of(SECOND, category)
        return compare(category, first, second, limit=request.limit, categories=len(request.categories))

    def _difference(self, *, alpha: float, beta: float = ERROR_RATE / 2) -> Estimate | None:
        return anytime_mean(self._differences, alpha=alpha, beta=beta, unrated=self._unrated)


async def run_check(
    request: CheckRequest, maker: RoundMaker, costs: Costs, *, progress: Callable[[], None] = lambda: None
) -> CheckOutcome:
    """Make rounds until all is settled, calling `progress` after each.

    Returns: the outcome, also of a run that ended early, with the reason in `stopped`.
    Raises: UnusableError if the model or the judge cannot be asked and nothing was measured so far.
    """
    started = time.monotonic()
    outcome = CheckOutcome(request=request, costs=costs)
    unusable: UnusableError | None = None
    while not outcome.stopped and (wanted := outcome.open_categories()):
        if outcome.rounds >= request.rounds:
            # The last look may settle what is open; it is allowed once, after the planned number of rounds.
            outcome.complete.update(wanted)
            if outcome.open_categories():
                outcome.stopped = f"after {count(outcome.rounds, 'round')}, as many as --rounds allows"
            break
        # The first round alone shows what applies, and whether the model answers at all.
        last = min(request.rounds, outcome.rounds + (_WAVE if outcome.rounds else 1))
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
