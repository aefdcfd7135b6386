"""`worker`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from evenkeel.cli.options import announce, settings_options, settings_source
from evenkeel.runtime.launcher import launch

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@settings_options
def worker(config: Path | None, **given: Any) -> None:
    """Run a worker: make the trials of exchanges that proxies put into Redis.

    Needs redis.url in the settings. Metrics and health are served only with --admin-port.
    """
    source = settings_source(config, given)
    launch("worker", source, admin=given["admin_port"] is not None, say=announce)
