"""Model servers that cannot run here, by what they send: answers, streams, lists of models, errors.

What each sends lies in `answers`, with `MODEL` in place of the model's name. The forms are those of vLLM
0.33.0 (`ChatCompletionResponse`, `ChatCompletionStreamResponse`, `ErrorResponse`; a stream with
`--sse-keep-alive-interval`), Ollama (`openai/openai.go`), LiteLLM's proxy 1.106 (as it answered), OpenRouter
(whose comments keep a connection open until the provider answers) and llama.cpp's server (as documented).
"""

import contextlib
import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from tests.services import served

TEXT = "It clicks, and copying a file takes longer every day."
PIECES = ("It clicks, and copying", " a file takes longer every day.")
MISSING = "no-such-model"
"""A model that no server has."""
PEERS = {
    "vllm": "/v1",
    "ollama": "/v1",
    "litellm": "/v1",
    "openrouter": "/api/v1",
    "llama-cpp": "/v1",
}
"""Path of each server's API."""


def says(peer, name, model=""):
    """Return what a server sends about a model."""
    return (
        (Path(__file__).parent / "answers" / peer / name).read_text(encoding="utf-8").replace("MODEL", model)
    )


@contextlib.contextmanager
def peers():
    """A server for all of them, each under its name; gives its address and the bodies it was sent."""
    bodies = []

    class PeerHandler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            if self.path.endswith("/models"):
                self._send(200, "application/json", self._says("models.json"))
            else:  # of an API of the server's own
                self._send(200, "text/plain", self.path)

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            bodies.append(body)
            if body["model"] == MISSING:
                self._send(404, "application/json", self._says("error.json"))
            elif body.get("stream"):
                events = self._says("stream.txt", body["model"]).replace("\n", "\n\n")
                self._send(200, "text/event-stream", events)
            else:
                self._send(200, "application/json", self._says("answer.json", body["model"]))

        def _says(self, name, model=""):
            peer = self.path.split("/")[1]
            assert self.path.startswith(f"/{peer}{PEERS[peer]}/"), self.path
            return says(peer, name, model)

        def _send(self, status, kind, text):
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    with served(PeerHandler) as url:
        yield url, bodies
