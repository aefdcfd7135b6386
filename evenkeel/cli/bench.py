"""`bench` and `bench generate`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

_FILE = click.Path(path_type=Path)
_EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group(invoke_without_command=True)
@click.option("--model", "models", multiple=True, metavar="NAME", help="A model to measure; repeatable.")
@click.option("--models", "models_file", type=_EXISTING, metavar="FILE", help="Models and endpoints (YAML).")
@click.option("--base-url", metavar="URL", help="Endpoint of models that name none.")
@click.option("--api-key-env", metavar="VARIABLE", help="Holds the key.  [EVENKEEL_SHADOW_API_KEY]")
@click.option("--api-key-header", metavar="NAME", help="Header of the key.  [authorization]")
@click.option("--items", multiple=True, type=_EXISTING, metavar="FILE", help="Your issues (JSONL).  [60 own]")
@click.option("--max-items", type=click.IntRange(1), metavar="N", help="A sample of so many issues.")
@click.option("--tasks", metavar="LIST", help="Of the four tasks.  [all]")
@click.option("--perturbations", metavar="LIST", help="Categories or kinds.  [all]")
@click.option("--runs", type=click.IntRange(1, 100), default=5, show_default=True, help="Of everything.")
@click.option(
    "--severity", type=click.FloatRange(0, 1), default=0.3, show_default=True, metavar="SHARE",
    help="Of graded kinds.",
)  # fmt: skip
@click.option(
    "--parameters", metavar="JSON", help='Members of each request.  [{"temperature": 0, "seed": 0}]'
)
@click.option("--config", type=_FILE, metavar="FILE", help="Settings: judge, rewriter, prices, qualities.")
@click.option("--judge-model", metavar="NAME", help="Model that rates answers; none: cheap metrics.")
@click.option("--judge-url", metavar="URL", help="Its endpoint.  [https://api.openai.com/v1]")
@click.option("--judge-key-env", metavar="VARIABLE", help="Holds its key.  [EVENKEEL_JUDGE_API_KEY]")
@click.option("--rewriter-model", metavar="NAME", help="Model that paraphrases and translates.")
@click.option("--rewriter-url", metavar="URL", help="Its endpoint.  [https://api.openai.com/v1]")
@click.option("--rewriter-key-env", metavar="VARIABLE", help="Holds its key.  [EVENKEEL_REWRITER_API_KEY]")
@click.option(
    "--embeddings/--no-embeddings", default=None, help="Without a judge: by meaning.  [if installed]"
)
@click.option(
    "--price", "prices", multiple=True, metavar="MODEL=IN/OUT", help="USD per million tokens; repeatable."
)
@click.option("--seed", default=0, show_default=True, help="Of sample, order and perturbations.")
@click.option(
    "--concurrency", type=click.IntRange(1, 256), default=8, show_default=True, help="Calls at once."
)
@click.option("--timeout", type=click.FloatRange(0.1), default=120.0, show_default=True, metavar="SECONDS")
@click.option("--max-usd", type=click.FloatRange(0), metavar="USD", help="Stop once so much is spent.")
@click.option(
    "--journal", type=_FILE, default=Path("evenkeel-bench.journal"), show_default=True, metavar="FILE",
    help="Keeps every answer.",
)  # fmt: skip
@click.option("--json", type=_FILE, metavar="FILE", help="Write everything as JSON.")
@click.option("--csv", type=_FILE, metavar="FILE", help="Write each kind of each task as CSV.")
@click.option("--html", type=_FILE, metavar="FILE", help="Write one page with heatmaps.")
@click.option("--trials", type=_FILE, metavar="FILE", help="Write each pair of answers as JSONL.")
@click.option("--yes", is_flag=True, help="Do not ask before spending; needed where there is no terminal.")
@click.pass_context
def bench(context: click.Context, /, *, yes: bool, **given: Any) -> None:
    """Measure offline how robust some models are, on sixty IT issues or on your own.

    Each issue is put to each model in four tasks (case summary, chat summary, question on documents, slot
    filling), as it is and under every perturbation, several times. What it costs is said before it starts and
    measured on the first issues. A stopped run goes on from its journal without repeating a call.

    Exit code: 0 done, 1 stopped before the end, 2 wrong options.

    \b
      evenkeel bench --model gpt-4.1-mini --model gpt-4.1-nano --base-url https://api.openai.com/v1 \\
        --judge-model gpt-4.1 --rewriter-model gpt-4.1 --max-items 10 --runs 2 --html bench.html
      evenkeel bench --models models.yaml --perturbations general,positional,format --yes --json bench.json
      evenkeel bench generate --model gpt-4.1 --base-url https://api.openai.com/v1 -n 20 --out more.jsonl
    """
    if context.invoked_subcommand is not None:
        return
    from evenkeel.experiments.bench.arguments import run_from_command_line

    sys.exit(run_from_command_line(given, confirmed=yes))


@bench.command()
@click.option("--model", required=True, metavar="NAME", help="Model that writes.")
@click.option("--base-url", required=True, metavar="URL", help="Its endpoint.")
@click.option("--api-key-env", metavar="VARIABLE", help="Holds its key.  [EVENKEEL_SHADOW_API_KEY]")
@click.option("-n", "--count", type=click.IntRange(1, 10_000), default=10, show_default=True, help="Issues.")
@click.option("--out", "target", type=_FILE, required=True, metavar="FILE", help="JSONL, appended to.")
@click.option("--about", metavar="TEXT", help="What they are about.  [IT of an organisation]")
@click.option("--price", metavar="IN/OUT", help="USD per million tokens, if the public list lacks it.")
@click.option("--max-usd", type=click.FloatRange(0), metavar="USD", help="Stop once so much is spent.")
@click.option(
    "--concurrency", type=click.IntRange(1, 64), default=4, show_default=True, help="Calls at once."
)
@click.option("--timeout", type=click.FloatRange(0.1), default=180.0, show_default=True, metavar="SECONDS")
@click.option("--seed", default=0, show_default=True, help="Of the subjects.")
@click.option("--yes", is_flag=True, help="Do not ask before spending.")
def generate(*, yes: bool, **given: Any) -> None:
    """Have a model write more issues.

    Each is checked (four documents, a chat of several turns, entities that the message holds word for word)
    and left out if it resembles one that is there already, in FILE or among those that come along.
    """
    from evenkeel.experiments.bench.generation import run_from_command_line

    sys.exit(run_from_command_line(given, confirmed=yes))
