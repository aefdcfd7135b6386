"""The rewriter: tasks in, valid texts out, each call paid for, each text gone through the gate."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Self, get_args

from evenkeel.llm.observer import UNOBSERVED
from evenkeel.llm.price import free
from evenkeel.shadow.rewriter.cache import cache_key
from evenkeel.shadow.rewriter.endpoint import ModelEndpoint
from evenkeel.shadow.rewriter.gate import faults_of, may_stay, passages_to_keep
from evenkeel.shadow.rewriter.prompts import Rejected, marker_tag, request_for
from evenkeel.shadow.rewriter.protocol import Fault, Rejection
from evenkeel.shadow.rewriter.reply import NoText, declines

if TYPE_CHECKING:
    from evenkeel.llm.observer import CallObserver
    from evenkeel.llm.price import Price
    from evenkeel.shadow.perturbations.protocol import RewriteTask
    from evenkeel.shadow.rewriter.protocol import Count, EqualMeaning, Purse, RewriteCache

_HOPELESS: Final = frozenset({"budget", "unauthorized", "bad_request", "circuit_open"})
"""Reasons that another attempt with the same model cannot change."""
_FAULTS: Final = frozenset(get_args(Fault))
_FIRST_SEED: Final = 7
"""Any fixed number: the same attempt at the same text should give the same words."""
_REMEMBERED: Final = 1_000
_REST_USES: Final = 50
"""How often a text that was given up is asked for in vain before it is tried again; doubles each time."""
_MEANING: Final = "It does not mean the same as the original."


def _uncounted(outcome: str) -> None:
    del outcome


class _Failed(NamedTuple):
    """An attempt that brought no valid text, and what the next one is to be told."""

    rejection: Rejection
    feedback: Rejected | None
    patience: int


@dataclass(slots=True)
class _GivenUp:
    """A text that failed to the end, and how long it rests."""

    rejection: Rejection
    rounds: int
    """How often all attempts have failed."""
    left: int
    """Uses until the next round."""


class Rewriter:
    """Rewrites texts with a model, and with a stronger one where that does not do.

    Flow: cache → call → gate → up to `attempts` calls, told what was wrong → the stronger model once
    → `Rejection` with the last reason. A few words that come back unchanged twice, as names do, stay as they
    are. Tasks alike that are under way share one outcome. A text whose rewriting fails the gate to the end
    rests for 50 uses, then for 100, 200 and so on, so that it costs little and an instruction that all
    prompts share is not lost because a judge once erred. Of such texts the last 1,000 are remembered.

    Belongs to one event loop. Close it, or use it as an async context manager.
    """

    def __init__(
        self,
        model: ModelEndpoint,
        *,
        cache: RewriteCache,
        stronger: ModelEndpoint | None = None,
        equal_meaning: EqualMeaning | None = None,
        attempts: int = 3,
        count: Count = _uncounted,
    ) -> None:
        """Wire the rewriter, which closes its endpoints when it is closed.

        Args:
            model: Tried first.
            cache: Where accepted texts are kept.
            stronger: Tried once when the first model has failed.
            equal_meaning: Asked last about a text that has passed the gate. False rejects it; None,
                not to be told, lets it pass and is counted: a judge in trouble is no fault of the text.
            attempts: Calls of the first model for one text.
            count: Told each outcome.
        """
        self._model = model
        self._stronger = stronger
        self._models = f"{model.model}\n{stronger.model if stronger else ''}"
        self._cache = cache
        self._equal_meaning = equal_meaning
        self._attempts = attempts
        self._count = count
        self._running: dict[str, asyncio.Task[str | Rejection]] = {}
        self._given_up: dict[str, _GivenUp] = {}

    @classmethod
    def connect(
        cls,
        *,
        base_url: str,
        model: str,
        api_key: str,
        cache: RewriteCache,
        stronger_model: str | None = None,
        timeout_s: float = 60.0,
        concurrency: int = 4,
        headroom_tokens: int = 512,
        price: Price = free,
        equal_meaning: EqualMeaning | None = None,
        count: Count = _uncounted,
        observer: CallObserver = UNOBSERVED,
    ) -> Self:
        """A rewriter whose models are behind one endpoint; nothing is sent.

        Args:
            base_url: Up to and including the version, e.g. "https://api.openai.com/v1".
            model: Tried first, by the name the endpoint knows it by.
            api_key: Sent as a bearer token. "" for endpoints that need none.
            cache: Where accepted texts are kept.
            stronger_model: Tried once when the first has failed.
            timeout_s: Limit for a call, in seconds.
            concurrency: Calls under way at the same time, for each model.
            headroom_tokens: Added to the longest reply asked for; models that reason need some thousand.
            price: Cost of the tokens; default free.
            equal_meaning: As for the constructor.
            count: Told each outcome.
            observer: Told of each request.
        """

        def endpoint(name: str) -> ModelEndpoint:
            return ModelEndpoint(
                base_url=base_url,
                model=name,
                api_key=api_key,
                timeout_s=timeout_s,
                concurrency=concurrency,
                headroom_tokens=headroom_tokens,
                price=price,
                observer=observer,
            )

        stronger = endpoint(stronger_model) if stronger_model else None
        return cls(endpoint(model), cache=cache, stronger=stronger, equal_meaning=equal_meaning, count=count)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop what is under way and close the connections."""
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await self._model.close()
        if self._stronger:
            await self._stronger.close()

    async def rewrite(self, task: RewriteTask, purse: Purse) -> str | Rejection:
        """Rewrite one text.

        Returns: a text that has passed the gate, or why there is none. Never raises for what a
            model or its endpoint does; errors of cache and purse come through.
        """
        key = cache_key(task, self._models)
        while key in self._running:
            # Shielded: who stops waiting does not take the text from the others.
            outcome = await asyncio.shield(self._running[key])
            # One route's empty purse says nothing about another's.
            if isinstance(outcome, str) or outcome.reason != "budget":
                self._count("shared")
                return outcome
        running = asyncio.create_task(self._outcome(key, task, purse))
        self._running[key] = running
        running.add_done_callback(lambda _: self._running.pop(key, None))
        return await asyncio.shield(running)

    async def _outcome(self, key: str, task: RewriteTask, purse: Purse) -> str | Rejection:
        cached = await asyncio.to_thread(self._cache.get, key)
        if cached is not None:
            self._count("cached")
            return cached
        before = self._given_up.get(key)
        if before is not None and before.left > 0:
            before.left -= 1
            self._count(f"rejected_{before.rejection.reason}")
            return before.rejection
        rounds = before.rounds if before else 0
        outcome = await self._written(task, purse, rounds)
        if isinstance(outcome, str):
            self._given_up.pop(key, None)
            await asyncio.to_thread(self._cache.put, key, outcome)
            self._count("accepted")
            return outcome
        if outcome.reason in _FAULTS:
            self._given_up[key] = _GivenUp(outcome, rounds + 1, _REST_USES << rounds)
            if len(self._given_up) > _REMEMBERED:
                self._given_up.pop(next(iter(self._given_up)))
        self._count(f"rejected_{outcome.reason}")
        return outcome

    async def _written(self, task: RewriteTask, purse: Purse, rounds: int) -> str | Rejection:
        failed = _Failed(Rejection("empty"), None, 1)
        first = rounds * (self._attempts + 1)
        for number in range(self._attempts):
            outcome = await self._attempt(self._model, task, purse, failed, first + number)
            if isinstance(outcome, str):
                return outcome
            again = {failed.rejection.reason, outcome.rejection.reason} == {"unchanged"}
            if again and await asyncio.to_thread(may_stay, task.text):
                return task.text
            failed = outcome
            if failed.rejection.reason in _HOPELESS:
                break
            if number + 1 < self._attempts:
                self._count(f"retried_{failed.rejection.reason}")
        if self._stronger and failed.rejection.reason != "budget":
            self._count("stronger")
            outcome = await self._attempt(self._stronger, task, purse, failed, first + self._attempts)
            if isinstance(outcome, str):
                return outcome
            failed = outcome
        return failed.rejection

    async def _attempt(
        self, model: ModelEndpoint, task: RewriteTask, purse: Purse, before: _Failed, number: int
    ) -> str | _Failed:
        messages = request_for(task, passages_to_keep(task), before.feedback)
        charge = model.charge(messages, task.text, before.patience)
        # Without some chance a model told of its faults tends to write the same again.
        temperature = 0.0 if number == 0 else 0.5
        said = await model.say(messages, charge, purse, temperature=temperature, seed=_FIRST_SEED + number)
        if isinstance(said, NoText):
            patience = before.patience * (2 if said.reason == "truncated" else 1)
            return _Failed(Rejection(said.reason, said.detail), before.feedback, patience)
        if declines(said) and not declines(task.text):
            return _Failed(Rejection("refused", "The model declined in words."), before.feedback, 1)
        # In a thread: the first question about a language reads the model, which takes half a second.
        faults = await asyncio.to_thread(faults_of, task, said, marker_tag(messages))
        if faults:
            feedback = Rejected(said, tuple(fault.detail for fault in faults))
            return _Failed(Rejection(faults[0].reason, faults[0].detail), feedback, before.patience)
        if await self._means_the_same(task, said) is False:
            return _Failed(Rejection("meaning", _MEANING), Rejected(said, (_MEANING,)), before.patience)
        return said

    async def _means_the_same(self, task: RewriteTask, text: str) -> bool | None:
        if self._equal_meaning is None:
            return True
        same = await self._equal_meaning(task.text, text)
        if same is None:
            self._count("meaning_unknown")
        return same
