"""`bench`."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import click

from evenkeel.cli.options import (
    EXISTING,
    VARIABLE,
    CommandFailedError,
    call_options,
    embeddings_option,
    experiment_settings,
    file_option,
    json_option,
    max_usd_option,
    model_options,
    parameters_option,
    prices_option,
    severity_option,
    yes_option,
)
from evenkeel.core.languages import language_of
from evenkeel.core.verdict import BASELINE
from evenkeel.lab.asking import KEPT
from evenkeel.lab.bench.items import BUILTIN, builtin_items, read_items
from evenkeel.lab.bench.models import PARAMETERS, model_at, read_models, upstream_at
from evenkeel.lab.bench.prompts import TASKS
from evenkeel.lab.bench.report import as_json, as_lines, document
from evenkeel.lab.bench.run import BenchOptions, run_bench
from evenkeel.lab.bench.services import Services, WatchedRewriter, reference_metrics, without_slots
from evenkeel.lab.bench.trials import Protocol
from evenkeel.lab.metrics.embeddings import EmbeddingsUnavailableError, available, load_embeddings
from evenkeel.metrics.judge import Judge
from evenkeel.metrics.scoring import heuristic_scorer, judge_scorer
from evenkeel.metrics.tasks import task_named
from evenkeel.release.kit.arguments import InputError, check_writable, words, write_reports
from evenkeel.release.kit.asking import AGAIN
from evenkeel.release.kit.cost import RewriterBudget
from evenkeel.release.kit.renderings import html, show
from evenkeel.release.kit.service_watch import ServiceWatch, service_advice
from evenkeel.release.kit.terminal import confirmation, consoles
from evenkeel.runtime import choices
from evenkeel.runtime.instruments import SWAP_SHARE
from evenkeel.runtime.replays import endpoint, prices
from evenkeel.settings import NOWHERE, Credential
from evenkeel.settings.credentials import shadow_origin
from evenkeel.shadow.perturbations import by_name
from evenkeel.shadow.rewriter import JudgedMeaning, Rewriter
from evenkeel.stores.cache import DocumentCache
from evenkeel.stores.sqlite.documents import SqliteDocuments

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AsyncExitStack

    from evenkeel.lab.bench.items import Issue
    from evenkeel.lab.bench.models import ModelUnderTest
    from evenkeel.lab.bench.run import Connect
    from evenkeel.lab.metrics.embeddings import Embeddings
    from evenkeel.llm.price import Prices
    from evenkeel.metrics.tasks import Task
    from evenkeel.release.kit.cost import Costs
    from evenkeel.settings import Settings
    from evenkeel.shadow.perturbations import Perturbation
    from evenkeel.stores.sqlite.database import Database

STOPPED: Final = 1
"""Exit code of a run that stopped early."""
_KEY_ENV: Final = "EVENKEEL_SHADOW_API_KEY"
_key_option = click.option(
    "--api-key-env",
    type=VARIABLE,
    metavar="VARIABLE",
    help=f"Environment variable with the API key.  [default: {_KEY_ENV}]",
)


@click.command()
@click.option("--model", "models", multiple=True, metavar="NAME", help="Model to measure; repeatable.")
@click.option(
    "--models", "models_file", type=EXISTING, metavar="FILE", help="File of models and endpoints (YAML)."
)
@click.option("--base-url", metavar="URL", help="Endpoint of models that name none.")
@_key_option
@click.option("--api-key-header", metavar="NAME", help="Header for the API key.  [default: authorization]")
@click.option(
    "--items",
    multiple=True,
    type=EXISTING,
    metavar="FILE",
    help="Your own issues (JSONL); repeatable.  [default: the 60 built in]",
)
@click.option("--max-items", type=click.IntRange(1), metavar="N", help="Use a random sample of N issues.")
@click.option("--tasks", metavar="LIST", help="Tasks, comma-separated.  [default: all four]")
@click.option(
    "--perturbations", metavar="LIST", help="Perturbations or categories, comma-separated.  [default: all]"
)
@click.option("--runs", type=click.IntRange(1, 100), default=5, help="Repetitions of every call.")
@severity_option
@parameters_option('Parameters of each request.  [default: {"temperature": 0, "seed": 0}]')
@file_option("--config", "Settings file: judge, rewriter, prices, qualities.")
@model_options("judge", "Model that rates answers.  [default: none, similarity only]")
@model_options("rewriter", "Model that paraphrases and translates.")
@embeddings_option
@prices_option
@click.option("--seed", default=0, help="Random seed.")
@call_options(8, 120.0)
@max_usd_option
@file_option(
    "--journal",
    "File for answers, so that a stopped run can continue.",
    default=Path("evenkeel-bench.journal"),
)
@json_option
@file_option("--html", "Write an HTML page with heatmaps.")
@file_option("--trials", "Write each pair of answers as JSON lines.")
@yes_option
def bench(*, as_json: bool, yes: bool, **options: Any) -> None:
    """Measure offline how robust models are, on 60 built-in IT issues or on your own.

    Each issue goes to each model in four tasks (case summary, chat summary, question on documents, slot
    filling), unchanged and under every perturbation, several times. The cost is estimated before the first
    call. A stopped run continues from its journal and repeats no call.

    Exit code: 0 done, 1 stopped early, 2 invalid options.

    \b
      evenkeel bench --model gpt-6-luna --model gpt-6.1-terra --base-url https://api.openai.com/v1 \\
        --judge-model gpt-4.1 --rewriter-model gpt-4.1 --max-items 10 --runs 2 --html bench.html
      evenkeel bench --models models.yaml --perturbations general,positional,format --yes --json > bench.json
    """
    _run(options, json=as_json, confirmed=yes)


def _run(parameters: Mapping[str, Any], *, json: bool, confirmed: bool) -> None:
    """Run the benchmark as the options say.

    Raises: UserError for options and files that cannot be used, and for a run that ended before its end.
    """
    out, err = consoles(json=json)
    confirm = confirmation(confirmed=confirmed, in_pipelines=True)
    try:
        settings = experiment_settings(parameters, parameters["prices"])
        options = _options(parameters, settings)
        check_writable((parameters["trials"], parameters["html"], parameters["journal"]))
        outcome = run_bench(
            options,
            _connect(settings, options, embeddings=parameters["embeddings"]),
            err=err,
            confirm=lambda estimate: confirm(f"{estimate}{_whom(settings)}"),
        )
        # Before anything is printed: standard output may be a full disk, and this was paid for.
        targets = write_reports(
            [
                (parameters["trials"], lambda: as_lines(outcome)),
                (parameters["html"], lambda: html(document(outcome))),
            ]
        )
        show(document(outcome), out)
        for path in targets:
            err.print(f"wrote {path}", soft_wrap=True)
    except KeyboardInterrupt as error:
        raise CommandFailedError(
            f"stopped; every answer so far is in {parameters['journal']}: {AGAIN}"
        ) from error
    if json:
        click.echo(as_json(outcome), nl=False)
    if outcome.unusable:
        sys.exit(STOPPED)


def _whom(settings: Settings) -> str:
    """Name the endpoints besides those of the models: their defaults are easily overlooked."""
    named = ""
    for service, at in (("judge", settings.judge), ("rewriter", settings.replays.rewriter)):
        if at is not None:
            named += f"; {service}: {at.model} at {at.base_url}"
    return named


def _options(options: Mapping[str, Any], settings: Settings) -> BenchOptions:
    """Return the options of a run.

    Raises: SettingsError or InputError in one line.
    """
    kinds, not_measured = _kinds(options["perturbations"], settings)
    protocol = Protocol(
        models=_models(options, settings),
        tasks=_tasks(options["tasks"]),
        kinds=kinds,
        runs=options["runs"],
        severity=options["severity"],
        seed=options["seed"],
    )
    files: tuple[Path, ...] = options["items"]
    drawn: list[Issue] = list(read_items(files) if files else builtin_items())
    Random(f"{options['seed']}:items").shuffle(drawn)
    judge, rewriter = settings.judge, settings.replays.rewriter
    if judge is not None and judge.local:
        raise InputError("judge.local: bench asks a model behind an endpoint; leave it out of the settings")
    return BenchOptions(
        protocol=protocol,
        items=tuple(drawn[: options["max_items"]]),
        source=", ".join(path.name for path in files) if files else BUILTIN,
        not_measured=not_measured,
        judge=judge.model if judge else None,
        rewriter=rewriter.model if rewriter else None,
        bundles=without_slots(choices.bundles(settings)),
        prices=prices(settings),
        journal=options["journal"],
        concurrency=options["concurrency"],
        timeout_s=options["timeout"],
        most_usd=options["max_usd"],
        with_texts=options["trials"] is not None,
    )


def _read_key(variable: str, header: str) -> tuple[tuple[str, str], ...]:
    credential = Credential.read(variable, header)
    return ((credential.header, credential.value),) if credential else ()


def _models(options: Mapping[str, Any], settings: Settings) -> tuple[ModelUnderTest, ...]:
    parameters = {**PARAMETERS, **options["parameters"]}
    url = options["base_url"]
    key_env = options["api_key_env"] or settings.replays.api_key_env
    home = upstream_at(url) if url else None
    if options["config"] is not None and options["api_key_env"] is None:
        home = shadow_origin(settings.routes) or upstream_at(NOWHERE)
    headers: tuple[tuple[str, str], ...] = ()
    if url and home and home.same_origin(upstream_at(url)):
        headers = _read_key(key_env, options["api_key_header"] or settings.routes[0].api_key_header)
    models: list[ModelUnderTest] = []
    if options["models"]:
        if url is None:
            raise InputError("where are the models? Name their endpoint with --base-url")
        for name in options["models"]:
            models.append(model_at(name, url, key_env=key_env, headers=headers, parameters=parameters))
    if options["models_file"]:
        models += read_models(
            options["models_file"],
            url=url,
            key_env=key_env,
            home=home,
            read_key=_read_key,
            parameters=parameters,
        )
    if not models:
        raise InputError("which models? Name each with --model, or give a file of them with --models")
    names = [model.name for model in models]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f'the model "{twice}" is there twice; give them different names')
    return tuple(models)


def _tasks(text: str | None) -> tuple[Task, ...]:
    if text is None:
        return TASKS
    tasks = []
    for word in words(text):
        try:
            task = task_named(word)
        except ValueError as error:
            raise InputError(f"--tasks: {error}") from error
        if task not in TASKS:
            raise InputError(f"--tasks: {word} is none of {', '.join(TASKS)}")
        tasks.append(task)
    return tuple(task for task in TASKS if task in tasks)


def _kinds(text: str | None, settings: Settings) -> tuple[tuple[Perturbation, ...], dict[str, int]]:
    """Return the perturbations that can be measured, and the number of others by what they lack."""
    try:
        perturbations_known = choices.perturbations(settings)
        wanted = by_name(words(text), perturbations_known) if text else perturbations_known
    except ValueError as error:
        raise InputError(f"--perturbations: {error}") from error
    has_judge = settings.judge is not None and not settings.judge.local
    served = {"rewriter": settings.replays.rewriter is not None, "judge": has_judge}
    have = set()
    for service, is_there in served.items():
        if is_there:
            have.add(service)
    missing: dict[str, int] = {}
    kinds = []
    for kind in wanted:
        for need in sorted(kind.requires - have):
            missing[need] = missing.get(need, 0) + 1
        if kind.requires <= have and kind.name != BASELINE:
            kinds.append(kind)
    if not kinds:
        raise InputError(
            f"--perturbations: all of them need a {' and a '.join(sorted(missing))}; name one with "
            f"{' and '.join(f'--{need}-model' for need in sorted(missing))}"
        )
    return tuple(kinds), missing


def _encoder(wanted: bool | None) -> Embeddings | None:  # noqa: FBT001 - three values
    """Return the packaged encoder for the reference metrics; by default if it is installed."""
    if wanted is False or (wanted is None and not available()):
        return None
    try:
        return load_embeddings(language_of=language_of)
    except EmbeddingsUnavailableError as error:
        raise InputError(str(error)) from error


def _connect(settings: Settings, options: BenchOptions, *, embeddings: bool | None) -> Connect:

    def connect(database: Database, costs: Costs, stack: AsyncExitStack) -> Services:
        chosen, judge, watch = settings.judge, None, None
        if chosen is None:
            scorer = heuristic_scorer(language_of, bundles=options.bundles)
        else:
            there = endpoint(chosen, options.prices)
            rulings = DocumentCache(SqliteDocuments(database), "rulings", kept=KEPT)
            judge = Judge(there, cache=rulings, repairs=1)
            stack.push_async_callback(judge.close)
            scorer = judge_scorer(
                judge,
                swap_share=SWAP_SHARE,
                language_of=language_of,
                bundles=options.bundles,
            )
            name = f"the judge {chosen.model} at {chosen.base_url}"
            advice = service_advice("--judge", chosen.api_key_env)
            watch = ServiceWatch(name, "--judge-model", advice, costs)
        rewrite = _rewriter(settings, judge, options.prices, database, costs, stack)
        return Services(scorer, rewrite, watch, reference_metrics(_encoder(embeddings)))

    return connect


def _rewriter(
    settings: Settings,
    judge: Judge | None,
    prices: Prices,
    database: Database,
    costs: Costs,
    stack: AsyncExitStack,
) -> WatchedRewriter | None:
    """Return the rewriter, whose texts the journal keeps; None if none is set."""
    chosen = settings.replays.rewriter
    if chosen is None:
        return None
    rewriter = Rewriter(
        endpoint(chosen, prices),
        cache=DocumentCache(SqliteDocuments(database), "rewrites", kept=KEPT),
        equal_meaning=JudgedMeaning(judge, RewriterBudget(costs)) if judge else None,
    )
    stack.push_async_callback(rewriter.close)
    name = f"the rewriter {chosen.model} at {chosen.base_url}"
    advice = service_advice("--rewriter", chosen.api_key_env)
    watch = ServiceWatch(name, "--rewriter-model", advice, costs, deed="rewrote")
    return WatchedRewriter(rewriter, costs, watch)
