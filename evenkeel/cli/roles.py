"""`up`, `proxy`, `worker`, `monitor` and `demo`: commands that run until they are stopped."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from evenkeel import logs
from evenkeel.cli.options import (
    announce,
    log_options,
    monitor_options,
    proxy_options,
    settings_options,
    settings_source,
    worker_options,
)
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


@click.command()
@click.option("--headless", is_flag=True, help="Exit at the end: 0 if all was measured as planted, else 1.")
@log_options
def demo(*, headless: bool, log_level: str | None, log_format: str | None) -> None:
    """Watch an incident from the swap of a simulated model to its rollback.

    Takes about a minute, needs no key and no network, then goes on serving until Ctrl-C. Its processes log
    to files in a folder that is removed at the end.

    \b
      evenkeel demo
      evenkeel demo --headless
    """
    # Loaded on demand: the roles that serve simulate nothing.
    from evenkeel.simulate.demo import run_demo

    # Passed on as variables, because the demo starts processes of its own.
    variables = {}
    for name, value in ((logs.LEVEL_VARIABLE, log_level), (logs.FORMAT_VARIABLE, log_format)):
        if value:
            variables[name] = value
    sys.exit(run_demo(headless=headless, variables=variables))
