"""The body of `evenkeel gate`."""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from console.figures import number, usd
from evenkeel import __version__
from evenkeel.calibrate.encoded import bert_score_column, encoder
from evenkeel.encoders import Encoder, make_encoder
from evenkeel.gate import goldens as golden_source
from evenkeel.gate.asking import Asker, Ledger
from evenkeel.gate.cache import AnswerCache, request_key
from evenkeel.gate.document import document
from evenkeel.gate.junit import junit
from evenkeel.gate.markdown import markdown
from evenkeel.gate.outcome import Outcome
from evenkeel.gate.progress import progress
from evenkeel.gate.run import Run, shuffled
from evenkeel.gate.scoring import Calibrated, Scoring, roles
from evenkeel.gate.sides import Side, Task, tasks, view_of
from evenkeel.gate.table import show
from evenkeel.replays import prices
from evenkeel.scorers import make_judge, make_scorer
from evenkeel.settings import Credential, SettingsError
from metrics.calibration import CalibrationError
from metrics.calibration.columns import PairScorer, cheap_columns
from metrics.gate import Gate, least_goldens
from metrics.similarity import Cutoffs, EmbeddingsUnavailableError
from metrics.similarity.embeddings import MINILM
from metrics.stores.counters import Tally
from metrics.stores.sqlite import Database, StoreError
from metrics.tasks import Turn, recognise
from metrics.verdict import Failure
from proxy.endpoint import Upstream
from shadow.languages import language_of
from shadow.replay import Replayer
from shadow.spend import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.console import Console

    from evenkeel.gate.goldens import Source
    from evenkeel.gate.options import GateOptions
    from evenkeel.gate.run import Course
    from evenkeel.gate.sides import SideName, Unasked
    from metrics.calibration import Calibration
    from metrics.calibration.columns import Column
    from metrics.goldens import Golden
    from metrics.judge import Judge
    from metrics.scoring import TwoStageScorer


class NotConfirmedError(Exception):
    """The user did not want to spend what the run would have cost."""


def run_gate(options: GateOptions, *, out: Console, err: Console, confirm: Callable[[str], bool]) -> Outcome:
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
            raise SettingsError(f"{path}: cannot be used as a cache of answers; name another file") from error
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
        confirm: Callable[[str], bool],
        stack: ExitStack,
    ) -> None:
        self._options = options
        self._database = database
        self._err = err
        self._confirm = confirm
        self._stack = stack
        self._prices = prices(options.settings)
        self._cache = AnswerCache(database)
        self._ledger = Ledger()

    def outcome(self) -> Outcome:
        options = self._options
        source = golden_source.load(options.files, options.settings.data_dir, options.route)
        sides = self._sides()
        ordered = shuffled(tasks(source.goldens, sides), options.seed)
        asked = [task for task in ordered if isinstance(task, Task)]
        _check_different(asked, sides)
        return asyncio.run(self._run(source, sides, ordered, asked))

    async def _run(
        self,
        source: Source,
        sides: Sequence[Side],
        ordered: Sequence[Task | Unasked],
        asked: Sequence[Task],
    ) -> Outcome:
        options = self._options
        judge = self._judge() if options.rated else None
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
            self._announce(asked, scoring.rating if judge else None)
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
            candidate=_said(sides[0]),
            reference=_said(sides[1]) if len(sides) > 1 else "",
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

    def _sides(self) -> tuple[Side, ...]:
        options = self._options
        routes: Mapping[str, Upstream] = {}
        if options.has_routes:
            routes = {route.name: Upstream.parse(route.upstream) for route in options.settings.routes}
        chosen, beside = options.candidate, options.reference
        candidate = _side("candidate", chosen.url, None, routes, options)
        sides = [candidate]
        if beside is not None:
            sides.append(_side("reference", beside.url, chosen.url, routes, options))
        return tuple(sides)

    def _judge(self) -> Judge | None:
        return make_judge(self._options.settings, self._database, self._prices)[0]

    def _scoring(self, judge: Judge | None, meaning: Encoder) -> Scoring:
        options = self._options
        rating = make_scorer(options.settings, judge, meaning, Tally()) if options.rated else None
        return Scoring(rating, self._calibrated())

    def _calibrated(self) -> Calibrated | None:
        calibration = self._options.calibration
        if calibration is None:
            return None
        columns = cheap_columns()
        if calibration.encoder is not None:
            model = None if calibration.encoder == MINILM else calibration.encoder
            try:
                encoded = self._stack.enter_context(encoder(model, None, language_of))
            except EmbeddingsUnavailableError as error:
                raise SettingsError(
                    f"--calibration: needs the encoder {calibration.encoder}: {error}"
                ) from error
            columns = (*columns, *encoded.columns, *self._bert_score(calibration, model))
        scorer = PairScorer(columns)
        try:
            calibration.check(scorer.versions, calibration.encoder)
        except CalibrationError as error:
            raise SettingsError(f"--calibration: {error}") from error
        return Calibrated(calibration, scorer)

    def _bert_score(self, calibration: Calibration, model: str | None) -> tuple[Column, ...]:
        """BERTScore, which loads a model of its own, if a mode is watched by it."""
        if calibration.form is None or not roles(calibration) & {"bert_score", "workflow_bert_score"}:
            return ()
        return (bert_score_column(calibration.form, model, language_of),)

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

    def _announce(self, asked: Sequence[Task], judging: TwoStageScorer | None) -> None:
        """Say what the run may cost at most, and ask whether it may."""
        calls = remembered = tokens = 0
        cost = 0.0
        for task in asked:
            answer = task.golden.answer
            said = answer.completion_tokens or estimate_tokens(answer.text)
            for side, request in task.requests.items():
                for repeat in range(self._options.repeats):
                    if self._cache.get(request_key(side, request, repeat)) is not None:
                        remembered += 1
                    else:
                        calls += 1
                        tokens += request.prompt_tokens + said
                        cost += self._prices.usd(request.model, request.prompt_tokens, said)
                    if judging is not None:
                        expense = judging.estimate(
                            2 * len(answer.text), len(task.context), self._task_of(task.golden)
                        )
                        tokens += expense.tokens
                        cost += expense.usd
        if not calls and judging is None:
            return
        price = f"{usd(cost)} at most" if cost else "no public price known"
        judged = " and the judge's" if judging is not None else ""
        said_ = (
            f"{number(calls)} calls at most ({number(remembered)} remembered){judged}, "
            f"about {number(tokens)} tokens, {price}"
        )
        if not self._confirm(said_):
            raise NotConfirmedError

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


def _side(
    name: SideName,
    url: str | None,
    otherwise: str | None,
    routes: Mapping[str, Upstream],
    options: GateOptions,
) -> Side:
    """A side of the comparison.

    Args:
        name: Which.
        url: Its own endpoint, which all its goldens are put to; None = the routes' upstreams.
        otherwise: Endpoint for goldens whose route has no upstream.
        routes: Upstreams by route.
        options: Of the run.

    Raises: SettingsError for a URL that is none.
    """
    chosen = options.candidate if name == "candidate" else options.reference
    assert chosen is not None
    try:
        own = Upstream.parse(url) if url else None
        spare = Upstream.parse(otherwise) if otherwise else None
    except ValueError as error:
        raise SettingsError(str(error)) from error
    return Side(
        name=name,
        upstreams={} if own else routes,
        upstream=own or spare,
        credential=Credential.read(chosen.key_env, options.key_header),
        model=chosen.model,
        edit=options.candidate.edit if name == "candidate" else None,
    )


def _check_different(asked: Sequence[Task], sides: Sequence[Side]) -> None:
    """Refuse to compare something with itself: it would pass and say nothing.

    Raises: SettingsError.
    """
    if len(sides) == 1 or not asked:
        return
    alike = all(
        task.requests["candidate"].body == task.requests["reference"].body
        and task.requests["candidate"].target == task.requests["reference"].target
        for task in asked
    )
    if alike:
        raise SettingsError(
            "candidate and reference are the same: name what is new with --model, --base-url, --prompt or "
            "--template and --new-template, or what it is compared with by --reference-url or "
            "--reference-model"
        )


def _said(side: Side) -> str:
    """What a side is, in a line without credentials."""
    where = str(side.upstream) if side.upstream else f"upstreams of {len(side.upstreams)} route(s)"
    what = side.model or "the goldens' model"
    edit = f", {side.edit.said}" if side.edit else ""
    return f"{what} at {where}{edit}"
