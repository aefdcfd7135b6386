"""What a quality metric is: one answer against the context it was given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from metrics.pair import Answer
    from metrics.similarity.protocol import Rating


class QualityMetric(Protocol):
    """Rates one answer on the scale 1–3, 3 = best. Judged metrics and cheap stand-ins share it."""

    @property
    def name(self) -> str:
        """Label of the score; a cheap stand-in's ends in `_proxy`."""
        ...

    @property
    def version(self) -> int:
        """Raised whenever the same answer may be rated differently than before."""
        ...

    async def rate(self, answer: Answer, context: str) -> Rating:
        """Rate an answer against the text of the prompt it answers.

        Never raises for what an answer, a model or a network can do: that is a `Failure` in the
        rating's outcome.
        """
        ...
