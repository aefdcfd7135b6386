"""Asks the judge what the journal lacks: scores of candidates, and ratings for the bands of the cascade."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

from evenkeel.core.figures import number, usd
from evenkeel.experiments.calibrate.candidates import Candidate, made, places
from evenkeel.experiments.calibrate.journal import Key
from evenkeel.experiments.calibrate.judged import (
    AskedSimilarity,
    AskedWorkflow,
    Call,
    ModelFailedError,
    NotConfirmedError,
    ask_all,
    expense,
)
from evenkeel.experiments.calibrate.progress import stage
from evenkeel.experiments.calibrate.scores import Field
from evenkeel.metrics.judge import Judge, JudgeRater

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from evenkeel.experiments.calibrate.candidates import Source
    from evenkeel.experiments.calibrate.degrade import Form
    from evenkeel.experiments.calibrate.journal import Journal, Row
    from evenkeel.experiments.calibrate.judged import Asked
    from evenkeel.experiments.judge_audit.run import JudgeAddress

FAMILY = "judge"


class Asking:
    """One judge, and the goldens that it is asked about."""

    def __init__(
        self,
        address: JudgeAddress,
        form: Form,
        sources: Sequence[Source],
        journal: Journal,
        *,
        seed: int,
        most_goldens: int | None,
        most_usd: float | None,
    ) -> None:
        """Choose the goldens; nothing is sent.

        Args:
            address: of the judge.
            form: of the goldens.
            sources: all goldens.
            journal: keeps what was answered.
            seed: of every draw.
            most_goldens: a sample of so many; None = all.
            most_usd: spend no more.
        """
        self._address = address
        self._form = form
        self._journal = journal
        self._seed = seed
        self._most_usd = most_usd
        self._sources = list(sources)
        if most_goldens is not None and most_goldens < len(sources):
            places = random.Random(f"{seed}\0judged").sample(range(len(sources)), most_goldens)
            self._sources = [sources[place] for place in sorted(places)]
        self.cost_usd = 0.0
        """Spent in this run."""
        self.rated: list[tuple[Candidate, int]] = []
        """One candidate of each golden, and its similarity rating."""

    def run(self, confirm: Callable[[str], bool], err: Console) -> Field:
        """Ask, and keep every answer in the journal.

        Args:
            confirm: asked once before the first call.
            err: gets progress.

        Returns: where the judge's scores are.
        Raises: NotConfirmedError; ModelFailedError, with what was answered until then in the journal.
        """
        judge = Judge(
            base_url=self._address.url,
            model=self._address.model,
            api_key=self._address.api_key,
            timeout_s=self._address.timeout_s,
            concurrency=self._address.concurrency,
            price=self._address.prices.usd,
            repairs=1,
        )
        similar = AskedSimilarity(JudgeRater(judge))
        about: Asked = AskedWorkflow(judge) if self._form == "workflow" else similar
        field = Field(
            f"{about.name}@{about.version}:{self._address.model}", about.name, about.version, FAMILY
        )
        calls, rated = self._calls(about, similar, field)
        if calls:
            self._confirm(calls, confirm)
            self._ask(judge, calls, err)
        ratings = [(candidate, self._journal.rows[candidate.key].rating) for candidate in rated]
        self.rated = [(candidate, rating) for candidate, rating in ratings if rating is not None]
        return field

    def _calls(
        self, about: Asked, similar: AskedSimilarity, field: Field
    ) -> tuple[list[Call], list[Candidate]]:
        """What is still to be asked, and the candidates whose rating is for the bands."""
        calls: list[Call] = []
        rated: list[Candidate] = []
        for source in self._sources:
            known = [place for place in places(self._form) if Key(source.id, *place) in self._journal.rows]
            texts = self._journal.texts(source.id, known)
            found = made(source, self._form, self._seed, texts, known)
            candidates = [one for one in found if isinstance(one, Candidate)]
            if not candidates:
                continue
            # One of each golden: pairs of the same golden hang together.
            chosen = random.Random(f"{self._seed}\0rated\0{source.id}").choice(candidates)
            rated.append(chosen)
            for candidate in candidates:
                row = self._journal.rows[candidate.key]
                if field.key not in row.scores:
                    calls.append(Call(candidate, field.key, about))
                if candidate is chosen and row.rating is None and about is not similar:
                    calls.append(Call(candidate, None, similar))
        return calls, rated

    def _confirm(self, calls: Sequence[Call], confirm: Callable[[str], bool]) -> None:
        name = self._address.model
        tokens, cost = expense(calls)
        if self._most_usd is not None and cost > self._most_usd:
            raise ModelFailedError(
                f"asking {name} may cost {usd(cost)}, more than --max-usd {self._most_usd:g}; raise it, or "
                "ask about fewer goldens with --judge-goldens"
            )
        price = f"at most {usd(cost)}" if cost else "no public price known"
        if not confirm(f"{number(len(calls))} questions to {name}, at most {number(tokens)} tokens, {price}"):
            raise NotConfirmedError

    def _ask(self, judge: Judge, calls: Sequence[Call], err: Console) -> None:
        name = self._address.model
        with stage(f"asking {name}", "questions", len(calls), err) as told:

            def keep(row: Row, cost_usd: float) -> None:
                self._journal.add(row)
                self.cost_usd += cost_usd
                told.add(cost_usd)

            async def ask() -> None:
                async with judge:
                    await ask_all(
                        calls, concurrency=self._address.concurrency, most_usd=self._most_usd, keep=keep
                    )

            try:
                asyncio.run(ask())
            except ModelFailedError as error:
                raise ModelFailedError(
                    f"{name} cannot be used ({error}) after {told.done} of {len(calls)} answers; give the "
                    "same command again to go on from there"
                ) from error
