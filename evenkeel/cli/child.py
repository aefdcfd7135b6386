"""`child`, which the supervisor starts."""

from __future__ import annotations

import click

from evenkeel import logs
from evenkeel.runtime.supervisor import receive


@click.command(hidden=True)
@click.argument("name")
def child(name: str) -> None:
    """Run one part under the supervisor, which writes the briefing to standard input."""
    briefing = receive()
    logs.configure(
        briefing.settings.telemetry.log_level, briefing.settings.telemetry.log_format, process=name
    )
    # Loaded on demand: the data plane stays small.
    if briefing.role == "proxy":
        from evenkeel.runtime import data_plane

        data_plane.run(briefing)
    else:
        from evenkeel.runtime import background

        background.run(briefing)
