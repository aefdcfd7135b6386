"""What was not tried, in words: grouped, the impossible first, with what to do."""

from __future__ import annotations

from evenkeel.console.pipeline import reason_in_words, untried_lines
from evenkeel.stores.counters import Untried


def test_kinds_of_one_category_and_reason_share_a_line() -> None:
    """80 pairs of languages that need a rewriter are one line, and it says what to set."""
    pairs = [Untried("r", f"crosslingual.de_to_{number}", "no_rewriter", None) for number in range(80)]
    (line,) = untried_lines(pairs)
    assert (line.route, line.kinds, line.count) == ("r", "80 kinds of crosslingual", "always")
    assert "rewriter.model" in line.reason


def test_what_can_never_run_comes_before_what_did_not_apply() -> None:
    """Then the most frequent reason, with the sum over its kinds."""
    lines = untried_lines(
        [
            Untried("r", "positional.context", "no_context", 7),
            Untried("r", "general.tone", "language_unknown", 30),
            Untried("r", "positional.mixed", "no_context", 5),
            Untried("r", "multilingual.de", "no_judge", None),
        ]
    )
    assert [(line.kinds, line.count) for line in lines] == [
        ("multilingual.de", "always"),
        ("general.tone", "30"),
        ("positional.context, positional.mixed", "12"),
    ]
    assert [line.reason for line in lines[1:]] == ["language unknown", "no context"]


def test_routes_and_reasons_are_kept_apart() -> None:
    """The same kind on two routes, and for two reasons, is three lines."""
    lines = untried_lines(
        [
            Untried("a", "general.tone", "budget", 1),
            Untried("b", "general.tone", "budget", 1),
            Untried("b", "general.tone", "no_input", 1),
        ]
    )
    assert len(lines) == 3
    assert reason_in_words("budget") == "the day's budget is spent"
