"""Rewriter: writes the texts of those variants that need a model.

A perturbation asks for texts by `RewriteTask`; `client` gives each back rewritten, or as a `Rejection`.
`prompts` words the request, `perturbations.gate` decides whether the text may stand in, and a judge may have
the last word.
"""

from evenkeel.shadow.perturbations.gate import FLAWS, Rejection, faults_of
from evenkeel.shadow.rewriter.client import EqualMeaning, JudgedMeaning, Rewriter
from evenkeel.shadow.rewriter.prompts import cache_key

__all__ = [
    "FLAWS",
    "EqualMeaning",
    "JudgedMeaning",
    "Rejection",
    "Rewriter",
    "cache_key",
    "faults_of",
]
