"""Ratings as scores of the user's own trace, by the score API of Langfuse or Phoenix.

A trial is scored on the trace that the request named in its `traceparent`; a request without one has no trace
of the user's. Scores wait in a bounded queue for one thread, which nothing ever waits for: those that find it
full and those that the service does not take are counted and dropped. A score has the id of its verdict, so
that one that is sent twice replaces itself.
"""

from __future__ import annotations

import logging
import threading
from queue import Empty, Full, Queue
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import httpx2

from evenkeel.core.calls import blocking_client
from evenkeel.core.network import NetworkError
from evenkeel.shadow.sessions import trace_of

if TYPE_CHECKING:
    from evenkeel.core.exchange import Exchange
    from evenkeel.core.verdict import Verdict
    from evenkeel.stores.counters import Tally

log = logging.getLogger("evenkeel.scores")

ScoreService = Literal["langfuse", "phoenix"]
# Scores that wait while the service is away; later ones are dropped and counted.
_ROOM: Final = 2_000
_TIMEOUT_S: Final = 5.0
_LABELS: Final = {3: "same content", 2: "details differ", 1: "different message"}


class TraceScore(NamedTuple):
    """A score as a service takes it."""

    path: str
    body: dict[str, Any]


def langfuse_score(trace_id: str, verdict: Verdict) -> TraceScore:
    """Return a numeric score, by https://api.reference.langfuse.com (scores, create)."""
    body = {
        "id": verdict.id,
        "traceId": trace_id,
        "name": f"evenkeel.{verdict.perturbation}",
        "value": verdict.rating,
        "dataType": "NUMERIC",
        "comment": _LABELS[verdict.rating or 0],
    }
    return TraceScore("/api/public/scores", body)


def phoenix_score(trace_id: str, verdict: Verdict) -> TraceScore:
    """Return an annotation of a trace, by Phoenix's REST API (trace_annotations)."""
    annotation = {
        "trace_id": trace_id,
        "name": f"evenkeel.{verdict.perturbation}",
        "annotator_kind": "LLM" if verdict.scoring.scorer == "judge" else "CODE",
        "identifier": verdict.id,
        "result": {"score": verdict.rating, "label": _LABELS[verdict.rating or 0]},
    }
    return TraceScore("/v1/trace_annotations", {"data": [annotation]})


_WRITERS: Final = {"langfuse": langfuse_score, "phoenix": phoenix_score}


class ScorePoster:
    """Sender of scores. `post` may be called from any thread and returns at once."""

    def __init__(self, service: ScoreService, url: str, key: str, tally: Tally) -> None:
        """Start the thread.

        The key is "public:secret" for Langfuse, an API key for Phoenix; with "" none is sent.
        """
        self._service = service
        self._url = url.rstrip("/")
        self._key = key
        self._tally = tally
        self._waiting: Queue[TraceScore] = Queue(_ROOM)
        self._ended = threading.Event()
        self._failing = False
        self._thread = threading.Thread(target=self._run, name="scores", daemon=True)
        self._thread.start()

    def post(self, exchange: Exchange, verdict: Verdict) -> None:
        """Queue the score of a trial that has a rating, if its request belongs to a trace."""
        trace_id = trace_of(exchange)
        if not trace_id or verdict.rating not in _LABELS:
            return
        try:
            self._waiting.put_nowait(_WRITERS[self._service](trace_id, verdict))
        except Full:
            self._tally.add("scores_dropped", reason="queue_full")

    def close(self, timeout_s: float) -> None:
        """Send what waits, for at most so long; count the rest as lost."""
        self._ended.set()
        # The thread is a daemon: a service that never answers cannot hold up the end of the process.
        self._thread.join(timeout_s)
        if self._waiting.qsize():
            self._tally.add("scores_dropped", self._waiting.qsize(), reason="shutdown")

    def _run(self) -> None:
        try:
            client = blocking_client(self._url, _TIMEOUT_S)
        except NetworkError as error:
            log.warning("scores cannot be sent: %s", error)
            return
        with client:
            while not (self._ended.is_set() and self._waiting.empty()):
                try:
                    score = self._waiting.get(timeout=0.2)
                except Empty:
                    continue
                self._send(client, score)

    def _send(self, client: httpx2.Client, score: TraceScore) -> None:
        auth, headers = None, {}
        if self._service == "langfuse":
            public, _, secret = self._key.partition(":")
            auth = httpx2.BasicAuth(public, secret)
        elif self._key:
            headers = {"authorization": f"Bearer {self._key}"}
        try:
            answer = client.post(
                f"{self._url}{score.path}",
                json=score.body,
                headers=headers,
                auth=auth if auth is not None else httpx2.USE_CLIENT_DEFAULT,
            )
            reason = "" if answer.is_success else f"http_{answer.status_code}"
        except httpx2.TimeoutException:
            reason = "timeout"
        except (httpx2.HTTPError, httpx2.InvalidURL):
            reason = "unreachable"
        if reason:
            self._tally.add("scores_dropped", reason=reason)
        else:
            self._tally.add("scores_posted")
        if bool(reason) != self._failing:
            self._failing = bool(reason)
            outcome = (
                f"are not taken ({reason}); they are dropped and counted" if reason else "are taken again"
            )
            log.warning("scores for %s %s", self._service, outcome)
