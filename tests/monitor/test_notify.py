"""Notifications: every event reaches people, and a dead webhook stops nothing."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx2
import pytest

from evenkeel.monitor.notify import Notifier, Webhook, line, payload
from evenkeel.stores.monitor_state import AlertEvent
from tests.monitor.undelivered import Clock, Store

EVENT = AlertEvent(
    id="a1",
    at=1000.5,
    kind="raised",
    route="chat",
    model="m",
    perturbation="general.spelling",
    offset=7,
    trials=64,
    excess=0.31,
    summary="Robustness fell for general.spelling on chat (m).",
)
SECOND = replace(EVENT, id="a2", kind="resolved", excess=None)


@pytest.fixture
def receiver():
    """A webhook receiver on a free port, which answers as its `statuses` say, then with 200."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            self.server.received.append((self.path, self.headers["content-type"], json.loads(body)))
            self.send_response(self.server.statuses.pop(0) if self.server.statuses else 200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.received, server.statuses = [], []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def webhook(receiver):
    with httpx2.Client(timeout=5, trust_env=False) as client:
        yield Webhook(f"http://127.0.0.1:{receiver.server_port}/secret-path", client)


def test_without_a_webhook_events_are_announced_once():
    """Announcing is delivery if there is no webhook."""
    store, said = Store(EVENT, SECOND), []
    notifier = Notifier(store, said.append)
    assert notifier.deliver() == 2
    assert notifier.deliver() == 0
    assert said == [line(EVENT), line(SECOND)]
    assert said[0] == "[evenkeel] ALERT raised: Robustness fell for general.spelling on chat (m)."


def test_the_webhook_gets_the_whole_event_and_a_line_for_people(receiver, webhook):
    """Fields are there for machines, `text` for chat channels."""
    store, said = Store(EVENT), []
    assert Notifier(store, said.append, webhook).deliver() == 1
    assert store.waiting == []
    ((path, content_type, body),) = receiver.received
    assert (path, content_type) == ("/secret-path", "application/json")
    assert body == {
        "source": "evenkeel",
        "text": line(EVENT),
        "id": "a1",
        "at": 1000.5,
        "kind": "raised",
        "route": "chat",
        "model": "m",
        "perturbation": "general.spelling",
        "offset": 7,
        "trials": 64,
        "excess": 0.31,
        "summary": EVENT.summary,
        "what": "excess",
        "direction": "",
        "verdict": "",
        "trace_id": "",
        "run_trials": 0,
    }
    assert payload(SECOND)["excess"] is None


def test_a_refused_event_is_tried_again_later_and_does_not_hold_up_the_next(receiver, webhook):
    """An error status leaves the event for the next due attempt; the one behind it goes out now."""
    receiver.statuses = [500, 200]
    store, said, clock = Store(EVENT, SECOND), [], Clock()
    notifier = Notifier(store, said.append, webhook, clock=clock)
    assert notifier.deliver() == 1
    assert store.waiting == [EVENT]
    clock.now += 0.9
    assert notifier.deliver() == 0
    assert len(receiver.received) == 2, "not before the second is over"
    clock.now += 0.2
    assert notifier.deliver() == 1
    assert store.waiting == []
    assert said.count(line(EVENT)) == 1


def test_a_dead_webhook_is_tried_ever_more_seldom_and_its_address_is_not_told():
    """Attempts double their distance up to five minutes, and start small again after a success."""
    attempts = []

    def dead(request: httpx2.Request) -> httpx2.Response:
        attempts.append(clock.now)
        raise httpx2.ConnectError("refused", request=request)

    store, said, clock = Store(EVENT, SECOND), [], Clock()
    with httpx2.Client(transport=httpx2.MockTransport(dead)) as client:
        notifier = Notifier(store, said.append, Webhook("http://hooks.test/secret", client), clock=clock)
        start = clock.now
        for second in range(1200):
            clock.now = start + second
            assert notifier.deliver() == 0
    assert [at - start for at in attempts] == [0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 811, 1111]
    assert store.waiting == [EVENT, SECOND]
    assert said[:3] == [
        line(EVENT),
        line(SECOND),
        "[evenkeel] the alert webhook at hooks.test failed (ConnectError); trying again in 1 s",
    ]
    assert "secret" not in "".join(said)


def test_a_redirect_is_not_a_delivery(receiver, webhook):
    """An alert must not vanish behind a login page."""
    receiver.statuses = [302]
    store = Store(EVENT)
    assert Notifier(store, [].append, webhook).deliver() == 0
    assert store.waiting == [EVENT]


def test_run_outlives_a_failing_store():
    """The thread goes on after a fault of the store, and says so once."""
    stop, said = threading.Event(), []

    class FlakyStore(Store):
        calls = 0

        def undelivered(self, limit):
            self.calls += 1
            if self.calls <= 3:
                raise OSError("store is locked")
            stop.set()
            return super().undelivered(limit)

    Notifier(FlakyStore(EVENT), said.append).run(stop, poll_s=0)
    assert said == [
        "[evenkeel] alerts cannot be delivered: OSError('store is locked'); trying again",
        line(EVENT),
    ]
