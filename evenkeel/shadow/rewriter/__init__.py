"""The rewriter: writes the texts of those variants that need a model.

A perturbation asks for texts by `RewriteTask`; `client` gives each back rewritten, or as a `Rejection`.
`prompts` words the request, the gate of the perturbations decides whether the text may stand in, and a judge
may have the last word (`meaning`).

`Rewriter` and `Rejection` are loaded on first use: their module brings the SDK.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from evenkeel.shadow.perturbations.gate import FLAWS, GateFault, faults_of
from evenkeel.shadow.rewriter.meaning import JudgedMeaning
from evenkeel.shadow.rewriter.prompts import cache_key

if TYPE_CHECKING:
    from evenkeel.shadow.rewriter.client import EqualMeaning, Rejection, Rewriter
else:

    def __getattr__(name: str) -> object:
        """Load what brings the SDK."""
        if name not in {"Rejection", "Rewriter"}:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.client"), name)


__all__ = [
    "FLAWS",
    "EqualMeaning",
    "GateFault",
    "JudgedMeaning",
    "Rejection",
    "Rewriter",
    "cache_key",
    "faults_of",
]
