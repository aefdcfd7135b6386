"""Calls to a judge: each question once, a few at a time, remembered in a file that survives a killed run."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from evenkeel.core.budget import Spend
from evenkeel.core.figures import number
from evenkeel.core.verdict import Failure
from evenkeel.metrics.judge.reply import Reply, Ruling
from evenkeel.release.kit.arguments import InputError
from evenkeel.release.kit.asking import work_through
from evenkeel.release.kit.cost import CostEstimate

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path
    from typing import TextIO

    from evenkeel.llm.price import Price
    from evenkeel.metrics.judge.client import Judge
    from evenkeel.metrics.judge.prompts import Question


FINAL = frozenset({"refused", "empty", "bad_schema", "out_of_scale", "truncated"})
"""Failures that are the judge's answer. Others are the endpoint's, and worth another call.

At temperature 0 a reply that was cut off is cut off again, and it is the dearest one to ask for twice.
"""
CHARS_PER_TOKEN = 4
"""A usual rule of thumb for English; only used for the estimate before the first call."""
_COMPLETION_TOKENS = 120
_STEPWISE_TOKENS = 350
_HOPELESS = frozenset({"circuit_open", "unauthorized"})

Place = TypeVar("Place")


@dataclass(frozen=True, slots=True)
class JudgeCall(Generic[Place]):
    """A question to put, and where its answer belongs."""

    place: Place
    question: Question
    occasion: str = ""
    """Tells the same question asked twice on purpose apart."""

    @property
    def characters(self) -> int:
        """Length of the messages together, for an estimate of tokens."""
        return sum(len(message.content) for message in self.question.messages)

    def key(self, model: str) -> str:
        """SHA-256 of everything that decides the reply of a judge, in hex."""
        asked = self.question
        content = [model, self.occasion, list(asked.scale), [[m.role, m.content] for m in asked.messages]]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


class ReplyCache:
    """Remembers replies; with a path they are appended to that file at once, one JSON object a line.

    A last line that a killed process left unfinished is dropped. One process writes at a time.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Read what is there.

        Raises: InputError for a file that cannot be read or written, or is no such cache.
        """
        self._replies: dict[str, Reply] = {}
        self._file: TextIO | None = None
        if path is None:
            return
        try:
            if path.exists():
                self._load(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}; choose another --cache") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()

    def __len__(self) -> int:
        return len(self._replies)

    def get(self, key: str) -> Reply | None:
        """The reply, None if it has to be asked for."""
        return self._replies.get(key)

    def add(self, key: str, reply: Reply) -> None:
        """Remember a reply, unless the endpoint rather than the judge failed."""
        outcome = reply.outcome
        # A refusal is the judge's answer; a timeout says nothing about it and is asked for again.
        if isinstance(outcome, Failure) and outcome.reason not in FINAL:
            return
        self._replies[key] = reply
        if self._file is None:
            return
        entry: dict[str, Any] = {
            "key": key,
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
            "cost_usd": reply.cost_usd,
        }
        if isinstance(outcome, Failure):
            entry["failure"] = [outcome.metric, outcome.version, outcome.reason, outcome.detail]
        else:
            entry |= {"rating": outcome.rating, "explanation": outcome.explanation}
        self._file.write(json.dumps(entry, allow_nan=False) + "\n")
        self._file.flush()

    def _load(self, path: Path) -> None:
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        for line_number, line in enumerate(data[:whole].splitlines(), start=1):
            try:
                self._read(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise InputError(
                    f"{path}, line {line_number}: is not a cache of judges' replies; choose another --cache"
                ) from error
        if whole < len(data):
            with path.open("r+b") as file:
                file.truncate(whole)

    def _read(self, row: dict[str, Any]) -> None:
        outcome = (
            Failure(*row["failure"])
            if "failure" in row
            else Ruling(int(row["rating"]), str(row["explanation"]))
        )
        tokens = int(row["prompt_tokens"]), int(row["completion_tokens"])
        self._replies[str(row["key"])] = Reply(outcome, *tokens, float(row["cost_usd"]))


def estimate(
    model: str, plan: Collection[JudgeCall[Place]], cache: ReplyCache, price: Price
) -> CostEstimate | None:
    """Calls, tokens and cost ahead, guessed from lengths: a quarter of the characters are tokens.

    Returns: None if every reply is in the cache.
    """
    calls = prompt = completion = 0
    for call in plan:
        if cache.get(call.key(model)) is None:
            calls += 1
            prompt += call.characters // CHARS_PER_TOKEN
            stepwise = call.question.prompt.endswith("step_by_step")
            completion += _STEPWISE_TOKENS if stepwise else _COMPLETION_TOKENS
    if not calls:
        return None
    spend = Spend(prompt + completion, price(model, prompt, completion))
    return CostEstimate(f"{number(calls)} calls to {model}", spend, len(plan) - calls, ceiling=False)


class JudgeUnusableError(Exception):
    """The endpoint keeps failing or rejects the key: asking on would only collect failures."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        super().__init__(f"{failure.reason}: {failure.detail}")


async def ask_all(
    judge: Judge,
    plan: Collection[JudgeCall[Place]],
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
        progress: called with each reply, and whether it was remembered.

    Raises: JudgeUnusableError with the failure behind it; what was answered until then is in the cache.
    """
    replies: dict[Place, Reply] = {}
    last_fault: Failure | None = None

    async def answer(call: JudgeCall[Place]) -> None:
        nonlocal last_fault
        key = call.key(judge.model)
        remembered = cache.get(key)
        reply = remembered
        if reply is None:
            reply = await judge.ask(call.question)
            cache.add(key, reply)
        fault = reply.outcome
        if isinstance(fault, Failure) and fault.reason in _HOPELESS:
            raise JudgeUnusableError(last_fault if fault.reason == "circuit_open" and last_fault else fault)
        if isinstance(fault, Failure) and fault.reason not in FINAL:
            last_fault = fault
        replies[call.place] = reply
        progress(reply, remembered is not None)

    await work_through(plan, answer, concurrency=concurrency)
    return replies
