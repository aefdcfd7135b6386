from __future__ import annotations

import io
import itertools

import pytest
from rich.console import Console

from evenkeel.core.verdict import Failure
from evenkeel.experiments.judge_audit.calls import progress
from evenkeel.experiments.judge_audit.plots import (
    BOTTOM,
    LEFT,
    RIGHT,
    ROW,
    TOP,
    Bar,
    Point,
    bar_plot,
    dot_plot,
)
from evenkeel.metrics.judge.client import Reply
from evenkeel.metrics.judge.reply import Ruling


def test_dots_lie_where_their_values_are():
    """The ends of the axis are the ends of the plot; what lies outside is drawn at the end."""
    plot = dot_plot(
        "t",
        [Point("a", 0.0, -1.0, 1.0, "plain", "0"), Point("b", 3.0, None, None, "plain", "3")],
        low=-1,
        high=1,
        ticks=(-1, 0.5),
    )
    first, second = plot.rows
    assert (first.low, first.x, first.high) == (LEFT, (LEFT + RIGHT) / 2, RIGHT)
    assert (second.low, second.x, second.high) == (None, RIGHT, None)
    assert second.y - first.y == ROW
    assert plot.zero_x == first.x
    assert plot.height == TOP + 2 * ROW + BOTTOM
    assert [tick.label for tick in plot.ticks] == ["−1", "0.5"]


def test_a_value_that_is_not_there_is_not_drawn():
    """Its text says why."""
    (row,) = dot_plot(
        "t", [Point("a", None, None, None, "judge", "no variation")], low=0, high=1, ticks=()
    ).rows
    assert row.x is None
    assert row.text == "no variation"


def test_long_names_are_cut():
    """So that they stay on the page."""
    (row,) = dot_plot("t", [Point("n" * 80, 0, 0, 0, "x", "")], low=0, high=1, ticks=()).rows
    assert row.label == "n" * 33 + "…"


def test_bars_are_split_by_their_counts():
    """One quarter and three quarters; nothing is drawn for a count of 0; thin parts carry no number."""
    plot = bar_plot("t", [Bar("a", (("x", 1), ("y", 0), ("z", 3)), ""), Bar("b", (("x", 1), ("y", 99)), "")])
    first, second = plot.bars
    width = RIGHT - LEFT
    assert [(part.kind, part.x, part.width) for part in first.parts] == [
        ("x", LEFT, width / 4),
        ("z", LEFT + width / 4, width * 3 / 4),
    ]
    assert [part.room for part in second.parts] == [False, True]


def test_a_bar_of_nothing_is_empty():
    """Not a division by zero."""
    assert bar_plot("t", [Bar("a", (("x", 0),), "")]).bars[0].parts == ()


def shown(*, terminal, remembered=0):
    out = io.StringIO()
    seconds = itertools.count(0, 2)
    with progress(20, Console(file=out, force_terminal=terminal, width=120), lambda: next(seconds)) as told:
        for number in range(20):
            outcome = Failure("m", 1, "refused") if number == 0 else Ruling(1, "")
            told.add(Reply(outcome, 100, 20, 0.25), number < remembered)
    return out.getvalue(), told.spent(None)


def test_without_a_terminal_progress_is_ten_lines():
    """How far, what it cost, how many failed, how long yet: 2 s on the clock for 2 answers, 18 to go."""
    text, spent = shown(terminal=False)
    lines = text.splitlines()
    assert len(lines) == 10
    assert lines[0] == "2 of 20 answers, $0.50, 1 failed, 18 s left"
    assert lines[-1].endswith("0 s left")
    assert (spent.calls, spent.prompt_tokens, spent.completion_tokens, spent.cost_usd) == (20, 2000, 400, 5.0)


def test_on_a_terminal_progress_is_a_bar():
    """With the same figures."""
    text, _ = shown(terminal=True)
    assert "20/20" in text
    assert "$5.00" in text
    assert "1 failed" in text


def test_remembered_answers_cost_nothing():
    """They are counted apart."""
    _, spent = shown(terminal=False, remembered=15)
    assert (spent.calls, spent.remembered, spent.cost_usd) == (5, 15, pytest.approx(1.25))
