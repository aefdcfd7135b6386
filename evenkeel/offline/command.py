"""The body of `evenkeel bench`."""

from __future__ import annotations

import asyncio
import math
import os
import time
from contextlib import AsyncExitStack, ExitStack
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Final

from console.figures import number, percent, usd
from evenkeel import __version__, choices
from evenkeel.calibrate.progress import stage
from evenkeel.encoders import Encoder, make_encoder
from evenkeel.offline import prompts
from evenkeel.offline.asking import Asker
from evenkeel.offline.document import csv_lines, document, trial_lines
from evenkeel.offline.estimate import Judging, factors_of, planned
from evenkeel.offline.journal import Measured, open_journal, plan_key
from evenkeel.offline.outcome import Outcome
from evenkeel.offline.page import page
from evenkeel.offline.protocol import Course, joined, measure
from evenkeel.offline.rewriting import KEPT, OnceRewritten
from evenkeel.offline.rounds import Rounds
from evenkeel.offline.spending import BudgetUsedUpError, Ledger, RewriterPurse
from evenkeel.offline.tables import make_tables
from evenkeel.offline.terminal import show
from evenkeel.replays import prices
from evenkeel.settings import SettingsError
from metrics.judge import Judge, SqliteJudgeCache
from metrics.quality.bundles import Bundle
from metrics.scoring import TwoStageScorer, cheap_scorer, judge_scorer
from metrics.similarity import Cutoffs
from metrics.similarity.cheap import CheapRater
from metrics.tasks import Task
from shadow.languages import language_of
from shadow.replay import Replayer
from shadow.rewriter import JudgedMeaning, Rewriter, SqliteRewriteCache

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from rich.console import Console

    from evenkeel.calibrate.progress import Stage
    from evenkeel.offline.estimate import Planned
    from evenkeel.offline.items import Item
    from evenkeel.offline.options import BenchOptions
    from metrics.stores.sqlite import Database

_BATCH_SHARE: Final = 0.05
"""Of the issues that are put together while it is found out what calls cost."""
_BATCH_LEAST: Final = 2
_FEWEST_BATCHES: Final = 3
_GOOD_TO: Final = 0.1
"""Costs of the whole run are known well enough if they are to a tenth, at 95 %."""
_TWO_SIDED: Final = 1.96


class NotConfirmedError(Exception):
    """The user did not want to spend what the run would have cost."""


class StoppedError(Exception):
    """The run ended before its end. The message says why, and how to go on."""


def run_bench(
    options: BenchOptions, *, out: Console, err: Console, confirm: Callable[[str], bool]
) -> Outcome:
    """Ask, score, and write what was asked for.

    Args:
        options: What to do.
        out: Gets the tables.
        err: Gets progress.
        confirm: Asked with an estimate before the first call, and with a measured one after the first issues.

    Raises: SettingsError for files that cannot be used; NotConfirmedError; StoppedError, with every answer
        until then in the journal.
    """
    _check_files(options)
    with ExitStack() as stack:
        database = open_journal(options.journal)
        stack.callback(database.close)
        outcome = asyncio.run(_Benchmark(options, database, err, confirm).outcome())
    show(outcome, out)
    outputs = options.outputs
    if outputs.json:
        outputs.json.write_text(document(outcome), encoding="utf-8")
    if outputs.csv:
        outputs.csv.write_text("".join(csv_lines(outcome)), encoding="utf-8", newline="")
    if outputs.trials:
        outputs.trials.write_text("".join(trial_lines(outcome)), encoding="utf-8")
    if outputs.html:
        outputs.html.write_bytes(page(outcome))
    return outcome


def _check_files(options: BenchOptions) -> None:
    outputs = options.outputs
    for target in (outputs.json, outputs.csv, outputs.html, outputs.trials, options.journal):
        if target is not None and not target.absolute().parent.is_dir():
            raise SettingsError(f"{target}: there is no folder {target.parent}")
        if target is not None and target.is_dir():
            raise SettingsError(f"{target}: is a folder; name a file")


class _Benchmark:
    """One call of the command."""

    def __init__(
        self, options: BenchOptions, database: Database, err: Console, confirm: Callable[[str], bool]
    ) -> None:
        self._options = options
        self._database = database
        self._err = err
        self._confirm = confirm
        self._prices = prices(options.settings)
        self._ledger = Ledger(options.most_usd)
        self._bundles = _without_slots(choices.bundles(options.settings))
        self._thumb_usd: float | None = None
        self._measured_usd: float | None = None

    async def outcome(self) -> Outcome:
        started = time.monotonic()
        async with AsyncExitStack() as stack:
            judge = self._judge()
            if judge is not None:
                stack.push_async_callback(judge.close)
            meaning = Encoder(None, Cutoffs())
            if judge is None:
                with self._err.status("loading metrics"):
                    meaning = make_encoder(self._options.settings, self._prices)
                stack.push_async_callback(meaning.close)
            scorer = self._scorer(judge, meaning)
            replayer = Replayer(
                concurrency=self._options.concurrency,
                timeout_s=self._options.timeout_s,
                user_agent=f"evenkeel/{__version__}",
            )
            stack.push_async_callback(replayer.close)
            rewrite = self._rewriter(judge, stack)
            asker = Asker(replayer, self._database, self._prices, self._ledger)
            items = {item.id: item for item in self._options.items}
            rounds = Rounds(asker, scorer, items, self._ledger)
            course = await self._course(rounds, rewrite)
        return self._outcome(course, asker, time.monotonic() - started)

    async def _course(self, rounds: Rounds, rewrite: OnceRewritten | None) -> Course:
        """All issues: the first ones show what the others will cost."""
        options = self._options
        known = Measured(self._database)
        plan = plan_key(self._plan())
        factors = known.get(plan)
        if factors is not None:
            ahead = self._planned(options.items).scaled(factors)
            there = min(known.answers(), ahead.calls)
            self._agree(ahead, f"{ahead.said()} in all; {number(there)} answers are in the journal")
            with self._progress("issues", len(options.items)) as told:
                return await self._measure(options.items, rounds, rewrite, told)
        every = self._planned(options.items)
        self._thumb_usd = every.usd
        batches = _batches(options.items)
        thumb = f"{every.said()} by rule of thumb"
        if len(batches) > 1:
            thumb += "; the first issues show what it really is, and you are asked again before half of them"
        self._agree(self._planned(batches[0]) if len(batches) > 1 else every, thumb)
        course, done, ratios = Course(), 0, list[float]()
        half = math.ceil(math.ceil(len(options.items) / 2) / len(batches[0])) * len(batches[0])
        with self._progress("first issues", min(half, len(options.items))) as told:
            for batch in batches:
                before = self._worth()
                course = joined(course, await self._measure(batch, rounds, rewrite, told))
                done += len(batch)
                ratios.append((self._worth() - before) / (_amount(self._planned(batch)) or 1.0))
                if 2 * done >= len(options.items) or _settled(ratios, done / len(options.items)):
                    break
        first, rest = options.items[:done], options.items[done:]
        factors = factors_of(self._planned(first), self._ledger)
        known.put(plan, factors)
        if not rest:
            return course
        ahead = self._planned(rest).scaled(factors)
        self._measured_usd = self._ledger.usd + ahead.usd
        margin = _margin(ratios, done / len(options.items))
        said = f"{ahead.said()} more for the other {number(len(rest))} issues, as measured"
        self._agree(ahead, f"{said}; in all that is right to {percent(margin)}")
        with self._progress("other issues", len(rest)) as told:
            return joined(course, await self._measure(rest, rounds, rewrite, told))

    def _worth(self) -> float:
        """Spent so far, in US dollars or, if no price is known, in tokens; remembered answers count."""
        accounts = self._ledger.accounts.values()
        dollars = sum(one.usd + one.remembered_usd for one in accounts)
        return dollars or float(sum(one.tokens + one.remembered_tokens for one in accounts))

    def _progress(self, title: str, items: int) -> AbstractContextManager[Stage]:
        return stage(title, "rounds", self._options.protocol.rounds(items), self._err)

    async def _measure(
        self, items: Sequence[Item], rounds: Rounds, rewrite: OnceRewritten | None, told: Stage
    ) -> Course:
        before = self._ledger.usd

        def progress() -> None:
            nonlocal before
            now = self._ledger.usd
            told.add(now - before)
            before = now

        try:
            return await measure(self._options.protocol, items, rounds, rewrite=rewrite, progress=progress)
        except* BudgetUsedUpError as error:
            raise StoppedError(
                f"stopped at --max-usd after {usd(self._ledger.usd)} and {number(told.done)} of "
                f"{number(told.total)} rounds; give the same command with a higher limit to go on from there"
            ) from error

    def _agree(self, ahead: Planned, said: str) -> None:
        """Ask whether that may be spent."""
        most = self._options.most_usd
        if most is not None and self._ledger.usd + ahead.usd > most:
            said += f" (above --max-usd {usd(most)}: it will stop there, and can go on later)"
        if not self._confirm(said):
            raise NotConfirmedError

    def _planned(self, items: Sequence[Item]) -> Planned:
        settings = self._options.settings
        judge, rewriter = settings.judge, settings.rewriter
        judging = Judging(judge.model, judge.votes, self._bundles) if judge else None
        return planned(
            self._options.protocol, items, self._prices, judging, rewriter.model if rewriter else None
        )

    def _plan(self) -> dict[str, object]:
        """What decides the costs of an issue."""
        options = self._options
        protocol, judge, rewriter = options.protocol, options.settings.judge, options.settings.rewriter
        return {
            "models": [
                [one.name, one.model, one.target.url, dict(one.parameters)] for one in protocol.models
            ],
            "tasks": list(protocol.tasks),
            "kinds": [[kind.name, kind.version] for kind in protocol.kinds],
            "runs": protocol.runs,
            "severity": protocol.severity,
            "seed": protocol.seed,
            "items": [item.id for item in options.items],
            "judge": [judge.base_url, judge.model, judge.votes] if judge else None,
            "rewriter": [rewriter.base_url, rewriter.model] if rewriter else None,
            "prompts": prompts.VERSION,
            "prices": sorted(options.settings.prices),
        }

    def _judge(self) -> Judge | None:
        chosen = self._options.settings.judge
        if chosen is None:
            return None
        return Judge(
            base_url=chosen.base_url,
            model=chosen.model,
            api_key=_key(chosen.api_key_env),
            timeout_s=chosen.timeout_s,
            concurrency=chosen.concurrency,
            price=self._prices.usd,
            cache=SqliteJudgeCache(self._database, kept=KEPT),
            reply_tokens=chosen.reply_tokens,
            repairs=1,
        )

    def _scorer(self, judge: Judge | None, meaning: Encoder) -> TwoStageScorer:
        """The judge rates every pair that is not equal; without one, cheap metrics do."""
        settings = self._options.settings
        bundles = self._bundles
        if judge is None:
            rater = CheapRater(meaning.embeddings, meaning.cutoffs, language_of=language_of)
            return cheap_scorer(rater, bundles=bundles)
        assert settings.judge is not None
        return judge_scorer(
            judge, votes=settings.judge.votes, swap_share=settings.judge.swap_share, bundles=bundles
        )

    def _rewriter(self, judge: Judge | None, stack: AsyncExitStack) -> OnceRewritten | None:
        wanted = self._options.settings.rewriter
        if wanted is None:
            return None
        purse = RewriterPurse(self._ledger)
        meaning = JudgedMeaning(judge, purse) if judge and wanted.check_meaning is not False else None
        rewriter = Rewriter.connect(
            base_url=wanted.base_url,
            model=wanted.model,
            stronger_model=wanted.stronger_model,
            api_key=_key(wanted.api_key_env),
            timeout_s=wanted.timeout_s,
            concurrency=wanted.concurrency,
            headroom_tokens=wanted.headroom_tokens,
            price=self._prices.usd,
            cache=SqliteRewriteCache(self._database, kept=KEPT),
            equal_meaning=meaning,
        )
        stack.push_async_callback(rewriter.close)
        name = f"{wanted.model}\n{wanted.stronger_model or ''}"
        return OnceRewritten(rewriter, self._database, self._ledger, purse, name=name)

    def _outcome(self, course: Course, asker: Asker, took_s: float) -> Outcome:
        options = self._options
        protocol, judge, rewriter = options.protocol, options.settings.judge, options.settings.rewriter
        names = [one.name for one in protocol.models]
        return Outcome(
            tables=make_tables(names, course.trials, course.entities),
            trials=tuple(course.trials),
            items=len(options.items),
            source=options.source,
            tasks=tuple(task.value for task in protocol.tasks),
            runs=protocol.runs,
            severity=protocol.severity,
            seed=protocol.seed,
            scored_by=f"the judge {judge.model}" if judge else "metrics, without a judge",
            rewritten_by=rewriter.model if rewriter else "",
            ledger=self._ledger,
            thumb_usd=self._thumb_usd,
            measured_usd=self._measured_usd,
            notes=tuple(_notes(options.not_measured, course)),
            unusable={name: failure.detail for name, failure in asker.unusable.items()},
            duration_s=took_s,
        )


def _key(variable: str) -> str:
    return os.environ.get(variable) or ""


def _batches(items: Sequence[Item]) -> list[Sequence[Item]]:
    size = max(_BATCH_LEAST, math.ceil(_BATCH_SHARE * len(items)))
    return [items[start : start + size] for start in range(0, len(items), size)]


def _amount(planned: Planned) -> float:
    return planned.usd or float(planned.tokens)


def _settled(ratios: Sequence[float], done: float) -> bool:
    """Whether the costs of the batches so far, held against the rule of thumb, tell those of the whole run.

    Args:
        ratios: Of each batch.
        done: Share of the issues in them.
    """
    return len(ratios) >= _FEWEST_BATCHES and _margin(ratios, done) <= _GOOD_TO


def _margin(ratios: Sequence[float], done: float) -> float:
    """How far off an estimate of the whole run may be, as a share of it, at 95 %."""
    if len(ratios) == 1:
        return 1 - done
    return _TWO_SIDED * stdev(ratios) / math.sqrt(len(ratios)) * (1 - done) / fmean(ratios)


def _without_slots(bundles: Mapping[Task, Bundle]) -> dict[Task, Bundle]:
    """Slots are measured against the entities that are known to be right, not against another answer."""
    changed = Bundle(bundles[Task.SLOT_FILLING].similarity)
    return {**bundles, Task.SLOT_FILLING: changed}


def _notes(not_measured: Mapping[str, int], course: Course) -> list[str]:
    notes = [
        f"{number(count)} kinds were not measured: they need a {name} (--{name}-model)."
        for name, count in not_measured.items()
    ]
    if course.troubles:
        notes.append(
            f"{number(course.troubles)} variants are missing because the rewriter failed or wrote nothing "
            "usable."
        )
    idle: dict[str, int] = {}
    for (task, kind, reason), count in sorted(course.left_out.items()):
        if not reason.startswith("rewriter_"):
            idle[f"{kind} on {task} ({reason})"] = count
    if idle:
        shown = ", ".join(list(idle)[:8])
        more = f" and {number(len(idle) - 8)} more" if len(idle) > 8 else ""  # noqa: PLR2004 - a line's worth
        notes.append(f"Not applicable: {shown}{more}.")
    return notes
