"""`changes` and its subcommands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from evenkeel.cli.options import store_options

if TYPE_CHECKING:
    from pathlib import Path


_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def changes() -> None:
    """Changes: what moved on a route, what it did, and what is likely behind it.

    `evenkeel up` notices another model, another prompt, other traffic, a judge that drifts, and a provider
    that changes something without saying so. After a change it samples more for a while and asks the goldens
    of the route again. All of this can be read while `up` runs, here or on the page /changes of the console.

    \b
      evenkeel changes list
      evenkeel changes show 3f9c0b2a771e
      evenkeel changes show 3f9c0b2a771e --json
    """


@changes.command("list")
@click.option("--route", metavar="NAME", help="Only of this route.")
@_json
@store_options
def list_(config: Path | None, data_dir: Path | None, route: str | None, *, as_json: bool) -> None:
    """List the latest changes of all routes, the newest first."""
    from evenkeel.cli.bodies_changes import list_changes

    list_changes(config, data_dir, route, as_json=as_json)


@changes.command()
@click.argument("change", metavar="ID")
@_json
@store_options
def show(change: str, config: Path | None, data_dir: Path | None, *, as_json: bool) -> None:
    """Print the report on one change, as Markdown."""
    from evenkeel.cli.bodies_changes import show_change

    show_change(config, data_dir, change, as_json=as_json)
