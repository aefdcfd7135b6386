"""Tiers: how soon a provider answers a request, and which providers have which tier."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final, Literal

Tier = Literal["standard", "flex"]
"""Speed of an answer: immediate, or cheaper and only when the provider has room."""
DEARER: Final = ("priority", "fast", "ultrafast")
"""OpenAI's names of tiers above the list price. A project may have one for requests that ask for none."""


SCORING_WAITS: Final[ContextVar[bool]] = ContextVar("scoring_waits", default=False)
"""True if the rating being requested can wait."""


# Ends of host names of providers without the flex tier. A gateway's host says nothing, so the settings are
# believed: an endpoint that refuses the tier is asked again in the standard one.
_WITHOUT_FLEX: Final = (
    "api.anthropic.com",
    "api.mistral.ai",
    "googleapis.com",
    "amazonaws.com",
    "openrouter.ai",
    "api.deepseek.com",
    "api.x.ai",
)


def tier_problem(tier: Tier, host: str) -> str | None:
    """Return why requests to an endpoint cannot use a tier, and what to do; None if they can."""
    name = host.lower().rstrip(".")
    if tier == "standard" or not any(name == end or name.endswith(f".{end}") for end in _WITHOUT_FLEX):
        return None
    return f"{host} has no flex tier; use standard"
