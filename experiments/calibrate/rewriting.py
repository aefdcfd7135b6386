"""Candidates that a model rewords and compresses, in the place of the rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.core.budget import Spend
from evenkeel.core.figures import number
from evenkeel.core.verdict import Failure
from evenkeel.experiments.calibrate.candidates import chooser, conditions
from evenkeel.experiments.calibrate.degrade.by_model import NAME, VERSION, model_degraded
from evenkeel.experiments.calibrate.journal import Key, Row
from evenkeel.experiments.calibrate.score_table import FailureMode
from evenkeel.experiments.kit.asking import HOPELESS, PASSING, UnusableError, ask_model
from evenkeel.experiments.kit.cost import Estimate, PayeeBudget
from evenkeel.llm.faults import Fault
from evenkeel.llm.observer import Message
from evenkeel.shadow.rewriter.client import reply_to, rewrite_request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from rich.console import Console

    from evenkeel.experiments.calibrate.candidates import Source
    from evenkeel.experiments.calibrate.degrade import Form
    from evenkeel.experiments.calibrate.journal import Journal
    from evenkeel.experiments.kit.asking import ModelAddress
    from evenkeel.experiments.kit.confirmation import Confirm
    from evenkeel.experiments.kit.cost import Costs
    from evenkeel.llm.client import ChatRequest, Endpoint

REWRITTEN = frozenset((FailureMode.REWORDED, FailureMode.COMPRESSED))
_HOPELESS = HOPELESS | {"budget"}
_NOT_ANSWERED = _HOPELESS | PASSING
_TEMPERATURE = 0.7


def is_rewritten(source: Source, mode: FailureMode) -> bool:
    """Whether a model makes such candidates; those of answers that call tools are made by rule."""
    return mode in REWRITTEN and not source.answer.tool_calls


@dataclass(frozen=True, slots=True)
class Rewriter:
    """Who rewrites."""

    address: ModelAddress
    stronger: str | None = None
    """Model of the same endpoint that is asked where the first one fails the checks."""

    @property
    def name(self) -> str:
        """Of the models, and of the version of their prompts."""
        return f"{self.address.model}{f', {self.stronger}' if self.stronger else ''} ({NAME} {VERSION})"


class Rewriting:
    """Has a model reword and compress what the journal lacks."""

    def __init__(
        self,
        rewriter: Rewriter,
        form: Form,
        sources: Sequence[Source],
        journal: Journal,
        costs: Costs,
        *,
        seed: int,
    ) -> None:
        self._rewriter = rewriter
        self._form = form
        self._sources = sources
        self._journal = journal
        self._seed = seed
        self._budget = PayeeBudget(costs)
        self._failed: Failure | None = None

    def run(self, confirm: Confirm, err: Console) -> None:
        """Ask, and keep every text in the journal.

        Raises: NotConfirmedError; StoppedError, with what was written until then in the journal.
        """
        missing = [
            (source, Key(source.id, *condition))
            for source in self._sources
            for condition in conditions(self._form)
            if is_rewritten(source, condition.mode) and Key(source.id, *condition) not in self._journal.rows
        ]
        if not missing:
            return
        address = self._rewriter.address
        models = [address.model, *([self._rewriter.stronger] if self._rewriter.stronger else [])]
        endpoints = [address.endpoint(model) for model in models]
        confirm(_estimate(endpoints[0], [source for source, _ in missing]))
        rewrites = [self._rewrite(endpoint) for endpoint in endpoints]

        async def write(one: tuple[Source, Key]) -> None:
            row = await self._row(rewrites, *one)
            if self._failed is not None:
                raise UnusableError(f"{self._failed.reason}: {self._failed.detail}")
            if row is not None:
                self._journal.add(row)

        ask_model(
            address.model, missing, write, nouns=("texts", "texts"), concurrency=address.concurrency,
            close=[endpoint.close for endpoint in endpoints], err=err,
        )  # fmt: skip

    async def _row(
        self, rewrites: Sequence[Callable[[str], Awaitable[str | Failure]]], source: Source, key: Key
    ) -> Row | None:
        rng = chooser(self._seed, source.id, NAME, key.mode, str(key.severity))
        made = await model_degraded(
            rewrites[0], source.answer, self._form, key.mode, key.severity, rng,
            stronger=rewrites[1] if len(rewrites) > 1 else None,
        )  # fmt: skip
        expected = conditions(self._form)[key.condition]
        if not isinstance(made, Failure):
            return Row(*key, expected, text=made.text)
        if made.reason in _HOPELESS:
            self._failed = made
        # What failed for a while is asked again by the next run.
        return None if made.reason in _NOT_ANSWERED else Row(*key, expected, undegradable=made.reason)

    def _rewrite(self, endpoint: Endpoint) -> Callable[[str], Awaitable[str | Failure]]:
        async def rewrite(prompt: str) -> str | Failure:
            said = await reply_to(endpoint, _request(prompt, self._seed), self._budget)
            return Failure(NAME, VERSION, said.reason, said.detail) if isinstance(said, Fault) else said

        return rewrite


def _request(prompt: str, seed: int = 0) -> ChatRequest:
    return rewrite_request([Message("user", prompt)], prompt, temperature=_TEMPERATURE, seed=seed)


def _estimate(endpoint: Endpoint, sources: Sequence[Source]) -> Estimate:
    """If each text is right at the first try."""
    spend = Spend(0, 0.0)
    for source in sources:
        spend = spend.plus(endpoint.estimate(_request(source.answer.text)))
    asked = f"{number(len(sources))} texts to be reworded or compressed by {endpoint.model}"
    return Estimate(asked, spend, ceiling=False)
