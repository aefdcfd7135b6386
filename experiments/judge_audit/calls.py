"""Calls to a judge: each question once, a few at a time, remembered in a file that outlives a killed run."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from evenkeel.core.figures import duration, number, usd
from evenkeel.core.verdict import Failure
from evenkeel.experiments.judge_audit.rows import InputError
from evenkeel.metrics.judge.reply import Reply, Ruling

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path
    from types import TracebackType
    from typing import TextIO

    from rich.console import Console

    from evenkeel.llm.price import Price
    from evenkeel.metrics.judge.prompts import Question


FINAL = frozenset({"refused", "empty", "bad_schema", "out_of_scale", "truncated"})
"""Failures that are the judge's answer. Others are the endpoint's, and worth another call.

At temperature 0 a reply that was cut off is cut off again, and it is the dearest one to ask for twice.
"""


def question_key(model: str, question: Question, occasion: str) -> str:
    """SHA-256 of everything that decides the reply, in hex.

    Args:
        model: the judge.
        question: what it is asked.
        occasion: tells the same question asked twice on purpose apart.
    """
    content = [model, occasion, list(question.scale), [[m.role, m.content] for m in question.messages]]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


class ReplyCache:
    """Remembers replies; with a path they are appended to that file, one JSON line each, at once.

    A last line that a killed process left unfinished is dropped. One process writes at a time.
    """

    def __init__(self, path: Path | None = None) -> None:
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
            raise InputError(f"{path}: {error.strerror}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file:
            self._file.close()

    def __len__(self) -> int:
        return len(self._replies)

    def get(self, key: str) -> Reply | None:
        """The reply, None if it has to be asked for."""
        return self._replies.get(key)

    def add(self, key: str, reply: Reply) -> None:
        """Remember a reply, unless the endpoint rather than the judge failed."""
        if isinstance(reply.outcome, Failure) and reply.outcome.reason not in FINAL:
            return
        self._replies[key] = reply
        if self._file:
            self._file.write(_line(key, reply) + "\n")
            self._file.flush()

    def _load(self, path: Path) -> None:
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        for place, line in enumerate(data[:whole].splitlines(), start=1):
            try:
                key, reply = _read(line)
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(
                    f"{path.name}, line {place}: not a line of such a cache; use another file"
                ) from error
            self._replies[key] = reply
        if whole < len(data):
            with path.open("r+b") as file:
                file.truncate(whole)


def _line(key: str, reply: Reply) -> str:
    row: dict[str, object] = {
        "key": key,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "cost_usd": reply.cost_usd,
    }
    if isinstance(reply.outcome, Failure):
        failure = reply.outcome
        row["failure"] = [failure.metric, failure.version, failure.reason, failure.detail]
    else:
        row |= {"rating": reply.outcome.rating, "explanation": reply.outcome.explanation}
    return json.dumps(row)


def _read(line: bytes) -> tuple[str, Reply]:
    row = json.loads(line)
    outcome = (
        Failure(*row["failure"]) if "failure" in row else Ruling(int(row["rating"]), str(row["explanation"]))
    )
    reply = Reply(outcome, int(row["prompt_tokens"]), int(row["completion_tokens"]), float(row["cost_usd"]))
    return str(row["key"]), reply


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


_LINES = 10
"""Lines written in all where there is no terminal to draw a bar on."""


class Told:
    """Counts what is answered."""

    def __init__(self, total: int, show: Callable[[Told], None]) -> None:
        self.total = total
        self.done = 0
        self.failed = 0
        self.remembered = 0
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.cost_usd = 0.0
        self._show = show

    def add(self, reply: Reply, remembered: bool) -> None:  # noqa: FBT001 - a callback of `ask_all`
        """Count a reply, and show it."""
        self.done += 1
        self.failed += isinstance(reply.outcome, Failure)
        if remembered:
            self.remembered += 1
        else:
            self.prompt_tokens += reply.prompt_tokens
            self.completion_tokens += reply.completion_tokens
            self.cost_usd += reply.cost_usd
        self._show(self)

    def spent(self, before: Spent | None) -> Spent:
        """What was spent, added to what was spent before."""
        was = before or Spent()
        return Spent(
            was.calls + self.done - self.remembered,
            was.remembered + self.remembered,
            was.prompt_tokens + self.prompt_tokens,
            was.completion_tokens + self.completion_tokens,
            was.cost_usd + self.cost_usd,
        )


@contextlib.contextmanager
def progress(total: int, err: Console, clock: Callable[[], float] = time.monotonic) -> Iterator[Told]:
    """Show progress while the block runs: a bar on a terminal, a line now and then elsewhere.

    Args:
        total: answers expected.
        err: where to.
        clock: seconds; for the time that remains.
    """
    if not err.is_terminal:
        yield Told(total, _lines(err, clock))
        return
    columns = (
        TextColumn("asking the judge"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[cost]}"), TextColumn("{task.fields[failed]} failed"),
    )  # fmt: skip
    with Progress(*columns, console=err) as bar:
        task = bar.add_task("", total=total, cost=usd(0), failed=0)
        yield Told(
            total,
            lambda told: bar.update(
                task, completed=told.done, cost=usd(told.cost_usd), failed=number(told.failed)
            ),
        )


def _lines(err: Console, clock: Callable[[], float]) -> Callable[[Told], None]:
    started = clock()

    def show(told: Told) -> None:
        if told.done * _LINES // told.total == (told.done - 1) * _LINES // told.total:
            return
        asked = told.done - told.remembered
        left_s = (clock() - started) / asked * (told.total - told.done) if asked else 0.0
        err.print(
            f"{number(told.done)} of {number(told.total)} answers, {usd(told.cost_usd)}, "
            f"{number(told.failed)} failed, {duration(left_s)} left",
            highlight=False,
        )

    return show


def characters(asked: Question) -> int:
    """Length of a question's messages together, for an estimate of tokens."""
    return sum(len(message.content) for message in asked.messages)


@dataclass(frozen=True, slots=True)
class Spent:
    """Calls made in this run, and what they cost."""

    calls: int = 0
    remembered: int = 0
    """Answers taken from the cache."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    """By list price; 0 for a model without one."""
