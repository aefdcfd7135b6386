"""The tables in a terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rich.table import Table

from evenkeel.core.figures import number
from evenkeel.core.text import well_formed
from evenkeel.experiments.bench import wording
from evenkeel.experiments.bench.layout import Grid, laid_out

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rich.console import Console

    from evenkeel.experiments.bench.run import Outcome
    from evenkeel.experiments.bench.scores import Figure, ModelRow, Scores, Tables

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def show(outcome: Outcome, console: Console) -> None:
    """Print the tables, what could not be measured, and what it took."""
    tables = outcome.tables
    console.print(_safe(wording.measured(outcome)), soft_wrap=True)
    _print(_overall(tables), "score", console)
    console.print(_difficulty(tables))
    shown: tuple[tuple[str, Callable[[ModelRow], Mapping[str, Scores]], bool, str], ...] = (
        ("Quality delta by language (lower is better)", lambda row: row.languages, True, "language"),
        ("Robustness by format, against a free answer", lambda row: row.formats, False, "format"),
        ("Crosslingual robustness by language of the input", lambda row: row.inputs, False, "input"),
        ("Crosslingual robustness by language of the answer", lambda row: row.answers, False, "answer"),
        ("Robustness by task", lambda row: row.tasks, False, "task"),
    )
    for title, of, delta, what in shown:
        if tables.columns(of):
            _print(_by(tables, title, of, delta=delta), what, console)
    if any(row.entities is not None for row in tables.models):
        found = (f"{row.model} {wording.share(row.entities)}" for row in tables.models)
        console.print(_safe(f"Expected entities found (F1): {', '.join(found)}"), soft_wrap=True)
    for line in (
        *wording.failures(outcome),
        *outcome.notes,
        wording.effort(outcome),
        *wording.estimated(outcome),
    ):
        console.print(_safe(line), style="dim", soft_wrap=True)


def _print(grid: Grid, columns: str, console: Console) -> None:
    for table in laid_out(grid, console.width, columns):
        console.print(table)


def _overall(tables: Tables) -> Grid:
    title = "Robustness, in points of 100: mean ± standard deviation over runs [95 %]"
    rows = []
    for row in tables.models:
        figures = (
            row.overall.robustness, row.overall.content_delta, row.overall.quality_delta,
            *(_robustness(row.categories, name) for name in tables.categories),
        )  # fmt: skip
        rows.append((_safe(row.model), tuple(map(_cell, figures))))
    columns = ("overall", "content delta", "quality delta", *tables.categories)
    return Grid(title, "model", columns, tuple(rows))


def _difficulty(tables: Tables) -> Table:
    table = Table(title="How hard the categories are, over all models", title_justify="left")
    for name in ("category", "mean", "drop from baseline", "mean std"):
        table.add_column(name, justify="left" if name == "category" else "right")
    for row in tables.difficulty:
        drop = wording.MISSING if row.drop is None else number(row.drop * wording.POINTS, 1)
        table.add_row(row.category, wording.share(row.mean), drop, wording.share(row.mean_std))
    return table


def _by(tables: Tables, title: str, of: Callable[[ModelRow], Mapping[str, Scores]], *, delta: bool) -> Grid:
    names = tables.columns(of)
    rows = []
    for row in tables.models:
        cells = of(row)
        found = [cells.get(name) for name in names]
        figures = [None if one is None else one.quality_delta if delta else one.robustness for one in found]
        rows.append((_safe(row.model), tuple(map(_cell, figures))))
    return Grid(title, "model", tuple(name.replace("_", " ") for name in names), tuple(rows))


def _robustness(scores: Mapping[str, Scores], name: str) -> Figure | None:
    return scores[name].robustness if name in scores else None


def _cell(figure: Figure | None) -> str:
    return wording.points(figure) if figure is None else f"{wording.points(figure)}\n{wording.span(figure)}"


def _safe(text: str) -> str:
    """Without what a terminal would obey or could not write."""
    return _CONTROL.sub("\ufffd", well_formed(text))
