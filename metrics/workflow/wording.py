"""BLEU and GLEU of the workflows' words: all steps joined into one text."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from evenkeel.core.verdict import Failure
from evenkeel.metrics.protocol import About
from evenkeel.metrics.similarity.ngrams import NGrams, bleu, count_ngrams, gleu, tokens
from evenkeel.metrics.workflow.compare import read_both
from evenkeel.metrics.workflow.reading import read_answer

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair
    from evenkeel.metrics.workflow.compare import Reader
    from evenkeel.metrics.workflow.workflow import Workflow


def workflow_bleu(reference: Workflow, candidate: Workflow) -> float:
    """BLEU of the candidate's steps in canonical order, joined into one text; see `Bleu`.

    Each step is split into words by itself, as a sentence, so that its full stop is a token wherever it
    stands. N-grams go on from step to step.

    Returns: ratio in [0, 1]; 1 also if both are empty, 0 if only one is.
    Source: appendix B.3 of WorkflowPerturb.
    """
    return bleu(_ngrams(reference.chain), _ngrams(candidate.chain))


def workflow_gleu(reference: Workflow, candidate: Workflow) -> float:
    """GLEU of the steps in canonical order, joined into one text; see `Gleu`.

    Words are split as in `workflow_bleu`.

    Returns: ratio in [0, 1]; 1 also if both are empty, 0 if only one is.
    Source: appendix B.3 of WorkflowPerturb.
    """
    return gleu(_ngrams(reference.chain), _ngrams(candidate.chain))


class WorkflowBleu:
    """N-gram precision of the steps' words, whatever form the workflows are written in."""

    name: ClassVar[str] = "workflow_bleu"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("structural", akin="lexical", telling={"workflow": 3})

    def __init__(self, read: Reader = read_answer) -> None:
        """Compare workflows that `read` reads."""
        self._read = read

    def score(self, pair: Pair) -> float | Failure:
        """`workflow_bleu` of the two answers.

        Returns: ratio in [0, 1]. A `Failure` if one of them cannot be read as a workflow, as `ChainF1.score`.
        """
        both = read_both(self.name, self.version, pair, self._read)
        return both if isinstance(both, Failure) else workflow_bleu(both.reference, both.candidate)


class WorkflowGleu:
    """Shared n-grams of the steps' words, whatever form the workflows are written in."""

    name: ClassVar[str] = "workflow_gleu"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("structural", akin="lexical", telling={"workflow": 4})

    def __init__(self, read: Reader = read_answer) -> None:
        """Compare workflows that `read` reads."""
        self._read = read

    def score(self, pair: Pair) -> float | Failure:
        """`workflow_gleu` of the two answers.

        Returns: ratio in [0, 1]. A `Failure` if one of them cannot be read as a workflow, as `ChainF1.score`.
        """
        both = read_both(self.name, self.version, pair, self._read)
        return both if isinstance(both, Failure) else workflow_gleu(both.reference, both.candidate)


@lru_cache(maxsize=256)
def _ngrams(steps: tuple[str, ...]) -> NGrams:
    return count_ngrams([token for step in steps for token in tokens(step)])
