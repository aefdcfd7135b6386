"""Progress of a run on standard error."""

from __future__ import annotations

import io
import itertools

import pytest
from rich.console import Console

from evenkeel.core.verdict import Failure
from evenkeel.experiments.judge_audit.calls import progress
from evenkeel.metrics.judge.reply import Reply, Ruling


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
