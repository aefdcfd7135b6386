"""The body of `evenkeel report`."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, Final

import click
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from evenkeel.core.figures import number
from evenkeel.experiments.kit.renderings import html, markdown
from evenkeel.experiments.kit.terminal import plain_console
from evenkeel.experiments.report import sentences
from evenkeel.experiments.report.document import as_csv, as_json, document, sides_as_csv
from evenkeel.experiments.report.findings import Wish, make_report
from evenkeel.experiments.report.pdf import pdf_maker
from evenkeel.experiments.report.period import period_of
from evenkeel.runtime.stores import opened, settings_of_stores
from evenkeel.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rich.console import Console

    from evenkeel.experiments.report.findings import Report

FORMATS: Final = ("html", "pdf", "json", "csv", "md")
_UNSAFE: Final = re.compile(r"[^\w.-]+")


def run(
    config: Path | None,
    data_dir: Path | None,
    *,
    since: str | None,
    until: str | None,
    route: str | None,
    change: str | None,
    formats: str,
    out: Path,
) -> None:
    """Make a report, write it, and print its first page and where it is.

    Raises: SettingsError if there is nothing to report on, or it cannot be written.
    """
    wanted = formats_of(formats)
    to_pdf = pdf_maker() if "pdf" in wanted else None
    settings = settings_of_stores(config, data_dir)
    period = None if change and since is None and until is None else period_of(since, until, time.time())
    err = plain_console(stderr=True)
    with opened(settings) as stores, _Progress(err) as progress:
        report = make_report(
            stores, settings, Wish(period, route, change), clock=time.time, progress=progress
        )
    written = _write(report, wanted, out, to_pdf)
    click.echo(f"{sentences.title(report)}, {report.period.words}")
    for line in (sentences.headline(report), *sentences.summary(report)):
        click.echo(f"  {line}")
    for path in written:
        click.echo(f"written: {path}")


def formats_of(text: str) -> tuple[str, ...]:
    """The formats of a list like "html,pdf", in that order, each once.

    Raises: SettingsError if there is another one, or none.
    """
    found = tuple(dict.fromkeys(one.strip().lower() for one in text.split(",") if one.strip()))
    unknown = [one for one in found if one not in FORMATS]
    if unknown or not found:
        raise SettingsError(f'--format "{text}": choose of {", ".join(FORMATS)}, with commas between')
    return found


def file_name(report: Report) -> str:
    """The files' name without its end."""
    if report.change is not None:
        return f"evenkeel-change-{report.change.report.id}"
    place = f"-{_UNSAFE.sub('-', report.route)}" if report.route else ""
    return f"evenkeel-report{place}-{report.period.name}"


def _write(
    report: Report, formats: tuple[str, ...], out: Path, to_pdf: Callable[[bytes], bytes] | None
) -> list[Path]:
    name = file_name(report)
    found = document(report)
    page = html(found) if {"html", "pdf"} & set(formats) else b""
    files: dict[str, bytes] = {}
    for one in formats:
        if one == "html":
            files[f"{name}.html"] = page
        elif one == "pdf":
            assert to_pdf is not None
            files[f"{name}.pdf"] = to_pdf(page)
        elif one == "json":
            files[f"{name}.json"] = as_json(report).encode()
        elif one == "md":
            files[f"{name}.md"] = markdown(found).encode("utf-8", "replace")
        else:
            files[f"{name}.csv"] = as_csv(report).encode()
            if report.change is not None and report.change.tables:
                files[f"{name}-sides.csv"] = sides_as_csv(report.change).encode()
    try:
        out.mkdir(parents=True, exist_ok=True)
        for file, data in files.items():
            (out / file).write_bytes(data)
    except OSError as error:
        raise SettingsError(f"cannot write to {out}: {error.strerror}; choose a folder with --out") from error
    return [out / file for file in files]


class _Progress:
    """A bar on a terminal while the log is read; elsewhere nothing."""

    def __init__(self, err: Console) -> None:
        columns: tuple[Any, ...] = (
            TextColumn("reading verdicts"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[said]}"),
            TimeRemainingColumn(),
        )
        self._bar = Progress(*columns, console=err, disable=not err.is_terminal, transient=True)
        self._task = self._bar.add_task("", total=None, said="")

    def __enter__(self) -> Callable[[int, int], None]:
        self._bar.start()
        return self._show

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def _show(self, done: int, total: int) -> None:
        self._bar.update(self._task, completed=done, total=max(total, 1), said=number(done))
