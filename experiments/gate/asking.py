"""Puts requests to the two sides: remembered answers first, within a budget, and not for ever."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.core.verdict import Failure
from evenkeel.experiments.gate.sides import request_key
from evenkeel.llm.price import estimate_tokens

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer
    from evenkeel.experiments.gate.sides import Request, SideName
    from evenkeel.experiments.kit.journal import Answers
    from evenkeel.llm.price import Prices
    from evenkeel.shadow.replay import Replay, Replayer

_PATIENCE_AT_FIRST = 3
"""Failures of a side that has never answered, after which it is not asked again."""
_PATIENCE = 10
"""Failures in a row of a side that has answered before."""
_ADVICE = {
    "unauthorized": "put its key into the variable that --api-key-env or --reference-key-env names",
    "connection": "check the URL, and that it is up",
    "timeout": "check that it is up, or raise --timeout",
    "rate_limited": "lower --concurrency, or wait a while",
    "rejected": "check the model's name and the URL",
    "server_error": "check that it is up",
}
_PASSING = frozenset({"connection", "timeout", "server_error"})
"""Faults that may be gone a moment later: such a call is made once more."""


class EndpointUnusableError(Exception):
    """One side does not answer: asking on would only collect failures."""

    def __init__(self, side: SideName, failure: Failure, url: str) -> None:
        self.side = side
        self.failure = failure
        self.url = url
        # A replay's advice is about the settings of `up`.
        said = failure.detail.partition(";")[0]
        advice = _ADVICE.get(failure.reason, "put one golden's request to it by hand")
        super().__init__(f"the {side} at {url} gives no answers ({said}); {advice}")


class BudgetUsedUpError(Exception):
    """The calls so far have cost what they may."""


@dataclass(slots=True)
class Ledger:
    """What was asked, and what it cost."""

    calls: int = 0
    remembered: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    """By `Prices`; 0 for a model without a price. Of answers and of the judge."""
    judge_tokens: int = 0


@dataclass(slots=True)
class _Health:
    answered: bool = False
    failures: int = 0
    """In a row."""


class Asker:
    """Asks, for one run."""

    def __init__(
        self,
        replayer: Replayer,
        cache: Answers,
        prices: Prices,
        *,
        ledger: Ledger,
        most_usd: float | None = None,
    ) -> None:
        """Begin.

        Args:
            replayer: Sends; limits how many are under way.
            cache: Answers that need not be asked for.
            prices: Of models.
            ledger: Where calls and costs are added up.
            most_usd: No call is made once so much is spent; None = no limit.
        """
        self._replayer = replayer
        self._cache = cache
        self._prices = prices
        self._ledger = ledger
        self._most_usd = most_usd
        self._health: dict[SideName, _Health] = {"candidate": _Health(), "reference": _Health()}

    async def ask(self, side: SideName, request: Request, repeat: int) -> Answer | Failure:
        """The answer to a request, or why there is none.

        Args:
            side: Who is asked.
            request: What.
            repeat: Number of the call among those with the same request.

        Raises: EndpointUnusableError; BudgetUsedUpError.
        """
        key = request_key(side, request, repeat)
        known = self._cache.get(key)
        if known is not None:
            self._ledger.remembered += 1
            return known.answer
        outcome = await self._send(request)
        if isinstance(outcome, Failure) and outcome.reason in _PASSING and self._health[side].answered:
            outcome = await self._send(request)
        if isinstance(outcome, Failure):
            self._ledger.failed += 1
            self._failed(side, request, outcome)
            return outcome
        self._health[side] = _Health(answered=True)
        self._cache.put(key, outcome)
        return outcome.answer

    async def _send(self, request: Request) -> Replay | Failure:
        if self._most_usd is not None and self._ledger.cost_usd >= self._most_usd:
            raise BudgetUsedUpError
        self._ledger.calls += 1
        outcome = await self._replayer.send(request.target, request.body, api=request.api)
        if not isinstance(outcome, Failure):
            self._book(request, outcome.answer)
        return outcome

    def _book(self, request: Request, answer: Answer) -> None:
        asked, said = answer.prompt_tokens, answer.completion_tokens
        if asked is None:
            asked = request.prompt_tokens
        if said is None:
            said = estimate_tokens(answer.text)
        self._ledger.prompt_tokens += asked
        self._ledger.completion_tokens += said
        self._ledger.cost_usd += self._prices.usd(request.model, asked, said)

    def _failed(self, side: SideName, request: Request, failure: Failure) -> None:
        health = self._health[side]
        health.failures += 1
        patience = _PATIENCE if health.answered else _PATIENCE_AT_FIRST
        if failure.reason == "unauthorized" and not health.answered:
            patience = 1
        if health.failures >= patience:
            raise EndpointUnusableError(side, failure, request.target.url)
