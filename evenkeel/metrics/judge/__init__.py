"""An LLM that rates: similarity of two answers, and the quality of one.

`prompts` (what is asked, with the answers kept inside unforgeable markers) → `client` (one call to an
`Endpoint`, behind a cache) → `reply` (a rating out of what came back) → `raters` (the judge behind the
protocols that the heuristics share, one rating out of several calls, some pairs rated again).

`Judge` is loaded on first use: it brings the SDK, which nobody without a judge needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from evenkeel.metrics.judge.prompts import rubric_prompt
from evenkeel.metrics.judge.raters import JudgedQuality, JudgeRater
from evenkeel.metrics.judge.reply import Reply

if TYPE_CHECKING:
    from evenkeel.metrics.judge.client import Judge
else:

    def __getattr__(name: str) -> object:
        """The client, loaded now."""
        if name != "Judge":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return import_module(f"{__name__}.client").Judge


__all__ = ["Judge", "JudgeRater", "JudgedQuality", "Reply", "rubric_prompt"]
