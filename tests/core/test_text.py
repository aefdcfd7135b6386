"""Text from outside where it is shown, kept, or opened as a table."""

import pytest

from evenkeel.core.text import label, markdown, one_line, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb", "a\ufffd[31mb"),
        ("a\u202eb", "a\ufffdb"),
        ("a\ud83d", "a\ufffd"),
        ("tab\tand\nline", "tab\tand\nline"),
    ],
)
def test_what_steers_or_misleads_becomes_visible(text, shown):
    """Escape sequences, overrides of the writing direction and half characters."""
    assert visible(text) == shown


def test_a_line_is_one_line():
    """Line breaks and runs of blanks are one blank; spaces of figures stay; long text is cut."""
    assert one_line(" a \n\t b\u202f% ") == "a b\u202f%"
    assert one_line("abcdef", 4) == "abc…"


def test_markdown_shows_text_as_it_is():
    assert markdown("a|b\n<i>*c*") == r"a\|b \<i\>\*c\*"


@pytest.mark.parametrize(
    "broken", ["\n", "\r", "\x00", "\x0b", "\x85", "\u2028", "\u2029", "\u202e", "\ud800"]
)
def test_no_label_breaks_a_line(broken):
    """Characters that a reader takes for the end of a line are replaced; text of any script stays."""
    assert label(f"m{broken}x") == "m\ufffdx"
    assert label("modèle 模型\u00a01 “x”") == "modèle 模型\u00a01 “x”"
