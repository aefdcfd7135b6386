"""The body of `evenkeel changes`: reads the store as `evenkeel up` left it, or is just writing it."""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from evenkeel.changes.book import ChangeBook
from evenkeel.changes.store import SqliteChangeStore
from evenkeel.data_plane import DATABASE_FILE
from evenkeel.goldens.shelf import folder_of
from evenkeel.settings import SettingsError
from metrics.changes.markdown import EFFECTS, markdown
from metrics.fold import CheckpointError, MonitorSettings, MonitorState
from metrics.stores.sqlite import Database, SqliteMonitorStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from metrics.changes import ChangeRecord
    from metrics.changes.report import ChangeReport

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
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = max(console.width, _PIPED_WIDTH)
    table = Table(box=None, pad_edge=False)
    for name in ("change", "noticed (UTC)", "what", "effect"):
        table.add_column(name, no_wrap=name != "what")
    for report in found:
        noticed = f"{datetime.fromtimestamp(report.at, UTC):%Y-%m-%d %H:%M}"
        table.add_row(report.id, noticed, report.title, EFFECTS[report.effect])
    console.print(table)


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
    folder = folder_of(config, data_dir)
    path = folder / DATABASE_FILE
    if not path.is_file():
        raise SettingsError(
            f"there is no store in {folder}; name the folder of `evenkeel up` with --data-dir, or its "
            "settings file with --config"
        )
    database = Database(path)
    try:
        store = SqliteMonitorStore(database)

        def records() -> list[ChangeRecord]:
            head, _ = store.load()
            if head is None:
                return []
            try:
                return MonitorState.restored(head, store.parts(), MonitorSettings()).change_records()
            except CheckpointError as error:
                raise SettingsError(f"{path}: {error}; start `evenkeel up` on it once") from error

        yield ChangeBook(
            records, SqliteChangeStore(database), min_trials=MonitorSettings().min_trials, clock=time.time
        )
    finally:
        database.close()
