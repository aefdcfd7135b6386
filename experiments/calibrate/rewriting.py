"""Candidates that a model rewords and compresses, in the place of the rules."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.core.figures import number, usd
from evenkeel.core.verdict import Failure
from evenkeel.experiments.calibrate.candidates import chooser, places
from evenkeel.experiments.calibrate.degrade.by_model import NAME, VERSION, model_degraded
from evenkeel.experiments.calibrate.journal import Key, Row
from evenkeel.experiments.calibrate.judge import ModelFailedError
from evenkeel.experiments.calibrate.progress import stage
from evenkeel.experiments.calibrate.score_table import FailureMode
from evenkeel.llm.faults import Fault
from evenkeel.llm.observer import Message
from evenkeel.shadow.rewriter.client import reply_to, rewrite_request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from rich.console import Console

    from evenkeel.core.budget import Spend
    from evenkeel.experiments.calibrate.candidates import Source
    from evenkeel.experiments.calibrate.degrade import Form
    from evenkeel.experiments.calibrate.journal import Journal
    from evenkeel.experiments.kit.asking import ModelAddress
    from evenkeel.experiments.kit.confirmation import Confirm
    from evenkeel.llm.client import ChatRequest, Endpoint

REWRITTEN = frozenset((FailureMode.REWORDED, FailureMode.COMPRESSED))
_HOPELESS = frozenset({"unauthorized", "circuit_open", "bad_request", "budget"})
_PASSING = _HOPELESS | {"timeout", "rate_limited", "server_error", "connection"}
_TEMPERATURE = 0.7


def is_rewritten(source: Source, mode: FailureMode) -> bool:
    """Whether a model makes such candidates; those of answers that call tools are made by rule."""
    return mode in REWRITTEN and not source.answer.tool_calls


class Purse:
    """What may be spent, and what was."""

    def __init__(self, most_usd: float | None) -> None:
        self._most_usd = most_usd
        self._set_aside = 0.0
        self.spent_usd = 0.0

    def reserve(self, estimate: Spend) -> bool:
        """Set aside what one call may cost; False if that is too much."""
        ahead = self.spent_usd + self._set_aside + estimate.usd
        if self._most_usd is not None and ahead > self._most_usd:
            return False
        self._set_aside += estimate.usd
        return True

    def settle(self, estimate: Spend, spent: Spend) -> None:
        """Release what was set aside and book what was spent."""
        self._set_aside -= estimate.usd
        self.spent_usd += spent.usd


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
        *,
        seed: int,
        most_usd: float | None,
    ) -> None:
        self._rewriter = rewriter
        self._form = form
        self._sources = sources
        self._journal = journal
        self._seed = seed
        self._purse = Purse(most_usd)
        self._failed: Failure | None = None

    @property
    def cost_usd(self) -> float:
        """Spent in this run."""
        return self._purse.spent_usd

    def run(self, confirm: Confirm, err: Console) -> None:
        """Ask, and keep every text in the journal.

        Raises: NotConfirmedError; ModelFailedError, with what was written until then in the journal.
        """
        missing = [
            (source, Key(source.id, *place))
            for source in self._sources
            for place in places(self._form)
            if is_rewritten(source, place.mode) and Key(source.id, *place) not in self._journal.rows
        ]
        if not missing:
            return
        address = self._rewriter.address
        models = [address.model, *([self._rewriter.stronger] if self._rewriter.stronger else [])]
        endpoints = [address.endpoint(model) for model in models]
        confirm(_announcement(endpoints[0], [source for source, _ in missing]))
        with stage(f"asking {address.model}", "texts", len(missing), err) as told:

            def keep(row: Row | None) -> None:
                if row is not None:
                    self._journal.add(row)
                told.add()

            try:
                asyncio.run(self._ask(endpoints, missing, keep))
            except ModelFailedError as error:
                raise ModelFailedError(
                    f"{address.model} cannot be used ({error}) after {told.done} of {len(missing)} texts; "
                    "give the same command again to go on from there"
                ) from error

    async def _ask(
        self,
        endpoints: Sequence[Endpoint],
        missing: Sequence[tuple[Source, Key]],
        keep: Callable[[Row | None], None],
    ) -> None:
        rewrites = [self._rewrite(endpoint) for endpoint in endpoints]
        waiting = iter(missing)

        async def work() -> None:
            for source, key in waiting:
                if self._failed is not None:
                    raise ModelFailedError(f"{self._failed.reason}: {self._failed.detail}")
                keep(await self._row(rewrites, source, key))

        failed: ModelFailedError | None = None
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._rewriter.address.concurrency, len(missing))):
                    group.create_task(work())
        except* ModelFailedError as errors:
            failed = next(error for error in errors.exceptions if isinstance(error, ModelFailedError))
        finally:
            for endpoint in endpoints:
                await endpoint.close()
        if failed is not None:
            raise failed
        if self._failed is not None:
            raise ModelFailedError(f"{self._failed.reason}: {self._failed.detail}")

    async def _row(
        self, rewrites: Sequence[Callable[[str], Awaitable[str | Failure]]], source: Source, key: Key
    ) -> Row | None:
        rng = chooser(self._seed, source.id, NAME, key.mode, str(key.severity))
        made = await model_degraded(
            rewrites[0], source.answer, self._form, key.mode, key.severity, rng,
            stronger=rewrites[1] if len(rewrites) > 1 else None,
        )  # fmt: skip
        expected = places(self._form)[key.place]
        if not isinstance(made, Failure):
            return Row(key, expected, text=made.text)
        if made.reason in _HOPELESS:
            self._failed = made
        # What failed for a while is asked again by the next run.
        return None if made.reason in _PASSING else Row(key, expected, undegradable=made.reason)

    def _rewrite(self, endpoint: Endpoint) -> Callable[[str], Awaitable[str | Failure]]:
        async def rewrite(prompt: str) -> str | Failure:
            said = await reply_to(endpoint, _request(prompt, self._seed), self._purse)
            return Failure(NAME, VERSION, said.reason, said.detail) if isinstance(said, Fault) else said

        return rewrite


def _request(prompt: str, seed: int = 0) -> ChatRequest:
    return rewrite_request([Message("user", prompt)], prompt, temperature=_TEMPERATURE, seed=seed)


def _announcement(endpoint: Endpoint, sources: Sequence[Source]) -> str:
    texts = [source.answer.text for source in sources]
    cost = sum(endpoint.estimate(_request(text)).usd for text in texts)
    price = f"at most {usd(cost)}" if cost else "no public price known"
    return (
        f"{number(len(sources))} texts to be reworded or compressed by {endpoint.model}, {price} if each is "
        "right at the first try"
    )
