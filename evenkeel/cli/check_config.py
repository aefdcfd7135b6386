"""`check-config`."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from evenkeel.cli.options import emit, json_option, settings_options, settings_source
from evenkeel.core.figures import count
from evenkeel.runtime import candidates, references
from evenkeel.runtime.limits import limit_lines
from evenkeel.runtime.notes import judge_line, notes
from evenkeel.runtime.notifications import unknown_services
from evenkeel.runtime.preflight import (
    host_notes,
    missing_keys,
    redis_notes,
    unreachable_upstreams,
    unusable_store,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evenkeel.runtime.checks import Check
    from evenkeel.runtime.preflight import Role
    from evenkeel.settings import Settings


_TESTS = ("request", "replay", "judge", "rewriter", "notification")


@click.command("check-config")
@click.option(
    "--role",
    type=click.Choice(["proxy", "worker", "monitor"]),
    help="Check only the credentials of this role.  [default: all roles]",
)
@click.option(
    "--test",
    "tests",
    type=click.Choice([*_TESTS, "all"]),
    is_flag=False,
    flag_value="all",
    multiple=True,
    help="Try every outgoing call, or the one named: a request through the running data plane, a replay, a "
    "question to the judge, the rewriter, a message to every channel; repeatable.",
)
@click.option(
    "--test-model",
    default="",
    show_default=False,
    metavar="NAME",
    help="Model of the test request and replay.  [default: the judge's, if it is at the same endpoint]",
)
@settings_options
@json_option
def check_config(
    config: Path | None,
    role: Role | None,
    tests: tuple[str, ...],
    test_model: str,
    *,
    as_json: bool,
    **options: Any,
) -> None:
    """Check settings, credentials and upstreams without starting.

    \b
      evenkeel check-config --config evenkeel.yaml
      evenkeel check-config --config evenkeel.yaml --role worker --json
      evenkeel check-config --config evenkeel.yaml --test --test-model gpt-4.1
      evenkeel check-config --config evenkeel.yaml --test request --test judge

    Exit code: 0 ready to start, 1 a check failed, 2 invalid settings.
    """
    guarding = role in {None, "monitor"} or options["admin_port"] is not None
    settings = settings_source(config, options, guarding=guarding).read()
    noted = [*notes(settings), *host_notes(settings), *redis_notes(settings)]
    noted += candidates.retirement_notes(settings, time.time())
    problems = [*missing_keys(settings, role), *unreachable_upstreams(settings), *unusable_store(settings)]
    if settings.alerts.notify and role in (None, "monitor"):
        problems += unknown_services(settings)
    # Which credential each route uses is shown, never the credential.
    keys: list[str] = []
    for of_route in settings.keys.values():
        keys += map(str, of_route)
    limits = list(limit_lines(settings))
    costs = list(references.cost_lines(settings)) if role != "proxy" else []
    challengers = list(candidates.cost_lines(settings)) if role != "proxy" else []
    judge = judge_line(settings)
    chosen = _TESTS if "all" in tests else tests
    # A call that must fail for a known reason would only repeat the problem in other words.
    checks = [] if problems else _checked(settings, ("budget", *chosen), test_model)
    good = not problems and all(check.state != "bad" for _, check in checks)
    if as_json:
        listings = {
            "keys": keys,
            "judge": judge,
            "limits": limits,
            "reference_prompts": costs,
            "challengers": challengers,
        }
        tried = {name: check._asdict() for name, check in checks}
        emit({"ok": good, "problems": problems, "notes": noted, **listings, "checks": tried})
        sys.exit(0 if good else 1)
    for line in (*(f"note: {note}" for note in noted), *problems):
        click.echo(f"evenkeel: {line}", err=True)
    if problems:
        sys.exit(1)
    for line in (*keys, judge, *limits, *costs, *challengers):
        click.echo(line)
    for name, check in checks:
        click.echo(f"{name}: {check.said} {check.next_step}".rstrip(), err=check.state == "bad")
    if not good:
        sys.exit(1)
    click.echo(f"settings are good: {count(len(settings.routes), 'route')}, all upstreams reachable")


def _checked(settings: Settings, names: Sequence[str], model: str) -> list[tuple[str, Check]]:
    # Loaded on demand: it brings every channel and the clients of models.
    from evenkeel.runtime.checks import run_checks

    return run_checks(settings, names, model)
