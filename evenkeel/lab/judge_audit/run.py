"""An audit: files in, calls out, an outcome."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from evenkeel.core.budget import Spend
from evenkeel.core.figures import number, usd
from evenkeel.core.verdict import Failure
from evenkeel.lab.asking import ask_questions
from evenkeel.lab.judge_audit.judgements import Strategy, read_recorded, recorded_lines
from evenkeel.lab.judge_audit.measures import RESAMPLES, audit, polarity, vader
from evenkeel.lab.judge_audit.questions import Design, RatingPlan, choose, rubrics
from evenkeel.lab.judge_audit.ratings import read_ratings
from evenkeel.lab.rows import suggestion
from evenkeel.release.kit.arguments import InputError, write_lines
from evenkeel.release.kit.asking import AGAIN, HOPELESS, UnusableError, advised
from evenkeel.release.kit.cost import Account, CostEstimate
from evenkeel.release.kit.journal import opened_journal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rich.console import Console

    from evenkeel.lab.asking import ModelAddress
    from evenkeel.lab.judge_audit.judgements import Judgements, RatingSlot
    from evenkeel.lab.judge_audit.measures import AuditReport
    from evenkeel.lab.judge_audit.questions import PlannedQuestion
    from evenkeel.lab.judge_audit.ratings import RatingScale
    from evenkeel.metrics.judge import Judge, Reply
    from evenkeel.release.kit.terminal import Confirm


PEOPLE: Final = "people"
"""Named in place of the judge where there is none."""


@dataclass(frozen=True, slots=True)
class AuditOutcome:
    """Everything that is shown."""

    judge: str
    sources: tuple[str, ...]
    """Names of the files."""
    ratings: AuditReport
    notes: tuple[str, ...] = ()
    """Sentences on what was left out, and why."""
    spent: Account | None = None
    """None if no judge was asked."""


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """Options of an audit."""

    file: Path
    judge: ModelAddress | None = None
    recorded: Path | None = None
    design: Design = field(default_factory=Design)
    rubric: Path | None = None
    scales: Mapping[str, RatingScale] | None = None
    rater_columns: tuple[str, ...] = ()
    cluster: str = ""
    """Column whose groups intervals are drawn over; "" = over items."""
    max_items: int | None = None
    seed: int = 0
    resamples: int = RESAMPLES
    journal: Path | None = None
    """File of the judge's ratings, from which a stopped run goes on."""
    record: Path | None = None


# Words for advice about the judge's endpoint.
_OPTIONS: Final = {"key_option": "--judge-key-env", "url_option": "--judge-url", "members": "such requests"}


def run_judge_audit(options: AuditOptions, *, err: Console, confirm: Confirm) -> AuditOutcome:
    """Read, ask if need be, and measure.

    Args:
        options: what to do.
        err: gets progress.
        confirm: asked once before the first call, with an estimate of the cost.

    Raises: InputError for files and options that cannot be used; NotConfirmedError;
        StoppedError, with what was answered until then in the journal.
    """
    if options.record and not (options.judge or options.recorded):
        raise InputError("--record writes a judge's ratings; name the judge with --judge-model")
    if options.judge and options.recorded:
        raise InputError(
            "either a judge is asked (--judge-model) or its ratings are read (--recorded), not both"
        )
    path = options.file
    spent: Account | None = None
    ratings = read_ratings(
        path, scales=options.scales, rater_columns=options.rater_columns, cluster=options.cluster
    )
    notes = []
    if ratings.unused:
        notes.append(f"{path.name}: columns not used: {', '.join(ratings.unused)}.")
    if options.cluster:
        notes.append(f'Intervals are drawn over the groups of "{options.cluster}", not over items.')
    sources = [path.name]
    judgements: Judgements | None = None
    items = ratings.items
    if options.recorded:
        judgements = read_recorded(options.recorded, ratings)
        sources.append(options.recorded.name)
    elif options.judge:
        chosen = choose(ratings, options.design, max_items=options.max_items, seed=options.seed)
        defined = rubrics(options.rubric)
        for metric in dict.fromkeys(item.metric for item in chosen.items):
            if metric not in defined:
                raise InputError(
                    f'metric "{metric}" has no definition{suggestion(metric, defined)}; '
                    "give one in a file with --rubric"
                )
        items, notes = chosen.items, [*notes, *chosen.notes]
        asked = RatingPlan(items, options.design, defined, chosen.examples)
        spent = Account()
        judgements = dict(asked.judgements(_replies(options, options.judge, asked, spent, err, confirm)))
    analysers = (vader(), polarity()) if judgements else ()
    judge = options.judge.model if options.judge else sources[-1] if options.recorded else PEOPLE
    if options.record and judgements:
        write_lines(options.record, recorded_lines(judgements))
    with err.status("measuring"):
        report = audit(
            judge, items, judgements, seed=options.seed, times=options.resamples, analysers=analysers
        )
    return AuditOutcome(judge, tuple(sources), ratings=report, notes=tuple(notes), spent=spent)


# Usual lengths of a reply, with and without the reasons that `step_by_step` asks for first.
_COMPLETION_TOKENS: Final = 120
_STEPWISE_TOKENS: Final = 350
# A rule of thumb for English, only used for the estimate before the first call.
_CHARS_PER_TOKEN: Final = 4
_NOT_KEPT: Final = "with --journal FILE, a stopped run can go on from there"


def _replies(
    options: AuditOptions, address: ModelAddress, plan: RatingPlan, account: Account, err: Console,
    confirm: Confirm,
) -> dict[RatingSlot, Reply]:  # fmt: skip
    """Put the plan to the judge, after one question to the user, and add up what it took.

    Raises: StoppedError if the judge cannot be used; NotConfirmedError.
    """
    replies: dict[RatingSlot, Reply] = {}
    with ExitStack() as stack:
        journal = None
        if options.journal is not None:
            journal = stack.enter_context(opened_journal(options.journal, "--journal"))
        judge = address.judge(journal)
        ahead = asyncio.run(_estimate(address, judge, plan))
        if ahead is not None:
            confirm(ahead)

        async def ask(planned: PlannedQuestion) -> None:
            reply = await judge.ask(planned.question, vote=planned.vote)
            fault = reply.outcome
            if isinstance(fault, Failure) and fault.reason in HOPELESS:
                raise UnusableError(
                    advised(fault.reason, fault.detail, **_OPTIONS, variable=address.key_variable)
                )
            account.failed += isinstance(fault, Failure)
            if reply.cached:
                account.remembered += 1
            else:
                account.calls += 1
                account.book(reply.spent)
            replies[planned.slot] = reply

        def details() -> str:
            return f"{usd(account.usd)}, {number(account.failed)} failed"

        again = AGAIN if journal else _NOT_KEPT
        ask_questions(
            judge, plan, ask, concurrency=address.concurrency, err=err, details=details, again=again
        )
    return replies


async def _estimate(address: ModelAddress, judge: Judge, plan: RatingPlan) -> CostEstimate | None:
    """Guess calls, tokens and cost from the lengths of the questions; None if all were answered before."""
    calls = prompt = completion = 0
    for planned in plan:
        if not await judge.remembers(planned.question, vote=planned.vote):
            calls += 1
            prompt += planned.question.chars // _CHARS_PER_TOKEN
            stepwise = planned.slot.strategy == Strategy.STEP_BY_STEP
            completion += _STEPWISE_TOKENS if stepwise else _COMPLETION_TOKENS
    if not calls:
        return None
    spend = Spend(prompt + completion, address.prices.usd(address.model, prompt, completion))
    asked, unpriced = f"{number(calls)} calls to {address.model}", address.prices.unknown(address.model)
    return CostEstimate(asked, spend, len(plan) - calls, ceiling=False, unpriced=unpriced)
