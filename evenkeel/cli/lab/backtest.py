"""`backtest`."""

from __future__ import annotations

import contextlib
import time
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import evenkeel.shadow.perturbations  # noqa: F401 - registers the labels of rewordings
from evenkeel.cli.options import NumberRange, file_option, json_option
from evenkeel.core.errors import UserError
from evenkeel.core.figures import number
from evenkeel.lab.backtest import SettingsVariant, grid, read_log, read_store, sweep
from evenkeel.lab.backtest.report import as_json, document
from evenkeel.lab.period import moment
from evenkeel.monitor.fold import MonitorSettings
from evenkeel.release.kit.arguments import check_writable, words, write_file
from evenkeel.release.kit.renderings import html, json_text, show
from evenkeel.release.kit.terminal import consoles, plain_console

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from evenkeel.lab.backtest import Backtest
    from evenkeel.stores.verdict_log import Entry

_RATE = NumberRange(0, 1, min_open=True, max_open=True)


@click.command()
@click.argument("file", required=False, metavar="[FILE]")
@file_option("--config", "Settings file of `evenkeel up`: limits and store.")
@file_option("--data-dir", "Data folder.  [default: $EVENKEEL_DATA_DIR, else ./evenkeel-data]", metavar="DIR")
@click.option(
    "--threshold",
    "thresholds",
    type=_RATE,
    multiple=True,
    metavar="SHARE",
    help="Limit of the points above noise, as alerts.threshold; repeatable.  [default: 0.1]",
)
@click.option(
    "--mean-trials",
    "mean_trials",
    type=NumberRange(1, min_open=True),
    multiple=True,
    metavar="N",
    help="Mean trials, over all cells, between false alarms; repeatable.  [default: 10000]",
)
@click.option(
    "--tolerance",
    "tolerances",
    type=NumberRange(0, 1),
    multiple=True,
    metavar="SHARE",
    help="Drift treated as zero; repeatable.  [default: 0.05]",
)
@click.option(
    "--sample",
    "shares",
    type=NumberRange(0, 1, min_open=True),
    multiple=True,
    metavar="SHARE",
    help="Use only this share of the exchanges; repeatable.  [default: 1]",
)
@click.option(
    "--only",
    "families",
    multiple=True,
    metavar="LIST",
    help="Perturbations, comma-separated, * as wildcard; repeatable.  [default: all]",
)
@click.option(
    "--route", "routes", multiple=True, metavar="NAME", help="Only this route; repeatable.  [default: all]"
)
@click.option(
    "--from", "since", metavar="TIME", help="Start: 2026-11-01, 2026-11-01T14:30 (UTC), or an age such as 7d."
)
@click.option("--to", "until", metavar="TIME", help="End, in the same form; a date includes that day.")
@json_option
@file_option("--plot", "Write an HTML page with plots of the cells.")
def backtest(
    file: str | None, config: Path | None, data_dir: Path | None, plot: Path | None, *, as_json: bool,
    **options: Any,
) -> None:  # fmt: skip
    """Run past verdicts through the monitor to see which alerts it would have raised.

    FILE holds JSON lines (docs/backtest.md), plain or gzipped; "-" is standard input. Without FILE the
    verdicts of the store are read, also while `evenkeel up` runs. Estimates and alerts are computed as by the
    live monitor, trial by trial.

    Each value of a repeatable option is a variant, and a table compares them. Everything else describes the
    first variant.

    \b
      evenkeel backtest verdicts.jsonl
      evenkeel backtest verdicts.jsonl.gz --threshold 0.1 --threshold 0.05 --plot backtest.html
      evenkeel backtest --config evenkeel.yaml --from 30d --sample 1 --sample 0.5 --sample 0.1
      evenkeel backtest verdicts.jsonl --only general.spelling,positional.* --json | jq .alerts

    \b
    Example of a log:
      {"time": "2026-11-01T10:00:00Z", "perturbation": "general.spelling", "rating": 3, "control_rating": 3}
      {"time": "2026-11-01T10:00:09Z", "perturbation": "general.spelling", "rating": 1, "control_rating": 3}
      {"time": "2026-11-01T10:00:20Z", "perturbation": "general.spelling", "rating": 2, "control_rating": 2}

    Exit code: 0 done, with or without alerts; 2 invalid log or options.
    """
    check_writable([plot])
    variants = _variants(config, options)
    with _opened(file, config, data_dir) as (entries, source), _progress() as progress:
        backtests = sweep(entries, variants, plotted=plot is not None, progress=progress)
    _write(backtests, source, plot, json=as_json)


def _variants(config: Path | None, options: dict[str, Any]) -> list[SettingsVariant]:
    now = time.time()
    since, until = options["since"], options["until"]
    within = SettingsVariant(
        routes=options["routes"],
        since=-inf if since is None else moment("--from", since, now, whole_day=False),
        until=inf if until is None else moment("--to", until, now, whole_day=True),
    )
    return grid(
        _settings(config),
        thresholds=options["thresholds"],
        mean_trials=options["mean_trials"],
        tolerances=options["tolerances"],
        shares=options["shares"],
        families=[words(text) for text in options["families"]],
        within=within,
    )


def _settings(config: Path | None) -> MonitorSettings:
    if config is None:
        return MonitorSettings()
    # Loaded on demand: a backtest of a file without settings needs none of this.
    from evenkeel.runtime.limits import monitor_settings
    from evenkeel.settings import load

    return monitor_settings(load(config, {}, {}, forwards=False))


@contextlib.contextmanager
def _opened(
    file: str | None, config: Path | None, data_dir: Path | None
) -> Iterator[tuple[Iterable[Entry], str]]:
    """Yield the entries of the file or of the store, with their origin.

    Raises: UserError if both are named.
    """
    if file is not None:
        if data_dir is not None:
            raise UserError("name a file or the folder of a store with --data-dir, not both")
        yield (
            read_log(file),
            "standard input" if file == "-" else Path(file).name,
        )
        return
    # Loaded on demand: a backtest of a file needs no store.
    from evenkeel.runtime.stores import opened, settings_of_stores

    with opened(settings_of_stores(config, data_dir)) as stores:
        yield read_store(stores.verdicts), stores.place


def _write(backtests: list[Backtest], source: str, plot: Path | None, *, json: bool) -> None:
    shown = document(backtests, source)
    if json:
        click.echo(json_text(as_json(backtests, source)), nl=False)
    else:
        show(shown, consoles().out)
    if plot is not None:
        write_file(plot, html(shown))


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    err = plain_console(stderr=True)
    with err.status("reading verdicts") if err.is_terminal else contextlib.nullcontext() as status:

        def show_progress(trials: int, alerts: int) -> None:
            if status is not None:
                status.update(f"{number(trials)} trials, {number(alerts)} alerts")

        yield show_progress
