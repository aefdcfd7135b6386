"""Renderings of a document: terminal, one HTML file, Markdown for the gate; JSON and JUnit for machines."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields, is_dataclass
from difflib import unified_diff
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from rich.cells import cell_len
from rich.table import Table as RichTable

from evenkeel.core.geometry import BANDS
from evenkeel.core.text import escaped as escaped_json
from evenkeel.core.text import markdown as escaped
from evenkeel.core.text import one_line, visible, well_formed
from evenkeel.core.verdict import Failure
from evenkeel.core.version import VERSION
from evenkeel.release.kit import charts
from evenkeel.release.kit.document import Bullets, FoldedSection, Paragraph, Picture, Table, part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from jinja2 import Template
    from rich.console import Console

    from evenkeel.release.kit.document import Block, Document, TableCell


# Columns that a border with its padding takes.
_FRAME: Final = 3
# Columns within which names of rows are broken if there is no room for them.
_HEAD: Final = 22
# Columns that text needs at least where it may be broken.
_WORDS: Final = 12
_TONES: Final = {"": "", "better": "green", "worse": "bold red", "quiet": "dim"}
MOST_CHARS: Final = 200
"""Longest line of a diff."""
# Longest diff.
_MOST_LINES: Final = 12
_SENTENCE_END: Final = re.compile(r"(?<=[.!?。！？])\s+|\n+")  # noqa: RUF001 - marks of other scripts
# Characters that XML 1.0 cannot hold.
_UNWRITABLE: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def show(document: Document, console: Console) -> None:
    """Print a document in a terminal: its title and summary, and each section's tables and lines."""
    console.print(visible(document.title), style="bold", soft_wrap=True)
    for line in (document.subtitle, document.headline, *document.summary):
        if line:
            console.print(visible(line), soft_wrap=True)
    for section in document.sections_for("terminal"):
        title = section.title
        for block in section.blocks:
            # A table has the title above it; anything else needs a heading, or nobody knows what it lists.
            if title and not isinstance(block, Table):
                console.print(visible(title), style="bold", soft_wrap=True)
            _show_block(block, title, console)
            title = ""


def _show_block(block: Block, title: str, console: Console) -> None:
    if isinstance(block, Table):
        for table in fitted(block, console.width):
            console.print(_rich(table, visible(block.title or title), console.width))
    elif isinstance(block, Paragraph):
        console.print(visible(block.text), style=_TONES[block.tone] or None, soft_wrap=True)
    elif isinstance(block, Bullets):
        for item in block.items:
            console.print(visible(item), style="dim" if block.quiet else None, soft_wrap=True)


def fitted(table: Table, width: int) -> Iterator[Table]:
    """Yield a table in as many parts, one below the other, as a terminal needs to show each figure whole."""
    if not table.rows:
        return
    first, end = 1, len(table.columns)
    while first < end:
        last = first + 1
        while last < end and _width(part(table, range(first, last + 1))) <= width:
            last += 1
        yield part(table, range(first, last))
        first = last


def _width(table: Table) -> int:
    return sum(_widths(table)) + _FRAME * len(table.columns) + 1


def _widths(table: Table) -> list[int]:
    """Columns of a terminal that each column of a table needs at least."""
    widths = []
    for column_index, column in enumerate(table.columns):
        longest = max(map(_longest, _stacked_column(table, column_index)), default=0)
        if column_index == 0 or column.is_text:
            limit = _HEAD if column_index == 0 else _WORDS if column.wide else longest
            widths.append(max(min(limit, longest), min(_HEAD, _longest(column.name))))
        else:
            widths.append(max(longest, max(map(_longest, column.name.split()), default=0)))
    return widths


def _rich(table: Table, title: str, room: int) -> RichTable:
    shown = RichTable(title=title or None, title_justify="left", title_style="bold", header_style="dim")
    widths = _widths(table)
    spare = max(0, room - _width(table))
    for column_index, (column, least) in enumerate(zip(table.columns, widths, strict=True)):
        longest = max(map(_longest, _stacked_column(table, column_index)))
        # What is left goes to the first columns that can use it.
        width = min(least + spare, max(least, longest, cell_len(column.name)))
        spare -= width - least
        justify: Literal["left", "right"] = "left" if column.is_text else "right"
        shown.add_column(visible(column.name), justify=justify, width=width, overflow="fold")
    before = ""
    for row in table.cells():
        # Groups are told apart by a line; the table repeats no heading in a terminal.
        if table.grouped and before and row[0].text != before:
            shown.add_section()
        before = row[0].text
        shown.add_row(*(visible(_stacked(cell)) for cell in row))
    return shown


def _stacked_column(table: Table, column_index: int) -> list[str]:
    return [_stacked(row[column_index]) for row in table.cells()]


def _stacked(cell: TableCell) -> str:
    return f"{cell.text}\n{cell.detail}" if cell.detail else cell.text


def _longest(text: str) -> int:
    return max((cell_len(line) for line in text.splitlines()), default=0)


def markdown(document: Document, level: int = 1) -> str:
    """A document as Markdown that ends with a line break; safe for any text in it.

    Args:
        document: what to write.
        level: of its heading: 2 for a comment below somebody else's.
    """
    filled: str = _template("document.md", escaped).render(document=document, level=level)
    return filled


def html(document: Document) -> bytes:
    """A document as one HTML file that needs nothing else: no script, no font, no request. Made to print."""
    filled: str = _template("document.html").render(document=document)
    return filled.encode("utf-8", "replace")


def environment(package: str, write: Callable[[str], str] | None = None) -> Environment:
    """The templates of a package.

    Args:
        package: whose folder `templates` they are in.
        write: makes what they print of a text; None for pages, where it is escaped and made visible.
    """

    def written(value: Any) -> Any:
        plain = isinstance(value, str) and not isinstance(value, Markup)
        return (write or visible)(value) if plain else value

    return Environment(
        loader=PackageLoader(package),
        autoescape=write is None,  # noqa: S701 - where it is no page, `write` escapes
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=written,
    )


@lru_cache(maxsize=3)
def _template(name: str, write: Callable[[str], str] | None = None) -> Template:
    made = environment("evenkeel.release.kit", write)
    made.globals |= {
        "version": VERSION, "bands": BANDS, "charts": charts, "group": _grouped, "shape": _shape,
        "fence": _fence, "one_line": one_line, "visible": visible,
    }  # fmt: skip
    return made.get_template(name)


def _fence(code: str) -> Markup:
    """A fence of Markdown, longer than any run of backticks inside it."""
    longest = max(map(len, re.findall("`+", code)), default=0)
    return Markup("`") * max(3, longest + 1)


_SHAPES: Final[dict[type, str]] = {
    Table: "table",
    Paragraph: "paragraph",
    Bullets: "bullets",
    FoldedSection: "folded",
}


def _shape(block: Block) -> str:
    """Name the shape that a template draws."""
    if isinstance(block, Picture):
        return block.chart.shape
    return _SHAPES[type(block)]


def _grouped(table: Table) -> list[tuple[str, list[tuple[TableCell, ...]]]]:
    """Rows under headings: neighbours with the same first cell together, which is their heading."""
    if not table.grouped:
        return [("", table.cells())]
    groups: list[tuple[str, list[tuple[TableCell, ...]]]] = []
    for row in table.cells():
        if not groups or groups[-1][0] != row[0].text:
            groups.append((row[0].text, []))
        groups[-1][1].append(row[1:])
    return groups


def diff(before: str, after: str) -> str:
    """Return the differences of two texts, a sentence a line, cut in length and in number."""
    # Without the two lines that name files.
    lines = list(unified_diff(_sentences(before), _sentences(after), n=0, lineterm=""))[2:]
    lines = [line for line in lines if not line.startswith("@@")]
    shown = []
    for line in lines[:_MOST_LINES]:
        shown.append(line if len(line) <= MOST_CHARS else f"{line[: MOST_CHARS - 1]}…")
    if len(lines) > _MOST_LINES:
        shown.append(f"… {len(lines) - _MOST_LINES} more lines")
    return "\n".join(shown)


def _sentences(text: str) -> list[str]:
    sentences = []
    for sentence in _SENTENCE_END.split(text):
        if sentence.strip():
            sentences.append(sentence.strip())
    return sentences


def json_text(data: Mapping[str, Any]) -> str:
    """An object as indented JSON that ends with a line break; field names are those of the classes in it.

    A failure is an object with "failure" and "detail" in place of what could not be measured.
    """
    # NaN is no JSON: better an error here than in the reader.
    text = json.dumps(plain(data), indent=2, ensure_ascii=False, allow_nan=False)
    return escaped_json(well_formed(text)) + "\n"


def plain(value: Any) -> Any:
    """Records and enumerations as what JSON has."""
    if isinstance(value, Failure):
        return {"failure": value.reason, "detail": value.detail}
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, msgspec.Struct):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.value if isinstance(value, Enum) else value


@dataclass(frozen=True, slots=True)
class ResultLine:
    """Finding about one measure or category: a line of a run in the console, a test case in JUnit."""

    name: str
    said: str
    failure: str = ""
    """Kind of a failure, such as "regression"; "" if it is none."""
    more: str = ""
    """Text of a failure besides what is said."""
    error: str = ""
    """The same of what could not be measured."""
    skipped: str = ""
    """Reason why it decides nothing."""

    def __str__(self) -> str:
        return f"{self.name}: {self.said}"


def junit(
    suite: str, lines: Sequence[ResultLine], *, properties: Mapping[str, str], output: str, duration_s: float
) -> str:
    """XML in the shape that CI servers read."""
    filled: str = _template("junit.xml", _xml).render(
        suite=suite, classname=suite.replace(" ", "."), cases=lines, properties=properties, output=output,
        time_s=f"{duration_s:.3f}",
    )  # fmt: skip
    return filled


def _xml(text: str) -> str:
    return escape(_UNWRITABLE.sub("\ufffd", text))
