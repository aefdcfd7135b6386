"""Small models of the providers, for a judge that nobody had to choose."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping


class SmallModel(NamedTuple):
    """A provider's cheap model that follows instructions and replies in JSON."""

    path: str
    """Path of the provider's OpenAI-compatible API."""
    model: str
    key_variable: str
    """Variable in which people usually have the provider's key."""


SMALL_MODELS: Final[Mapping[str, SmallModel]] = MappingProxyType(
    {
        "api.openai.com": SmallModel("/v1", "gpt-6-luna", "OPENAI_API_KEY"),
        "api.anthropic.com": SmallModel("/v1", "claude-haiku-4-5", "ANTHROPIC_API_KEY"),
        "generativelanguage.googleapis.com": SmallModel(
            "/v1beta/openai", "gemini-2.5-flash-lite", "GEMINI_API_KEY"
        ),
        "api.mistral.ai": SmallModel("/v1", "mistral-small-latest", "MISTRAL_API_KEY"),
        "api.groq.com": SmallModel("/openai/v1", "openai/gpt-oss-20b", "GROQ_API_KEY"),
        "api.deepseek.com": SmallModel("/v1", "deepseek-chat", "DEEPSEEK_API_KEY"),
        "openrouter.ai": SmallModel("/api/v1", "openai/gpt-6-luna", "OPENROUTER_API_KEY"),
        "api.together.xyz": SmallModel("/v1", "openai/gpt-oss-20b", "TOGETHER_API_KEY"),
        "api.fireworks.ai": SmallModel(
            "/inference/v1", "accounts/fireworks/models/gpt-oss-20b", "FIREWORKS_API_KEY"
        ),
        "api.x.ai": SmallModel("/v1", "grok-4-fast-non-reasoning", "XAI_API_KEY"),
        "api.cerebras.ai": SmallModel("/v1", "gpt-oss-120b", "CEREBRAS_API_KEY"),
        "api.cohere.com": SmallModel("/compatibility/v1", "command-r7b-12-2024", "CO_API_KEY"),
    }
)
"""Judges by the upstream's host, without which the end of a host such as `eu.api.openai.com` counts."""


def stores_unasked(url: str) -> bool:
    """Return whether an endpoint may keep chat completions unless it is told not to.

    OpenAI does for newer accounts. Source: "Migrate to the Responses API" of its guides.
    """
    host = urlsplit(url).hostname or ""
    return f".{host}".endswith(".api.openai.com")


def small_model(url: str) -> SmallModel | None:
    """Return the small model of an endpoint's provider; None for a provider that nobody knows.

    Azure is none of them: it knows a model by the name of somebody's deployment.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    # A key must not travel in clear text.
    if parts.scheme != "https":
        return None
    for name, model in SMALL_MODELS.items():
        if host == name or host.endswith(f".{name}"):
            return model
    return None
