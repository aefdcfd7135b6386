"""What spans report of their subject: attributes, message content, and who is behind a URL.

Message content is made only where it was asked for. Source: the JSON forms of `gen_ai.input.messages` and
`gen_ai.output.messages`, and the names of providers, in OpenTelemetry's conventions for generative AI.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from opentelemetry.trace import Status, StatusCode

from evenkeel.core.text import well_formed
from evenkeel.tracing import names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from opentelemetry.trace import Span

    from evenkeel.llm.observer import CallResult, Message, ModelCall


Value: TypeAlias = str | bool | int | float
Sent: TypeAlias = Value | list[str]


LONGEST_CHARS: Final = 16_000
"""Of the texts of one attribute together: spans wait in memory while a collector is away."""
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


def sendable(said: Mapping[str, Value | list[str] | None]) -> dict[str, Sent]:
    """Attributes without those that are None, and without characters that would spoil a whole batch.

    Model names and the like come out of JSON, which can hold halves of characters.
    """
    return {name: _clean(value) for name, value in said.items() if value is not None}


def mark_failed(span: Span, reason: str) -> None:
    """Say that what the span is about failed, and why, in one snake-case word."""
    span.set_attribute(names.ERROR_TYPE, reason)
    span.set_status(Status(StatusCode.ERROR, reason))


def _clean(value: Sent) -> Sent:
    if isinstance(value, str):
        return well_formed(value)
    return [well_formed(one) for one in value] if isinstance(value, list) else value


def input_messages(said: Sequence[Message]) -> str:
    """The messages of a request as JSON text; what is beyond `LONGEST_CHARS` is cut, and says so."""
    messages: list[dict[str, Any]] = []
    room = LONGEST_CHARS
    for one in said:
        messages.append({"role": one.role, "parts": [_part(one.content, room)]})
        room = max(0, room - len(one.content))
    return _written(messages)


def output_messages(result: CallResult) -> str:
    """The first choice of an answer as JSON text, cut like the request."""
    parts = [_part(result.text, LONGEST_CHARS)] if result.text or not result.tool_calls else []
    room = max(0, LONGEST_CHARS - len(result.text))
    for call in result.tool_calls:
        parts.append({"type": "tool_call", "name": call.name, "arguments": _cut(call.arguments, room)})
        room = max(0, room - len(call.arguments))
    message: dict[str, Any] = {"role": "assistant", "parts": parts}
    if result.finish_reason is not None:
        message["finish_reason"] = result.finish_reason
    return _written([message])


def _part(text: str, room: int) -> dict[str, str]:
    return {"type": "text", "content": _cut(text, room)}


def _cut(text: str, room: int) -> str:
    left_out = len(text) - room
    return text if left_out <= 0 else f"{text[:room]}… [{left_out:,} characters left out]"


def _written(messages: list[dict[str, Any]]) -> str:
    return well_formed(json.dumps(messages, ensure_ascii=False, separators=(",", ":")))


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
