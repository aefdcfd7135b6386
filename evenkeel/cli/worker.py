"""`worker`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from evenkeel.cli.options import announce, settings_source, worker_options
from evenkeel.runtime.launcher import launch

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@worker_options
def worker(config: Path | None, **options: Any) -> None:
    """Run a worker: replay and score the requests that proxies sampled into Redis.

    Needs a Redis: --redis-url, or storage.redis.url in the settings. Metrics and health are served only with
    --admin-port.

    \b
      evenkeel worker --config evenkeel.yaml --admin-port 8111

    Exit code: 0 stopped, 2 could not start: settings, port or store.
    """
    # Without the option a worker serves no port: several of them share a machine.
    admin = options["admin_port"] is not None
    launch("worker", settings_source(config, options, guarding=admin), admin=admin, say=announce)
