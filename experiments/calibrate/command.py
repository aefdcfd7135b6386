"""The body of `evenkeel calibrate`: goldens → candidates → scores → calibration → files."""

from __future__ import annotations

import random
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.core.languages import language_of
from evenkeel.core.verdict import Failure
from evenkeel.experiments.calibrate.asking import Asking
from evenkeel.experiments.calibrate.bands import rated_by_people, rated_candidates, rated_in_log, set_bands
from evenkeel.experiments.calibrate.calibrate import calibrate
from evenkeel.experiments.calibrate.candidates import keys, source_of, versions
from evenkeel.experiments.calibrate.chosen_goldens import Chosen, UnfitGoldensError, choose
from evenkeel.experiments.calibrate.degrade import SEVERITIES
from evenkeel.experiments.calibrate.journal import Journal, Run
from evenkeel.experiments.calibrate.judged import AskedSimilarity, AskedWorkflow
from evenkeel.experiments.calibrate.options import JOURNAL
from evenkeel.experiments.calibrate.rewriting import Rewriting
from evenkeel.experiments.calibrate.score_table import score_table
from evenkeel.experiments.calibrate.scores import Field, Scores, gather
from evenkeel.experiments.calibrate.scoring import Scoring
from evenkeel.experiments.calibrate.written import Written, write
from evenkeel.experiments.goldens.asked import asked
from evenkeel.experiments.goldens.files import load_goldens
from evenkeel.metrics.registry import metric
from evenkeel.metrics.similarity.cheap import CheapRater
from evenkeel.metrics.similarity.embeddings import MINILM
from evenkeel.runtime.stores import opened

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from datetime import date

    from rich.console import Console

    from evenkeel.experiments.calibrate.calibration import Calibration
    from evenkeel.experiments.calibrate.columns import Column
    from evenkeel.experiments.calibrate.judge_bands import JudgeBands
    from evenkeel.experiments.calibrate.options import CalibrateOptions
    from evenkeel.metrics.similarity.embeddings import Embeddings
    from evenkeel.runtime.stores import Stores
    from evenkeel.stores.goldens import Golden

_JUDGE_NAMES = (AskedSimilarity.name, AskedWorkflow.name)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A calibration, what it rests on, and where it is."""

    calibration: Calibration
    scores: Scores
    chosen: Chosen
    bands: JudgeBands | Failure | None
    """None if nobody asked for them."""
    written: Written
    remembered: int
    """Scores that an earlier run had made."""
    cost_usd: float


def run_calibrate(
    options: CalibrateOptions, *, err: Console, confirm: Callable[[str], bool], today: date
) -> Outcome:
    """Read, score, calibrate and write.

    Args:
        options: what to do.
        err: gets progress.
        confirm: asked once before the first call of a judge, with an estimate of the cost.
        today: written into the calibration.

    Raises: GoldenError, UnfitGoldensError, JournalError, EmbeddingsUnavailableError, UnknownMetricError,
        SettingsError, StoreError and OSError for what cannot be used; NotConfirmedError; ModelFailedError,
        with what was scored until then in the journal.
    """
    for name in options.metrics:
        if name not in _JUDGE_NAMES:
            metric(name)
    chosen = choose(_goldens(options), options.form)
    sources = [source_of(golden, asked(golden.request)) for golden in chosen.goldens]
    options.out.mkdir(parents=True, exist_ok=True)
    rewriter = options.rewriter
    run = Run(
        chosen.digest, chosen.form, options.seed, SEVERITIES, versions(chosen.form),
        rewriter.name if rewriter else None,
    )  # fmt: skip
    with ExitStack() as stack:
        journal = stack.enter_context(Journal(options.journal or options.out / JOURNAL, run))
        spent = 0.0
        if rewriter is not None:
            rewriting = Rewriting(
                rewriter, chosen.form, sources, journal, seed=options.seed, most_usd=options.max_usd
            )
            rewriting.run(confirm, err)
            spent += rewriting.cost_usd
        scoring = Scoring(options, chosen.form, sources, journal, err)
        columns = scoring.run(stack)
        fields = [_field(column) for column in columns]
        asking = None
        if options.judge is not None:
            asking = Asking(
                options.judge, chosen.form, sources, journal,
                seed=options.seed, most_goldens=options.judge_goldens,
                most_usd=None if options.max_usd is None else options.max_usd - spent,
            )  # fmt: skip
            fields.append(asking.run(confirm, err))
            spent += asking.cost_usd
        bands = _bands(options, asking, scoring.embeddings)
    wanted = {key for source in sources for key in keys(source.id, chosen.form)}
    scores = gather([row for key, row in sorted(journal.rows.items()) if key in wanted], fields)
    if not scores.rows:
        reasons = ", ".join(sorted(scores.undegradable))
        raise UnfitGoldensError(f"no candidate could be made ({reasons}); approve longer answers")
    if not scores.metrics:
        raise UnfitGoldensError("no metric tells the degraded answers apart; take other --metrics")
    in_use = {facts.name for facts in scores.metrics}
    encoders = [column.encoder for column in columns if column.encoder and column.metric.name in in_use]
    with err.status("calibrating"):
        table = score_table(scores.rows, scores.metrics)
        calibration = calibrate(
            table,
            source=_source(options),
            calibrated_on=today,
            encoder=encoders[0] if encoders else None,
            seed=options.seed,
            rng=random.Random(options.seed),
            form=chosen.form,
            placement=options.placement,
            bands=None if bands is None or isinstance(bands, Failure) else bands.bands,
            resamples=options.resamples,
        )
        written = write(calibration, scores, table, options.out)
    return Outcome(calibration, scores, chosen, bands, written, journal.remembered, spent)


def _goldens(options: CalibrateOptions) -> tuple[Golden, ...]:
    if options.file is not None:
        return load_goldens(options.file)
    with _stores(options) as stores:
        return stores.goldens.select(route=options.route)


def _stores(options: CalibrateOptions) -> AbstractContextManager[Stores]:
    """The store, which must be there: calibrating creates none."""
    assert options.stores is not None  # the command line sees to it
    return opened(options.stores)


def _source(options: CalibrateOptions) -> str:
    if options.source:
        return options.source
    if options.file is not None:
        return options.file.name
    return f"approved exchanges of route {options.route}" if options.route else "approved exchanges"


def _field(column: Column) -> Field:
    return Field(column.key, column.metric.name, column.metric.version, column.family)


def _bands(
    options: CalibrateOptions, asking: Asking | None, embeddings: Embeddings | None
) -> JudgeBands | Failure | None:
    """The cascade's bands, if anything was asked from which they follow."""
    rater = CheapRater(embeddings, language_of=language_of)
    encoder = embeddings.encoder if embeddings else MINILM
    if options.bands_from_store:
        with _stores(options) as stores:
            people = rated_by_people(stores.labels.select())
            pairs = rated_in_log(stores.verdicts, rater, people)
            source = f"{len(pairs)} trials that the judge of {stores.place} decided"
            source += f", {len(people)} ratings of people over its own" if people else ""
        return set_bands(pairs, source, encoder=encoder)
    if asking is None or options.judge is None:
        return None
    pairs = rated_candidates(asking.rated, rater)
    source = f"{len(pairs)} degraded goldens of {_source(options)}, rated by {options.judge.model}"
    return set_bands(pairs, source, encoder=encoder)
