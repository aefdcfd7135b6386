"""`calibrate`."""

from __future__ import annotations

import contextlib
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from evenkeel.cli.lab.options import judge_address
from evenkeel.cli.options import (
    FILE,
    CommandFailedError,
    NumberRange,
    call_options,
    embeddings_option,
    emit,
    file_option,
    json_option,
    max_usd_option,
    model_options,
    prices_option,
    store_options,
    yes_option,
)
from evenkeel.core.figures import number, usd
from evenkeel.lab.backtest import read_log, read_store
from evenkeel.lab.calibrate.calibration import (
    BertModel,
    FailureMode,
    Placement,
    calibration_as_json,
)
from evenkeel.lab.calibrate.command import CalibrateOptions, run_calibrate
from evenkeel.lab.calibrate.scoring import ScoringOptions
from evenkeel.lab.metrics.embeddings import EmbeddingsUnavailableError
from evenkeel.lab.metrics.workflow_judge import WorkflowJudge
from evenkeel.lab.period import moment
from evenkeel.metrics.registry import UnknownMetricError
from evenkeel.monitor.fold import MonitorSettings
from evenkeel.release.calibration.limits import (
    limits_to_json,
    lines_of,
    merged,
    place_all,
    quiet_routes,
    read_limits,
)
from evenkeel.release.goldens.files import load_goldens
from evenkeel.release.kit.arguments import InputError, check_writable, read_text, words, write_file
from evenkeel.release.kit.renderings import show
from evenkeel.release.kit.terminal import confirmation, consoles
from evenkeel.runtime.limits import monitor_settings
from evenkeel.runtime.stores import opened, settings_of_stores

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from evenkeel.lab.calibrate.command import CalibrationOutcome
    from evenkeel.stores.goldens import Golden
    from evenkeel.stores.verdict_log import Entry


@click.command()
@click.argument("goldens", required=False, type=FILE, metavar="[GOLDENS.jsonl]")
@click.option("--from-store", is_flag=True, help="Use the goldens of the store instead of a file.")
@click.option("--route", metavar="NAME", help="Only goldens of this route.")
@store_options
@file_option(
    "--limits",
    "Set limits for live alerts instead and write them to FILE; other routes in it are kept.",
)
@click.option(
    "--verdicts",
    metavar="FILE",
    help="With --limits: verdicts to use (docs/backtest.md).  [default: from the store]",
)
@click.option(
    "--quiet-from",
    metavar="TIME",
    help="With --limits: treat traffic as quiet from then on, despite alerts: 2026-11-01, or an age (7d).",
)
@click.option(
    "--modes",
    metavar="LIST",
    help="Some of missing, compressed, reworded, reordered, duplicated, added.  [default: all]",
)
@click.option(
    "--published",
    is_flag=True,
    help="Degrade workflows as in WorkflowPerturb and show its Tables 2 to 5 beside the result.",
)
@file_option("--out", "Folder for the results.", metavar="DIR", default=Path())
@click.option("--metrics", metavar="LIST", help="Metrics to use, comma-separated.  [default: all that apply]")
@embeddings_option
@click.option("--encoder", metavar="MODEL", help="Sentence-transformers model.  [default: all-MiniLM-L6-v2]")
@click.option("--bert-score", is_flag=True, help="Include BERTScore, by far the slowest metric.")
@click.option(
    "--bert-model", metavar="MODEL", help="Model of BERTScore, such as roberta-large.  [default: the encoder]"
)
@click.option(
    "--bert-layer",
    type=click.IntRange(1),
    metavar="N",
    help="Layer of BERTScore.  [default: the authors' choice]",
)
@click.option(
    "--bert-rescale",
    is_flag=True,
    help="Rescale BERTScore so that unrelated sentences score 0, as published.",
)
@model_options("judge", "Judge to score with as well.", default=True)
@click.option(
    "--judge-goldens",
    type=click.IntRange(2),
    metavar="N",
    help="Ask the judge only about a sample of N goldens.",
)
@call_options(4, 60.0)
@prices_option
@max_usd_option
@click.option(
    "--false-alerts",
    type=NumberRange(0, 0.5, min_open=True),
    default=0.1,
    metavar="SHARE",
    help="Maximum share of mildly (10%) degraded workflows that may be flagged.",
)
@click.option(
    "--level",
    type=NumberRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Flag only degradations of at least this share, such as 0.3.",
)
@click.option("--seed", default=0, help="Random seed.")
@click.option("--resamples", type=click.IntRange(20), default=1000, help="Resamples behind intervals.")
@file_option(
    "--journal",
    "File for the judge's ratings, so that a stopped run can continue.  [default: DIR/calibration-journal]",
)
@json_option
@yes_option
def calibrate(goldens: Path | None, *, as_json: bool, yes: bool, **options: Any) -> None:
    """Work out what scores of workflows mean: degrade approved ones by known amounts and score the result.

    GOLDENS.jsonl holds one approved answer per line (see `evenkeel goldens --help`). Each workflow among them
    is degraded in six ways (steps missing, compressed, reworded, reordered, duplicated, added) by 10%, 30%
    and 50%, and the metrics of WorkflowPerturb score the result. This shows which metric detects which
    failure, and below which score to flag a workflow. Thresholds need 20 goldens; 100 or more give narrow
    intervals.

    \b
      evenkeel calibrate goldens.jsonl
      evenkeel calibrate goldens.jsonl --out calibrations/runbooks
      evenkeel calibrate --from-store --route support
      evenkeel calibrate workflows.jsonl --published --bert-model roberta-large --bert-rescale
      evenkeel calibrate goldens.jsonl --judge-model gpt-4o-mini --judge-goldens 50 --max-usd 5

    \b
    Writes into DIR:
      calibration.yaml          sensitivities, roles and thresholds
      calibration.html          the report, with plots
      calibration-scores.jsonl  every score

    A stopped run begins again; what the judge said is not asked for twice.

    With --limits it does something else: it sets limits for loss of similarity, shifted answers, qualities
    and invalid answers on every route, so that no cell of its quiet traffic is above them.

    \b
      evenkeel calibrate --limits limits.json --from-store --config evenkeel.yaml
      evenkeel calibrate --limits limits.json --verdicts verdicts.jsonl --route support

    `up` reads the file as alerts.limits.

    Exit code: 0 done, 1 stopped early or no limit could be set, 2 invalid options or files.
    """
    if options["limits"]:
        _place(options, json=as_json)
    else:
        _run(goldens, options, json=as_json, confirmed=yes)


# Options that can be combined with --limits.
_OF_LIMITS: Final = frozenset(
    (
        "from_store",
        "route",
        "limits",
        "verdicts",
        "quiet_from",
        "config",
        "data_dir",
        "seed",
        "yes",
    )
)


def _place(options: Mapping[str, Any], *, json: bool) -> None:
    """Place limits of the live alert.

    Raises: UserError for options, files, goldens and stores that cannot be used, and if none could be placed.
    """
    context = click.get_current_context()
    for name in options:
        if name not in _OF_LIMITS and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise InputError(f"--{name.replace('_', '-')} has nothing to do with --limits; leave one out")
    out: Path = options["limits"]
    check_writable([out])
    before = read_limits(read_text(out)) if out.is_file() else ()
    since = None
    if options["quiet_from"]:
        since = moment("--quiet-from", options["quiet_from"], time.time(), whole_day=False)
    settings = settings_of_stores(options["config"], options["data_dir"])
    monitor = monitor_settings(settings) if options["config"] else MonitorSettings()
    with contextlib.ExitStack() as stack:
        if options["verdicts"]:
            entries: Iterable[Entry] = read_log(options["verdicts"])
        else:
            entries = read_store(stack.enter_context(opened(settings)).verdicts)
        quiet = quiet_routes(entries, monitor, since=since)
    placed = place_all(
        quiet,
        route=options["route"],
        trials_between_false_alerts=monitor.mean_trials_between_false_alarms,
        today=datetime.now(UTC).date(),
    )
    if not placed:
        raise CommandFailedError("there is no trial to place limits by, nothing was written")
    for route_limits in placed:
        for line in lines_of(route_limits):
            click.echo(line, err=json)
    if not any(route_limits.limits for route_limits in placed):
        raise CommandFailedError("no limit was placed, nothing was written")
    text = limits_to_json(merged(before, placed))
    write_file(out, text)
    click.echo(f"wrote {out}; it is for alerts.limits in settings", err=json)
    if json:
        click.echo(text, nl=not text.endswith("\n"))


def _run(goldens: Path | None, options: Mapping[str, Any], *, json: bool, confirmed: bool) -> None:
    """Calibrate as the options say.

    Raises: UserError for options, files, goldens and stores that cannot be used, for a user who did not
        confirm, and for a model that could not be used.
    """
    out, err = consoles(json=json)
    try:
        outcome = run_calibrate(
            _options(goldens, options),
            err=err,
            confirm=confirmation(confirmed=confirmed),
            today=datetime.now(UTC).date(),
        )
    except (UnknownMetricError, EmbeddingsUnavailableError) as error:
        raise InputError(str(error)) from error
    except OSError as error:
        raise InputError(f"{error.filename}: {error.strerror}") from error
    show(outcome.written.page, out)
    for line in _notes(outcome):
        out.print(line)
    if json:
        files = [str(path) for path in outcome.written.files]
        emit(
            {
                "calibration": calibration_as_json(outcome.calibration),
                "files": files,
                "cost_usd": outcome.cost_usd,
            }
        )


def _notes(outcome: CalibrationOutcome) -> Iterator[str]:
    """Yield notes on a run: what is missing, what it took, and where the files are."""
    scores, chosen = outcome.scores, outcome.chosen
    yield (
        f"{number(len(chosen.goldens))} workflows, {number(len(scores.rows))} "
        f"candidates, {number(len(scores.metrics))} metrics; encoder: {outcome.calibration.encoder or 'none'}"
    )
    if chosen.others:
        yield f"left out, no workflow or too short: {number(chosen.others)}"
    if outcome.undegradable:
        most = ", ".join(f"{name} × {number(count)}" for name, count in sorted(outcome.undegradable.items()))
        yield f"candidates that cannot be made: {most}"
    if scores.unmoved:
        yield f"metrics that never moved, left out: {', '.join(scores.unmoved)}"
    if scores.inapplicable:
        missing = ", ".join(f"{name} ({reason})" for name, reason in scores.inapplicable.items())
        yield f"metrics that do not apply, left out: {missing}"
    if outcome.cost_usd:
        yield f"spent on models: {usd(outcome.cost_usd)}"
    yield from (f"wrote {path}" for path in outcome.written.files)


def _options(file: Path | None, options: Mapping[str, Any]) -> CalibrateOptions:
    if file is None and not options["from_store"]:
        raise InputError(
            "nothing to calibrate on: name a file of goldens, or read the store with --from-store"
        )
    if file is not None and options["from_store"]:
        raise InputError("name a file of goldens or read the store with --from-store, not both")
    if options["route"] and not options["from_store"]:
        raise InputError("--route chooses among the goldens of the store: give --from-store with it")
    if WorkflowJudge.name in words(options["metrics"]) and not options["judge"]:
        raise InputError(f"--metrics: {WorkflowJudge.name} needs a judge: name one with --judge-model")
    if options["encoder"] and options["embeddings"] is False:
        raise InputError("--encoder and --no-embeddings contradict each other; leave one out")
    judge = judge_address(options)
    goldens, source = _goldens(file, options)
    return CalibrateOptions(
        goldens=goldens,
        source=source,
        modes=_modes(options["modes"]),
        published=options["published"],
        out=options["out"],
        journal=options["journal"],
        scoring=ScoringOptions(
            metrics=words(options["metrics"]),
            embeddings=options["embeddings"],
            encoder=options["encoder"],
            bert=_bert(options),
        ),
        placement=Placement(options["false_alerts"], options["level"]),
        resamples=options["resamples"],
        seed=options["seed"],
        judge=judge,
        judge_goldens=options["judge_goldens"],
        max_usd=options["max_usd"],
    )


def _bert(options: Mapping[str, Any]) -> BertModel | None:
    bert = BertModel(options["bert_model"], options["bert_layer"], options["bert_rescale"])
    asked = options["bert_score"] or "bert_score" in (options["metrics"] or "")
    return bert if asked or bert != BertModel() else None


def _modes(text: str | None) -> frozenset[FailureMode] | None:
    if text is None:
        return None
    modes = [mode.value for mode in FailureMode]
    named = words(text)
    for word in named:
        if word not in modes:
            raise InputError(f'--modes: "{word}" is none of {", ".join(modes)}')
    if not named:
        raise InputError(f"--modes: is empty; give some of {', '.join(modes)}")
    return frozenset(map(FailureMode, named))


def _goldens(file: Path | None, options: Mapping[str, Any]) -> tuple[tuple[Golden, ...], str]:
    if file is not None:
        return load_goldens(file), file.name
    route = options["route"]
    with opened(settings_of_stores(options["config"], options["data_dir"])) as stores:
        goldens = stores.goldens.select(route=route)
    return goldens, f"approved exchanges of route {route}" if route else "approved exchanges"
