"""The body of `evenkeel gate`."""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from evenkeel import __version__
from evenkeel.core.figures import number
from evenkeel.core.verdict import Failure
from evenkeel.experiments.gate.asking import Asker, Ledger
from evenkeel.experiments.gate.chosen_goldens import load
from evenkeel.experiments.gate.estimate import Judging, estimate
from evenkeel.experiments.gate.progress import progress
from evenkeel.experiments.gate.reports import document, junit, markdown, show
from evenkeel.experiments.gate.run import Outcome, Run, shuffled
from evenkeel.experiments.gate.scoring import Scoring
from evenkeel.experiments.gate.sides import Task, check_different, described, sides_of, tasks, view_of
from evenkeel.experiments.gate.thresholds import calibrated, needs_judge
from evenkeel.experiments.kit.journal import Answers
from evenkeel.metrics.heuristic import Cutoffs
from evenkeel.metrics.judge import SqliteJudgeCache
from evenkeel.metrics.tasks import Turn, recognise
from evenkeel.monitor.detect.gate import Gate, least_goldens
from evenkeel.runtime.instruments import Encoder, make_encoder, make_judge, make_scorer
from evenkeel.runtime.replays import prices
from evenkeel.settings import SettingsError
from evenkeel.shadow.replay import Replayer
from evenkeel.stores.counters import Tally
from evenkeel.stores.errors import StoreError
from evenkeel.stores.sqlite.database import Database

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from evenkeel.experiments.gate.chosen_goldens import Source
    from evenkeel.experiments.gate.run import Course
    from evenkeel.experiments.gate.run_options import GateOptions
    from evenkeel.experiments.gate.sides import Side, Unasked
    from evenkeel.experiments.kit.confirmation import Confirm
    from evenkeel.metrics.judge import Judge
    from evenkeel.stores.goldens import Golden


def run_gate(options: GateOptions, *, out: Console, err: Console, confirm: Confirm) -> Outcome:
    """Ask, score, decide, and write what was asked for.

    Args:
        options: What to do.
        out: Gets the verdict.
        err: Gets progress.
        confirm: Asked once before the first call, with an estimate of the cost.

    Raises: SettingsError for options and files that cannot be used; NotConfirmedError.
    """
    _check_files(options)
    with ExitStack() as stack:
        if options.cache is None:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="evenkeel-gate-")))
            path = folder / "answers"
        else:
            path = options.cache
        try:
            database = Database(path)
        except StoreError as error:
            raise SettingsError(
                f"{path}: cannot be used as a cache of answers ({error}); name another file"
            ) from error
        stack.callback(database.close)
        outcome = _Gating(options, database, err, confirm, stack).outcome()
    show(outcome, out)
    for target, written in (
        (options.outputs.markdown, markdown),
        (options.outputs.junit, junit),
        (options.outputs.json, document),
    ):
        if target is not None:
            target.write_text(written(outcome), encoding="utf-8", errors="replace")
    return outcome


def _check_files(options: GateOptions) -> None:
    outputs = options.outputs
    for target in (outputs.markdown, outputs.junit, outputs.json, options.cache):
        if target is not None and not target.absolute().parent.is_dir():
            raise SettingsError(f"{target}: there is no folder {target.parent}")
        if target is not None and target.is_dir():
            raise SettingsError(f"{target}: is a folder; name a file")


class _Gating:
    """One call of the command."""

    def __init__(
        self,
        options: GateOptions,
        database: Database,
        err: Console,
        confirm: Confirm,
        stack: ExitStack,
    ) -> None:
        self._options = options
        self._database = database
        self._err = err
        self._confirm = confirm
        self._stack = stack
        self._prices = prices(options.settings)
        self._cache = Answers(database)
        self._ledger = Ledger()

    def outcome(self) -> Outcome:
        options = self._options
        source = load(options.files, options.settings, options.route)
        sides = sides_of(options)
        ordered = shuffled(tasks(source.goldens, sides), options.seed)
        asked = [task for task in ordered if isinstance(task, Task)]
        check_different(asked, sides)
        return asyncio.run(self._run(source, sides, ordered, asked))

    async def _run(
        self,
        source: Source,
        sides: Sequence[Side],
        ordered: Sequence[Task | Unasked],
        asked: Sequence[Task],
    ) -> Outcome:
        options = self._options
        judge = None
        if options.rated or needs_judge(options.calibration):
            judge = make_judge(options.settings, SqliteJudgeCache(self._database), self._prices)[0]
        meaning = Encoder(None, Cutoffs())
        try:
            with self._err.status("loading metrics"):
                if options.rated:
                    meaning = make_encoder(options.settings, self._prices)
                scoring = self._scoring(judge, meaning)
            try:
                measures = scoring.measures(options.deciding)
                gate = Gate(
                    options.rules,
                    measures,
                    goldens=len(ordered),
                    with_reference=options.reference is not None,
                )
            except ValueError as error:
                raise SettingsError(f"--gate-on: {error}") from error
            by_judge = scoring.calibrated.asked if scoring.calibrated else ()
            judging = Judging(scoring.rating if judge else None, by_judge)
            ahead = estimate(asked, options.repeats, self._cache, self._prices, judging, self._task_of)
            if not ahead.free:
                self._confirm(ahead)
            started = time.monotonic()
            course = await self._course(gate, scoring, ordered)
            took = time.monotonic() - started
        finally:
            if judge is not None:
                await judge.close()
            await meaning.close()
        return Outcome(
            report=gate.report(course.cut_short),
            source=source.name,
            candidate=described(sides[0]),
            reference=described(sides[1]) if len(sides) > 1 else "",
            scored_by=scoring.said,
            planned_calls=len(asked) * len(sides) * options.repeats,
            ledger=self._ledger,
            fallen=tuple(sorted(course.fallen, key=lambda one: one.weight, reverse=True)),
            failures=course.failures,
            notes=tuple(self._notes(len(ordered))),
            seed=options.seed,
            repeats=options.repeats,
            duration_s=took,
        )

    async def _course(self, gate: Gate, scoring: Scoring, ordered: Sequence[Task | Unasked]) -> Course:
        options = self._options
        replayer = Replayer(
            concurrency=options.concurrency,
            timeout_s=options.timeout_s,
            user_agent=f"evenkeel/{__version__}",
        )
        asker = Asker(replayer, self._cache, self._prices, ledger=self._ledger, most_usd=options.most_usd)
        try:
            with progress(gate, len(ordered), self._ledger, self._err) as shown:
                run = Run(
                    gate,
                    asker,
                    scoring,
                    ledger=self._ledger,
                    repeats=options.repeats,
                    concurrency=options.concurrency,
                    task_of=self._task_of,
                    progress=shown,
                )
                return await run.run(ordered)
        finally:
            await replayer.close()

    def _scoring(self, judge: Judge | None, meaning: Encoder) -> Scoring:
        options = self._options
        rating = make_scorer(options.settings, judge, meaning, Tally()) if options.rated else None
        wanted = options.calibration
        return Scoring(rating, None if wanted is None else calibrated(wanted, self._stack, judge))

    def _task_of(self, golden: Golden) -> str | None:
        """As the golden says, else the route, else the options, else as the prompt plainly shows."""
        by_route = {route.name: route.task for route in self._options.settings.routes}
        said = golden.task or by_route.get(golden.route) or self._options.task
        if said is not None:
            return said
        view = view_of(golden)
        if isinstance(view, Failure):
            return None
        return recognise(Turn(message.role, message.text) for message in view.messages)

    def _notes(self, goldens: int) -> list[str]:
        options = self._options
        notes = []
        least = least_goldens(options.rules)
        if goldens < least:
            notes.append(
                f"{number(goldens)} goldens cannot settle a pass: it takes {number(least)} even if no answer "
                "differs."
            )
        if options.reference is None:
            notes.append(
                "No reference was asked, so the noise floor could not be taken off: what an unchanged model "
                "answers differently by chance counts against the candidate."
            )
        return notes
