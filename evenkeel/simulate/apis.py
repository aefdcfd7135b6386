"""The common part of simulated models' APIs on the wire, and chat completions.

An API reads requests and writes answers and events. The others are in `evenkeel.lab.simulated_apis`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from evenkeel.simulate.requests import (
    ModelRequest,
    WireError,
    read_form,
    read_messages,
    read_model,
    read_temperature,
    wants_usage,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


# A token, roughly: up to eight characters of a word with the space before it.
_PIECE: Final = re.compile(r"\s*\S{1,8}")
# Characters of a prompt that count as one token.
_TOKEN_LENGTH: Final = 4


@dataclass(frozen=True, slots=True)
class SimulatedCompletion:
    """An answer with everything the wire needs."""

    id: str
    created: int
    """Unix time in seconds."""
    model: str
    system_fingerprint: str | None
    text: str
    prompt_tokens: int
    flex: bool = False
    """True if the flex tier answered."""
    finish_reason: str = "stop"
    """Why the text ended, as chat completions name it."""

    @property
    def tokens(self) -> int:
        """Tokens of the answer."""
        return len(pieces(self.text))

    @property
    def short_id(self) -> str:
        """Id that tells this answer from others, for its parts."""
        return self.id[-24:]


def count_prompt_tokens(characters: int) -> int:
    """A rough count of tokens: one for every four characters, rounded up."""
    return -(-characters // _TOKEN_LENGTH)


def pieces(text: str) -> list[str]:
    """The text cut into tokens, whose concatenation is the text.

    Returns: [] for the empty text.
    """
    # Blanks at the end belong to no word.
    cut = _PIECE.findall(text)
    rest = text[sum(map(len, cut)) :]
    return [*cut, rest] if rest else cut


def chat_usage(completion: SimulatedCompletion) -> dict[str, Any]:
    """Token counts as chat completions and completions name them."""
    return {
        "prompt_tokens": completion.prompt_tokens,
        "completion_tokens": completion.tokens,
        "total_tokens": completion.prompt_tokens + completion.tokens,
    }


def data_event(content: dict[str, Any]) -> bytes:
    """A server-sent event without a name."""
    return b"data: %b\n\n" % json.dumps(content).encode()


def named_event(content: dict[str, Any]) -> bytes:
    """A server-sent event under the name of its `type`."""
    return b"event: %b\ndata: %b\n\n" % (content["type"].encode(), json.dumps(content).encode())


class SimulatedApi(Protocol):
    """A way to ask a model over HTTP."""

    path: str
    """Path that it is served at."""
    id_prefix: str
    """Beginning of the ids of its answers; all of them say "simulated"."""

    def read(self, raw: dict[str, Any]) -> ModelRequest:
        """Read a request.

        Raises: WireError (400) that names the parameter, if one has another shape than the API
            describes.
        """
        ...

    def body(self, completion: SimulatedCompletion) -> bytes:
        """The body of an answer that is not streamed."""
        ...

    def events(self, completion: SimulatedCompletion, *, include_usage: bool) -> Iterator[bytes]:
        """The events of a streamed answer, the one that ends it included."""
        ...

    def error(self, error: WireError) -> bytes:
        """The body of an error answer: OpenAI's shape, where an API has none of its own."""
        return error.body()


DONE: Final = b"data: [DONE]\n\n"


def answer_head(completion: SimulatedCompletion, kind: str) -> dict[str, Any]:
    """Return what answers with choices, and their events, begin with."""
    return {
        "id": completion.id,
        "object": kind,
        "created": completion.created,
        "model": completion.model,
        "system_fingerprint": completion.system_fingerprint,
        **tier(completion),
    }


def tier(completion: SimulatedCompletion) -> dict[str, str]:
    """The service tier, where it is not the usual one."""
    return {"service_tier": "flex"} if completion.flex else {}


def choice_answer(completion: SimulatedCompletion, kind: str, choice: dict[str, Any]) -> bytes:
    """The body of an answer with one choice."""
    body = {**answer_head(completion, kind), "choices": [choice], "usage": chat_usage(completion)}
    return json.dumps(body).encode()


def stream_end(
    completion: SimulatedCompletion, head: dict[str, Any], *, include_usage: bool
) -> Iterator[bytes]:
    """The counts, if asked for, and `[DONE]`."""
    if include_usage:
        yield data_event({**head, "choices": [], "usage": chat_usage(completion)})
    yield DONE


class SimulatedChat(SimulatedApi):
    """Chat completions."""

    path = "/v1/chat/completions"
    id_prefix = "chatcmpl-simulated-"

    def read(self, raw: dict[str, Any]) -> ModelRequest:
        """Read a request with `messages`."""
        model = read_model(raw)
        include_usage = wants_usage(raw)
        return ModelRequest(
            model=model,
            temperature=read_temperature(raw),
            messages=read_messages(raw.get("messages")),
            stream=bool(raw.get("stream")),
            include_usage=include_usage,
            form=read_form(raw.get("response_format")),
            flex=raw.get("service_tier") == "flex",
        )

    def body(self, completion: SimulatedCompletion) -> bytes:
        """Write one choice with the message."""
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": completion.text, "refusal": None},
            "logprobs": None,
            "finish_reason": completion.finish_reason,
        }
        return choice_answer(completion, "chat.completion", choice)

    def events(self, completion: SimulatedCompletion, *, include_usage: bool) -> Iterator[bytes]:
        """The first event holds the role, the last but one the finish reason, then comes `[DONE]`.

        With `include_usage` a further one without choices holds the token counts.
        """
        head = answer_head(completion, "chat.completion.chunk")
        usage: dict[str, Any] = {"usage": None} if include_usage else {}

        def event(delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
            return data_event({**head, "choices": [choice], **usage})

        yield event({"role": "assistant", "content": "", "refusal": None})
        # The events of the text differ in the text alone: everything around it is written once.
        before, after = event({"content": "\0"}).split(rb'"\u0000"')
        for piece in pieces(completion.text):
            yield before + json.dumps(piece).encode() + after
        yield event({}, completion.finish_reason)
        yield from stream_end(completion, head, include_usage=include_usage)
