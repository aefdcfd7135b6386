"""Asks a judge everything a plan holds: each question once, a few at a time, resumably."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from evenkeel.core.verdict import Failure
from evenkeel.experiments.judge_audit.cache import FINAL, question_key
from evenkeel.experiments.judge_audit.strategies import characters

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from evenkeel.experiments.judge_audit.cache import ReplyCache
    from evenkeel.metrics.judge.client import Price, Reply
    from evenkeel.metrics.judge.prompts import Question

CHARS_PER_TOKEN = 4
"""A usual rule of thumb for English; only used for the estimate before the first call."""
_COMPLETION_TOKENS = 120
_STEPWISE_TOKENS = 350
_HOPELESS = frozenset({"circuit_open", "unauthorized"})

Place = TypeVar("Place")


class Asker(Protocol):
    """What is needed of a judge."""

    @property
    def model(self) -> str:
        """Its name."""
        ...

    async def ask(self, question: Question) -> Reply:
        """As `evenkeel.metrics.judge.client.Judge.ask`."""
        ...


@dataclass(frozen=True, slots=True)
class Call(Generic[Place]):
    """One question to put, and where its answer belongs."""

    place: Place
    question: Question
    occasion: str = ""
    """Tells the same question asked twice on purpose apart."""


@dataclass(frozen=True, slots=True)
class CallEstimate:
    """What a plan will cost, roughly, without what is remembered already."""

    calls: int
    remembered: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float
    """0 for a model without a public price."""


class JudgeUnusableError(Exception):
    """The endpoint keeps failing or rejects the key: asking on would only collect failures."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        super().__init__(f"{failure.reason}: {failure.detail}")


def estimate(model: str, plan: Collection[Call[Place]], cache: ReplyCache, price: Price) -> CallEstimate:
    """Calls, tokens and cost ahead. Tokens are guessed from lengths: a quarter of the characters."""
    calls = prompt = completion = 0
    for call in plan:
        if cache.get(question_key(model, call.question, call.occasion)) is None:
            calls += 1
            prompt += characters(call.question) // CHARS_PER_TOKEN
            stepwise = call.question.prompt.endswith("step_by_step")
            completion += _STEPWISE_TOKENS if stepwise else _COMPLETION_TOKENS
    cost = price(model, prompt, completion)
    return CallEstimate(calls, len(plan) - calls, prompt, completion, cost)


async def ask_all(
    judge: Asker,
    plan: Collection[Call[Place]],
    cache: ReplyCache,
    *,
    concurrency: int = 4,
    progress: Callable[[Reply, bool], None] = lambda *_: None,
) -> dict[Place, Reply]:
    """The replies to a plan, by place.

    Args:
        judge: whom to ask. Questions in the cache are not asked.
        plan: the questions; places are unique.
        cache: what was answered before, and where new replies are kept as soon as they are there.
        concurrency: calls under way at the same time.
        progress: told of each reply, and whether it was remembered.

    Raises: JudgeUnusableError with the failure behind it; what was answered until then is in the cache.
    """
    replies: dict[Place, Reply] = {}
    waiting = iter(plan)
    last_fault: Failure | None = None

    async def work() -> None:
        nonlocal last_fault
        for call in waiting:
            key = question_key(judge.model, call.question, call.occasion)
            remembered = cache.get(key)
            reply = remembered
            if reply is None:
                reply = await judge.ask(call.question)
                cache.add(key, reply)
            fault = reply.outcome
            if isinstance(fault, Failure) and fault.reason in _HOPELESS:
                raise JudgeUnusableError(
                    last_fault if fault.reason == "circuit_open" and last_fault else fault
                )
            if isinstance(fault, Failure) and fault.reason not in FINAL:
                last_fault = fault
            replies[call.place] = reply
            progress(reply, remembered is not None)

    unusable: JudgeUnusableError | None = None
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, len(plan))):
                group.create_task(work())
    except* JudgeUnusableError as errors:
        unusable = next(error for error in errors.exceptions if isinstance(error, JudgeUnusableError))
    if unusable is not None:
        raise unusable
    return replies
