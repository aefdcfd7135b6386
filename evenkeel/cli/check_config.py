"""`check-config`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from evenkeel.cli.options import settings_options, settings_source
from evenkeel.runtime.credentials import keys_by_route
from evenkeel.runtime.limits import limit_lines
from evenkeel.runtime.notifications import unknown_services
from evenkeel.runtime.preflight import (
    host_notes,
    missing_keys,
    notes,
    redis_notes,
    unreachable_upstreams,
    unusable_redis,
)
from evenkeel.runtime.references import cost_lines

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel.runtime.preflight import Role


@click.command("check-config")
@click.option(
    "--role",
    type=click.Choice(["proxy", "worker", "monitor"]),
    help="Check the credentials of this role only.  [of all]",
)
@settings_options
def check_config(config: Path | None, role: Role | None, **given: Any) -> None:
    """Check settings, credentials and upstreams without starting; exit code 1 if something is wrong."""
    settings = settings_source(config, given).read()
    for note in (*notes(settings), *host_notes(settings), *redis_notes(settings)):
        click.echo(f"evenkeel: note: {note}", err=True)
    problems = [*missing_keys(settings, role), *unreachable_upstreams(settings), *unusable_redis(settings)]
    if settings.alert.notify and role in (None, "monitor"):
        problems += unknown_services(settings)
    for problem in problems:
        click.echo(f"evenkeel: {problem}", err=True)
    if problems:
        sys.exit(1)
    for keys in keys_by_route(settings).values():
        for one in keys:
            click.echo(str(one))
    for line in limit_lines(settings):
        click.echo(line)
    if role != "proxy":
        for line in cost_lines(settings):
            click.echo(line)
    click.echo(f"settings are good: {len(settings.routes)} route(s), all upstreams reachable")
