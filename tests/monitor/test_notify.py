"""Notifications: every event reaches people, grouped by route; a dead webhook or channel stops nothing."""

from __future__ import annotations

import json
import logging
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.util import find_spec

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.monitor.notify import (
    AppriseSender,
    Channel,
    Grouping,
    Groups,
    Message,
    Notifier,
    UnknownServiceError,
    Webhook,
    line,
    payload,
)
from evenkeel.stores.monitor_state import AlertEvent


class Store:
    """Undelivered events in memory."""

    def __init__(self, *events):
        self.waiting = list(events)

    def undelivered(self, limit):
        """Events not marked yet."""
        return self.waiting[:limit]

    def mark_delivered(self, event_id):
        """Forget an event."""
        self.waiting = [event for event in self.waiting if event.id != event_id]


class Clock:
    """A clock that is moved by hand."""

    now = 50.0

    def __call__(self):
        """The time it was set to."""
        return self.now


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

with_apprise = pytest.mark.skipif(not find_spec("apprise"), reason='pip install "evenkeel-proxy[notify]"')


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
        "measure": "",
        "limit": None,
        "limit_source": "",
        "change": "",
        "incident": "",
        "after": None,
        "since": None,
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


SPELLING = replace(EVENT, id="e1", at=1000.0, summary="Robustness fell for spelling.")

CASING = replace(SPELLING, id="e2", perturbation="general.casing", summary="Robustness fell for casing.")

BILLING = replace(SPELLING, id="e3", route="billing", summary="Robustness fell on billing.")

OVER = replace(SPELLING, id="e4", kind="resolved", summary="Robustness recovered for spelling.")

AGAIN = replace(SPELLING, id="e5", summary="Robustness fell for spelling again.")

DRIFT = replace(SPELLING, id="e6", what="drift", direction="risen", summary="Spelling drifts.")


class Sender:
    """Keeps what it is given; fails as often as it is told."""

    name = "CHAT_URL"

    def __init__(self, failures=0):
        self.failures = failures
        self.attempts = 0
        self.sent = []

    def send(self, message):
        """Take the message, unless it is to fail."""
        self.attempts += 1
        if self.failures:
            self.failures -= 1
            return False
        self.sent.append(message)
        return True


@pytest.fixture
def clock():
    return Clock()


def channel(sender, clock, troubles=tuple, said=None, **grouping):
    announce = (said if said is not None else []).append
    return Channel(sender, announce, clock, Grouping(window_s=30, **grouping), troubles)


def test_what_happens_on_a_route_within_the_window_is_one_message(clock):
    """Two perturbations of one route are told together once the window is over, another route apart."""
    sender = Sender()
    chat = channel(sender, clock, console_url="http://console.test/")
    assert chat.take([SPELLING]) == set()
    clock.now += 10
    assert chat.take([SPELLING, CASING, BILLING]) == set()
    clock.now += 20
    assert chat.take([SPELLING, CASING, BILLING]) == {"e1", "e2"}
    (message,) = sender.sent
    assert message.title == "[evenkeel] chat: 2 raised"
    assert message.body == (
        "RAISED: Robustness fell for spelling.\n\nRAISED: Robustness fell for casing.\n\nhttp://console.test/"
    )
    assert not message.good
    clock.now += 10
    assert chat.take([BILLING]) == {"e3"}
    assert sender.sent[1].title == "[evenkeel] billing: 1 raised"


def test_the_end_of_an_alert_that_was_told_is_told(clock):
    """A resolution alone is good news."""
    sender = Sender()
    chat = channel(sender, clock)
    chat.take([OVER, BILLING])
    clock.now += 30
    assert chat.take([OVER, BILLING]) == {"e4", "e3"}
    assert [(message.title, message.good) for message in sender.sent] == [
        ("[evenkeel] chat: 1 resolved", True),
        ("[evenkeel] billing: 1 raised", False),
    ]


def test_what_cancels_out_within_the_window_is_not_told(clock):
    """Raised and resolved: no message; raised, resolved and raised again: one, about the last."""
    sender = Sender()
    chat = channel(sender, clock)
    chat.take([SPELLING, OVER])
    clock.now += 30
    assert chat.take([SPELLING, OVER]) == {"e1", "e4"}
    assert sender.sent == []
    chat.take([SPELLING, OVER, AGAIN])
    clock.now += 30
    assert chat.take([SPELLING, OVER, AGAIN]) == {"e1", "e4", "e5"}
    assert [message.body for message in sender.sent] == ["RAISED: Robustness fell for spelling again."]


def test_drift_and_excess_of_a_cell_are_two_alerts(clock):
    """The end of one says nothing about the other."""
    sender = Sender()
    chat = channel(sender, clock)
    chat.take([DRIFT, OVER])
    clock.now += 30
    chat.take([DRIFT, OVER])
    assert sender.sent[0].title == "[evenkeel] chat: 1 raised, 1 resolved"


CHANGED = replace(
    EVENT, id="c1", route="chat", model="gpt-4o", perturbation="", what="change", measure="references",
    change="aa", incident="aa", after=900.0, since=950.0, summary="gpt-4o on chat answers differently.",
)  # fmt: skip
MORE = replace(
    CHANGED, id="c2", route="billing", change="bb", summary="gpt-4o on billing answers differently."
)
CHANGE_OVER = replace(CHANGED, id="c3", kind="resolved", measure="", summary="The change on chat is over.")


def test_the_payload_of_a_change_names_it_and_its_incident():
    """And the interval in which it came about."""
    body = payload(MORE)
    assert (body["what"], body["change"], body["incident"]) == ("change", "bb", "aa")
    assert (body["after"], body["since"]) == (900.0, 950.0)
    assert body["text"] == "[evenkeel] ALSO ON billing: gpt-4o on billing answers differently."
    assert line(CHANGED) == "[evenkeel] ALERT raised: gpt-4o on chat answers differently."


def test_a_change_on_two_routes_is_one_message(clock):
    """Within the window; the cells' alerts of a route are another."""
    sender = Sender()
    chat = channel(sender, clock, console_url="http://console.test")
    chat.take([CHANGED, MORE, SPELLING])
    clock.now += 30
    assert chat.take([CHANGED, MORE, SPELLING]) == {"c1", "c2", "e1"}
    message, other = sender.sent
    assert message.title == "[evenkeel] gpt-4o answers differently on chat and billing"
    assert message.body == (
        "RAISED: gpt-4o on chat answers differently.\n\n"
        "ALSO ON billing: gpt-4o on billing answers differently.\n\n"
        "http://console.test/changes/aa"
    )
    assert (message.good, message.more) == (False, False)
    assert other.title == "[evenkeel] chat: 1 raised"


def test_a_change_that_shows_on_a_further_route_later_is_no_second_alarm(clock):
    """It says where else, and is sent as information."""
    sender = Sender()
    chat = channel(sender, clock)
    for event in (CHANGED, MORE):
        chat.take([event])
        clock.now += 30
        chat.take([event])
    assert [(one.title, one.more) for one in sender.sent] == [
        ("[evenkeel] gpt-4o answers differently on chat", False),
        ("[evenkeel] gpt-4o has changed: also on billing", True),
    ]


def test_a_suspicion_is_called_one_and_its_finding_is_told_too(clock):
    """Though both are about the same change."""
    sender = Sender()
    chat = channel(sender, clock)
    suspected = replace(CHANGED, id="c0", measure="traits", summary="Suspected: …")
    for event in (suspected, CHANGED):
        chat.take([event])
        clock.now += 30
        chat.take([event])
    assert [one.title for one in sender.sent] == [
        "[evenkeel] gpt-4o may answer differently on chat",
        "[evenkeel] gpt-4o answers differently on chat",
    ]


def test_the_end_of_a_change_is_told(clock):
    """Unless it was raised within the same window."""
    sender = Sender()
    chat = channel(sender, clock)
    chat.take([CHANGE_OVER])
    clock.now += 30
    chat.take([CHANGE_OVER])
    assert [(one.title, one.good) for one in sender.sent] == [
        ("[evenkeel] gpt-4o: the change is over on chat", True)
    ]
    chat.take([CHANGED, CHANGE_OVER])
    clock.now += 30
    assert chat.take([CHANGED, CHANGE_OVER]) == {"c1", "c3"}
    assert len(sender.sent) == 1


def test_a_change_does_not_wait_for_a_judge(clock):
    """References are compared by rule, so what holds back alerts on robustness does not hold it back."""
    sender = Sender()
    chat = channel(sender, clock, lambda: ["The judge fails."])
    chat.take([CHANGED, SPELLING])
    clock.now += 30
    assert chat.take([CHANGED, SPELLING]) == {"c1"}


@given(st.lists(st.sampled_from(["a", "b"]), max_size=12), st.integers(0, 12))
@settings(max_examples=60, deadline=None)
def test_people_know_the_latest_state_however_events_fall_into_windows(cells, cut):
    """After the last window, what was told of each alert is what it is."""
    up = dict.fromkeys("ab", False)
    events = []
    for number, cell in enumerate(cells):
        up[cell] = not up[cell]
        kind = "raised" if up[cell] else "resolved"
        events.append(replace(SPELLING, id=str(number), perturbation=cell, kind=kind, summary=cell))
    groups, told = Groups(window_s=10), dict.fromkeys("ab", False)
    for now, part in ((0, events[:cut]), (20, events[cut:])):
        groups.add(part, now)
        for batch in list(groups.due(now + 10)):
            groups.settle(batch)
            for text in batch.message.body.split("\n\n") if batch.message else ():
                kind, _, cell = text.partition(": ")
                told[cell] = kind == "RAISED"
    assert told == up


def test_while_there_is_a_trouble_alerts_wait_and_people_are_told_why(clock):
    """One message after a minute, one at the end, and then what is still up."""
    sender, troubles = Sender(), ["The judge cannot be used."]
    chat = channel(sender, clock, lambda: troubles)
    for _ in range(6):
        assert chat.take([SPELLING, CASING, OVER]) == set()
        clock.now += 12
    chat.take([SPELLING, CASING, OVER])
    assert [(message.title, message.body) for message in sender.sent] == [
        ("[evenkeel] alerts on robustness are held back", "The judge cannot be used.")
    ]
    troubles.clear()
    assert chat.take([SPELLING, CASING, OVER]) == {"e1", "e2", "e4"}
    assert [message.title for message in sender.sent[1:]] == [
        "[evenkeel] alerts on robustness mean something again",
        "[evenkeel] chat: 1 raised",
    ]
    assert sender.sent[2].body == "RAISED: Robustness fell for casing."


def test_a_short_trouble_delays_and_is_not_told(clock):
    """A judge that stumbles for a moment is nobody's business."""
    sender, troubles = Sender(), ["The judge cannot be used."]
    chat = channel(sender, clock, lambda: troubles)
    chat.take([SPELLING])
    clock.now += 40
    assert chat.take([SPELLING]) == set()
    troubles.clear()
    assert chat.take([SPELLING]) == {"e1"}
    assert [message.title for message in sender.sent] == ["[evenkeel] chat: 1 raised"]


def test_a_service_that_fails_is_tried_ever_more_seldom(clock):
    """After 1, 2, 4 seconds; what comes meanwhile joins the message, and the log names the variable."""
    sender, said = Sender(failures=3), []
    chat = channel(sender, clock, said=said)
    chat.take([SPELLING])
    clock.now += 30
    start, settled = clock.now, set()
    for second in range(8):
        clock.now = start + second
        settled = chat.take([SPELLING, CASING])
        if settled:
            break
    assert (second, sender.attempts, settled) == (7, 4, {"e1", "e2"})
    assert said == [
        f"[evenkeel] the notification to CHAT_URL failed; trying again in {wait} s" for wait in (1, 2, 4)
    ]


def test_an_event_is_delivered_when_everybody_has_settled_it(clock):
    """A channel that gathers leaves events in the store, so that a restart loses none."""
    sender, store, said = Sender(), Store(SPELLING, CASING), []
    notifier = Notifier(store, said.append, None, [channel(sender, clock)], clock=clock)
    assert notifier.deliver() == 0
    assert store.waiting == [SPELLING, CASING]
    restarted = Notifier(store, said.append, None, [channel(sender, clock)], clock=clock)
    assert restarted.deliver() == 0
    clock.now += 30
    assert restarted.deliver() == 2
    assert store.waiting == []
    assert [message.title for message in sender.sent] == ["[evenkeel] chat: 2 raised"]


def test_one_channel_that_fails_does_not_hold_up_another(clock):
    """The one that had the message does not get it again while the other is tried."""
    good, bad, store = Sender(), Sender(failures=2), Store(SPELLING)
    channels = [channel(good, clock), channel(bad, clock)]
    notifier = Notifier(store, [].append, None, channels, clock=clock)
    notifier.deliver()
    for _ in range(6):
        clock.now += 30
        notifier.deliver()
    assert (len(good.sent), len(bad.sent), bad.attempts) == (1, 1, 3)
    assert store.waiting == []


@with_apprise
@pytest.mark.parametrize(("good", "kind"), [(False, "failure"), (True, "success")])
def test_a_message_arrives_with_title_body_and_kind(receiver, good, kind):
    """What is over is marked as good news."""
    sender = AppriseSender("CHAT", f"json://127.0.0.1:{receiver.server_port}/secret")
    assert sender.send(Message("Title", "First.\n\nSecond.", good))
    ((path, _, body),) = receiver.received
    assert path.startswith("/secret")
    assert (body["title"], body["message"], body["type"]) == ("Title", "First.\n\nSecond.", kind)


@with_apprise
def test_a_refusal_and_a_dead_service_are_failures_and_tell_no_address(receiver, caplog, capfd):
    """The address is a secret: neither the log nor the terminal has it."""
    caplog.set_level(logging.DEBUG, logger="apprise")
    sender = AppriseSender("CHAT", f"json://127.0.0.1:{receiver.server_port}/secret")
    receiver.statuses = [500]
    assert not sender.send(Message("Title", "Body", good=False))
    dead = AppriseSender("CHAT", "json://127.0.0.1:9/secret")
    assert not dead.send(Message("Title", "Body", good=False))
    assert "secret" not in caplog.text
    assert "secret" not in "".join(capfd.readouterr())


@with_apprise
def test_an_unknown_service_is_named_by_its_variable():
    """What stands in the variable is not shown."""
    with pytest.raises(UnknownServiceError, match=r"^CHAT holds no address that apprise knows$"):
        AppriseSender("CHAT", "nonsense-token")
