"""Model servers that cannot run here, by the form of their answers on the wire."""

from __future__ import annotations

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TEXT = "It clicks, and copying a file takes longer every day."
_STAMP = 1_760_000_000
_USAGE = {"prompt_tokens": 21, "completion_tokens": 13, "total_tokens": 34}


def vllm(model):
    """With what it adds: reasoning, tokens, the state of a transfer; most of it null."""
    message = {
        "role": "assistant", "content": TEXT, "refusal": None, "annotations": None, "audio": None,
        "function_call": None, "tool_calls": [], "reasoning": "Disks wear out.",
        "reasoning_content": "Disks wear out.",
    }  # fmt: skip
    choice = {
        "index": 0, "message": message, "logprobs": None, "finish_reason": "stop", "stop_reason": None,
        "token_ids": None,
    }  # fmt: skip
    return {
        "id": "chatcmpl-5b1d", "object": "chat.completion", "created": _STAMP, "model": model,
        "choices": [choice], "service_tier": None, "system_fingerprint": None,
        "usage": {**_USAGE, "prompt_tokens_details": None}, "prompt_logprobs": None,
        "prompt_token_ids": None, "kv_transfer_params": None,
    }  # fmt: skip


def ollama(model):
    """As little as there may be."""
    choice = {"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}
    return {
        "id": "chatcmpl-417", "object": "chat.completion", "created": _STAMP, "model": model,
        "system_fingerprint": "fp_ollama", "choices": [choice], "usage": _USAGE,
    }  # fmt: skip


def litellm(model):
    """With the group that was asked for as the model, and what the provider said beside the message."""
    message = {"content": TEXT, "role": "assistant", "provider_specific_fields": {"refusal": None}}
    choice = {"finish_reason": "stop", "index": 0, "message": message, "provider_specific_fields": {}}
    return {
        "id": "chatcmpl-9e", "created": _STAMP, "model": model, "object": "chat.completion",
        "system_fingerprint": None, "choices": [choice], "usage": _USAGE,
    }  # fmt: skip


PEERS = {"vllm": vllm, "ollama": ollama, "litellm": litellm}


@contextlib.contextmanager
def peers():
    """A server for all of them, each under its name; gives its address and the bodies it was sent."""
    bodies = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            bodies.append(body)
            name = self.path.split("/")[1]
            answer = json.dumps(PEERS[name](body["model"])).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", bodies
        finally:
            server.shutdown()
            thread.join()
