"""Channels of messages, and problems that make alerts meaningless."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from evenkeel.monitor.incidents import worst_trials
from evenkeel.monitor.notify import (
    AppriseSink,
    Channel,
    Contact,
    Pace,
    PagerDuty,
    Slack,
    Teams,
    UnknownServiceError,
    Webhook,
    Writer,
)
from evenkeel.runtime.choices import addresses, notification_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evenkeel.core.exchange import ExchangeQueue
    from evenkeel.monitor.monitor import Monitor
    from evenkeel.monitor.notify import Message, Notice, Sink
    from evenkeel.runtime.instruments import JudgeHealth
    from evenkeel.settings import Settings
    from evenkeel.stores.monitor_state import MonitorStore
    from evenkeel.stores.verdict_log import VerdictLog

_LOOK_EVERY_S = 5.0
_QUEUE_STALLED_S = 900.0
_MONITOR_STALLED_S = 120.0


def unknown_services(settings: Settings) -> list[str]:
    """Return a problem for each address that apprise does not support.

    Takes about a second, because apprise loads all of its services.
    """
    problems = []
    for variable, url in addresses(settings).items():
        try:
            AppriseSink(variable, url)
        except UnknownServiceError as error:
            problems.append(f"alerts.notify: {error}. See https://github.com/caronc/apprise/wiki.")
    return problems


class LateSink:
    """Opens its service at the first message, because loading all of apprise would delay the start."""

    def __init__(self, name: str, url: str, announce: Callable[[str], None]) -> None:
        """Keep the address, which is a secret.

        Args:
            name: variable that holds the address.
            url: address of the service.
            announce: called with a line if apprise does not support the address.
        """
        self.name = name
        self.problem = ""
        self._url = url
        self._announce = announce
        self._sink: AppriseSink | None = None

    def send(self, notice: Notice, receipt: str) -> str | None:
        """Send a notice, as `Sink.send` does."""
        sink = self._opened()
        return None if sink is None else sink.send(notice, receipt)

    def show(self, notice: Notice, receipt: str) -> bool:
        """Do nothing and return True: everything sent is a message."""
        del notice, receipt
        return True

    def tell(self, message: Message) -> bool:
        """Send a message, as `Sink.tell` does."""
        sink = self._opened()
        return sink is not None and sink.tell(message)

    def _opened(self) -> AppriseSink | None:
        try:
            self._sink = self._sink or AppriseSink(self.name, self._url)
        except (ImportError, UnknownServiceError) as error:
            self._announce(f"[evenkeel] {error}")
        return self._sink


class Troubles:
    """Problems that make alerts on robustness meaningless, like the alerts that mute them in Prometheus.

    Looks at most every five seconds; a store that can't be read leaves what was seen last.
    """

    def __init__(
        self, health: JudgeHealth, queue: ExchangeQueue, monitor: Monitor, clock: Callable[[], float]
    ) -> None:
        self._health = health
        self._queue = queue
        self._monitor = monitor
        self._clock = clock
        self._seen: tuple[str, ...] = ()
        self._look_at = float("-inf")

    def __call__(self) -> Sequence[str]:
        """Return a sentence for each problem; none while all is well."""
        now = self._clock()
        # A clock that was set back must not stop the checks.
        if now >= self._look_at or now < self._look_at - _LOOK_EVERY_S:
            self._look_at = now + _LOOK_EVERY_S
            self._seen = tuple(self._look(now))
        return self._seen

    def _look(self, now: float) -> list[str]:
        found = []
        if self._health.hold:
            problem = self._health.problem or f"the judge {self._health.model} fails again and again"
            found.append(problem[:1].upper() + problem[1:])
        try:
            waited_s = self._queue.lag().oldest_s
        except Exception:  # noqa: BLE001 - named boundary: the store's own alarm is the notifier's log
            return found or list(self._seen)
        if waited_s > _QUEUE_STALLED_S:
            found.append(
                f"Sampled exchanges have waited for {waited_s / 60:.0f} minutes: scoring stands still."
            )
        stepped_at = self._monitor.stepped_at
        if stepped_at is not None and now - stepped_at > _MONITOR_STALLED_S:
            found.append(f"The monitor has stood still for {(now - stepped_at) / 60:.0f} minutes.")
        return found


def contacts(settings: Settings) -> dict[str, Contact]:
    """Return the contact of each route."""
    return {
        route.name: Contact(route.contact.owner, route.contact.runbook_url or "", route.contact.rollback)
        for route in settings.routes
    }


def writer(settings: Settings, monitor: Monitor, log: VerdictLog) -> Writer:
    """Return a writer of notices, with the contacts of routes and the address of the console."""
    return Writer(
        contacts(settings), settings.alerts.console_url or "", monitor.reports, partial(worst_trials, log)
    )


def channels(
    settings: Settings,
    store: MonitorStore,
    words: Writer,
    troubles: Callable[[], Sequence[str]],
    announce: Callable[[str], None],
    clock: Callable[[], float],
) -> list[Channel]:
    """Return the channels of the settings; a problem with one is logged and does not stop the monitor.

    Args:
        settings: name the services and the variables with their keys.
        store: remembers what was sent.
        words: writes the notices.
        troubles: see `Troubles`.
        announce: gets a line when something fails.
        clock: seconds from any time on.
    """
    pace = Pace(window_s=settings.alerts.notify_window_s)
    return [
        Channel(sink, store, words, announce, clock, pace, troubles) for sink in sinks(settings, announce)
    ]


def sinks(settings: Settings, announce: Callable[[str], None]) -> Iterator[Sink]:
    """Yield the services of the settings; `announce` gets a line for those that cannot be used."""
    alert = settings.alerts
    try:
        keys = notification_keys(settings)
    except ValueError as error:
        announce(f"[evenkeel] no notifications but of apprise: {error}; everything else goes on")
    else:
        if alert.webhook:
            yield Webhook(alert.webhook, keys[alert.webhook_secret_env] if alert.webhook_secret_env else "")
        if alert.slack_token_env:
            yield Slack(keys[alert.slack_token_env], alert.slack_channel)
        if alert.teams_url_env:
            yield Teams(keys[alert.teams_url_env])
        if alert.pagerduty_key_env:
            yield PagerDuty(keys[alert.pagerduty_key_env])
    try:
        found = addresses(settings)
    except ValueError as error:
        announce(f"[evenkeel] no notifications by apprise: {error}; everything else goes on")
        return
    for name, url in found.items():
        yield LateSink(name, url, announce)
