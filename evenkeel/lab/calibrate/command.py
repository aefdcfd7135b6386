"""`evenkeel calibrate`: goldens → candidates → scores → calibration → files."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenkeel.lab.calibrate.calibrate import calibrate
from evenkeel.lab.calibrate.calibration import BertModel, FailureMode, Placement, calibration_to_yaml
from evenkeel.lab.calibrate.candidates import UnfitGoldensError, WorkflowGoldens, choose, make_candidates
from evenkeel.lab.calibrate.degrade import Damage
from evenkeel.lab.calibrate.judge import judge_candidates
from evenkeel.lab.calibrate.published import LEAST_STEPS as PUBLISHED_STEPS
from evenkeel.lab.calibrate.published import MODES as PUBLISHED_MODES
from evenkeel.lab.calibrate.published import sections
from evenkeel.lab.calibrate.report import document
from evenkeel.lab.calibrate.resampling import multiplicities
from evenkeel.lab.calibrate.score_table import score_table, table_lines
from evenkeel.lab.calibrate.scoring import ScoringOptions, gather, score_candidates
from evenkeel.lab.calibrate.sensitivity import trajectories
from evenkeel.lab.metrics.workflow_judge import WorkflowJudge
from evenkeel.metrics.registry import metric
from evenkeel.release.gate.clusters import clusters
from evenkeel.release.kit.arguments import write_file, write_lines
from evenkeel.release.kit.cost import Costs
from evenkeel.release.kit.journal import opened_journal
from evenkeel.release.kit.renderings import html

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date
    from pathlib import Path

    from rich.console import Console

    from evenkeel.lab.asking import ModelAddress
    from evenkeel.lab.calibrate.calibration import Calibration
    from evenkeel.lab.calibrate.score_table import ScoreTable
    from evenkeel.lab.calibrate.scoring import GatheredScores
    from evenkeel.release.kit.document import Document
    from evenkeel.release.kit.terminal import Confirm
    from evenkeel.stores.goldens import Golden


JOURNAL = "calibration-journal"
CALIBRATION = "calibration.yaml"
REPORT = "calibration.html"
SCORES = "calibration-scores.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateOptions:
    """Everything that a run needs."""

    goldens: Sequence[Golden]
    source: str
    """Source of the goldens, for people."""
    modes: frozenset[FailureMode] | None = None
    """Modes to degrade in; None = all, or those of the published tables."""
    published: bool = False
    """Degrade as in WorkflowPerturb, and show its tables beside what comes out."""
    out: Path
    """Folder for what is written."""
    journal: Path | None = None
    """File of the judge's rulings; None = `JOURNAL` in the folder."""
    scoring: ScoringOptions
    placement: Placement = field(default_factory=Placement)
    resamples: int = 1000
    seed: int = 0
    judge: ModelAddress | None = None
    judge_goldens: int | None = None
    """Ask the judge about a sample of so many goldens; None = all."""
    max_usd: float | None = None


@dataclass(frozen=True, slots=True)
class OutputFiles:
    """Files that were written."""

    page: Document
    files: tuple[Path, ...]


def write(
    calibration: Calibration,
    scores: GatheredScores,
    table: ScoreTable,
    folder: Path,
    *,
    published: bool = False,
) -> OutputFiles:
    """Write calibration, page and scores into a folder.

    Args:
        calibration: what was found.
        scores: what it rests on.
        table: the same as arrays.
        folder: where to.
        published: whether the page has the tables of WorkflowPerturb.

    Raises: InputError.
    """
    rng = random.Random(calibration.seed)
    drawn = multiplicities(len(table.goldens), calibration.resamples, rng, table.cluster_numbers)
    ways = trajectories(table, drawn)
    write_lines(folder / SCORES, table_lines(scores.rows, scores.metrics))
    page = document(calibration, table, ways, beside=sections(calibration, ways) if published else ())
    write_file(folder / REPORT, html(page))
    write_file(folder / CALIBRATION, calibration_to_yaml(calibration))
    return OutputFiles(page, tuple(folder / name for name in (CALIBRATION, REPORT, SCORES)))


@dataclass(frozen=True, slots=True)
class CalibrationOutcome:
    """A calibration, what it rests on, and where it is."""

    calibration: Calibration
    scores: GatheredScores
    undegradable: Mapping[str, int]
    """Candidates that could not be made, by mode and reason."""
    chosen: WorkflowGoldens
    written: OutputFiles
    cost_usd: float


def run_calibrate(
    options: CalibrateOptions, *, err: Console, confirm: Confirm, today: date
) -> CalibrationOutcome:
    """Read, score, calibrate and write.

    Args:
        options: what to do.
        err: gets progress.
        confirm: asked once before the first call of a judge, with an estimate of the cost.
        today: written into the calibration.

    Raises: InputError, EmbeddingsUnavailableError, UnknownMetricError, StoreError and OSError for what cannot
        be used; NotConfirmedError; StoppedError, with what was scored until then in the journal.
    """
    for name in options.scoring.metrics:
        if name != WorkflowJudge.name:
            metric(name)
    chosen = choose(options.goldens, least_steps=PUBLISHED_STEPS if options.published else 1)
    modes = options.modes or (PUBLISHED_MODES if options.published else frozenset(FailureMode))
    options.out.mkdir(parents=True, exist_ok=True)
    candidates = make_candidates(chosen.goldens, Damage(modes, options.published), options.seed)
    if not candidates.made:
        reasons = ", ".join(sorted(candidates.undegradable))
        raise UnfitGoldensError(f"no candidate could be made ({reasons}); approve longer workflows")
    costs = Costs(options.max_usd)
    measured = score_candidates(options.scoring, candidates.made, err)
    if options.judge is not None:
        with opened_journal(options.journal or options.out / JOURNAL, "--journal") as journal:
            judged = judge_candidates(
                options.judge, candidates.made, costs, confirm, err,
                journal=journal, sample=options.judge_goldens, seed=options.seed,
            )  # fmt: skip
        measured.append(judged)
    scores = gather(candidates.made, measured, clusters(chosen.goldens))
    if not scores.metrics:
        raise UnfitGoldensError("no metric tells the degraded answers apart; take other --metrics")
    in_use = {facts.name for facts in scores.metrics}
    encoders = []
    for each in measured:
        if each.encoder and each.facts.name in in_use:
            encoders.append(each.encoder)
    with err.status("calibrating"):
        table = score_table(scores.rows, scores.metrics)
        calibration = calibrate(
            table,
            source=options.source,
            calibrated_on=today,
            encoder=encoders[0] if encoders else None,
            bert_score=options.scoring.bert if options.scoring.bert != BertModel() else None,
            seed=options.seed,
            placement=options.placement,
            resamples=options.resamples,
        )
        written = write(calibration, scores, table, options.out, published=options.published)
    return CalibrationOutcome(calibration, scores, candidates.undegradable, chosen, written, costs.usd)
