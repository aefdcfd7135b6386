"""Calls for reference prompts: reserve the cost, send, and book what was spent."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from evenkeel.core.budget import NOTHING, Allowance
from evenkeel.core.verdict import REPLAY, Failure
from evenkeel.llm.price import Quote, estimate_tokens
from evenkeel.shadow.prompt import PromptView, UnreadablePrompt, api_of, refusal
from evenkeel.shadow.prompt.apis.embeddings import EMBEDDINGS
from evenkeel.shadow.replay import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evenkeel.core.budget import CostTracker, Spend
    from evenkeel.llm.price import Prices
    from evenkeel.shadow.replay import Replay, Replayer, Target
    from evenkeel.stores.references import Reference


class ReferenceReply(NamedTuple):
    """Outcome of a call, and its cost."""

    outcome: Replay | Failure
    spent: Spend


class ReferenceCaller:
    """Sends references to the upstreams that answered them first."""

    def __init__(
        self,
        replayer: Replayer,
        costs: CostTracker,
        prices: Prices,
        target: Callable[[Reference], Target],
    ) -> None:
        self._replayer = replayer
        self._costs = costs
        self._prices = prices
        self._target = target

    async def ask(self, reference: Reference) -> ReferenceReply | str:
        """Ask a reference, within the budget.

        Returns: a failure "unpriced" or "budget" if it may not be asked now; a reason in snake case if its
            prompt cannot be read, so that it can never be asked.
        """
        view = await asyncio.to_thread(_view, reference)
        if isinstance(view, str):
            return view
        # By any of its names a model may have a price; the latest answer says what it is called now.
        models = (view.model, reference.requested_model, *(answer.model for answer in reference.answers[-1:]))
        if await asyncio.to_thread(self._prices.refuses, *models):
            return ReferenceReply(
                Failure(REPLAY, VERSION, "unpriced", "the model has no known price"), NOTHING
            )
        quote = await asyncio.to_thread(self._quote, reference, view, models)
        allowance = Allowance(self._costs, reference.route, NOTHING, urgent=True)
        account = allowance.account("reference")
        try:
            outcome = await self._replayer.send(
                self._target(reference), view.for_replay(), api=view.api, budget=account, quote=quote
            )
            return ReferenceReply(outcome, account.spent)
        finally:
            await asyncio.to_thread(allowance.close)

    def _quote(self, reference: Reference, view: PromptView, models: Iterable[str | None]) -> Quote:
        """Quote an answer as long as the longest of the earlier ones."""
        answers = []
        for answer in (*reference.answers, *reference.former):
            answers.append(answer.answer)
        prompt_tokens = max((answer.prompt_tokens or 0 for answer in answers), default=0)
        completion_tokens = max(
            (answer.completion_tokens or estimate_tokens(answer.text) for answer in answers), default=0
        )
        return Quote(self._prices, models, view.for_replay(), prompt_tokens, completion_tokens)


def _view(reference: Reference) -> PromptView | str:
    """Return a reference's prompt, or the reason in snake case why it cannot be asked."""
    api = EMBEDDINGS if reference.is_vector else api_of(reference.path)
    if api is None:
        return "api_unsupported"
    try:
        view = PromptView.parse(reference.request.encode("utf-8", "surrogatepass"), api=api)
    except UnreadablePrompt as error:
        return error.reason
    refused = refusal(view)
    return view if refused is None else refused.reason
