"""`judge-audit`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenkeel.cli.lab.options import judge_address
from evenkeel.cli.options import (
    EXISTING,
    call_options,
    file_option,
    json_option,
    model_options,
    prices_option,
    yes_option,
)
from evenkeel.lab.judge_audit.judgements import Strategy
from evenkeel.lab.judge_audit.questions import Design
from evenkeel.lab.judge_audit.ratings import RatingScale
from evenkeel.lab.judge_audit.report import as_json, document
from evenkeel.lab.judge_audit.run import AuditOptions, run_judge_audit
from evenkeel.lab.rows import metric_key, suggestion
from evenkeel.release.kit.arguments import InputError, check_writable, words, write_file
from evenkeel.release.kit.renderings import html, show
from evenkeel.release.kit.terminal import confirmation, consoles

if TYPE_CHECKING:
    from collections.abc import Mapping


@click.command("judge-audit")
@click.argument("file", type=EXISTING)
@model_options("judge", "Judge to audit.  [default: none, people only]", default=True)
@file_option("--recorded", "Use ratings that a judge gave earlier, from --record.")
@click.option(
    "--strategies",
    metavar="LIST",
    help="Some of zero_shot, knowledge, few_shot, step_by_step, comma-separated.  [default: all]",
)
@click.option(
    "--attack", metavar="LIST", help='Strategies to attack with a false hint, or "none".  [default: all]'
)
@click.option("--again", is_flag=True, help="Ask each plain question twice to measure the judge's noise.")
@file_option("--rubric", "Definitions of metrics (YAML).")
@click.option(
    "--scale",
    "scales",
    multiple=True,
    metavar="METRIC=LOW-HIGH",
    help="Scale of a metric whose file has none.",
)
@click.option(
    "--rater-columns", metavar="LIST", help="Columns with ratings, comma-separated.  [default: rater_…]"
)
@click.option(
    "--cluster", metavar="COLUMN", help="Resample intervals by groups of this column, such as article."
)
@click.option("--max-items", type=click.IntRange(1), metavar="N", help="Use a random sample of N items.")
@click.option("--seed", default=0, help="Random seed.")
@click.option("--resamples", type=click.IntRange(0), default=1000, help="Resamples behind each interval.")
@call_options(4, 60.0)
@file_option("--journal", "File for the judge's ratings, so that a stopped run can continue.")
@file_option("--record", "Write the judge's ratings, for --recorded.")
@json_option
@file_option("--html", "Write an HTML page.")
@prices_option
@yes_option
def judge_audit(file: Path, *, as_json: bool, yes: bool, **options: Any) -> None:
    """Measure how far a judge agrees with people and resists a false hint.

    FILE holds human ratings (JSONL, CSV, SummEval or USR files). The judge is asked in four ways, each with
    and without the claim that an expert gave the opposite rating. Without a judge, only the agreement among
    people is measured.

    \b
      evenkeel judge-audit model_annotations.aligned.jsonl --cluster article
      evenkeel judge-audit ratings.csv --judge-model gpt-4o-mini --journal audit.journal --html audit.html
      evenkeel judge-audit ratings.csv --recorded judge.jsonl

    Exit code: 0 done, 1 declined or the judge failed, 2 invalid files or options.
    """
    _run(file, options, json=as_json, confirmed=yes)


def _run(file: Path, options: Mapping[str, Any], *, json: bool, confirmed: bool) -> None:
    """Run the audit as the options say.

    Raises: UserError for options and files that cannot be used, for a user who did not confirm, and for a
        judge that could not be asked.
    """
    out, err = consoles(json=json)
    check_writable(options[name] for name in ("html", "record", "journal"))
    if options["judge"] or options["recorded"]:
        _check_extra()
    outcome = run_judge_audit(_options(file, options), err=err, confirm=confirmation(confirmed=confirmed))
    report = document(outcome)
    show(report, out)
    if options["html"]:
        write_file(options["html"], html(report))
    if json:
        click.echo(as_json(outcome), nl=False)


def _check_extra() -> None:
    """Check that the package for the tone of a judge's justifications is installed. Raises: InputError."""
    if find_spec("vaderSentiment") is None or find_spec("textblob") is None:
        raise InputError("judge-audit of a judge needs the extra `lab`: pip install 'evenkeel-proxy[lab]'")


def _options(file: Path, options: Mapping[str, Any]) -> AuditOptions:
    strategies = _strategies("--strategies", options["strategies"], tuple(Strategy))
    attacked = () if options["attack"] == "none" else _strategies("--attack", options["attack"], strategies)
    return AuditOptions(
        file=file,
        judge=judge_address(options),
        recorded=options["recorded"],
        design=Design(strategies, tuple(each for each in attacked if each in strategies), options["again"]),
        rubric=options["rubric"],
        scales=_scales(options["scales"]),
        rater_columns=words(options["rater_columns"]),
        cluster=options["cluster"] or "",
        max_items=options["max_items"],
        seed=options["seed"],
        resamples=options["resamples"],
        journal=options["journal"],
        record=options["record"],
    )


def _strategies(option: str, text: str | None, default: tuple[Strategy, ...]) -> tuple[Strategy, ...]:
    if text is None:
        return default
    strategies = [strategy.value for strategy in Strategy]
    named = [metric_key(word) for word in words(text)]
    for word in named:
        if word not in strategies:
            raise InputError(
                f'{option}: "{word}" is none of {", ".join(strategies)}{suggestion(word, strategies)}'
            )
    if not named:
        raise InputError(f"{option}: is empty; give some of {', '.join(strategies)}")
    return tuple(strategy for strategy in Strategy if strategy.value in named)


def _scales(texts: tuple[str, ...]) -> dict[str, RatingScale]:
    scales = {}
    for text in texts:
        metric, _, scale = text.partition("=")
        try:
            scales[metric_key(metric)] = RatingScale.parse(scale)
        except ValueError as error:
            raise InputError(f"--scale {text}: {error}") from error
    return scales
