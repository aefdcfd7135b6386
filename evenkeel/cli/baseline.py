"""`baseline` and its subcommands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from evenkeel.cli.options import store_options

if TYPE_CHECKING:
    from pathlib import Path


@click.group()
def baseline() -> None:
    """Baselines: what a cell's share of shifted answers is compared with, to notice drift.

    Until somebody approves one, the first trials since the last change stand in. An approval becomes an
    entry of the verdict log, with the figures and your name: every monitor takes it up at the same place,
    also after a restart. A drift alert of an approved cell is over. The next change of model, prompt or
    settings makes an approval void, since answers may then differ for good reason.

    \b
      evenkeel baseline approve --route support --by ann
      evenkeel baseline approve --route support --model large --perturbation general.spelling --by ann
      evenkeel baseline list
    """


@baseline.command()
@click.option("--route", required=True, metavar="NAME", help="Whose cells.")
@click.option("--model", metavar="NAME", help="Only of this model, as the endpoint returns it.")
@click.option("--perturbation", metavar="KIND", help="Only of this one, as `general.spelling`.")
@click.option(
    "--by",
    envvar=["EVENKEEL_USER", "USER"],
    metavar="NAME",
    help="Who you are, for the record.  [the variable EVENKEEL_USER, else USER]",
)
@click.option("--note", default="", metavar="TEXT", help="Why, for those who look at it later.")
@click.option("--yes", is_flag=True, help="Approve without asking.")
@store_options
def approve(config: Path | None, data_dir: Path | None, by: str | None, **given: Any) -> None:
    """Approve what the cells of a route have been since its last change.

    Works while `up` runs: the monitor takes the baselines up within a second or two.
    """
    import time

    from evenkeel.cli.bodies_baseline import Chosen
    from evenkeel.cli.bodies_baseline import approve as approve_cells
    from evenkeel.experiments.kit.confirmation import agreed
    from evenkeel.monitor.fold import MonitorSettings
    from evenkeel.runtime.stores import opened, settings_of_stores

    if not (by or "").strip():
        raise click.UsageError("say who approves: --by NAME, or the variable EVENKEEL_USER")
    settings = settings_of_stores(config, data_dir)
    with opened(settings) as stores:
        approval = approve_cells(
            stores,
            Chosen(given["route"], given["model"], given["perturbation"]),
            MonitorSettings(min_trials=settings.alert.min_trials),
            by=by or "",
            note=given["note"],
            at=time.time(),
            confirmed=lambda question: given["yes"] or agreed(question),
        )
    click.echo(
        f"approved as {approval.id}" if approval else "nothing approved; --yes approves without asking"
    )


@baseline.command("list")
@click.option("--route", metavar="NAME", help="Only of this route.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@store_options
def list_(config: Path | None, data_dir: Path | None, route: str | None, *, as_json: bool) -> None:
    """List what was approved by whom, the newest first."""
    from evenkeel.cli.bodies_baseline import list_approvals
    from evenkeel.runtime.stores import opened, settings_of_stores

    with opened(settings_of_stores(config, data_dir)) as stores:
        list_approvals(stores, route, as_json=as_json)
