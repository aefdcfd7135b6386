"""`monitor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from evenkeel.cli.options import announce, settings_options, settings_source
from evenkeel.runtime.launcher import launch

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@click.option("--name", metavar="NAME", help="Names its checkpoint in Redis.  [name of the host]")
@settings_options
def monitor(config: Path | None, name: str | None, **given: Any) -> None:
    """Run a monitor: fold the verdicts in Redis, export the gauges, raise alerts, serve the console.

    Needs redis.url in the settings. Two monitors with names of their own watch the same and notify once.
    """
    more = {"monitor": {"name": name}} if name else {}
    launch("monitor", settings_source(config, given, more), say=announce)
