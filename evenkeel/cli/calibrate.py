"""`calibrate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from evenkeel.cli.options import store_options


@click.command()
@click.argument("goldens", required=False, type=click.Path(path_type=Path), metavar="[GOLDENS.jsonl]")
@click.option(
    "--from-store", is_flag=True, help="Take the approved exchanges of the store instead of a file."
)
@click.option("--route", metavar="NAME", help="Only those of this route.")
@store_options
@click.option(
    "--form",
    type=click.Choice(["workflow", "prose", "list", "data"]),
    help="Only answers of this form.  [that of nine in ten]",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path(),
    metavar="DIR",
    help="Folder of the results.  [.]",
)
@click.option("--metrics", metavar="LIST", help="Only these, by name.  [all that apply]")
@click.option(
    "--embeddings/--no-embeddings", default=None, help="Use an encoder.  [if the extra semantic is there]"
)
@click.option("--encoder", metavar="MODEL", help="A sentence-transformers model.  [all-MiniLM-L6-v2]")
@click.option("--bert-score", is_flag=True, help="Measure BERTScore as well; the slowest metric by far.")
@click.option("--judge-model", metavar="NAME", help="Also score by this judge, and set the cascade's bands.")
@click.option(
    "--judge-url",
    metavar="URL",
    default="https://api.openai.com/v1",
    show_default=True,
    help="Its endpoint, OpenAI-compatible.",
)
@click.option(
    "--judge-key-env",
    metavar="VARIABLE",
    default="EVENKEEL_JUDGE_API_KEY",
    show_default=True,
    help="Holds its key.",
)
@click.option(
    "--judge-goldens", type=click.IntRange(2), metavar="N", help="Ask it about a sample of goldens only."
)
@click.option(
    "--degrade-with-model", metavar="NAME", help="Let this model reword and compress, instead of rules."
)
@click.option(
    "--rewriter-url",
    metavar="URL",
    default="https://api.openai.com/v1",
    show_default=True,
    help="Its endpoint, OpenAI-compatible.",
)
@click.option(
    "--rewriter-key-env",
    metavar="VARIABLE",
    default="EVENKEEL_REWRITER_API_KEY",
    show_default=True,
    help="Holds its key.",
)
@click.option("--stronger-model", metavar="NAME", help="Asked where that model's texts fail the checks.")
@click.option("--concurrency", type=click.IntRange(1), default=4, show_default=True, help="Calls at a time.")
@click.option("--timeout", type=float, default=60.0, show_default=True, metavar="SECONDS", help="Of a call.")
@click.option("--price", metavar="IN/OUT", help="USD per million tokens, if the public list lacks a model.")
@click.option("--max-usd", type=click.FloatRange(0, min_open=True), metavar="USD", help="Spend no more.")
@click.option(
    "--bands-from-store",
    is_flag=True,
    help="Set the bands on trials that the store's judge decided; what people say of them counts first.",
)
@click.option(
    "--false-alerts",
    type=click.FloatRange(0, 0.5, min_open=True),
    default=0.1,
    show_default=True,
    help="Largest share of mildly (10 %) degraded answers that may be flagged.",
)
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Flag from this degradation on, e.g. 0.3; no earlier.",
)
@click.option("--seed", default=0, show_default=True, help="Of degradations, samples and intervals.")
@click.option(
    "--resamples", type=click.IntRange(20), default=1000, show_default=True, help="Behind intervals."
)
@click.option(
    "--processes", type=click.IntRange(1), metavar="N", help="Processes that score.  [one a processor]"
)
@click.option(
    "--journal",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keeps scores; a stopped run goes on.  [DIR/calibration-journal.jsonl]",
)
@click.option("--yes", is_flag=True, help="Do not ask before spending.")
def calibrate(goldens: Path | None, *, yes: bool, **given: Any) -> None:
    """Find out what a score means: degrade approved answers by known amounts and see how metrics react.

    GOLDENS.jsonl holds one approved answer a line (see `evenkeel goldens --help`). Each answer is made worse
    in six ways (parts missing, compressed, reworded, reordered, duplicated, added) by 10, 30 and 50 %, and
    every metric scores the result. From that follows which metric watches which failure, and below which
    score an answer is flagged. Thresholds need 20 goldens; 100 and more give narrow intervals.

    \b
      evenkeel calibrate goldens.jsonl
      evenkeel calibrate goldens.jsonl --out calibrations/support --form prose
      evenkeel calibrate --from-store --route support
      evenkeel calibrate goldens.jsonl --judge-model gpt-4o-mini --judge-goldens 50 --max-usd 5
      evenkeel calibrate --from-store --bands-from-store

    \b
    Writes into DIR:
      calibration.yaml          read by `up` (scoring.calibration) and by `gate`
      calibration.html          the report, with plots
      calibration-rules.yaml    Prometheus rules
      calibration-scores.jsonl  every score

    A run that was stopped goes on where it was when the same command is given again.
    """
    from evenkeel.experiments.calibrate.arguments import run_from_command_line

    sys.exit(run_from_command_line(goldens, given, confirmed=yes))
