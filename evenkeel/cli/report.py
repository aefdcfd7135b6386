"""`report`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--since", metavar="TIME", help="2026-11-01, 2026-11-01T14:30 (UTC), or 7d or 36h ago.  [7d]")
@click.option("--until", metavar="TIME", help="The same; a date belongs to the period as a whole.  [now]")
@click.option("--route", metavar="NAME", help="Only this route.")
@click.option("--change", metavar="ID", help="Before and after this change; see `evenkeel changes list`.")
@click.option(
    "--format",
    "formats",
    default="html",
    show_default=True,
    metavar="LIST",
    help="Of html, pdf, json, csv, md; with commas between.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=".",
    show_default=True,
    metavar="DIR",
    help="Folder for the files; made if need be.",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Settings file of `evenkeel up`; says where the store is.",
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    envvar="EVENKEEL_DATA_DIR",
    help="Folder of the store.  [./evenkeel-data]",
)
def report(
    since: str | None,
    until: str | None,
    route: str | None,
    change: str | None,
    formats: str,
    out: Path,
    config: Path | None,
    data_dir: Path | None,
) -> None:
    """Write a report on live traffic between two dates, or around a change, for people who open no dashboard.

    The first page says in words and one picture how robust the answers were. Then come the tables: content
    delta, quality delta and robustness by route, model, category, format and language, each with its
    interval, the noise floor and the excess; alerts; changes with their likely causes; what was not measured
    and why; and the spend. Can be made while `evenkeel up` runs. A PDF needs the extra `pdf`.

    \b
      evenkeel report --since 2026-11-01 --until 2026-11-20
      evenkeel report --since 7d --route support --format html,pdf,csv --out reports
      evenkeel report --change 3f9c0b2a771e --format pdf
    """
    from evenkeel.experiments.report.command import run

    run(
        config,
        data_dir,
        since=since,
        until=until,
        route=route,
        change=change,
        formats=formats,
        out=out,
    )
