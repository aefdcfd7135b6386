"""The texts that a judge reads."""

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.metrics.judge.prompts import SIMILARITY
from evenkeel.metrics.judge.rendering import LONG_CHARS, render, shortened

LINE = "x" * 99


def test_short_texts_are_shown_whole():
    """Nothing is left out of texts that fit."""
    assert shortened("a\nb", "a\nc") == (("a\nb", "a\nc"), 0, 0)


def test_of_long_texts_only_equal_lines_at_both_ends_are_left_out():
    """600 equal lines before and 500 after: 40 of each stay beside what differs, which is never cut."""
    before, after = [LINE] * 600, [LINE + "y"] * 500
    texts = ["\n".join([*before, middle, *after]) for middle in ("keep", "drop\nall")]
    short = shortened(*texts)
    assert (short.head, short.tail) == (560, 460)
    assert short.texts[0].split("\n") == [*before[:40], "keep", *after[:40]]
    assert short.texts[1].split("\n") == [*before[:40], "drop", "all", *after[:40]]


def test_texts_that_differ_everywhere_stay_whole():
    """Such texts are judged whole or, if they are too long for that, not at all."""
    texts = "a" * LONG_CHARS, "b" * LONG_CHARS
    assert shortened(*texts) == (texts, 0, 0)


def test_the_judge_is_told_what_is_left_out():
    """Outside the material, where no text can claim it."""
    user = SIMILARITY.fill({"A": "a", "B": "b"}, (560, 460)).messages[1].content
    assert user.index("begin with 560 lines and end with 460 lines") < user.index("<<<BEGIN A")
    assert "left out" not in SIMILARITY.fill({"A": "a", "B": "b"}).messages[1].content


def test_a_call_is_shown_with_each_argument_by_name():
    """Arguments are in the order of names, as the model wrote them; what is no JSON object stays whole."""
    calls = (
        ToolCall("pay", '{"to": {"id": "A-7", "tags": [1, 2.10]}, "amount": 1e2, "note": "für \\"Jo\\""}'),
        ToolCall("now", ""),
        ToolCall("run", "ls -l"),
        ToolCall("cut", '{"a": '),
    )
    assert render(Answer("On it. ", calls)).split("\n") == [
        "On it.",
        "call pay",
        "- amount: 1e2",
        '- note: "für \\"Jo\\""',
        '- to: {"id": "A-7", "tags": [1, 2.10]}',
        "call now",
        "call run",
        "ls -l",
        "call cut",
        '{"a": ',
    ]
