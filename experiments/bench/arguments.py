"""From the command line's words to options; from errors to messages and exit codes."""

from __future__ import annotations

import json
from dataclasses import asdict
from random import Random
from typing import TYPE_CHECKING, Any

import click

from evenkeel import settings as settings_module
from evenkeel.core.verdict import BASELINE
from evenkeel.experiments.bench.items import BUILTIN, ItemError, builtin_items, read_items
from evenkeel.experiments.bench.models import PARAMETERS, model_at, read_models
from evenkeel.experiments.bench.prompts import TASKS
from evenkeel.experiments.bench.report import as_csv, as_json, as_lines, document
from evenkeel.experiments.bench.run import BenchOptions, Outcome, run_bench
from evenkeel.experiments.bench.trials import Protocol
from evenkeel.experiments.kit.arguments import named_price, words
from evenkeel.experiments.kit.asking import AGAIN, StoppedError
from evenkeel.experiments.kit.confirmation import NotConfirmedError, confirmation
from evenkeel.experiments.kit.renderings import html, show
from evenkeel.experiments.kit.terminal import consoles
from evenkeel.metrics.tasks import task_named
from evenkeel.runtime import choices
from evenkeel.runtime.replays import capabilities
from evenkeel.settings import SettingsError
from evenkeel.shadow.perturbations import by_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from evenkeel.experiments.bench.items import Item
    from evenkeel.experiments.bench.models import ModelUnderTest
    from evenkeel.metrics.tasks import Task
    from evenkeel.settings import Settings
    from evenkeel.shadow.perturbations import Perturbation

STOPPED = 1
_PIPED_WIDTH = 200
"""Columns of the tables where the output is not a terminal."""
_NOWHERE = "http://127.0.0.1:9"
"""Stands for the upstream that settings must have where none is named; never asked."""
_WRITERS: Mapping[str, Callable[[Outcome], bytes]] = {
    "json": lambda outcome: as_json(outcome).encode(),
    "csv": lambda outcome: as_csv(outcome).encode(),
    "trials": lambda outcome: as_lines(outcome).encode(),
    "html": lambda outcome: html(document(outcome)),
}


def run_from_command_line(given: Mapping[str, Any], *, confirmed: bool) -> int:
    """Run the benchmark as the options say.

    Returns: the exit code: 0, or 1 if it stopped before its end.
    Raises: SettingsError for options and files that cannot be used.
    """
    out, err = consoles(_PIPED_WIDTH)
    confirm = confirmation(confirmed=confirmed, in_pipelines=True)
    try:
        options, outputs = options_of(given), _outputs(given)
        outcome = run_bench(options, err=err, confirm=confirm)
        show(document(outcome), out)
        _write(outcome, outputs, err)
    except NotConfirmedError:
        click.echo("evenkeel: nothing more was asked; --yes asks without confirmation", err=True)
        return STOPPED
    except StoppedError as error:
        click.echo(f"evenkeel: {error}", err=True)
        return STOPPED
    except KeyboardInterrupt:
        click.echo(
            f"evenkeel: stopped; every answer so far is in {given['journal']}: {AGAIN}",
            err=True,
        )
        return STOPPED
    return STOPPED if outcome.unusable else 0


def _outputs(given: Mapping[str, Any]) -> dict[str, Path]:
    """The files that are wanted, checked before anything is spent."""
    wanted = {name: given[name] for name in _WRITERS if given[name] is not None}
    for target in (*wanted.values(), given["journal"]):
        if not target.absolute().parent.is_dir():
            raise SettingsError(f"{target}: there is no folder {target.parent}")
        if target.is_dir():
            raise SettingsError(f"{target}: is a folder; name a file")
    return wanted


def _write(outcome: Outcome, outputs: Mapping[str, Path], err: Console) -> None:
    for name, target in outputs.items():
        try:
            target.write_bytes(_WRITERS[name](outcome))
        except OSError as error:
            raise StoppedError(f"{target}: cannot be written ({error.strerror}); {AGAIN}") from error
        err.print(f"wrote {target}", soft_wrap=True)


def options_of(given: Mapping[str, Any]) -> BenchOptions:
    """The options of a run.

    Raises: SettingsError in one line.
    """
    settings = settings_of(given)
    kinds, not_measured = _kinds(given["perturbations"], settings)
    protocol = Protocol(
        models=_models(given, settings),
        tasks=_tasks(given["tasks"]),
        kinds=kinds,
        runs=given["runs"],
        severity=given["severity"],
        seed=given["seed"],
    )
    items, source = _items(given)
    return BenchOptions(
        settings=settings,
        protocol=protocol,
        items=items,
        source=source,
        not_measured=not_measured,
        journal=given["journal"],
        concurrency=given["concurrency"],
        timeout_s=given["timeout"],
        most_usd=given["max_usd"],
    )


def settings_of(given: Mapping[str, Any]) -> Settings:
    """Judge, rewriter, prices and embeddings.

    Raises: SettingsError in one line.
    """
    overrides: dict[str, Any] = {}
    for section in ("judge", "rewriter"):
        named = {
            name: given[f"{section}_{option}"]
            for name, option in (("model", "model"), ("base_url", "url"), ("api_key_env", "key_env"))
            if given[f"{section}_{option}"] is not None
        }
        if named:
            overrides[section] = named
    if given["embeddings"] is not None:
        overrides["scoring"] = {"embeddings": {"enabled": given["embeddings"]}}
    if given["prices"]:
        prices = (named_price(text) for text in given["prices"])
        overrides["prices"] = {model: asdict(price) for model, price in prices}
    config = given["config"]
    return settings_module.load(config, overrides, {} if config else {"upstream": _NOWHERE})


def _models(given: Mapping[str, Any], settings: Settings) -> tuple[ModelUnderTest, ...]:
    parameters = _parameters(given["parameters"])
    url = given["base_url"]
    key_env = given["api_key_env"] or settings.shadow.api_key_env
    header = given["api_key_header"] or settings.shadow.api_key_header
    found: list[ModelUnderTest] = []
    if given["models"]:
        if url is None:
            raise SettingsError("where are the models? Name their endpoint with --base-url")
        found += [
            model_at(name, url, key_env=key_env, key_header=header, parameters=parameters)
            for name in given["models"]
        ]
    if given["models_file"]:
        found += read_models(given["models_file"], url=url, key_env=key_env, parameters=parameters)
    if not found:
        raise SettingsError("which models? Name each with --model, or give a file of them with --models")
    names = [one.name for one in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SettingsError(f'the model "{twice}" is there twice; give them different names')
    return tuple(found)


def _parameters(text: str | None) -> dict[str, Any]:
    if text is None:
        return dict(PARAMETERS)
    try:
        own = json.loads(text)
    except ValueError as error:
        raise SettingsError(f"--parameters: is not JSON: {error}") from error
    if not isinstance(own, dict):
        raise SettingsError('--parameters: is no JSON object such as {"temperature": null, "top_p": 1}')
    return {**PARAMETERS, **own}


def _tasks(text: str | None) -> tuple[Task, ...]:
    if text is None:
        return TASKS
    found = []
    for word in words(text):
        try:
            task = task_named(word)
        except ValueError as error:
            raise SettingsError(f"--tasks: {error}") from error
        if task not in TASKS:
            raise SettingsError(f"--tasks: {word} is none of {', '.join(TASKS)}")
        found.append(task)
    return tuple(task for task in TASKS if task in found)


def _kinds(text: str | None, settings: Settings) -> tuple[tuple[Perturbation, ...], dict[str, int]]:
    """The kinds that can be measured, and how many cannot for want of what."""
    try:
        known = choices.perturbations(settings)
        wanted = by_name(words(text), known) if text else known
    except ValueError as error:
        raise SettingsError(f"--perturbations: {error}") from error
    have = capabilities(settings)
    missing: dict[str, int] = {}
    for kind in wanted:
        for need in sorted(kind.requires - have):
            missing[need] = missing.get(need, 0) + 1
    kinds = tuple(kind for kind in wanted if kind.requires <= have and kind.name != BASELINE)
    if not kinds:
        raise SettingsError(
            f"--perturbations: all of them need a {' and a '.join(sorted(missing))}; name one with "
            f"{' and '.join(f'--{need}-model' for need in sorted(missing))}"
        )
    return kinds, missing


def _items(given: Mapping[str, Any]) -> tuple[tuple[Item, ...], str]:
    files: Sequence[Any] = given["items"]
    try:
        items = read_items(files) if files else builtin_items()
    except ItemError as error:
        raise SettingsError(str(error)) from error
    drawn = list(items)
    Random(f"{given['seed']}:items").shuffle(drawn)
    source = ", ".join(path.name for path in files) if files else BUILTIN
    return tuple(drawn[: given["max_items"]]), source
