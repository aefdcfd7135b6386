"""`feedback`: lists and exports people's ratings of verdicts."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from rich.table import Table

from evenkeel.cli.label_lines import judge_lines, rating_lines
from evenkeel.cli.options import emit, json_option, table_console, with_stores
from evenkeel.console import wording
from evenkeel.console.labels import QUALITIES, RATINGS, in_order
from evenkeel.core import figures, rewordings
from evenkeel.core.text import one_line
from evenkeel.monitor.labels import human_agreement
from evenkeel.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evenkeel.runtime.stores import Stores
    from evenkeel.stores.labels import Label


_route = click.option("--route", metavar="NAME", help="Only this route.")
_judge = click.option("--judge", metavar="MODEL", help="Only verdicts of this judge.")
_drawn = click.option("--drawn", is_flag=True, help="Only verdicts drawn at random and rated blind.")


@click.group()
def feedback() -> None:
    """List and export people's ratings of trials, to measure the judge against.

    People rate trials on a trial's page in the console. Ratings are kept with their names, longer than the
    trial itself. Works while `up` runs.

    \b
      evenkeel feedback list
      evenkeel feedback export -o labels.jsonl --recorded judge.jsonl
      evenkeel judge-audit labels.jsonl --recorded judge.jsonl
    """


@feedback.command("list")
@_route
@_judge
@_drawn
@json_option
@with_stores
def list_(stores: Stores, *, as_json: bool, **narrowed: Any) -> None:
    """List ratings, newest first, and how far people agree with the judge."""
    labels = _chosen(stores, **narrowed)
    console = table_console()
    if as_json:
        emit(msgspec.to_builtins(labels))
        return
    if not labels:
        click.echo("No ratings yet. Rate trials on their page in the console.", err=True)
        return
    console.print(_table(labels))
    agreement = in_order(human_agreement(labels))
    if agreement:
        shown = Table("rated by", "verdicts", "agree", "95 % interval", "counted", "where not")
        for rater in agreement:
            wrong = rater.n - rater.agreed
            shown.add_row(
                " ".join(filter(None, (rater.decided_by, rater.judge))),
                "drawn at random and rated blind" if rater.source == "drawn" else "chosen by people",
                figures.percent(rater.value),
                figures.points_interval(rater, 0),
                f"{rater.agreed:,} of {rater.n:,}",
                f"{rater.too_high:,} of {wrong:,} rated more similar than people say" if wrong else "",
            )
        console.print(shown)


@feedback.command()
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE",
    help="Write people's ratings to FILE; .gz compresses.  [default: standard output]",
)  # fmt: skip
@click.option(
    "--recorded", type=click.Path(path_type=Path), metavar="FILE",
    help="Write the judge's ratings of the same trials to FILE; skips trials it did not decide.",
)  # fmt: skip
@_route
@_judge
@_drawn
@with_stores
def export(stores: Stores, output: Path | None, recorded: Path | None, **narrowed: Any) -> None:
    """Write ratings as JSON lines for `evenkeel judge-audit`."""
    labels = _chosen(stores, **narrowed)
    if not labels:
        raise SettingsError("no matching ratings; list them with `evenkeel feedback list`")
    if recorded is not None:
        labels = _judged(labels)
    rows = list(rating_lines(labels, stores.labels.texts))
    if output is None:
        table_console().out("\n".join(rows), highlight=False)
    else:
        _write(output, rows)
    lines = list(judge_lines(labels)) if recorded is not None else []
    if recorded is not None:
        _write(recorded, lines)
    if output is not None:
        verdicts, people = {label.verdict_id for label in labels}, {label.by for label in labels}
        click.echo(f"{len(rows)} rows; verdicts: {len(verdicts)}, people: {len(people)}; in {output}")
        if recorded is not None:
            click.echo(f"{len(lines)} ratings of the judge in {recorded}")


def _judged(labels: Sequence[Label]) -> list[Label]:
    """Return the labels of verdicts that a judge decided.

    Raises: SettingsError if there are none, or if they are of several judges.
    """
    judged = [label for label in labels if label.decided_by == "judge"]
    judges = sorted({label.judge_model for label in judged})
    if len(judges) > 1:
        raise SettingsError(
            f"the labels are about several judges ({', '.join(judges)}); choose one with --judge"
        )
    if not judged:
        raise SettingsError("no judge decided any of the labelled verdicts; leave --recorded out")
    return judged


def _chosen(stores: Stores, *, route: str | None, judge: str | None, drawn: bool) -> list[Label]:
    """Return the labels that the options select; None = any."""
    labels = list(stores.labels.select(route=route))
    if judge is not None:
        labels = [label for label in labels if label.judge_model == judge]
    return [label for label in labels if label.drawn or not drawn]


def _table(labels: Sequence[Label]) -> Table:
    shown = Table("verdict", "change made", "by", "when", "route", "rating", "people", "note")
    for label in labels:
        parts = []
        if label.rating is not None:
            parts.append(RATINGS[label.rating])
        if label.quality is not None:
            parts.append(QUALITIES[label.quality])
        cells = (
            label.verdict_id,
            rewordings.label(label.perturbation),
            label.by,
            figures.moment_exact(label.at),
            label.route,
            "not rated" if label.judge_rating is None else wording.RATINGS[label.judge_rating],
            "; ".join(parts),
            label.note,
        )
        shown.add_row(*map(one_line, cells))
    return shown


def _write(path: Path, lines: Iterable[str]) -> None:
    text = "".join(f"{line}\n" for line in lines).encode()
    try:
        path.write_bytes(gzip.compress(text, mtime=0) if path.name.endswith(".gz") else text)
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from error
