"""Services of a run besides the models: a scorer and a rewriter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.core.verdict import Failure
from evenkeel.lab.metrics.json_rouge import JsonRouge
from evenkeel.lab.metrics.json_similarity import JsonSimilarity
from evenkeel.metrics.quality.bundles import Bundle
from evenkeel.metrics.similarity.sequence import RougeL
from evenkeel.metrics.tasks import Task
from evenkeel.release.kit.asking import FAULTS
from evenkeel.release.kit.cost import RewriterBudget
from evenkeel.shadow.rewriter import FLAWS, Rejection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.core.pair import Pair
    from evenkeel.lab.metrics.embeddings import Embeddings
    from evenkeel.metrics.protocol import Metric
    from evenkeel.metrics.scoring import TwoStageScorer
    from evenkeel.release.kit.cost import Costs
    from evenkeel.release.kit.service_watch import ServiceWatch
    from evenkeel.shadow.perturbations import RewriteTask
    from evenkeel.shadow.rewriter import Rewriter


@dataclass(frozen=True, slots=True)
class Services:
    """Scorer and rewriter of a run, connected."""

    scorer: TwoStageScorer
    rewrite: WatchedRewriter | None
    """None without a rewriter."""
    judge_watch: ServiceWatch | None
    """Ends the run if the judge never answers; None without a judge."""
    references: tuple[Metric, ...] = ()
    """Metrics that are shown beside the ratings and decide nothing (appendix A.2 of the paper)."""

    def likeness(self, pair: Pair) -> dict[str, float]:
        """Return the scores of the reference metrics by name, without those that cannot be measured."""
        likeness = {}
        for metric in self.references:
            score = metric.score(pair)
            if not isinstance(score, Failure):
                likeness[metric.name] = score
        return likeness


def reference_metrics(embeddings: Embeddings | None) -> tuple[Metric, ...]:
    """Return ROUGE-L and JSONRouge and, with an encoder that runs here, the two that compare meaning."""
    metrics: tuple[Metric, ...] = (RougeL(), JsonRouge())
    if embeddings is not None:
        metrics += (embeddings, JsonSimilarity(embeddings))
    return metrics


class WatchedRewriter:
    """A rewriter that ends the run if it does not answer; its texts are in a cache of its own."""

    def __init__(self, rewriter: Rewriter, costs: Costs, watch: ServiceWatch) -> None:
        """Wire it.

        Args:
            rewriter: Who rewrites.
            costs: Refuses further calls once too much is spent.
            watch: Ends the run if the rewriter does not answer.
        """
        self._rewriter = rewriter
        self._costs = costs
        self._budget = RewriterBudget(costs)
        self._watch = watch

    async def __call__(self, task: RewriteTask) -> str | Rejection:
        """The text, or why there is none that would do.

        Raises: BudgetUsedUpError; UnusableError if the rewriter does not answer.
        """
        outcome = await self._rewriter.rewrite(task, self._budget)
        if not isinstance(outcome, Rejection) or outcome.reason in FLAWS:
            self._watch.worked()
        elif outcome.reason == "budget":
            self._costs.check()
        elif outcome.reason in FAULTS:
            self._watch.failed(outcome.reason, outcome.detail)
        return outcome


def without_slots(bundles: Mapping[Task, Bundle]) -> dict[Task, Bundle]:
    """Slots are measured against the entities that are known to be right, not against another answer."""
    return {**bundles, Task.SLOT_FILLING: Bundle()}
