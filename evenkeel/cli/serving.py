"""`up`, `proxy`, `worker`, `monitor`, `check-config`, and the hidden `child` that the supervisor starts."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenkeel.cli.options import settings_of, settings_options
from evenkeel.runtime.reload import SettingsSource
from evenkeel.runtime.supervisor import receive

if TYPE_CHECKING:
    from evenkeel.runtime.preflight import Role
    from evenkeel.settings import Settings


def _checked(
    config: Path | None,
    given: dict[str, Any],
    more: dict[str, Any] | None = None,
    *,
    injecting: bool = False,
) -> SettingsSource:
    """The settings of a file and options; what they name is looked up each time they are read."""

    def read() -> Settings:
        from evenkeel.runtime.choices import check

        settings = settings_of(config, given, more, injecting=injecting)
        check(settings, str(config or "settings"))
        return settings

    return SettingsSource(config, read)


@click.command()
@settings_options
def up(config: Path | None, **given: Any) -> None:
    """Run proxy, worker, monitor and console on this machine.

    \b
    Then point your applications at it:
      OpenAI(base_url="http://127.0.0.1:8100/v1")

    Replays use their own credential: put it into EVENKEEL_SHADOW_API_KEY if the endpoint needs one.
    """
    from evenkeel.runtime.up import up as serve

    source = _checked(config, given, injecting=True)
    serve(source.read(), say=click.echo, source=source)


@click.command()
@settings_options
def proxy(config: Path | None, **given: Any) -> None:
    """Run the data plane alone: forward, sample, and queue in Redis or, without one, in the data folder.

    Metrics and health are served only with --admin-port.
    """
    from evenkeel.runtime.standalone import proxy as serve

    source = SettingsSource(config, partial(settings_of, config, given, injecting=True))
    serve(source.read(), admin=given["admin_port"] is not None, say=click.echo, source=source)


@click.command()
@settings_options
def worker(config: Path | None, **given: Any) -> None:
    """Run a worker: make the trials of exchanges that proxies put into Redis.

    Needs redis.url in the settings. Metrics and health are served only with --admin-port.
    """
    from evenkeel.runtime.roles.worker import work

    source = _checked(config, given)
    work(source.read(), admin=given["admin_port"] is not None, say=click.echo, source=source)


@click.command()
@click.option("--name", metavar="NAME", help="Names its checkpoint in Redis.  [name of the host]")
@settings_options
def monitor(config: Path | None, name: str | None, **given: Any) -> None:
    """Run a monitor: fold the verdicts in Redis, export the gauges, raise alerts, serve the console.

    Needs redis.url in the settings. Two monitors with names of their own watch the same and notify once.
    """
    from evenkeel.runtime.roles.monitor import watch

    source = _checked(config, given, {"monitor": {"name": name}} if name else {})
    watch(source.read(), say=click.echo, source=source)


@click.command("check-config")
@click.option(
    "--role",
    type=click.Choice(["proxy", "worker", "monitor"]),
    help="Check the credentials of this role only.  [of all]",
)
@settings_options
def check_config(config: Path | None, role: Role | None, **given: Any) -> None:
    """Check settings, credentials and upstreams without starting; exit code 1 if something is wrong."""
    from evenkeel.runtime.choices import check
    from evenkeel.runtime.preflight import missing_keys, notes, unreachable_upstreams, unusable_redis

    settings = settings_of(config, given)
    check(settings, str(config or "settings"))
    for note in notes(settings):
        click.echo(f"evenkeel: note: {note}", err=True)
    problems = [*missing_keys(settings, role), *unreachable_upstreams(settings), *unusable_redis(settings)]
    if settings.alert.notify and role in (None, "monitor"):
        from evenkeel.runtime.notifications import unknown_services

        problems += unknown_services(settings)
    for problem in problems:
        click.echo(f"evenkeel: {problem}", err=True)
    if problems:
        sys.exit(1)
    click.echo(f"settings are good: {len(settings.routes)} route(s), all upstreams reachable")


@click.command(hidden=True)
@click.argument("name")
def child(name: str) -> None:
    """Run one part under the supervisor, which writes the briefing to standard input."""
    del name  # shows the part in process lists
    briefing = receive()
    if briefing.role == "proxy":
        from evenkeel.runtime import data_plane

        data_plane.run(briefing)
    elif briefing.role == "redis-worker":
        from evenkeel.runtime.roles import worker as worker_role

        worker_role.run(briefing)
    elif briefing.role == "monitor":
        from evenkeel.runtime.roles import monitor as monitor_role

        monitor_role.run(briefing)
    else:
        from evenkeel.runtime import back_plane

        back_plane.run(briefing)
