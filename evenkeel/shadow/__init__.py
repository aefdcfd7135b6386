"""Replay plane: processes sampled exchanges in the background.

`worker` (takes an `Exchange` off an `ExchangeQueue`) → `original` (reads it: `prompt`, `answer`) → `planner`,
`groups` and `exchange_trial` (which trials) → `perturbations` (a variant of the prompt), `rewriter` (texts
that a model must write) → `quoted_replays` and `replay` (the variant's answer, within the budget) →
`trial_maker` (rates the pairs) → `trial_log`.

Submodules are imported by name: the data plane needs `evenkeel.core.exchange` alone and must not pay for the
rest. The names in `__all__` are for use without a proxy (`docs/api.md`); each is loaded when it is first
asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenkeel.shadow.perturbations import (
        BUILTIN,
        Draft,
        NotApplicable,
        Perturbation,
        RewriteTask,
        by_name,
        catalogue,
        protected_spans,
        seed_for,
    )
    from evenkeel.shadow.prompt import PromptView, UnreadablePrompt

__all__ = [
    "BUILTIN",
    "Draft",
    "NotApplicable",
    "Perturbation",
    "PromptView",
    "RewriteTask",
    "UnreadablePrompt",
    "by_name",
    "catalogue",
    "protected_spans",
    "seed_for",
]

if not TYPE_CHECKING:  # a type checker must still find a name that is misspelt
    _IN_PROMPT = frozenset({"PromptView", "UnreadablePrompt"})

    def __getattr__(name: str) -> object:
        """Load a public name from its module."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = "prompt" if name in _IN_PROMPT else "perturbations"
        attribute = getattr(import_module(f"{__name__}.{home}"), name)
        globals()[name] = attribute
        return attribute

    def __dir__() -> list[str]:
        """List the module's names, public ones that are not loaded yet included."""
        return sorted({*globals(), *__all__})
