"""Documents: a titled report of tables, paragraphs and charts, written once for every rendering.

An experiment builds one `Document` of what it found; `evenkeel.release.kit.renderings` shows it in a
terminal, as Markdown and as one HTML file. Text is plain text everywhere: renderings escape it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from operator import itemgetter
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

from evenkeel.core import figures
from evenkeel.core.verdict import Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.release.kit.charts import ReportChart

MISSING: Final = "–"
"""Text where nothing was measured."""
_POINTS: Final = 100

Tone: TypeAlias = Literal["", "better", "worse", "quiet"]
Rendering: TypeAlias = Literal["terminal", "markdown", "html"]
EVERYWHERE: Final[frozenset[Rendering]] = frozenset(("terminal", "markdown", "html"))


class IntervalFigure(Protocol):
    """A figure with its interval."""

    @property
    def value(self) -> float | None:
        """The figure; None if nothing was counted."""

    @property
    def lower(self) -> float | None:
        """The lower end, None without an interval."""

    @property
    def upper(self) -> float | None:
        """The upper end, None without an interval."""


class FigureForm(StrEnum):
    """Notation of a column's values."""

    TEXT = "text"
    NUMBER = "number"
    POINTS = "points"
    """Ratios in points of 100: "91.3"."""
    SIGNED_POINTS = "signed_points"
    """Differences of ratios in points of 100, with their sign: "+22.2"."""
    PERCENT = "percent"
    USD = "usd"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    form: FigureForm = FigureForm.TEXT
    digits: int = 0
    wide: bool = False
    """True if its text is long and may be broken over lines."""

    @property
    def is_text(self) -> bool:
        """True if it holds words, which stand at the left."""
        return self.form is FigureForm.TEXT

    def cell(self, value: Value) -> TableCell:
        """A value as this column writes it."""
        if isinstance(value, TableCell):
            return value
        if isinstance(value, str):
            return TableCell(value)
        if isinstance(value, Failure):
            return TableCell(value.reason.replace("_", " "))
        if isinstance(value, (int, float)):
            return TableCell(written(value, self.form, self.digits))
        if value is None or value.value is None:
            return TableCell(MISSING)
        return TableCell(
            written(value.value, self.form, self.digits),
            interval_text(value.lower, value.upper, self.form, self.digits),
        )


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell of a table where a value alone does not say it."""

    text: str
    detail: str = ""
    """A second line: the interval, or the model of a route."""
    tone: Tone = ""
    band: int | None = None
    """Colour of a robustness, see `evenkeel.core.geometry.band`; None = uncoloured."""
    shade: int | None = None
    """Colour on a scale from 0 (none) to 5 (strong), for any other figure."""
    title: str = ""
    """Shown where a pointer rests."""

    @property
    def line(self) -> str:
        """All of it in one line."""
        return f"{self.text} {self.detail}".strip()


Value: TypeAlias = "TableCell | IntervalFigure | Failure | str | int | float | None"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of values under typed columns; the first column names the rows."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    title: str = ""
    heat: bool = False
    """True if its figures are a picture: coloured cells without lines between them."""
    grouped: bool = False
    """True if neighbouring rows with the same first cell stand under it as a heading in HTML."""
    legend: bool = False
    """True if the colours of robustness are explained below."""
    on: frozenset[Rendering] = EVERYWHERE

    def cells(self) -> list[tuple[TableCell, ...]]:
        """The rows as they are written."""
        written_rows = []
        for row in self.rows:
            cells = []
            for column, value in zip(self.columns, row, strict=True):
                cells.append(column.cell(value))
            written_rows.append(tuple(cells))
        return written_rows


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Some sentences."""

    text: str
    tone: Tone = ""
    on: frozenset[Rendering] = EVERYWHERE


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list, a line each."""

    items: tuple[str, ...]
    quiet: bool = False
    """True if a terminal shows it dimmed."""
    on: frozenset[Rendering] = EVERYWHERE


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart; HTML only, so a table or a sentence must say the same elsewhere."""

    chart: ReportChart
    caption: str = ""
    about: str = ""
    keys: tuple[tuple[str, str], ...] = ()
    """(CSS class, meaning) of the colours."""
    on: frozenset[Rendering] = frozenset(("html",))


@dataclass(frozen=True, slots=True)
class FoldedSection:
    """Something that is shown when its summary is clicked; not in a terminal."""

    summary: str
    text: str = ""
    code: str = ""
    language: str = ""
    """Language of the code: "diff"."""
    on: frozenset[Rendering] = frozenset(("markdown", "html"))


Block: TypeAlias = Table | Paragraph | Bullets | Picture | FoldedSection


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A heading with its blocks."""

    title: str
    blocks: tuple[Block, ...]
    key: str = ""
    """Names it in addresses and tests; "" = made of the title."""
    about: str = ""
    """A sentence on what it shows."""
    on: frozenset[Rendering] = EVERYWHERE

    @property
    def anchor(self) -> str:
        """Id of the section in a page."""
        return self.key or "-".join(self.title.lower().split())


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report."""

    title: str
    sections: tuple[ReportSection, ...]
    kind: str = ""
    """Command that made it, as in "evenkeel bench"."""
    subtitle: str = ""
    headline: str = ""
    """The most important thing in one sentence."""
    summary: tuple[str, ...] = field(default=())
    """Facts for a reader of one page."""
    footer: str = ""

    def sections_for(self, rendering: Rendering) -> list[ReportSection]:
        """The sections that a rendering shows, those without a block left out."""
        shown = []
        for section in self.sections:
            blocks = tuple(block for block in section.blocks if rendering in block.on)
            if blocks and rendering in section.on:
                shown.append(replace(section, blocks=blocks))
        return shown


def written(value: float, form: FigureForm, digits: int = 0) -> str:
    """Write a figure as a column of this form does."""
    if form is FigureForm.PERCENT:
        return figures.percent(value, digits)
    if form is FigureForm.POINTS:
        return figures.number(value * _POINTS, digits)
    if form is FigureForm.SIGNED_POINTS:
        text = figures.number(value * _POINTS, digits)
        # "+0" would claim a direction.
        return text if text.startswith("−") or not text.strip("0.") else f"+{text}"
    if form is FigureForm.USD:
        return figures.usd(value)
    return figures.number(value, digits)


def interval_text(lower: float | None, upper: float | None, form: FigureForm, digits: int = 0) -> str:
    """An interval as in "[24, 38]", in the units of a form; "" without one."""
    if lower is None or upper is None:
        return ""
    # One sign for the whole is enough: "31 % [24, 38]".
    bare = FigureForm.POINTS if form is FigureForm.PERCENT else form
    return f"[{written(lower, bare, digits)},\u00a0{written(upper, bare, digits)}]"


def both(value: Value, form: FigureForm, digits: int = 0) -> str:
    """A figure with its interval in one line, for a sentence: "88.8 [86.3, 90.9]"."""
    return Column("", form, digits).cell(value).line


def part(table: Table, chosen: Sequence[int]) -> Table:
    """The table with some of its columns, the first one always among them."""
    pick = itemgetter(0, *chosen)
    return replace(table, columns=pick(table.columns), rows=tuple(map(pick, table.rows)))
