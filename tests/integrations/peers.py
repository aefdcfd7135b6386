"""Model servers that cannot run here, by what they send: answers, streams, lists of models, errors.

The forms are those of vLLM 0.33.0 (`ChatCompletionResponse`, `ChatCompletionStreamResponse`,
`ErrorResponse`), Ollama (`openai/openai.go`), LiteLLM's proxy 1.106 (as it answered), OpenRouter and
llama.cpp's server (as documented).
"""

from __future__ import annotations

import contextlib
import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

TEXT = "It clicks, and copying a file takes longer every day."
PIECES = ("It clicks, and copying", " a file takes longer every day.")
MISSING = "no-such-model"
"""A model that no server has."""
_STAMP = 1_760_000_000
_USAGE = {"prompt_tokens": 21, "completion_tokens": 13, "total_tokens": 34}


@dataclass(frozen=True)
class Peer:
    """What one server sends."""

    whole: Callable[[str], dict[str, Any]]
    """The answer of a model."""
    stream: Callable[[str], list[str]]
    """The lines of the same as a stream: events, comments."""
    models: dict[str, Any]
    error: dict[str, Any]
    """For a model that it does not have, with status 404."""
    path: str = "/v1"


def _events(*bodies: Mapping[str, Any]) -> list[str]:
    return [f"data: {json.dumps(body)}" for body in bodies]


def _vllm(model: str) -> dict[str, Any]:
    """With what it adds: reasoning, tokens, the state of a transfer; most of it null."""
    message = {
        "role": "assistant", "content": TEXT, "refusal": None, "annotations": None, "audio": None,
        "function_call": None, "reasoning": "Disks wear out.",
    }  # fmt: skip
    choice = {
        "index": 0, "message": message, "logprobs": None, "finish_reason": "stop", "stop_reason": None,
        "token_ids": None, "routed_experts": None, "weight_versions": None,
    }  # fmt: skip
    return {
        "id": "chatcmpl-5b1d", "object": "chat.completion", "created": _STAMP, "model": model,
        "choices": [choice], "service_tier": None, "system_fingerprint": "vllm-0.33.0-1f0c93aa",
        "usage": {**_USAGE, "prompt_tokens_details": None, "completion_tokens_details": None},
        "prompt_logprobs": None, "prompt_token_ids": None, "prompt_text": None, "kv_transfer_params": None,
        "ec_transfer_params": None, "metrics": None,
    }  # fmt: skip


def _vllm_stream(model: str) -> list[str]:
    """The fields that were set, null or not; with `--sse-keep-alive-interval`, a comment while it thinks."""
    frame = {"id": "chatcmpl-5b1d", "object": "chat.completion.chunk", "created": _STAMP, "model": model}
    piece = {"index": 0, "logprobs": None, "finish_reason": None}
    first = {**piece, "delta": {"role": "assistant", "content": ""}}
    thought = {**piece, "delta": {"reasoning": "Disks wear out."}, "token_ids": None}
    texts = [{**piece, "delta": {"content": text}, "token_ids": None} for text in PIECES]
    last = {
        "index": 0, "delta": {"content": ""}, "logprobs": None, "finish_reason": "stop", "stop_reason": None,
        "token_ids": None, "weight_versions": None,
    }  # fmt: skip
    later = [{**frame, "choices": [one], "kv_transfer_params": None} for one in (thought, *texts, last)]
    usage = {**frame, "choices": [], "usage": _USAGE, "system_fingerprint": "vllm-0.33.0-1f0c93aa"}
    opening = {**frame, "choices": [first], "prompt_token_ids": None, "prompt_text": None}
    return [*_events(opening), ": keep-alive", *_events(*later, usage), "data: [DONE]"]


def _ollama(model: str) -> dict[str, Any]:
    """As little as there may be."""
    choice = {"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}
    return {
        "id": "chatcmpl-417", "object": "chat.completion", "created": _STAMP, "model": model,
        "system_fingerprint": "fp_ollama", "choices": [choice], "usage": _USAGE,
    }  # fmt: skip


def _ollama_stream(model: str) -> list[str]:
    """The role stands in every event; reasoning comes beside an empty content."""
    frame = {
        "id": "chatcmpl-417", "object": "chat.completion.chunk", "created": _STAMP, "model": model,
        "system_fingerprint": "fp_ollama",
    }  # fmt: skip

    def event(content: str, finish: str | None = None, **more: str) -> dict[str, Any]:
        delta = {"role": "assistant", "content": content, **more}
        return {**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    events = [event("", reasoning="Disks wear out."), *map(event, PIECES), event("", "stop")]
    return [*_events(*events, {**frame, "choices": [], "usage": _USAGE}), "data: [DONE]"]


def _litellm(model: str) -> dict[str, Any]:
    """With the group that was asked for as the model, and what the provider said beside the message."""
    message = {"content": TEXT, "role": "assistant", "provider_specific_fields": {"refusal": None}}
    choice = {"finish_reason": "stop", "index": 0, "message": message, "provider_specific_fields": {}}
    return {
        "id": "chatcmpl-9e", "created": _STAMP, "model": model, "object": "chat.completion",
        "system_fingerprint": None, "choices": [choice], "usage": _USAGE,
    }  # fmt: skip


def _litellm_stream(model: str) -> list[str]:
    """Without a finish reason before the last event."""
    frame = {"id": "chatcmpl-9e", "created": _STAMP, "model": model, "object": "chat.completion.chunk"}
    deltas = [{"content": "", "role": "assistant"}, *({"content": text} for text in PIECES)]
    events = [{**frame, "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    last = {**frame, "choices": [{"finish_reason": "stop", "index": 0, "delta": {}}]}
    return [*_events(*events, last, {**frame, "choices": [], "usage": _USAGE}), "data: [DONE]"]


def _openrouter(model: str) -> dict[str, Any]:
    """With the provider that answered."""
    message = {"role": "assistant", "content": TEXT, "refusal": None, "reasoning": None}
    choice = {
        "logprobs": None, "finish_reason": "stop", "native_finish_reason": "stop", "index": 0,
        "message": message,
    }  # fmt: skip
    return {
        "id": "gen-1760000000-a1", "provider": "Somebody", "model": model, "object": "chat.completion",
        "created": _STAMP, "choices": [choice], "usage": {**_USAGE, "cost": 0.00002},
    }  # fmt: skip


def _openrouter_stream(model: str) -> list[str]:
    """Comments keep the connection open until the provider answers."""
    frame = {
        "id": "gen-1760000000-a1", "provider": "Somebody", "model": model, "object": "chat.completion.chunk",
        "created": _STAMP,
    }  # fmt: skip

    def event(content: str, finish: str | None = None) -> dict[str, Any]:
        choice = {
            "index": 0, "delta": {"role": "assistant", "content": content}, "finish_reason": finish,
            "native_finish_reason": finish, "logprobs": None,
        }  # fmt: skip
        return {**frame, "choices": [choice]}

    last = {**event("", "stop"), "usage": {**_USAGE, "cost": 0.00002}}
    waiting = ": OPENROUTER PROCESSING"
    return [waiting, waiting, *_events(*map(event, PIECES), last), "data: [DONE]"]


def _llama_cpp(model: str) -> dict[str, Any]:
    """With how long it took."""
    message = {"role": "assistant", "content": TEXT, "reasoning_content": "Disks wear out."}
    return {
        "choices": [{"finish_reason": "stop", "index": 0, "message": message}], "created": _STAMP,
        "model": model, "system_fingerprint": "b6881-8b11deea4", "object": "chat.completion", "usage": _USAGE,
        "id": "chatcmpl-DHvc", "timings": {"prompt_n": 21, "prompt_ms": 20.5, "predicted_n": 13},
    }  # fmt: skip


def _llama_cpp_stream(model: str) -> list[str]:
    """The first content is null; the usage stands in an event of its own, with the timings."""
    frame = {
        "created": _STAMP, "id": "chatcmpl-DHvc", "model": model, "system_fingerprint": "b6881-8b11deea4",
        "object": "chat.completion.chunk",
    }  # fmt: skip
    deltas = [
        {"role": "assistant", "content": None},
        {"reasoning_content": "Disks wear out."},
        *({"content": text} for text in PIECES),
    ]
    events = [{"choices": [{"finish_reason": None, "index": 0, "delta": delta}], **frame} for delta in deltas]
    last = {"choices": [{"finish_reason": "stop", "index": 0, "delta": {}}], **frame}
    usage = {"choices": [], **frame, "usage": _USAGE, "timings": {"prompt_n": 21, "predicted_n": 13}}
    return [*_events(*events, last, usage), "data: [DONE]"]


def _model(name: str, owner: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": _STAMP, "owned_by": owner, **more}


def _listing(one: dict[str, Any]) -> dict[str, Any]:
    return {"object": "list", "data": [one]}


def _error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


PEERS = {
    "vllm": Peer(
        _vllm,
        _vllm_stream,
        _listing(
            _model("m", "vllm", root="m", parent=None, max_model_len=4096, permission=[{"id": "modelperm-1"}])
        ),
        _error(f"The model `{MISSING}` does not exist.", type="NotFoundError", param="model", code=404),
    ),
    "ollama": Peer(
        _ollama,
        _ollama_stream,
        _listing(_model("llama3.2:latest", "library")),
        _error(f"model '{MISSING}' not found", type="not_found_error", param=None, code=None),
    ),
    "litellm": Peer(
        _litellm,
        _litellm_stream,
        _listing(_model("support", "openai", mode="chat")),
        _error("Invalid model name", type="invalid_request_error", param=None, code="404"),
    ),
    "openrouter": Peer(
        _openrouter,
        _openrouter_stream,
        {"data": [{"id": "somebody/m", "created": _STAMP, "name": "Somebody: m"}]},
        _error(f"No endpoints found for {MISSING}.", code=404),
        path="/api/v1",
    ),
    "llama-cpp": Peer(
        _llama_cpp,
        _llama_cpp_stream,
        {"models": [{"name": "m.gguf"}], **_listing(_model("m.gguf", "llamacpp", meta={"n_params": 1}))},
        _error("model not found", type="not_found_error", code=404),
    ),
}


@contextlib.contextmanager
def peers() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server for all of them, each under its name; gives its address and the bodies it was sent."""
    bodies: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path.endswith("/models"):
                self._send(200, "application/json", json.dumps(self._peer().models))
            else:  # of an API of the server's own
                self._send(200, "text/plain", self.path)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            bodies.append(body)
            peer = self._peer()
            if body["model"] == MISSING:
                self._send(404, "application/json", json.dumps(peer.error))
            elif body.get("stream"):
                text = "".join(f"{line}\n\n" for line in peer.stream(body["model"]))
                self._send(200, "text/event-stream", text)
            else:
                self._send(200, "application/json", json.dumps(peer.whole(body["model"])))

        def _peer(self) -> Peer:
            peer = PEERS[self.path.split("/")[1]]
            assert self.path.startswith(f"/{self.path.split('/')[1]}{peer.path}/"), self.path
            return peer

        def _send(self, status: int, kind: str, text: str) -> None:
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", bodies
        finally:
            server.shutdown()
            thread.join()
