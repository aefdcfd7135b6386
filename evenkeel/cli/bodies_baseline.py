"""The bodies of `evenkeel baseline …`."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import click

from evenkeel.core.approval import Approval, ApprovalError, approvable
from evenkeel.monitor.fold import CheckpointError, MonitorState
from evenkeel.settings import SettingsError
from evenkeel.stores.audit_log import Action

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel.core.approval import ApprovedCell
    from evenkeel.core.cells import CellReport
    from evenkeel.monitor.fold import MonitorSettings
    from evenkeel.runtime.stores import Stores
    from evenkeel.stores.verdict_log import LoggedApproval

_SKIPPED_SHOWN = 5


class Chosen(NamedTuple):
    """Which cells are meant; None = any."""

    route: str
    model: str | None = None
    perturbation: str | None = None


def approve(
    stores: Stores,
    chosen: Chosen,
    settings: MonitorSettings,
    *,
    by: str,
    note: str,
    at: float,
    confirmed: Callable[[str], bool],
) -> Approval | None:
    """Show what the cells were since the last change, and approve it if that is confirmed.

    Returns: the entry, None if it was not confirmed.
    Raises: SettingsError if there is nothing to approve.
    """
    ready, short = approvable(
        reports_of(stores, settings), chosen.route, model=chosen.model, perturbation=chosen.perturbation
    )
    if not ready:
        raise SettingsError(_nothing(chosen, short, settings.min_trials))
    click.echo(_table(ready))
    if short:
        names = [f"{report.key.perturbation} ({report.key.model})" for report in short[:_SKIPPED_SHOWN]]
        more = f" and {len(short) - _SKIPPED_SHOWN} more" if len(short) > _SKIPPED_SHOWN else ""
        click.echo(f"too few trials since the last change, left as they are: {', '.join(names)}{more}")
    if not confirmed(f"Approve {len(ready)} baselines of route {chosen.route}?"):
        return None
    try:
        approval = Approval.of(chosen.route, ready, by=by, at=at, note=note)
    except ApprovalError as error:
        raise SettingsError(str(error)) from error
    stores.verdicts.approve(approval)
    count = len(approval.cells)
    cells = f"{count} cell{'s' * (count > 1)}, approval {approval.id}"
    stores.actions.record(
        Action(round(at, 3), approval.by, "command", "baseline_approved", approval.route, cells)
    )
    return approval


def list_approvals(stores: Stores, route: str | None, *, as_json: bool) -> None:
    """Print what was approved, the newest first."""
    found = [one for one in stores.verdicts.approvals()[::-1] if route in {None, one.approval.route}]
    if as_json:
        rows = [{"offset": one.offset, **asdict(one.approval)} for one in found]
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
    elif found:
        click.echo("\n\n".join(map(_said, found)))
    else:
        click.echo("no baseline has been approved; `evenkeel baseline approve --help` says how", err=True)


def reports_of(stores: Stores, settings: MonitorSettings) -> list[CellReport]:
    """Every cell as the monitor that has seen most of it tells.

    Raises: SettingsError if a monitor's checkpoint is of another version.
    """
    found: dict[tuple[str, str, str], CellReport] = {}
    for store in stores.monitors():
        head, _ = store.load()
        if head is None:
            continue
        try:
            state = MonitorState.restored(head, store.parts(), settings)
        except CheckpointError as error:
            raise SettingsError(f"{stores.place}: {error}; start `evenkeel up` on it once") from error
        for report in state.reports():
            known = found.get(report.key.parts)
            if known is None or known.trials < report.trials:
                found[report.key.parts] = report
    return [found[key] for key in sorted(found)]


def _nothing(chosen: Chosen, short: Sequence[CellReport], least: int) -> str:
    where = ", ".join(part for part in chosen if part)
    if not short:
        return f"no trial of {where} has been scored; GET /api/cells of the console lists what there is"
    most = max(report.windows["since_change"].trials if report.windows else 0 for report in short)
    return (
        f"nothing to approve for {where}: the cells need {least} trials since the route's last change, and "
        f"have {most} at most (alert.min_trials)"
    )


def _table(cells: Sequence[ApprovedCell]) -> str:
    width = max(len(cell.perturbation) for cell in cells)
    models = max(len(cell.model) for cell in cells)
    head = f"{'perturbation':<{width}}  {'model':<{models}}  content delta  95 % interval   trials"
    rows = [
        f"{cell.perturbation:<{width}}  {cell.model:<{models}}  {cell.mean:>13.1%}  "
        f"{f'{cell.lower:.1%} to {cell.upper:.1%}':<15} {cell.n:>6,}"
        for cell in cells
    ]
    return "\n".join([head, *rows])


def _said(logged: LoggedApproval) -> str:
    approval = logged.approval
    at = f"{datetime.fromtimestamp(approval.at, UTC):%Y-%m-%d %H:%M} UTC"
    note = f": {approval.note}" if approval.note else ""
    return f"{approval.id}  {approval.route}  {at}, {approval.by}{note}\n{_table(approval.cells)}"
