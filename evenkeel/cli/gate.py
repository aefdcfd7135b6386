"""`gate`."""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from rich.console import Console

from evenkeel.cli.options import (
    EXISTING,
    FILE,
    VARIABLE,
    NumberRange,
    call_options,
    experiment_settings,
    json_option,
    keep_run,
    max_usd_option,
    model_options,
    prices_option,
    task_option,
    yes_option,
)
from evenkeel.core.endpoint import Upstream
from evenkeel.core.errors import UserError
from evenkeel.core.figures import count
from evenkeel.monitor.detect.gate import GateRules
from evenkeel.release.gate.clusters import clusters
from evenkeel.release.gate.plan import document as plan_document
from evenkeel.release.gate.reports import as_json, as_junit, as_run, document
from evenkeel.release.gate.run import GateOptions, run_gate
from evenkeel.release.gate.scoring import RATED
from evenkeel.release.gate.sides import EditError, NewSystemPrompt, NewTemplate, Side, SideEndpoint
from evenkeel.release.goldens.files import load_goldens, newest_versions
from evenkeel.release.kit.arguments import InputError, check_writable, read_text, words, write_reports
from evenkeel.release.kit.renderings import markdown, show
from evenkeel.release.kit.terminal import NotConfirmedError, confirmation, consoles
from evenkeel.runtime.instruments import make_judge, make_scorer
from evenkeel.runtime.replays import prices
from evenkeel.runtime.stores import opened
from evenkeel.settings import Credential, SettingsError
from evenkeel.settings.credentials import shadow_origin
from evenkeel.settings.scoring import JUDGE_KEY
from evenkeel.stores.cache import DocumentCache
from evenkeel.stores.counters import Tally
from evenkeel.stores.sqlite.documents import SqliteDocuments

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from evenkeel.llm.price import Prices
    from evenkeel.metrics.scoring import TwoStageScorer
    from evenkeel.release.gate.run import GateOutcome
    from evenkeel.release.gate.sides import Edit, SideName
    from evenkeel.settings import Settings
    from evenkeel.settings.credentials import UpstreamKeys
    from evenkeel.stores.goldens import Golden
    from evenkeel.stores.sqlite.database import Database

log = logging.getLogger("evenkeel")

COULD_NOT_MEASURE: Final = 2
"""Exit code of a gate without a result; 1 would read as a regression."""
_EXIT_CODES: Final = {"pass": 0, "regression": 1, "could_not_measure": COULD_NOT_MEASURE, "undecided": 3}
# Above it nearly every pair of answers differs, and no number of goldens shows anything.
_MOST_NOISE: Final = 0.95


@click.command()
@click.argument("files", nargs=-1, type=EXISTING)
@click.option("--data-dir", type=FILE, metavar="DIR", help="Without FILES: data folder to read goldens from.")
@click.option("--route", metavar="NAME", help="Only goldens of this route.")
@click.option(
    "--base-url", metavar="URL", help="Endpoint of the candidate.  [default: the routes' upstreams]"
)
@click.option("--model", metavar="NAME", help="Model of the candidate.  [default: each golden's own]")
@click.option("--prompt", type=FILE, metavar="FILE", help="New system prompt.")
@click.option("--template", type=FILE, metavar="FILE", help="Current prompt, with {placeholders}.")
@click.option("--new-template", type=FILE, metavar="FILE", help="New prompt, with the same {placeholders}.")
@click.option(
    "--reference-url", metavar="URL", help="Endpoint of the reference.  [default: the route's, or --base-url]"
)
@click.option(
    "--reference-model", metavar="NAME", help="Model of the reference.  [default: each golden's own]"
)
@click.option("--no-reference", is_flag=True, help="Ask only the candidate; noise is not subtracted.")
@click.option(
    "--api-key-env",
    type=VARIABLE,
    metavar="VARIABLE",
    help="Environment variable with the API key.  [default: EVENKEEL_SHADOW_API_KEY]",
)
@click.option(
    "--reference-key-env",
    type=VARIABLE,
    metavar="VARIABLE",
    help="The same for the reference.  [default: --api-key-env, if both have one origin]",
)
@click.option("--api-key-header", metavar="NAME", help="Header for the API keys.  [default: authorization]")
@click.option(
    "--config", type=FILE, metavar="FILE", help="Settings file: upstreams, judge, prices, qualities, store."
)
@task_option("Task of goldens that name none.  [default: recognised from the prompt]")
@model_options("judge", "Model that rates answers.  [default: none, similarity only]")
@click.option("--gate-on", metavar="LIST", help="Measures that can fail the gate.  [default: all]")
@click.option("--tolerance", default=0.0, metavar="SHARE", help="Difference treated as zero.")
@click.option("--margin", default=0.1, metavar="SHARE", help="Smallest regression the gate must detect.")
@click.option("--alpha", default=0.05, metavar="P", help="Maximum probability of a false regression.")
@click.option("--beta", default=0.05, metavar="P", help="Maximum probability of a false pass.")
@click.option(
    "--undecided",
    type=click.Choice(["pass", "fail"]),
    default="fail",
    help="Verdict if all goldens together are not conclusive.",
)
@click.option(
    "--max-failures",
    default=0.1,
    metavar="SHARE",
    help="Maximum share of goldens that may fail to be measured.",
)
@click.option("--repeats", type=click.IntRange(1, 100), default=1, help="Calls per golden and side.")
@click.option("--seed", default=0, help="Random seed of the order of the goldens.")
@call_options(8, 60.0)
@max_usd_option
@prices_option
@click.option(
    "--journal", type=FILE, metavar="FILE", help="File for answers, so that a stopped run can continue."
)
@click.option("--markdown", type=FILE, metavar="FILE", help="Write a Markdown report for a pull request.")
@click.option("--junit", type=FILE, metavar="FILE", help="Write JUnit XML.")
@click.option("--json-file", "json", type=FILE, metavar="FILE", help="Write the whole result as JSON.")
@click.option("--plan", is_flag=True, help="Make no calls; show how many goldens find which regression.")
@click.option(
    "--noise",
    type=NumberRange(0, _MOST_NOISE),
    default=0.05,
    show_default=True,
    metavar="SHARE",
    help="With --plan: share of the answers that differ by chance, such as a route's noise floor.",
)
@json_option
@yes_option
def gate(
    files: tuple[Path, ...], *, plan: bool, noise: float, as_json: bool, yes: bool, **options: Any
) -> None:
    """Check whether a candidate (model, endpoint or prompt) answers goldens worse than what you run today.

    FILES hold goldens (JSON lines): requests with an approved answer. Each goes to the candidate and to the
    reference, which is what you run today; both answers are compared with the approved one. What the
    reference gets wrong too is noise and is subtracted. The run stops as soon as the result is
    statistically settled.

    Exit code: 0 pass, 1 regression, 2 could not measure or invalid options, 3 undecided after all goldens.

    \b
      evenkeel gate goldens.jsonl --base-url https://api.openai.com/v1 --model gpt-6-luna
      evenkeel gate goldens.jsonl --base-url http://new:8000/v1 --reference-url http://old:8000/v1
      evenkeel gate goldens.jsonl --base-url https://api.openai.com/v1 --prompt system.txt
      evenkeel gate --config evenkeel.yaml --template now.txt --new-template next.txt --yes
      evenkeel gate goldens.jsonl --base-url … --model … --yes --markdown gate.md --junit gate.xml
      evenkeel gate goldens.jsonl --plan --noise 0.04
    """
    if plan:
        _show_plan(files, noise, options)
        return
    sys.exit(_run(files, options, json=as_json, confirmed=yes))


def _show_plan(files: tuple[Path, ...], noise: float, options: Mapping[str, Any]) -> None:
    """Print what a gate over the goldens of some files, or over any number of them, would find."""
    goldens = newest_versions(_read(files))
    measures = len(words(options["gate_on"])) or len(RATED)
    found = len(set(clusters(goldens).values()))
    planned = plan_document(noise, _rules(options), measures=measures, goldens=len(goldens), clusters=found)
    show(planned, consoles().out)


def _run(files: tuple[Path, ...], options: Mapping[str, Any], *, json: bool, confirmed: bool) -> int:
    """Run the gate as the options say.

    Returns: the exit code. A fault of the gate itself counts as not measured.
    Raises: UserError for options, files and stores that cannot be used.
    """
    out, err = consoles(json=json)
    try:
        check_writable((options["markdown"], options["junit"], options["json"], options["journal"]))
        confirm = confirmation(confirmed=confirmed, in_pipelines=True)
        outcome = run_gate(options_of(files, options), err=err, confirm=confirm)
        # Before anything is printed: standard output may be a full disk, and this was paid for.
        write_reports(
            [
                (options["markdown"], lambda: markdown(document(outcome), level=2)),
                (options["junit"], lambda: as_junit(outcome)),
                (options["json"], lambda: as_json(outcome)),
            ]
        )
        show(document(outcome), out)
        keep_run(as_run(outcome, options["route"]), options)
    except NotConfirmedError as error:
        raise InputError("no calls were made; add --yes to run without confirmation") from error
    except KeyboardInterrupt as error:
        again = "run it again to continue" if options["journal"] else "--journal FILE would let it continue"
        raise InputError(f"stopped before the verdict; {again}") from error
    except UserError:
        raise
    except Exception:
        # A fault of evenkeel must not look like a regression of the candidate.
        log.exception("the gate failed; nothing is known about the candidate")
        return COULD_NOT_MEASURE
    if json:
        click.echo(as_json(outcome), nl=False)
    return _EXIT_CODES[outcome.report.verdict.value]


def options_of(files: tuple[Path, ...], options: Mapping[str, Any]) -> GateOptions:
    """Return the options of a run.

    Args:
        files: Files of goldens.
        options: The options.

    Raises: UserError in one line.
    """
    settings = _settings(options)
    costs, judge = prices(settings), settings.judge
    goldens, source = _goldens(files, settings, options["route"])
    return GateOptions(
        goldens=goldens,
        source=source,
        sides=_sides(options, settings),
        task=options["task"],
        route_tasks={route.name: route.task for route in settings.routes},
        rating=lambda database: _rating(settings, costs, database),
        judge=f"the judge {judge.local or f'{judge.model} at {judge.base_url}'}" if judge else "no judge",
        judge_model=judge.model or "" if judge else "",
        judge_key_env=(judge.api_key_env if judge else "") or JUDGE_KEY,
        prices=costs,
        deciding=words(options["gate_on"]),
        rules=_rules(options),
        repeats=options["repeats"],
        seed=options["seed"],
        concurrency=options["concurrency"],
        timeout_s=options["timeout"],
        journal=options["journal"],
        most_usd=options["max_usd"],
    )


def gate_of(
    files: Iterable[str | os.PathLike[str]], options: Mapping[str, Any], *, confirmed: bool
) -> GateOutcome:
    """Run the gate for a program.

    Args:
        files: Goldens.
        options: Those of the command, with underscores; a flag is True.
        confirmed: Whether endpoints may be asked.

    Raises: UserError for options and files that cannot be used, and without a confirmation.
    """
    arguments = [os.fspath(file) for file in files]
    # Through the command itself, so that defaults and checks are those of the command line.
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            arguments.append(option)
        elif value is not None and value is not False:
            arguments += [option, str(value)]
    try:
        parameters = gate.make_context("gate", arguments).params
    except click.UsageError as error:
        raise InputError(error.format_message()) from error

    def confirm(estimate: object) -> None:
        if not confirmed:
            raise InputError(f"no calls were made ({estimate}); allow them")

    return run_gate(
        options_of(parameters.pop("files"), parameters), err=Console(file=io.StringIO()), confirm=confirm
    )


@asynccontextmanager
async def _rating(settings: Settings, prices: Prices, database: Database) -> AsyncIterator[TwoStageScorer]:
    """Yield what rates answers by the settings: their judge, else heuristics."""
    judge = make_judge(settings, DocumentCache(SqliteDocuments(database), "rulings"), prices)[0]
    try:
        yield make_scorer(settings, judge, Tally())
    finally:
        if judge is not None:
            await judge.close()


def _read(files: tuple[Path, ...]) -> list[Golden]:
    goldens: list[Golden] = []
    for path in files:
        goldens += load_goldens(path)
    doubles = len(goldens) - len({(golden.id, golden.version) for golden in goldens})
    if doubles:
        click.echo(f"{count(doubles, 'golden')} left out: written before in the same words", err=True)
    return goldens


def _goldens(
    files: tuple[Path, ...], settings: Settings, route: str | None
) -> tuple[tuple[Golden, ...], str]:
    """Return the goldens of files, else of the store, and their origin."""
    if files:
        # Files may hold several versions of a golden; the newest counts, also to retire it.
        goldens = tuple(golden for golden in newest_versions(_read(files)) if golden.retired_at is None)
        source = ", ".join(path.name for path in files)
    else:
        with opened(settings) as stores:
            goldens, source = stores.goldens.select(), stores.place
    if route is not None:
        goldens = tuple(golden for golden in goldens if golden.route == route)
    if not goldens:
        of = f' of the route "{route}"' if route else ""
        raise InputError(
            f"{source}: there are no goldens{of} in use; approve some with `evenkeel goldens approve`, or "
            "give a file of them"
        )
    return goldens, source


def _settings(options: Mapping[str, Any]) -> Settings:
    if options["config"] is None and options["base_url"] is None:
        raise SettingsError("no endpoint: set --base-url, or --config to use the routes' upstreams")
    return experiment_settings(options, options["prices"])


def _sides(options: Mapping[str, Any], settings: Settings) -> tuple[Side, ...]:
    """Return the candidate and, unless there is none, the reference."""
    url, reference_url = options["base_url"], options["reference_url"]
    try:
        own = Upstream.parse(url) if url else None
        other = Upstream.parse(reference_url) if reference_url else None
    except ValueError as error:
        raise SettingsError(str(error)) from error
    keys = _Keys(options, settings, own)
    # The candidate first: its key also serves a reference of the same origin.
    candidate = keys.side("candidate", own, {} if own else keys.routes, "api_key_env")
    candidate = replace(candidate, model=options["model"], edit=_edit(options))
    if options["no_reference"]:
        named = []
        for name in ("reference_url", "reference_model"):
            if options[name] is not None:
                named.append(name)
        if named:
            option = named[0].replace("_", "-")
            raise SettingsError(f"--no-reference and --{option}: either a reference is asked, or none is")
        return (candidate,)
    reference = keys.side("reference", other or own, {} if other else keys.routes, "reference_key_env")
    return candidate, replace(reference, model=options["reference_model"])


class _Keys:
    """Keys of both sides. Each key is sent only to its own origin."""

    def __init__(self, options: Mapping[str, Any], settings: Settings, own: Upstream | None) -> None:
        configured = options["config"] is not None
        self.routes = settings.keys if configured else {}
        self._given = options
        self._shadow = settings.replays
        self._header = settings.routes[0].api_key_header
        self._usual_home = shadow_origin(settings.routes) if configured else own
        # Variables that options name, with the upstream that each belongs to.
        self._named: list[tuple[str, Upstream]] = []

    def side(
        self,
        name: SideName,
        upstream: Upstream | None,
        routes: Mapping[str, tuple[UpstreamKeys, ...]],
        option: str,
    ) -> Side:
        """Return a side that uses the routes' upstreams, or else `upstream`.

        The candidate comes first: its named key also serves a reference of the same origin.
        """
        variable = self._given[option]
        upstreams = [keys[0].upstream for keys in routes.values()] or ([upstream] if upstream else [])
        if variable is not None and upstreams:
            # One key for several origins would be shown to all of them.
            home, *others = upstreams
            if not all(home.same_origin(other) for other in others):
                raise SettingsError(
                    f"--{option.replace('_', '-')}: is one key, and the routes' upstreams are of several "
                    "origins; set replay_key_env of each route, or name one endpoint with --base-url"
                )
            self._named.insert(0, (variable, home))
        return Side(
            name=name,
            endpoints={route: self._endpoint(keys[0].upstream, keys[0]) for route, keys in routes.items()},
            default=self._endpoint(upstream) if upstream else None,
            key_variable=variable or self._shadow.api_key_env,
        )

    def _endpoint(self, upstream: Upstream, own: UpstreamKeys | None = None) -> SideEndpoint:
        header = self._given["api_key_header"]
        variable = next((name for name, home in self._named if upstream.same_origin(home)), None)
        if variable is None and own is not None:
            return SideEndpoint(upstream, own.replay_headers(header))
        if variable is None and self._usual_home is not None and upstream.same_origin(self._usual_home):
            variable = self._shadow.api_key_env
        credential = Credential.read(variable, header or self._header) if variable else None
        return SideEndpoint(upstream, ((credential.header, credential.value),) if credential else ())


def _rules(options: Mapping[str, Any]) -> GateRules:
    try:
        named = ("alpha", "beta", "tolerance", "margin", "undecided")
        return GateRules(most_unmeasured=options["max_failures"], **{name: options[name] for name in named})
    except ValueError as error:
        raise InputError(str(error)) from error


def _edit(options: Mapping[str, Any]) -> Edit | None:
    prompt, old, new = options["prompt"], options["template"], options["new_template"]
    if prompt is not None and (old is not None or new is not None):
        raise InputError("--prompt and --template: change one of them at a time")
    try:
        if prompt is not None:
            return NewSystemPrompt(read_text(prompt), f"system prompt of {prompt.name}")
        if (old is None) != (new is None):
            raise InputError("--template and --new-template: give both, the text before and after the edit")
        if old is not None:
            edit = f"template {new.name} in place of {old.name}"
            return NewTemplate(read_text(old), read_text(new), edit)
    except EditError as error:
        raise InputError(f"{prompt or old}: {error}") from error
    return None
