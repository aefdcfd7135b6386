"""Replays of variants in a chosen service tier, repeated if evenkeel's own token limit was too low."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Final, TypeGuard

from evenkeel.core.text import named
from evenkeel.core.verdict import Failure
from evenkeel.llm.observer import ModelCall, ObservedMessage
from evenkeel.llm.price import Quote, bound_of, estimate_tokens
from evenkeel.shadow.observer import NOBODY
from evenkeel.shadow.replay import FLEX_UNAVAILABLE, FLEX_UNSUPPORTED, Replay

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.core.budget import CallBudget
    from evenkeel.core.exchange import Exchange
    from evenkeel.core.tiers import Tier
    from evenkeel.llm.price import Prices
    from evenkeel.shadow.observer import ShadowObserver
    from evenkeel.shadow.original import Original
    from evenkeel.shadow.prompt import PromptView
    from evenkeel.shadow.replay import Replayer, Target
    from evenkeel.stores.counters import Tally

log = logging.getLogger("evenkeel")

# Most models without a price that are logged. Clients choose the names, so the number needs a limit.
_MOST_WARNED: Final = 100
# Most models without a flex tier that are remembered, for the same reason.
_MOST_INFLEXIBLE: Final = 100
# An answer may have twice the original's tokens, and this many more.
_ANSWER_FACTOR: Final = 2.0
_ANSWER_MARGIN: Final = 256
# Factor by which the limit is raised when a cut answer is requested again.
_LONGER: Final = 4


class QuotedReplays:
    """Replays variants of exchanges, and quotes the cost beforehand."""

    def __init__(
        self,
        replayer: Replayer,
        prices: Prices,
        target: Callable[[Exchange], Target],
        *,
        tally: Tally,
        observer: ShadowObserver = NOBODY,
    ) -> None:
        self._replayer = replayer
        self._prices = prices
        self._target = target
        self._tally = tally
        self.observer = observer
        """Observer of replays, and of the trials they are made for."""
        self._unpriced: set[str] = set()
        # URLs and models without a flex tier: each refusal would count against a limit that users share.
        self._inflexible: set[tuple[str, str | None]] = set()

    def refuses(self, original: Original) -> bool:
        """Return whether a missing price forbids replays of the model; logs it once per model."""
        names = (original.model, original.view.model)
        if not self._prices.knows(*names):
            self._warn(original)
        return self._prices.refuses(*names)

    def quote(self, original: Original, *, can_wait: bool, as_long: bool) -> Quote:
        """Quote the cost of replaying the original. Call it in a thread, since it parses the request.

        Args:
            original: Exchange to replay.
            can_wait: True if the flex tier may be used.
            as_long: True if the answer should be about as long as the original's, so that tokens can be
                limited. An answer in another format or language may need far more: only the client's own
                limit applies.
        """
        flexible = can_wait and self._target(original.exchange).flex and original.view.api.has_flex
        flexible = flexible and self._key(original) not in self._inflexible
        longest = self._longest(original) if as_long else None
        return self._quote(original, "flex" if flexible else "standard", longest)

    async def replay(
        self, original: Original, variant: PromptView, quote: Quote, budget: CallBudget
    ) -> Replay | Failure:
        """Replay a variant: in the standard tier if the flex tier refuses it, and once more if it was cut.

        It was cut if evenkeel's own limit ended the answer; then it is replayed with a higher one.
        """
        outcome = await self._send(original, variant, quote, budget)
        if _is_flex_refusal(outcome):
            if outcome.reason == FLEX_UNSUPPORTED and len(self._inflexible) < _MOST_INFLEXIBLE:
                self._inflexible.add(self._key(original))
            reason = outcome.reason.removeprefix("flex_")
            self._tally.add("flex_refusals", route=original.exchange.route, reason=reason)
            quote = self._quote(original, "standard", quote.most_tokens)
            outcome = await self._send(original, variant, quote, budget)
        if isinstance(outcome, Replay) and quote.cuts(outcome.answer):
            self._tally.add("replays_cut", route=original.exchange.route)
            limit = quote.limit_tokens
            longer = self._quote(original, "standard", _LONGER * limit if limit else None)
            outcome = await self._send(original, variant, longer, budget)
        return outcome

    async def _send(
        self, original: Original, variant: PromptView, quote: Quote, budget: CallBudget
    ) -> Replay | Failure:
        target = self._target(original.exchange)
        call = ModelCall(
            "replay",
            variant.api.operation,
            variant.model or original.model,
            target.url,
            target.unix_path,
            content=lambda: [ObservedMessage(message.role, message.text) for message in variant.messages],
        )
        outcome = await self._replayer.send(
            target,
            variant.for_replay(quote.tier, quote.most_tokens),
            api=variant.api,
            observed=lambda: self.observer.call(call),
            budget=budget,
            quote=quote,
        )
        if not _is_flex_refusal(outcome):
            tier = (outcome.tier if isinstance(outcome, Replay) else None) or quote.tier
            self._tally.add("replays", route=original.exchange.route, tier=tier)
        return outcome

    def _key(self, original: Original) -> tuple[str, str | None]:
        return self._target(original.exchange).url, original.view.model

    def _quote(self, original: Original, tier: Tier, most_tokens: int | None) -> Quote:
        names, answer = (original.model, original.view.model), original.answer
        completion_tokens = answer.completion_tokens or estimate_tokens(answer.text)
        body = original.view.for_replay(tier, most_tokens)
        return Quote(self._prices, names, body, answer.prompt_tokens, completion_tokens, tier, most_tokens)

    def _longest(self, original: Original) -> int | None:
        """Return the token limit for the answer to a replay; None if only the client's own limit applies.

        There is no limit if the original's tokens are unknown or include reasoning, whose length varies much.
        """
        answer = original.answer
        tokens = answer.completion_tokens
        if not tokens or answer.reasoning_tokens or not original.view.may_be_limited:
            return None
        parts = [answer.text]
        for call in answer.tool_calls:
            parts += (call.name, call.arguments)
        if tokens > bound_of(parts):
            return None  # More tokens than the text has bytes, so some were reasoning.
        usual = max(tokens, estimate_tokens(answer.text))
        return math.ceil(_ANSWER_FACTOR * usual) + _ANSWER_MARGIN

    def _warn(self, original: Original) -> None:
        model, assumed = named(original.view.model or original.model), self._prices.assumed
        if assumed is None or model in self._unpriced or len(self._unpriced) >= _MOST_WARNED:
            return
        self._unpriced.add(model)
        log.warning(
            "route %s: %s has no known price and a budget in dollars is set, so it %s. Set its price, or 0 "
            'if it is free: budget: {prices: {"%s": {input_usd: …, output_usd: …}}}; "*" stands for all '
            "such models",
            original.exchange.route,
            model,
            "is not replayed" if self._prices.required else assumed.said,
            model,
            extra={"route": original.exchange.route},
        )


def _is_flex_refusal(outcome: Replay | Failure) -> TypeGuard[Failure]:
    return isinstance(outcome, Failure) and outcome.reason in {FLEX_UNAVAILABLE, FLEX_UNSUPPORTED}
