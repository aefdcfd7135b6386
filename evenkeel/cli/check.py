"""`check`: how fragile a prompt is with a model, without a proxy."""

from __future__ import annotations

import contextlib
import json
import os
import random
import sqlite3
import sys
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from evenkeel.cli.options import (
    EXISTING,
    VARIABLE,
    CommandFailedError,
    NumberRange,
    call_options,
    console_store,
    file_option,
    json_option,
    keep_run,
    parameters_option,
    prices_option,
    severity_option,
    task_option,
    yes_option,
)
from evenkeel.core.figures import usd
from evenkeel.llm.price import Prices
from evenkeel.release.check.figures import FIRST, SECOND
from evenkeel.release.check.prompts import as_chat, read_dataset, read_prompts
from evenkeel.release.check.report import as_json as to_json
from evenkeel.release.check.report import as_junit, as_run, document, nothing_because
from evenkeel.release.check.run import OPENAI, CheckRequest, ModelAt, judge_beside, model_at
from evenkeel.release.check.service import kinds_by_category, make_check
from evenkeel.release.kit.arguments import (
    InputError,
    check_writable,
    read_text,
    words,
    write_reports,
)
from evenkeel.release.kit.asking import AGAIN, UnusableError
from evenkeel.release.kit.datasets import is_dataset, read_rows
from evenkeel.release.kit.renderings import html, markdown, show
from evenkeel.release.kit.terminal import confirmation, consoles, progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console

    from evenkeel.release.check.run import CheckOutcome
    from evenkeel.shadow.prompt import PromptView

# Estimates above this are confirmed first.
_ASK_ABOVE_USD: Final = 1.0
_OVER: Final = 1
# Exit code of a check that ended before everything was settled.
_NOT_KNOWN: Final = 3
_JUNIT: Final = Path("evenkeel-check.xml")
_SIMULATED: Final = "simulated"
_SECOND_SIMULATED: Final = "simulated-2"


@click.command()
@click.argument("prompt", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--model", metavar="NAME", help='Model to ask; "simulated" needs no key.')
@click.option("--base-url", metavar="URL", help=f"Endpoint.  [default: $OPENAI_BASE_URL, else {OPENAI}]")
@click.option(
    "--api-key-env",
    type=VARIABLE,
    metavar="VARIABLE",
    help="Variable with the API key.  [default: by endpoint]",
)
@file_option("--inputs", "Values for the {{variables}} of the prompt: JSON lines or CSV.", metavar="FILE")
@click.option("--against", metavar="MODEL", help="Second model to compare with the first.")
@click.option(
    "--against-prompt", type=EXISTING, metavar="FILE", help="Second prompt to compare with the first."
)
@click.option(
    "--judge", metavar="MODEL", help="Model that rates answers.  [default: a small one of the provider]"
)
@click.option("--no-judge", is_flag=True, help="Measure similarity only; contradictions cannot be seen.")
@task_option("Task of the prompt, for its quality metrics.")
@click.option(
    "--perturbations",
    metavar="LIST",
    help="Perturbations or categories, comma-separated.  "
    "[default: general,positional,format,multilingual, and tools where there are any]",
)
@click.option(
    "--limit",
    type=NumberRange(0, 100, min_open=True),
    default=10.0,
    metavar="POINTS",
    help="Points above noise that are tolerated, of 100.",
)
@click.option("--rounds", type=click.IntRange(1, 10_000), default=200, help="Most rounds.")
@severity_option
@parameters_option('Parameters of each request, such as {"temperature": 0}.')
@prices_option
@click.option(
    "--budget-usd", "max_usd", type=NumberRange(0), metavar="USD", help="Stop after spending this much."
)
@click.option("--seed", default=0, help="Random seed.")
@call_options(16, 120.0)
@click.option(
    "--ci", is_flag=True, help="For pipelines: ask nothing, write JUnit, and fail unless settled within."
)
@file_option("--junit", "Write JUnit XML.  [default with --ci: evenkeel-check.xml]")
@file_option("--html", "Write an HTML page.")
@file_option("--markdown", "Write Markdown, for a comment on a pull request.")
@file_option(
    "--journal",
    "File for answers, so that a stopped check can continue.",
    default=Path("evenkeel-check.journal"),
)
@file_option("--config", "Settings file of `evenkeel up`: its console lists the check.")
@file_option("--data-dir", "Data folder whose console lists the check.", metavar="DIR")
@json_option
@yes_option
def check(prompt: Path, *, as_json: bool, yes: bool, **options: Any) -> None:
    """Measure how fragile the prompt in PROMPT is, or the one on standard input (-).

    PROMPT holds plain text, a JSON list of messages, a request body as an SDK sends it, or any of these with
    {{variables}}. In each round the model answers it twice as it is and once for each category of rewordings.
    A category is settled as soon as its interval is within the limit or over it.

    \b
      evenkeel check prompt.txt --model simulated
      evenkeel check prompt.txt --model gpt-6-luna
      evenkeel check template.txt --inputs rows.jsonl --model gpt-6-luna --html check.html
      evenkeel check prompt.txt --model gpt-6-luna --against gpt-6.1-terra
      evenkeel check prompt.txt --model gpt-6-luna --ci --limit 10

    The cost is estimated first and confirmed above one dollar. A stopped check continues from its journal.

    Exit code: 0 done, 1 stopped early, 2 could not measure or invalid options, 3 the model or the judge
    stopped answering. With --ci: 0 within the limit, 1 over it, 2 could not measure or invalid options, 3 not
    known yet.
    """
    out, err = consoles(json=as_json)
    # A pipeline gets JUnit, wherever it wants it.
    target = options["junit"] or (_JUNIT if options["ci"] else None)
    check_writable((options["html"], options["markdown"], target, options["journal"]))
    with contextlib.ExitStack() as stack:
        request = _request(prompt, options, stack)
        # Before anything is paid for.
        with console_store(options):
            pass
        _confirm(request, options["max_usd"], confirmed=yes or options["ci"])
        outcome = _run(request, err)
    # Before anything is printed: standard output may be a full disk, and this was paid for.
    written = write_reports(
        [
            (options["html"], lambda: html(document(outcome))),
            (options["markdown"], lambda: markdown(document(outcome), level=2)),
            (target, lambda: as_junit(outcome)),
        ]
    )
    show(document(outcome), out)
    for path in written:
        err.print(f"wrote {path}", soft_wrap=True)
    keep_run(as_run(outcome), options)
    if as_json:
        click.echo(to_json(outcome), nl=False)
    # Last, so that a pipeline has its files also where nothing could be measured.
    if outcome.nothing_measured:
        raise UnusableError(f"nothing was measured: {nothing_because(outcome)}")
    if outcome.broke_off:
        click.echo(f"evenkeel: {outcome.stopped}; then {AGAIN}", err=True)
    # Outside a pipeline a finding is an answer, not a failure.
    if options["ci"] and outcome.is_over:
        sys.exit(_OVER)
    if not outcome.settled and (options["ci"] or outcome.broke_off):
        sys.exit(_NOT_KNOWN)


def _confirm(request: CheckRequest, max_usd: float | None, *, confirmed: bool) -> None:
    """Say the cost, and ask if it may be above a dollar and nobody has agreed to it."""
    estimate = request.estimate()
    question, ahead = str(estimate), estimate.spend.usd
    if max_usd is not None and not estimate.unpriced:
        question += f"; stops at {usd(max_usd)}"
        # Only calls that are under way when it is reached can be above it.
        ahead = min(ahead, max_usd)
    confirmed = confirmed or (ahead <= _ASK_ABOVE_USD and not estimate.unpriced)
    confirmation(confirmed=confirmed, in_pipelines=True)(question)


def _run(request: CheckRequest, err: Console) -> CheckOutcome:
    try:
        with progress("checking", "rounds", request.rounds, err) as made:
            return make_check(request, progress=made.add)
    except sqlite3.Error as error:
        raise CommandFailedError(f"the journal {request.journal} cannot be written ({error})") from error
    except KeyboardInterrupt as error:
        raise CommandFailedError(f"stopped; every answer so far is in {request.journal}: {AGAIN}") from error


def _request(prompt: Path, options: Mapping[str, Any], stack: contextlib.ExitStack) -> CheckRequest:
    """Return the check that the options describe.

    Raises: InputError for options and files that cannot be used.
    """
    source = "standard input" if str(prompt) == "-" else str(prompt)
    prompts = {FIRST: _prompts(prompt, source, options)}
    if options["against"] and options["against_prompt"]:
        raise InputError("--against and --against-prompt: give one of them, or nobody knows what differs")
    if options["against_prompt"]:
        other = options["against_prompt"]
        prompts[SECOND] = _prompts(other, str(other), options)
        if len(prompts[SECOND]) != len(prompts[FIRST]):
            raise InputError(f"--against-prompt {other}: must have as many prompts as {source}")
    first = _model(options, prompts[FIRST], stack)
    models = {FIRST: first}
    titles: dict[str, str] = {}
    if options["against"]:
        models[SECOND] = _second(options, first)
        prompts[SECOND] = prompts[FIRST]
    elif options["against_prompt"]:
        models[SECOND] = first
        titles = {FIRST: source, SECOND: str(options["against_prompt"])}
    judge = _judge(options, first)
    return CheckRequest(
        prompts=prompts,
        models=models,
        titles=titles,
        source=source,
        kinds=kinds_by_category(
            words(options["perturbations"]), chain(*prompts.values()), rewriter=judge is not None
        ),
        judge=judge,
        limit=options["limit"] / 100,
        rounds=options["rounds"],
        task=options["task"],
        severity=options["severity"],
        seed=options["seed"],
        prices=Prices(options["prices"]),
        journal=options["journal"],
        most_usd=options["max_usd"],
        concurrency=options["concurrency"],
        timeout_s=options["timeout"],
    )


def _prompts(path: Path, source: str, options: Mapping[str, Any]) -> list[PromptView]:
    """Return the prompts of a file, or of standard input for "-", with the parameters of the options."""
    # Before they are reworded: rewordings of tools, and of the format asked for, depend on them.
    members = {name: json.dumps(value) for name, value in options["parameters"].items()}
    return [view.with_members(members) for view in _read_prompts(path, source, options)]


def _read_prompts(path: Path, source: str, options: Mapping[str, Any]) -> list[PromptView]:
    inputs = options["inputs"]
    if str(path) != "-" and is_dataset(path) and inputs is None:
        return read_dataset(read_rows(path), source)
    rows = [row.values for row in read_rows(inputs)] if inputs else None
    text = read_text(path)
    if options["model"] == _SIMULATED and not options["base_url"]:
        # The simulated model speaks no other API than chat completions.
        text = as_chat(text, source)
    return read_prompts(text, rows, source)


def _model(options: Mapping[str, Any], prompts: Sequence[PromptView], stack: contextlib.ExitStack) -> ModelAt:
    """Return the model to ask: as named, else as the request body names it.

    Raises: InputError if nobody names one, or its key is missing.
    """
    name = options["model"] or prompts[0].model
    if not name:
        raise InputError("--model: is missing; name the model to ask, or try --model simulated")
    if name == _SIMULATED and not options["base_url"]:
        return stack.enter_context(_simulated())
    return model_at(name, os.environ, base_url=options["base_url"], key_variable=options["api_key_env"])


def _second(options: Mapping[str, Any], first: ModelAt) -> ModelAt:
    """Return the second model, which is at the endpoint of the first.

    Raises: InputError if one of the two is simulated here and the other one is not.
    """
    name = options["against"]
    if _SIMULATED in (name, options["model"]) and not options["base_url"]:
        if name != options["model"]:
            raise InputError(
                f"--model {options['model']} --against {name}: a simulated model can only be compared with "
                "another simulated one, by --model simulated --against simulated"
            )
        name = _SECOND_SIMULATED
    return replace(first, model=name)


def _judge(options: Mapping[str, Any], first: ModelAt) -> ModelAt | None:
    if not options["no_judge"]:
        return judge_beside(first, options["judge"])
    if options["judge"]:
        raise InputError("--judge and --no-judge: give one of them")
    return None


@contextlib.contextmanager
def _simulated() -> Iterator[ModelAt]:
    """Serve a simulated model of known fragility, and a more fragile one, from this process."""
    from evenkeel.simulate import DEFAULT_MODEL, ModelState, Simulation, SimulationSettings
    from evenkeel.simulate.server import serving

    models = [
        ModelState(DEFAULT_MODEL, fragility=0.2, noise=0.02),
        ModelState(_SECOND_SIMULATED, fragility=0.5, noise=0.02),
    ]
    simulation = Simulation(models, SimulationSettings(deterministic=False), rng=random.Random(0))
    with serving(simulation) as url:
        yield ModelAt(DEFAULT_MODEL, f"{url}/v1", "", "")
