"""Channels of messages, as the settings name them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from evenkeel.monitor.changes.prompt_edit import edits_of
from evenkeel.monitor.incidents import worst_trials
from evenkeel.monitor.notify import Channel, Contact, Writer
from evenkeel.monitor.notify.services import (
    AppriseSink,
    PagerDuty,
    Slack,
    Teams,
    UnknownServiceError,
    Webhook,
)
from evenkeel.runtime.choices import addresses, slack_token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evenkeel.core.challenge import Challenge
    from evenkeel.monitor.measuring import HoldUp
    from evenkeel.monitor.monitor import Monitor
    from evenkeel.monitor.notify import Sink
    from evenkeel.settings import Settings
    from evenkeel.stores.monitor_state import MonitorStore
    from evenkeel.stores.verdict_log import VerdictLog


# News of an incident within so many seconds becomes one message. An incident of the demo lasts a minute, too
# short to wait as long.
_WINDOW_S: Final = 30.0
_SIMULATED_WINDOW_S: Final = 8.0


def unknown_services(settings: Settings) -> list[str]:
    """Return a problem for each address that apprise does not support.

    Takes about a second, because apprise loads all of its services.
    """
    problems = []
    for variable, url in addresses(settings).items():
        try:
            AppriseSink(variable, url).open()
        except UnknownServiceError as error:
            problems.append(f"alerts.notify: {error}. See https://github.com/caronc/apprise/wiki.")
    return problems


def contacts(settings: Settings) -> dict[str, Contact]:
    """Return the contact of each route."""
    by_route: dict[str, Contact] = {}
    for route in settings.routes:
        contact = route.contact
        by_route[route.name] = Contact(contact.owner, contact.runbook_url or "", contact.rollback)
    return by_route


def writer(
    settings: Settings,
    monitor: Monitor,
    log: VerdictLog,
    thinned: Callable[[], Sequence[HoldUp]],
    coincided: Callable[[str], str],
) -> Writer:
    """Return a writer of notices, with the contacts of routes and the address of the console."""
    return Writer(
        contacts(settings),
        settings.alerts.console_url or "",
        monitor.reports,
        partial(worst_trials, log),
        partial(edits_of, log),
        thinned,
        coincided,
    )


def challenger_link(settings: Settings, challenge: Challenge) -> str:
    """Return the address of a challenger's page; "" if the console's is not known."""
    console = settings.alerts.console_url
    return f"{console.rstrip('/')}/challengers#{challenge.id}" if console else ""


def channels(
    settings: Settings,
    store: MonitorStore,
    words: Writer,
    causes: Callable[[], Sequence[HoldUp]],
    announce: Callable[[str], None],
    clock: Callable[[], float],
) -> list[Channel]:
    """Return the channels of the settings; a problem with one is logged and does not stop the monitor.

    Args:
        settings: name the services and the variables with their keys.
        store: remembers what was sent.
        words: writes the notices.
        causes: returns what holds measuring up.
        announce: gets a line when something fails.
        clock: seconds from any time on.
    """
    window_s = _SIMULATED_WINDOW_S if settings.simulated else _WINDOW_S
    channels = []
    for sink in sinks(settings, announce):
        channels.append(Channel(sink, store, words, announce, clock, causes, window_s))
    return channels


def sinks(settings: Settings, announce: Callable[[str], None]) -> Iterator[Sink]:
    """Yield the services of the settings; `announce` gets a line for those that cannot be used."""
    alert = settings.alerts
    if alert.webhook:
        yield Webhook(alert.webhook, alert.webhook_secret)
    if alert.slack_channel:
        try:
            yield Slack(slack_token(settings), alert.slack_channel)
        except ValueError as error:
            announce(f"[evenkeel] no notifications by Slack: {error}; everything else goes on")
    if alert.teams_url:
        yield Teams(alert.teams_url)
    if alert.pagerduty_key:
        yield PagerDuty(alert.pagerduty_key)
    try:
        urls = addresses(settings)
    except ValueError as error:
        announce(f"[evenkeel] no notifications by apprise: {error}; everything else goes on")
        return
    for name, url in urls.items():
        yield AppriseSink(name, url)
