"""From the command line's words to options; from errors to messages and exit codes."""

from __future__ import annotations

import os
import sqlite3
from concurrent.futures import BrokenExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from evenkeel.calibrate.command import run_calibrate
from evenkeel.calibrate.goldens import UnfitGoldensError
from evenkeel.calibrate.journal import JournalError
from evenkeel.calibrate.judged import AskedSimilarity, AskedWorkflow, ModelFailedError, NotConfirmedError
from evenkeel.calibrate.options import CalibrateOptions
from evenkeel.calibrate.rewriting import Rewriter
from evenkeel.calibrate.table import show
from evenkeel.judge_audit.command import JudgeAddress
from evenkeel.settings import SettingsError
from evenkeel.stores import settings_of_stores
from metrics.calibration import Placement, TableError
from metrics.goldens import GoldenError
from metrics.registry import UnknownMetricError
from metrics.similarity import EmbeddingsUnavailableError
from shadow.spend import ModelPrice, Prices

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

_PIPED_WIDTH = 160
"""Columns of the tables where the output is not a terminal."""
_UNUSABLE = (
    GoldenError,
    UnfitGoldensError,
    JournalError,
    TableError,
    UnknownMetricError,
    EmbeddingsUnavailableError,
)


def run_from_command_line(goldens: Path | None, given: Mapping[str, Any], *, confirmed: bool) -> int:
    """Calibrate as the options say.

    Returns: the exit code: 0, or 1 if the user did not confirm or the judge could not be used.
    Raises: SettingsError for options, files and goldens that cannot be used.
    """
    out, err = _console(stderr=False), _console(stderr=True)
    if not out.is_terminal:
        out.width = max(out.width, _PIPED_WIDTH)
    try:
        outcome = run_calibrate(
            _options(goldens, given),
            err=err,
            confirm=_confirm(confirmed=confirmed),
            today=datetime.now(UTC).date(),
        )
    except _UNUSABLE as error:
        raise SettingsError(str(error)) from error
    except sqlite3.Error as error:
        raise SettingsError(
            f"calibration-vectors.sqlite cannot be used ({error}); delete it, or choose another --out"
        ) from error
    except BrokenExecutor as error:
        raise SettingsError(
            "a scoring process died, perhaps for lack of memory; give the same command again with "
            "--processes 1"
        ) from error
    except OSError as error:
        raise SettingsError(f"{error.filename}: {error.strerror}") from error
    except NotConfirmedError:
        click.echo("evenkeel: no model was asked; --yes asks without confirmation", err=True)
        return 1
    except ModelFailedError as error:
        click.echo(f"evenkeel: {error}", err=True)
        return 1
    show(outcome, out)
    return 0


def _console(*, stderr: bool) -> Console:
    """A console that shows names out of files as they are, not as markup."""
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def _confirm(*, confirmed: bool) -> Callable[[str], bool]:
    def ask(estimate: str) -> bool:
        if confirmed:
            click.echo(f"{estimate}.", err=True)
            return True
        try:
            return click.confirm(f"{estimate}. Go ahead?", err=True)
        except click.Abort:
            return False

    return ask


def _options(goldens: Path | None, given: Mapping[str, Any]) -> CalibrateOptions:
    if (goldens is None) != given["from_store"]:
        raise SettingsError(
            "name a file of goldens, or take those of the store with --from-store; one of both"
        )
    if given["route"] and not given["from_store"]:
        raise SettingsError("--route chooses among the goldens of the store: give --from-store with it")
    for name in (AskedSimilarity.name, AskedWorkflow.name):
        if name in _words(given["metrics"]) and not given["judge_model"]:
            raise SettingsError(f"--metrics: {name} needs a judge: name one with --judge-model")
    if given["encoder"] and given["embeddings"] is False:
        raise SettingsError("--encoder and --no-embeddings contradict each other; leave one out")
    judge = _address("judge", given["judge_model"], given)
    rewriter = _address("rewriter", given["degrade_with_model"], given)
    if given["stronger_model"] and rewriter is None:
        raise SettingsError("--stronger-model helps another model: name that with --degrade-with-model")
    needs_store = given["from_store"] or given["bands_from_store"]
    return CalibrateOptions(
        file=goldens,
        stores=settings_of_stores(given["config"], given["data_dir"]) if needs_store else None,
        route=given["route"],
        form=given["form"],
        out=given["out"],
        journal=given["journal"],
        metrics=_words(given["metrics"]),
        embeddings=given["embeddings"],
        encoder=given["encoder"],
        bert_score=given["bert_score"] or "bert_score" in (given["metrics"] or ""),
        processes=given["processes"] or os.cpu_count() or 1,
        placement=Placement(given["false_alerts"], given["level"]),
        resamples=given["resamples"],
        seed=given["seed"],
        judge=judge,
        judge_goldens=given["judge_goldens"],
        max_usd=given["max_usd"],
        bands_from_store=given["bands_from_store"],
        rewriter=None if rewriter is None else Rewriter(rewriter, given["stronger_model"]),
    )


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


def _address(part: str, model: str | None, given: Mapping[str, Any]) -> JudgeAddress | None:
    if model is None:
        return None
    variable = given[f"{part}_key_env"]
    return JudgeAddress(
        model=model,
        url=given[f"{part}_url"],
        api_key=os.environ.get(variable, ""),
        key_variable=variable,
        concurrency=given["concurrency"],
        timeout_s=given["timeout"],
        prices=Prices(_price(model, given["price"])),
    )


def _price(model: str, text: str | None) -> dict[str, ModelPrice]:
    if text is None:
        return {}
    asked, _, answered = text.partition("/")
    try:
        return {model: ModelPrice(float(asked), float(answered))}
    except ValueError:
        raise SettingsError(
            f'--price: "{text}" is not a price; write it like 0.15/0.60, US dollars per million prompt '
            "and completion tokens"
        ) from None
