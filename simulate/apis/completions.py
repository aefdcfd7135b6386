"""`POST /v1/completions`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from evenkeel.simulate.apis.chat import DONE
from evenkeel.simulate.faults import WireError
from evenkeel.simulate.model import Message
from evenkeel.simulate.requests import ModelRequest, read_model, wants_usage
from evenkeel.simulate.wire import Completion, bundles, chat_usage, data_event

if TYPE_CHECKING:
    from collections.abc import Iterator


class CompletionsApi:
    """Completions of one prompt: a string, or a list with one string. There are no tools."""

    path: Final = "/v1/completions"
    id_prefix: Final = "cmpl-simulated-"

    def read(self, raw: dict[str, Any]) -> ModelRequest:
        """Read a request with `prompt`, which is taken for the user's words."""
        model = read_model(raw)
        include_usage = wants_usage(raw)
        prompt = raw.get("prompt")
        if isinstance(prompt, list) and len(prompt) == 1:
            prompt = prompt[0]
        if not isinstance(prompt, str):
            raise WireError(
                400, "prompt must be a string, or a list of one: this model is simulated.", param="prompt"
            )
        return ModelRequest(
            model=model,
            messages=(Message("user", prompt),),
            stream=bool(raw.get("stream")),
            include_usage=include_usage,
            tools=(),
            tool_choice=None,
        )

    def body(self, completion: Completion) -> bytes:
        """One choice with the text."""
        return json.dumps(
            {
                **_head(completion),
                "choices": [_choice(completion.text, "stop")],
                "usage": chat_usage(completion),
            }
        ).encode()

    def events(
        self, completion: Completion, *, include_usage: bool, tokens_per_event: int
    ) -> Iterator[bytes]:
        """The text in pieces, the finish reason with an empty one, the counts if asked for, `[DONE]`."""
        head = _head(completion)
        usage: dict[str, Any] = {"usage": None} if include_usage else {}
        for piece in bundles(completion.text, tokens_per_event):
            yield data_event({**head, "choices": [_choice(piece, None)], **usage})
        yield data_event({**head, "choices": [_choice("", "stop")], **usage})
        if include_usage:
            yield data_event({**head, "choices": [], "usage": chat_usage(completion)})
        yield DONE

    def error(self, error: WireError) -> bytes:
        """OpenAI's shape."""
        return error.body()


def _head(completion: Completion) -> dict[str, Any]:
    return {
        "id": completion.id,
        "object": "text_completion",
        "created": completion.created,
        "model": completion.model,
        "system_fingerprint": completion.system_fingerprint,
    }


def _choice(text: str, finish_reason: str | None) -> dict[str, Any]:
    return {"text": text, "index": 0, "logprobs": None, "finish_reason": finish_reason}
