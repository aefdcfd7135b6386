"""From the command line's words to options; from errors to messages and exit codes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from evenkeel.experiments.judge_audit.judgements import Strategy
from evenkeel.experiments.judge_audit.questions import Design
from evenkeel.experiments.judge_audit.ratings import Scale
from evenkeel.experiments.judge_audit.report import as_json, document
from evenkeel.experiments.judge_audit.rows import InputError, metric_key, suggestion
from evenkeel.experiments.judge_audit.run import (
    AuditOptions,
    JudgeAddress,
    JudgeFailedError,
    run_judge_audit,
)
from evenkeel.experiments.kit.arguments import price, words
from evenkeel.experiments.kit.confirmation import NotConfirmedError, confirmation
from evenkeel.experiments.kit.renderings import html, show
from evenkeel.experiments.kit.terminal import consoles
from evenkeel.llm.price import Prices
from evenkeel.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_PIPED_WIDTH = 160
"""Columns of the tables where the output is not a terminal."""


def run_from_command_line(files: tuple[Path, ...], given: Mapping[str, Any], *, confirmed: bool) -> int:
    """Run the audit as the options say.

    Returns: the exit code: 0, or 1 if nothing was asked because the user did not confirm or the judge
        could not be used.
    Raises: SettingsError for options and files that cannot be used.
    """
    out, err = consoles(_PIPED_WIDTH)
    try:
        for target in (given[name] for name in ("json", "html", "record", "cache")):
            _check_target(target)
        outcome = run_judge_audit(_options(files, given), err=err, confirm=confirmation(confirmed=confirmed))
    except InputError as error:
        raise SettingsError(str(error)) from error
    except NotConfirmedError:
        click.echo("evenkeel: nothing was asked; --yes asks without confirmation", err=True)
        return 1
    except JudgeFailedError as error:
        click.echo(f"evenkeel: {error}", err=True)
        return 1
    found = document(outcome)
    show(found, out)
    if given["json"]:
        given["json"].write_text(as_json(outcome), encoding="utf-8")
    if given["html"]:
        given["html"].write_bytes(html(found))
    return 0


def _check_target(target: Path | None) -> None:
    if target is not None and not target.absolute().parent.is_dir():
        raise InputError(f"{target}: there is no folder {target.parent}")
    if target is not None and target.is_dir():
        raise InputError(f"{target}: is a folder; name a file")


def _options(files: tuple[Path, ...], given: Mapping[str, Any]) -> AuditOptions:
    judge = None
    if given["judge_model"]:
        model, own = given["judge_model"], given["price"]
        judge = JudgeAddress(
            model=model,
            url=given["judge_url"],
            api_key=os.environ.get(given["judge_key_env"], ""),
            key_variable=given["judge_key_env"],
            concurrency=given["concurrency"],
            timeout_s=given["timeout"],
            prices=Prices({} if own is None else {model: price(own)}),
        )
    strategies = _strategies("--strategies", given["strategies"], tuple(Strategy))
    attacked = () if given["attack"] == "none" else _strategies("--attack", given["attack"], strategies)
    return AuditOptions(
        files=files,
        judge=judge,
        recorded=given["recorded"],
        design=Design(strategies, tuple(each for each in attacked if each in strategies), given["again"]),
        rubric=given["rubric"],
        scales=_scales(given["scales"]),
        rater_columns=words(given["rater_columns"]),
        max_items=given["max_items"],
        seed=given["seed"],
        resamples=given["resamples"],
        cache=given["cache"],
        record=given["record"],
    )


def _strategies(option: str, text: str | None, default: tuple[Strategy, ...]) -> tuple[Strategy, ...]:
    if text is None:
        return default
    known = [strategy.value for strategy in Strategy]
    named = [metric_key(word) for word in words(text)]
    for word in named:
        if word not in known:
            raise InputError(f'{option}: "{word}" is none of {", ".join(known)}{suggestion(word, known)}')
    if not named:
        raise InputError(f"{option}: is empty; give some of {', '.join(known)}")
    return tuple(strategy for strategy in Strategy if strategy.value in named)


def _scales(texts: tuple[str, ...]) -> dict[str, Scale]:
    scales = {}
    for text in texts:
        metric, _, scale = text.partition("=")
        try:
            scales[metric_key(metric)] = Scale.parse(scale)
        except ValueError as error:
            raise InputError(f"--scale {text}: {error}") from error
    return scales
