"""The outcome as one HTML file that needs nothing else: no script, no font, no request."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from console.heatmap import BAND_FLOORS, BANDS
from console.rendering import visible
from evenkeel import __version__
from evenkeel.judge_audit import plots
from evenkeel.judge_audit.plots import Point, dot_plot
from evenkeel.offline import wording

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from evenkeel.judge_audit.plots import DotPlot
    from evenkeel.offline.outcome import Outcome
    from evenkeel.offline.shares import Figure, Scores
    from evenkeel.offline.tables import ModelRow, Tables

_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
_ZOOMED = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


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


def page(outcome: Outcome) -> bytes:
    """The page as UTF-8. Names and texts from outside are escaped."""
    environment = Environment(
        loader=PackageLoader("evenkeel.offline"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=visible,
    )
    values: dict[str, Any] = {
        "outcome": outcome,
        "tables": outcome.tables,
        "heats": list(_heats(outcome.tables)),
        "bands": BANDS,
        "overall": _plot(outcome.tables),
        "plots": plots,
        "wording": wording,
        "languages": lambda row: row.languages,
        "version": __version__,
        # The console's own style sheet: one look, one place to change it. It is trusted.
        "style": Markup(files("console").joinpath("static/console.css").read_text(encoding="utf-8")),  # noqa: S704
    }
    return environment.get_template("bench.html").render(**values).encode("utf-8", "replace")


def band(value: float) -> int:
    """Index of the colour of a robustness in [0, 1]."""
    return next(
        (place for place, floor in enumerate(BAND_FLOORS) if value * wording.POINTS >= floor),
        len(BAND_FLOORS),
    )


def _heats(tables: Tables) -> Iterator[Heat]:
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
        f"{_said(found.content_delta)}, quality delta {_said(found.quality_delta)}, {figure.n} trials"
    )
    spread = "" if figure.std is None else f"± {wording.share(figure.std)}"
    return Cell(
        _plain(name), wording.share(figure.value), spread, wording.span(figure), band(figure.value), title
    )


def _said(figure: Figure | None) -> str:
    return f"{wording.points(figure)} {wording.span(figure)}".strip()


def _plot(tables: Tables) -> DotPlot:
    points = [
        Point(row.model, figure.value, figure.lower, figure.upper, "plain", _said(figure))
        if (figure := row.overall.robustness) is not None
        else Point(row.model, None, None, None, "plain", "not measured")
        for row in tables.models
    ]
    known = [one.lower for one in points if one.lower is not None]
    low, ticks = (0.5, _ZOOMED) if known and min(known) >= _ZOOMED[0] else (0.0, _TICKS)
    return dot_plot("Overall robustness", points, low=low, high=1, ticks=ticks)
