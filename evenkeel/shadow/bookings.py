"""What trials cost: set aside before they are made, booked afterwards."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Final, Literal

from evenkeel.core.budget import NOTHING, SCORING_BUDGET, Allowance, Refused, Spend
from evenkeel.core.pair import AS_BEFORE
from evenkeel.core.text import named
from evenkeel.core.verdict import BASELINE
from evenkeel.llm.price import Quote, bound_of, estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from evenkeel.core.budget import CostTracker
    from evenkeel.core.pair import Answer
    from evenkeel.core.tiers import Tier
    from evenkeel.core.verdict import Judgement
    from evenkeel.llm.price import Prices
    from evenkeel.metrics.scoring import TwoStageScorer
    from evenkeel.shadow.original import Original
    from evenkeel.shadow.planner import Trial

log = logging.getLogger("evenkeel")

NotPaid = Refused | Literal["unpriced"]
"""Why nothing was set aside: a budget refuses it, or the model has no known price."""

_MOST_WARNED: Final = 100
"""Names of models without a price that are logged: clients choose them."""
_USUAL_SHARE_OF_CEILING: Final = 1 / 3
"""The scorer's ceiling takes a token for each character and every quality asked; most trials need less.
To set aside the ceiling would leave much of a small budget unused."""
_ANSWER_MARGIN: Final = 256
"""Tokens that an answer may be longer than its share of the original's says."""


class Bookings:
    """Sets aside and books what trials cost."""

    def __init__(
        self, costs: CostTracker, prices: Prices, scorer: TwoStageScorer, *, answer_factor: float
    ) -> None:
        """Wire it.

        Args:
            costs: Tracks the daily budgets.
            prices: Of the replayed models.
            scorer: Says what the scoring of a pair costs at most.
            answer_factor: How many times as long as the original's answer one to a replay may be.
        """
        self._costs = costs
        self._prices = prices
        self._scorer = scorer
        self._answer_factor = answer_factor
        self._unpriced: set[str] = set()

    def reserve(
        self, original: Original, trial: Trial, tier: Tier, *, stage: int, free: Answer | None = None
    ) -> Booking | NotPaid:
        """Set aside what a trial may cost; nothing, if a budget refuses it or its price is not known.

        An exchange is begun only if there is room for all that is made beside its identical resend, and then
        it is finished: else a budget that is let go as the day goes would be spent on resends, which alone
        show nothing.

        Args:
            original: What is tried.
            trial: How.
            tier: In which it is replayed.
            stage: How many trials are made side by side with it, itself included.
            free: Answer in plain prose, with which the answer is compared too; None if there is none.
        """
        names = (original.model, original.view.model)
        if not self._prices.knows(*names):
            self._warn(original)
        if self._prices.refuses(*names):
            return "unpriced"
        # Another format or language may take far more tokens for the same.
        most = self._longest(original) if trial.perturbation.wanted == AS_BEFORE else None
        route, quote = original.exchange.route, self.quote(original, tier, most)
        replaying, scoring = quote.estimate, self._scoring(original, free)
        estimate, begins = replaying.plus(scoring), trial.perturbation.name == BASELINE
        size = stage if begins else 1
        refused = self._costs.reserve(estimate.times(size), route, urgent=trial.urgent, paced=begins)
        if refused is None and size > 1:
            self._costs.settle(estimate.times(size - 1), route, {})
        return refused or Booking(self._costs, route, quote, replaying, scoring, urgent=trial.urgent)

    def quote(self, original: Original, tier: Tier, most_tokens: int | None = None) -> Quote:
        """What a replay like the original costs in a tier, with so many tokens in its answer at most."""
        names, answer = (original.model, original.view.model), original.answer
        said = answer.completion_tokens or estimate_tokens(answer.text)
        body = original.view.for_replay(tier, most_tokens)
        return Quote(self._prices, names, body, answer.prompt_tokens, said, tier, most_tokens)

    def _longest(self, original: Original) -> int | None:
        """Tokens that the answer to a replay may have; None = as the client allows.

        An answer whose tokens are not known, or were partly thoughts, which vary much more, sets no limit.
        """
        answer = original.answer
        said = answer.completion_tokens
        if not said or answer.reasoning_tokens or not original.view.may_be_limited:
            return None
        parts = [answer.text, *(part for call in answer.tool_calls for part in (call.name, call.arguments))]
        if said > bound_of(parts):
            return None  # More than one for each byte: some were thoughts.
        usual = max(said, estimate_tokens(answer.text))
        return math.ceil(self._answer_factor * usual) + _ANSWER_MARGIN

    def _warn(self, original: Original) -> None:
        model, assumed = named(original.view.model or original.model), self._prices.assumed
        if assumed is None or model in self._unpriced or len(self._unpriced) >= _MOST_WARNED:
            return
        self._unpriced.add(model)
        log.warning(
            "route %s: %s has no known price and a budget in dollars is set, so it %s. Set its price, or 0 "
            'if it is free: prices: {"%s": {input_usd: …, output_usd: …}}; "*" stands for every such model',
            original.exchange.route,
            model,
            "is not replayed" if self._prices.required else assumed.said,
            model,
            extra={"route": original.exchange.route},
        )

    def _scoring(self, original: Original, free: Answer | None) -> Spend:
        """What the scoring of a pair like the original's answer twice may cost.

        A second rating, against the free answer, is taken to cost as much again.
        """
        share, scoring = _USUAL_SHARE_OF_CEILING, NOTHING
        for answer in filter(None, (original.answer, free)):
            chars = len(original.answer.text) + len(answer.text)
            most = self._scorer.estimate(chars, len(original.view.text), original.task)
            scoring = scoring.plus(Spend(round(most.tokens * share), most.usd * share))
        return scoring


class Booking:
    """What one trial has set aside: for its replay and for its scoring."""

    def __init__(
        self,
        costs: CostTracker,
        route: str,
        quote: Quote,
        replaying: Spend,
        scoring: Spend,
        *,
        urgent: bool,
    ) -> None:
        """Take over what was reserved.

        Args:
            costs: Where it was reserved.
            route: Whose trial it is.
            quote: What the replay may cost each time it is sent.
            replaying: Set aside for the replay.
            scoring: Set aside for the scoring.
            urgent: Whether what it takes beyond that may come from the reserve.
        """
        self.quote = quote
        self.replay = Allowance(costs, route, replaying, urgent=urgent)
        self._judge = Allowance(costs, route, scoring, urgent=urgent)
        self._reported = NOTHING
        self._costs = costs
        self._route = route

    @property
    def judged(self) -> Spend:
        """Spent on scoring: calls without an answer, and the encoder's tokens, are included."""
        known, lost = self._reported, self._judge.spent
        return Spend(max(known.tokens, lost.tokens), max(known.usd, lost.usd))

    async def scored(self, scoring: Awaitable[Judgement]) -> Judgement:
        """Wait for a judgement, whose calls are booked here."""
        before = SCORING_BUDGET.set(self._judge)
        try:
            judgement = await scoring
        finally:
            SCORING_BUDGET.reset(before)
        self._reported = self._reported.plus(Spend(judgement.tokens, judgement.cost_usd))
        return judgement

    def close(self) -> None:
        """Book what was spent, and release the rest."""
        held = self.replay.close().plus(self._judge.close())
        self._costs.settle(held, self._route, {"replay": self.replay.spent, "judge": self.judged})
