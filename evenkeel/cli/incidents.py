"""`incidents`: reads the store, even while `evenkeel up` is writing to it, and records decisions."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from evenkeel.cli.baseline import note_unknown_route, reports_of
from evenkeel.cli.changes import change_book
from evenkeel.cli.options import (
    audit,
    by_option,
    emit,
    json_option,
    named,
    note_judge,
    note_option,
    print_rows,
    route_option,
    with_stores,
)
from evenkeel.core import figures
from evenkeel.core.incidents import DECIDED, Decision
from evenkeel.monitor.fold import MonitorSettings
from evenkeel.monitor.incidents import Incident, IncidentBoard
from evenkeel.monitor.notify import Writer, incident_json, summary
from evenkeel.monitor.notify.notices import current_line, headline
from evenkeel.runtime.notifications import contacts
from evenkeel.settings import SettingsError

if TYPE_CHECKING:
    from evenkeel.core.cells import CellReport
    from evenkeel.runtime.stores import Stores


@click.group()
def incidents() -> None:
    """List, show, acknowledge and close incidents.

    An incident is a change on a route after which answers became fragile, worse, invalid or different. It
    closes by itself when the change is rolled back, the model is retired, or the answers recover. Works while
    `up` runs; the console shows the same at /incidents.

    \b
      evenkeel incidents list --state open
      evenkeel incidents show 3f9c0b2a771e
      evenkeel incidents decide 3f9c0b2a771e acknowledged --by ann
      evenkeel incidents decide 3f9c0b2a771e rolled_back --by ann --note "helm rollback support"
    """


@incidents.command("list")
@route_option
@click.option(
    "--state",
    type=click.Choice(["open", "acknowledged", "resolved"]),
    help="Only incidents in this state.  [default: all]",
)
@click.option("--limit", type=click.IntRange(1), default=50, help="Maximum number to print.")
@json_option
@with_stores
def list_(stores: Stores, route: str | None, state: str | None, limit: int, *, as_json: bool) -> None:
    """List incidents, newest first.

    \b
      evenkeel incidents list --state open --route shop
    """
    note_judge(stores)
    selected = []
    for incident in IncidentBoard(stores.monitor).all():
        if (route is None or route in incident.routes) and state in {None, incident.state}:
            selected.append(incident)
    if not selected:
        note_unknown_route(stores, route)
    if len(selected) > limit:
        click.echo(f"{len(selected) - limit} older ones are not listed; --limit lists more.", err=True)
    if as_json:
        emit(
            [{**incident_json(incident), "headline": current_line(incident)} for incident in selected[:limit]]
        )
        return
    if not selected:
        narrowed = route is not None or state is not None
        click.echo("No matching incidents." if narrowed else "No incidents.", err=True)
        return
    rows = []
    for incident in selected[:limit]:
        rows.append((incident.id, incident.state, current_line(incident)))
    print_rows(("incident", "state", "what happened"), rows, wide=("what happened",))


@incidents.command()
@click.argument("incident", metavar="ID")
@json_option
@with_stores
def show(stores: Stores, incident: str, *, as_json: bool) -> None:
    """Show one incident.

    It says what happened, who owns the route, how to roll back, and which alerts belong to it.

    \b
      evenkeel incidents show 3f9c0b2a771e
    """
    settings = stores.settings
    known_incident = _found(stores, incident)
    note_judge(stores)
    # The facts quote cells, so they need the number of trials that the pages need.
    measured = MonitorSettings(min_trials=settings.alerts.min_trials)
    writer = Writer(
        contacts(settings),
        settings.alerts.console_url or "",
        lambda: _reports(stores, measured),
        coincided=lambda change: _coincided(stores, change),
    )
    notice = writer.notice(known_incident, "resolved" if known_incident.state == "resolved" else "opened", 1)
    if as_json:
        emit(
            {
                **incident_json(known_incident),
                "headline": current_line(known_incident),
                "facts": list(notice.facts),
            }
        )
        return
    lines = [current_line(known_incident)]
    # Once it is over, the facts of the message repeat the times below; how it began says more.
    lines += [headline(known_incident)] if known_incident.state == "resolved" else notice.facts
    lines.append(_times(known_incident))
    lines += notice.advice
    if notice.url:
        lines.append(f"Open: {notice.url}")
    for part in known_incident.parts:
        over = f"over {figures.date_and_time(part.over.at)}" if part.over else "up"
        lines.append(f"- {over}: {summary(part.raised)}")
    click.echo("\n".join(lines))


@incidents.command()
@click.argument("incident", metavar="ID")
@click.argument("decided", metavar="DECISION", type=click.Choice(DECIDED))
@note_option
@by_option
@json_option
@with_stores
def decide(stores: Stores, incident: str, decided: str, note: str, by: str | None, *, as_json: bool) -> None:
    """Acknowledge an incident, or close it.

    \b
      acknowledged  somebody is working on it; it stays open
      rolled_back   the change was undone; reopens if the new version keeps answering
      accepted      the new answers are the baseline from now on
      false_alarm   it should not have been raised; the console counts these

    \b
      evenkeel incidents decide 3f9c0b2a771e rolled_back --by ann --note "helm rollback support"

    Exit code: 0 recorded, 2 no such incident, or no name given.
    """
    known_incident = _found(stores, incident)
    decision = Decision.of(
        known_incident.id,
        decided,
        route=known_incident.routes[0],
        by=named(by),
        at=round(time.time(), 3),
        note=note,
    )
    # The decision is an entry of the verdict log, so every monitor takes it at the same place.
    stores.verdicts.note(decision)
    detail = ": ".join(filter(None, (decided.replace("_", " "), decision.note)))
    audit(stores, "incident_decided", decision.by, known_incident.id, detail, decision.at)
    if as_json:
        emit(
            {
                "incident": known_incident.id,
                "decided": decided,
                "by": decision.by,
                "at": decision.at,
                "note": decision.note,
            }
        )
    else:
        click.echo(
            f"Recorded. The monitor marks {known_incident.id} as {decided.replace('_', ' ')} within seconds."
        )


def _reports(stores: Stores, settings: MonitorSettings) -> list[CellReport]:
    """Return the cells as they are now; none if the checkpoint cannot be read, as during an upgrade."""
    with suppress(SettingsError):
        return reports_of(stores, settings)
    return []


def _coincided(stores: Stores, change: str) -> str:
    """Return the possible causes of a change; "" if it or the checkpoint is not known."""
    with suppress(SettingsError):
        return change_book(stores).coincided(change)
    return ""


def _times(incident: Incident) -> str:
    steps = [f"opened {figures.date_and_time(incident.opened_at)}"]
    if incident.acknowledged_at is not None:
        at = figures.date_and_time(incident.acknowledged_at)
        steps.append(f"acknowledged {at} by {incident.acknowledged_by}")
    if incident.closed_at is not None:
        by = f" by {incident.decided_by}" if incident.decided_by else ""
        why = incident.ending.replace("_", " ")
        steps.append(f"resolved {figures.date_and_time(incident.closed_at)}{by} ({why})")
    return f"State: {incident.state}; {', '.join(steps)}"


def _found(stores: Stores, incident: str) -> Incident:
    known_incident = IncidentBoard(stores.monitor).find(incident)
    if known_incident is None:
        raise SettingsError(f'no incident "{incident}"; list them with `evenkeel incidents list`')
    return known_incident
