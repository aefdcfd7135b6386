"""From the command line's words to options; from errors to messages and exit codes."""

from __future__ import annotations

import os
import sqlite3
from concurrent.futures import BrokenExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from evenkeel.experiments.calibrate.candidates import UnfitGoldensError
from evenkeel.experiments.calibrate.command import CalibrateOptions, run_calibrate
from evenkeel.experiments.calibrate.journal import JournalError
from evenkeel.experiments.calibrate.judge import (
    AskedSimilarity,
    AskedWorkflow,
    ModelFailedError,
)
from evenkeel.experiments.calibrate.rewriting import Rewriter
from evenkeel.experiments.calibrate.score_table import TableError
from evenkeel.experiments.calibrate.terminal import show
from evenkeel.experiments.calibrate.threshold import Placement
from evenkeel.experiments.kit.arguments import price, words
from evenkeel.experiments.kit.asking import ModelAddress
from evenkeel.experiments.kit.confirmation import NotConfirmedError, confirmation
from evenkeel.experiments.kit.terminal import consoles
from evenkeel.llm.price import Prices
from evenkeel.metrics.registry import UnknownMetricError
from evenkeel.metrics.similarity.embeddings import EmbeddingsUnavailableError
from evenkeel.runtime.stores import settings_of_stores
from evenkeel.settings import SettingsError
from evenkeel.stores.goldens import GoldenError

if TYPE_CHECKING:
    from collections.abc import Mapping
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
    out, err = consoles(_PIPED_WIDTH)
    try:
        outcome = run_calibrate(
            _options(goldens, given),
            err=err,
            confirm=confirmation(confirmed=confirmed),
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


def _options(goldens: Path | None, given: Mapping[str, Any]) -> CalibrateOptions:
    if (goldens is None) != given["from_store"]:
        raise SettingsError(
            "name a file of goldens, or take those of the store with --from-store; one of both"
        )
    if given["route"] and not given["from_store"]:
        raise SettingsError("--route chooses among the goldens of the store: give --from-store with it")
    for name in (AskedSimilarity.name, AskedWorkflow.name):
        if name in words(given["metrics"]) and not given["judge_model"]:
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
        metrics=words(given["metrics"]),
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


def _address(part: str, model: str | None, given: Mapping[str, Any]) -> ModelAddress | None:
    if model is None:
        return None
    variable = given[f"{part}_key_env"]
    own = given["price"]
    return ModelAddress(
        model=model,
        url=given[f"{part}_url"],
        api_key=os.environ.get(variable, ""),
        key_variable=variable,
        concurrency=given["concurrency"],
        timeout_s=given["timeout"],
        prices=Prices({} if own is None else {model: price(own)}),
    )
