"""`check-config`."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Final

import click

from evenkeel.cli.options import emit, json_option, settings_options, settings_source
from evenkeel.core.figures import count, percent, usd
from evenkeel.release.challenge.retirements import retirement_of
from evenkeel.runtime import references
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
from evenkeel.runtime.replays import budgeted_prices
from evenkeel.runtime.stores import CHALLENGER_SHARE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from evenkeel.runtime.checks import Check
    from evenkeel.runtime.preflight import Role
    from evenkeel.settings import Settings


# Requests of a route for which the cost of its challenger is stated.
_REQUESTS: Final = 10_000
# Answers of the candidate: one, and two more for every third pair.
_ANSWERS_OF_A_PAIR: Final = 5 / 3
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
    noted += retirement_notes(settings, time.time())
    problems = [*missing_keys(settings, role), *unreachable_upstreams(settings), *unusable_store(settings)]
    if settings.alerts.notify and role in (None, "monitor"):
        problems += unknown_services(settings)
    # Which credential each route uses is shown, never the credential.
    keys: list[str] = []
    for of_route in settings.keys.values():
        keys += map(str, of_route)
    limits = list(limit_lines(settings))
    costs = list(references.cost_lines(settings)) if role != "proxy" else []
    challengers = list(challenger_lines(settings)) if role != "proxy" else []
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


def challenger_lines(settings: Settings) -> Iterator[str]:
    """Yield what the challengers of the settings cost, and the most they may cost a day."""
    prices, budget = budgeted_prices(settings), settings.budget
    tokens_in, tokens_out = references.USUAL_TOKENS
    for route in settings.routes:
        named = route.challenger
        if named is None:
            continue
        # No more than the sampled requests can be asked.
        share = min(named.share, route.sampling_rate)
        cost = "its price is not known"
        if named.model and prices.knows(named.model):
            answers = _REQUESTS * share * _ANSWERS_OF_A_PAIR
            answers_usd = answers * prices.usd(named.model, tokens_in, tokens_out)
            cost = (
                f"its answers cost about {usd(answers_usd)} for {_REQUESTS:,} requests of "
                f"{tokens_in:,} tokens in and {tokens_out:,} out"
            )
        most = []
        if budget.usd_per_day is not None:
            most.append(usd(budget.usd_per_day * CHALLENGER_SHARE))
        if budget.tokens_per_day is not None:
            most.append(f"{round(budget.tokens_per_day * CHALLENGER_SHARE):,} tokens")
        limit = f"all challengers together at most {' and '.join(most)} a day" if most else "no limit is set"
        who = named.model or "the same model"
        yield (
            f"challenger of {route.name}: {who} is asked {percent(share, 1)} of the requests; {cost}, and "
            f"judging comes on top; {limit}"
        )


def retirement_notes(settings: Settings, now: float) -> Iterator[str]:
    """Yield a note for each model of the settings whose provider has announced that it retires.

    Args:
        settings: Name the judge, the rewriter and the challengers.
        now: Unix time in seconds.
    """
    rewriter = settings.replays.rewriter
    named = {
        "judge": settings.judge.model if settings.judge else None,
        "replays.rewriter": rewriter.model if rewriter else None,
    }
    for route in settings.routes:
        if route.challenger is not None:
            named[f"routes.{route.name}.challenger"] = route.challenger.model
    for part, model in named.items():
        retirement = retirement_of(model, now) if model else None
        if retirement is not None:
            yield f"{part}: {retirement} ({retirement.source})"
