"""Tiers: how urgently a provider answers a request, and which provider has which."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final, Literal, NamedTuple

Tier = Literal["standard", "flex", "batch"]
"""At once, when the provider has room, or within a day. The later, the cheaper."""
TierApi = Literal["openai", "anthropic"]
"""Whose way of asking for tiers an endpoint has: OpenAI's `service_tier` and batch files, or Anthropic's
message batches."""


SCORING_WAITS: Final[ContextVar[bool]] = ContextVar("scoring_waits", default=False)
"""Whether the rating that is asked for now can wait."""


class TierProvider(NamedTuple):
    """What a provider has."""

    host: str
    """The end of its host names."""
    flex: bool
    batches: TierApi | None
    """None = no batches that are asked for in one of these ways."""


_PROVIDERS: Final = (
    TierProvider("api.openai.com", flex=True, batches="openai"),
    TierProvider("api.anthropic.com", flex=False, batches="anthropic"),
    TierProvider("api.groq.com", flex=True, batches="openai"),
    # Azure's batches need deployments of their own, under other names than those of the traffic.
    TierProvider("openai.azure.com", flex=True, batches=None),
    TierProvider("services.ai.azure.com", flex=True, batches=None),
    TierProvider("cognitiveservices.azure.com", flex=True, batches=None),
    TierProvider("api.mistral.ai", flex=False, batches=None),
    TierProvider("googleapis.com", flex=False, batches=None),
    TierProvider("amazonaws.com", flex=False, batches=None),
    TierProvider("openrouter.ai", flex=False, batches=None),
    TierProvider("api.deepseek.com", flex=False, batches=None),
    TierProvider("api.x.ai", flex=False, batches=None),
)
_LIKE: Final[dict[TierApi, TierProvider]] = {
    "openai": TierProvider("", flex=True, batches="openai"),
    "anthropic": TierProvider("", flex=False, batches="anthropic"),
}


def tiers_of(host: str, like: TierApi | None) -> TierProvider | None:
    """The tiers of an endpoint; None if nobody knows them.

    Args:
        host: Of the endpoint.
        like: Whose tiers it has as the settings say; None = its host tells.
    """
    if like is not None:
        return _LIKE[like]
    name = host.lower().rstrip(".")
    return next((one for one in _PROVIDERS if name == one.host or name.endswith(f".{one.host}")), None)


def tier_problem(tier: Tier, host: str, like: TierApi | None) -> str | None:
    """Why replays to an endpoint cannot be sent in a tier, and what to do; None if they can."""
    if tier == "standard":
        return None
    found = tiers_of(host, like)
    if found is None:
        return (
            f"nobody knows whether {host} has a {tier} tier; if it has OpenAI's or Anthropic's, say so with "
            "tier_api"
        )
    if tier == "flex" and not found.flex:
        other = "batch" if found.batches else "standard"
        return f"{host or 'such an endpoint'} has no flex tier; use {other}"
    if tier == "batch" and found.batches is None:
        other = "flex" if found.flex else "standard"
        return f"{host} has no batches that evenkeel can use; use {other}"
    return None
