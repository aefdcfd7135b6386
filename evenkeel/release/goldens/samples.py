"""Records samples: further answers of the model in use to the goldens' requests, chosen by nobody.

A sample is a draw, so how often it differs from the approved answer is the rerun noise of the model as it
was. `evenkeel gate --against recorded` takes that noise off once other weights answer under the name.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.budget import NOTHING, Spend
from evenkeel.core.figures import count, number, reasons, usd
from evenkeel.core.verdict import Failure
from evenkeel.core.version import VERSION
from evenkeel.llm.price import Prices, estimate_tokens
from evenkeel.release.gate.sides import Task, Unasked, drawn, tasks
from evenkeel.release.goldens.files import newest_versions
from evenkeel.release.kit.asking import Asker, UnusableError, advised, work_through
from evenkeel.release.kit.cost import BudgetUsedUpError, Costs, Estimate
from evenkeel.release.kit.journal import Answers, open_database
from evenkeel.release.kit.progress import progress
from evenkeel.shadow.replay import Replayer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from evenkeel.core.pair import Answer
    from evenkeel.llm.price import ModelPrice
    from evenkeel.release.gate.sides import Side
    from evenkeel.release.kit.asking import Call
    from evenkeel.release.kit.confirmation import Confirm
    from evenkeel.stores.goldens import Golden

EMPTY: Final = "empty_answer"
"""Reason of an answer without text and calls, with which nothing can be compared."""
_PATIENCE: Final = 10
"""Failures in a row of an endpoint that has answered before, after which the run ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleOptions:
    """Options of a run."""

    goldens: Sequence[Golden]
    """All versions that are to be written again, retired ones too; only the newest in use are asked."""
    side: Side
    """The endpoint in use."""
    samples: int
    """Samples that each golden has in the end, those that are there already included."""
    price: ModelPrice | None = None
    """Price of whatever model is asked; None = by the public list."""
    concurrency: int = 8
    timeout_s: float = 60.0
    most_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Results of a run."""

    goldens: tuple[Golden, ...]
    """The goldens in their order, with their new samples."""
    wanted: int
    """Samples that were missing."""
    added: int
    """Number of them that were recorded."""
    failed: Mapping[str, int]
    """Calls without a usable answer, by reason."""
    left_out: Mapping[str, int]
    """Goldens that cannot be asked, by reason."""
    cost_usd: float
    stopped: str = ""
    """Why the run ended before its end; "" if it did not."""

    def __str__(self) -> str:
        said = [f"{number(self.added)} of {count(self.wanted, 'sample')} recorded, {usd(self.cost_usd)}"]
        if self.failed:
            said.append(f"{count(sum(self.failed.values()), 'call')} failed: {reasons(self.failed)}")
        if self.left_out:
            goldens = count(sum(self.left_out.values()), "golden")
            said.append(f"{goldens} cannot be asked: {reasons(self.left_out)}")
        return "; ".join(said)


class _Place(NamedTuple):
    """A sample that is missing."""

    golden: Golden
    call: Call


@dataclass(slots=True)
class _Recording:
    """Answers received so far."""

    samples: dict[tuple[str, int], list[Answer]] = field(default_factory=lambda: defaultdict(list))
    """Samples by id and version."""
    failed: Counter[str] = field(default_factory=Counter)
    stopped: str = ""

    def take(self, golden: Golden, answer: Answer | Failure) -> None:
        """Keep an answer, or count why there is none."""
        if isinstance(answer, Failure):
            self.failed[answer.reason] += 1
        elif not answer.text and not answer.tool_calls:
            self.failed[EMPTY] += 1
        else:
            self.samples[golden.id, golden.version].append(answer)

    def grown(self, golden: Golden) -> Golden:
        """A golden with its new samples."""
        more = self.samples.get((golden.id, golden.version), ())
        return replace(golden, samples=(*golden.samples, *more))


def record_samples(options: SampleOptions, *, err: Console, confirm: Confirm) -> Recorded:
    """Ask each golden's request as often as samples are missing.

    An interrupt, an endpoint that cannot be used and a budget that is used up end the run, not more: what
    was recorded until then is returned.

    Args:
        options: What to do.
        err: Gets progress.
        confirm: Called once before the first call, with an estimate of the cost.

    Raises: NotConfirmedError; InputError if nobody can be asked.
    """
    in_use = [golden for golden in newest_versions(options.goldens) if golden.retired_at is None]
    prepared = tasks(in_use, [options.side])
    places = _missing([one for one in prepared if isinstance(one, Task)], options.samples)
    recording, costs = _Recording(), Costs(options.most_usd)
    if places:
        prices = _prices(options, places)
        confirm(_estimate(places, prices))
        try:
            asyncio.run(_record(options, places, prices, costs, recording, err))
        except (UnusableError, BudgetUsedUpError) as error:
            recording.stopped = str(error)
        except KeyboardInterrupt:
            recording.stopped = "interrupted"
    return Recorded(
        goldens=tuple(map(recording.grown, options.goldens)),
        wanted=len(places),
        added=sum(map(len, recording.samples.values())),
        failed=recording.failed,
        left_out=Counter(one.failure.reason for one in prepared if isinstance(one, Unasked)),
        cost_usd=costs.usd,
        stopped=recording.stopped,
    )


def _missing(asked: Sequence[Task], samples: int) -> list[_Place]:
    """The missing samples: the first of every golden, then the second, so that a stopped run is even."""
    return [
        _Place(task.golden, drawn(call, sample))
        for sample in range(samples)
        for task in asked
        if sample >= len(task.golden.samples)
        for call in task.requests.values()
    ]


def _prices(options: SampleOptions, places: Sequence[_Place]) -> Prices:
    if options.price is None:
        return Prices()
    return Prices(dict.fromkeys((place.call.model for place in places), options.price))


def _estimate(places: Sequence[_Place], prices: Prices) -> Estimate:
    """Estimate the cost of the samples if they are as long as the approved answers."""
    spend = NOTHING
    for golden, call in places:
        said = golden.answer.completion_tokens or estimate_tokens(golden.answer.text)
        cost = prices.usd(call.model, call.prompt_tokens, said)
        spend = spend.plus(Spend(call.prompt_tokens + said, cost))
    return Estimate(count(len(places), "call"), spend, ceiling=False)


async def _record(
    options: SampleOptions,
    places: Sequence[_Place],
    prices: Prices,
    costs: Costs,
    recording: _Recording,
    err: Console,
) -> None:
    side = options.side

    def give_up(call: Call, failure: Failure) -> None:
        told = advised(
            failure.reason,
            failure.detail,
            variable=side.key_variable,
            key_option="--api-key-env",
            url_option="--base-url",
            members="the goldens' requests",
        )
        raise UnusableError(f"{call.target.url} gives no answers: {told}")

    with (
        TemporaryDirectory(prefix="evenkeel-samples-") as folder,
        progress("asking", "samples", len(places), err, details=lambda: usd(costs.usd)) as made,
    ):
        database = open_database(Path(folder) / "answers", "the journal")
        agent = f"evenkeel/{VERSION}"
        replayer = Replayer(concurrency=options.concurrency, timeout_s=options.timeout_s, user_agent=agent)
        asker = Asker(replayer, Answers(database), prices, costs, patience=_PATIENCE, give_up=give_up)

        async def one(place: _Place) -> None:
            recording.take(place.golden, await asker.ask(place.call))
            made.add()

        try:
            await work_through(places, one, concurrency=options.concurrency)
        finally:
            await replayer.close()
            database.close()
