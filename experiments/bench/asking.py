"""Puts prompts to models: remembered answers first, within the budget, and not for ever."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Final

from evenkeel.core.verdict import Failure
from evenkeel.experiments.bench.stopping import UnusableError, advised
from evenkeel.experiments.gate.cache import AnswerCache
from evenkeel.llm.budget import estimate_tokens

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer
    from evenkeel.experiments.bench.models import ModelUnderTest
    from evenkeel.experiments.bench.spending import Account, Ledger
    from evenkeel.llm.budget import Prices
    from evenkeel.shadow.prompt import PromptView
    from evenkeel.shadow.replay import Replay, Replayer
    from evenkeel.stores.sqlite import Database

VERSION: Final = 1
_PATIENCE_AT_FIRST: Final = 3
"""Failures in a row of a model that has never answered, after which it is not asked again."""
_PATIENCE: Final = 20
"""The same of one that has."""
_PASSING: Final = frozenset({"connection", "timeout", "server_error"})
"""Faults that may be gone a moment later: such a call is made once more."""


def call_key(model: ModelUnderTest, body: bytes, draw: str) -> bytes:
    """SHA-256 of everything that decides an answer.

    The draw tells calls with the same request apart: the identical resend must be asked for itself.
    """
    where = [model.target.url, model.target.unix_path, draw]
    return hashlib.sha256(json.dumps(where).encode() + b"\0" + body).digest()


class Asker:
    """Asks the models of one run."""

    def __init__(
        self, replayer: Replayer, database: Database, prices: Prices, ledger: Ledger, *, models: int
    ) -> None:
        """Begin.

        Args:
            replayer: Sends; limits how many are under way.
            database: The journal: answers are in it before anybody sees them.
            prices: Of models.
            ledger: Where calls and costs are added up, and where the limit is.
            models: How many there are: once none of them answers, the run ends.
        """
        self._replayer = replayer
        self._answers = AnswerCache(database)
        self._prices = prices
        self._ledger = ledger
        self._answered: set[str] = set()
        self._in_a_row: dict[str, int] = {}
        self.unusable: dict[str, Failure] = {}
        """Models that are not asked any more, and what they answered last."""
        self.unusable_as_told: dict[str, str] = {}
        """The same for people, with what to do."""
        self._models = models

    async def ask(self, model: ModelUnderTest, view: PromptView, draw: str) -> Answer | Failure:
        """A model's answer to a prompt, or why there is none.

        Args:
            model: Who is asked.
            view: The prompt.
            draw: Names the call among those with the same request.

        Raises: BudgetUsedUpError; UnusableError once no model is left.
        """
        body = model.body(view)
        key = call_key(model, body, draw)
        account = self._ledger.of(model.name)
        known = self._answers.get(key)
        if known is not None:
            account.remembered += 1
            tokens, usd = self._price(model, view, known.answer)
            account.remembered_tokens += tokens
            account.remembered_usd += usd
            self._answered.add(model.name)
            return known.answer
        if model.name in self.unusable:
            return self.unusable[model.name]
        outcome = await self._send(model, body, view, account)
        if isinstance(outcome, Failure) and outcome.reason in _PASSING and model.name in self._answered:
            outcome = await self._send(model, body, view, account)
        if isinstance(outcome, Failure):
            account.failed += 1
            self._failed(model, outcome)
            return outcome
        self._answered.add(model.name)
        self._in_a_row[model.name] = 0
        self._answers.put(key, outcome)
        return outcome.answer

    async def _send(
        self, model: ModelUnderTest, body: bytes, view: PromptView, account: Account
    ) -> Replay | Failure:
        self._ledger.check()
        account.calls += 1
        outcome = await self._replayer.send(model.target, body)
        if not isinstance(outcome, Failure):
            tokens, usd = self._price(model, view, outcome.answer)
            account.tokens += tokens
            account.usd += usd
        return outcome

    def _price(self, model: ModelUnderTest, view: PromptView, answer: Answer) -> tuple[int, float]:
        asked, said = answer.prompt_tokens, answer.completion_tokens
        if asked is None:
            asked = estimate_tokens(view.text)
        if said is None:
            said = estimate_tokens(answer.text)
        return asked + said, self._prices.usd(model.model, asked, said)

    def _failed(self, model: ModelUnderTest, failure: Failure) -> None:
        name = model.name
        self._in_a_row[name] = self._in_a_row.get(name, 0) + 1
        patience = _PATIENCE if name in self._answered else _PATIENCE_AT_FIRST
        if failure.reason == "unauthorized" and name not in self._answered:
            patience = 1
        if self._in_a_row[name] < patience or name in self.unusable:
            return
        self.unusable[name] = failure
        said = advised(failure.reason, failure.detail, **model.options)
        self.unusable_as_told[name] = f"{said} ({model.target.url})"
        if len(self.unusable) == self._models:
            told = "\n".join(f"  {one}: {why}" for one, why in self.unusable_as_told.items())
            raise UnusableError(f"no model answers any more:\n{told}\nPut that right")
