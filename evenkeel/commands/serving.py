"""`up`, `proxy`, `worker`, `monitor`, `check-config`, and the hidden `child` that the supervisor starts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from evenkeel import children
from evenkeel.commands.options import settings_of, settings_options


@click.command()
@settings_options
def up(config: Path | None, **given: Any) -> None:
    """Run proxy, worker, monitor and console on this machine.

    \b
    Then point your applications at it:
      OpenAI(base_url="http://127.0.0.1:8100/v1")

    Replays use their own credential: put it into EVENKEEL_SHADOW_API_KEY if the endpoint needs one.
    """
    from evenkeel.choices import check
    from evenkeel.up import up as serve

    settings = settings_of(config, given)
    check(settings, str(config or "settings"))
    serve(settings, say=click.echo)


@click.command()
@settings_options
def proxy(config: Path | None, **given: Any) -> None:
    """Run the data plane alone: forward, sample, and queue in the data folder.

    Metrics and health are served only with --admin-port.
    """
    from evenkeel.standalone import proxy as serve

    serve(settings_of(config, given), admin=given["admin_port"] is not None, say=click.echo)


@click.command()
@settings_options
def worker(config: Path | None, **given: Any) -> None:
    """Run a worker: make the trials of exchanges that proxies put into Redis.

    Needs redis.url in the settings. Metrics and health are served only with --admin-port.
    """
    from evenkeel.choices import check
    from evenkeel.roles.worker import work

    settings = settings_of(config, given)
    check(settings, str(config or "settings"))
    work(settings, admin=given["admin_port"] is not None, say=click.echo)


@click.command()
@click.option("--name", metavar="NAME", help="Names its checkpoint in Redis.  [name of the host]")
@settings_options
def monitor(config: Path | None, name: str | None, **given: Any) -> None:
    """Run a monitor: fold the verdicts in Redis, export the gauges, raise alerts, serve the console.

    Needs redis.url in the settings. Two monitors with names of their own watch the same and notify once.
    """
    from evenkeel.choices import check
    from evenkeel.roles.monitor import watch

    settings = settings_of(config, given, {"monitor": {"name": name}} if name else {})
    check(settings, str(config or "settings"))
    watch(settings, say=click.echo)


@click.command("check-config")
@settings_options
def check_config(config: Path | None, **given: Any) -> None:
    """Check settings, credentials and upstreams without starting; exit code 1 if something is wrong."""
    from evenkeel.choices import check
    from evenkeel.preflight import missing_keys, notes, unreachable_upstreams, unusable_redis

    settings = settings_of(config, given)
    check(settings, str(config or "settings"))
    for note in notes(settings):
        click.echo(f"evenkeel: note: {note}", err=True)
    problems = [*missing_keys(settings), *unreachable_upstreams(settings), *unusable_redis(settings)]
    if settings.alert.notify:
        from evenkeel.notifications import unknown_services

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
    briefing = children.receive()
    if briefing.role == "proxy":
        from evenkeel import data_plane

        data_plane.run(briefing)
    elif briefing.role == "redis-worker":
        from evenkeel.roles import worker as worker_role

        worker_role.run(briefing)
    elif briefing.role == "monitor":
        from evenkeel.roles import monitor as monitor_role

        monitor_role.run(briefing)
    else:
        from evenkeel import back_plane

        back_plane.run(briefing)
