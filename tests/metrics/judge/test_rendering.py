"""The texts that a judge reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from evenkeel.core.pair import Answer, Pair, ToolCall
from evenkeel.metrics.judge.prompts import SIMILARITY
from evenkeel.metrics.judge.rendering import LONG_CHARS, render, shortened
from evenkeel.metrics.scoring import judge_scorer
from evenkeel.metrics.tool_calls import compared
from evenkeel.simulate.rewriter import marked_texts
from tests.metrics.judge.scripted_judge import rated, run

if TYPE_CHECKING:
    from evenkeel.core.verdict import ToolStep
    from evenkeel.metrics.judge import Judge
    from tests.llm.scripted import Canned, Scripted

LINE = "x" * 99


def test_short_texts_are_shown_whole() -> None:
    """Nothing is left out of texts that fit."""
    assert shortened("a\nb", "a\nc") == (("a\nb", "a\nc"), 0, 0)


def test_of_long_texts_only_equal_lines_at_both_ends_are_left_out() -> None:
    """600 equal lines before and 500 after: 40 of each stay beside what differs, which is never cut."""
    before, after = [LINE] * 600, [LINE + "y"] * 500
    texts = ["\n".join([*before, middle, *after]) for middle in ("keep", "drop\nall")]
    short = shortened(*texts)
    assert (short.head, short.tail) == (560, 460)
    assert short.texts[0].split("\n") == [*before[:40], "keep", *after[:40]]
    assert short.texts[1].split("\n") == [*before[:40], "drop", "all", *after[:40]]


def test_texts_that_differ_everywhere_stay_whole() -> None:
    """They are judged whole or, if they are too long for that, not at all."""
    texts = "a" * LONG_CHARS, "b" * LONG_CHARS
    assert shortened(*texts) == (texts, 0, 0)


def test_the_judge_is_told_what_is_left_out() -> None:
    """Outside the material, where no text can claim it."""
    user = SIMILARITY.fill({"A": "a", "B": "b"}, (560, 460)).messages[1].content
    assert user.index("begin with 560 lines and end with 460 lines") < user.index("<<<BEGIN A")
    assert "left out" not in SIMILARITY.fill({"A": "a", "B": "b"}).messages[1].content


def test_a_call_is_shown_with_each_argument_by_name() -> None:
    """In the order of names, each value as the model wrote it; what is no JSON object stays whole."""
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


MEANINGS = {'"refund policy"': 1, '"the policy about refunds"': 1, '"shipping times"': 2}


def reading_judge(body: dict[str, Any]) -> Canned:
    """A judge that reads argument by argument: texts by their meaning, all else to the letter."""
    reference, candidate = (
        text.split("\n") for text in marked_texts(body["messages"][1]["content"]).values()
    )
    for line, other in zip(reference, candidate, strict=True):
        name, _, value = line.partition(": ")
        other_name, _, other_value = other.partition(": ")
        if name != other_name or MEANINGS.get(value, value) != MEANINGS.get(other_value, other_value):
            return rated(2, f"{name} differs: {value}, {other_value}")
    return rated(3, "the same")


@pytest.mark.parametrize(
    ("before", "after", "difference", "arguments"),
    [
        (
            '{"query": "refund policy", "top": 5}',
            '{"top": 5, "query": "the policy about refunds"}',
            "none",
            (),
        ),
        (
            '{"query": "refund policy", "top": 5}',
            '{"query": "shipping times", "top": 5}',
            "arguments",
            (".query",),
        ),
        ('{"amount": 100}', '{"amount": 1000}', "arguments", (".amount",)),
    ],
)
def test_arguments_in_other_words_are_the_judges(
    before: str, after: str, difference: str, arguments: tuple[str, ...]
) -> None:
    """Both values are shown under their name; the same meaning is no difference, another number is."""

    async def scene(judge: Judge, server: Scripted) -> tuple[ToolStep, int]:
        sides = (Answer("", (ToolCall("search", text),)) for text in (before, after))
        pair = Pair(*sides, "")
        judgement = await judge_scorer(judge).score(pair, qualities=False)
        return compared(pair.reference, pair.candidate, shifted=judgement.shifted), len(server.asked)

    step, calls = run(reading_judge, scene)
    assert (step.difference, step.arguments, calls) == (difference, arguments, 1)
