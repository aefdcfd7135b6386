"""Perturbations: small, meaning-preserving changes of a prompt.

`protocol` says what one is; each kind is one module and one line in `catalogue`. Changes of the
input keep off what `protect` finds (code, numbers, addresses, quotations …); `places` picks and
rewrites a share of what is left, `seed` makes every choice repeatable. Changes of the template are
in `positional` and `format`. Kinds that need a model ask for texts with a `Draft`.
"""

from evenkeel.shadow.perturbations.catalogue import BUILTIN, by_name, catalogue
from evenkeel.shadow.perturbations.protect import Protected, protected_spans
from evenkeel.shadow.perturbations.protocol import (
    NOTHING,
    Draft,
    NotApplicable,
    Outcome,
    Perturbation,
    Requirement,
    RewriteTask,
)
from evenkeel.shadow.perturbations.seed import seed_for

__all__ = [
    "BUILTIN",
    "NOTHING",
    "Draft",
    "NotApplicable",
    "Outcome",
    "Perturbation",
    "Protected",
    "Requirement",
    "RewriteTask",
    "by_name",
    "catalogue",
    "protected_spans",
    "seed_for",
]
