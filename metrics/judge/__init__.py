"""An LLM that rates: similarity of two answers, and the quality of one.

`prompts` (what is asked, with the answers kept inside unforgeable markers) → `client` (one call to
any OpenAI-compatible endpoint, at the pace of its limits, behind a breaker and a `cache`) → `reading`
(a rating out of what came back) → `votes` (one rating out of several calls) → `similarity` and
`quality` (the judge behind the protocols that the cheap metrics share).
"""

from metrics.endpoints.breaker import Breaker
from metrics.endpoints.limits import RateLimits
from metrics.endpoints.price import Expense, Price
from metrics.judge.cache import JudgeCache, MemoryJudgeCache
from metrics.judge.client import Judge
from metrics.judge.prompts import rubric_prompt
from metrics.judge.quality import JudgedQuality
from metrics.judge.reply import Reply
from metrics.judge.similarity import JudgeRater
from metrics.judge.sqlite_cache import SqliteJudgeCache

__all__ = [
    "Breaker",
    "Expense",
    "Judge",
    "JudgeCache",
    "JudgeRater",
    "JudgedQuality",
    "MemoryJudgeCache",
    "Price",
    "RateLimits",
    "Reply",
    "SqliteJudgeCache",
    "rubric_prompt",
]
