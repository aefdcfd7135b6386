"""Cost of a check, estimated before the first call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.core.figures import number, rounded, usd
from evenkeel.llm.price import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.llm.price import Prices
    from evenkeel.release.check.run import CheckOptions
    from evenkeel.shadow.prompt import PromptView

ANSWER_TOKENS: Final = 250
"""Length of an answer that is assumed; models that reason write several times as much."""
# Usual length of the judge's instructions.
_JUDGE_PROMPT_TOKENS: Final = 900
_RULING_TOKENS: Final = 60
# Another question a round, whose answer has to move.
_CONTRASTS: Final = 1
# Part of the most rounds that a category takes on average before it is settled.
_UNSETTLED_SHARE: Final = 0.6


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """Calls ahead and what they may cost, by rule of thumb."""

    calls: int
    tokens: int
    usd: float
    """0 if no price is known."""
    priced: bool

    def __str__(self) -> str:
        price = f"about {usd(self.usd)}" if self.priced else "no public price known"
        return f"up to {number(self.calls)} calls, about {number(rounded(self.tokens))} tokens, {price}"


def plan_check(options: CheckOptions, prompts: Sequence[PromptView], prices: Prices) -> CheckPlan:
    """Estimate a check.

    Args:
        options: What is checked.
        prompts: The prompts of the first model.
        prices: Of models.
    """
    prompt_tokens = sum(estimate_tokens(view.text) for view in prompts) // max(1, len(prompts))
    answers = 2 + len(options.categories) + _CONTRASTS
    rounds = options.rounds
    calls, tokens, dollars = 0, 0.0, 0.0
    expected = rounds * _UNSETTLED_SHARE
    for model in options.models.values():
        calls += rounds * answers
        tokens += expected * answers * (prompt_tokens + ANSWER_TOKENS)
        dollars += expected * answers * prices.usd(model, prompt_tokens, ANSWER_TOKENS)
        if options.judge:
            question = _JUDGE_PROMPT_TOKENS + answers * ANSWER_TOKENS
            ruled = answers * _RULING_TOKENS
            tokens += expected * (question + ruled)
            dollars += expected * prices.usd(options.judge, question, ruled)
    asked = [*options.models.values(), *([options.judge] if options.judge else [])]
    priced = all(prices.knows(model) for model in asked)
    return CheckPlan(calls, round(tokens), dollars, priced)
