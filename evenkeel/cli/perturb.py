"""`perturb`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--only",
    multiple=True,
    metavar="PATTERN",
    help='Kinds to try, such as "general.*" or "format"; repeat for several.  [all]',
)
@click.option(
    "--severity",
    type=click.FloatRange(0, 1),
    default=0.3,
    show_default=True,
    help="Share of the places changed.",
)
@click.option(
    "--seed", default="0", show_default=True, metavar="TEXT", help="An exchange's id gives its variants."
)
@click.option(
    "--api",
    type=click.Choice(["chat", "completions", "responses", "messages"]),
    help="API of the request body.  [told by its members]",
)
@click.option(
    "--template",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The prompt with {placeholders} for its inputs.  [told by the roles of messages]",
)
@click.option(
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Settings file: kinds and template of its first route, or of that for --task.",
)
@click.option("--task", metavar="NAME", help="Chooses the route of the settings file by its task.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON, with the variants' bodies.")
def perturb(file: Path, **given: Any) -> None:
    """Show what each perturbation would do to the prompt in FILE, or on standard input (-).

    FILE holds a request body in JSON, of any API that is captured, or a prompt as plain text. Nothing is
    sent anywhere. You see how the prompt is cut into template and input, what of the input is protected,
    each variant as a diff, which kinds would ask a rewriter for text, and why the others do not apply.

    \b
      evenkeel perturb request.json
      evenkeel perturb request.json --only general --severity 0.5
      evenkeel perturb request.json --template prompt.txt --only "positional.*" --only format.json
      echo "Why does my printer stop?" | evenkeel perturb - --json
    """
    from evenkeel.cli.perturbing.command import PerturbOptions, run_perturb

    run_perturb(PerturbOptions(None if str(file) == "-" else file, **given))
