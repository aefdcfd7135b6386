"""An LLM that rates: similarity of two answers, and the quality of one.

`prompts` (what is asked, with the answers kept inside unforgeable markers) → `client` (one call to
any OpenAI-compatible endpoint, behind a `breaker`) → `reading` (a rating out of what came back) →
`similarity` and `quality` (the judge behind the protocols that the cheap metrics share).
"""

from metrics.judge.breaker import Breaker
from metrics.judge.client import Judge, Price, Reply
from metrics.judge.quality import JudgedQuality
from metrics.judge.similarity import JudgeRater

__all__ = ["Breaker", "Judge", "JudgeRater", "JudgedQuality", "Price", "Reply"]
