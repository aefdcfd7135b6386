"""Perturbations: small, meaning-preserving changes of a prompt.

`protocol` says what one is; each perturbation, or family of them, is one module and one line in
`catalogue`. Changes of the input keep off protected text (code, numbers, addresses, quotations …): `places`
picks and rewrites a share of the rest. Changes of the template are in `positional` and `format`.
Perturbations that need a model ask for texts with a `Draft`, which the `rewriter` writes and checks.
"""

from evenkeel.core.protected_spans import ProtectedSpan, protected_spans
from evenkeel.shadow.perturbations.catalogue import BUILTIN, by_name, catalogue
from evenkeel.shadow.perturbations.protocol import (
    NOTHING,
    Draft,
    NotApplicable,
    Outcome,
    Perturbation,
    Requirement,
    RewriteTask,
    attempt,
    seed_for,
)

__all__ = [
    "BUILTIN",
    "NOTHING",
    "Draft",
    "NotApplicable",
    "Outcome",
    "Perturbation",
    "ProtectedSpan",
    "Requirement",
    "RewriteTask",
    "attempt",
    "by_name",
    "catalogue",
    "protected_spans",
    "seed_for",
]
