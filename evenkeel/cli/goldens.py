"""`goldens` and its subcommands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evenkeel.cli.options import store_options

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rich.console import Console

    from evenkeel.runtime.stores import Stores
    from evenkeel.stores.goldens import Golden

_PIPED_WIDTH = 220
"""Into a file or a pipe nothing needs to be cut."""


_by = click.option(
    "--by",
    envvar=["EVENKEEL_USER", "USER"],
    metavar="NAME",
    help="Who you are, for the record.  [the variable EVENKEEL_USER, else USER]",
)
_route = click.option("--route", metavar="NAME", help="Only of this route.")
_task = click.option("--task", metavar="NAME", help="Only of this task.")
_model = click.option("--model", metavar="NAME", help="Only answers of this model.")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_retired = click.option("--all", "retired", is_flag=True, help="Retired ones too.")


@click.group()
def goldens() -> None:
    """Goldens: exchanges whose answer a person has approved, as the measure of what comes later.

    `evenkeel up` keeps the newest exchanges that it samples. Approve some, here or in the console, and
    `evenkeel calibrate` and `evenkeel gate` can hold other answers against them. Each keeps who approved
    what, when, and which model and prompt version had answered. All of this works while `up` runs.

    \b
      evenkeel goldens candidates --route support
      evenkeel goldens approve --route support --sample 50 --spread
      evenkeel goldens list
      evenkeel goldens export -o goldens.jsonl
    """


@goldens.command("list")
@_route
@_task
@_model
@_retired
@_json
@store_options
def list_(config: Path | None, data_dir: Path | None, *, as_json: bool, **narrowed: Any) -> None:
    """List goldens in their newest version, the last approved first."""
    from evenkeel.experiments.goldens.command import Narrowed, list_goldens

    with _opened(config, data_dir) as stores:
        list_goldens(stores, Narrowed(**narrowed), _console(), as_json=as_json)


@goldens.command()
@click.argument("golden_id", metavar="ID")
@click.option("--version", type=click.IntRange(1), metavar="N", help="Another version than the newest.")
@_json
@store_options
def show(
    golden_id: str, version: int | None, config: Path | None, data_dir: Path | None, *, as_json: bool
) -> None:
    """Show one golden: prompt, approved answer, and what was done to it by whom."""
    from evenkeel.experiments.goldens.command import show_golden

    with _opened(config, data_dir) as stores:
        show_golden(stores, golden_id, version, _console(), as_json=as_json)


@goldens.command()
@_route
@_task
@_model
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Print at most so many.")
@_json
@store_options
def candidates(
    limit: int, config: Path | None, data_dir: Path | None, *, as_json: bool, **narrowed: Any
) -> None:
    """List archived exchanges that have not been approved, the newest first."""
    from evenkeel.experiments.goldens.command import Narrowed, list_candidates

    with _opened(config, data_dir) as stores:
        list_candidates(stores, Narrowed(**narrowed), limit, _console(), as_json=as_json)


@goldens.command()
@click.argument("ids", nargs=-1, metavar="[EXCHANGE_ID]...")
@click.option("--name", default="", help="Id of the golden, for one exchange.  [the exchange's id]")
@click.option("--note", default="", metavar="TEXT", help="Why, for those who look at it later.")
@_by
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Choose N archived exchanges.")
@click.option(
    "--seed", type=int, default=1, show_default=True, help="Of the choice: the same gives the same."
)
@click.option("--spread", is_flag=True, help="Choose prompts that differ as far as they can.")
@_route
@_task
@_model
@click.option("--yes", is_flag=True, help="Approve a choice without asking.")
@store_options
def approve(
    ids: tuple[str, ...], config: Path | None, data_dir: Path | None, by: str | None, **given: Any
) -> None:
    """Approve archived exchanges as goldens: those named, or a choice that is shown first.

    Approving the same answer again changes nothing. Another answer under a name that is there becomes its
    next version; the versions before stay on record.

    \b
      evenkeel goldens approve 5f0c6e1d2a9b4c37 --name refund-unused
      evenkeel goldens approve --route support --sample 50 --seed 1 --spread
      evenkeel goldens approve --model gpt-4.1 --sample 50 --spread
    """
    from evenkeel.experiments.goldens.command import Narrowed, Sample, approve_exchanges, approve_sample
    from evenkeel.experiments.kit.confirmation import agreed

    if bool(ids) == (given["sample"] is not None):
        raise click.UsageError("name exchanges, or say how many to choose with --sample N")
    if given["name"] and len(ids) != 1:
        raise click.UsageError("--name is for one exchange")
    who = _who(by)
    with _opened(config, data_dir) as stores:
        if ids:
            done = approve_exchanges(stores, ids, name=given["name"], note=given["note"], by=who)
        else:
            done = approve_sample(
                stores,
                Narrowed(given["route"], given["task"], given["model"]),
                Sample(given["sample"], given["seed"], given["spread"]),
                _console(),
                note=given["note"],
                by=who,
                confirmed=lambda question: given["yes"] or agreed(question),
            )
    _say_each(done, "approved")
    if not done:
        click.echo("nothing approved; --yes approves a choice without asking")


@goldens.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@_by
@store_options
def retire(ids: tuple[str, ...], by: str | None, config: Path | None, data_dir: Path | None) -> None:
    """Take goldens out of use. Their versions and their record stay; `unretire` puts them back."""
    from evenkeel.experiments.goldens.command import retire_goldens

    with _opened(config, data_dir) as stores:
        _say_each(retire_goldens(stores, ids, by=_who(by), back=False), "retired")


@goldens.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@_by
@store_options
def unretire(ids: tuple[str, ...], by: str | None, config: Path | None, data_dir: Path | None) -> None:
    """Put retired goldens back into use."""
    from evenkeel.experiments.goldens.command import retire_goldens

    with _opened(config, data_dir) as stores:
        _say_each(retire_goldens(stores, ids, by=_who(by), back=True), "in use")


@goldens.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@_by
@store_options
def import_(files: tuple[Path, ...], by: str | None, config: Path | None, data_dir: Path | None) -> None:
    """Import goldens from JSON lines (.gz too): all of them, or none if one has a fault.

    A line needs an answer; one that is to be asked again has a prompt, messages or a request as well.
    Who approved it and when is taken from the line, else it is you and now.

    \b
      {"id": "kettle-1", "prompt": "May I return a used kettle?", "answer": "No, only unused ones."}
    """
    from evenkeel.experiments.goldens.command import import_files

    with _opened(config, data_dir, create=True) as stores:
        click.echo(import_files(stores, files, by=_who(by)))


@goldens.command()
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE",
    help="Write there; compressed if the name ends in .gz.  [standard output]",
)  # fmt: skip
@click.option("--versions", is_flag=True, help="All versions, not only the newest.")
@_route
@_task
@_model
@_retired
@store_options
def export(
    output: Path | None,
    config: Path | None,
    data_dir: Path | None,
    *,
    versions: bool,
    **narrowed: Any,
) -> None:
    """Write goldens as JSON lines, the first approved first; `import` reads them back the same."""
    from evenkeel.experiments.goldens.command import Narrowed, export_text, write_export

    with _opened(config, data_dir) as stores:
        text = export_text(stores, Narrowed(**narrowed), versions=versions)
    if output is None:
        click.echo(text.encode(), nl=False)
    else:
        write_export(text, output)


def _opened(
    config: Path | None, data_dir: Path | None, *, create: bool = False
) -> AbstractContextManager[Stores]:
    from evenkeel.runtime.stores import opened, settings_of_stores

    return opened(settings_of_stores(config, data_dir), create=create)


def _console() -> Console:
    from evenkeel.experiments.kit.terminal import consoles

    return consoles(_PIPED_WIDTH).out


def _who(by: str | None) -> str:
    if not by or not by.strip():
        raise click.UsageError("say who you are with --by NAME, or set EVENKEEL_USER")
    return by.strip()


def _say_each(done: list[Golden], word: str) -> None:
    for golden in done:
        click.echo(f"{word}: {golden.id} version {golden.version}")
