"""The bodies of `evenkeel feedback …`."""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, NamedTuple

from rich.table import Table

from evenkeel.console import wording
from evenkeel.console.feedback_views import QUALITIES, RATINGS, agreement_lines
from evenkeel.core import figures, rewordings
from evenkeel.experiments.judge_audit.labels import judge_lines, rating_lines
from evenkeel.monitor.labels import human_agreement
from evenkeel.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from rich.console import Console

    from evenkeel.runtime.stores import Stores
    from evenkeel.stores.labels import Label


class Narrowed(NamedTuple):
    """Which labels are meant; None = any."""

    route: str | None = None
    judge: str | None = None
    """The judge's model."""
    drawn: bool = False
    """Only of verdicts that chance drew."""


class Exported(NamedTuple):
    """What an export wrote."""

    rows: int
    """Lines of people's ratings: one for each verdict and metric."""
    verdicts: int
    people: int
    judge_rows: int
    """Lines of the judge's ratings, 0 if they were not asked for."""


def list_labels(stores: Stores, narrowed: Narrowed, console: Console, *, as_json: bool) -> None:
    """Print labels that count, the last said first, and how far people agree with ratings."""
    labels = _chosen(stores, narrowed)
    if as_json:
        console.out(json.dumps([asdict(label) for label in labels], indent=2), highlight=False)
        return
    if not labels:
        console.out(
            "no labels; the page of a trial in the console has a form to say whether its verdict is right",
            highlight=False,
        )
        return
    console.print(_table(labels))
    agreement = agreement_lines(human_agreement(labels))
    if agreement:
        shown = Table("rated by", "verdicts", "agree", "95 % interval", "counted", "where not")
        for line in agreement:
            shown.add_row(line.decider, line.source, line.share, line.interval, line.counts, line.too_high)
        console.print(shown)


def export(
    stores: Stores, narrowed: Narrowed, output: Path | None, recorded: Path | None, console: Console
) -> Exported:
    """Write people's ratings as `evenkeel judge-audit` reads them, and what the judge said of the same.

    Args:
        stores: where the labels are.
        narrowed: which.
        output: file of people's ratings, compressed if its name ends in .gz; None = to the console.
        recorded: file of the judge's ratings; None = not written.
        console: gets the ratings without an output.

    Raises: SettingsError if there are no labels, if those asked for are about several judges, or if a file
        cannot be written.
    """
    labels = _chosen(stores, narrowed)
    if not labels:
        raise SettingsError("there are no such labels; `evenkeel feedback list` shows those there are")
    judged = [label for label in labels if label.decided_by == "judge"]
    judges = sorted({label.judge_model for label in judged})
    if recorded is not None and len(judges) > 1:
        raise SettingsError(
            f"the labels are about several judges ({', '.join(judges)}); choose one with --judge"
        )
    if recorded is not None and not judged:
        raise SettingsError("no judge decided any of the labelled verdicts; leave --recorded out")
    about = judged if recorded is not None else labels
    rows = list(rating_lines(about, stores.labels.texts))
    if output is None:
        console.out("\n".join(rows), highlight=False)
    else:
        _write(output, rows)
    said = list(judge_lines(about)) if recorded is not None else []
    if recorded is not None:
        _write(recorded, said)
    return Exported(
        len(rows), len({label.verdict_id for label in about}), len({label.by for label in about}), len(said)
    )


def _chosen(stores: Stores, narrowed: Narrowed) -> list[Label]:
    return [
        label
        for label in stores.labels.select(route=narrowed.route)
        if narrowed.judge in (None, label.judge_model) and (label.drawn or not narrowed.drawn)
    ]


def _table(labels: Sequence[Label]) -> Table:
    shown = Table("verdict", "change made", "by", "when", "route", "rating", "people", "note")
    for label in labels:
        parts = []
        if label.rating is not None:
            parts.append(RATINGS[label.rating])
        if label.quality is not None:
            parts.append(QUALITIES[label.quality])
        shown.add_row(
            label.verdict_id,
            rewordings.label(label.perturbation),
            label.by,
            figures.moment_exact(label.at),
            label.route,
            "not rated" if label.judge_rating is None else wording.RATINGS[label.judge_rating],
            "; ".join(parts),
            label.note,
        )
    return shown


def _write(path: Path, lines: Iterable[str]) -> None:
    text = "".join(f"{line}\n" for line in lines).encode()
    try:
        path.write_bytes(gzip.compress(text, mtime=0) if path.name.endswith(".gz") else text)
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from error
