"""Notifies people and machines of alerts: a line to print, a webhook, and channels with grouped messages.

The `Notifier` hands what the store holds to its recipients: a `Webhook` gets every event at once, as JSON;
a `Channel` gathers events by route and by change (`Groups`), holds those on robustness back while the judge
or the pipeline is broken, and gives messages to a sender such as `AppriseSender`. A failed delivery is tried
again after 1 s, 2 s, 4 s … up to 5 min.
"""

from __future__ import annotations

import logging
import time
import warnings
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol
from urllib.parse import urlsplit

import httpx2

from evenkeel.core.figures import listing

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence

    from evenkeel.stores.monitor_state import AlertEvent, MonitorStore


_TIMEOUT_S = 5.0

Outcome = Literal["delivered", "refused", "unreachable"]


class Webhook:
    """Posts JSON to a URL. The URL is a secret (Slack's are) and is never shown, only its host."""

    def __init__(self, url: str, client: httpx2.Client | None = None) -> None:
        self._url = url
        self._client = client or httpx2.Client(timeout=_TIMEOUT_S)
        self.host = urlsplit(url).hostname or "?"
        self.problem = ""
        """Why the last post failed, "" if it did not."""

    def post(self, body: dict[str, Any]) -> Outcome:
        """Post once. Redirects and errors are failures, with the reason in `problem`."""
        try:
            response = self._client.post(self._url, json=body)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            self.problem = type(error).__name__
            return "unreachable"
        if response.is_success:
            self.problem = ""
            return "delivered"
        self.problem = f"status {response.status_code}"
        return "refused"

    def close(self) -> None:
        """Close its connections."""
        self._client.close()


class WebhookRecipient:
    """Hands each event to the webhook, in order.

    An event that is refused does not hold up the ones behind it; while nothing answers, nothing
    else is tried.
    """

    def __init__(self, webhook: Webhook, announce: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._webhook = webhook
        self._announce = announce
        self._backoff = Backoff(clock)

    def take(self, events: Sequence[AlertEvent]) -> set[str]:
        """Post what is due; returns the ids of the events that were taken."""
        if not events or not self._backoff.due:
            return set()
        taken, failed = set(), False
        for event in events:
            outcome = self._webhook.post(payload(event))
            if outcome == "delivered":
                taken.add(event.id)
                continue
            failed = True
            if outcome == "unreachable":
                break
        self._pace(failed=failed)
        return taken

    def _pace(self, *, failed: bool) -> None:
        if not failed:
            self._backoff.succeed()
            return
        self._announce(
            f"[evenkeel] the alert webhook at {self._webhook.host} failed ({self._webhook.problem}); "
            f"trying again in {self._backoff.fail():.0f} s"
        )


_FIRST_S = 1.0
_LONGEST_S = 300.0


class Backoff:
    """The pace of attempts at one receiver."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Start with an attempt allowed at once; `clock` counts seconds from any time on."""
        self._clock = clock
        self._next_s = _FIRST_S
        self._due = clock()

    @property
    def due(self) -> bool:
        """Whether an attempt may be made now."""
        return self._clock() >= self._due

    def succeed(self) -> None:
        """Start small again."""
        self._next_s = _FIRST_S

    def fail(self) -> float:
        """Wait longer than the last time; returns for how many seconds."""
        waited = self._next_s
        self._due = self._clock() + waited
        self._next_s = min(2 * waited, _LONGEST_S)
        return waited


def payload(event: AlertEvent) -> dict[str, Any]:
    """What is posted to the webhook.

    Returns: all fields of the event (`id`, `at` in Unix seconds, `kind` "raised" or "resolved",
    `route`, `model`, `perturbation`, `offset`, `trials`, `excess` or null, `summary`, `what`,
    `direction`; of a change also `change`, `incident`, `after` and `since`), `source` "evenkeel", and `text`,
    the line for people that Slack and compatible receivers show. An event may arrive more than once, always
    with the same `id`.
    """
    return {**asdict(event), "source": "evenkeel", "text": line(event)}


def line(event: AlertEvent) -> str:
    """The event as one line for people."""
    return f"[evenkeel] {_announced(event)}: {event.summary}"


def _announced(event: AlertEvent) -> str:
    """What kind of news it is; a change on one more route is no further alarm."""
    return _heading(event) if event.is_more and event.kind == "raised" else f"ALERT {event.kind}"


_LIMIT = 1000


class Recipient(Protocol):
    """Someone who gets alert events."""

    def take(self, events: Sequence[AlertEvent]) -> set[str]:
        """Take what can be taken now; returns the ids of the events that are settled.

        Called again and again, with all events that are not settled yet, oldest first.
        """
        ...


class Notifier:
    """Delivers events from the store, each at least once, in order.

    An event is marked as delivered only after the webhook and every channel have settled it, so
    none is lost by a restart; after one, a recipient that had it may get it again. A recipient that
    fails is tried again by later calls and does not hold up the others. Runs apart from the
    monitor, which never waits for it.
    """

    def __init__(
        self,
        store: MonitorStore,
        announce: Callable[[str], None],
        webhook: Webhook | None = None,
        channels: Sequence[Recipient] = (),
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wire the recipients.

        Args:
            store: holds the events.
            announce: gets each event as a line, once.
            webhook: gets each event as JSON.
            channels: get messages.
            clock: seconds from any time on.
        """
        self._store = store
        self._announce = announce
        first = (WebhookRecipient(webhook, announce, clock),) if webhook else ()
        self._recipients: tuple[Recipient, ...] = (*first, *channels)
        self._settled: list[set[str]] = [set() for _ in self._recipients]
        """By recipient: events that others still have to settle."""
        self._announced: set[str] = set()

    def deliver(self) -> int:
        """Announce what is new and hand out what is due; returns how many events were delivered."""
        waiting = self._store.undelivered(_LIMIT)
        for event in waiting:
            if event.id not in self._announced:
                self._announce(line(event))
                self._announced.add(event.id)
        for recipient, settled in zip(self._recipients, self._settled, strict=True):
            settled.update(recipient.take([event for event in waiting if event.id not in settled]))
        delivered = 0
        for event in waiting:
            if all(event.id in settled for settled in self._settled):
                self._store.mark_delivered(event.id)
                self._announced.discard(event.id)
                for settled in self._settled:
                    settled.discard(event.id)
                delivered += 1
        return delivered

    def run(self, stop: threading.Event, poll_s: float = 1.0) -> None:
        """Deliver every `poll_s` seconds until `stop` is set; a failing store is tried again."""
        reported = ""
        while not stop.is_set():
            try:
                self.deliver()
                reported = ""
            except Exception as error:  # noqa: BLE001 - the boundary of this thread: it must live on
                if repr(error) != reported:
                    reported = repr(error)
                    self._announce(f"[evenkeel] alerts cannot be delivered: {error!r}; trying again")
            stop.wait(poll_s)


@dataclass(frozen=True, slots=True)
class Message:
    """One notification."""

    title: str
    body: str
    good: bool
    """Whether it only says that something is over."""
    more: bool = False
    """Whether it only adds to an alarm that was sent before."""


class Group(NamedTuple):
    """What makes one message: the cells' alerts of a route, or a change on whatever routes."""

    route: str = ""
    incident: str = ""

    @classmethod
    def of(cls, event: AlertEvent) -> Group:
        """Where an event belongs."""
        return cls(incident=event.incident) if event.what == "change" else cls(event.route)


class Batch(NamedTuple):
    """What became of a group's events once its window was over."""

    group: Group
    ids: frozenset[str]
    """All events that it settles."""
    message: Message | None
    """None if they cancel out: raised and resolved before anybody was notified."""


@dataclass(slots=True)
class _Waiting:
    """Events of one group that have not been sent yet."""

    since: float
    events: dict[str, AlertEvent] = field(default_factory=dict)


class Groups:
    """Gathers events by route or by change, for a window that begins with the first of them."""

    def __init__(self, window_s: float, console_url: str = "") -> None:
        """Begin with nothing gathered.

        Args:
            window_s: how long to gather.
            console_url: where people reach the console, "" if that is not known.
        """
        self._window_s = window_s
        self._console_url = console_url.rstrip("/")
        self._groups: dict[Group, _Waiting] = {}

    def add(self, events: Sequence[AlertEvent], now: float) -> None:
        """Gather events, in log order; one that is gathered already changes nothing."""
        for event in events:
            waiting = self._groups.setdefault(Group.of(event), _Waiting(now))
            waiting.events[event.id] = event

    def due(self, now: float, *, robustness: bool = True) -> Iterator[Batch]:
        """The groups whose window is over, the one that has waited longest first.

        Args:
            now: seconds, as in `add`.
            robustness: whether to give those of cells' alerts too.
        """
        ready = [
            group
            for group, waiting in self._groups.items()
            if now - waiting.since >= self._window_s and (robustness or group.incident)
        ]
        for group in sorted(ready, key=lambda one: self._groups[one].since):
            events = list(self._groups[group].events.values())
            news = _news(events)
            write = self._of_change if group.incident else self._of_route
            yield Batch(group, frozenset(event.id for event in events), write(news) if news else None)

    def settle(self, batch: Batch) -> None:
        """Forget the events of a batch; a message about others of the group waits for a window of its own."""
        del self._groups[batch.group]

    def _of_route(self, news: Sequence[AlertEvent]) -> Message:
        raised = [event for event in news if event.kind == "raised"]
        resolved = [event for event in news if event.kind != "raised"]
        counts = [
            f"{len(events)} {word}" for events, word in ((raised, "raised"), (resolved, "resolved")) if events
        ]
        lines = [f"{event.kind.upper()}: {event.summary}" for event in (*raised, *resolved)]
        if self._console_url:
            lines.append(f"{self._console_url}/")
        title = f"[evenkeel] {news[0].route}: {', '.join(counts)}"
        return Message(title, "\n\n".join(lines), good=not raised)

    def _of_change(self, news: Sequence[AlertEvent]) -> Message:
        """One message about a change, however many routes it shows on."""
        raised = [event for event in news if event.kind == "raised"]
        known = bool(raised) and all(event.is_more for event in raised)
        routes = listing(list(dict.fromkeys(event.route for event in raised or news)))
        model = news[0].model or "The model"
        if not raised:
            title = f"{model}: the change is over on {routes}"
        elif known:
            title = f"{model} has changed: also on {routes}"
        elif any(event.measure == "references" for event in raised):
            title = f"{model} answers differently on {routes}"
        else:
            title = f"{model} may answer differently on {routes}"
        lines = [
            f"{_heading(event)}: {event.summary}"
            for event in (*raised, *(one for one in news if one not in raised))
        ]
        if self._console_url:
            lines.append(f"{self._console_url}/changes/{news[0].incident}")
        return Message(f"[evenkeel] {title}", "\n\n".join(lines), good=not raised, more=known)


def _heading(event: AlertEvent) -> str:
    return f"ALSO ON {event.route}" if event.kind == "raised" and event.is_more else event.kind.upper()


def _news(events: Sequence[AlertEvent]) -> list[AlertEvent]:
    """The last event of each alert that is another than it was before all of these.

    An alert that was raised and is over, or the other way round, is as it was.
    """
    by_alert: dict[tuple[str, ...], list[AlertEvent]] = {}
    for event in events:
        name = event.route, event.model, event.perturbation, event.what, event.change
        by_alert.setdefault(name, []).append(event)
    return [of_one[-1] for of_one in by_alert.values() if of_one[0].kind == of_one[-1].kind]


class UnknownServiceError(Exception):
    """An address that apprise makes nothing of. The message does not show it."""


class AppriseSender:
    """Sends to what one apprise URL names. The URL is a secret: it is never shown or logged."""

    def __init__(self, name: str, url: str) -> None:
        """Read the URL.

        Args:
            name: what to call it in logs, such as the variable that holds the URL.
            url: see https://github.com/caronc/apprise/wiki.

        Raises:
            ImportError: the extra `notify` is not installed.
            UnknownServiceError: no such service.
        """
        import apprise  # noqa: PLC0415 - an optional extra

        # Its log lines hold parts of addresses.
        logging.getLogger("apprise").disabled = True
        self.name = name
        asset = apprise.AppriseAsset(async_mode=False, app_id="evenkeel", app_desc="evenkeel")
        self._service = apprise.Apprise(asset=asset)
        with warnings.catch_warnings():
            # Its services load modules that newer Pythons lack, and warn of it.
            warnings.simplefilter("ignore")
            known = self._service.add(url)
        if not known:
            raise UnknownServiceError(f"{name} holds no address that apprise knows")
        kinds = apprise.NotifyType
        self._good, self._more, self._bad = kinds.SUCCESS, kinds.INFO, kinds.FAILURE

    def send(self, message: Message) -> bool:
        """Whether the service took it."""
        try:
            kind = self._good if message.good else self._more if message.more else self._bad
            return bool(self._service.notify(title=message.title, body=message.body, notify_type=kind))
        except Exception:  # noqa: BLE001 - named boundary: a hundred services, each with errors of its own
            return False


class Sender(Protocol):
    """Something that shows a message to people."""

    name: str
    """For logs; not a secret."""

    def send(self, message: Message) -> bool:
        """Whether it was taken. May block for seconds; raises nothing."""
        ...


@dataclass(frozen=True, slots=True)
class Grouping:
    """How events become messages."""

    window_s: float = 30.0
    """What happens on a route within that time is one message."""
    trouble_after_s: float = 60.0
    """A trouble that lasts this long is reported; alerts wait from its first second."""
    console_url: str = ""


class Channel:
    """Hands groups of events to one sender.

    While there is a trouble, alerts on robustness wait; one message says so once it has lasted, and one that
    it is over. Changes that nobody announced are found without a judge, so they do not wait. What cancels
    out while it waits is never sent. After a failure the sender is tried again after 1 s, 2 s, 4 s … up to
    5 min.
    """

    def __init__(
        self,
        sender: Sender,
        announce: Callable[[str], None],
        clock: Callable[[], float],
        grouping: Grouping | None = None,
        troubles: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        """Open the channel.

        Args:
            sender: shows messages.
            announce: gets a line when the sender fails.
            clock: seconds from any time on.
            grouping: how events become messages.
            troubles: what makes robustness alerts meaningless now, a sentence each.
        """
        self._sender = sender
        self._announce = announce
        self._clock = clock
        self._grouping = grouping or Grouping()
        self._troubles = troubles
        self._groups = Groups(self._grouping.window_s, self._grouping.console_url)
        self._backoff = Backoff(clock)
        self._trouble_since: float | None = None
        self._trouble_told = False

    def take(self, events: Sequence[AlertEvent]) -> set[str]:
        """Gather events and send what is due; returns the ids of those that are settled.

        Call it often, with everything that is not settled yet, also when there is nothing.
        """
        now = self._clock()
        self._groups.add(events, now)
        held = self._hold(now)
        settled: set[str] = set()
        for batch in list(self._groups.due(now, robustness=not held)):
            if batch.message is not None and not self._send(batch.message):
                break
            self._groups.settle(batch)
            settled |= batch.ids
        return settled

    def _hold(self, now: float) -> bool:
        """Whether alerts have to wait; tells people about it."""
        troubles = self._troubles()
        if troubles:
            if self._trouble_since is None:
                self._trouble_since = now
            lasting = now - self._trouble_since >= self._grouping.trouble_after_s
            if lasting and not self._trouble_told:
                text = "\n\n".join(troubles)
                title = "[evenkeel] alerts on robustness are held back"
                self._trouble_told = self._send(Message(title, text, good=False))
            return True
        self._trouble_since = None
        if self._trouble_told:
            over = Message(
                "[evenkeel] alerts on robustness mean something again",
                "What held them back is over.",
                good=True,
            )
            self._trouble_told = not self._send(over)
        return False

    def _send(self, message: Message) -> bool:
        if not self._backoff.due:
            return False
        if self._sender.send(message):
            self._backoff.succeed()
            return True
        self._announce(
            f"[evenkeel] the notification to {self._sender.name} failed; "
            f"trying again in {self._backoff.fail():.0f} s"
        )
        return False
