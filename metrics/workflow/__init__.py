"""How far two workflows agree in their steps, the order of these and their dependencies.

`reading` (an answer, in any usual form) → `workflow` (steps and precedence edges) → `alignment` (which
step is which) → `chain`, `graph`, `tau` (structure and order); `wording` and `meaning` compare the
words, `judge` asks a model. `evenkeel.experiments.calibrate.degrade` makes workflows worse by a known amount, to calibrate them.

Source: WorkflowPerturb (seven metrics, three degradations) and WorFBench (chain and graph F1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.metrics.workflow.alignment import Aligner, Alignment, CannotAlignError, Embedded, ExactText
from evenkeel.metrics.workflow.chain import ChainF1, chain_f1
from evenkeel.metrics.workflow.compare import Comparison
from evenkeel.metrics.workflow.diagrams import write_node_edge
from evenkeel.metrics.workflow.graph import GraphF1, graph_f1
from evenkeel.metrics.workflow.meaning import StepBertScore
from evenkeel.metrics.workflow.reading import read_answer, read_calls, read_workflow
from evenkeel.metrics.workflow.tau import Tau, WeightedTau, kendall_tau
from evenkeel.metrics.workflow.wording import WorkflowBleu, WorkflowGleu, workflow_bleu, workflow_gleu
from evenkeel.metrics.workflow.workflow import Edge, Workflow, WorkflowError, sequence, workflow

if TYPE_CHECKING:
    from evenkeel.metrics.metric import Metric


def structural_metrics(aligner: Aligner | None = None) -> tuple[Metric, ...]:
    """Every metric that needs no model, sharing one alignment of each pair.

    Args:
        aligner: Default: steps are the same if their texts are.
    """
    shared = Comparison(aligner)
    return (
        ChainF1(shared),
        GraphF1(shared),
        Tau(shared),
        WeightedTau(shared),
        WorkflowBleu(),
        WorkflowGleu(),
    )


BUILTIN: tuple[Metric, ...] = structural_metrics()
"""With steps aligned by their texts: pure, and safe to call from threads."""

__all__ = [
    "BUILTIN",
    "Aligner",
    "Alignment",
    "CannotAlignError",
    "ChainF1",
    "Comparison",
    "Edge",
    "Embedded",
    "ExactText",
    "GraphF1",
    "StepBertScore",
    "Tau",
    "WeightedTau",
    "Workflow",
    "WorkflowBleu",
    "WorkflowError",
    "WorkflowGleu",
    "chain_f1",
    "graph_f1",
    "kendall_tau",
    "read_answer",
    "read_calls",
    "read_workflow",
    "sequence",
    "structural_metrics",
    "workflow",
    "workflow_bleu",
    "workflow_gleu",
    "write_node_edge",
]
