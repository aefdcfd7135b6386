"""The rewriter: writes the texts of those variants that need a model.

A perturbation asks for texts by `RewriteTask`; `client` gives each back rewritten, or as a `Rejection`.
`prompts` words the request, `gate` decides whether the text may stand in for the original, and a judge may
have the last word (`meaning`). `cache` keeps what passed.

`Rewriter` and `ModelEndpoint` are loaded on first use: they bring the SDK.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from evenkeel.shadow.rewriter.cache import MemoryRewriteCache, SqliteRewriteCache
from evenkeel.shadow.rewriter.gate import GateFault, faults_of
from evenkeel.shadow.rewriter.meaning import JudgedMeaning
from evenkeel.shadow.rewriter.protocol import (
    CallBudget,
    Count,
    EqualMeaning,
    Fault,
    Rejection,
    RewriteCache,
    Trouble,
)

if TYPE_CHECKING:
    from evenkeel.shadow.rewriter.client import ModelEndpoint, Rewriter
else:

    def __getattr__(name: str) -> object:
        """Load what brings the SDK."""
        if name not in {"Rewriter", "ModelEndpoint"}:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.client"), name)


__all__ = [
    "CallBudget",
    "Count",
    "EqualMeaning",
    "Fault",
    "GateFault",
    "JudgedMeaning",
    "MemoryRewriteCache",
    "ModelEndpoint",
    "Rejection",
    "RewriteCache",
    "Rewriter",
    "SqliteRewriteCache",
    "Trouble",
    "faults_of",
]
