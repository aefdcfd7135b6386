"""Scores on the user's own trace: what services get, and that nothing waits for them."""

import base64
import threading

import msgspec
import pytest

from evenkeel.stores.counters import Tally
from evenkeel.tracing.scores import ScorePoster
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT
from tests.services import receiver
from tests.stores import examples

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
TRACED = altered(
    examples.exchange(1), request_headers=(("traceparent", f"00-{TRACE_ID}-b7ad6b7169203331-01"),)
)
MOVED = msgspec.structs.replace(VERDICT, id="v7", rating=1)


def service(status=200):
    """A service that answers with a status and keeps path, authorization and body."""
    return receiver(status, lambda post, body: (post.path, post.headers.get("authorization", ""), body))


def counted(tally):
    return {
        f"{name} {labels.get('reason', '')}".strip(): int(number)
        for name, labels, number in tally.snapshot()["counters"]
    }


def test_langfuse_gets_a_numeric_score_of_the_trace():
    """The public API gets it, with both keys; a trial without a trace or without a rating is none."""
    tally = Tally()
    with service() as (url, taken):
        poster = ScorePoster("langfuse", url, "pk-1:sk-2", tally)
        poster.post(TRACED, MOVED)
        poster.post(examples.exchange(2), MOVED)
        poster.post(TRACED, msgspec.structs.replace(MOVED, rating=None, unsure=True))
        poster.close(240)
    path, authorization, body = taken.pop()
    assert not taken
    assert path == "/api/public/scores"
    assert base64.b64decode(authorization.removeprefix("Basic ")) == b"pk-1:sk-2"
    assert body == {
        "id": "v7",
        "traceId": TRACE_ID,
        "name": "evenkeel.general.spelling",
        "value": 1,
        "dataType": "NUMERIC",
        "comment": "different message",
    }
    assert counted(tally) == {"scores_posted": 1}


def test_phoenix_gets_an_annotation_of_the_trace():
    """The REST API gets it, with a key as a bearer token."""
    with service() as (url, taken):
        poster = ScorePoster("phoenix", url, "key", Tally())
        poster.post(TRACED, MOVED)
        poster.close(240)
    path, authorization, body = taken.pop()
    assert (path, authorization) == ("/v1/trace_annotations", "Bearer key")
    assert body["data"] == [
        {
            "trace_id": TRACE_ID,
            "name": "evenkeel.general.spelling",
            "annotator_kind": "LLM",
            "identifier": "v7",
            "result": {"score": 1, "label": "different message"},
        }
    ]


@pytest.mark.parametrize(("status", "reason"), [(401, "http_401"), (None, "unreachable")])
def test_a_service_that_takes_nothing_is_counted(status, reason):
    """Each score is lost under a reason, and closing comes to an end."""
    tally = Tally()
    with service(status or 200) as (url, _):
        poster = ScorePoster("phoenix", url if status else "http://127.0.0.1:9", "", tally)
        for _ in range(5):
            poster.post(TRACED, MOVED)
        poster.close(240)
    assert counted(tally) == {f"scores_dropped {reason}": 5}


def test_posting_does_not_wait_for_the_service():
    """Five scores are handed over while the first one has no answer yet."""
    tally, answering = Tally(), threading.Event()
    with receiver(200, lambda *_: answering.wait(240)) as (url, _):
        poster = ScorePoster("phoenix", url, "", tally)
        for _ in range(5):
            poster.post(TRACED, MOVED)
        assert counted(tally) == {}
        answering.set()
        poster.close(240)
    assert counted(tally) == {"scores_posted": 5}
