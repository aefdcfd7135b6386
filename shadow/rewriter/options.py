"""What a rewriter's endpoint accepts: parameters that it rejects are left out, and stay out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

Limit = Literal["max_tokens", "max_completion_tokens", "none"]


@dataclass(frozen=True, slots=True)
class Options:
    """The optional parameters an endpoint has not rejected so far."""

    limit: Limit = "max_tokens"
    """The older name first: every server knows it, and those that want the other one say so."""
    temperature: bool = True
    seed: bool = True

    def parameters(self, limit_tokens: int, temperature: float, seed: int) -> dict[str, Any]:
        """The optional part of a request body."""
        body: dict[str, Any] = {}
        if self.limit != "none":
            body[self.limit] = limit_tokens
        if self.temperature:
            body["temperature"] = temperature
        if self.seed:
            body["seed"] = seed
        return body

    def after(self, complaint: str) -> Options | None:
        """What to try after a 400 with this message; None if nothing is left to leave out.

        A parameter that the message names goes first, then the limit, then the others.
        """
        said = complaint.lower()
        if self.temperature and "temperature" in said:
            return replace(self, temperature=False)
        if self.seed and "seed" in said:
            return replace(self, seed=False)
        if self.limit == "max_tokens":
            return replace(self, limit="max_completion_tokens")
        if self.limit == "max_completion_tokens":
            return replace(self, limit="none")
        if self.temperature or self.seed:
            return replace(self, temperature=False, seed=False)
        return None
