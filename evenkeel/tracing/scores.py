"""Ratings as scores of the user's own trace, by the score API of Langfuse or Phoenix.

A trial is scored on the trace that the request named in its `traceparent`; a request without one has no trace
of the user's. A score has the id of its verdict, so that one that is sent twice replaces itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import httpx2

from evenkeel.core.calls import blocking_client
from evenkeel.core.network import NetworkError
from evenkeel.shadow.sessions import trace_of
from evenkeel.tracing.outbox import Outbox

if TYPE_CHECKING:
    from evenkeel.core.exchange import Exchange
    from evenkeel.core.verdict import Verdict
    from evenkeel.stores.counters import Tally

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


class ScorePoster(Outbox[TraceScore]):
    """Sender of scores. `post` may be called from any thread and returns at once."""

    def __init__(self, service: ScoreService, url: str, key: str, tally: Tally) -> None:
        """Start the thread.

        The key is "public:secret" for Langfuse, an API key for Phoenix; with "" none is sent.
        """
        self._service = service
        self._url = url.rstrip("/")
        self._key = key
        self._client: httpx2.Client | None = None
        super().__init__(f"scores for {service}", tally, ("scores_posted", "scores_dropped"), _ROOM)

    def post(self, exchange: Exchange, verdict: Verdict) -> None:
        """Queue the score of a trial that has a rating, if its request belongs to a trace."""
        trace_id = trace_of(exchange)
        if trace_id and verdict.rating in _LABELS:
            self.put(_WRITERS[self._service](trace_id, verdict))

    def send(self, batch: list[TraceScore]) -> str:
        """Implement `Outbox.send`."""
        (score,) = batch
        auth, headers = None, {}
        if self._service == "langfuse":
            public, _, secret = self._key.partition(":")
            auth = httpx2.BasicAuth(public, secret)
        elif self._key:
            headers = {"authorization": f"Bearer {self._key}"}
        try:
            self._client = self._client or blocking_client(self._url, _TIMEOUT_S)
            answer = self._client.post(
                f"{self._url}{score.path}",
                json=score.body,
                headers=headers,
                auth=auth if auth is not None else httpx2.USE_CLIENT_DEFAULT,
            )
        except httpx2.TimeoutException:
            return "timeout"
        except (httpx2.HTTPError, httpx2.InvalidURL, NetworkError):
            return "unreachable"
        return "" if answer.is_success else f"http_{answer.status_code}"

    def ended(self) -> None:
        """Implement `Outbox.ended`."""
        if self._client is not None:
            self._client.close()
