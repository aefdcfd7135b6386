"""Asks models many questions, a few at a time, within a budget, reusing remembered answers."""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from evenkeel.core.budget import Spend
from evenkeel.core.errors import UserError
from evenkeel.core.verdict import Failure
from evenkeel.llm.price import Prices, estimate_tokens
from evenkeel.shadow.prompt import CHAT

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from evenkeel.core.pair import Answer
    from evenkeel.release.kit.cost import Account, Costs
    from evenkeel.release.kit.journal import Answers
    from evenkeel.shadow.prompt import Api
    from evenkeel.shadow.replay import Replay, Replayer, Target

_Item = TypeVar("_Item")

AGAIN: Final = "give the same command again to go on from there: what was answered is not asked for again"
_ADVICE: Final = {
    "unauthorized": "put its key into the variable {variable}, or name another one with {key_option}",
    "connection": "check {url_option}, and that it is up",
    "timeout": "check that it is up, or allow it more time",
    "rate_limited": "lower --concurrency, or wait a while",
    "rejected": "check the model's name, {url_option}, and whether it takes {members}",
    "bad_request": "check the model's name and {url_option}",
    "server_error": "check that it is up",
    "not_json": "check {url_option}",
    "no_choices": "check {url_option}",
}
_NO_CREDIT: Final = "the account has no credit left: add some, or use another key"
# Words of the live product that mean nothing to whoever runs one command.
_OF_REPLAYS: Final = (" to a replay", " to the variant")
FAULTS: Final = frozenset((*_ADVICE, "circuit_open"))
"""Reasons that lie with an endpoint and not with what it was asked."""
HOPELESS: Final = frozenset({"unauthorized", "circuit_open", "bad_request"})
"""Faults of a judge or a rewriter after which asking on would only collect failures."""
PASSING: Final = frozenset({"timeout", "rate_limited", "server_error", "connection"})
"""Faults that may be gone a moment later, or in the next run."""
# Failures that say nothing about the question.
_WORTH_REPEATING: Final = frozenset({"connection", "timeout", "server_error"})
# Failures in a row of a model that has never answered, after which it is not asked again.
_PATIENCE_AT_FIRST: Final = 3


class StoppedError(UserError):
    """The run ended before its end. The message says why, and how to go on."""

    exit_code = 1


class UnusableError(UserError):
    """Nothing more can be measured: no model, or no judge, or no rewriter answers."""


def advised(reason: str, detail: str, **options: str) -> str:
    """Say what an endpoint did, and what to do about it.

    Args:
        reason: The failure's.
        detail: Its sentence; advice in it for other commands is left out.
        options: `variable`, `key_option`, `url_option` and `members` of this endpoint.
    """
    # Behind the semicolon stands advice for whoever runs `evenkeel up`.
    sentence = detail.partition(";")[0].removesuffix(".")
    for words in _OF_REPLAYS:
        sentence = sentence.replace(words, "")
    advice = _ADVICE.get(reason)
    if "insufficient_quota" in sentence or "answered 402" in sentence:
        advice = _NO_CREDIT
    return f"{sentence}; {advice.format_map(options)}" if advice else sentence


async def work_through(
    todo: Iterable[_Item], work: Callable[[_Item], Awaitable[object]], *, concurrency: int
) -> None:
    """Do the work on every item, in order, a few at a time.

    The first error ends the rest and is raised as it is. An iterable that is still being made is taken from
    as work gets done.
    """
    # Shared by the workers: each takes what comes next.
    waiting = iter(todo)

    async def worker() -> None:
        for item in waiting:
            await work(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(concurrency):
                group.create_task(worker())
    except ExceptionGroup as errors:
        # Callers catch the error itself; its cause would be lost in the group.
        raise errors.exceptions[0] from errors.exceptions[0].__cause__


def call_key(where: list[object], body: bytes) -> bytes:
    """SHA-256 of everything that decides an answer.

    Args:
        where: Endpoint and draw. The draw tells calls with the same request apart, which are two draws.
        body: Of the request.
    """
    return hashlib.sha256(json.dumps(where).encode() + b"\0" + body).digest()


@dataclass(frozen=True, slots=True)
class AskedCall:
    """A request to a model that is measured."""

    payee: str
    """Account that it is booked to, and whose failures are counted together."""
    target: Target
    body: bytes = field(repr=False)
    key: bytes
    """Key of its answer in the journal; see `call_key`."""
    model: str
    """Model that it is priced as."""
    prompt_tokens: int
    """Estimated, for endpoints that report no usage, or none above 0."""
    api: Api = CHAT


@dataclass(slots=True)
class Asker:
    """Puts calls to models."""

    replayer: Replayer
    """Sends; limits how many calls are under way."""
    answers: Answers
    """The journal: answers are in it before anybody sees them."""
    prices: Prices
    costs: Costs
    """Accounts of all calls, and their limit."""
    _: KW_ONLY
    patience: int
    """Failures in a row after which a model that has answered before is not asked again."""
    give_up: Callable[[AskedCall, Failure], None]
    """Called once for each model that is not asked any more; may raise to end the run."""
    unusable: dict[str, Failure] = field(default_factory=dict, init=False)
    """Models that are not asked any more, by payee, and what they answered last."""
    _answered: set[str] = field(default_factory=set, init=False)
    _in_a_row: dict[str, int] = field(default_factory=dict, init=False)

    async def ask(self, call: AskedCall) -> Answer | Failure:
        """The answer, or why there is none.

        Raises: BudgetUsedUpError before a call that would be beyond the limit; what `give_up` raises.
        """
        account = self.costs.of(call.payee)
        remembered = self.answers.get(call.key)
        if remembered is not None:
            tokens = _tokens(call, remembered.answer)
            account.remember(Spend(sum(tokens), self._usd(call, tokens)))
            self._answered.add(call.payee)
            return remembered.answer
        if call.payee in self.unusable:
            return self.unusable[call.payee]
        outcome = await self._send(call, account)
        # A model that has answered may fail by chance; one that never did is more likely misnamed or down.
        worth_repeating = isinstance(outcome, Failure) and outcome.reason in _WORTH_REPEATING
        if worth_repeating and call.payee in self._answered:
            outcome = await self._send(call, account)
        if isinstance(outcome, Failure):
            account.failed += 1
            self._failed(call, outcome)
            return outcome
        self._answered.add(call.payee)
        self._in_a_row[call.payee] = 0
        # Before anybody sees it: a run that is killed now has paid for it once.
        self.answers.put(call.key, outcome)
        return outcome.answer

    async def _send(self, call: AskedCall, account: Account) -> Replay | Failure:
        self.costs.check()
        account.calls += 1
        outcome = await self.replayer.send(call.target, call.body, api=call.api)
        if not isinstance(outcome, Failure):
            prompt, completion = tokens = _tokens(call, outcome.answer)
            account.prompt_tokens += prompt
            account.completion_tokens += completion
            account.book(Spend(prompt + completion, self._usd(call, tokens)))
        return outcome

    def _usd(self, call: AskedCall, tokens: tuple[int, int]) -> float:
        return self.prices.usd(call.model, *tokens)

    def _failed(self, call: AskedCall, failure: Failure) -> None:
        payee = call.payee
        self._in_a_row[payee] = self._in_a_row.get(payee, 0) + 1
        answered = payee in self._answered
        patience = self.patience if answered else _PATIENCE_AT_FIRST
        # A wrong key stays wrong.
        if failure.reason == "unauthorized" and not answered:
            patience = 1
        if self._in_a_row[payee] >= patience and payee not in self.unusable:
            self.unusable[payee] = failure
            self.give_up(call, failure)


def _tokens(call: AskedCall, answer: Answer) -> tuple[int, int]:
    """Prompt and completion tokens: as reported, else estimated. Some servers report 0 of everything."""
    return answer.prompt_tokens or call.prompt_tokens, answer.completion_tokens or estimate_tokens(
        answer.text
    )
