"""`challenge`: starts, stops and reports challengers in the store, also while `evenkeel up` runs."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from evenkeel.cli.baseline import unknown_route
from evenkeel.cli.options import (
    EXISTING,
    UPSTREAM,
    VARIABLE,
    NumberRange,
    audit,
    by_option,
    emit,
    json_option,
    named,
    print_rows,
    store_options,
    with_stores,
)
from evenkeel.core import figures
from evenkeel.core.challenge import FRAGILE_POINTS, WORSE_POINTS, Challenge
from evenkeel.release.challenge import words
from evenkeel.release.challenge.figures import challenge_figures
from evenkeel.release.kit.arguments import read_text
from evenkeel.runtime.stores import opened, settings_of_stores
from evenkeel.settings import SettingsError

if TYPE_CHECKING:
    from evenkeel.release.challenge.figures import ChallengeFigures
    from evenkeel.runtime.stores import Stores

_EXIT_CODES: Final = {"may_switch": 0, "must_not": 1, "not_yet": 3}
_SHARE: Final = 0.02

_route = click.option("--route", metavar="NAME", help="The route.  [default: the only one with a challenger]")


@click.group(invoke_without_command=True)
@click.option("--route", metavar="NAME", default="default", help="Route whose requests are asked.")
@click.option("--model", metavar="NAME", default="", show_default=False, help="Model to try.")
@click.option(
    "--upstream",
    type=UPSTREAM,
    metavar="URL",
    help="Endpoint to ask, of the same API.  [default: the route's own]",
)
@click.option(
    "--key-env",
    type=VARIABLE,
    metavar="VARIABLE",
    help="Environment variable of the workers with its API key.",
)
@click.option("--prompt", type=EXISTING, metavar="FILE", help="System prompt in place of the request's.")
@click.option(
    "--share",
    type=NumberRange(0, 1, min_open=True),
    default=_SHARE,
    metavar="SHARE",
    help="Share of the requests to ask.",
)
@click.option(
    "--worse",
    type=NumberRange(0, 100, min_open=True, max_open=True),
    default=WORSE_POINTS,
    metavar="POINTS",
    help="Net losses up to which it may switch.",
)
@click.option(
    "--fragile",
    type=NumberRange(0, 100, min_open=True, max_open=True),
    default=FRAGILE_POINTS,
    metavar="POINTS",
    help="Points by which it may be more fragile.",
)
@by_option
@json_option
@store_options
@click.pass_context
def challenge(context: click.Context, /, *, as_json: bool, **options: Any) -> None:
    """Ask another model, or another prompt, the same live requests: may it take over?

    Without a subcommand, it starts a challenger on a route. The workers ask it a share of the sampled
    requests in the background, never in place of the model that serves your users. Each answer is compared
    with the one that was served, beyond how far the incumbent's own answers differ when it is asked again.
    `status` says may switch, must not, or not yet. A route has one challenger at a time.

    \b
      evenkeel challenge --route support --model gpt-6-luna
      evenkeel challenge --route support --prompt new-system.txt --share 0.05
      evenkeel challenge status --route support
      evenkeel challenge stop --route support
    """
    # A group with a body: without a subcommand it starts a challenger.
    if context.invoked_subcommand is not None:
        for name in context.params:
            # Here it would be of the challenger to start: of another store, or of another route.
            if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise click.UsageError(f"write the options after {context.invoked_subcommand}")
        return
    route, prompt = options["route"], options["prompt"]
    if not (options["model"] or prompt or options["upstream"]):
        raise SettingsError("name what is to be tried: --model NAME, --prompt FILE or --upstream URL")
    system = read_text(prompt).strip() if prompt else ""
    if prompt and not system:
        raise SettingsError(f"--prompt {prompt}: is empty; a system message needs a text")
    who = named(options["by"])
    started = Challenge(
        route=route,
        model=options["model"],
        upstream=options["upstream"] or "",
        key_env=options["key_env"] or "",
        prompt=system,
        share=options["share"],
        worse=options["worse"],
        fragile=options["fragile"],
        started_at=time.time(),
    )
    with opened(settings_of_stores(options["config"], options["data_dir"])) as stores:
        # A misspelt route would never be asked anything.
        if unknown := unknown_route(stores, route):
            raise SettingsError(f"{unknown}; if it is new, name its settings file with --config")
        # Looked up first: starting another one stops it.
        other = stores.challenges.running(route)
        stores.challenges.start(started)
        audit(stores, "challenger_started", who, route, words.name_of(started))
        measured = _measured(stores, started)
    if as_json:
        emit(words.challenge_json(started, measured))
        return
    if other is not None and other.id != started.id:
        click.echo(f"{words.name_of(other)} is stopped; what it has shown stays.", err=True)
    click.echo(
        f"{words.name_of(started)} is asked {figures.percent(started.share, 1)} of the requests of route "
        f"{route} from now on. See how it does: evenkeel challenge status --route {route}"
    )


@challenge.command()
@_route
@json_option
@with_stores
def status(stores: Stores, route: str | None, *, as_json: bool) -> None:
    """Say whether the challenger may take over, and why.

    Exit code: 0 it may switch, 1 it must not, 3 not yet known, 2 there is none.
    """
    running = _found(stores, route)
    measured = _measured(stores, running)
    if as_json:
        emit(words.challenge_json(running, measured))
    else:
        _show(running, measured)
    sys.exit(_EXIT_CODES[measured.decision.answer])


@challenge.command("list")
@json_option
@with_stores
def list_(stores: Stores, *, as_json: bool) -> None:
    """List all challengers, running and stopped, with their decisions."""
    every = [(running, _measured(stores, running)) for running in stores.challenges.all()]
    if as_json:
        emit([words.challenge_json(running, measured) for running, measured in every])
        return
    if not every:
        click.echo(
            "No challengers. Start one: evenkeel challenge --route default --model gpt-6-luna", err=True
        )
        return
    rows = []
    for running, measured in every:
        rows.append(
            (
                running.route, words.name_of(running), figures.date_and_time(running.started_at),
                "running" if running.stopped_at is None else "stopped", figures.number(measured.pairs),
                words.ANSWERS[measured.decision.answer],
            )
        )  # fmt: skip
    print_rows(("route", "challenger", "started", "state", "pairs", "decision"), rows)


@challenge.command()
@_route
@by_option
@json_option
@with_stores
def stop(stores: Stores, route: str | None, by: str | None, *, as_json: bool) -> None:
    """Stop asking the challenger of a route. What it has shown stays."""
    who = named(by)
    running = _found(stores, route)
    if running.stopped_at is not None:
        raise SettingsError(f"the challenger of route {running.route} is stopped already")
    stopped = replace(running, stopped_at=time.time())
    stores.challenges.put(stopped)
    audit(stores, "challenger_stopped", who, running.route, words.name_of(running))
    if as_json:
        emit(words.challenge_json(stopped, _measured(stores, stopped)))
        return
    click.echo(f"{words.name_of(running)} is asked nothing more on route {running.route}.")


def _found(stores: Stores, route: str | None) -> Challenge:
    """Return the challenger that runs on a route, else the last one there."""
    every = []
    for chosen in stores.challenges.all():
        if route in {None, chosen.route}:
            every.append(chosen)
    if not every:
        where = f" on route {route}" if route else ""
        raise SettingsError(f"no challenger{where}; start one: evenkeel challenge --route NAME --model NAME")
    found = [chosen for chosen in every if chosen.stopped_at is None] or every
    routes = sorted({chosen.route for chosen in found})
    if len(routes) > 1:
        named_routes = figures.listing(routes)
        raise SettingsError(f"several routes have a challenger ({named_routes}): add --route NAME")
    return found[0]


def _measured(stores: Stores, running: Challenge) -> ChallengeFigures:
    store = stores.challenges
    return challenge_figures(running, store.pairs(running.id), store.labels(running.id))


def _show(running: Challenge, measured: ChallengeFigures) -> None:
    for line in (words.headline(running, measured), *words.details(running, measured)):
        click.echo(line)
    rows = []
    for row in words.rows(running, measured):
        rows.append((row.name, row.figure, row.limit, figures.number(row.n), row.about))
    click.echo()
    print_rows(("points", "figure", "limit", "n", "counts"), rows)
    click.echo(f"\n{words.limits(running)}\n")
    print_rows(("", "incumbent asked again", "candidate"), words.sides(measured))
    if measured.segments:
        click.echo()
        print_rows(("segment", "share", "worse, points", ""), words.segment_rows(running, measured))
    for line in (*words.judge_lines(measured), words.CONDITION):
        click.echo(f"\n{line}")
