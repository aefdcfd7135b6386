"""Progress of a run on standard error."""

from __future__ import annotations

import io
import itertools

from rich.console import Console

from evenkeel.experiments.kit.progress import progress


def shown(*, terminal, remembered=0):
    out, seconds = io.StringIO(), itertools.count(0, 2)
    console = Console(file=out, force_terminal=terminal, width=120)
    details, clock = (lambda: "$5.00"), (lambda: next(seconds))
    with progress("asking", "answers", 20, console, details=details, clock=clock) as made:
        for number in range(20):
            made.add(remembered=number < remembered)
    return out.getvalue()


def test_without_a_terminal_progress_is_ten_lines():
    """How far, what it cost, how long yet: 2 s on the clock for 2 answers, 18 to go."""
    lines = shown(terminal=False).splitlines()
    assert len(lines) == 10
    assert lines[0] == "asking: 2 of 20 answers, $5.00, 18 s left"
    assert lines[-1].endswith("0 s left")


def test_on_a_terminal_progress_is_a_bar():
    """With the same figures."""
    text = shown(terminal=True)
    assert "20/20" in text
    assert "$5.00" in text


def test_remembered_answers_say_nothing_of_the_time_left():
    """Two asked in 2 s beside eight remembered ones: ten to go take 10 s."""
    assert "10 of 20 answers, $5.00, 10 s left" in shown(terminal=False, remembered=8)
