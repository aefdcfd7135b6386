"""Channels of messages, as the settings name them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.monitor.notify import Contact
from evenkeel.monitor.notify.services import (
    AppriseSink,
    PagerDuty,
    Slack,
    Teams,
    UnknownServiceError,
    Webhook,
)
from evenkeel.runtime.choices import addresses, slack_token
from evenkeel.settings.scoring import PAGERDUTY_KEY_VARIABLE, TEAMS_URL_VARIABLE, WEBHOOK_SECRET_VARIABLE
from evenkeel.settings.types import secret

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenkeel.core.challenge import Challenge
    from evenkeel.monitor.notify import Sink
    from evenkeel.settings import Settings


# News of an incident within so many seconds becomes one message. An incident of the demo lasts a minute, too
# short to wait as long.
WINDOW_S: Final = 30.0
SIMULATED_WINDOW_S: Final = 8.0


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


def challenger_link(settings: Settings, challenge: Challenge) -> str:
    """Return the address of a challenger's page; "" if the console's is not known."""
    console = settings.alerts.console_url
    return f"{console.rstrip('/')}/challengers#{challenge.id}" if console else ""


def sinks(settings: Settings, announce: Callable[[str], None]) -> Iterator[Sink]:
    """Yield the services of the settings; `announce` gets a line for those that cannot be used."""
    alert = settings.alerts
    if alert.webhook:
        yield Webhook(alert.webhook, secret(WEBHOOK_SECRET_VARIABLE))
    if alert.slack_channel:
        try:
            yield Slack(slack_token(settings), alert.slack_channel)
        except ValueError as error:
            announce(f"[evenkeel] no notifications by Slack: {error}; everything else goes on")
    if teams_url := secret(TEAMS_URL_VARIABLE):
        yield Teams(teams_url)
    if pagerduty_key := secret(PAGERDUTY_KEY_VARIABLE):
        yield PagerDuty(pagerduty_key)
    try:
        urls = addresses(settings)
    except ValueError as error:
        announce(f"[evenkeel] no notifications by apprise: {error}; everything else goes on")
        return
    for name, url in urls.items():
        yield AppriseSink(name, url)
