"""`monitor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from evenkeel.cli.options import announce, monitor_options, settings_source
from evenkeel.runtime.launcher import launch

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@click.option("--name", metavar="NAME", help="Names its checkpoint in Redis.  [default: name of the host]")
@monitor_options
def monitor(config: Path | None, **options: Any) -> None:
    """Run a monitor: read verdicts from Redis, raise incidents, export metrics, serve the console.

    Needs a Redis: --redis-url, or storage.redis.url in the settings. Two monitors with different --name
    values watch the same routes, and only one of them sends messages.

    \b
      evenkeel monitor --config evenkeel.yaml --name a

    Exit code: 0 stopped, 2 could not start: settings, port or store.
    """
    launch("monitor", settings_source(config, options, guarding=True), say=announce)
