"""`check-config`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from evenkeel.cli.options import emit, json_option, settings_options, settings_source
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
@json_option
def check_config(config: Path | None, role: Role | None, *, as_json: bool, **given: Any) -> None:
    """Check settings, credentials and upstreams without starting; exit code 1 if something is wrong."""
    settings = settings_source(config, given).read()
    noted = [*notes(settings), *host_notes(settings), *redis_notes(settings)]
    problems = [*missing_keys(settings, role), *unreachable_upstreams(settings), *unusable_redis(settings)]
    if settings.alert.notify and role in (None, "monitor"):
        problems += unknown_services(settings)
    keys = [str(one) for of_route in keys_by_route(settings).values() for one in of_route]
    limits, costs = list(limit_lines(settings)), list(cost_lines(settings)) if role != "proxy" else []
    if as_json:
        found = {"keys": keys, "limits": limits, "reference_prompts": costs}
        emit({"ok": not problems, "problems": problems, "notes": noted, **found})
        sys.exit(1 if problems else 0)
    for line in (*(f"note: {note}" for note in noted), *problems):
        click.echo(f"evenkeel: {line}", err=True)
    if problems:
        sys.exit(1)
    for line in (*keys, *limits, *costs):
        click.echo(line)
    click.echo(f"settings are good: {len(settings.routes)} route(s), all upstreams reachable")
