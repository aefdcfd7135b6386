"""`judge-audit`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click


@click.command("judge-audit")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--judge-model", metavar="NAME", help="The judge to ask.")
@click.option("--judge-url", metavar="URL", default="https://api.openai.com/v1", show_default=True)
@click.option("--judge-key-env", metavar="VARIABLE", default="EVENKEEL_JUDGE_API_KEY", show_default=True)
@click.option(
    "--recorded", type=click.Path(path_type=Path), metavar="FILE", help="Ratings a judge gave earlier."
)
@click.option("--strategies", metavar="LIST", help="Of zero_shot, knowledge, few_shot, step_by_step.  [all]")
@click.option(
    "--attack", metavar="LIST", help='Strategies under which to attack; "none" for none.  [all of them]'
)
@click.option("--again", is_flag=True, help="Also put each plain question twice: shows the judge's noise.")
@click.option(
    "--rubric", type=click.Path(path_type=Path), metavar="FILE", help="Definitions of metrics (YAML)."
)
@click.option(
    "--scale", "scales", multiple=True, metavar="METRIC=LOW-HIGH", help="Where the file has no scale."
)
@click.option("--rater-columns", metavar="LIST", help="Columns with ratings, if not named rater_….")
@click.option(
    "--max-items", type=click.IntRange(1), metavar="N", help="Ask about a sample of this size only."
)
@click.option("--seed", default=0, show_default=True, help="Of samples, examples and intervals.")
@click.option(
    "--resamples", type=click.IntRange(0), default=1000, show_default=True, help="Behind intervals."
)
@click.option("--concurrency", type=click.IntRange(1), default=4, show_default=True, help="Calls at a time.")
@click.option("--timeout", type=float, default=60.0, show_default=True, metavar="SECONDS")
@click.option(
    "--cache", type=click.Path(path_type=Path), metavar="FILE", help="Keeps answers; a stopped run goes on."
)
@click.option(
    "--record", type=click.Path(path_type=Path), metavar="FILE", help="Write ratings for --recorded."
)
@click.option("--json", type=click.Path(path_type=Path), metavar="FILE", help="Write everything as JSON.")
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Write a page with plots.")
@click.option("--price", metavar="IN/OUT", help="USD per million tokens, if the public list lacks the judge.")
@click.option("--yes", is_flag=True, help="Do not ask before spending.")
def judge_audit(files: tuple[Path, ...], *, yes: bool, **given: Any) -> None:
    """Measure how far a judge can be believed: against people, and against a false hint.

    FILES holds human ratings (JSONL or CSV), or pairs of answers with the better one marked. The judge
    is asked in four ways, with and without the claim that an expert gave the opposite rating.

    \b
      evenkeel judge-audit ratings.csv --judge-model gpt-4o-mini --cache calls.jsonl --html audit.html
      evenkeel judge-audit ratings.csv --recorded judge.jsonl
      evenkeel judge-audit GPT-4_Vanilla.json ChatGPT_Vanilla.json
    """
    from evenkeel.experiments.judge_audit.arguments import run_from_command_line

    sys.exit(run_from_command_line(files, given, confirmed=yes))
