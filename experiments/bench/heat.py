"""Coloured tables of the page: models by category, format, language, task; languages by languages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.console.heatmap import BAND_FLOORS
from evenkeel.experiments.bench import wording

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from evenkeel.experiments.bench.scores import Figure, ModelRow, Scores, Tables

_PAIR = "crosslingual."
_TO = "_to_"


@dataclass(frozen=True, slots=True)
class Cell:
    """One coloured cell."""

    label: str
    """Name of the column, for narrow screens."""
    score: str
    spread: str
    interval: str
    band: int | None
    """Colour; None = uncoloured."""
    title: str


@dataclass(frozen=True, slots=True)
class Heat:
    """A table of coloured cells."""

    key: str
    title: str
    about: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell | None, ...]], ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """Pairs of languages of one model."""

    model: str
    columns: tuple[str, ...]
    """Languages of the answer."""
    rows: tuple[tuple[str, tuple[Cell | None, ...]], ...]
    """By language of the input."""


def band(value: float) -> int:
    """Index of the colour of a robustness in [0, 1]."""
    return next(
        (place for place, floor in enumerate(BAND_FLOORS) if value * wording.POINTS >= floor),
        len(BAND_FLOORS),
    )


def heats(tables: Tables) -> Iterator[Heat]:
    """The tables with models as rows, those left out that would be empty."""
    yield _heat(
        tables, "categories", "Categories of perturbations",
        "Trials out of 100 in which the change did not change the quality of the answer. The baseline is the "
        "same prompt sent again: what is missing there is the model's own noise.",
        lambda row: {"overall": row.overall, **row.categories},
    )  # fmt: skip
    for key, title, about, of in (
        ("formats", "Formats", "Each against the free answer to the same prompt.", lambda row: row.formats),
        ("languages", "Languages", "Prompt and answer in another language.", lambda row: row.languages),
        ("inputs", "Crosslingual, by language of the input", "", lambda row: row.inputs),
        ("answers", "Crosslingual, by language of the answer", "", lambda row: row.answers),
        ("tasks", "Tasks", "All categories of one task, each weighing the same.", lambda row: row.tasks),
        (
            "kinds",
            "Single perturbations",
            "General, positional and compound ones; formats and languages stand above.",
            _single,
        ),
    ):
        if tables.columns(of):
            yield _heat(tables, key, title, about, of)


def _single(row: ModelRow) -> Mapping[str, Scores]:
    shown = ("general.", "positional.", "compound.")
    return {name: one for name, one in row.kinds.items() if name.startswith(shown)}


def _heat(
    tables: Tables, key: str, title: str, about: str, of: Callable[[ModelRow], Mapping[str, Scores]]
) -> Heat:
    columns = tables.columns(of)
    rows = tuple(
        (row.model, tuple(_cell(row.model, name, of(row).get(name)) for name in columns))
        for row in tables.models
    )
    return Heat(key, title, about, tuple(_plain(name) for name in columns), rows)


def _plain(name: str) -> str:
    """A kind without its category, a name without underscores."""
    return name.rpartition(".")[2].replace("_", " ")


def _cell(model: str, name: str, found: Scores | None) -> Cell | None:
    if found is None or found.robustness is None:
        return None
    figure = found.robustness
    title = (
        f"{model}, {_plain(name)}: robustness {wording.points(figure)} {wording.span(figure)}, content delta "
        f"{said(found.content_delta)}, quality delta {said(found.quality_delta)}, {figure.n} trials"
    )
    spread = "" if figure.std is None else f"± {wording.share(figure.std)}"
    return Cell(
        _plain(name), wording.share(figure.value), spread, wording.span(figure), band(figure.value), title
    )


def said(figure: Figure | None) -> str:
    """A figure with its interval, in points of 100."""
    return f"{wording.points(figure)} {wording.span(figure)}".strip()


def matrices(tables: Tables) -> Iterator[Matrix]:
    """Robustness by language of the input and of the answer, for each model that has such pairs."""
    names = [name.removeprefix(_PAIR) for name in tables.columns(_pairs)]
    ordered = dict.fromkeys(part for name in names for part in name.split(_TO))
    inputs, answers = ({name.split(_TO)[end] for name in names} for end in (0, -1))
    columns = tuple(name for name in ordered if name in answers)
    for row in tables.models:
        found = _pairs(row)
        if found:
            rows = tuple(
                (
                    one,
                    tuple(_cell(row.model, name, found.get(name)) for name in _names(one, columns)),
                )
                for one in ordered
                if one in inputs
            )
            yield Matrix(row.model, columns, rows)


def _names(one: str, answers: tuple[str, ...]) -> list[str]:
    return [f"{_PAIR}{one}{_TO}{answer}" for answer in answers]


def _pairs(row: ModelRow) -> Mapping[str, Scores]:
    return {name: one for name, one in row.kinds.items() if name.startswith(_PAIR)}
