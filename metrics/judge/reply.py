"""What came of a question: a ruling or a failure, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenkeel.core.verdict import Failure
    from evenkeel.metrics.judge.reading import Ruling


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of one question."""

    outcome: Ruling | Failure
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    prompt_version: str = ""
    """Under which wording, as "name@version"."""
    cached: bool = False
    """Whether it was remembered from an earlier call; it then cost nothing."""

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens

    def plus(self, earlier: Reply) -> Reply:
        """This reply, at the price of both."""
        return replace(
            self,
            prompt_tokens=self.prompt_tokens + earlier.prompt_tokens,
            completion_tokens=self.completion_tokens + earlier.completion_tokens,
            cost_usd=self.cost_usd + earlier.cost_usd,
        )
