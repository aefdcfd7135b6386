"""Scores of degraded goldens by every metric but a judge."""

from __future__ import annotations

import statistics
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.core.languages import language_of
from evenkeel.core.verdict import Failure
from evenkeel.lab.calibrate.candidates import UnfitGoldensError
from evenkeel.lab.calibrate.columns import (
    MetricColumn,
    bert_score_column,
    chosen_columns,
    heuristic_columns,
    load_encoder_columns,
)
from evenkeel.lab.calibrate.published import METRICS
from evenkeel.lab.calibrate.score_table import CandidateScores, MetricFacts
from evenkeel.lab.metrics.embeddings import EmbeddingsUnavailableError, available
from evenkeel.lab.metrics.wording import StepBertScore
from evenkeel.lab.metrics.workflow_judge import WorkflowJudge
from evenkeel.metrics.workflow.reading import read_answer
from evenkeel.metrics.workflow.workflow import WorkflowError
from evenkeel.release.kit.terminal import progress

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from evenkeel.lab.calibrate.calibration import BertModel
    from evenkeel.lab.calibrate.candidates import DegradedGolden
    from evenkeel.lab.metrics.embeddings import CachedEncoder

DEFAULT_METRICS: Final = (*METRICS, StepBertScore.name)
"""Metrics of the paper; BERTScore only where a model for it is named."""
# Candidates whose steps are encoded together, which is many times faster than one by one.
_AT_ONCE: Final = 300
_MILLI: Final = 1e3
_MS_DIGITS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringOptions:
    """Choice of the metrics that score, and of their models."""

    metrics: tuple[str, ...] = ()
    """Metrics to compute; empty = all that apply."""
    embeddings: bool | None = None
    """None uses them if they are installed."""
    encoder: str | None = None
    """A sentence-transformers model; None = the packaged one."""
    bert: BertModel | None = None
    """Behind BERTScore; None = it is not measured."""


@dataclass(frozen=True, slots=True)
class MetricScores:
    """Scores of the candidates by one metric."""

    facts: MetricFacts
    scores: Sequence[float | str | None]
    """Score of each candidate, in order: a number, the reason why there is none, or None if nobody asked."""
    encoder: str | None = None


def score_candidates(
    options: ScoringOptions, candidates: Sequence[DegradedGolden], err: Console
) -> list[MetricScores]:
    """Score every candidate by every metric that applies.

    Args:
        options: which metrics.
        candidates: what is scored.
        err: gets progress.

    Raises: UnfitGoldensError for a named metric that cannot be measured; EmbeddingsUnavailableError.
    """
    names = options.metrics or DEFAULT_METRICS
    columns = list(heuristic_columns())
    encoder: CachedEncoder | None = None
    if _wants_encoder(options):
        with err.status("loading the encoder"):
            encoder, aligned = load_encoder_columns(options.encoder, language_of)
        columns += aligned
    if options.bert is not None:
        with err.status("loading BERTScore"):
            columns.append(bert_score_column(options.bert, language_of, encoder=options.encoder))
    chosen = chosen_columns(columns, names)
    _check(options.metrics, chosen)
    scores: defaultdict[str, list[float | str]] = defaultdict(list)
    taken_ms: defaultdict[str, list[float]] = defaultdict(list)
    with progress("scoring", "candidates", len(candidates), err) as made:
        for first in range(0, len(candidates), _AT_ONCE):
            some = candidates[first : first + _AT_ONCE]
            if encoder is not None:
                _encode_steps(encoder, some)
            for candidate in some:
                for column in chosen:
                    start = time.perf_counter()
                    score = column.metric.score(candidate.pair)
                    taken_ms[column.name].append((time.perf_counter() - start) * _MILLI)
                    scores[column.name].append(score.reason if isinstance(score, Failure) else score)
                made.add()
    measured = []
    for column in chosen:
        # The median: the first score pays for what all need.
        ms = round(statistics.median(taken_ms[column.name]), _MS_DIGITS) if candidates else 0.0
        facts = MetricFacts(column.name, column.metric.version, column.family, time_ms=ms)
        measured.append(MetricScores(facts, scores[column.name], column.encoder))
    return measured


def _encode_steps(encoder: CachedEncoder, candidates: Sequence[DegradedGolden]) -> None:
    """Encode all steps of some candidates in one call; the metrics then find their vectors kept."""
    steps: dict[str, None] = {}
    for candidate in candidates:
        for answer in (candidate.pair.reference, candidate.pair.candidate):
            try:
                steps |= dict.fromkeys(read_answer(answer).steps)
            except WorkflowError:
                continue
    try:
        encoder.encode(list(steps))
    except Exception:  # noqa: BLE001 - named boundary: running one metric, which tells the failure itself
        return


def _wants_encoder(options: ScoringOptions) -> bool:
    if options.embeddings is False:
        return False
    if available(options.encoder):
        return True
    if options.embeddings or options.encoder:
        raise EmbeddingsUnavailableError(
            'embeddings need: pip install "evenkeel-proxy[semantic]"; or leave them out with --no-embeddings'
        )
    return False


def _check(named: Sequence[str], chosen: Sequence[MetricColumn]) -> None:
    there = {column.name for column in chosen} | {WorkflowJudge.name}
    for name in named:
        if name not in there:
            raise UnfitGoldensError(f"--metrics: {name} cannot be measured on workflows here; leave it out")


@dataclass(frozen=True, slots=True)
class GatheredScores:
    """Rows and columns of a score table, and what is not in it."""

    rows: tuple[CandidateScores, ...]
    metrics: tuple[MetricFacts, ...]
    inapplicable: Mapping[str, str]
    """Metrics without a single score, and the commonest reason why."""
    unmoved: tuple[str, ...]
    """Metrics that gave every candidate the same score: they can watch nothing."""


def gather(
    candidates: Sequence[DegradedGolden], measured: Sequence[MetricScores], clusters: Mapping[str, str]
) -> GatheredScores:
    """Put scores together.

    Args:
        candidates: what was scored.
        measured: metrics in order of preference where two are equally good.
        clusters: clusters of the goldens, by id.
    """
    kept: list[MetricScores] = []
    inapplicable: dict[str, str] = {}
    unmoved: list[str] = []
    for each in measured:
        numbers = [score for score in each.scores if isinstance(score, (int, float))]
        if not numbers:
            reasons = Counter(score for score in each.scores if isinstance(score, str))
            inapplicable[each.facts.name] = reasons.most_common(1)[0][0] if reasons else "not_measured"
        elif min(numbers) == max(numbers):
            unmoved.append(each.facts.name)
        else:
            kept.append(each)
    rows = []
    for index, candidate in enumerate(candidates):
        scores = {}
        for each in kept:
            score = each.scores[index]
            if score is not None:
                scores[each.facts.name] = score
        rows.append(
            CandidateScores(
                candidate.golden,
                *candidate.level,
                candidate.expected,
                scores,
                clusters.get(candidate.golden, ""),
            )
        )
    return GatheredScores(tuple(rows), tuple(each.facts for each in kept), inapplicable, tuple(unmoved))
