"""Similarity of two workflows' wording: BLEU and GLEU of all steps, BERTScore step by step."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.pair import Answer, Pair
from evenkeel.core.verdict import Failure
from evenkeel.lab.metrics.compare import read_both
from evenkeel.lab.metrics.ngrams import NGrams, bleu, count_ngrams, gleu, tokens
from evenkeel.metrics.protocol import About

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.lab.metrics.compare import Both
    from evenkeel.metrics.protocol import BatchMetric
    from evenkeel.metrics.workflow.workflow import Workflow


def workflow_bleu(reference: Workflow, candidate: Workflow) -> float:
    """Return the BLEU of the candidate's steps in canonical order, joined into one text; see `bleu`.

    Each step is split into words by itself, as a sentence, so that its full stop is a token wherever it
    stands. N-grams go on from step to step.

    Returns: ratio in [0, 1]; 1 also if both are empty, 0 if only one is.
    Source: appendix B.3 of WorkflowPerturb.
    """
    return bleu(_ngrams(reference.chain), _ngrams(candidate.chain))


def workflow_gleu(reference: Workflow, candidate: Workflow) -> float:
    """Return the GLEU of the steps in canonical order, joined into one text; see `gleu`.

    Words are split as in `workflow_bleu`.

    Returns: ratio in [0, 1]; 1 also if both are empty, 0 if only one is.
    Source: appendix B.3 of WorkflowPerturb.
    """
    return gleu(_ngrams(reference.chain), _ngrams(candidate.chain))


class _NGramMetric(ABC):
    """Metric of the words of two workflows, whatever form they are written in."""

    name: ClassVar[str]
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("structural", akin="lexical")

    def score(self, pair: Pair) -> float | Failure:
        """Return the score of the two answers' workflows.

        Returns: ratio in [0, 1]. A `Failure` if one of them cannot be read as a workflow, as `ChainF1.score`.
        """
        both = read_both(self.name, self.version, pair)
        return both if isinstance(both, Failure) else self.of(both)

    @abstractmethod
    def of(self, both: Both) -> float:
        """Return the score of two workflows, in [0, 1]."""


class WorkflowBleu(_NGramMetric):
    """N-gram precision of the steps' words, see `workflow_bleu`."""

    name: ClassVar[str] = "workflow_bleu"

    def of(self, both: Both) -> float:
        """Return the BLEU of both workflows."""
        return workflow_bleu(both.reference, both.candidate)


class WorkflowGleu(_NGramMetric):
    """Shared n-grams of the steps' words, see `workflow_gleu`."""

    name: ClassVar[str] = "workflow_gleu"

    def of(self, both: Both) -> float:
        """Return the GLEU of both workflows."""
        return workflow_gleu(both.reference, both.candidate)


@lru_cache(maxsize=256)
def _ngrams(steps: tuple[str, ...]) -> NGrams:
    return count_ngrams(list(chain.from_iterable(map(tokens, steps))))


class StepBertScore:
    """Similarity of the n-th steps, up to the shorter workflow's length. Needs a token matcher."""

    name: ClassVar[str] = "workflow_bert_score"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("structural", akin="semantic", needs="token_matcher")

    def __init__(self, score: BatchMetric) -> None:
        """Compare steps by `BertScore`, as the paper does, or by any other metric that scores many pairs."""
        self._score = score

    def score(self, pair: Pair) -> float | Failure:
        """Mean BERTScore F1 of the steps' pairs.

        Steps are paired by place in canonical order; those of the longer workflow that are left
        over do not count. So a step that is missing early makes all behind it strangers, and one that is
        missing at the end makes no difference.

        Returns: ratio in [0, 1]; 1 = the same steps, also if both are empty; 0 if only one is. A
            `Failure` if an answer cannot be read as a workflow, or as `BertScore.score`.
        Source: appendix B.4 of WorkflowPerturb.
        """
        both = read_both(self.name, self.version, pair)
        if isinstance(both, Failure):
            return both
        return self.means([both])[0]

    def means(self, pairs: Sequence[Both]) -> list[float | Failure]:
        """Return the mean for each two workflows; the model is called once."""
        asked = []
        for both in pairs:
            asked.append(_in_turn(both.reference, both.candidate))
        remaining = iter(self._score.score_all(list(chain.from_iterable(asked))))
        means: list[float | Failure] = []
        for both, steps in zip(pairs, asked, strict=True):
            scores = [next(remaining) for _ in steps]
            failed = next((score for score in scores if isinstance(score, Failure)), None)
            if failed is not None:
                means.append(replace(failed, metric=self.name, version=self.version))
            elif not scores:
                means.append(float(both.reference.steps == both.candidate.steps))
            else:
                means.append(
                    math.fsum(score for score in scores if not isinstance(score, Failure)) / len(scores)
                )
        return means


def _in_turn(reference: Workflow, candidate: Workflow) -> list[Pair]:
    pairs = zip(reference.chain, candidate.chain, strict=False)
    return [Pair(Answer(left), Answer(other), "") for left, other in pairs]
