"""`proxy`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from evenkeel.cli.options import announce, proxy_options, settings_source
from evenkeel.runtime.launcher import launch

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@proxy_options
def proxy(config: Path | None, **options: Any) -> None:
    """Run the data plane alone: forward requests and queue a sample in Redis, or in the data folder.

    Metrics and health are served only with --admin-port.

    \b
      evenkeel proxy --config evenkeel.yaml --admin-port 8101

    Exit code: 0 stopped, 2 could not start: settings, port or store.
    """
    # Names in the settings are not looked up: that takes memory that a proxy does not need.
    admin = options["admin_port"] is not None
    source = settings_source(config, options, injecting=True, guarding=admin, checked=False)
    launch("proxy", source, admin=admin, say=announce)
