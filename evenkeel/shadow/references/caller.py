"""Calls for reference prompts: reserve the cost, send, and book what was spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from evenkeel.core.budget import Allowance
from evenkeel.llm.price import Quote, estimate_tokens
from evenkeel.shadow.prompt import PromptView, UnreadablePrompt, api_of, refusal
from evenkeel.shadow.prompt.apis.embeddings import EMBEDDINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evenkeel.core.budget import BudgetAccount, CostTracker
    from evenkeel.core.verdict import Failure
    from evenkeel.llm.price import Prices
    from evenkeel.shadow.replay import Replay, Replayer, Target
    from evenkeel.stores.references import Reference


@dataclass(frozen=True, slots=True)
class ReferenceCall:
    """Request for a reference. Its quoted cost is reserved until `allowance` is closed."""

    reference: Reference
    view: PromptView
    quote: Quote
    allowance: Allowance
    account: BudgetAccount


class NotCalled(NamedTuple):
    """Reason why a reference is not asked."""

    reason: str
    """Reason in snake case, usable as a label."""
    for_good: bool
    """True if its prompt is unreadable, so it can never be asked; False if a price or budget forbids it."""


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

    def prepare(self, reference: Reference) -> ReferenceCall | NotCalled:
        """Reserve the cost of a call and return the call, or the refusal. Blocks."""
        view = _view(reference)
        if isinstance(view, str):
            return NotCalled(view, for_good=True)
        # By any of its names a model may have a price; the latest answer says what it is called now.
        models = (view.model, reference.requested_model, *(answer.model for answer in reference.answers[-1:]))
        if self._prices.refuses(*models):
            return NotCalled("unpriced", for_good=False)
        quote = self._quote(reference, view, models)
        opened = Allowance.opened(self._costs, quote.estimate, reference.route, watch=True)
        if isinstance(opened, str):
            return NotCalled(opened, for_good=False)
        return ReferenceCall(reference, view, quote, opened, opened.account("reference"))

    async def send(self, call: ReferenceCall) -> Replay | Failure:
        """Return the current answer, or the reason why there is none."""
        return await self._replayer.send(
            self._target(call.reference),
            call.view.for_replay(),
            api=call.view.api,
            budget=call.account,
            quote=call.quote,
        )

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
