"""A document in every rendering."""

import io
import json
import re
from dataclasses import dataclass
from enum import Enum
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

from evenkeel.core.cells import Estimate
from evenkeel.core.verdict import Failure
from evenkeel.release.kit.charts import BOTTOM, LEFT, RIGHT, ROW, TOP, Point, dot_plot
from evenkeel.release.kit.document import (
    Bullets,
    Column,
    Document,
    FigureForm,
    FoldedSection,
    Paragraph,
    Picture,
    ReportSection,
    Table,
    TableCell,
)
from evenkeel.release.kit.renderings import ResultLine, fitted, html, json_text, junit, markdown, show
from tests.kit.pages import Page

HOSTILE = '=1+1"<script>alert(1)</script>|`\x1b[31m'
"""A name that a client can choose for its model."""
TABLE = Table(
    (Column("Model"), Column("Robustness", FigureForm.POINTS, 1), Column("Cost", FigureForm.USD)),
    (
        (HOSTILE, Estimate(0.913, 0.886, 0.94, 50), 1.5),
        ("quiet", Failure("m", 1, "no_variation"), None),
    ),
    title="Models",
)


def document(*blocks):
    return Document(
        "Robustness of a|b", (ReportSection("All", blocks, key="all", about="About."),), summary=("One.",)
    )


def printed(found, width=100):
    file = io.StringIO()
    show(found, Console(file=file, width=width, highlight=False, markup=False))
    return file.getvalue()


@pytest.mark.parametrize(
    ("form", "value", "text"),
    [
        (FigureForm.NUMBER, 1234.0, "1,234"),
        (FigureForm.POINTS, 0.5, "50"),
        (FigureForm.PERCENT, 0.31, "31\u202f%"),
        (FigureForm.SIGNED_POINTS, 0.125, "+12"),
        (FigureForm.SIGNED_POINTS, -0.2, "−20"),
        (FigureForm.SIGNED_POINTS, 0.0, "0"),
        (FigureForm.USD, 0.001, "$0.001"),
        (FigureForm.TEXT, None, "–"),
        (FigureForm.POINTS, Failure("m", 1, "too_few"), "too few"),
        (FigureForm.PERCENT, Estimate(0.31, 0.24, 0.38, 9), "31\u202f% [24,\u00a038]"),
        (FigureForm.POINTS, TableCell("91", "± 1"), "91 ± 1"),
    ],
)
def test_a_column_writes_its_values(form, value, text):
    """Ratios as points or percent, nothing as a dash, a failure as its reason, then the interval."""
    assert Column("c", form).cell(value).line == text


def test_text_from_outside_stays_text_in_every_rendering():
    """No tag in the page, no column more in Markdown, no escape sequence in the terminal."""
    found = document(
        TABLE, Paragraph(HOSTILE), Bullets((HOSTILE,)), FoldedSection(HOSTILE, HOSTILE, "a```b", "diff")
    )
    page = Page(html(found).decode())
    assert "script" not in page.tags
    assert page.addresses == []
    assert page.text.count("<script>alert(1)</script>") == 5
    assert not re.search(r"url\(|@import|https?:", html(found).decode())
    text = markdown(found)
    assert "<script>" not in text
    (row,) = (line for line in text.splitlines() if "91.3" in line)
    assert len(re.findall(r"(?<!\\)\|", row)) == 4
    assert "````diff" in text
    assert "\x1b[31m" not in printed(found)


def test_blocks_are_shown_where_they_belong():
    """A picture is for pages, something folded not for terminals; empty sections are left out."""
    chart = dot_plot("dots", [Point("a", 0.5, 0.4, 0.6, "0.5")], low=0, high=1, ticks=(0, 1))
    found = document(Picture(chart, "Caption"), FoldedSection("Summary"))
    assert "All" not in printed(found)
    assert "All\nSaid.\n" in printed(document(Paragraph("Said.")))
    assert "Caption" not in markdown(found)
    assert "## All" in markdown(found)
    assert "Caption" in Page(html(found).decode()).text


FIGURE = TableCell("91.0 ± 0.4", "[88.2, 93.1]")


def test_a_table_that_is_too_wide_is_shown_in_parts():
    """Each part has the names of the rows, no figure is cut, and none is left out."""
    scores = [Column(f"score {place}", FigureForm.POINTS) for place in range(10)]
    table = Table((Column("model"), *scores), (("model-1", *(FIGURE,) * 10), ("model-2", *(FIGURE,) * 10)))
    assert list(fitted(table, 300)) == [table]
    parts = list(fitted(table, 80))
    assert {part.columns[0].name for part in parts} == {"model"}
    assert [column for part in parts for column in part.columns[1:]] == scores
    assert max(map(len, printed(document(table), 80).splitlines())) <= 80


def test_dots_lie_where_their_values_are():
    """A row each; a value that is not there is not drawn, its text says why."""
    points = [
        Point("a", 0.0, -1.0, 1.0, "0"),
        Point("b", None, None, None, "no variation"),
    ]
    found = dot_plot("t", points, low=-1, high=1, ticks=(-1, 0.5))
    first, second = found.rows
    assert first[1:4] == ((LEFT + RIGHT) / 2, LEFT, RIGHT)
    assert (second.value, second.text) == (None, "no variation")
    assert found.zero_x == first.value
    assert found.height == TOP + 2 * ROW + BOTTOM


class _Colour(Enum):
    RED = "red"


@dataclass
class _Found:
    colour: _Colour
    alpha: float | Failure
    counts: dict[_Colour, int]


def test_json_has_the_fields_of_the_classes():
    """A failure says why in place of what could not be measured; names of choices are keys."""
    found = _Found(_Colour.RED, Failure("alpha", 1, "too_few", "Only one."), {_Colour.RED: 2})
    assert json.loads(json_text({"all": [found], "name": "\ud83d"})) == {
        "all": [
            {"colour": "red", "alpha": {"failure": "too_few", "detail": "Only one."}, "counts": {"red": 2}}
        ],
        "name": "\ufffd",
    }


def test_junit_counts_its_cases():
    """Failures, what could not be measured, what was skipped; what XML cannot hold is replaced."""
    cases = [
        ResultLine("a", "worse", "regression", "g1"),
        ResultLine("b", "said", skipped="decides nothing"),
        ResultLine("c", "why\x00", error="could_not_measure"),
    ]
    text = junit("suite", cases, properties={"candidate": "m\x01"}, output="all", duration_s=1.5)
    (suite,) = ET.fromstring(text)
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped", "time")} == {
        "tests": "3", "failures": "1", "errors": "1", "skipped": "1", "time": "1.500",
    }  # fmt: skip
    assert suite.find("testcase/failure").text == "g1"
    assert "\ufffd" in suite.find("testcase/error").get("message")
