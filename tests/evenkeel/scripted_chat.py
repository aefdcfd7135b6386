"""A scripted OpenAI-compatible model on the loopback."""

from __future__ import annotations

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class ScriptedChat:
    """Answers each prompt by a function of it; counts how often each came.

    It holds its answers back from the `hold_after`-th on until `release` is set.
    """

    def __init__(self, answer, hold_after=None):
        self.answer = answer
        self.prompts = Counter()
        self.hold_after = hold_after
        self.holding, self.release = threading.Event(), threading.Event()
        self.status = 200
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.release.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(self):
        chat = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                body = json.dumps(chat.completion(request)).encode()
                self.send_response(chat.status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.send_header("retry-after-ms", "1")
                self.end_headers()
                self.wfile.write(body)

        return Handler

    def completion(self, request):
        if self.status != 200:
            return {"error": {"message": "scripted", "type": "scripted", "code": None, "param": None}}
        text = self.reply_to(request["messages"][-1]["content"])
        return {
            "id": "c", "object": "chat.completion", "created": 0, "model": "scripted",
            "choices": [{
                "index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text},
            }],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        }  # fmt: skip

    def reply_to(self, prompt):
        self.count(prompt)
        return self.answer(prompt)

    def count(self, prompt):
        """Remember a prompt, and wait if it is one to be held back."""
        self.prompts[prompt] += 1
        if self.hold_after is not None and self.prompts.total() > self.hold_after:
            self.holding.set()
            self.release.wait(60)


def rating(number):
    """A judge's reply in due form."""
    return json.dumps({"explanation": "Clear and good.", "rating": number})
