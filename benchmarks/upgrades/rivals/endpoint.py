"""A scene's endpoint on a port of this machine, for tools that ask by HTTP."""

from __future__ import annotations

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import TYPE_CHECKING

from evenkeel.llm.price import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.upgrades.scenes import Scene


class Served:
    """Answers chat completions of one scene at the time that is set."""

    def __init__(self, scene: Scene) -> None:
        self.at = 0.0
        """Unix time in seconds at which the requests come, whatever the clock says."""
        self.url = ""
        self._scene = scene
        self._places = {prompt.text: place for place, prompt in enumerate(scene.collection.prompts)}
        self._lock = Lock()

    def complete(self, request: dict[str, object]) -> dict[str, object]:
        """The chat completion of a request.

        Raises: KeyError if it is none of the scene's prompts.
        """
        messages = request["messages"]
        assert isinstance(messages, list)
        asked = "\n".join(message["content"] for message in messages)
        with self._lock:
            said = self._scene.endpoint.ask(self._places[asked], self.at)
        return {
            "id": "chatcmpl-recorded",
            "object": "chat.completion",
            "created": int(self.at),
            "model": request.get("model", "recorded"),
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
            ],
            "usage": {
                "prompt_tokens": estimate_tokens(asked),
                "completion_tokens": estimate_tokens(said),
                "total_tokens": estimate_tokens(asked) + estimate_tokens(said),
            },
        }


@contextmanager
def served(scene: Scene) -> Iterator[Served]:
    """Serve a scene on a free port of the loopback until the block is left."""
    endpoint = Served(scene)

    class Handler(BaseHTTPRequestHandler):
        """One request."""

        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            """Answer a chat completion."""
            body = self.rfile.read(int(self.headers["content-length"]))
            answer = json.dumps(endpoint.complete(json.loads(body))).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named by the base class
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    endpoint.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
