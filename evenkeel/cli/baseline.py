"""`baseline`: approves what cells were since the last change, and lists what was approved."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from evenkeel.cli.options import (
    CommandFailedError,
    audit,
    by_option,
    emit,
    json_option,
    named,
    note_option,
    print_rows,
    route_option,
    with_stores,
)
from evenkeel.core import figures
from evenkeel.core.approval import Approval, approvable
from evenkeel.monitor.fold import CheckpointError, MonitorSettings
from evenkeel.monitor.monitor import stored_states
from evenkeel.release.kit.terminal import agreed
from evenkeel.settings import NOWHERE, SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.approval import ApprovedCell
    from evenkeel.core.cells import CellReport
    from evenkeel.runtime.stores import Stores

_SKIPPED_SHOWN = 5


@click.group()
def baseline() -> None:
    """Approve the level that drift is measured from.

    A baseline is a cell's share of shifted answers. Until one is approved, the first trials since the last
    change are used. Approving one ends a drift alert of its cell; the next change of model, prompt or
    settings voids it. Approvals are kept in the verdict log with your name, so all monitors share them.

    \b
      evenkeel baseline approve --route support --by ann
      evenkeel baseline approve --route support --model large --perturbation general.spelling --by ann
      evenkeel baseline list
    """


@baseline.command()
@click.option("--route", required=True, metavar="NAME", help="Route to approve.")
@click.option("--model", metavar="NAME", help="Only this model, by the name the endpoint returns.")
@click.option("--perturbation", metavar="KIND", help="Only this perturbation, such as general.spelling.")
@by_option
@note_option
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@json_option
@with_stores
def approve(stores: Stores, by: str | None, *, as_json: bool, **options: Any) -> None:
    """Approve the current level of a route's cells, measured since its last change.

    Works while `up` runs: the monitor uses the baselines within seconds.

    Exit code: 0 approved, 1 declined, 2 nothing to approve, or no name given.
    """
    who = named(by)
    route = options["route"]
    narrowed = {}
    for name in ("model", "perturbation"):
        narrowed[name] = options[name]
    least = stores.settings.alerts.min_trials
    reports = reports_of(stores, MonitorSettings(min_trials=least))
    ready, short = approvable(reports, route, **narrowed)
    if not ready:
        raise SettingsError(_nothing([route, *filter(None, narrowed.values())], short, least))
    # Shown before the question: it is what one agrees to.
    if not as_json:
        _show(ready)
    if short:
        names = []
        for report in short[:_SKIPPED_SHOWN]:
            names.append(f"{report.key.perturbation} ({report.key.model})")
        more = f" and {len(short) - _SKIPPED_SHOWN} more" if len(short) > _SKIPPED_SHOWN else ""
        click.echo(
            f"too few trials since the last change, left as they are: {', '.join(names)}{more}",
            err=as_json,
        )
    if not (options["yes"] or agreed(f"Approve {len(ready)} baselines of route {route}?")):
        raise CommandFailedError("nothing approved; --yes approves without asking")
    approval = Approval.of(route, ready, by=who, at=time.time(), note=options["note"])
    # In the log and not in a table: every monitor folds it at the same place.
    stores.verdicts.note(approval)
    cells = f"{figures.count(len(approval.cells), 'cell')}, approval {approval.id}"
    audit(stores, "baseline_approved", approval.by, route, cells, approval.at)
    if as_json:
        emit(asdict(approval))
    else:
        click.echo(f"approved as {approval.id}")


@baseline.command("list")
@route_option
@json_option
@with_stores
def list_(stores: Stores, route: str | None, *, as_json: bool) -> None:
    """List approvals, newest first."""
    approvals = stores.verdicts.approvals()[::-1]
    if route is not None:
        approvals = [approval for approval in approvals if approval.route == route]
    if not approvals:
        note_unknown_route(stores, route)
    if as_json:
        emit([asdict(approval) for approval in approvals])
        return
    if not approvals:
        click.echo("No baselines approved; see `evenkeel baseline approve --help`.", err=True)
    for approval in approvals:
        note = f": {approval.note}" if approval.note else ""
        at = figures.date_and_time(approval.at)
        click.echo(f"{approval.id}  {approval.route}  {at}, {approval.by}{note}")
        _show(approval.cells)
        click.echo()


def reports_of(stores: Stores, settings: MonitorSettings) -> list[CellReport]:
    """Return the report of every cell, from the monitor that has seen most trials of it.

    Raises: SettingsError if a monitor's checkpoint is of another version.
    """
    reports: dict[tuple[str, str, str], CellReport] = {}
    try:
        for state in stored_states(stores.monitors(), settings):
            for report in state.reports():
                earlier = reports.get(report.key.parts)
                # Two monitors fold the same log; the one that is further ahead knows more.
                if earlier is None or earlier.counts.trials < report.counts.trials:
                    reports[report.key.parts] = report
    except CheckpointError as error:
        raise SettingsError(f"{stores.place}: {error}; start `evenkeel up` on it once") from error
    return [reports[key] for key in sorted(reports)]


def unknown_route(stores: Stores, route: str) -> str:
    """Return a sentence about a route that is neither in the settings nor measured; else ""."""
    known = {report.key.route for report in reports_of(stores, MonitorSettings())}
    for section in stores.settings.routes:
        if section.upstream != NOWHERE:  # of no settings file
            known.add(section.name)
    if not known or route in known:
        return ""
    return f"no route {route!r} is known to {stores.place}; it has {figures.listing(sorted(known))}"


def note_unknown_route(stores: Stores, route: str | None) -> None:
    """Print a note on standard error if a list is empty because its route is misspelt."""
    unknown = unknown_route(stores, route) if route is not None else ""
    if unknown:
        click.echo(f"note: {unknown}", err=True)


def _nothing(named: Sequence[str], short: Sequence[CellReport], least: int) -> str:
    where = ", ".join(named)
    if not short:
        return f"no scored trials of {where}; the console's first page lists every route"
    most = max(report.since_change.trials if report.since_change else 0 for report in short)
    return (
        f"nothing to approve for {where}: the cells need {least} trials since the route's last change, and "
        f"have {most} at most (alerts.min_trials)"
    )


def _show(cells: Sequence[ApprovedCell]) -> None:
    rows = []
    for cell in cells:
        content_delta = f"{cell.mean:.1%} ({cell.lower:.1%} to {cell.upper:.1%})"
        rows.append((cell.perturbation, cell.model, content_delta, figures.number(cell.n)))
    print_rows(("perturbation", "model", "content delta (95 % interval)", "trials"), rows)
