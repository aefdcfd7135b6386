"""The rewriter: makes the texts of those variants that need a model.

A perturbation asks for texts by `RewriteTask`; `Rewriter` (in `client`) gives each back rewritten, or
a `Rejection`. `prompts` words the request, `endpoint` makes the call and pays for it, `gate` decides
whether the text may stand for the original: passages and numerals kept (`keep`), layout kept
(`layout`), the right language (`script`), nothing around it (`chatter`); a judge may have the last word
(`meaning`). `cache` keeps what passed.

`Rewriter` and `ModelEndpoint` are loaded when they are asked for: they bring the SDK.
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
        """What brings the SDK, loaded now."""
        place = {"Rewriter": "client", "ModelEndpoint": "endpoint"}.get(name)
        if place is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{place}"), name)


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
