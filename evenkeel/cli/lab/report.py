"""`report`."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from evenkeel.cli.options import json_option, route_option, with_stores
from evenkeel.lab import report as period_report
from evenkeel.lab.period import period_of
from evenkeel.release.kit.arguments import InputError, write_file
from evenkeel.release.kit.renderings import html
from evenkeel.release.kit.terminal import consoles

if TYPE_CHECKING:
    from evenkeel.lab.report import Report
    from evenkeel.runtime.stores import Stores

# A route is named by its operator: no part of a path may come from it.
_UNSAFE: Final = re.compile(r"[^\w.-]+")


@click.command()
@click.option(
    "--since",
    metavar="TIME",
    help="Start: 2026-11-01, 2026-11-01T14:30 (UTC), or an age such as 7d or 36h.  [default: 7d]",
)
@click.option(
    "--until", metavar="TIME", help="End, in the same form; a date includes that day.  [default: now]"
)
@route_option
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=".",
    metavar="DIR",
    help="Folder for the page; created if missing.",
)
@json_option
@with_stores
def report(
    stores: Stores,
    since: str | None,
    until: str | None,
    route: str | None,
    out: Path,
    *,
    as_json: bool,
) -> None:
    """Write a report on live traffic between two dates.

    A few sentences sum up how robust the answers were. Tables follow: robustness, content delta, quality
    delta, noise floor and points above noise, with intervals, by model and by rewording; then incidents,
    changes, what was not measured and why, and the cost. Works while `evenkeel up` runs. With --json it is
    printed, and no page is written.

    \b
      evenkeel report --since 2026-11-01 --until 2026-11-20
      evenkeel report --since 7d --route support --out reports
      evenkeel report --since 36h --json

    Exit code: 0 done, 2 no verdicts, or invalid options.
    """
    period = period_of(since, until, time.time())
    with consoles().err.status("reading verdicts"):
        finished = period_report.make_report(
            stores, period, route, min_trials=stores.settings.alerts.min_trials, clock=time.time
        )
    if as_json:
        click.echo(period_report.as_json(finished), nl=False)
        return
    page = _write(finished, out)
    click.echo(f"{period_report.title(finished)}, {finished.period.words}")
    for line in (period_report.headline(finished), *period_report.summary(finished)):
        click.echo(f"  {line}")
    click.echo(f"written: {page}")


def file_name(finished: Report) -> str:
    """Return the file name of the page."""
    suffix = f"-{_UNSAFE.sub('-', finished.route)}" if finished.route else ""
    return f"evenkeel-report{suffix}-{finished.period.name}.html"


def _write(finished: Report, out: Path) -> Path:
    page = out / file_name(finished)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {out}: {error.strerror}; choose a folder with --out") from error
    write_file(page, html(period_report.document(finished)))
    return page
