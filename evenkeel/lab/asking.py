"""Judges and rewriters that a command of the lab names: where they are, and when they are given up."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

from evenkeel.llm.client import Model, ModelClient
from evenkeel.llm.price import Prices
from evenkeel.metrics.judge import Judge
from evenkeel.release.kit.asking import AGAIN, StoppedError, UnusableError, work_through
from evenkeel.release.kit.cost import BudgetUsedUpError
from evenkeel.release.kit.terminal import progress
from evenkeel.stores.cache import DocumentCache
from evenkeel.stores.sqlite.documents import SqliteDocuments

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection
    from pathlib import Path

    from rich.console import Console

    from evenkeel.stores.sqlite.database import Database


_Item = TypeVar("_Item")

KEPT: Final = 10_000_000
"""Most texts and rulings that a journal keeps: more than a run makes, so that none is asked for twice."""


def unwritable(journal: Path, error: Exception) -> StoppedError:
    """The journal cannot be written, most often because the disk is full."""
    return StoppedError(
        f"the journal {journal} cannot be written ({error}); make room on its disk, then {AGAIN}"
    )


@dataclass(frozen=True, slots=True)
class ModelAddress:
    """The address of a judge or a rewriter, as a command line names it."""

    model: str
    url: str
    api_key: str = field(repr=False)
    key_variable: str
    """Environment variable that the key was taken from, for messages."""
    concurrency: int = 4
    timeout_s: float = 60.0
    prices: Prices = field(default_factory=Prices)

    def endpoint(self) -> ModelClient:
        """The model there; nothing is sent yet."""
        served = Model(
            base_url=self.url,
            name=self.model,
            api_key=self.api_key,
            timeout_s=self.timeout_s,
            concurrency=self.concurrency,
        )
        return ModelClient(served, price=self.prices.usd)

    def judge(self, journal: Database | None = None, *, repairs: int = 0) -> Judge:
        """A judge there that remembers its rulings in a journal; nothing is sent yet."""
        cache = None
        if journal is not None:
            cache = DocumentCache(SqliteDocuments(journal), "rulings", kept=KEPT)
        return Judge(self.endpoint(), cache=cache, repairs=repairs)


def ask_questions(
    judge: Judge,
    questions: Collection[_Item],
    ask: Callable[[_Item], Awaitable[object]],
    *,
    concurrency: int,
    err: Console,
    details: Callable[[], str],
    again: str = AGAIN,
) -> None:
    """Ask a judge all questions, showing progress, and close it.

    Args:
        judge: The judge.
        questions: What it is asked.
        ask: Asks it one.
        concurrency: Calls at a time.
        err: Gets progress.
        details: Returns what else there is to say of the progress.
        again: How to go on after a stop, for messages.

    Raises: StoppedError if the model cannot be used, or the budget is used up.
    """
    with progress(f"asking {judge.model}", "questions", len(questions), err, details=details) as made:

        async def counted(question: _Item) -> None:
            await ask(question)
            made.add()

        async def everything() -> None:
            try:
                await work_through(questions, counted, concurrency=concurrency)
            finally:
                await judge.close()

        try:
            asyncio.run(everything())
        except (UnusableError, BudgetUsedUpError) as error:
            raise StoppedError(
                f"{judge.model} cannot be used ({error}) after {made.done} of {made.total} answers; {again}"
            ) from error
