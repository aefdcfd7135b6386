"""The two-stage score of a pair: how similar the answers are, and if they are not, whether quality moved."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from metrics.judge.quality import completeness, faithfulness
from metrics.judge.similarity import JudgeRater
from metrics.quality.bundles import bundle
from metrics.quality.completeness_proxy import CompletenessProxy
from metrics.quality.faithfulness_proxy import FaithfulnessProxy
from metrics.similarity.cheap import CheapRater
from metrics.similarity.normalised import NormalisedEquality
from metrics.similarity.protocol import SCALE
from metrics.verdict import Failure, Judgement, QualityScore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metrics.judge.client import Judge
    from metrics.pair import Pair
    from metrics.quality.bundles import Quality
    from metrics.quality.protocol import QualityMetric
    from metrics.similarity.embeddings import Embeddings
    from metrics.similarity.protocol import Rater, Rating
    from metrics.verdict import Scorer

_SAME = max(SCALE)


class TwoStageScorer:
    """Scores pairs by one rater and the quality metrics of the pair's task.

    1. Answers that are equal after normalisation are the same: rating 3, free of charge.
    2. Otherwise the rater decides. If it fails there is no rating: a judge that cannot be reached
       is never silently replaced by cheap metrics, since the two are not on one scale.
    3. A rating below 3 sends both answers, each alone, through the quality metrics. One that fails
       on either answer is a failure of the judgement; the rating and the other metrics stand.

    Source: the two-stage protocol behind content delta and quality delta (similarity first, then the
    task's quality metrics on shifted pairs only).
    """

    def __init__(self, scorer: Scorer, rater: Rater, qualities: Mapping[Quality, QualityMetric]) -> None:
        self._scorer = scorer
        self._rater = rater
        self._qualities = qualities
        self._equality = NormalisedEquality()

    @property
    def scorer(self) -> Scorer:
        """Who decides the rating of answers that are not equal."""
        return self._scorer

    async def score(self, pair: Pair) -> Judgement:
        """Score a pair. Work on the CPU is done in threads.

        Returns: a `Judgement`. Its rating is None exactly if similarity failed, with the reason as
            the only failure: "no_text" if neither side has text or a tool call, else the rater's.
            Tokens and cost cover every call made, failed ones included.
        """
        equal = await asyncio.to_thread(self._equality.score, pair)
        if isinstance(equal, Failure):
            return Judgement(self._scorer, None, failures=(equal,))
        if equal:
            details = {self._equality.name: 1.0}
            return Judgement(self._scorer, _SAME, "Equal after normalisation.", details)
        rated = await self._rater.rate(pair)
        if isinstance(rated.outcome, Failure):
            return Judgement(
                self._scorer, None, failures=(rated.outcome,), cost_usd=rated.cost_usd, tokens=rated.tokens
            )
        return await self._with_quality(pair, rated, rated.outcome)

    async def _with_quality(self, pair: Pair, rated: Rating, rating: int) -> Judgement:
        metrics = [] if rating == _SAME else [self._qualities[name] for name in bundle(pair.task)]
        # Both answers of all metrics at once: a judge limits its own concurrency.
        answers = (pair.reference, pair.candidate)
        given = await asyncio.gather(
            *(metric.rate(answer, pair.context) for metric in metrics for answer in answers)
        )
        scores: list[QualityScore] = []
        failures: list[Failure] = []
        for metric, reference, candidate in zip(metrics, given[::2], given[1::2], strict=True):
            match reference.outcome, candidate.outcome:
                case Failure() as failure, _:
                    failures.append(failure)
                case _, Failure() as failure:
                    failures.append(failure)
                case int(before), int(after):
                    scores.append(QualityScore(metric.name, metric.version, before, after))
        return Judgement(
            self._scorer,
            rating,
            rated.explanation,
            rated.details,
            tuple(scores),
            tuple(failures),
            cost_usd=rated.cost_usd + sum(one.cost_usd for one in given),
            tokens=rated.tokens + sum(one.tokens for one in given),
        )


def cheap_scorer(embeddings: Embeddings | None = None) -> TwoStageScorer:
    """A scorer without a judge: cheap metrics rate, stand-ins named `*_proxy` measure quality.

    Args:
        embeddings: From `metrics.similarity.load_embeddings`, if the extra `semantic` is installed.
    """
    qualities: dict[Quality, QualityMetric] = {
        "faithfulness": FaithfulnessProxy(),
        "completeness": CompletenessProxy(),
    }
    return TwoStageScorer("metrics", CheapRater(embeddings), qualities)


def judge_scorer(judge: Judge) -> TwoStageScorer:
    """A scorer whose similarity and quality ratings are all the judge's.

    The price of its tokens is the judge's own (`Judge(price=…)`). Closing the judge is the
    caller's business.
    """
    qualities: dict[Quality, QualityMetric] = {
        "faithfulness": faithfulness(judge),
        "completeness": completeness(judge),
    }
    return TwoStageScorer("judge", JudgeRater(judge), qualities)
