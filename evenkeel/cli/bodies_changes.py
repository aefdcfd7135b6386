"""The body of `evenkeel changes`: reads the store as `evenkeel up` left it, or is just writing it."""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
from rich.table import Table

from evenkeel.experiments.kit.terminal import consoles
from evenkeel.monitor.changes.book import ChangeBook
from evenkeel.monitor.changes.markdown import EFFECTS, markdown
from evenkeel.monitor.fold import CheckpointError, MonitorSettings, MonitorState
from evenkeel.runtime.stores import opened, settings_of_stores
from evenkeel.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evenkeel.monitor.changes import ChangeRecord
    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.runtime.stores import Stores

_PIPED_WIDTH = 160


def list_changes(config: Path | None, data_dir: Path | None, route: str | None, *, as_json: bool) -> None:
    """Print the changes, the newest first."""
    with _opened(config, data_dir) as book:
        found = [report for report in book.reports() if route is None or report.route == route]
    if as_json:
        click.echo(json.dumps([asdict(report) for report in found], ensure_ascii=False, indent=2))
        return
    if not found:
        click.echo("No changes have been noticed so far.", err=True)
        return
    out = consoles(_PIPED_WIDTH).out
    table = Table(box=None, pad_edge=False)
    for name in ("change", "noticed (UTC)", "what", "effect"):
        table.add_column(name, no_wrap=name != "what")
    for report in found:
        noticed = f"{datetime.fromtimestamp(report.at, UTC):%Y-%m-%d %H:%M}"
        table.add_row(report.id, noticed, report.title, EFFECTS[report.effect])
    out.print(table)


def show_change(config: Path | None, data_dir: Path | None, change: str, *, as_json: bool) -> None:
    """Print one report.

    Raises: SettingsError if there is no such change.
    """
    report = _found(config, data_dir, change)
    if as_json:
        click.echo(json.dumps(asdict(report), ensure_ascii=False, indent=2))
    else:
        click.echo(markdown(report), nl=False)


def _found(config: Path | None, data_dir: Path | None, change: str) -> ChangeReport:
    with _opened(config, data_dir) as book:
        report = book.find(change)
    if report is None:
        raise SettingsError(
            f'there is no change "{change}" (any more); `evenkeel changes list` shows those there are'
        )
    return report


@contextlib.contextmanager
def _opened(config: Path | None, data_dir: Path | None) -> Iterator[ChangeBook]:
    with opened(settings_of_stores(config, data_dir)) as stores:
        yield ChangeBook(
            lambda: _records(stores),
            stores.changes,
            min_trials=MonitorSettings().min_trials,
            clock=time.time,
        )


def _records(stores: Stores) -> list[ChangeRecord]:
    """The latest changes that any monitor knows of, each as the one that has seen most of it tells."""
    found: dict[str, ChangeRecord] = {}
    for store in stores.monitors():
        head, _ = store.load()
        if head is None:
            continue
        try:
            records = MonitorState.restored(head, store.parts(), MonitorSettings()).change_records()
        except CheckpointError as error:
            raise SettingsError(f"{stores.place}: {error}; start `evenkeel up` on it once") from error
        for record in records:
            known = found.get(record.id)
            if known is None or known.since < record.since:
                found[record.id] = record
    return list(found.values())
