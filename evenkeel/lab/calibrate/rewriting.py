"""Candidates that a model rewords and compresses, in the place of the rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.core.budget import Spend
from evenkeel.core.figures import number
from evenkeel.core.verdict import Failure
from evenkeel.lab.calibrate.candidates import chooser, conditions
from evenkeel.lab.calibrate.degrade.by_model import NAME, VERSION, model_degraded
from evenkeel.lab.calibrate.journal import Key, Row
from evenkeel.llm.faults import Fault
from evenkeel.llm.observer import Message
from evenkeel.release.calibration.calibration import FailureMode
from evenkeel.release.kit.asking import HOPELESS, PASSING, UnusableError, ask_model
from evenkeel.release.kit.cost import Estimate, PayeeBudget
from evenkeel.shadow.rewriter.client import reply_to, rewrite_request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from rich.console import Console

    from evenkeel.lab.calibrate.candidates import CandidateSet, Source
    from evenkeel.llm.chat import ChatRequest
    from evenkeel.llm.client import Endpoint
    from evenkeel.release.kit.asking import ModelAddress
    from evenkeel.release.kit.confirmation import Confirm
    from evenkeel.release.kit.cost import Costs

REWRITTEN = frozenset((FailureMode.REWORDED, FailureMode.COMPRESSED))
_HOPELESS = HOPELESS | {"budget"}
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


def rewrite(
    rewriter: Rewriter, candidates: CandidateSet, costs: Costs, confirm: Confirm, err: Console
) -> None:
    """Have a model reword and compress what the journal lacks, and keep every text there.

    Args:
        rewriter: who is asked.
        candidates: of all goldens.
        costs: where its calls are booked, and the limit.
        confirm: called once before the first call.
        err: gets progress.

    Raises: NotConfirmedError; StoppedError, with what was written until then in the journal.
    """
    journal, expected = candidates.journal, conditions(candidates.damage)
    missing = [
        (source, Key(source.id, *condition))
        for source in candidates.sources
        for condition in expected
        if is_rewritten(source, condition.mode) and Key(source.id, *condition) not in journal.rows
    ]
    if not missing:
        return
    address, budget = rewriter.address, PayeeBudget(costs)
    endpoints = [address.endpoint(model) for model in (address.model, rewriter.stronger) if model]
    confirm(_estimate(endpoints[0], [source for source, _ in missing]))
    first, *stronger = [_asking(endpoint, budget, candidates.seed) for endpoint in endpoints]

    async def write(one: tuple[Source, Key]) -> None:
        source, key = one
        rng = chooser(candidates.seed, source.id, NAME, key.mode, str(key.severity))
        made = await model_degraded(
            first, source.answer, candidates.form, key.mode, key.severity, rng,
            stronger=stronger[0] if stronger else None,
        )  # fmt: skip
        row = Row(*key, expected[key.condition])
        if not isinstance(made, Failure):
            row.text = made.text
        elif made.reason in _HOPELESS:
            raise UnusableError(f"{made.reason}: {made.detail}")
        elif made.reason in PASSING:
            return  # The next run asks again.
        else:
            row.undegradable = made.reason
        journal.add(row)

    ask_model(
        address.model, missing, write, nouns=("texts", "texts"), concurrency=address.concurrency,
        close=[endpoint.close for endpoint in endpoints], err=err,
    )  # fmt: skip


def _asking(endpoint: Endpoint, budget: PayeeBudget, seed: int) -> Callable[[str], Awaitable[str | Failure]]:
    async def ask(prompt: str) -> str | Failure:
        said = await reply_to(endpoint, _request(prompt, seed), budget)
        return Failure(NAME, VERSION, said.reason, said.detail) if isinstance(said, Fault) else said

    return ask


def _request(prompt: str, seed: int = 0) -> ChatRequest:
    return rewrite_request([Message("user", prompt)], prompt, temperature=_TEMPERATURE, seed=seed)


def _estimate(endpoint: Endpoint, sources: Sequence[Source]) -> Estimate:
    """If each text is right at the first try."""
    spend = Spend(0, 0.0)
    for source in sources:
        spend = spend.plus(endpoint.estimate(_request(source.answer.text)))
    asked = f"{number(len(sources))} texts to be reworded or compressed by {endpoint.model}"
    return Estimate(asked, spend, ceiling=False)
