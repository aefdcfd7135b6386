"""Channels: at most three messages an incident, each said once, whatever fails in between."""

import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.monitor.incidents import IncidentBoard
from evenkeel.monitor.measuring import HoldUp
from evenkeel.monitor.notify import Channel, Notifier, Writer
from tests.monitor.notify.scene import (
    BILLING,
    FOUND,
    SPELLING,
    TONE,
    WORSE,
    Clock,
    Sink,
    Store,
    decided,
    over,
)

JUDGE = HoldUp("judge", "The judge fails", "Look at it.", 0.0)
UNPRICED = HoldUp("unpriced", "The model has no price", "Set it.", 0.0, ("shop",))
QUEUE = HoldUp("queue", "The store cannot be reached", "Check Redis.", 0.0)


class Desk:
    """A notifier with one channel, and what it said."""

    def __init__(self, *events, sink=None, causes=tuple, store=None, clock=None):
        self.store = store or Store(*events)
        self.sink = sink or Sink()
        self.clock = clock or Clock()
        self.said = []
        channel = Channel(self.sink, self.store, Writer(), self.said.append, self.clock, causes)
        self.notifier = Notifier(IncidentBoard(self.store), self.said.append, [channel])

    def after(self, seconds, *events):
        """Deliver, and once more so many seconds later; what was sent then."""
        self.store.add(*events)
        known = len(self.sink.sent)
        self.notifier.deliver()
        self.clock.now += seconds
        self.notifier.deliver()
        return [(notice.phase, notice.number) for notice in self.sink.sent[known:]]


def test_a_graver_effect_is_one_further_message_and_the_end_the_last():
    """Three in all, whatever comes between."""
    desk = Desk()
    assert desk.after(30, SPELLING) == [("opened", 1)]
    assert desk.after(30, WORSE) == [("updated", 2)]
    assert desk.after(30, FOUND) == []
    assert desk.after(30, over(SPELLING), over(WORSE), over(FOUND)) == [("resolved", 3)]
    assert desk.after(30, replace(SPELLING, id="again", at=2100.0)) == []


def test_what_is_over_within_the_window_is_never_told():
    desk = Desk()
    assert desk.after(30, SPELLING, over(SPELLING)) == []


def test_steadier_answers_page_nobody():
    fallen = replace(SPELLING, what="drift", measure="drift", direction="fallen")
    assert Desk().after(30, fallen) == []


def test_while_there_is_a_trouble_robustness_waits_and_people_are_told_why():
    """People get one message after a minute, one at the end, and then those about what is still up."""
    causes = [JUDGE]
    desk = Desk(causes=lambda: causes)
    assert desk.after(59, SPELLING, BILLING) == []
    assert desk.after(31, over(BILLING)) == []
    assert [message.title for message in desk.sink.messages] == [
        "[evenkeel] robustness is not being measured"
    ]
    assert "The judge fails. Look at it." in desk.sink.messages[0].body
    causes.clear()
    assert desk.after(30) == [("opened", 1)]
    assert desk.sink.messages[1].good


def test_incidents_do_not_wait_for_what_holds_up_another_route():
    """The message names the route; a cause that joins later is a message of its own."""
    causes = [UNPRICED]
    desk = Desk(causes=lambda: causes)
    assert desk.after(61, SPELLING) == [("opened", 1)]
    causes.append(QUEUE)
    desk.after(61)
    assert [message.title for message in desk.sink.messages] == [
        "[evenkeel] robustness is not being measured on shop",
        "[evenkeel] robustness is not being measured",
    ]


def test_a_store_that_is_away_is_reported_without_it():
    """The return is reported, too, although nothing could be noted meanwhile."""

    class AwayStore(Store):
        away = True

        def __getattribute__(self, name):
            if name in {"events", "sent", "put_sent"} and object.__getattribute__(self, "away"):
                raise OSError("connection refused")
            return super().__getattribute__(name)

    causes, store = [QUEUE], AwayStore()
    desk = Desk(store=store, causes=lambda: causes)
    for _ in range(3):
        with pytest.raises(OSError, match="refused"):
            desk.after(0)
        desk.clock.now += 45
    store.away = False
    causes.clear()
    desk.after(1)
    assert [message.good for message in desk.sink.messages] == [False, True]


def test_a_change_that_nobody_announced_waits_for_no_judge():
    """Reference prompts are compared by rule."""
    assert Desk(causes=lambda: [JUDGE]).after(30, SPELLING, FOUND) == [("opened", 1)]


def test_a_service_that_fails_is_tried_ever_more_seldom():
    """Tries follow after 1, 2 and 4 seconds; the log names the channel and not its address."""
    desk = Desk(sink=Sink(failures=3))
    desk.after(30, SPELLING)
    start = desk.clock.now
    for second in range(8):
        desk.clock.now = start + second
        desk.notifier.deliver()
    assert (desk.sink.attempts, len(desk.sink.sent)) == (4, 1)
    failed = [said for said in desk.said if "failed" in said]
    assert failed == [
        f"[evenkeel] the notification to CHAT_URL failed; trying again in {wait} s" for wait in (1, 2, 4)
    ]


def test_one_channel_that_fails_does_not_hold_up_another():
    """The one that had the message does not get it again while the other is tried."""
    store, clock, good, bad = Store(SPELLING), Clock(), Sink(name="good"), Sink(failures=2, name="bad")
    channels = [Channel(sink, store, Writer(), [].append, clock, window_s=0.0) for sink in (good, bad)]
    notifier = Notifier(IncidentBoard(store), [].append, channels)
    for _ in range(6):
        notifier.deliver()
        clock.now += 30
    assert (len(good.sent), len(bad.sent), bad.attempts) == (1, 1, 3)


def test_without_a_channel_events_are_announced_once():
    """A line for each state of an incident, however many alerts it has."""
    store, said = Store(SPELLING), []
    notifier = Notifier(IncidentBoard(store), said.append)
    notifier.deliver()
    notifier.deliver()
    store.add(replace(SPELLING, id="e-2", perturbation="general.tone"))
    notifier.deliver()
    store.add(decided("acknowledged"))
    notifier.deliver()
    opened, noted = said
    assert opened.startswith("[evenkeel] INCIDENT open: support: answers ")
    assert noted == opened.replace("open:", "acknowledged by ana:")


def test_only_the_monitor_that_may_notifies():
    store, said = Store(SPELLING), []
    Notifier(IncidentBoard(store), said.append, may=lambda: False).deliver()
    assert said == []


def test_run_outlives_a_failing_store(caplog):
    """The thread goes on after a fault of the store, and says so once."""
    stop, said = threading.Event(), []

    class FlakyStore(Store):
        calls = 0

        def events(self, limit):
            self.calls += 1
            if self.calls <= 3:
                raise OSError("store is locked")
            stop.set()
            return super().events(limit)

    Notifier(IncidentBoard(FlakyStore(SPELLING)), said.append).run(stop, poll_s=0)
    opened, back = said
    failed = [entry.getMessage() for entry in caplog.records]
    assert failed == ["incidents cannot be delivered (store is locked); trying again"]
    assert opened.startswith("[evenkeel] INCIDENT open: support: ")
    assert back == "[evenkeel] incidents are delivered again"


@given(st.lists(st.sampled_from(["spelling", "tone", "wait"]), max_size=30), st.integers(0, 3))
def test_never_more_than_three_messages_and_the_first_opens(steps, failures):
    """However alerts come and go, and however often the service fails."""
    desk = Desk(sink=Sink(failures=failures))
    up = {}
    for number, step in enumerate(steps):
        if step == "wait":
            desk.after(40)
            continue
        event = replace(SPELLING, id=f"e{number}", perturbation=step, at=1000.0 + number)
        desk.store.add(over(event, event.at) if up.get(step) else event)
        up[step] = not up.get(step)
        desk.notifier.deliver()
    for _ in range(4):
        desk.after(400)
    phases = [notice.phase for notice in desk.sink.sent]
    assert len(phases) <= 3
    assert phases[:1] in ([], ["opened"])
    assert [notice.number for notice in desk.sink.sent] == list(range(1, len(phases) + 1))
    if phases and len(phases) < 3:
        assert (phases[-1] == "resolved") == (not any(up.values()))


def test_what_needs_no_message_is_shown():
    """Acknowledged, then resolved after three messages: PagerDuty stops, and Slack's first one is right."""
    desk = Desk()
    desk.after(30, SPELLING)
    assert desk.after(30, decided("acknowledged", 1100.0)) == []
    assert desk.after(30, over(SPELLING, 1200.0)) == [("resolved", 2)]
    assert desk.after(30, replace(SPELLING, id="again", at=1300.0)) == [("updated", 3)]
    assert desk.after(30, over(replace(SPELLING, id="again"), 1400.0)) == []
    assert desk.sink.shown == ["acknowledged", "resolved"]


def test_alerts_that_follow_the_first_message_are_shown_without_another():
    """The message is changed from one of two rewordings to two of two; not once the incident is over."""
    desk = Desk()
    desk.after(30, SPELLING)
    assert desk.after(30, TONE) == []
    assert desk.sink.shown == ["open"]
    assert desk.after(30, decided("closed", 1500.0, "false_alarm")) == [("resolved", 2)]
    assert desk.after(30, replace(TONE, id="late", perturbation="general.casing")) == []
    assert desk.sink.shown == ["open"]


def test_the_first_message_waits_for_alerts_that_come_one_after_another():
    """Every five seconds one: until there was none for ten seconds, or a minute is over."""
    for last_s, sent_s in ((0, 30), (25, 35), (70, 60)):
        desk, waited_s = Desk(), 0
        while not desk.sink.sent:
            news = [replace(SPELLING, id=f"e{waited_s}", perturbation=f"p{waited_s}")]
            desk.after(1, *(news if waited_s % 5 == 0 and waited_s <= last_s else ()))
            waited_s += 1
        assert waited_s == sent_s


def test_one_message_that_is_refused_does_not_hold_up_the_others():
    """The service takes every other incident; the refused one is tried again behind them."""

    class Picky(Sink):
        def send(self, notice, receipt):
            return None if notice.incident.id == "cafe" else super().send(notice, receipt)

    desk = Desk(sink=Picky())
    desk.after(30, SPELLING, BILLING)
    desk.after(30)
    assert [notice.incident.id for notice in desk.sink.sent] == ["beef"]


def test_a_monitor_that_is_started_again_says_that_a_trouble_is_over():
    """The store has what the monitor before it said, which is taken back once."""
    causes = [JUDGE]
    desk = Desk(causes=lambda: causes)
    desk.after(0)
    desk.after(90)
    again = Desk(store=desk.store, sink=desk.sink, clock=desk.clock, causes=lambda: causes)
    again.after(90)
    causes.clear()
    Desk(store=desk.store, sink=desk.sink, clock=desk.clock).after(1)
    assert [message.good for message in desk.sink.messages] == [False, True]
