"""Who is behind a URL, by OpenTelemetry's names for providers of generative AI."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from evenkeel.llm.observer import ModelCall

_BY_HOST: Final = (
    ("openai.azure.com", "azure.ai.openai"),
    ("azure.com", "azure.ai.inference"),
    ("openai.com", "openai"),
    ("anthropic.com", "anthropic"),
    ("amazonaws.com", "aws.bedrock"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("aiplatform.googleapis.com", "gcp.vertex_ai"),
    ("cohere.com", "cohere"),
    ("cohere.ai", "cohere"),
    ("deepseek.com", "deepseek"),
    ("groq.com", "groq"),
    ("mistral.ai", "mistral_ai"),
    ("perplexity.ai", "perplexity"),
    ("x.ai", "x_ai"),
    ("ml.cloud.ibm.com", "ibm.watsonx.ai"),
)
"""Ends of host names; the first that fits counts."""

_DEFAULT_PORTS: Final = {"https": 443, "http": 80}


class Server(NamedTuple):
    """Where a call goes."""

    provider: str
    """The host's owner if known, else whose API it speaks: "openai" or "anthropic"."""
    address: str
    """Host name, or the file name of a Unix socket."""
    port: int | None
    """None for a Unix socket, or if the URL is none."""


def server_of(call: ModelCall) -> Server:
    """Where a call goes. Nothing else of its URL is told."""
    return _server(call.url, call.unix_path)


@lru_cache(maxsize=256)
def _server(url: str, unix_path: str | None) -> Server:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or _DEFAULT_PORTS.get(parts.scheme)
    except ValueError:  # no URL: the call will fail, and say so
        return Server("openai", unix_path or "", None)
    spoken = "anthropic" if parts.path.endswith("/messages") else "openai"
    if unix_path is not None:
        return Server(spoken, unix_path, None)
    provider = next((name for end, name in _BY_HOST if host == end or host.endswith(f".{end}")), spoken)
    return Server(provider, host, port)
