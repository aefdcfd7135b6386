"""Text in files that spreadsheets open."""

from __future__ import annotations

import pytest

from evenkeel.core.text import harmless


@pytest.mark.parametrize(
    "start", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"]
)
def test_no_text_begins_like_a_formula(start):
    """A text that would be computed gets an apostrophe; the same within a text does not."""
    assert harmless(f"{start}SUM(1)") == f"'{start}SUM(1)"
    assert harmless(f"a{start}b") == f"a{start}b"
    assert harmless("") == ""


@pytest.mark.parametrize("separator", [";", "\t", "\r", "\n"])
def test_no_part_of_a_text_begins_like_a_formula(separator):
    """A spreadsheet of a country with decimal commas begins a cell where the text has a semicolon."""
    assert harmless(f"a{separator}=b|c!A0{separator}d-e") == f"a{separator}'=b|c!A0{separator}d-e"
    assert harmless(f"a{separator} b") == f"a{separator} b"
