"""`up`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from evenkeel.cli.options import announce, settings_options, settings_source
from evenkeel.runtime.launcher import launch

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@settings_options
def up(config: Path | None, **options: Any) -> None:
    """Run proxy, worker, monitor and console on this machine, until Ctrl-C or SIGTERM.

    \b
      evenkeel up --upstream https://api.openai.com/v1
      evenkeel up --config evenkeel.yaml

    \b
    Then point your applications at it:
      OpenAI(base_url="http://127.0.0.1:8100/v1")

    Replays use their own API key, from EVENKEEL_SHADOW_API_KEY.

    Exit code: 0 stopped, 2 could not start: settings, port or data folder.
    """
    # A route whose key is missing would get a refusal for every request: better not to start.
    launch("up", settings_source(config, options, injecting=True, guarding=True), say=announce)
