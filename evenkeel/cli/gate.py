"""`gate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--data-dir",
    type=_FILE,
    metavar="DIR",
    help="Without FILES: goldens of the store in there, not of that of --config.",
)
@click.option("--route", metavar="NAME", help="Only goldens of this route.")
@click.option("--base-url", metavar="URL", help="Endpoint of the candidate.  [the routes' upstreams]")
@click.option("--model", metavar="NAME", help="Model of the candidate.  [each golden's own]")
@click.option("--prompt", type=_FILE, metavar="FILE", help="New system prompt.")
@click.option("--template", type=_FILE, metavar="FILE", help="Prompt as it was, with {placeholders}.")
@click.option("--new-template", type=_FILE, metavar="FILE", help="Prompt as it shall be.")
@click.option(
    "--reference-url", metavar="URL", help="Endpoint of the reference.  [the route's, or --base-url]"
)
@click.option("--reference-model", metavar="NAME", help="Model of the reference.  [each golden's own]")
@click.option("--no-reference", is_flag=True, help="Ask the candidate alone: noise is not taken off.")
@click.option("--api-key-env", metavar="VARIABLE", help="Holds the key.  [EVENKEEL_SHADOW_API_KEY]")
@click.option("--reference-key-env", metavar="VARIABLE", help="Key of the reference.  [--api-key-env]")
@click.option("--api-key-header", metavar="NAME", help="Header of the keys.  [authorization]")
@click.option(
    "--config", type=_FILE, metavar="FILE", help="Settings: upstreams, judge, prices, qualities, store."
)
@click.option("--calibration", type=_FILE, metavar="FILE", help="Thresholds made by `evenkeel calibrate`.")
@click.option("--rate", is_flag=True, help="With --calibration: rate answers as well.")
@click.option("--task", metavar="NAME", help="Task of goldens that name none.  [told by the prompt]")
@click.option("--judge-model", metavar="NAME", help="Model that rates answers; none: cheap metrics.")
@click.option("--judge-url", metavar="URL", help="Its endpoint.  [https://api.openai.com/v1]")
@click.option("--judge-key-env", metavar="VARIABLE", help="Holds its key.  [EVENKEEL_JUDGE_API_KEY]")
@click.option("--embeddings/--no-embeddings", default=None, help="Sentence embeddings.  [if installed]")
@click.option("--gate-on", metavar="LIST", help="Measures that can fail the gate.  [all but harmless modes]")
@click.option(
    "--tolerance", type=float, default=0.0, show_default=True, metavar="SHARE", help="Excess that is none."
)
@click.option(
    "--margin",
    type=float,
    default=0.1,
    show_default=True,
    metavar="SHARE",
    help="Above it: never overlooked.",
)
@click.option(
    "--alpha", type=float, default=0.05, show_default=True, metavar="P", help="False regressions at most."
)
@click.option(
    "--beta", type=float, default=0.05, show_default=True, metavar="P", help="False passes at most."
)
@click.option(
    "--undecided",
    type=click.Choice(["pass", "fail"]),
    default="pass",
    show_default=True,
    help="If all goldens settle nothing.",
)
@click.option(
    "--max-failures",
    type=float,
    default=0.1,
    show_default=True,
    metavar="SHARE",
    help="Not measured at most.",
)
@click.option(
    "--repeats", type=click.IntRange(1, 100), default=1, show_default=True, help="Calls for each golden."
)
@click.option("--seed", default=0, show_default=True, help="Of the order of the goldens.")
@click.option(
    "--concurrency", type=click.IntRange(1, 256), default=8, show_default=True, help="Calls at once."
)
@click.option("--timeout", type=click.FloatRange(0.1), default=60.0, show_default=True, metavar="SECONDS")
@click.option(
    "--max-usd", type=click.FloatRange(0), metavar="USD", help="Stop, undecided, once so much is spent."
)
@click.option(
    "--price", metavar="IN/OUT", help="USD per million tokens, if the public list lacks the candidate."
)
@click.option("--cache", type=_FILE, metavar="FILE", help="Keeps answers; a stopped run goes on.")
@click.option("--markdown", type=_FILE, metavar="FILE", help="Write the report for a pull request.")
@click.option("--junit", type=_FILE, metavar="FILE", help="Write JUnit XML.")
@click.option("--json", type=_FILE, metavar="FILE", help="Write everything as JSON.")
@click.option("--yes", is_flag=True, help="Do not ask before spending; needed where there is no terminal.")
def gate(files: tuple[Path, ...], *, yes: bool, **given: Any) -> None:
    """Decide whether a candidate (model, endpoint or prompt) answers your goldens worse than before.

    FILES hold goldens: requests with an answer that somebody approved (JSON lines). Each is put to the
    candidate and to the reference, which is what you run today, and both answers are compared with the
    approved one. What the reference gets wrong as well is noise and is taken off. The run stops as soon as
    the difference is statistically settled.

    Exit code: 0 pass, 1 regression, 2 could not measure (or wrong options).

    \b
      evenkeel gate goldens.jsonl --base-url https://api.openai.com/v1 --model gpt-4.1-mini
      evenkeel gate goldens.jsonl --base-url http://new:8000/v1 --reference-url http://old:8000/v1
      evenkeel gate goldens.jsonl --base-url https://api.openai.com/v1 --prompt system.txt
      evenkeel gate --config evenkeel.yaml --template now.txt --new-template next.txt --yes
      evenkeel gate goldens.jsonl --base-url … --model … --yes --markdown gate.md --junit gate.xml
    """
    from evenkeel.experiments.gate.arguments import run_from_command_line

    sys.exit(run_from_command_line(files, given, confirmed=yes))
