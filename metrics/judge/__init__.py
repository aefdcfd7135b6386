"""An LLM that rates: similarity of two answers, and the quality of one.

`prompts` (what is asked, with the answers kept inside unforgeable markers) → `client` (one call to
any OpenAI-compatible endpoint, at the pace of its limits, behind a breaker and a `cache`) → `reading`
(a rating out of what came back) → `votes` (one rating out of several calls) → `similarity` and
`quality` (the judge behind the protocols that the heuristics share).

`Judge` is loaded when it is asked for: it brings the SDK, which nobody without a judge needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from evenkeel.core.budget import Spend
from evenkeel.llm.limits import Breaker, RateLimits
from evenkeel.llm.price import Price
from evenkeel.metrics.judge.cache import JudgeCache, MemoryJudgeCache
from evenkeel.metrics.judge.prompts import rubric_prompt
from evenkeel.metrics.judge.raters import JudgedQuality, JudgeRater
from evenkeel.metrics.judge.reply import Reply
from evenkeel.metrics.judge.sqlite_cache import SqliteJudgeCache

if TYPE_CHECKING:
    from evenkeel.metrics.judge.client import Judge
else:

    def __getattr__(name: str) -> object:
        """The client, loaded now."""
        if name != "Judge":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return import_module(f"{__name__}.client").Judge


__all__ = [
    "Breaker",
    "Judge",
    "JudgeCache",
    "JudgeRater",
    "JudgedQuality",
    "MemoryJudgeCache",
    "Price",
    "RateLimits",
    "Reply",
    "Spend",
    "SqliteJudgeCache",
    "rubric_prompt",
]
