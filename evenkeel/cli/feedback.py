"""`feedback` and its subcommands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenkeel.cli.options import store_options

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rich.console import Console

    from evenkeel.runtime.stores import Stores

_PIPED_WIDTH = 220
"""Into a file or a pipe nothing needs to be cut."""

_route = click.option("--route", metavar="NAME", help="Only of this route.")
_judge = click.option("--judge", metavar="MODEL", help="Only about verdicts of this judge.")
_drawn = click.option("--drawn", is_flag=True, help="Only of verdicts that chance drew, rated blind.")


@click.group()
def feedback() -> None:
    """Feedback: what people say of verdicts, as the measure of the judge.

    The page of a trial in the console has a form: how alike are the two answers, which one is better? What
    people say is kept with their names, longer than the verdict. All of this works while `up` runs.

    \b
      evenkeel feedback list
      evenkeel feedback export -o labels.jsonl --recorded judge.jsonl
      evenkeel judge-audit labels.jsonl --recorded judge.jsonl
    """


@feedback.command("list")
@_route
@_judge
@_drawn
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@store_options
def list_(config: Path | None, data_dir: Path | None, *, as_json: bool, **narrowed: Any) -> None:
    """List labels that count, the last said first, and how far people agree with the ratings."""
    from evenkeel.cli.bodies_feedback import Narrowed, list_labels

    with _opened(config, data_dir) as stores:
        list_labels(stores, Narrowed(**narrowed), _console(), as_json=as_json)


@feedback.command()
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE",
    help="Write people's ratings there; compressed if the name ends in .gz.  [standard output]",
)  # fmt: skip
@click.option(
    "--recorded", type=click.Path(path_type=Path), metavar="FILE",
    help="Also write what the judge said of the same, and leave out what it did not decide.",
)  # fmt: skip
@_route
@_judge
@_drawn
@store_options
def export(
    output: Path | None, recorded: Path | None, config: Path | None, data_dir: Path | None, **narrowed: Any
) -> None:
    """Write labels as JSON lines that `evenkeel judge-audit` reads."""
    from evenkeel.cli.bodies_feedback import Narrowed
    from evenkeel.cli.bodies_feedback import export as write

    with _opened(config, data_dir) as stores:
        done = write(stores, Narrowed(**narrowed), output, recorded, _console())
    if output is not None:
        click.echo(f"{done.rows} rows; verdicts: {done.verdicts}, people: {done.people}; in {output}")
        if recorded is not None:
            click.echo(f"{done.judge_rows} ratings of the judge in {recorded}")


def _opened(config: Path | None, data_dir: Path | None) -> AbstractContextManager[Stores]:
    from evenkeel.runtime.stores import opened, settings_of_stores

    return opened(settings_of_stores(config, data_dir))


def _console() -> Console:
    from evenkeel.experiments.kit.terminal import consoles

    return consoles(_PIPED_WIDTH).out
