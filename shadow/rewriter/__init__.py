"""The rewriter: makes the texts of those variants that need a model.

A perturbation asks for texts by `RewriteTask`; `Rewriter` (in `client`) gives each back rewritten, or
a `Rejection`. `prompts` words the request, `endpoint` makes the call and pays for it, `gate` decides
whether the text may stand for the original: passages and numerals kept (`keep`), layout kept
(`layout`), the right language (`script`), nothing around it (`chatter`); a judge may have the last word
(`meaning`). `cache` keeps what passed.
"""

from shadow.rewriter.cache import MemoryRewriteCache, SqliteRewriteCache
from shadow.rewriter.client import Rewriter
from shadow.rewriter.endpoint import ModelEndpoint
from shadow.rewriter.gate import GateFault, faults_of
from shadow.rewriter.meaning import JudgedMeaning
from shadow.rewriter.protocol import Count, EqualMeaning, Fault, Purse, Rejection, RewriteCache, Trouble

__all__ = [
    "Count",
    "EqualMeaning",
    "Fault",
    "GateFault",
    "JudgedMeaning",
    "MemoryRewriteCache",
    "ModelEndpoint",
    "Purse",
    "Rejection",
    "RewriteCache",
    "Rewriter",
    "SqliteRewriteCache",
    "Trouble",
    "faults_of",
]
