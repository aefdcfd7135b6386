"""The metrics that a calibration's thresholds are for, ready to score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.core.languages import language_of
from evenkeel.metrics.judge import JudgeRater
from evenkeel.metrics.registry import metrics
from evenkeel.metrics.similarity.embeddings import MINILM, EmbeddingsUnavailableError
from evenkeel.release.calibration.calibration import BertModel, CalibrationError
from evenkeel.release.calibration.columns import (
    PairScorer,
    bert_score_column,
    heuristic_columns,
    load_encoder_columns,
)
from evenkeel.release.calibration.judge import AskedSimilarity, AskedWorkflow
from evenkeel.release.gate.scoring import Calibrated, roles
from evenkeel.release.kit.arguments import InputError

if TYPE_CHECKING:
    from evenkeel.metrics.judge import Judge
    from evenkeel.release.calibration.calibration import Calibration
    from evenkeel.release.calibration.columns import Column

_JUDGED = frozenset({AskedSimilarity.name, AskedWorkflow.name})


def needs_judge(calibration: Calibration | None) -> bool:
    """Tell whether a judge watches a mode."""
    return calibration is not None and bool(roles(calibration) & _JUDGED)


def calibrated(calibration: Calibration, judge: Judge | None) -> Calibrated:
    """The calibration with its metrics. Loading an encoder takes seconds.

    Args:
        calibration: Whose thresholds decide.
        judge: For modes that are watched by what it says.

    Raises: InputError if a metric or the encoder is not there, or is of another version.
    """
    if judge is None and needs_judge(calibration):
        raise InputError("--calibration: a mode is watched by a judge; name it with --judge-model")
    known = (AskedSimilarity(JudgeRater(judge)), AskedWorkflow(judge)) if judge else ()
    asked = tuple(one for one in known if one.name in roles(calibration))
    try:
        scorer = PairScorer((*heuristic_columns(), *_encoded(calibration)))
        versions = {**scorer.versions, **{one.name: one.version for one in asked}}
        calibration.check(versions, calibration.encoder)
    except EmbeddingsUnavailableError as error:
        raise InputError(f"--calibration: needs the encoder {calibration.encoder}: {error}") from error
    except CalibrationError as error:
        raise InputError(f"--calibration: {error}") from error
    return Calibrated(calibration, scorer, asked)


def _encoded(calibration: Calibration) -> tuple[Column, ...]:
    model = None if calibration.encoder == MINILM else calibration.encoder
    columns: tuple[Column, ...] = ()
    if calibration.encoder is not None:
        columns = load_encoder_columns(model, language_of)
    # BERTScore loads a model of its own, so only if a mode is watched by it.
    matched = {listed.name for listed in metrics() if listed.about.needs == "token_matcher"}
    if calibration.form is None or not roles(calibration) & matched:
        return columns
    bert = calibration.bert_score or BertModel()
    return (*columns, bert_score_column(calibration.form, bert, language_of, encoder=model))
