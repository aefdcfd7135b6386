"""Recorded runs over HTTP: `evenkeel up` in front of a scripted server that answers as the runs did."""

from __future__ import annotations

import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import TYPE_CHECKING, Any, Final

import httpx2

from benchmarks.agents.runs import tools_of
from benchmarks.machine import free_port, running
from evenkeel.metrics.similarity.likeness import likeness
from evenkeel.simulate.rewriter import marked_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from benchmarks.agents.models import StepModel
    from benchmarks.agents.runs import AgentRun, AgentStep

KINDS: Final = ["general.spelling", "general.casing", "general.punctuation"]
_SIMILAR: Final = 0.5
_SENTENCE: Final = 6
"""Blanks from which on an argument is a sentence."""
_CLIENTS: Final = 4
_TOKEN: Final = "a token of the benchmark"  # noqa: S105 - opens nothing else
# Seconds without progress after which the benchmark gives up.
_PATIENCE_S: Final = 300.0


class ScriptedServer:
    """Endpoint that answers as a model, and as a judge where the judge's model is asked."""

    def __init__(self) -> None:
        self.model: StepModel | None = None
        self.name = ""
        self.asked = 0
        self._lock = threading.Lock()

    def respond(self, body: bytes) -> bytes:
        """Return the body of a chat completion."""
        request = json.loads(body)
        if request["model"] == "judge":
            message: dict[str, Any] = {"role": "assistant", "content": _ruling(request)}
        else:
            with self._lock:
                self.asked += 1
                seed = self.asked
            assert self.model is not None
            message = self.model.answer(body, Random(seed))
        completion = {
            "id": f"chatcmpl-{self.asked}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": self.name if request["model"] != "judge" else "judge",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": len(body) // 4, "completion_tokens": 40},
        }
        return json.dumps(completion).encode()

    @contextmanager
    def listening(self) -> Iterator[int]:
        """Serve on a free port while the context lasts."""
        respond = self.respond

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                answer = respond(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


def _ruling(request: dict[str, Any]) -> str:
    """Return a judge's reply: other calls or arguments are a difference, texts have to be alike."""
    texts = marked_texts(request["messages"][1]["content"])
    reference = next(iter(texts.values()))
    ratings = [_rating(reference, text) for text in list(texts.values())[1:]]
    if len(ratings) == 1 and not next(reversed(texts))[-1].isdigit():
        return json.dumps({"explanation": "As compared.", "rating": ratings[0]})
    entries = []
    for number, rating in enumerate(ratings, start=1):
        entries.append({"pair": number, "explanation": "As compared.", "rating": rating})
    return json.dumps({"ratings": entries})


def _rating(reference: str, candidate: str) -> int:
    lines, others = reference.split("\n"), candidate.split("\n")
    calls, other_calls = ([line for line in side if line.startswith("call ")] for side in (lines, others))
    if calls != other_calls:
        return 1
    if not calls:
        return 3 if likeness(reference, candidate) >= _SIMILAR else 2
    return 3 if len(lines) == len(others) and all(map(_same_argument, lines, others)) else 2


def _same_argument(line: str, other: str) -> bool:
    """Return whether two lines are equal, or sentences that are alike."""
    sentences = min(line.count(" "), other.count(" ")) >= _SENTENCE
    return line == other or (sentences and likeness(line, other) >= _SIMILAR)


class ServedPlane:
    """`evenkeel up` with one route, seen through its API."""

    def __init__(self, port: int, admin: int) -> None:
        self._proxy = httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60.0)
        self._admin = httpx2.Client(
            base_url=f"http://127.0.0.1:{admin}", headers={"authorization": f"Bearer {_TOKEN}"}, timeout=60.0
        )

    def ask(self, steps: Sequence[AgentStep], runs: Sequence[AgentRun], model: str) -> None:
        """Send the requests of the steps, a few at a time, as a client that streams nothing."""
        tools = tools_of(runs)

        def send(step: AgentStep) -> None:
            body = {"model": model, "messages": list(step.before), "tools": tools}
            self._proxy.post("/v1/chat/completions", json=body).raise_for_status()

        with ThreadPoolExecutor(_CLIENTS) as pool:
            list(pool.map(send, steps))

    def settle(self, exchanges: int) -> None:
        """Wait until the exchanges are scored and folded."""
        deadline = time.monotonic() + _PATIENCE_S
        while self._scored() < exchanges:
            if time.monotonic() > deadline:
                raise SystemExit(f"only {self._scored():.0f} of {exchanges} exchanges are scored")
            time.sleep(1.0)
        time.sleep(5.0)  # the monitor folds every second

    def _scored(self) -> float:
        done = 0.0
        for line in self._admin.get("/metrics").text.splitlines():
            if line.startswith(("evenkeel_exchanges_scored_total", "evenkeel_exchanges_skipped_total")):
                done += float(line.rpartition(" ")[2])
        return done

    def read(self, path: str) -> Any:
        """Return what the API says at a path."""
        return self._admin.get(path).raise_for_status().json()


@contextmanager
def served(folder: Path, server: ScriptedServer, *, judge: bool) -> Iterator[ServedPlane]:
    """Start the scripted server and `evenkeel up` in front of it."""
    with server.listening() as upstream:
        port, admin = free_port(), free_port()
        url = f"http://127.0.0.1:{upstream}/v1"
        settings = {
            "listen": {"port": port},
            "access": {"port": admin},
            "data_dir": str(folder / "data"),
            "routes": [
                {
                    "upstream": url,
                    "sampling_rate": 1.0,
                    "trials": {"perturbations": KINDS},
                }
            ],
            "judge": {"base_url": url, "model": "judge"} if judge else None,
            "budget": {"tokens_per_day": None, "usd_per_day": None},
        }
        path = folder / "evenkeel.yaml"
        path.write_text(json.dumps(settings), encoding="utf-8")
        command = [sys.executable, "-m", "evenkeel", "up", "--config", str(path)]
        with running(
            command, cores=(0, 1), log=folder / "up.log", port=port, env={"EVENKEEL_ADMIN_TOKEN": _TOKEN}
        ):
            yield ServedPlane(port, admin)
