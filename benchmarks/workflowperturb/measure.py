"""Degrades every golden at every severity and scores what comes out."""

from __future__ import annotations

import random
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.workflowperturb.published import Spread
from evenkeel.core.pair import Answer, Pair
from evenkeel.core.verdict import Failure
from evenkeel.experiments.calibrate.degrade import SEVERITIES
from evenkeel.metrics.similarity.bert_score import load_bert_score
from evenkeel.metrics.similarity.embeddings import EmbeddingsUnavailableError, packaged_minilm
from evenkeel.metrics.workflow.alignment import Embedded, ExactText
from evenkeel.metrics.workflow.chain import chain_f1
from evenkeel.metrics.workflow.compare import Both
from evenkeel.metrics.workflow.graph import graph_f1
from evenkeel.metrics.workflow.tau import kendall_tau
from evenkeel.metrics.workflow.wording import StepBertScore, workflow_bleu, workflow_gleu
from evenkeel.metrics.workflow.workflow import WorkflowError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.experiments.calibrate.degrade.workflow import Degradation
    from evenkeel.metrics.similarity.bert_score import BertScore
    from evenkeel.metrics.workflow.alignment import Aligner
    from evenkeel.metrics.workflow.workflow import Workflow

PRINTED: Final = "Kendall's τ, as printed"
WEIGHTED: Final = "Kendall's τ, by coverage"
BY_LENGTH: Final = "Kendall's τ, by length"
"""τ times the candidate's length over the reference's (1 at most), 0 if it is not defined."""
EVERY: Final = 4
"""Workflows of which one has its BERTScore measured: it is the dearest by far."""
_UNRELATED: Final = 300
"""Pairs of steps of different goldens, from which the baseline of BERTScore is taken."""


@dataclass(frozen=True, slots=True)
class Models:
    """What the extra `semantic` gives."""

    aligner: Embedded
    bert_score: BertScore
    baseline: float
    """BERTScore of unrelated steps."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Scores of one degradation: by metric, for each severity."""

    scores: dict[str, tuple[Spread, ...]]
    refused: tuple[int, ...]
    """Workflows that could not be degraded so, for each severity."""


class _Kept:
    """An encoder that encodes every text once: steps recur in every variant."""

    def __init__(self, folder: str) -> None:
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - takes seconds

        self._model = SentenceTransformer(folder, device="cpu", local_files_only=True)
        self._vectors: dict[str, list[float]] = {}

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if new:
            vectors = self._model.encode(new, show_progress_bar=False).tolist()
            self._vectors.update(zip(new, vectors, strict=True))
        return [self._vectors[text] for text in texts]


def load_models(goldens: Sequence[Workflow]) -> Models | str:
    """MiniLM for the alignment and for BERTScore; why not, if it cannot be had."""
    try:
        score = load_bert_score()
        encoder = _Kept(str(packaged_minilm()))
    except (EmbeddingsUnavailableError, ImportError) as error:
        return str(error)
    rng = random.Random("baseline")
    pairs = [rng.sample(goldens, 2) for _ in range(_UNRELATED)]
    unrelated = score.score_all(
        [Pair(Answer(rng.choice(one.steps)), Answer(rng.choice(other.steps)), "") for one, other in pairs]
    )
    baseline = statistics.fmean(one for one in unrelated if not isinstance(one, Failure))
    # All at once is faster than workflow by workflow.
    encoder.encode([step for golden in goldens for step in golden.steps])
    return Models(Embedded(encoder), score, baseline)


def measure(
    goldens: Sequence[Workflow], degradation: Degradation, aligner: Aligner, models: Models | None
) -> Measured:
    """Scores of every golden against its degraded self.

    Args:
        goldens: What is degraded, each by its own seed.
        degradation: How.
        aligner: For graph F1, chain F1 and τ.
        models: For BERTScore; None leaves it out.
    """
    scores: dict[str, list[Spread]] = {}
    refused = []
    for severity in SEVERITIES:
        pairs = []
        for number, golden in enumerate(goldens):
            try:
                changed = degradation.apply(golden, severity, random.Random(f"{number}.{severity}"))
            except WorkflowError:
                continue
            pairs.append(Both(golden, changed))
        refused.append(len(goldens) - len(pairs))
        for name, values in _scored(pairs, aligner, models).items():
            if values:
                spread = Spread(statistics.fmean(values), statistics.pstdev(values))
                scores.setdefault(name, []).append(spread)
    # A metric that is defined for no workflow at one of the severities has no row of three.
    complete = {name: tuple(found) for name, found in scores.items() if len(found) == len(SEVERITIES)}
    return Measured(complete, tuple(refused))


def _scored(pairs: Sequence[Both], aligner: Aligner, models: Models | None) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for both in pairs:
        aligned = both.reference, both.candidate, aligner.align(both.reference, both.candidate)
        tau = kendall_tau(*aligned)
        values = {
            "Graph F1": graph_f1(*aligned).f1,
            "Chain F1": chain_f1(*aligned).f1,
            "BLEU": workflow_bleu(both.reference, both.candidate),
            "GLEU": workflow_gleu(both.reference, both.candidate),
            PRINTED: tau.tau,
            WEIGHTED: tau.weighted,
            BY_LENGTH: (tau.tau or 0.0) * min(1.0, len(both.candidate.steps) / len(both.reference.steps)),
        }
        for name, value in values.items():
            found.setdefault(name, [])
            if value is not None:
                found[name].append(value)
    if models is not None:
        scored = StepBertScore(models.bert_score).means(pairs[::EVERY])
        # As the paper's figures are: what unrelated steps have is 0, and 1 stays.
        low = models.baseline
        found["BERTScore"] = [(one - low) / (1 - low) for one in scored if not isinstance(one, Failure)]
    return found


EXACT: Final = ExactText()
