"""LLM judge: it rates the similarity of two answers, and the quality of one.

`prompts` (what is asked, with the answers kept inside unforgeable markers) → `client` (one call to an
`ModelClient`, behind a cache) → `reply` (a rating out of what came back) → `raters` (the judge behind the
protocols that the heuristics share, one rating out of several calls, some pairs rated again) → `group` (the
pairs of an exchange in one call).
"""

from evenkeel.metrics.judge.client import Endpoint, Judge
from evenkeel.metrics.judge.raters import JudgedQuality, JudgeRater
from evenkeel.metrics.judge.reply import Reply

__all__ = ["Endpoint", "Judge", "JudgeRater", "JudgedQuality", "Reply"]
